#include "runtime/onednn/index_copy.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>

#ifdef __SSE__
#include <xmmintrin.h>
#endif

#include "ir/wide_loops.h"

namespace pet::onednn {

using plan::kFill;
using plan::MapAxis;

namespace {

using Source = IndexCopy::Source;
/// The tensors of a map.
constexpr size_t kTo = 0, kFrom = 1;
/// Loops around the innermost ones; a tensor has fewer dimensions, and few of them are in pieces.
constexpr size_t kMostAxes = 64;

#ifdef __SSE__
__m128 fourOf(const Source* numbers) {
  __m128 four;
  std::memcpy(&four, numbers, sizeof four);
  return four;
}
#endif

/// to[j · toColumn + i] = from[i · fromRow + j], for i < rows and j < columns. Lines of the destination are written one
/// after another: where columns are a power of two apart, few of them fit the first-level cache at once.
void transposeBlock(const Source* from, int64_t fromRow, float* to, int64_t toColumn, int64_t rows, int64_t columns) {
  int64_t wholeRows = 0, wholeColumns = 0;  // in squares of 4 x 4
#ifdef __SSE__
  wholeRows = rows / 4 * 4;
  wholeColumns = columns / 4 * 4;
  for (int64_t j = 0; j < wholeColumns; j += 4) {
    for (int64_t i = 0; i < wholeRows; i += 4) {
      const Source* f = from + i * fromRow + j;
      float* t = to + j * toColumn + i;
      __m128 a = fourOf(f), b = fourOf(f + fromRow), c = fourOf(f + 2 * fromRow), d = fourOf(f + 3 * fromRow);
      _MM_TRANSPOSE4_PS(a, b, c, d);
      _mm_storeu_ps(t, a);
      _mm_storeu_ps(t + toColumn, b);
      _mm_storeu_ps(t + 2 * toColumn, c);
      _mm_storeu_ps(t + 3 * toColumn, d);
    }
  }
#endif
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = i < wholeRows ? wholeColumns : 0; j < columns; ++j)
      to[j * toColumn + i] = from[i * fromRow + j];
  }
}

/// Of kRows rows, where lines of the destination lie side by side: kRows streams become one.
template <int64_t kRows>
[[gnu::always_inline]] inline void join(const Source* from, int64_t fromRow, float* to, int64_t columns) {
  for (int64_t j = 0; j < columns; ++j) {
    for (int64_t i = 0; i < kRows; ++i)
      to[j * kRows + i] = from[i * fromRow + j];
  }
}
/// Of kColumns columns, where rows of the source lie side by side: one stream becomes kColumns.
template <int64_t kColumns>
[[gnu::always_inline]] inline void part(const Source* from, float* to, int64_t toColumn, int64_t rows) {
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < kColumns; ++j)
      to[j * toColumn + i] = from[i * kColumns + j];
  }
}

/// Matrices of two to four rows or columns that lie side by side. False: this is none.
PET_WIDE_LOOPS bool transposeFew(
    const Source* from, int64_t fromRow, float* to, int64_t toColumn, int64_t rows, int64_t columns) {
  if (toColumn == rows) {
    if (rows == 2) return join<2>(from, fromRow, to, columns), true;
    if (rows == 3) return join<3>(from, fromRow, to, columns), true;
    if (rows == 4) return join<4>(from, fromRow, to, columns), true;
  }
  if (fromRow == columns) {
    if (columns == 2) return part<2>(from, to, toColumn, rows), true;
    if (columns == 3) return part<3>(from, to, toColumn, rows), true;
    if (columns == 4) return part<4>(from, to, toColumn, rows), true;
  }
  return false;
}

/// The blocks in which a matrix is transposed: of `rows` rows and `columns` columns, those of `strip` rows together,
/// line after line of the destination.
struct Blocks {
  int64_t strip, rows, columns;
};

/// Across, so that the rows of a block are read once. Where lines are a multiple of 4 KB apart, few of them fit the
/// caches at once: some lines, as long as the source stays in the second-level cache.
Blocks blocksFor(int64_t toColumn, int64_t columns) {
  constexpr int64_t kLine = 16, kStrip = 1 << 16;
  if (toColumn % 1024 != 0) return {kLine, kLine, kLine};
  return {std::max(kLine, kStrip / columns / kLine * kLine), kLine, kLine / 2};
}

void transpose(const Source* from, int64_t fromRow, float* to, int64_t toColumn, int64_t rows, int64_t columns) {
  if (transposeFew(from, fromRow, to, toColumn, rows, columns)) return;
  const Blocks blocks = blocksFor(toColumn, columns);
  for (int64_t start = 0; start < rows; start += blocks.strip) {
    const int64_t end = std::min(rows, start + blocks.strip);
    for (int64_t j = 0; j < columns; j += blocks.columns) {
      for (int64_t i = start; i < end; i += blocks.rows) {
        transposeBlock(from + i * fromRow + j, fromRow, to + j * toColumn + i, toColumn, std::min(blocks.rows, end - i),
                       std::min(blocks.columns, columns - j));
      }
    }
  }
}

}  // namespace

IndexCopy::IndexCopy(const Access& from, const Access& to)
    : fill_(from.fill), fromOffset_(from.offset), toOffset_(to.offset), outer_(plan::mapAxes({&to, &from})) {
  inner_ = chooseInner();
  assert(outer_.size() <= kMostAxes);
}

