// pet-synth under mpirun: rank 0 is the command, the others run units for it. Nobody calls it by its name: pet-synth
// becomes this program where mpirun has started it.

#include "synth/mpi/ranks.h"
#include "tools/common/tool.h"
#include "tools/synth/command.h"

namespace {

int runRank(int argc, char** argv) {
  pet::Ranks ranks(argc, argv);
  if (!ranks.first()) {
    auto served = pet::tool::serveSearch(
        argc, argv, [&](const auto& search, const auto& options) { return ranks.serve(search, options); });
    ranks.finish(served ? "" : served.error().message());
    return 0;
  }
  pet::tool::Processes processes{.run = pet::runHere, .ranks = ranks.count()};
  if (ranks.count() > 1) {
    processes.run = [&](const auto& search, const auto& units, const auto& options, const auto& sink) {
      return ranks.run(search, units, options, sink);
    };
  }
  int code = pet::tool::petSynth(argc, argv, processes);
  ranks.finish();
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  return pet::tool::guard("pet-synth", [&] { return runRank(argc, argv); });
}
