#include "runtime/cuda/stored.h"

#include <cstring>

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

std::vector<char> packed(std::span<const float> numbers, Storage storage) {
  std::vector<char> bytes(numbers.size() * static_cast<size_t>(bytesOf(storage)));
  if (storage == Storage::kFloat) {
    if (!bytes.empty()) std::memcpy(bytes.data(), numbers.data(), bytes.size());
    return bytes;
  }
  for (size_t i = 0; i < numbers.size(); ++i) {
    const uint16_t bits = storage == Storage::kHalf ? toHalf(numbers[i]) : toBfloat16(numbers[i]);
    std::memcpy(&bytes[2 * i], &bits, 2);
  }
  return bytes;
}

void unpack(std::span<const char> bytes, Storage storage, std::span<float> numbers) {
  if (storage == Storage::kFloat) {
    if (!bytes.empty()) std::memcpy(numbers.data(), bytes.data(), bytes.size());
    return;
  }
  for (size_t i = 0; i < numbers.size(); ++i) {
    uint16_t bits;
    std::memcpy(&bits, &bytes[2 * i], 2);
    numbers[i] = storage == Storage::kHalf ? fromHalf(bits) : fromBfloat16(bits);
  }
}

void store(Device& device, std::span<const float> numbers, Address to) {
  const auto bytes = packed(numbers, storageOf(device.precision()));
  if (!bytes.empty()) device.upload(to, bytes.data(), static_cast<int64_t>(bytes.size()));
}

void fetch(Device& device, std::span<float> numbers, Address from) {
  const Storage storage = storageOf(device.precision());
  std::vector<char> bytes(numbers.size() * static_cast<size_t>(bytesOf(storage)));
  if (bytes.empty()) return;
  device.download(bytes.data(), from, static_cast<int64_t>(bytes.size()));
  unpack(bytes, storage, numbers);
}

}  // namespace pet::cuda
