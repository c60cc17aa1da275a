#pragma once

#include <span>
#include <vector>

#include "runtime/cuda/device.h"

namespace pet::cuda {

/// Numbers between this process and a device, which keeps them in its precision's form.
void store(Device& device, std::span<const float> numbers, Address to);
void fetch(Device& device, std::span<float> numbers, Address from);

/// The numbers as they lie in memory, of 16 bits each.
std::vector<uint16_t> packed(std::span<const float> numbers, Storage storage);
void unpack(std::span<const uint16_t> bits, Storage storage, std::span<float> numbers);

}  // namespace pet::cuda
