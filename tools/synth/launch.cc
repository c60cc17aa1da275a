#include "tools/synth/launch.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>

#include <fmt/format.h>
#include <unistd.h>

#include "tools/common/tool.h"

namespace pet::tool {

std::optional<int> continueUnderMpi(char** argv) {
  // What Open MPI's mpirun tells those whom it starts.
  const char* size = std::getenv("OMPI_COMM_WORLD_SIZE");
  if (!size || std::string_view(size) == "1") return std::nullopt;
  std::error_code ignored;
  auto twin = std::filesystem::read_symlink("/proc/self/exe", ignored).replace_filename("pet-synth-mpi");
  ::execv(twin.c_str(), argv);
  const char* rank = std::getenv("OMPI_COMM_WORLD_RANK");
  if (!rank || std::string_view(rank) == "0") {
    note(fmt::format("pet-synth: {}: {} (it is built where Open MPI is installed; without it, use -j or --shard)\n",
                     twin.string(), std::strerror(errno)));
  }
  return kUsage;
}

}  // namespace pet::tool
