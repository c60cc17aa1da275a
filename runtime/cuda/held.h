#pragma once

#include <algorithm>

#include "runtime/cuda/device.h"

namespace pet::cuda {

/// Memory of a device that is given back.
class Held {
 public:
  /// Throws Failure: there is no memory.
  Held(Device& device, int64_t bytes) : device_(device) {
    auto address = device.allocate(std::max<int64_t>(bytes, 1));
    if (!address) throw Failure{address.error()};
    address_ = *address;
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() { device_.release(address_); }
  Address get() const { return address_; }

 private:
  Device& device_;
  Address address_;
};

}  // namespace pet::cuda
