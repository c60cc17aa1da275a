#include <algorithm>
#include <cmath>

#include "ir/ops/families.h"

namespace pet {
namespace {

std::vector<const OpRow*> joinFamilies() {
  std::vector<const OpRow*> rows;
  for (auto family : {inputRows(), convRows(), matmulRows(), einsumRows(), layoutRows(), moveRows(), reshapeRows(),
                      gatherRows(), col2imRows(), arithmeticRows(), functionRows(), poolRows(), normalizationRows(),
                      resizeRows(), fourierRows(), cumulativeRows()}) {
    for (const OpRow& row : family)
      rows.push_back(&row);
  }
  std::sort(rows.begin(), rows.end(), [](auto* a, auto* b) { return a->name < b->name; });
  return rows;
}

}  // namespace

std::span<const OpRow* const> operatorTable() {
  static const std::vector<const OpRow*> table = joinFamilies();
  return table;
}

const OpRow* findOp(std::string_view name) {
  auto table = operatorTable();
  auto it = std::lower_bound(table.begin(), table.end(), name,
                             [](const OpRow* r, std::string_view n) { return r->name < n; });
  return it != table.end() && (*it)->name == name ? *it : nullptr;
}

void requireInRange(const Index& at, const Shape& shape, std::vector<Constraint>& into) {
  for (size_t d = 0; d < at.size(); ++d) {
    for (size_t a = 0; a < at[d].size(); ++a) {
      into.push_back(Constraint::le(0, at[d][a]));
      into.push_back(Constraint::lt(at[d][a], shape[d].atoms()[a]));
    }
  }
}

std::optional<Rational> asRational(double number) {
  int64_t denominator = 1;
  for (int k = 0; k <= 20; ++k, denominator *= 2) {
    double scaled = number * static_cast<double>(denominator);
    if (std::abs(scaled) >= 2147483648.0) return std::nullopt;
    if (scaled == std::floor(scaled)) return Rational{static_cast<int64_t>(scaled), denominator};
  }
  return std::nullopt;
}

int64_t ConcreteNode::scalar(std::string_view name) const {
  return *std::get<Expr>(attributes.find(name)->second).evaluate(symbols);
}

Extents ConcreteNode::list(std::string_view name) const {
  Extents result;
  for (const Expr& e : std::get<std::vector<Expr>>(attributes.find(name)->second))
    result.push_back(*e.evaluate(symbols));
  return result;
}

}  // namespace pet
