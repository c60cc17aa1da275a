#include "runtime/cuda/depthwise.h"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/cuda/generate/depthwise_kernel.h"
#include "runtime/cuda/points.h"

namespace pet::cuda {
namespace {

constexpr int64_t kThreads = 256;  ///< of a block, as a rule
constexpr int64_t kMostThreads = 1024;
constexpr int64_t kMostRun = 32;  ///< results of a thread
constexpr int64_t kLanes = 32;
constexpr int64_t kSharedBytes = 48 << 10;  ///< that every device has for a block
/// Channels that are neighbours in memory and are read together: 32 bytes at least, of any type.
constexpr int64_t kLeastChannels = 8;

bool isDepthwise(const ConvCall& call) {
  return call.group > 1 && call.group == call.x.extents[1] && call.x.extents.size() <= 5;
}

/// All but the tiles.
DepthwiseKernel described(const ConvCall& call) {
  DepthwiseKernel kernel;
  const size_t spatial = call.x.extents.size() - 2;
  auto steps = [&](size_t d) {
    return DepthwiseKernel::Steps{call.x.strides[d], call.w.strides[d], call.y.strides[d],
                                  call.added ? call.added->strides[d] : 0};
  };
  for (size_t d = 0; d < spatial; ++d) {
    kernel.axes[d + 3 - spatial] = {call.x.extents[d + 2], call.y.extents[d + 2], call.w.extents[d + 2],
                                    call.strides[d],       call.dilations[d],     call.before[d],
                                    steps(d + 2),          call.transposed};
  }
  kernel.images = call.y.extents[0];
  kernel.channels = call.y.extents[1];
  kernel.perChannel = call.y.extents[1] / call.x.extents[1];
  kernel.imageSteps = steps(0);
  kernel.channelSteps = steps(1);
  kernel.channelSteps.w = call.w.strides[call.transposed ? 1 : 0];
  kernel.groupStep = call.transposed ? call.w.strides[0] : kernel.perChannel * call.w.strides[0];
  kernel.channelsInner = call.x.strides[1] == 1 && kernel.channels > 1;
  kernel.bias = call.bias;
  kernel.added = call.added.has_value();
  if (call.activation) kernel.value = applied(*call.activation, "r");
  return kernel;
}

/// What a kernel tries to compute in a block.
struct Shape {
  int64_t run, threads, depth;
};

/// So many threads, each with a run of neighbours, down or, in maps of one row, along; smaller until all fits. False:
/// it never does.
bool tile(DepthwiseKernel& kernel, const Shape& shape) {
  auto& [depth, down, along] = kernel.axes;
  auto whole = [](const auto& axis, int64_t positions) { return ceilDiv(positions, axis.period()) * axis.period(); };
  auto most = [&](const auto& axis) { return whole(axis, axis.positions + axis.lead()); };
  depth.tile = whole(depth, std::min(most(depth), shape.depth));
  down.tile = down.period();
  const int64_t threads = shape.threads / depth.tile;
  kernel.runAxis = down.positions > 1 ? 1 : 2;
  auto& running = kernel.axes[kernel.runAxis];
  if (running.period() > kMostRun) return false;
  const int64_t periods = most(running) / running.period();
  // Along a row a run has an odd number of periods, so that a warp's threads read different banks of shared memory.
  const int64_t wanted = std::max<int64_t>(1, shape.run / running.period()) | (kernel.runAxis == 2 ? 1 : 0);
  kernel.run = ceilDiv(periods, ceilDiv(periods, wanted)) * running.period();
  const int64_t runs = ceilDiv(most(running), kernel.run);
  int64_t columns = kernel.runAxis == 2 ? 1 : std::min(most(along), kernel.channelsInner ? kLanes / 4 : kLanes);
  int64_t channels = kernel.channelsInner ? std::min(kernel.channels, kLanes) : 1;
  int64_t rows = std::clamp<int64_t>(threads / (columns * channels), 1, runs);
  if (!kernel.channelsInner) channels = std::clamp<int64_t>(threads / (columns * rows), 1, kernel.channels);
  const int64_t least = kernel.channelsInner ? std::min(channels, kLeastChannels) : 1;
  for (;;) {
    along.tile = whole(along, columns);
    running.tile = rows * kernel.run;
    kernel.channelTile = channels;
    if (kernel.sharedBytes() <= kSharedBytes && kernel.threads() <= kMostThreads) return true;
    if (depth.tile > depth.period())
      depth.tile = depth.period();
    else if (channels > least)
      channels = std::max(least, channels / 2);
    else if (rows > 1)
      rows /= 2;
    else if (columns > 1)
      columns /= 2;
    else
      return false;
  }
}

/// A kernel of ours as one of several plans.
class OwnPlan final : public Call {
 public:
  OwnPlan(std::unique_ptr<Call> call, std::string name, bool alone) : call_(std::move(call)), name_(std::move(name)) {
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
  PlansWithKernels(std::unique_ptr<Plans> library, std::vector<KernelSource> kernels, MakeKernel make)
      : library_(std::move(library)), kernels_(std::move(kernels)), make_(std::move(make)) {}

  std::string problem() const override { return library_->problem() + " or a kernel of our own"; }
  std::vector<int64_t> elements() const override { return library_->elements(); }
  Expected<size_t> count() override {
    const auto count = library_->count();
    ofLibrary_ = count ? *count : 0;
    return ofLibrary_ + kernels_.size();
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
    for (size_t i = 0; i < kernels_.size(); ++i) {
      for (bool alone : {false, true}) {
        if (OwnPlan::keptOf(kernels_[i].name, alone) == kept) return own(i, alone);
      }
    }
    return library_->restore(kept);
  }

 private:
  /// Of the library's plans so many come before ours.
  size_t before() const { return std::min<size_t>(ofLibrary_, 1); }
  bool isOwn(size_t i) const { return i >= before() && i < before() + kernels_.size(); }
  size_t inLibrary(size_t i) const { return i < before() ? i : i - kernels_.size(); }
  Expected<std::unique_ptr<Call>> own(size_t i, bool alone) const {
    auto call = make_(kernels_[i]);
    if (!call) return tl::unexpected(call.error());
    return std::make_unique<OwnPlan>(std::move(*call), fmt::format("a kernel of our own, tiles {}", i), alone);
  }

  std::unique_ptr<Plans> library_;
  std::vector<KernelSource> kernels_;
  MakeKernel make_;
  size_t ofLibrary_ = 0;
  bool hasLibrary_ = false;  ///< one of its plans was built
};

}  // namespace

std::vector<KernelSource> depthwiseKernels(const ConvCall& call) {
  constexpr int64_t little = 4, much = 8;
  const Shape shapes[] = {{little, kThreads, 1}, {much, kThreads, 1}, {little, kThreads / 4, 1}, {little, kThreads, 4}};
  std::vector<KernelSource> kernels;
  if (!isDepthwise(call)) return kernels;
  for (const Shape& shape : shapes) {
    DepthwiseKernel kernel = described(call);
    if (!tile(kernel, shape)) continue;
    KernelSource source = generate(kernel);
    const bool isKnown =
        std::any_of(kernels.begin(), kernels.end(), [&](const auto& k) { return k.name == source.name; });
    if (!isKnown) kernels.push_back(std::move(source));
  }
  return kernels;
}

std::unique_ptr<Plans> withKernels(std::unique_ptr<Plans> library, const ConvCall& call, MakeKernel make) {
  auto kernels = depthwiseKernels(call);
  if (kernels.empty()) return library;
  return std::make_unique<PlansWithKernels>(std::move(library), std::move(kernels), std::move(make));
}

}  // namespace pet::cuda
