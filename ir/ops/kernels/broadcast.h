#pragma once

#include "ir/ops/kernels/support.h"

namespace pet::kernels {

/// The tables by which a tensor of extents `from` is read as one of extents `to`: dimensions aligned at the last one,
/// those of extent 1 repeated.
inline Offsets broadcastOffsets(const Extents& from, const Extents& to) {
  std::vector<int64_t> strides = rowMajorStrides(from);
  Offsets offsets;
  for (size_t d = 0; d < to.size(); ++d) {
    bool present = d + from.size() >= to.size() && from[d + from.size() - to.size()] != 1;
    offsets.push_back(linearOffsets(to[d], present ? strides[d + from.size() - to.size()] : 0));
  }
  return offsets;
}

/// A tensor's elements, row-major, as broadcast to the given extents; a copy only where they differ.
template <class T>
class Broadcast {
 public:
  Broadcast(const Tensor<T>& x, const Extents& to) {
    if (x.extents == to) {
      begin_ = x.data.data();
      end_ = begin_ + x.size();
      return;
    }
    copy_ = Tensor<T>(to);
    gather(broadcastOffsets(x.extents, to), x.data.data(), T(), copy_.data.data());
    begin_ = copy_.data.data();
    end_ = begin_ + copy_.size();
  }
  Broadcast(const Broadcast&) = delete;
  Broadcast& operator=(const Broadcast&) = delete;

  const T* begin() const { return begin_; }
  const T* end() const { return end_; }

 private:
  Tensor<T> copy_;
  const T* begin_;
  const T* end_;
};

}  // namespace pet::kernels
