#include "runtime/onednn/sum_kernel.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "ir/wide_loops.h"

namespace pet::onednn {

using plan::kFill;

namespace {

constexpr int64_t kMostPhases = 8;  ///< of a row: the largest stride that models have along rows of few channels

int64_t stepOf(const std::vector<int64_t>& table) {
  return table.size() > 1 ? table[1] - table[0] : std::numeric_limits<int64_t>::max();
}

/// y[i] += Σ_k x[k][i], where y is in none of them: four at a time, so that short rows are not read and written for
/// each.
PET_WIDE_LOOPS void addRows(float* __restrict y, const float* const* x, size_t addends, int64_t count) {
  size_t k = 0;
  for (; k + 4 <= addends; k += 4) {
    const float *a = x[k], *b = x[k + 1], *c = x[k + 2], *d = x[k + 3];
    for (int64_t i = 0; i < count; ++i)
      y[i] += (a[i] + b[i]) + (c[i] + d[i]);
  }
  for (; k < addends; ++k) {
    const float* a = x[k];
    for (int64_t i = 0; i < count; ++i)
      y[i] += a[i];
  }
}

PET_WIDE_LOOPS void keepBetween(const plan::Bounds& of, float* y, int64_t count) {
  const plan::Bounds bounds = of;  // which y cannot lie over
  for (int64_t i = 0; i < count; ++i)
    y[i] = bounds(y[i]);
}

/// y[i · phases + p] = rows[p][i]; `rows` lie one behind the other, the first as long as any.
PET_WIDE_LOOPS void interleave(float* __restrict y, const float* __restrict rows, int64_t phases, int64_t count) {
  const int64_t length = (count + phases - 1) / phases;
  if (phases == 2) {
    const float* odd = rows + length;
    for (int64_t i = 0; i < count / 2; ++i) {
      y[2 * i] = rows[i];
      y[2 * i + 1] = odd[i];
    }
    if (count % 2 != 0) y[count - 1] = rows[length - 1];
    return;
  }
  for (int64_t p = 0; p < phases; ++p) {
    const float* row = rows + p * length;
    for (int64_t i = p; i < count; i += phases)
      y[i] = *row++;
  }
}

/// Every `phases`-th entry, from `phase` on.
std::vector<int64_t> entriesOf(const std::vector<int64_t>& table, int64_t phases, int64_t phase) {
  std::vector<int64_t> result;
  for (int64_t i = phase; i < std::ssize(table); i += phases)
    result.push_back(table[static_cast<size_t>(i)]);
  return result;
}

/// y[i] += x[i · step].
void addTo(float* y, const float* x, int64_t count, int64_t step) {
  if (step == 1) {
    for (int64_t i = 0; i < count; ++i)
      y[i] += x[i];
  } else {
    for (int64_t i = 0; i < count; ++i)
      y[i] += x[i * step];
  }
}

}  // namespace

SumKernel::SumKernel(const Access& to, const std::vector<Access>& addends, std::vector<float> bias, plan::Bounds bounds)
    : bias_(std::move(bias)), offset_(to.offset), bounds_(bounds) {
  std::vector<size_t> order(to.rank());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return stepOf(to.tables[a]) > stepOf(to.tables[b]); });
  const std::optional<size_t> inner = order.empty() ? std::nullopt : std::optional(order.back());  // none: one number
  if (inner) order.pop_back();
  auto innerOf = [&](const Access& access) { return inner ? access.tables[*inner] : std::vector<int64_t>{0}; };
  count_ = static_cast<int64_t>(innerOf(to).size());
  auto outerOf = [&](const Access& access) {
    std::vector<std::vector<int64_t>> tables;
    for (size_t d : order)
      tables.push_back(access.tables[d]);
    if (tables.empty()) tables.push_back({0});
    return tables;
  };
  to_ = outerOf(to);
  for (size_t i = 0; i < order.size(); ++i) {
    if (order[i] == 1) channelAt_ = static_cast<int>(i);
  }
  for (size_t i = 0; i + 1 < to_.size(); ++i)
    lines_ *= static_cast<int64_t>(to_[i].size());
  auto segments = [&](const Access& a, int64_t phases) {
    std::vector<std::vector<Segment>> result;
    for (int64_t phase = 0; phase < phases; ++phase)
      result.push_back(segmentsOf(entriesOf(innerOf(a), phases, phase)));
    return result;
  };
  size_t fewest = std::numeric_limits<size_t>::max();
  std::vector<std::vector<std::vector<Segment>>> best;  // by addend and phase
  const int64_t most = std::min(kMostPhases, std::max<int64_t>(count_, 1));
  for (int64_t phases = 1; phases <= most && fewest > addends.size(); ++phases) {
    size_t pieces = 0;
    std::vector<std::vector<std::vector<Segment>>> tried;
    for (const Access& a : addends) {
      tried.push_back(segments(a, phases));
      for (const auto& phase : tried.back())
        pieces += phase.size();
    }
    if (pieces >= fewest) continue;
    fewest = pieces;
    phases_ = phases;
    best = std::move(tried);
  }
  for (size_t i = 0; i < addends.size(); ++i)
    addends_.push_back({outerOf(addends[i]), std::move(best[i]), addends[i].offset});
}

