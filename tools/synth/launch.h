#pragma once

#include <optional>

namespace pet::tool {

/// If mpirun has started several of this process, becomes pet-synth-mpi, which lies beside it: pet-synth itself does
/// not need MPI, not even to start. An exit code if that is not possible; nullopt where there is nothing to do.
std::optional<int> continueUnderMpi(char** argv);

}  // namespace pet::tool
