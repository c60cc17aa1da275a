#pragma once

#include <memory>
#include <vector>

#include "runtime/cuda/device.h"
#include "runtime/plan/access.h"
#include "runtime/plan/step.h"

namespace pet::cuda {

/// A call with its arguments, each at an offset (in elements) of a buffer; the first is the result.
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
        written_(std::move(written)),
        arguments_(std::move(arguments)),
        workspace_(workspace),
        elementBytes_(elementBytes) {
    for (const Argument& a : arguments_)
      buffers.push_back(a.buffer);
    if (workspace >= 0) buffers.push_back(workspace);
  }

  void bind(const plan::Pointers& pointers) override {
    bound_.clear();
    for (const Argument& a : arguments_)
      bound_.push_back(pointers[static_cast<size_t>(a.buffer)] + a.offset * elementBytes_);
    if (workspace_ >= 0) at_ = pointers[static_cast<size_t>(workspace_)];
  }
  void run() override { call_->run(bound_, at_); }
  std::string name() const override { return call_->name(); }
  int64_t bytesWritten() const override { return elementCount(written_.extents()) * elementBytes_; }

  const Call& call() const { return *call_; }
  const plan::Access& written() const { return written_; }
  const std::vector<Argument>& arguments() const { return arguments_; }

 private:
  std::unique_ptr<Call> call_;
  plan::Access written_;
  std::vector<Argument> arguments_;
  int workspace_;
  int64_t elementBytes_;
  std::vector<Address> bound_;
  Address at_ = nullptr;
};

}  // namespace pet::cuda
