#pragma once

#include <cstddef>
#include <cstdint>

namespace pet::onednn {

/// Zeros on a cache line's border. Many are on pages of 2 MB: to touch a page of 4 kB for the first time takes as long
/// as to write it.
class AlignedFloats {
 public:
  /// Throws std::bad_alloc.
  explicit AlignedFloats(int64_t count);
  AlignedFloats(const AlignedFloats&) = delete;
  AlignedFloats& operator=(const AlignedFloats&) = delete;
  ~AlignedFloats();
  float* get() { return data_; }

 private:
  void* mapping_ = nullptr;  ///< null: the floats are few, and allocated
  size_t length_ = 0;        ///< of the mapping
  float* data_ = nullptr;
};

}  // namespace pet::onednn
