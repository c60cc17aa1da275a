#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

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

/// Floats that stay, side by side, so that many small parts share large pages: where weights lie on more pages than a
/// processor knows the addresses of, it looks each one up. Blocks are as large as what has been taken, up to 16 MB.
class FloatPool {
 public:
  /// Zeros on a cache line's border, which keep the block that they are in. Throws std::bad_alloc.
  std::shared_ptr<float> take(int64_t count);

 private:
  std::shared_ptr<AlignedFloats> block_;
  float* next_ = nullptr;
  int64_t left_ = 0, taken_ = 0;  ///< in the block; in all
};

}  // namespace pet::onednn
