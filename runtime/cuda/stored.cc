#include "runtime/cuda/stored.h"

#include <algorithm>
#include <vector>

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

void pack(std::span<const float> numbers, Storage storage, char* bytes) {
  auto* const bits = reinterpret_cast<uint16_t*>(bytes);
  if (storage == Storage::kFloat)
    std::copy(numbers.begin(), numbers.end(), reinterpret_cast<float*>(bytes));
  else if (storage == Storage::kHalf)
    allToHalf(numbers, bits);
  else
    std::transform(numbers.begin(), numbers.end(), bits, toBfloat16);
}

void unpack(const char* bytes, Storage storage, std::span<float> numbers) {
  const std::span bits(reinterpret_cast<const uint16_t*>(bytes), numbers.size());
  if (storage == Storage::kFloat)
    std::copy_n(reinterpret_cast<const float*>(bytes), numbers.size(), numbers.begin());
  else if (storage == Storage::kHalf)
    allFromHalf(bits, numbers.data());
  else
    std::transform(bits.begin(), bits.end(), numbers.begin(), fromBfloat16);
}

void store(Device& device, std::span<const float> numbers, Address to) {
  const Storage storage = storageOf(device.precision());
  const auto bytes = static_cast<int64_t>(numbers.size()) * bytesOf(storage);
  if (numbers.empty()) return;
  if (storage == Storage::kFloat) return device.upload(to, numbers.data(), bytes);
  std::vector<char> packed(static_cast<size_t>(bytes));
  pack(numbers, storage, packed.data());
  device.upload(to, packed.data(), bytes);
}

void fetch(Device& device, std::span<float> numbers, Address from) {
  const Storage storage = storageOf(device.precision());
  const auto bytes = static_cast<int64_t>(numbers.size()) * bytesOf(storage);
  if (numbers.empty()) return;
  if (storage == Storage::kFloat) return device.download(numbers.data(), from, bytes);
  std::vector<char> packed(static_cast<size_t>(bytes));
  device.download(packed.data(), from, bytes);
  unpack(packed.data(), storage, numbers);
}

}  // namespace pet::cuda
