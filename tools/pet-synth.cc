// pet-synth: enumerate, prove, correct, store.

#include "tools/common/tool.h"
#include "tools/synth/command.h"
#include "tools/synth/launch.h"

int main(int argc, char** argv) {
  return pet::tool::guard("pet-synth", [&] {
    if (auto code = pet::tool::continueUnderMpi(argv)) return *code;
    return pet::tool::petSynth(argc, argv, {});
  });
}
