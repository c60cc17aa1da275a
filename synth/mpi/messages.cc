#include "synth/mpi/messages.h"

#include <chrono>
#include <cstring>
#include <thread>

#include <mpi.h>

namespace pet::mpi {

void send(int to, Tag tag, const std::string& text) {
  MPI_Send(text.data(), static_cast<int>(text.size()), MPI_CHAR, to, static_cast<int>(tag), MPI_COMM_WORLD);
}

std::optional<Message> receive(const volatile int& stop) {
  int there = 0;
  MPI_Status status;
  for (int looks = 0; !there; ++looks) {
    if (stop) return std::nullopt;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, &status);
    if (!there && looks > 20) std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  int size = 0;
  MPI_Get_count(&status, MPI_CHAR, &size);
  Message m{status.MPI_SOURCE, static_cast<Tag>(status.MPI_TAG), std::string(static_cast<size_t>(size), '\0')};
  MPI_Recv(m.text.data(), size, MPI_CHAR, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return m;
}

std::string packUnits(const std::vector<size_t>& units) {
  std::string text(units.size() * sizeof(uint64_t), '\0');
  for (size_t i = 0; i < units.size(); ++i) {
    uint64_t unit = units[i];
    std::memcpy(text.data() + i * sizeof unit, &unit, sizeof unit);
  }
  return text;
}

std::vector<size_t> unpackUnits(const std::string& text) {
  std::vector<size_t> units(text.size() / sizeof(uint64_t));
  for (size_t i = 0; i < units.size(); ++i) {
    uint64_t unit = 0;
    std::memcpy(&unit, text.data() + i * sizeof unit, sizeof unit);
    units[i] = unit;
  }
  return units;
}

}  // namespace pet::mpi
