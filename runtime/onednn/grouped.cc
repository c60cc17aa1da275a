#include "runtime/onednn/grouped.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "ir/wide_loops.h"
#include "runtime/onednn/lanes.h"

namespace pet::onednn {
namespace {

/// A row of the operand, [positions, width, lanes], and the taps on it, [taps, width, lanes]; of the first group.
struct RowTaps {
  const float *x, *kernel;
};

/// A row of some groups of channels; steps from one position, or one group, to the next: no further than so far.
template <class Number>
struct OfGroups {
  Number* first;
  int64_t step, groupStep, groupsEnd;

  Number* at(int64_t group, int64_t position) const {
    return first + std::min(group * groupStep, groupsEnd) + position * step;
  }
};

/// A row of results of some groups of channels, and what it is computed from.
struct RowSums {
  std::span<const RowTaps> rows;
  int64_t width, taps, stride, dilation;
  int64_t groups, groupStep, kernelStep;  ///< from one group to the next
  const float* bias;                      ///< of the first group
  plan::Bounds bounds;
  int64_t positions;
  OfGroups<const float> addend;  ///< null: none
  OfGroups<float> y;
};

/// An address as one number: what lies near it is then reached by constants, and not by registers that hold parts of
/// sums.
[[gnu::always_inline]] inline const float* settled(const float* address) {
#ifdef __GNUC__
  asm("" : "+r"(address));
#endif
  return address;
}

/// Σ over the taps of one row, for neighbouring positions; each tap by itself.
template <int64_t kPositions, int64_t kWidth>
[[gnu::always_inline]] inline void addTaps(const RowSums& s,
                                           const float* x,
                                           const float* kernel,
                                           Lanes (&sums)[kPositions]) {
  for (int64_t t = 0; t < s.taps; ++t, x += s.dilation * kWidth * kLanes, kernel += kWidth * kLanes) {
    const float* at = x;
    for (int64_t i = 0; i < kPositions; ++i, at += s.stride * kWidth * kLanes) {
#pragma GCC unroll 8
      for (int64_t c = 0; c < kWidth; ++c)
        sums[i] += lanesAt(kernel + c * kLanes) * lanesAt(at + c * kLanes);
    }
  }
}

/// The same, where each element is read once for all taps; at most four channels of a group in one piece of code, which
/// is 15 KB then.
template <int64_t kPositions, int64_t kWidth, int64_t kTaps, int64_t kStride>
[[gnu::always_inline]] inline void addRow(const float* x, const float* kernel, Lanes (&sums)[kPositions]) {
  constexpr int64_t kTogether = std::min(kWidth, int64_t{4});
#pragma GCC unroll 1
  for (int64_t first = 0; first < kWidth; first += kTogether, x += kTogether * kLanes, kernel += kTogether * kLanes) {
    Lanes by[kTaps][kTogether];
#pragma GCC unroll 8
    for (int64_t t = 0; t < kTaps; ++t) {
#pragma GCC unroll 8
      for (int64_t c = 0; c < kTogether; ++c)
        by[t][c] = lanesAt(kernel + (t * kWidth + c) * kLanes);
    }
#pragma GCC unroll 32
    for (int64_t v = 0; v < (kPositions - 1) * kStride + kTaps; ++v) {
#pragma GCC unroll 8
      for (int64_t c = 0; c < kTogether; ++c) {
        const Lanes in = lanesAt(x + (v * kWidth + c) * kLanes);
#pragma GCC unroll 8
        for (int64_t t = 0; t < kTaps; ++t) {
          if (v >= t && (v - t) % kStride == 0 && (v - t) / kStride < kPositions)
            sums[(v - t) / kStride] += by[t][c] * in;
        }
      }
    }
  }
}

/// kTaps = 0: any.
template <int64_t kPositions, int64_t kWidth, int64_t kTaps, int64_t kStride>
[[gnu::always_inline]] inline void sumBlock(const RowSums& s, int64_t group, int64_t first) {
  Lanes sums[kPositions];
  for (int64_t i = 0; i < kPositions; ++i)
    sums[i] = lanesAt(s.bias + group * kLanes);
  if (s.addend.first) {
    const float* addend = s.addend.at(group, first);
    for (int64_t i = 0; i < kPositions; ++i, addend += s.addend.step)
      sums[i] += lanesAt(addend);
  }
  const int64_t at = group * s.groupStep + first * s.stride * kWidth * kLanes;
  for (const RowTaps& row : s.rows) {
    const float* x = settled(row.x + at);
    const float* kernel = settled(row.kernel + group * s.kernelStep);
    if constexpr (kTaps == 0) {
      addTaps<kPositions, kWidth>(s, x, kernel, sums);
    } else {
      addRow<kPositions, kWidth, kTaps, kStride>(x, kernel, sums);
    }
  }
  const Lanes least = Lanes{} + s.bounds.least, most = Lanes{} + s.bounds.most;
  float* y = s.y.at(group, first);
  for (int64_t i = 0; i < kPositions; ++i, y += s.y.step) {
    const Lanes low = sums[i] < least ? least : sums[i];
    lanesAt(y) = low > most ? most : low;
  }
}

/// So many positions together; the last ones again, where they are fewer.
template <int64_t kPositions, int64_t kWidth, int64_t kTaps, int64_t kStride>
[[gnu::always_inline]] inline void sumBlocks(const RowSums& s) {
  for (int64_t g = 0; g < s.groups; ++g) {
    for (int64_t p = 0; p < s.positions; p += kPositions)
      sumBlock<kPositions, kWidth, kTaps, kStride>(s, g, std::min(p, s.positions - kPositions));
  }
}

/// As many together as are in registers and leave few to be computed again.
template <int64_t kWidth, int64_t kTaps, int64_t kStride>
[[gnu::always_inline]] inline void sumPositions(const RowSums& s) {
  if (s.positions < 4) {
    sumBlocks<1, kWidth, kTaps, kStride>(s);
  } else if (s.positions < 7) {
    sumBlocks<4, kWidth, kTaps, kStride>(s);
  } else if (s.positions % 7 == 0 || s.positions < 8) {
    sumBlocks<7, kWidth, kTaps, kStride>(s);
  } else {
    sumBlocks<8, kWidth, kTaps, kStride>(s);
  }
}

/// A function of its own for each case: the time to compile one grows with the square of its size.
template <int64_t kWidth, int64_t kTaps, int64_t kStride>
PET_WIDE_LOOPS void sumRowOf(const RowSums& row) {
  const RowSums s = row;  // which no result can lie over
  sumPositions<kWidth, kTaps, kStride>(s);
}

template <int64_t kWidth>
void sumTaps(const RowSums& s) {
  if (s.dilation == 1 && s.taps == 3 && s.stride == 1) return sumRowOf<kWidth, 3, 1>(s);
  if (s.dilation == 1 && s.taps == 3 && s.stride == 2) return sumRowOf<kWidth, 3, 2>(s);
  if constexpr (kWidth == 1) {
    if (s.dilation == 1 && s.taps == 5 && s.stride == 1) return sumRowOf<kWidth, 5, 1>(s);
    if (s.dilation == 1 && s.taps == 5 && s.stride == 2) return sumRowOf<kWidth, 5, 2>(s);
  }
  sumRowOf<kWidth, 0, 0>(s);
}

void sumRow(const RowSums& s) {
  if (s.width == 1) return sumTaps<1>(s);
  if (s.width == 2) return sumTaps<2>(s);
  if (s.width == 4) return sumTaps<4>(s);
  sumTaps<8>(s);
}

/// Vectors of lanes, in two dimensions; steps from one to the next.
struct LaneCopy {
  int64_t positions, fromStep, toStep;
  int64_t groups, fromGroupStep, toGroupStep;
};

/// Position by position, so that what lies side by side is read, or written, side by side.
PET_WIDE_LOOPS void copyLanes(const LaneCopy& copy, const float* from, float* to) {
  const LaneCopy c = copy;
  for (int64_t i = 0; i < c.positions; ++i) {
    for (int64_t g = 0; g < c.groups; ++g)
      lanesAt(to + i * c.toStep + g * c.toGroupStep) = lanesAt(from + i * c.fromStep + g * c.fromGroupStep);
  }
}

/// In each lane the channel of this number of the lane's own group of kWidth channels.
template <int64_t kWidth, int64_t kChannel, size_t... kLane>
[[gnu::always_inline]] inline void spread(const Lanes& in, Lanes& out, std::index_sequence<kLane...>) {
  constexpr auto kGroupOf = [](size_t lane) { return lane / kWidth * kWidth; };
  out = __builtin_shufflevector(in, in, (kGroupOf(kLane) + kChannel)...);
}
template <int64_t kWidth, int64_t kChannel = 0>
[[gnu::always_inline]] inline void spreadAll(const Lanes& in, Lanes (&out)[kWidth]) {
  if constexpr (kWidth == 1) {
    out[0] = in;
  } else {
    spread<kWidth, kChannel>(in, out[kChannel], std::make_index_sequence<kLanes>());
    if constexpr (kChannel + 1 < kWidth) spreadAll<kWidth, kChannel + 1>(in, out);
  }
}

template <int64_t kWidth>
[[gnu::always_inline]] inline void spreadLanesOf(const LaneCopy& c, const float* from, float* to) {
  for (int64_t i = 0; i < c.positions; ++i) {
    for (int64_t g = 0; g < c.groups; ++g) {
      const Lanes in = lanesAt(from + i * c.fromStep + g * c.fromGroupStep);
      Lanes out[kWidth];
      spreadAll<kWidth>(in, out);
#pragma GCC unroll 8
      for (int64_t k = 0; k < kWidth; ++k)
        lanesAt(to + i * c.toStep + g * c.toGroupStep + k * kLanes) = out[k];
    }
  }
}

/// The same, where each vector becomes `width`: for each channel that a channel reads.
PET_WIDE_LOOPS void spreadLanes(int64_t width, const LaneCopy& copy, const float* from, float* to) {
  const LaneCopy c = copy;
  if (width == 2) return spreadLanesOf<2>(c, from, to);
  if (width == 4) return spreadLanesOf<4>(c, from, to);
  spreadLanesOf<8>(c, from, to);
}

int64_t piecesOf(int64_t whole, int64_t most) {
  return (whole + most - 1) / most;
}

/// From where on a position's taps read along an axis; the first of them that is inside, and the first behind these.
struct Reading {
  int64_t from, first, end;
};
Reading readingOf(const GroupedConvolution::Axis& axis, int64_t position) {
  Reading reading{position * axis.stride - axis.before, 0, axis.taps};
  auto at = [&](int64_t tap) { return reading.from + tap * axis.dilation; };
  while (reading.first < reading.end && at(reading.first) < 0)
    ++reading.first;
  while (reading.first < reading.end && at(reading.end - 1) >= axis.extent)
    --reading.end;
  return reading;
}

}  // namespace

GroupedConvolution::GroupedConvolution(int64_t images,
                                       int64_t width,
                                       const Axes& axes,
                                       const std::vector<float>& kernel,
                                       const std::vector<float>& scale,
                                       const std::vector<float>& bias,
                                       Behind behind)
    : images_(images),
      channels_(static_cast<int64_t>(bias.size())),
      width_(width),
      groups_(piecesOf(channels_, kLanes)),
      along_(axes[2]),
      behind_(std::move(behind)) {
  const auto& [through, down, along] = axes;
  const int64_t xRow = along.extent * channels_, yRow = along.positions * channels_;
  outer_ = {through, down.extent * xRow, down.positions * yRow, down.taps};
  inner_ = {down, xRow, yRow, 1};
  xImage_ = through.extent * outer_.xStep;
  yImage_ = through.positions * outer_.yStep;
  if (through.taps > down.taps) std::swap(outer_, inner_);
  const int64_t taps = through.taps * down.taps * along.taps;
  for (int64_t g = 0; g < groups_; ++g) {
    for (int64_t k = 0; k < taps * width; ++k) {
      const int64_t from = k % width * taps + k / width;  // the kernel has taps innermost
      for (int64_t c = firstChannel(g); c < firstChannel(g) + kLanes; ++c)
        kernel_.push_back(kernel[static_cast<size_t>(c * width * taps + from)] *
                          (scale.empty() ? 1 : scale[static_cast<size_t>(c)]));
    }
    const auto first = bias.begin() + firstChannel(g);
    bias_.insert(bias_.end(), first, first + kLanes);
  }
  // Where the operand comes from behind the second-level cache, a tile is as wide as that allows: it reads longer
  // pieces.
  constexpr int64_t kCached = 6144, kFar = 4 * kCached, kNear = 1 << 18, kColumns = 16;
  const int64_t most = xImage_ > kNear ? kFar : kCached;
  tileColumns_ = piecesOf(along.positions, piecesOf(along.positions, kColumns));
  tileGroups_ = std::clamp(most / (kLanes * width * rows() * along.reach(tileColumns_)), int64_t{1}, groups_);
}

/// Of the operand, in the buffer.
int64_t GroupedConvolution::rows() const {
  return outer_.taps * inner_.reach(1);
}

int64_t GroupedConvolution::scratch() const {
  return tileGroups_ * kLanes * (width_ * rows() * along_.reach(tileColumns_) + tileColumns_);
}

int64_t GroupedConvolution::firstChannel(int64_t group) const {
  return std::min(group * kLanes, channels_ - kLanes);
}

int64_t GroupedConvolution::tiles() const {
  return piecesOf(along_.positions, tileColumns_) * piecesOf(groups_, tileGroups_);
}

GroupedConvolution::Tile GroupedConvolution::tile(int64_t number) const {
  const int64_t across = piecesOf(groups_, tileGroups_);
  const int64_t column = number / across * tileColumns_, group = number % across * tileGroups_;
  return {column, std::min(tileColumns_, along_.positions - column), group, std::min(tileGroups_, groups_ - group)};
}

/// Calls body(first group of the tile, groups, first channel) for those whose channels lie side by side, and for the
/// last one, if it has some of the one before.
template <class Body>
void GroupedConvolution::forWholeGroups(const Tile& tile, const Body& body) const {
  const int64_t whole = std::min(tile.groups, channels_ / kLanes - tile.group);
  if (whole > 0) body(0, whole, tile.group * kLanes);
  if (whole < tile.groups) body(whole, 1, channels_ - kLanes);
}

/// The part of an operand's row that the tile reads; 0 in the pads.
void GroupedConvolution::takeRow(const Tile& tile, const float* x, float* to, int64_t groupStep) const {
  const int64_t first = tile.column * along_.stride - along_.before, count = along_.reach(tile.columns);
  const int64_t begin = std::clamp(-first, int64_t{0}, count);
  const int64_t end = std::clamp(along_.extent - first, begin, count);
  const int64_t step = width_ * kLanes;
  for (int64_t g = 0; g < tile.groups; ++g) {
    std::fill(to + g * groupStep, to + g * groupStep + begin * step, 0.0F);
    std::fill(to + g * groupStep + end * step, to + g * groupStep + count * step, 0.0F);
  }
  const float* from = x + (first + begin) * channels_;
  forWholeGroups(tile, [&](int64_t group, int64_t groups, int64_t channel) {
    const LaneCopy copy{end - begin, channels_, step, groups, kLanes, groupStep};
    float* const target = to + group * groupStep + begin * step;
    width_ == 1 ? copyLanes(copy, from + channel, target) : spreadLanes(width_, copy, from + channel, target);
  });
}

void GroupedConvolution::putRow(const Tile& tile, const float* from, float* y) const {
  const int64_t plane = tile.columns * kLanes;
  forWholeGroups(tile, [&](int64_t group, int64_t groups, int64_t channel) {
    copyLanes({tile.columns, kLanes, channels_, groups, plane, kLanes}, from + group * plane, y + channel);
  });
}

void GroupedConvolution::runTile(
    const Tile& tile, const float* x, const float* addend, float* y, float* scratch) const {
  const int64_t kept = inner_.reach(1), row = along_.reach(tile.columns) * width_ * kLanes;
  const int64_t groupStep = rows() * row, rowTaps = along_.taps * width_ * kLanes;
  const int64_t kernelStep = outer_.taps * inner_.taps * rowTaps, plane = tile.columns * kLanes;
  const int64_t first = firstChannel(tile.group), last = firstChannel(tile.group + tile.groups - 1);
  float* const results = scratch + tile.groups * groupStep;
  const bool isDirect = behind_.functions.empty();
  std::array<RowTaps, kMostRows> read;
  for (int64_t d = 0; d < outer_.positions; ++d) {
    const Reading outer = readingOf(outer_, d);
    int64_t taken = 0;  // rows of the operand
    for (int64_t h = 0; h < inner_.positions; ++h) {
      const Reading inner = readingOf(inner_, h);
      for (taken = std::max(taken, inner.from); taken < std::min(inner.from + kept, inner_.extent); ++taken) {
        for (int64_t t = outer.first; t < outer.end; ++t)
          takeRow(tile, x + (outer.from + t * outer_.dilation) * outer_.xStep + taken * inner_.xStep,
                  scratch + (t * kept + taken % kept) * row, groupStep);
      }
      size_t count = 0;
      for (int64_t t = outer.first; t < outer.end; ++t) {
        for (int64_t r = inner.first; r < inner.end; ++r)
          read[count++] = {
              scratch + (t * kept + (inner.from + r * inner_.dilation) % kept) * row,
              kernel_.data() + tile.group * kernelStep + (t * outer_.tapStep + r * inner_.tapStep) * rowTaps};
      }
      const int64_t to = d * outer_.yStep + h * inner_.yStep + tile.column * channels_;
      const OfGroups<float> there{y + to + first, channels_, kLanes, last - first};
      const OfGroups<float> apart{results, kLanes, plane, (tile.groups - 1) * plane};
      sumRow({{read.data(), count},
              width_,
              along_.taps,
              along_.stride,
              along_.dilation,
              tile.groups,
              groupStep,
              kernelStep,
              bias_.data() + tile.group * kLanes,
              behind_.bounds,
              tile.columns,
              {addend ? addend + to + first : nullptr, there.step, there.groupStep, there.groupsEnd},
              isDirect ? there : apart});
      if (isDirect) continue;
      for (const ElementOp& function : behind_.functions)
        applyElements(function, results, results, tile.groups * plane);
      putRow(tile, results, y + to);
    }
  }
}

void GroupedConvolution::run(
    const float* x, const float* addend, float* y, float* scratch, [[maybe_unused]] int threads) const {
  const int64_t all = images_ * tiles();
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
  for (int t = 0; t < threads; ++t) {
    for (int64_t i = all * t / threads; i < all * (t + 1) / threads; ++i) {
      const int64_t image = i / tiles();
      runTile(tile(i % tiles()), x + image * xImage_, addend ? addend + image * yImage_ : nullptr, y + image * yImage_,
              scratch + t * this->scratch());
    }
  }
}

}  // namespace pet::onednn
