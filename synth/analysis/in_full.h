#pragma once

#include "ir/program.h"

namespace pet {

/// The program with functions by their definitions (OpRow::definition), which is what it computes and how deep it is if
/// nothing computes a function as such. An operator that is composed of others, by these, if it is all of the program;
/// a program that has others besides stays as it is.
Program inFull(const Program& program);

}  // namespace pet