std::vector<SumKernel::Segment> SumKernel::segmentsOf(const std::vector<int64_t>& table) {
  std::vector<Segment> segments;
  for (size_t i = 0; i < table.size(); ++i) {
    if (table[i] == kFill) continue;
    auto at = static_cast<int64_t>(i);
    Segment* last = segments.empty() || segments.back().at + segments.back().count != at ? nullptr : &segments.back();
    if (last && last->count == 1) last->step = table[i] - last->from;
    if (last && last->from + last->count * last->step == table[i]) {
      ++last->count;
    } else {
      segments.push_back({at, 1, table[i], 1});
    }
  }
  return segments;
}

void SumKernel::start(float* row, int64_t phase, int64_t channel) const {
  if (bias_.empty()) {
    std::fill_n(row, lengthOf(phase), 0.0F);
  } else if (channelAt_ < 0) {
    for (int64_t i = phase; i < count_; i += phases_)
      *row++ = bias_[static_cast<size_t>(i)];
  } else {
    std::fill_n(row, lengthOf(phase), bias_[static_cast<size_t>(channel)]);
  }
}

void SumKernel::runLine(int64_t line, float* to, const float* const* from) const {
  std::array<size_t, kMostDimensions> at{};
  size_t last = to_.size() - 1;
  float* target = to + offset_;
  for (size_t d = last; d-- > 0;) {
    auto extent = static_cast<int64_t>(to_[d].size());
    at[d] = static_cast<size_t>(line % extent);
    line /= extent;
    target += to_[d][at[d]];
  }
  // The addends that reach this line at all, and where.
  struct Active {
    const Addend* addend;
    const float* from;
  };
  std::array<Active, kMostAddends> active;
  size_t count = 0;
  for (size_t k = 0; k < addends_.size(); ++k) {
    int64_t offset = addends_[k].offset;
    bool outside = false;
    for (size_t d = last; d-- > 0 && !outside;) {
      int64_t step = addends_[k].tables[d][at[d]];
      outside = step == kFill;
      offset += outside ? 0 : step;
    }
    if (!outside) active[count++] = {&addends_[k], from[k] + offset};
  }
  std::array<const float*, kMostAddends> whole;  // of a row, addends that lie as it does
  std::vector<float> apart(static_cast<size_t>(phases_ == 1 ? 0 : phases_ * lengthOf(0)));
  // A row at a time, all its addends, so that it stays in the first-level cache.
  for (size_t i = 0; i < to_[last].size(); ++i) {
    at[last] = i;
    float* row = target + to_[last][i];
    const int64_t channel = channelAt_ < 0 ? 0 : static_cast<int64_t>(at[static_cast<size_t>(channelAt_)]);
    for (int64_t phase = 0; phase < phases_; ++phase) {
      const int64_t length = lengthOf(phase);
      float* sum = phases_ == 1 ? row : apart.data() + phase * lengthOf(0);
      start(sum, phase, channel);
      size_t rows = 0;
      for (size_t k = 0; k < count; ++k) {
        const int64_t step = active[k].addend->tables[last][i];
        if (step == kFill) continue;
        for (const Segment& s : active[k].addend->segments[static_cast<size_t>(phase)]) {
          const float* x = active[k].from + step + s.from;
          if (s.step == 1 && s.count == length) {
            whole[rows++] = x;
          } else {
            addTo(sum + s.at, x, s.count, s.step);
          }
        }
      }
      addRows(sum, whole.data(), rows, length);
      if (bounds_.areSome()) keepBetween(bounds_, sum, length);
    }
    if (phases_ > 1) interleave(row, apart.data(), phases_, count_);
  }
}

void SumKernel::run(float* to, const float* const* from, [[maybe_unused]] int threads) const {
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
  for (int64_t line = 0; line < lines_; ++line)
    runLine(line, to, from);
}

}  // namespace pet::onednn
