#include "applier/read/fold_positions.h"

#include <algorithm>
#include <cmath>

namespace pet {
namespace {

using Operands = std::vector<Tensor<double>>;

int64_t integerAttribute(const GraphNode& node, std::string_view attribute, int64_t otherwise) {
  auto it = node.attributes.find(attribute);
  const auto* value = it == node.attributes.end() ? nullptr : std::get_if<int64_t>(&it->second);
  return value ? *value : otherwise;
}

/// A position, which counts from the end below 0. Nullopt: it is beyond the extent.
std::optional<int64_t> positionIn(double index, int64_t extent) {
  const auto p = static_cast<int64_t>(index) + (index < 0 ? extent : 0);
  return p >= 0 && p < extent ? std::optional(p) : std::nullopt;
}

std::optional<Tensor<double>> filled(const GraphNode& node, const Operands&, const Extents& extents) {
  Tensor<double> y(extents);
  auto it = node.attributes.find("value");
  if (it == node.attributes.end()) return y;
  const auto* value = std::get_if<Constant>(&it->second);
  if (!value || elementCount(value->extents) != 1) return std::nullopt;
  const auto numbers = value->numbers();
  const auto integers = numbers ? std::nullopt : value->integers();
  if (!numbers && !integers) return std::nullopt;
  std::fill(y.data.begin(), y.data.end(), numbers ? numbers->front() : static_cast<double>(integers->front()));
  return y;
}

/// Sums of what stands before along an axis; of whole numbers, where no order of additions matters.
std::optional<Tensor<double>> summed(const GraphNode& node, const Operands& operands, const Extents&) {
  if (operands.size() != 2 || operands[1].size() != 1) return std::nullopt;
  Tensor<double> y = operands[0];
  if (std::any_of(y.data.begin(), y.data.end(), [](double v) { return std::trunc(v) != v; })) return std::nullopt;
  const auto axis = positionIn(operands[1].data[0], std::ssize(y.extents));
  if (!axis) return std::nullopt;
  const bool exclusive = integerAttribute(node, "exclusive", 0) != 0,
             reverse = integerAttribute(node, "reverse", 0) != 0;
  const int64_t count = y.size(), extent = y.extents[static_cast<size_t>(*axis)];
  const int64_t stride = rowMajorStrides(y.extents)[static_cast<size_t>(*axis)];
  for (int64_t first = 0; first < count; ++first) {
    if (first / stride % extent != 0) continue;
    double sum = 0;
    for (int64_t i = 0; i < extent; ++i) {
      double& at = y.data[static_cast<size_t>(first + (reverse ? extent - 1 - i : i) * stride)];
      const double next = sum + at;
      at = exclusive ? sum : next;
      sum = next;
    }
  }
  return y;
}

/// The last dimension of the indices is a position in the dimensions of x behind the batch.
std::optional<Tensor<double>> gathered(const GraphNode& node, const Operands& operands, const Extents& extents) {
  if (operands.size() != 2 || operands[1].extents.empty()) return std::nullopt;
  const auto &x = operands[0], &at = operands[1];
  const int64_t batch = integerAttribute(node, "batch_dims", 0), depth = at.extents.back();
  if (batch < 0 || depth < 1 || batch >= std::ssize(at.extents) || batch + depth > std::ssize(x.extents))
    return std::nullopt;
  const std::vector<int64_t> strides = rowMajorStrides(x.extents);
  const int64_t run = strides[static_cast<size_t>(batch + depth - 1)];
  const int64_t batches = elementCount({x.extents.begin(), x.extents.begin() + batch});
  const int64_t count = at.size() / depth;
  Tensor<double> y(extents);
  if (y.size() == 0) return y;
  if (y.size() != count * run || count % batches != 0) return std::nullopt;
  const int64_t inBatch = count / batches, whole = x.size() / batches;
  for (int64_t n = 0; n < count; ++n) {
    int64_t from = n / inBatch * whole;
    for (int64_t d = 0; d < depth; ++d) {
      const auto dimension = static_cast<size_t>(batch + d);
      const auto p = positionIn(at.data[static_cast<size_t>(n * depth + d)], x.extents[dimension]);
      if (!p) return std::nullopt;
      from += *p * strides[dimension];
    }
    std::copy_n(x.data.begin() + from, run, y.data.begin() + n * run);
  }
  return y;
}

/// Of matrices what is on one side of a diagonal.
std::optional<Tensor<double>> triangle(const GraphNode& node, const Operands& operands, const Extents& extents) {
  if (operands.empty() || operands.size() > 2 || extents.size() < 2) return std::nullopt;
  if (operands.size() == 2 && operands[1].size() != 1) return std::nullopt;
  const int64_t diagonal = operands.size() == 2 ? static_cast<int64_t>(operands[1].data[0]) : 0;
  const bool upper = integerAttribute(node, "upper", 1) != 0;
  const int64_t rows = extents[extents.size() - 2], columns = extents.back();
  Tensor<double> y = operands[0];
  for (int64_t i = 0; i < y.size(); ++i) {
    const int64_t above = i % columns - i / columns % rows;
    if (upper ? above < diagonal : above > diagonal) y.data[static_cast<size_t>(i)] = 0;
  }
  return y;
}

struct PositionRow {
  std::string_view type;
  std::optional<Tensor<double>> (*of)(const GraphNode&, const Operands&, const Extents&);
};

constexpr PositionRow kPositionRows[] = {
    {"ConstantOfShape", filled},
    {"CumSum", summed},
    {"GatherND", gathered},
    {"Trilu", triangle},
};

}  // namespace

std::optional<Tensor<double>> computedByPosition(const GraphNode& node,
                                                 const std::vector<Tensor<double>>& operands,
                                                 const Extents& extents) {
  auto row = std::find_if(std::begin(kPositionRows), std::end(kPositionRows),
                          [&](const auto& r) { return r.type == node.type; });
  return row == std::end(kPositionRows) ? std::nullopt : row->of(node, operands, extents);
}

}  // namespace pet
