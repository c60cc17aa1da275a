#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// What ranks say to each other. Private to this folder.
namespace pet::mpi {

enum class Tag : int {
  kReady,    ///< to rank 0: wants units; holds what it searches (searchKey)
  kOutcome,  ///< to rank 0: print(UnitOutcome)
  kLeft,     ///< to rank 0, the last message: the error, or nothing
  kUnits,    ///< from rank 0: packUnits; none: go home
};

struct Message {
  int from = 0;
  Tag tag = Tag::kReady;
  std::string text;
};

void send(int to, Tag tag, const std::string& text);

/// The next message; nullopt if `stop` turns true before there is one. Sleeps between looks: a rank that waits leaves
/// its core to those that compute.
std::optional<Message> receive(const volatile int& stop);

std::string packUnits(const std::vector<size_t>& units);
std::vector<size_t> unpackUnits(const std::string& text);

}  // namespace pet::mpi
