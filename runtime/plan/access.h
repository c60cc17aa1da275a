#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "ir/shape.h"

// Where the elements of a tensor lie in a buffer. Operators that only move values (docs/architecture.md, Layout
// operators) change the access and touch no memory, until an operator needs its operand in a form of its own.
namespace pet::plan {

/// In a table: these positions hold the fill.
constexpr int64_t kFill = std::numeric_limits<int64_t>::min();

/// Element v lies at offset + Σ_d tables[d][v_d]; it is the fill where one of these is kFill. The first entry of a
/// table that is no fill is 0. Extents are >= 1.
struct Access {
  int64_t offset = 0;
  std::vector<std::vector<int64_t>> tables;
  float fill = 0;

  size_t rank() const { return tables.size(); }
  Extents extents() const;
  bool fills() const;
};

/// Row-major.
Access rowMajor(const Extents& extents);
/// Dense; `order` lists the dimensions, the one with the longest stride first.
Access inOrder(const Extents& extents, const std::vector<size_t>& order);
std::vector<size_t> rowMajorOrder(size_t rank);
std::vector<size_t> channelsLastOrder(size_t rank);
/// Dense, dimension 1 innermost: nhwc and its like of any rank >= 2.
Access channelsLast(const Extents& extents);
/// Dense; dimension 1 is cut into blocks of `block`, which divides it, and the inner part lies innermost: nChw16c.
Access channelsBlocked(const Extents& extents, int64_t block);
/// Every position at these multiples.
Access strided(const Extents& extents, const std::vector<int64_t>& strides);

/// The same positions, up to the offset.
bool sameForm(const Access& a, const Access& b);
/// The strides, where every table is a multiple of its index and nothing is filled. A dimension of extent 1 gets what
/// it would have were the tensor dense.
std::optional<std::vector<int64_t>> stridesOf(const Access& access);
/// Dense with some order of the dimensions: that order.
std::optional<std::vector<size_t>> orderOf(const Access& access);
/// The elements occupy one gap-free range, in any order.
bool isDense(const Access& access);
/// The dimensions by the distance of their positions, the longest first.
std::vector<size_t> memoryOrder(const Access& access);
/// Dense, in that order.
Access compacted(const Access& access);
/// One past the largest offset, relative to `offset`; the tables' entries must be >= 0.
int64_t reach(const Access& access);
/// Memory, from the access's offset on, in which a tensor of these extents (row-major `numbers`) lies as the access
/// says, whose extents may be larger: there, and in gaps, are zeros. The access fills nothing.
std::vector<float> laidOut(const std::vector<float>& numbers, const Extents& extents, const Access& access);

// --- What layout operators do to an access. ---

Access permuted(const Access& access, const std::vector<size_t>& perm);
/// The last two dimensions exchanged: matrices transposed.
Access swapped(const Access& access);
/// Dimension d reads positions[i] of before; -1: the fill.
Access selected(const Access& access, size_t d, const std::vector<int64_t>& positions);
/// The table of a dimension whose positions have one distance.
std::vector<int64_t> multiples(int64_t extent, int64_t stride);
/// Several dimensions as one, the first the outermost.
std::vector<int64_t> merged(const std::vector<const std::vector<int64_t>*>& tables);
/// Splits one table into tables of these extents; nullopt where it is not a sum of such tables. Adds to `offset`.
std::optional<std::vector<std::vector<int64_t>>> split(const std::vector<int64_t>& table,
                                                       const Extents& extents,
                                                       int64_t& offset);
/// The row-major order of the elements is kept; nullopt where no access describes the result.
std::optional<Access> reshaped(const Access& access, const Extents& extents);
/// Numpy broadcasting.
Access broadcast(const Access& access, const Extents& extents);
/// Moves the first entries of tables into the offset.
void normalise(Access& access);

}  // namespace pet::plan
