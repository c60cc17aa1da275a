#include "rules/rewrite/counting.h"

#include <algorithm>
#include <set>
#include <string>

#include <fmt/format.h>

namespace pet::rewrite {
namespace {

/// Another dimension, further inside; one with the dimension around it where both count alike.
void append(CountingTable& table, int64_t step, int64_t extent) {
  if (!table.steps.empty() && table.steps.back() == step * extent) {
    table.steps.back() = step;
    table.extents.back() *= extent;
  } else {
    table.steps.push_back(step);
    table.extents.push_back(extent);
  }
}

/// By how much each index is above the first one.
std::vector<int64_t> offsetsOf(const CountingTable& table) {
  std::vector<int64_t> offsets{0};
  for (size_t k = 0; k < table.extents.size(); ++k) {
    std::vector<int64_t> next;
    next.reserve(offsets.size() * static_cast<size_t>(table.extents[k]));
    for (const int64_t outer : offsets) {
      for (int64_t i = 0; i < table.extents[k]; ++i)
        next.push_back(checkedAdd(outer, checkedMul(table.steps[k], i)));
    }
    offsets = std::move(next);
  }
  return offsets;
}

/// b = a + offset, without a new expression: tables are long.
bool isAbove(const Expr& a, int64_t offset, const Expr& b) {
  return b.constant() == checkedAdd(a.constant(), offset) && a.terms() == b.terms();
}

/// Names that are not among a shape's symbols, each once.
class AxisNames {
 public:
  explicit AxisNames(const Shape& shape) {
    for (const Dim& d : shape) {
      for (const Expr& atom : d.atoms())
        atom.collectVariables(taken_);
    }
  }
  std::string next() {
    std::string name;
    do {
      name = fmt::format("i{}", count_++);
    } while (taken_.contains(name));
    return name;
  }

 private:
  std::set<std::string> taken_;
  int count_ = 0;
};

}  // namespace

std::optional<CountingTable> counting(const std::vector<Expr>& indices, const Extents& extents) {
  if (indices.size() < 2) return std::nullopt;
  CountingTable table{indices[0], {}, {}};
  auto inner = static_cast<int64_t>(indices.size());
  for (int64_t extent : extents) {
    inner /= extent;
    if (extent == 1) continue;
    const auto step = (indices[static_cast<size_t>(inner)] - indices[0]).asConstant();
    if (!step || *step < 1) return std::nullopt;
    append(table, *step, extent);
  }
  const std::vector<int64_t> offsets = offsetsOf(table);
  const bool counts =
      std::equal(offsets.begin(), offsets.end(), indices.begin(), indices.end(),
                 [&](int64_t offset, const Expr& index) { return isAbove(table.first, offset, index); });
  if (!counts) return std::nullopt;
  return table;
}

IndexMapSpec gatherMap(const Shape& shape, size_t axis, const CountingTable& table) {
  AxisNames names(shape);
  IndexMapSpec map;
  for (size_t d = 0; d < shape.size(); ++d) {
    map.source.emplace_back();
    if (d == axis) {
      Expr read = table.first;
      for (size_t k = 0; k < table.extents.size(); ++k) {
        map.dims.push_back({{names.next(), table.extents[k]}});
        read += Expr::variable(map.dims.back()[0].name) * table.steps[k];
      }
      map.source.back().push_back(read);
      continue;
    }
    map.dims.emplace_back();
    for (const Expr& atom : shape[d].atoms()) {
      map.dims.back().push_back({names.next(), atom});
      map.source.back().push_back(Expr::variable(map.dims.back().back().name));
    }
  }
  return map;
}

}  // namespace pet::rewrite
