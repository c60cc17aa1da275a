#pragma once

#include <string>

#include "rules/pack/timings.h"

namespace pet::tool {

/// The machine that --machine names: a file with a machine (docs/pack-format.md, Machines), a machine of the timings,
/// or an ISA, of which nothing else is known. Without a name, the one that $PET_MACHINE names, else the one that runs
/// this process; but where the device is a kind of GPU ("cuda:h200"), that is the machine. Rates that it does not say
/// come from a calibration that the user's cache has, for this process's machine alone; else from the timings' machine
/// of the same CPU, or of the same ISA. kUsage: there is no such machine; kPack: the file has none.
Expected<Machine> namedMachine(const std::string& asked, const std::string& device, const Machines& known);

}  // namespace pet::tool
