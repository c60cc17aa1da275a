#include "runtime/onednn/aligned_floats.h"

#include <algorithm>
#include <memory>
#include <new>
#include <utility>

#include <sys/mman.h>

namespace pet::onednn {
namespace {

constexpr std::align_val_t kCacheLine{64};
constexpr size_t kLargePage = size_t{1} << 21;

}  // namespace

AlignedFloats::AlignedFloats(int64_t count) {
  const size_t bytes = static_cast<size_t>(count + 16) * sizeof(float);
  if (bytes < kLargePage) {
    data_ = static_cast<float*>(::operator new(bytes, kCacheLine));
    std::fill_n(data_, count + 16, 0.0F);
    return;
  }
  length_ = bytes + kLargePage;  // one of them may lie before the border of a page
  void* mapping = mmap(nullptr, length_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) throw std::bad_alloc();
  mapping_ = mapping;
  size_t room = length_;
  data_ = static_cast<float*>(std::align(kLargePage, bytes, mapping, room));
  madvise(data_, bytes / kLargePage * kLargePage, MADV_HUGEPAGE);  // a hint: they are zeros either way
}

AlignedFloats::~AlignedFloats() {
  if (mapping_) {
    munmap(mapping_, length_);
  } else {
    ::operator delete(data_, kCacheLine);
  }
}

std::shared_ptr<float> FloatPool::take(int64_t count) {
  constexpr int64_t kLine = 16, kMost = 1 << 22;
  count = (count + kLine - 1) / kLine * kLine;
  taken_ += count;
  if (count > left_) {
    left_ = std::max(count, std::min(taken_, kMost));
    block_ = std::make_shared<AlignedFloats>(left_);
    next_ = block_->get();
  }
  left_ -= count;
  return {block_, std::exchange(next_, next_ + count)};
}

}  // namespace pet::onednn
