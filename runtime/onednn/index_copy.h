#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "runtime/plan/index_map.h"

namespace pet::onednn {

using plan::Access;

/// to[v] = from[v] for every position v: the one kernel behind every layout operator and every change of format. Ranges
/// that are contiguous on both sides are found when it is made; it runs at the speed of memory.
class IndexCopy {
 public:
  /// Where a copy comes from need not be aligned.
  using Source [[gnu::aligned(1)]] = float;

  /// Equal extents; `to` has no fill.
  IndexCopy(const Access& from, const Access& to);

  void run(const Source* from, float* to, int threads) const;

 private:
  /// `length` consecutive elements; from = kFill: of the fill.
  struct Run {
    int64_t from, to, length;
  };
  struct Runs {
    std::vector<Run> list;
  };
  /// A matrix that is transposed: rows are contiguous in the source, columns in the destination.
  struct Transposition {
    int64_t rows, columns, fromRow, toColumn;
  };
  /// Elements at equal distances.
  struct Strided {
    int64_t count, from, to;
  };
  using Inner = std::variant<Runs, Transposition, Strided>;

  Inner chooseInner();
  Runs takeRuns();
  void copyInner(const Source* from, float* to) const;
  void fillInner(float* to) const;
  void runOuter(const Source* from, float* to, int64_t begin, int64_t end) const;

  float fill_;
  int64_t fromOffset_, toOffset_;
  std::vector<plan::MapAxis> outer_;  ///< outermost first
  Inner inner_;
};

}  // namespace pet::onednn
