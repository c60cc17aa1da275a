#pragma once

#include "runtime/byte_convolution.h"

namespace pet {

/// oneDNN's convolutions of integers, where the processor adds up products of bytes in 32 bits (VNNI); others may
/// saturate on the way.
ByteEngine oneDnnByteEngine(int threads);

}  // namespace pet
