#pragma once

#include "ir/program.h"

namespace pet {

/// The program with functions by their definitions (OpRow::definition), which is what it computes and how deep it is if
/// nothing computes a function as such. A program of several operators, of which some are composed of others, stays as
/// it is.
Program inFull(const Program& program);

}  // namespace pet
