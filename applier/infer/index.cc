// Operators that pick or place elements by index, or by what they are.

#include <algorithm>

#include <fmt/format.h>

#include "applier/infer/rules.h"

namespace pet {
namespace {

// x[…, i, …]: the indices' dimensions in place of the axis.
void inferGather(NodeInference& n) {
  const Shape &x = n.shape(0), &at = n.shape(1);
  size_t axis = n.axisOf("axis", 0, x.size());
  Shape y(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(axis));
  y.insert(y.end(), at.begin(), at.end());
  y.insert(y.end(), x.begin() + static_cast<std::ptrdiff_t>(axis) + 1, x.end());
  n.setShape(0, std::move(y));
}

void inferGatherElements(NodeInference& n) {
  if (n.hasShape(0)) {
    n.axisOf("axis", 0, n.rank(0));
    n.requireRank(1, n.rank(0));
  }
  n.setShape(0, n.shape(1));
}

// The last dimension of the indices is a position in the dimensions of x behind the batch.
void inferGatherNd(NodeInference& n) {
  const Shape &x = n.shape(0), &at = n.shape(1);
  int64_t batch = n.integer("batch_dims", 0);
  if (at.empty() || x.empty() || batch < 0 || batch >= static_cast<int64_t>(std::min(x.size(), at.size())))
    NodeInference::invalid(fmt::format("batch_dims {} of {} and {} dimensions", batch, x.size(), at.size()));
  auto depth = at.back().asConstant();
  if (!depth) NodeInference::nothing();
  if (*depth < 1 || *depth + batch > static_cast<int64_t>(x.size()))
    NodeInference::invalid(fmt::format("indices of {} positions in {} dimensions", *depth, x.size()));
  Shape y(at.begin(), at.end() - 1);
  y.insert(y.end(), x.begin() + *depth + batch, x.end());
  n.setShape(0, std::move(y));
}

void inferScatterElements(NodeInference& n) {
  n.axisOf("axis", 0, n.rank(0));
  n.requireRank(1, n.rank(0));
  inferLikeFirst(n);
}

// Indices of the true entries; the axis is that of the flattened operand where none is given.
void inferCompress(NodeInference& n) {
  if (!n.hasAttribute("axis")) return n.setShape(0, n.open(1));
  Shape y = n.shape(0);
  y[n.axisOf("axis", 0, y.size())] = n.open();
  n.setShape(0, std::move(y));
}

/// Whether an entry is not 0, if that is known.
std::optional<bool> isNonZero(NodeInference& n, const SizeEntry& entry) {
  if (const auto* x = std::get_if<double>(&entry)) return *x != 0;
  const auto* d = std::get_if<Dim>(&entry);
  auto equal = d ? n.sizes().isEqual(*d, Dim(0)) : std::nullopt;
  return equal ? std::optional(!*equal) : std::nullopt;
}

/// The positions of the entries that are not 0, a row for each dimension, if all are known.
bool inferKnownNonZero(NodeInference& n) {
  auto x = n.tensor(0);
  if (!x || x->extents.empty()) return false;
  std::vector<int64_t> found;
  for (size_t i = 0; i < x->data.size(); ++i) {
    auto nonZero = isNonZero(n, x->data[i]);
    if (!nonZero) return false;
    if (*nonZero) found.push_back(static_cast<int64_t>(i));
  }
  const auto count = static_cast<int64_t>(found.size()), rank = static_cast<int64_t>(x->extents.size());
  n.setShape(0, {Dim(rank), Dim(count)});
  if (!hasFewEntries({rank, count})) return true;
  SizeTensor y({rank, count});
  auto strides = rowMajorStrides(x->extents);
  for (size_t r = 0; r < strides.size(); ++r) {
    for (size_t i = 0; i < found.size(); ++i)
      y.data[r * found.size() + i] = Dim(found[i] / strides[r] % x->extents[r]);
  }
  n.setData(0, std::move(y));
  return true;
}

void inferNonZero(NodeInference& n) {
  if (inferKnownNonZero(n)) return;
  if (!n.hasShape(0)) return n.setShape(0, n.open(2));
  // One position of no coordinates: a scalar counts as a vector.
  n.setShape(0, {n.rank(0) == 0 ? n.open() : Dim(static_cast<int64_t>(n.rank(0))), n.open()});
}

void inferOneHot(NodeInference& n) {
  const Shape& at = n.shape(0);
  size_t axis = n.axisOf("axis", -1, at.size() + 1);
  auto depth = n.scalar(1);
  if (auto x = n.numbers(1); x && x->size() == 1 && x->front() >= 0 && x->front() < 0x1p53)
    depth = Dim(static_cast<int64_t>(x->front()));
  Shape y = at;
  y.insert(y.begin() + static_cast<std::ptrdiff_t>(axis), depth && n.sizes().least(*depth) >= 0 ? *depth : n.open());
  n.setShape(0, std::move(y));
}

// k is an attribute before opset 10.
void inferTopK(NodeInference& n) {
  Shape y = n.shape(0);
  size_t axis = n.axisOf("axis", -1, y.size());
  std::optional<Dim> k = n.opset() >= 10 ? n.scalar(1) : Dim(n.integer("k", 0));
  auto wanted = k ? k->asConstant() : std::nullopt, extent = y[axis].asConstant();
  if (wanted && (*wanted < 0 || (extent && *wanted > *extent)))
    NodeInference::invalid(fmt::format("k is {}, the extent {}", *wanted, y[axis].str()));
  y[axis] = k && n.sizes().least(*k) >= 0 ? *k : n.open();
  n.setShape(1, y);
  n.setShape(0, std::move(y));
}

// As many as there are different elements, or slices along the axis.
void inferUnique(NodeInference& n) {
  Dim count = n.open();
  for (size_t i : {size_t{1}, size_t{3}})
    if (n.wants(i)) n.setShape(i, {count});
  if (!n.hasAttribute("axis")) {
    if (n.wants(2)) n.setShape(2, {n.hasShape(0) ? n.sizes().product(n.shape(0)) : n.open()});
    return n.setShape(0, {count});
  }
  Shape y = n.shape(0);
  size_t axis = n.axisOf("axis", 0, y.size());
  if (n.wants(2)) n.setShape(2, {y[axis]});
  y[axis] = count;
  n.setShape(0, std::move(y));
}

constexpr InferRule kIndexRules[] = {
    {"Compress", inferCompress},
    {"Gather", inferGather},
    {"GatherElements", inferGatherElements},
    {"GatherND", inferGatherNd},
    {"NonZero", inferNonZero},
    {"OneHot", inferOneHot},
    {"Scatter", inferScatterElements},
    {"ScatterElements", inferScatterElements},
    {"ScatterND", inferLikeFirst},
    {"TensorScatter", inferLikeFirst},
    {"TopK", inferTopK},
    {"Unique", inferUnique},
};

}  // namespace

std::span<const InferRule> indexRules() {
  return kIndexRules;
}

}  // namespace pet
