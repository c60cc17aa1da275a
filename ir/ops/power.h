#pragma once

#include "ir/program.h"

namespace pet {

/// Whether addPower() knows the exponent: a multiple of 1/4 from -4 to 4, but 0.
bool isQuarterPower(double exponent);
/// x to the power of such a number by products, Sqrt and Reciprocal: x^0.75 is Sqrt(x) · Sqrt(Sqrt(x)). kUnsupported:
/// of another one.
Expected<Value> addPower(ProgramBuilder& builder, Value x, double exponent);

}  // namespace pet
