#include "runtime/cuda/own_kernels.h"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/cuda/call_kernels.h"
#include "runtime/cuda/depthwise.h"
#include "runtime/cuda/tables.h"

namespace pet::cuda {
namespace {

/// A kernel of ours as one of several plans.
class OwnPlan final : public Call {
 public:
  OwnPlan(std::unique_ptr<Call> call, std::string name, bool alone) : call_(std::move(call)), name_(std::move(name)) {
    isOwn = true;
    isAlone = alone;
  }
  void run(std::span<const Address> pointers, Address workspace) override { call_->run(pointers, workspace); }
  std::string name() const override { return name_; }
  std::string kept() const override { return keptOf(call_->name(), isAlone); }
  static std::string keptOf(const std::string& kernel, bool alone) { return kernel + (alone ? " alone" : ""); }

 private:
  std::unique_ptr<Call> call_;
  std::string name_;
};

class PlansWithKernels final : public Plans {
 public:
  PlansWithKernels(std::unique_ptr<Plans> library, OwnKernels kernels, MakeKernel make)
      : library_(std::move(library)), kernels_(std::move(kernels)), make_(std::move(make)) {}

  std::string problem() const override {
    const std::string problem = library_->problem() + " or a kernel of our own";
    return kernels_.given ? fmt::format("{}, {}", problem, kernels_.sources[0].name) : problem;
  }
  std::vector<int64_t> elements() const override { return library_->elements(); }
  std::optional<Given> given() const override { return kernels_.given; }
  Expected<size_t> count() override {
    const auto count = library_->count();
    ofLibrary_ = count ? *count : 0;
    return ofLibrary_ + kernels_.sources.size();
  }
  Expected<std::unique_ptr<Call>> build(size_t i) override {
    if (isOwn(i)) return own(i - before(), !hasLibrary_);
    auto call = library_->build(inLibrary(i));
    hasLibrary_ = hasLibrary_ || call.has_value();
    return call;
  }
  bool isCompiled(size_t i) const override { return !isOwn(i) && library_->isCompiled(inLibrary(i)); }
  /// The names of kernels follow from their code.
  Expected<std::unique_ptr<Call>> restore(const std::string& kept) override {
    for (size_t i = 0; i < kernels_.sources.size(); ++i) {
      for (bool alone : {false, true}) {
        if (OwnPlan::keptOf(kernels_.sources[i].name, alone) == kept) return own(i, alone);
      }
    }
    return library_->restore(kept);
  }

 private:
  /// Of the library's plans so many come before ours.
  size_t before() const { return kernels_.comeFirst ? 0 : std::min<size_t>(ofLibrary_, 1); }
  bool isOwn(size_t i) const { return i >= before() && i < before() + kernels_.sources.size(); }
  size_t inLibrary(size_t i) const { return i < before() ? i : i - kernels_.sources.size(); }
  Expected<std::unique_ptr<Call>> own(size_t i, bool alone) const {
    auto call = make_(kernels_.sources[i]);
    if (!call) return tl::unexpected(call.error());
    const std::string which = kernels_.given ? "" : fmt::format(" {}", i);
    return std::make_unique<OwnPlan>(std::move(*call), "a kernel of our own, " + kernels_.kind + which, alone);
  }

  std::unique_ptr<Plans> library_;
  OwnKernels kernels_;
  MakeKernel make_;
  size_t ofLibrary_ = 0;
  bool hasLibrary_ = false;  ///< one of its plans was built
};

OwnKernels ofTable(const std::optional<TableKernel>& kernel, size_t pointer, const TensorForm& form) {
  if (!kernel) return {};
  std::vector<float> numbers = plan::laidOut(kernel->table, form.extents, plan::strided(form.extents, form.strides));
  return {"a table in its code", {generate(*kernel)}, Plans::Given{pointer, std::move(numbers)}};
}

}  // namespace

OwnKernels ownKernels(const ConvCall& call) {
  auto depthwise = depthwiseKernels(call);
  if (!depthwise.empty()) return {"tiles", std::move(depthwise)};
  return ofTable(tableKernel(call), 2, call.w);
}

OwnKernels ownKernels(const ProductCall& call) {
  TensorForm left = call.left;
  left.extents[0] = 1;
  return ofTable(tableKernel(call), 1, left);
}

OwnKernels ownKernels(const PoolCall& call) {
  return {"windows", {generate(windowKernel(call))}, std::nullopt, true};
}

OwnKernels ownKernels(const NormCall& call) {
  return {"rows", {generate(rowKernel(call))}, std::nullopt, true};
}

std::unique_ptr<Plans> withKernels(std::unique_ptr<Plans> library, OwnKernels kernels, MakeKernel make) {
  if (kernels.sources.empty()) return library;
  return std::make_unique<PlansWithKernels>(std::move(library), std::move(kernels), std::move(make));
}

}  // namespace pet::cuda
