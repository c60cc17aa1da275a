#pragma once

#include <span>

#include "runtime/cuda/device.h"

namespace pet::cuda {

/// Numbers between this process and a device, which keeps them in its precision's form.
void store(Device& device, std::span<const float> numbers, Address to);
void fetch(Device& device, std::span<float> numbers, Address from);

/// To and from the numbers as they lie in a device's memory.
void pack(std::span<const float> numbers, Storage storage, char* bytes);
void unpack(const char* bytes, Storage storage, std::span<float> numbers);

}  // namespace pet::cuda
