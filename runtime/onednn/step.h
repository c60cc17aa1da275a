#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <oneapi/dnnl/dnnl.hpp>

#include "runtime/plan/step.h"

namespace pet::onednn {

using plan::Pointers;

/// The floats at a buffer's address.
inline float* floatsAt(const Pointers& pointers, int buffer) {
  return reinterpret_cast<float*>(pointers[static_cast<size_t>(buffer)]);
}

/// Memory that a primitive only reads, and what keeps it alive where it is not the memory's own.
struct FixedMemory {
  dnnl::memory memory;
  std::shared_ptr<const void> owner;
};

/// A primitive with its arguments.
class PrimitiveStep : public plan::Step {
 public:
  PrimitiveStep(dnnl::primitive primitive, dnnl::stream stream)
      : primitive_(std::move(primitive)), stream_(std::move(stream)) {}

  /// An argument at an offset (in floats) of a buffer.
  void add(int argument, const dnnl::memory::desc& desc, const dnnl::engine& engine, int buffer, int64_t offset) {
    moving_.push_back({dnnl::memory(desc, engine, DNNL_MEMORY_NONE), buffer, offset});
    arguments_.push_back({argument, moving_.back().memory.get()});
    buffers.push_back(buffer);
  }
  /// An argument that stays where it is: prepared weights.
  void add(int argument, FixedMemory fixed) {
    arguments_.push_back({argument, fixed.memory.get()});
    fixed_.push_back(std::move(fixed));
  }
  /// An argument that is made for each run and let go after it.
  void addLate(int argument, std::function<FixedMemory()> make) {
    late_.push_back({arguments_.size(), std::move(make)});
    arguments_.push_back({argument, nullptr});
  }

  void bind(const Pointers& pointers) override {
    for (Moving& m : moving_)
      m.memory.set_data_handle(floatsAt(pointers, m.buffer) + m.offset);
  }
  void run() override {
    std::vector<FixedMemory> made;
    for (const Late& late : late_) {
      made.push_back(late.make());
      arguments_[late.argument].memory = made.back().memory.get();
    }
    dnnl::error::wrap_c_api(
        dnnl_primitive_execute(primitive_.get(), stream_.get(), static_cast<int>(arguments_.size()), arguments_.data()),
        "a primitive failed");
  }

 private:
  struct Moving {
    dnnl::memory memory;
    int buffer;
    int64_t offset;
  };
  struct Late {
    size_t argument;  ///< its position
    std::function<FixedMemory()> make;
  };
  dnnl::primitive primitive_;
  dnnl::stream stream_;
  std::vector<Moving> moving_;
  std::vector<FixedMemory> fixed_;
  std::vector<Late> late_;
  std::vector<dnnl_exec_arg_t> arguments_;
};

/// A kernel of ours: called with the pointers of its buffers, in their order.
class KernelStep : public plan::Step {
 public:
  using Kernel = std::function<void(float* const* pointers)>;
  KernelStep(std::vector<int> uses, Kernel kernel) : kernel_(std::move(kernel)) { buffers = std::move(uses); }

  void bind(const Pointers& pointers) override {
    bound_.clear();
    for (int b : buffers)
      bound_.push_back(floatsAt(pointers, b));
  }
  void run() override { kernel_(bound_.data()); }

 private:
  Kernel kernel_;
  std::vector<float*> bound_;
};

/// A primitive that may store past the caches, which needs a result at an aligned address: a caller's memory may not
/// be. Then a kernel does the same.
class AlignedStep : public plan::Step {
 public:
  /// `result`: the buffer, from whose beginning on the primitive writes.
  AlignedStep(std::unique_ptr<PrimitiveStep> primitive, std::unique_ptr<KernelStep> kernel, int result)
      : primitive_(std::move(primitive)), kernel_(std::move(kernel)), result_(result) {
    buffers = primitive_->buffers;
    buffers.insert(buffers.end(), kernel_->buffers.begin(), kernel_->buffers.end());
  }

  void bind(const Pointers& pointers) override {
    isAligned_ = reinterpret_cast<uintptr_t>(floatsAt(pointers, result_)) % kAlignment == 0;
    isAligned_ ? primitive_->bind(pointers) : kernel_->bind(pointers);
  }
  void run() override { isAligned_ ? primitive_->run() : kernel_->run(); }

 private:
  static constexpr uintptr_t kAlignment = 64;
  std::unique_ptr<PrimitiveStep> primitive_;
  std::unique_ptr<KernelStep> kernel_;
  int result_;
  bool isAligned_ = false;
};

}  // namespace pet::onednn
