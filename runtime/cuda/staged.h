#pragma once

#include <memory>

#include "runtime/cuda/device.h"

namespace pet::cuda {

/// A tensor's numbers on their way to a device or from it, as they lie there, in memory that the device copies by
/// itself, so that this process need not wait.
class Staged {
 public:
  /// Errors: there is no memory.
  static Expected<std::unique_ptr<Staged>> make(Device& device, int64_t elements);
  ~Staged() { device_.releasePinned(memory_); }
  Staged(const Staged&) = delete;
  Staged& operator=(const Staged&) = delete;

  /// Queues a copy of these numbers, which are not needed any more then. What was sent before has arrived.
  void send(const float* numbers, Address to);
  /// Queues a copy to here.
  void ask(Address from);
  /// What was asked for, once the device has waited.
  void take(float* numbers) const;

 private:
  Staged(Device& device, int64_t elements, Address memory)
      : device_(device), elements_(elements), memory_(memory), storage_(storageOf(device.precision())) {}
  int64_t bytes() const { return elements_ * bytesOf(storage_); }

  Device& device_;
  int64_t elements_;
  Address memory_;
  Storage storage_;
};

}  // namespace pet::cuda
