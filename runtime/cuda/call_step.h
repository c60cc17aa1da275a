#pragma once

#include <iterator>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/cuda/device.h"
#include "runtime/cuda/generate/point_kernel.h"
#include "runtime/plan/access.h"
#include "runtime/plan/step.h"

namespace pet::cuda {

/// A call with its arguments, each at an offset (in elements) of a buffer; the first are the results.
class CallStep : public plan::Step {
 public:
  struct Argument {
    int buffer;
    int64_t offset = 0;
  };
  /// `written`: where in its buffer the result lies. `workspace`: the buffer of the call's workspace, or -1.
  CallStep(std::unique_ptr<Call> call,
           plan::Access written,
           std::vector<Argument> arguments,
           int workspace,
           int64_t elementBytes)
      : call_(std::move(call)),
        written_{std::move(written)},
        arguments_(std::move(arguments)),
        workspace_(workspace),
        elementBytes_(elementBytes) {
    for (const Argument& a : arguments_)
      buffers.push_back(a.buffer);
    if (workspace >= 0) buffers.push_back(workspace);
  }
  /// A kernel that others may still be joined with.
  CallStep(PointKernel kernel, std::vector<Argument> arguments, int64_t elementBytes)
      : CallStep(nullptr, kernel.to, std::move(arguments), -1, elementBytes) {
    points_.push_back(std::move(kernel));
  }

  /// Until make(): empty where it had a call from the beginning.
  const std::vector<PointKernel>& points() const { return points_; }
  /// What the other one does, too, as one launch. Both have kernels, and no call.
  void join(CallStep&& other) {
    const auto results = static_cast<std::ptrdiff_t>(written_.size());
    const auto others = other.arguments_.begin() + static_cast<std::ptrdiff_t>(other.written_.size());
    arguments_.insert(arguments_.end(), others, other.arguments_.end());
    arguments_.insert(arguments_.begin() + results, other.arguments_.begin(), others);
    std::move(other.written_.begin(), other.written_.end(), std::back_inserter(written_));
    std::move(other.points_.begin(), other.points_.end(), std::back_inserter(points_));
    buffers.clear();
    for (const Argument& a : arguments_)
      buffers.push_back(a.buffer);
  }
  /// Makes the call of its kernels; nothing can be joined with it any more.
  void make(Device& device) {
    call_ = device.kernel(generate(std::exchange(points_, {}), storageOf(device.precision())));
  }

  void bind(const plan::Pointers& pointers) override {
    bound_.clear();
    for (const Argument& a : arguments_)
      bound_.push_back(pointers[static_cast<size_t>(a.buffer)] + a.offset * elementBytes_);
    if (workspace_ >= 0) at_ = pointers[static_cast<size_t>(workspace_)];
  }
  void run() override { call_->run(bound_, at_); }
  std::string name() const override { return call_->name(); }
  int64_t bytesWritten() const override { return elementsWritten() * elementBytes_; }
  int64_t elementsWritten() const {
    int64_t count = 0;
    for (const plan::Access& each : written_)
      count += elementCount(each.extents());
    return count;
  }

  /// What a device timed of the call; nothing: it did not, or the call is not made yet.
  std::optional<double> timed() const { return call_ ? call_->timed : std::nullopt; }
  /// Where in its buffer each result lies.
  const std::vector<plan::Access>& written() const { return written_; }
  const std::vector<Argument>& arguments() const { return arguments_; }

 private:
  std::unique_ptr<Call> call_;
  std::vector<PointKernel> points_;
  std::vector<plan::Access> written_;
  std::vector<Argument> arguments_;
  int workspace_;
  int64_t elementBytes_;
  std::vector<Address> bound_;
  Address at_ = nullptr;
};

}  // namespace pet::cuda
