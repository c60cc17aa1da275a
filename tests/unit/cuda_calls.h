// Calls of a device, with operands of theirs.
#pragma once

#include <cmath>
#include <memory>
#include <vector>

#include "ir/tensor.h"
#include "runtime/cuda/held.h"
#include "runtime/cuda/problem.h"
#include "runtime/cuda/stored.h"
#include "runtime/plan/access.h"

namespace pet::testing_support {

/// Dense; dimensions of extent 1 have the strides that they would have were they longer.
inline cuda::TensorForm formOf(const Extents& extents, bool channelsLast) {
  const size_t rank = extents.size();
  const auto order = channelsLast ? plan::channelsLastOrder(rank) : plan::rowMajorOrder(rank);
  cuda::TensorForm form{extents, std::vector<int64_t>(rank)};
  int64_t stride = 1;
  for (auto d = order.rbegin(); d != order.rend(); ++d) {
    form.strides[*d] = stride;
    stride *= extents[*d];
  }
  return form;
}

inline std::vector<float> numbers(int64_t count, int seed) {
  std::vector<float> list(static_cast<size_t>(count));
  for (size_t i = 0; i < list.size(); ++i)
    list[i] = static_cast<float>(static_cast<int>((i + static_cast<size_t>(seed)) * 7919 % 17) - 8);
  return list;
}

/// Small integers as a call's operands.
class CallOperands {
 public:
  template <class CallKind>
  CallOperands(cuda::Device& device, const CallKind& call) : device_(device) {
    const auto elements = cuda::elementsOf(call);
    const int64_t bytes = cuda::bytesOf(cuda::storageOf(device.precision()));
    for (size_t i = 0; i < elements.size(); ++i) {
      held_.push_back(std::make_unique<cuda::Held>(device, elements[i] * bytes));
      pointers_.push_back(held_.back()->get());
      if (i > 0) cuda::store(device, numbers(elements[i], static_cast<int>(i)), pointers_.back());
    }
    count_ = elements[0];
  }
  /// Instead of what an operand holds.
  void set(size_t pointer, const std::vector<float>& numbers) { cuda::store(device_, numbers, pointers_[pointer]); }
  Tensor<float> run(cuda::Call& call) {
    const cuda::Held workspace(device_, call.workspaceBytes());
    Tensor<float> y({count_});
    cuda::store(device_, std::vector<float>(y.data.size(), NAN), pointers_[0]);
    call.run(pointers_, workspace.get());
    cuda::fetch(device_, y.data, pointers_[0]);
    return y;
  }

 private:
  cuda::Device& device_;
  std::vector<std::unique_ptr<cuda::Held>> held_;
  std::vector<cuda::Address> pointers_;
  int64_t count_ = 0;
};

}  // namespace pet::testing_support
