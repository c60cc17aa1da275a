#pragma once

#include "tools/synth/search.h"

namespace pet::tool {

/// The command pet-synth; the exit code.
int petSynth(int argc, char** argv, const Processes& processes);

/// On a process that runs units for another one: opens the same search and serves it until told to end. It prints
/// nothing: usage errors are those of the other one, too.
using Serve = std::function<Expected<void>(const Search&, const RunOptions&)>;
Expected<void> serveSearch(int argc, char** argv, const Serve& serve);

}  // namespace pet::tool
