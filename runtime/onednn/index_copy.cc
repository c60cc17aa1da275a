#include "runtime/onednn/index_copy.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <numeric>

#ifdef __SSE__
#include <xmmintrin.h>
#endif

namespace pet::onednn {
namespace {

/// Loops around the innermost ones; a tensor has fewer dimensions, and few of them are in pieces.
constexpr size_t kMostAxes = 64;

/// How many entries from the first on advance by one step, in a table without fills.
size_t linearPrefix(const std::vector<int64_t>& table) {
  if (table.size() < 2 || table[0] == kFill || table[1] == kFill) return 1;
  size_t n = 2;
  while (n < table.size() && table[n] != kFill && table[n] - table[n - 1] == table[1] - table[0])
    ++n;
  return n;
}

/// Every block of `length` entries is the first one moved, or all fill.
bool repeatsOrFills(const std::vector<int64_t>& table, size_t length) {
  if (table.size() % length != 0) return false;
  for (size_t i = 0; i < table.size(); i += length) {
    for (size_t j = 0; j < length; ++j) {
      bool fill = table[i] == kFill;
      if (fill ? table[i + j] != kFill : table[i + j] == kFill || table[i + j] - table[i] != table[j] - table[0])
        return false;
    }
  }
  return true;
}

std::vector<int64_t> everyNth(const std::vector<int64_t>& table, size_t n) {
  std::vector<int64_t> result;
  for (size_t i = 0; i < table.size(); i += n)
    result.push_back(table[i]);
  return result;
}

/// to[j · toColumn + i] = from[i · fromRow + j], for i < rows and j < columns.
void transposeBlock(const float* from, int64_t fromRow, float* to, int64_t toColumn, int64_t rows, int64_t columns) {
  int64_t i = 0;
#ifdef __SSE__
  for (; i + 4 <= rows; i += 4) {
    int64_t j = 0;
    for (; j + 4 <= columns; j += 4) {
      const float* f = from + i * fromRow + j;
      float* t = to + j * toColumn + i;
      __m128 a = _mm_loadu_ps(f), b = _mm_loadu_ps(f + fromRow), c = _mm_loadu_ps(f + 2 * fromRow),
             d = _mm_loadu_ps(f + 3 * fromRow);
      _MM_TRANSPOSE4_PS(a, b, c, d);
      _mm_storeu_ps(t, a);
      _mm_storeu_ps(t + toColumn, b);
      _mm_storeu_ps(t + 2 * toColumn, c);
      _mm_storeu_ps(t + 3 * toColumn, d);
    }
    for (; j < columns; ++j) {
      for (int64_t k = i; k < i + 4; ++k)
        to[j * toColumn + k] = from[k * fromRow + j];
    }
  }
#endif
  for (; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j)
      to[j * toColumn + i] = from[i * fromRow + j];
  }
}

}  // namespace

bool IndexCopy::Axis::isLinear() const {
  return to.size() > 1 && linearPrefix(from) == from.size() && linearPrefix(to) == to.size();
}

void IndexCopy::factor(std::vector<int64_t> from, std::vector<int64_t> to, std::vector<Axis>& into) {
  if (to.size() == 1 && from[0] != kFill) return;
  size_t length = std::min(linearPrefix(from), linearPrefix(to));
  if (length > 1 && length < to.size() && repeatsOrFills(from, length) && repeatsOrFills(to, length)) {
    factor(everyNth(from, length), everyNth(to, length), into);
    from.resize(length);
    to.resize(length);
  }
  into.push_back({std::move(from), std::move(to)});
}

