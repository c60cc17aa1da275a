// A device that hands all on to another one; tests change what they are about.
#pragma once

#include <memory>
#include <utility>

#include "runtime/cuda/device.h"

namespace pet::testing_support {

/// `Base`: cuda::Device, or an interface that has more.
template <class Base>
class ForwardingDevice : public Base {
 public:
  explicit ForwardingDevice(std::shared_ptr<cuda::Device> other) : other_(std::move(other)) {}

  std::string name() const override { return other_->name(); }
  cuda::Precision precision() const override { return other_->precision(); }
  std::string identity() const override { return other_->identity(); }
  cuda::PlanCounts planCounts() const override { return other_->planCounts(); }
  void enter() override { other_->enter(); }
  Expected<std::unique_ptr<cuda::Call>> conv(const cuda::ConvCall& call) override { return other_->conv(call); }
  Expected<std::unique_ptr<cuda::Call>> product(const cuda::ProductCall& call) override {
    return other_->product(call);
  }
  Expected<std::unique_ptr<cuda::Call>> attention(const cuda::AttentionCall& call) override {
    return other_->attention(call);
  }
  Expected<void> takes(const cuda::AttentionCall& call) override { return other_->takes(call); }
  Expected<std::unique_ptr<cuda::Call>> pool(const cuda::PoolCall& call) override { return other_->pool(call); }
  Expected<std::unique_ptr<cuda::Call>> norm(const cuda::NormCall& call) override { return other_->norm(call); }
  std::unique_ptr<cuda::Call> kernel(cuda::KernelSource source) override { return other_->kernel(std::move(source)); }
  Expected<void> finish() override { return other_->finish(); }
  void forget() override { other_->forget(); }
  int streams() const override { return other_->streams(); }
  int64_t threads() const override { return other_->threads(); }
  double bytesPerSecond() const override { return other_->bytesPerSecond(); }
  void use(int stream) override { other_->use(stream); }
  void mark(int name) override { other_->mark(name); }
  void await(int name) override { other_->await(name); }
  double searchSeconds() const override { return other_->searchSeconds(); }
  double secondsOf(const std::function<void()>& calls) override { return other_->secondsOf(calls); }
  double seconds(cuda::Call& call, std::span<const cuda::Address> pointers, cuda::Address workspace) override {
    return other_->seconds(call, pointers, workspace);
  }
  std::unique_ptr<cuda::Recording> record(const std::function<void()>& calls) override { return other_->record(calls); }
  Expected<cuda::Address> allocate(int64_t bytes) override { return other_->allocate(bytes); }
  void release(cuda::Address address) override { other_->release(address); }
  void upload(cuda::Address to, const void* from, int64_t bytes) override { other_->upload(to, from, bytes); }
  void download(void* to, cuda::Address from, int64_t bytes) override { other_->download(to, from, bytes); }
  void wait() override { other_->wait(); }
  Expected<cuda::Address> allocatePinned(int64_t bytes) override { return other_->allocatePinned(bytes); }
  void releasePinned(cuda::Address address) override { other_->releasePinned(address); }
  void queueUpload(cuda::Address to, cuda::Address pinned, int64_t bytes) override {
    other_->queueUpload(to, pinned, bytes);
  }
  void queueDownload(cuda::Address pinned, cuda::Address from, int64_t bytes) override {
    other_->queueDownload(pinned, from, bytes);
  }

 private:
  std::shared_ptr<cuda::Device> other_;
};

}  // namespace pet::testing_support