IndexCopy::Inner IndexCopy::chooseInner() {
  if (outer_.empty()) return Runs{{{0, 0, 1}}};
  const MapAxis& last = outer_.back();
  if (!last.isLinear() || last.step(kTo) != 1 || last.step(kFrom) == 1) return takeRuns();
  for (size_t i = 0; i + 1 < outer_.size(); ++i) {
    const MapAxis& row = outer_[i];
    if (!row.isLinear() || row.step(kFrom) != 1) continue;
    Transposition t{last.extent(), row.extent(), last.step(kFrom), row.step(kTo)};
    outer_.pop_back();
    outer_.erase(outer_.begin() + static_cast<std::ptrdiff_t>(i));
    return t;
  }
  Strided s{last.extent(), last.step(kFrom), 1};
  outer_.pop_back();
  return s;
}

/// Runs along the innermost axes, of as many of them as fit the first-level cache, with the list of runs.
IndexCopy::Runs IndexCopy::takeRuns() {
  constexpr int64_t kElements = 8192, kRuns = 1024;
  Runs runs{{{0, 0, 1}}};
  int64_t covered = 1;
  auto fits = [&](int64_t extent) {
    const auto count = static_cast<int64_t>(runs.list.size());
    return covered * extent <= kElements && (count == 1 || count * extent <= kRuns);
  };
  while (!outer_.empty() && (covered == 1 || fits(outer_.back().extent()))) {
    const MapAxis axis = std::move(outer_.back());
    outer_.pop_back();
    const auto &to = axis.tables[kTo], &from = axis.tables[kFrom];
    covered *= axis.extent();
    Run& first = runs.list.front();
    if (runs.list.size() == 1 && axis.isLinear() && axis.step(kTo) == first.length &&
        axis.step(kFrom) == first.length) {  // one long run
      first.length = covered;
      continue;
    }
    std::vector<Run> list;
    for (size_t i = 0; i < to.size(); ++i) {
      for (Run run : runs.list) {
        run.to += to[i];
        run.from = run.from == kFill || from[i] == kFill ? kFill : run.from + from[i];
        Run* before = list.empty() ? nullptr : &list.back();
        bool goesOn = before && before->to + before->length == run.to &&
                      (run.from == kFill ? before->from == kFill
                                         : before->from != kFill && before->from + before->length == run.from);
        if (goesOn) {
          before->length += run.length;
        } else {
          list.push_back(run);
        }
      }
    }
    runs.list = std::move(list);
  }
  return runs;
}

void IndexCopy::copyInner(const Source* from, float* to) const {
  if (const auto* runs = std::get_if<Runs>(&inner_)) {
    for (const Run& run : runs->list) {
      if (run.from == kFill) {
        std::fill_n(to + run.to, run.length, fill_);
      } else if (run.length == 1) {
        to[run.to] = from[run.from];
      } else {
        std::memcpy(to + run.to, from + run.from, static_cast<size_t>(run.length) * sizeof(float));
      }
    }
  } else if (const auto* t = std::get_if<Transposition>(&inner_)) {
    transpose(from, t->fromRow, to, t->toColumn, t->rows, t->columns);
  } else {
    const auto& s = std::get<Strided>(inner_);
    for (int64_t i = 0; i < s.count; ++i)
      to[i * s.to] = from[i * s.from];
  }
}

void IndexCopy::fillInner(float* to) const {
  if (const auto* runs = std::get_if<Runs>(&inner_)) {
    for (const Run& run : runs->list)
      std::fill_n(to + run.to, run.length, fill_);
  } else if (const auto* t = std::get_if<Transposition>(&inner_)) {
    for (int64_t j = 0; j < t->columns; ++j)
      std::fill_n(to + j * t->toColumn, t->rows, fill_);
  } else {
    const auto& s = std::get<Strided>(inner_);
    for (int64_t i = 0; i < s.count; ++i)
      to[i * s.to] = fill_;
  }
}

/// Positions [begin, end) of the outer axes, in row-major order.
void IndexCopy::runOuter(const Source* from, float* to, int64_t begin, int64_t end) const {
  std::array<size_t, kMostAxes> at{};
  const size_t axes = outer_.size();
  int64_t rest = begin;
  for (size_t d = axes; d-- > 0;) {
    at[d] = static_cast<size_t>(rest % outer_[d].extent());
    rest /= outer_[d].extent();
  }
  for (int64_t i = begin; i < end; ++i) {
    int64_t source = 0, target = 0;
    bool fill = false;
    for (size_t d = 0; d < axes; ++d) {
      int64_t step = outer_[d].tables[kFrom][at[d]];
      fill |= step == kFill;
      source += fill ? 0 : step;
      target += outer_[d].tables[kTo][at[d]];
    }
    if (fill) {
      fillInner(to + target);
    } else {
      copyInner(from + source, to + target);
    }
    for (size_t d = axes; d-- > 0;) {
      if (++at[d] < static_cast<size_t>(outer_[d].extent())) break;
      at[d] = 0;
    }
  }
}

void IndexCopy::run(const Source* from, float* to, [[maybe_unused]] int threads) const {
  int64_t total = 1;
  for (const MapAxis& axis : outer_)
    total *= axis.extent();
  const Source* source = from + fromOffset_;
  float* target = to + toOffset_;
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
  for (int t = 0; t < threads; ++t)
    runOuter(source, target, total * t / threads, total * (t + 1) / threads);
}

}  // namespace pet::onednn
