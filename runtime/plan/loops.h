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
        auto extent = static_cast<int64_t>(axes_[a][0].size());
        auto at = static_cast<size_t>(rest % extent);
        rest /= extent;
        for (size_t t = 0; t < offsets_.size(); ++t)
          offsets[t] += axes_[a][t][at];
      }
      body(offsets.data());
    }
  }

 private:
  using Axis = std::vector<std::vector<int64_t>>;  ///< one table per tensor
  std::vector<Axis> axes_;                         ///< outermost first
  std::vector<int64_t> offsets_, steps_;
  int64_t count_ = 1, rows_ = 1;
};

}  // namespace pet::plan