/// Joins neighbours of which the outer one goes on where the inner one ends, on both sides.
void IndexCopy::merge() {
  for (size_t i = outer_.size(); i-- > 1;) {
    Axis &outer = outer_[i - 1], &inner = outer_[i];
    if (!outer.isLinear() || !inner.isLinear()) continue;
    auto goesOn = [](const std::vector<int64_t>& o, const std::vector<int64_t>& in) {
      return o[1] - o[0] == static_cast<int64_t>(in.size()) * (in[1] - in[0]);
    };
    if (!goesOn(outer.from, inner.from) || !goesOn(outer.to, inner.to)) continue;
    outer.from = merged({&outer.from, &inner.from});
    outer.to = merged({&outer.to, &inner.to});
    outer_.erase(outer_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

IndexCopy::IndexCopy(const Access& from, const Access& to)
    : fill_(from.fill), fromOffset_(from.offset), toOffset_(to.offset) {
  for (size_t d = 0; d < to.rank(); ++d)
    factor(from.tables[d], to.tables[d], outer_);
  std::stable_sort(outer_.begin(), outer_.end(), [](const Axis& a, const Axis& b) {
    auto step = [](const Axis& x) { return x.extent() > 1 ? x.to[1] - x.to[0] : std::numeric_limits<int64_t>::max(); };
    return step(a) > step(b);
  });
  merge();
  inner_ = chooseInner();
  assert(outer_.size() <= kMostAxes);
}

IndexCopy::Inner IndexCopy::chooseInner() {
  if (outer_.empty()) return Runs{{{0, 0, 1}}};
  const Axis& last = outer_.back();
  auto stride = [](const std::vector<int64_t>& table) { return table[1] - table[0]; };
  if (!last.isLinear() || stride(last.to) != 1 || stride(last.from) == 1) return takeRuns();
  for (size_t i = 0; i + 1 < outer_.size(); ++i) {
    const Axis& row = outer_[i];
    if (!row.isLinear() || stride(row.from) != 1) continue;
    Transposition t{last.extent(), row.extent(), stride(last.from), stride(row.to)};
    outer_.pop_back();
    outer_.erase(outer_.begin() + static_cast<std::ptrdiff_t>(i));
    return t;
  }
  Strided s{last.extent(), stride(last.from), 1};
  outer_.pop_back();
  return s;
}

/// Runs along the innermost axes, of as many of them as fit the first-level cache.
IndexCopy::Runs IndexCopy::takeRuns() {
  constexpr int64_t kElements = 8192;
  Runs runs{{{0, 0, 1}}};
  int64_t covered = 1;
  while (!outer_.empty() && (covered == 1 || covered * outer_.back().extent() <= kElements)) {
    const Axis axis = std::move(outer_.back());
    outer_.pop_back();
    covered *= axis.extent();
    std::vector<Run> list;
    for (size_t i = 0; i < axis.to.size(); ++i) {
      for (Run run : runs.list) {
        run.to += axis.to[i];
        run.from = run.from == kFill || axis.from[i] == kFill ? kFill : run.from + axis.from[i];
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

void IndexCopy::copyInner(const float* from, float* to) const {
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
    constexpr int64_t kBlock = 16;  // a cache line of the destination
    for (int64_t i = 0; i < t->rows; i += kBlock) {
      for (int64_t j = 0; j < t->columns; j += kBlock) {
        transposeBlock(from + i * t->fromRow + j, t->fromRow, to + j * t->toColumn + i, t->toColumn,
                       std::min(kBlock, t->rows - i), std::min(kBlock, t->columns - j));
      }
    }
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
void IndexCopy::runOuter(const float* from, float* to, int64_t begin, int64_t end) const {
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
      int64_t step = outer_[d].from[at[d]];
      fill |= step == kFill;
      source += fill ? 0 : step;
      target += outer_[d].to[at[d]];
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

void IndexCopy::run(const float* from, float* to, [[maybe_unused]] int threads) const {
  int64_t total = 1;
  for (const Axis& axis : outer_)
    total *= axis.extent();
  const float* source = from + fromOffset_;
  float* target = to + toOffset_;
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
  for (int t = 0; t < threads; ++t)
    runOuter(source, target, total * t / threads, total * (t + 1) / threads);
}

}  // namespace pet::onednn
