#pragma once

#include <cstdint>
#include <vector>

#include "runtime/plan/access.h"
#include "runtime/plan/epilogue.h"

namespace pet::onednn {

using plan::Access;

/// to[v] = f(bias[v_1] + Σ_k from_k[v]), where a filled position of an addend adds nothing: OffsetReduce, the second
/// half of a transposed convolution, sums of many values; each result is written once.
class SumKernel {
 public:
  static constexpr size_t kMostAddends = 512;
  static constexpr size_t kMostDimensions = 16;
  /// At most kMostAddends, of the same extents and at most kMostDimensions dimensions; the addends' fill is 0. `bias`:
  /// per position of dimension 1, or empty.
  SumKernel(const Access& to, const std::vector<Access>& addends, std::vector<float> bias, plan::Bounds bounds);

  /// `from`: one buffer per addend.
  void run(float* to, const float* const* from, int threads) const;

 private:
  /// Part of an addend's innermost dimension where it advances by one step.
  struct Segment {
    int64_t at, count, from, step;
  };
  struct Addend {
    std::vector<std::vector<int64_t>> tables;    ///< of the outer dimensions, outermost first
    std::vector<std::vector<Segment>> segments;  ///< of each phase
    int64_t offset;
  };
  static std::vector<Segment> segmentsOf(const std::vector<int64_t>& table);
  /// A line of rows: all positions of the last of the outer dimensions.
  void runLine(int64_t line, float* to, const float* const* from) const;
  void start(float* row, int64_t phase, int64_t channel) const;
  int64_t lengthOf(int64_t phase) const { return (count_ - phase + phases_ - 1) / phases_; }

  std::vector<std::vector<int64_t>> to_;  ///< as in Addend; at least one
  std::vector<Addend> addends_;
  std::vector<float> bias_;
  int64_t offset_, count_, lines_ = 1;
  /// A row is added up as so many, each of every `phases_`-th position: where a transposed convolution has a stride,
  /// the addends of each lie side by side.
  int64_t phases_ = 1;
  int channelAt_ = -1;  ///< which outer dimension is dimension 1; -1: the innermost
  plan::Bounds bounds_;
};

}  // namespace pet::onednn
