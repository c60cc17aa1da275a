#pragma once

#include <algorithm>
#include <cstdlib>
#include <limits>

#include <fmt/format.h>

#include "ir/ops/kernels.h"

// What the kernels share: instantiation, ring arithmetic, numbers as ring elements, strided moves.
namespace pet::kernels {

#define PET_INSTANTIATE(Name, T) \
  template Expected<std::vector<Tensor<T>>> Name::run(const ConcreteNode&, std::span<const Tensor<T>* const>)
#define PET_INSTANTIATE_FLOAT(Name) \
  PET_INSTANTIATE(Name, float);     \
  PET_INSTANTIATE(Name, double)
#define PET_INSTANTIATE_ORDERED(Name) \
  PET_INSTANTIATE_FLOAT(Name);        \
  PET_INSTANTIATE(Name, int64_t)
#define PET_INSTANTIATE_FIELD(Name) \
  PET_INSTANTIATE_FLOAT(Name);      \
  PET_INSTANTIATE(Name, Fp)
#define PET_INSTANTIATE_RING(Name) \
  PET_INSTANTIATE_ORDERED(Name);   \
  PET_INSTANTIATE(Name, Fp)

/// The ring's operations; int64_t wraps.
template <class T>
T plus(T a, T b) {
  if constexpr (std::is_same_v<T, int64_t>) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  } else {
    return a + b;
  }
}
template <class T>
T times(T a, T b) {
  if constexpr (std::is_same_v<T, int64_t>) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  } else {
    return a * b;
  }
}
template <class T>
T minus(T a, T b) {
  if constexpr (std::is_same_v<T, int64_t>) {
    return plus(a, times(T(-1), b));
  } else {
    return a - b;
  }
}

/// The least value of an ordered T: what lies outside for max.
template <class T>
T lowest() {
  if constexpr (std::numeric_limits<T>::has_infinity) return -std::numeric_limits<T>::infinity();
  return std::numeric_limits<T>::lowest();
}

/// An attribute's number as an element of T. Over the exact rings it must be an integer, or over F_p a fraction with a
/// small power of two below.
template <class T>
Expected<T> fromNumber(double number) {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(number);
  } else {
    auto exact = asRational(number);
    if (exact && exact->denominator == 1) return T(exact->numerator);
    if constexpr (std::is_same_v<T, Fp>) {
      if (exact) return Fp(exact->numerator) / Fp(exact->denominator);
    }
    return fail(ErrorKind::kUnsupported, fmt::format("the number {} has no exact value in this ring", number));
  }
}

/// Per dimension, where each position reads along that dimension: an offset in elements, or kOutside.
constexpr int64_t kOutside = -1;
using Offsets = std::vector<std::vector<int64_t>>;

/// The table of one dimension whose position i reads at i · stride.
inline std::vector<int64_t> linearOffsets(int64_t extent, int64_t stride) {
  std::vector<int64_t> table(static_cast<size_t>(extent));
  for (size_t i = 0; i < table.size(); ++i)
    table[i] = static_cast<int64_t>(i) * stride;
  return table;
}

namespace detail {

/// Neighbours in a column lie close to each other, and those in a row far apart, as in a transposed matrix.
inline bool readsAcross(const std::vector<int64_t>& rows, const std::vector<int64_t>& columns) {
  constexpr size_t kLeast = 8;
  if (rows.size() < kLeast || columns.size() < kLeast) return false;
  auto inside = [](const std::vector<int64_t>& table) {
    return std::find(table.begin(), table.end(), kOutside) == table.end();
  };
  return std::abs(columns[1] - columns[0]) > std::abs(rows[1] - rows[0]) && inside(rows) && inside(columns);
}

/// With the innermost dimensions as one, as long as its table is short: a loop in place of a call for each row.
inline Offsets withInnermostJoined(Offsets offsets) {
  constexpr size_t kMost = 1024;
  while (offsets.size() > 1 && offsets.back().size() * offsets[offsets.size() - 2].size() <= kMost) {
    std::vector<int64_t> inner = std::move(offsets.back()), joined;
    offsets.pop_back();
    joined.reserve(inner.size() * offsets.back().size());
    for (int64_t row : offsets.back()) {
      for (int64_t column : inner)
        joined.push_back(row == kOutside || column == kOutside ? kOutside : row + column);
    }
    offsets.back() = std::move(joined);
  }
  return offsets;
}

template <class T>
T* gatherFrom(const Offsets& offsets, size_t dim, const T* base, T fill, int64_t inner, T* out);

/// Dimension `dim` and the next by squares, so that what was read stays in the caches until all of it is needed.
template <class T>
T* gatherAcross(const Offsets& offsets, size_t dim, const T* base, T fill, int64_t inner, T* out) {
  constexpr size_t kSide = 16;
  const auto &rows = offsets[dim], &columns = offsets[dim + 1];
  const auto below = static_cast<size_t>(inner) / columns.size();
  const bool single = dim + 2 == offsets.size();
  const int64_t innermost = single ? 1 : static_cast<int64_t>(below / offsets[dim + 2].size());
  for (size_t r = 0; r < rows.size(); r += kSide) {
    for (size_t c = 0; c < columns.size(); c += kSide) {
      for (size_t i = r; i < std::min(r + kSide, rows.size()); ++i) {
        for (size_t j = c; j < std::min(c + kSide, columns.size()); ++j) {
          const T* from = base + rows[i] + columns[j];
          T* to = out + (i * columns.size() + j) * below;
          if (single) {
            *to = *from;
          } else {
            gatherFrom(offsets, dim + 2, from, fill, innermost, to);
          }
        }
      }
    }
  }
  return out + rows.size() * columns.size() * below;
}

/// inner: the elements below one position of dimension `dim`.
template <class T>
T* gatherFrom(const Offsets& offsets, size_t dim, const T* base, T fill, int64_t inner, T* out) {
  if (dim == offsets.size()) {
    *out = *base;
    return out + 1;
  }
  if (dim + 2 <= offsets.size() && readsAcross(offsets[dim], offsets[dim + 1]))
    return gatherAcross(offsets, dim, base, fill, inner, out);
  if (dim + 1 == offsets.size()) {
    for (int64_t offset : offsets[dim])
      *out++ = offset == kOutside ? fill : base[offset];
    return out;
  }
  for (int64_t offset : offsets[dim]) {
    if (offset == kOutside) {
      out = std::fill_n(out, inner, fill);
    } else {
      int64_t below = inner / static_cast<int64_t>(offsets[dim + 1].size());
      out = gatherFrom(offsets, dim + 1, base + offset, fill, below, out);
    }
  }
  return out;
}

}  // namespace detail

/// out[v] = in[Σ_d offsets[d][v_d]], or `fill` where any of them is outside; row-major into out, returns its end.
template <class T>
T* gather(const Offsets& offsets, const T* in, T fill, T* out) {
  for (const auto& table : offsets) {
    if (table.empty()) return out;
  }
  const Offsets tables = detail::withInnermostJoined(offsets);
  int64_t inner = 1;
  for (size_t d = 1; d < tables.size(); ++d)
    inner *= static_cast<int64_t>(tables[d].size());
  return detail::gatherFrom(tables, 0, in, fill, inner, out);
}

}  // namespace pet::kernels
