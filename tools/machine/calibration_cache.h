#pragma once

#include "ir/error.h"
#include "ir/machine.h"

// Rates that were measured on this machine, kept in the user's cache folder.
namespace pet::tool {

/// The machine with the rates that the cache has of it; a cache that cannot be read has none.
Machine calibratedMachine(Machine machine);

/// Keeps the rates of one setting, if the cache can be written: else they are measured again next time.
void keepCalibration(const Machine& machine, const EngineRates& rates);

}  // namespace pet::tool
