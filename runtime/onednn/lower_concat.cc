// Concat of channels with a BatchNormalization behind it: parts are scaled and shifted as they are copied.

#include <limits>

#include "ir/wide_loops.h"
#include "runtime/onednn/lowerings.h"

namespace pet::onednn {
namespace {

/// y[v, c] = max(x[v, c] scale[c] + shift[c], least), x dense, of `count` channels, y of `all`.
struct ScaledPart {
  int64_t positions, count, all;
  std::vector<float> scale, shift;
  float least;
};

PET_WIDE_LOOPS void copyScaled(const ScaledPart& part, const float* x, float* y, int64_t begin, int64_t end) {
  const float *scale = part.scale.data(), *shift = part.shift.data(), least = part.least;
  const int64_t count = part.count;
  x += begin * count;
  y += begin * part.all;
  for (int64_t v = begin; v < end; ++v, x += count, y += part.all) {
    for (int64_t c = 0; c < count; ++c) {
      const float value = x[c] * scale[c] + shift[c];
      y[c] = value < least ? least : value;
    }
  }
}

void emitScaled(Planner& p, ScaledPart part, const Place& from, const Place& to) {
  p.emit(std::make_unique<KernelStep>(
      std::vector<int>{from.buffer, to.buffer}, [part = std::move(part), x = from.access.offset, y = to.access.offset,
                                                 threads = p.options().threads](float* const* q) {
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
        for (int t = 0; t < threads; ++t) {
          copyScaled(part, q[0] + x, q[1] + y, part.positions * t / threads, part.positions * (t + 1) / threads);
        }
      }));
}

/// Of channels that lie innermost, with a scale and a shift, and a Relu.
bool lowerConcat(Planner& p, int n, const Epilogue& e) {
  const Node& node = p.node(n);
  const Extents extents = p.extents({n, 0});
  const bool rectify = e.post.size() == 1 && isRelu(e, 0);
  if (p.scalar(n, "axis") != 1 || e.scale.empty() || (!e.post.empty() && !rectify)) return false;
  for (Value v : node.operands) {
    const Extents part = p.extents(v);
    if (part[1] < 1 || !sameForm(p.place(v).access, channelsLast(part))) return false;
  }
  Place whole = p.create(channelsLast(extents));
  int64_t start = 0;
  for (Value v : node.operands) {
    const int64_t count = p.extents(v)[1], end = start + count;
    ScaledPart part{elementCount(extents) / extents[1],
                    count,
                    extents[1],
                    {e.scale.begin() + start, e.scale.begin() + end},
                    {e.shift.begin() + start, e.shift.begin() + end},
                    rectify ? 0 : -std::numeric_limits<float>::infinity()};
    Place to = whole;
    to.access.offset += start;
    emitScaled(p, std::move(part), p.place(v), to);
    start = end;
  }
  p.define(e.result, std::move(whole));
  p.note(n, "copies, with what follows");
  return true;
}

constexpr LowerRow kConcatRows[] = {{"Concat", lowerConcat, channelDimension, true}};

}  // namespace

std::span<const LowerRow> concatLowerings() {
  return kConcatRows;
}

}  // namespace pet::onednn
