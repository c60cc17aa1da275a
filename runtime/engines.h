#pragma once

#include "runtime/byte_convolution.h"
#include "runtime/prepared.h"

namespace pet {

/// What a model runs on.
struct Engines {
  ProgramEngine programs;
  /// Convolutions and products of integers that stand for numbers. Null: they are computed with the numbers.
  ByteEngine bytes = nullptr;
};

}  // namespace pet
