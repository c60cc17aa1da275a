#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "runtime/plan/access.h"

namespace pet::plan {

/// Nested loops over the positions of several tensors of the same extents, none with a fill. The innermost one advances
/// each tensor by a fixed step; neighbouring loops that can be one are joined.
class Loops {
 public:
  static constexpr size_t kTensors = 8;
  /// At most kTensors.
  explicit Loops(const std::vector<Access>& tensors);

  /// Of the innermost loop.
  int64_t count() const { return count_; }
  const std::vector<int64_t>& steps() const { return steps_; }
  /// Makes one loop of the innermost one and the one around it, where that is linear, too: each tensor then advances by
  /// steps() within so many elements, a period, and from one period to the next by its number of periodSteps().
  void joinRows();
  /// 0: the loops were not joined.
  int64_t period() const { return period_; }
  const std::vector<int64_t>& periodSteps() const { return periodSteps_; }
  /// How often the innermost loop runs.
  int64_t rows() const { return rows_; }

  /// Calls body(offset of each tensor) for rows [begin, end).
  template <class Body>
  void run(int64_t begin, int64_t end, const Body& body) const {
    std::array<int64_t, kTensors> offsets;
    for (int64_t row = begin; row < end; ++row) {
      std::copy(offsets_.begin(), offsets_.end(), offsets.begin());
      int64_t rest = row;
      for (size_t a = axes_.size(); a-- > 0;) {
        const Axis& axis = axes_[a];
        const int64_t at = rest % axis.extent;
        rest /= axis.extent;
        for (size_t t = 0; t < offsets_.size(); ++t)
          offsets[t] += axis.isLinear() ? at * axis.steps[t] : axis.tables[t][static_cast<size_t>(at)];
      }
      body(offsets.data());
    }
  }

 private:
  /// One loop: by what each tensor's offset advances. Where that is the same at all positions, there are no tables,
  /// which would be as long as a tensor.
  struct Axis {
    int64_t extent = 1;
    std::vector<std::vector<int64_t>> tables;  ///< one per tensor; none: it is linear
    std::vector<int64_t> steps;                ///< from the first position to the second, one per tensor
    bool isLinear() const { return tables.empty(); }
  };
  static void factor(std::vector<std::vector<int64_t>> tables, std::vector<Axis>& into);
  static bool goesOn(const Axis& outer, const Axis& inner);

  std::vector<Axis> axes_;  ///< outermost first
  std::vector<int64_t> offsets_, steps_, periodSteps_;
  int64_t count_ = 1, rows_ = 1, period_ = 0;
};

}  // namespace pet::plan
