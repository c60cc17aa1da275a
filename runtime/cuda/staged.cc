#include "runtime/cuda/staged.h"

#include <algorithm>

#include "runtime/cuda/stored.h"

namespace pet::cuda {

Expected<std::unique_ptr<Staged>> Staged::make(Device& device, int64_t elements) {
  auto memory = device.allocatePinned(std::max<int64_t>(1, elements * bytesOf(storageOf(device.precision()))));
  if (!memory) return tl::unexpected(memory.error());
  return std::unique_ptr<Staged>(new Staged(device, elements, *memory));
}

void Staged::send(const float* numbers, Address to) {
  pack({numbers, static_cast<size_t>(elements_)}, storage_, memory_);
  if (elements_ > 0) device_.queueUpload(to, memory_, bytes());
}

void Staged::ask(Address from) {
  if (elements_ > 0) device_.queueDownload(memory_, from, bytes());
}

void Staged::take(float* numbers) const {
  unpack(memory_, storage_, {numbers, static_cast<size_t>(elements_)});
}

}  // namespace pet::cuda
