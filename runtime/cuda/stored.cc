#include "runtime/cuda/stored.h"

#include <algorithm>

#include "ir/half.h"

namespace pet::cuda {

std::string_view nameOf(Precision precision) {
  switch (precision) {
    case Precision::kFp32:
      return "fp32";
    case Precision::kTf32:
      return "tf32";
    case Precision::kFp16:
      return "fp16";
    case Precision::kBf16:
      return "bf16";
  }
  return "";
}

Storage storageOf(Precision precision) {
  switch (precision) {
    case Precision::kFp16:
      return Storage::kHalf;
    case Precision::kBf16:
      return Storage::kBfloat16;
    case Precision::kFp32:
    case Precision::kTf32:
      break;
  }
  return Storage::kFloat;
}

int64_t bytesOf(Storage storage) {
  return storage == Storage::kFloat ? 4 : 2;
}

std::vector<uint16_t> packed(std::span<const float> numbers, Storage storage) {
  std::vector<uint16_t> bits(numbers.size());
  if (storage == Storage::kHalf)
    allToHalf(numbers, bits.data());
  else
    std::transform(numbers.begin(), numbers.end(), bits.begin(), toBfloat16);
  return bits;
}

void unpack(std::span<const uint16_t> bits, Storage storage, std::span<float> numbers) {
  if (storage == Storage::kHalf)
    allFromHalf(bits, numbers.data());
  else
    std::transform(bits.begin(), bits.end(), numbers.begin(), fromBfloat16);
}

void store(Device& device, std::span<const float> numbers, Address to) {
  const Storage storage = storageOf(device.precision());
  const auto bytes = static_cast<int64_t>(numbers.size()) * bytesOf(storage);
  if (numbers.empty()) return;
  if (storage == Storage::kFloat) return device.upload(to, numbers.data(), bytes);
  device.upload(to, packed(numbers, storage).data(), bytes);
}

void fetch(Device& device, std::span<float> numbers, Address from) {
  const Storage storage = storageOf(device.precision());
  const auto bytes = static_cast<int64_t>(numbers.size()) * bytesOf(storage);
  if (numbers.empty()) return;
  if (storage == Storage::kFloat) return device.download(numbers.data(), from, bytes);
  std::vector<uint16_t> bits(numbers.size());
  device.download(bits.data(), from, bytes);
  unpack(bits, storage, numbers);
}

}  // namespace pet::cuda
