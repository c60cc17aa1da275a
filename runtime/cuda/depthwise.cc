#include "runtime/cuda/depthwise.h"

#include <algorithm>

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

}  // namespace pet::cuda
