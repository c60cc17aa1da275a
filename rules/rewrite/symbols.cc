#include "rules/rewrite/symbols.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace pet::rewrite {
namespace {

/// The values of the variables, if all are affine and none is missing.
std::optional<std::map<std::string, Expr>> affineValues(const Expr& e, const Symbols& by) {
  std::map<std::string, Expr> values;
  for (const std::string& v : e.variables()) {
    auto it = by.find(v);
    if (it == by.end() || !it->second.isAffine()) return std::nullopt;
    values.emplace(v, it->second.affine());
  }
  return values;
}

std::optional<std::vector<Expr>> substituteList(const std::vector<Expr>& list, const Symbols& by) {
  std::vector<Expr> result;
  for (const Expr& e : list) {
    auto value = substitute(e, by);
    if (!value) return std::nullopt;
    result.push_back(std::move(*value));
  }
  return result;
}

std::optional<LayoutSpec> substituteLayout(LayoutSpec layout, const Symbols& by) {
  for (LayoutAxis& axis : layout.axes) {
    auto extent = substitute(axis.extent, by);
    if (!extent) return std::nullopt;
    axis.extent = std::move(*extent);
  }
  return layout;
}

/// Axes are variables of the map's own. One that has the name of a symbol which comes in is no axis any more.
std::optional<IndexMapSpec> substituteMap(IndexMapSpec map, Symbols by) {
  for (auto& dim : map.dims) {
    for (LayoutAxis& axis : dim) {
      for (const auto& [symbol, value] : by) {
        for (const Expr& atom : value.atoms()) {
          if (symbol != axis.name && atom.mentions(axis.name)) return std::nullopt;
        }
      }
      auto extent = substitute(axis.extent, by);
      if (!extent) return std::nullopt;
      axis.extent = std::move(*extent);
    }
  }
  for (const auto& dim : map.dims) {
    for (const LayoutAxis& axis : dim)
      by.insert_or_assign(axis.name, Dim(Expr::variable(axis.name)));
  }
  for (auto& digits : map.source) {
    auto values = substituteList(digits, by);
    if (!values) return std::nullopt;
    digits = std::move(*values);
  }
  for (Constraint& guard : map.guards) {
    auto value = substitute(guard.expr, by);
    if (!value) return std::nullopt;
    guard.expr = std::move(*value);
  }
  return map;
}

/// The factors of a product of the rule, each with its value, if it is known.
struct Factor {
  Expr atom;
  std::optional<Dim> value;
};

bool isOne(const Dim& d) {
  return d.asConstant() == 1;
}

/// The dimension without a known factor at its front, or at its end.
std::optional<Dim> without(const Dim& whole, const Dim& factor, bool front) {
  if (isOne(factor)) return whole;
  std::vector<Expr> atoms = whole.atoms();
  if (auto number = factor.asConstant()) {
    // Numbers stand in the first atom, wherever they were multiplied.
    auto quotient = *number == 0 ? std::nullopt : atoms.front().dividedBy(*number);
    if (!quotient) return std::nullopt;
    atoms.front() = *quotient;
    return Dim::product({atoms.begin(), atoms.end()});
  }
  size_t n = factor.atoms().size();
  if (atoms.size() < n) return std::nullopt;
  auto begin = front ? atoms.begin() : atoms.end() - static_cast<std::ptrdiff_t>(n);
  if (!std::equal(factor.atoms().begin(), factor.atoms().end(), begin)) return std::nullopt;
  atoms.erase(begin, begin + static_cast<std::ptrdiff_t>(n));
  return Dim::product({atoms.begin(), atoms.end()});
}

class Solver {
 public:
  explicit Solver(std::vector<DimEquation> equations) : open_(std::move(equations)) {}

  std::optional<Symbols> run() {
    std::vector<DimEquation> all = open_;
    while (!open_.empty()) {
      if (!pass(false) && !pass(true)) return std::nullopt;
      if (contradiction_) return std::nullopt;
    }
    for (const DimEquation& e : all) {
      if (substitute(e.left, symbols_) != e.right) return std::nullopt;
    }
    return std::move(symbols_);
  }

 private:
  /// Solves what can be solved; false: nothing. By position: where both sides have as many atoms.
  bool pass(bool byPosition) {
    size_t before = open_.size();
    for (size_t i = 0; i < open_.size() && !contradiction_;) {
      if (solved(open_[i], byPosition)) {
        open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(i));
        if (byPosition) return true;
      } else {
        ++i;
      }
    }
    return open_.size() < before || contradiction_;
  }

  bool solved(const DimEquation& e, bool byPosition) {
    if (substitute(e.left, symbols_)) return true;
    const auto& atoms = e.left.atoms();
    if (byPosition) {
      if (atoms.size() < 2 || atoms.size() != e.right.atoms().size()) return false;
      for (size_t i = 0; i < atoms.size(); ++i) {
        if (!substitute(atoms[i], symbols_)) solveAtom(atoms[i], Dim(e.right.atoms()[i]));
      }
      return true;
    }
    // Known factors at the front and at the end are divided out; one may be left.
    size_t first = 0, end = atoms.size();
    std::optional<Dim> rest = e.right;
    auto known = [&](size_t i) { return substitute(Dim(atoms[i]), symbols_); };
    for (; rest && first + 1 < end && known(first); ++first)
      rest = without(*rest, *known(first), true);
    for (; rest && first + 1 < end && known(end - 1); --end)
      rest = without(*rest, *known(end - 1), false);
    if (!rest) return contradiction_ = true;
    return end - first == 1 && solveAtom(atoms[first], *rest);
  }

  /// atom = value for the atom's only open symbol.
  bool solveAtom(const Expr& atom, const Dim& value) {
    if (auto name = atom.asVariable()) {
      symbols_.emplace(*name, value);
      return true;
    }
    std::vector<std::string> open;
    for (const std::string& v : atom.variables()) {
      if (!symbols_.contains(v)) open.push_back(v);
    }
    if (open.size() != 1) return false;
    Symbols others = symbols_;
    others.insert_or_assign(open[0], Dim(0));
    auto rest = substitute(atom, others);
    int64_t coefficient = atom.coefficient(open[0]);
    if (!rest || !value.isAffine() || coefficient == 0) return contradiction_ = true;
    Expr numerator = value.affine() - *rest;
    auto quotient = coefficient < 0 ? (-numerator).dividedBy(-coefficient) : numerator.dividedBy(coefficient);
    if (!quotient) return contradiction_ = true;
    symbols_.emplace(open[0], Dim(*quotient));
    return true;
  }

  std::vector<DimEquation> open_;
  Symbols symbols_;
  bool contradiction_ = false;
};

std::string placeText(size_t place) {
  return fmt::format("#{}", place);
}

std::string groupsText(const std::vector<std::vector<int>>& groups, const std::vector<int>& places) {
  std::string text;
  for (const auto& group : groups) {
    text += "(";
    for (int axis : group)
      text += fmt::format("{} ", places[static_cast<size_t>(axis)]);
    text += ")";
  }
  return text;
}

/// Axes are numbered in the order of the left side, then of the right.
std::string layoutText(const LayoutSpec& layout) {
  std::vector<int> places(layout.axes.size(), -1);
  std::string text;
  int next = 0;
  for (const auto* side : {&layout.left, &layout.right}) {
    for (const auto& group : *side) {
      for (int axis : group) {
        int& place = places[static_cast<size_t>(axis)];
        if (place >= 0) continue;
        place = next++;
        text += fmt::format("{}:{},", place, layout.axes[static_cast<size_t>(axis)].extent.str());
      }
    }
  }
  return text + groupsText(layout.left, places) + "->" + groupsText(layout.right, places);
}

std::string indexMapText(const IndexMapSpec& map) {
  std::map<std::string, Expr> places;
  std::string text;
  for (const auto& dim : map.dims) {
    text += "[";
    for (const LayoutAxis& axis : dim) {
      std::string place = placeText(places.size());
      text += fmt::format("{}:{} ", place, axis.extent.str());
      places.emplace(axis.name, Expr::variable(place));
    }
    text += "]";
  }
  text += "->";
  for (const auto& digits : map.source) {
    for (const Expr& e : digits)
      text += e.substitute(places).str() + ":";
    text += ",";
  }
  for (const Constraint& guard : map.guards)
    text += " where " + guard.substitute(places).str();
  return text;
}

}  // namespace

std::optional<Expr> substitute(const Expr& e, const Symbols& by) {
  auto values = affineValues(e, by);
  return values ? std::optional(e.substitute(*values)) : std::nullopt;
}

std::optional<Dim> substitute(const Dim& d, const Symbols& by) {
  std::vector<Dim> factors;
  for (const Expr& atom : d.atoms()) {
    auto name = atom.asVariable();
    auto it = name ? by.find(*name) : by.end();
    if (it != by.end()) {
      factors.push_back(it->second);
    } else if (auto value = substitute(atom, by)) {
      factors.emplace_back(std::move(*value));
    } else {
      return std::nullopt;
    }
  }
  return Dim::product(factors);
}

std::optional<Attribute> substitute(const Attribute& a, const Symbols& by) {
  auto attribute = [](auto value) { return value ? std::optional<Attribute>(std::move(*value)) : std::nullopt; };
  if (const auto* e = std::get_if<Expr>(&a)) return attribute(substitute(*e, by));
  if (const auto* list = std::get_if<std::vector<Expr>>(&a)) return attribute(substituteList(*list, by));
  if (const auto* layout = std::get_if<LayoutSpec>(&a)) return attribute(substituteLayout(*layout, by));
  if (const auto* map = std::get_if<IndexMapSpec>(&a)) return attribute(substituteMap(*map, by));
  return a;
}

std::optional<Symbols> solve(std::vector<DimEquation> equations) {
  return Solver(std::move(equations)).run();
}

std::optional<std::vector<Constraint>> sufficient(const Constraint& constraint, const Symbols& by) {
  Symbols values = by;
  std::vector<Constraint> result;
  for (const std::string& v : constraint.expr.variables()) {
    auto it = values.find(v);
    if (it == values.end()) return std::nullopt;
    if (it->second.isAffine()) continue;
    bool grows = constraint.kind == Constraint::Kind::kNonNegative && !constraint.expr.hasDivision() &&
                 constraint.expr.coefficient(v) > 0;
    if (!grows) return std::nullopt;
    for (const Expr& atom : it->second.atoms())
      result.push_back(Constraint::le(1, atom));
    it->second = Dim(Expr(it->second.atoms().back()));
  }
  auto value = substitute(constraint.expr, values);
  if (!value) return std::nullopt;
  result.push_back({std::move(*value), constraint.kind});
  return result;
}

std::string canonicalText(const Attribute& a) {
  return std::visit(
      [](const auto& value) -> std::string {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, Expr>) {
          return value.str();
        } else if constexpr (std::is_same_v<T, std::vector<Expr>>) {
          std::string text = "[";
          for (const Expr& e : value)
            text += e.str() + ",";
          return text + "]";
        } else if constexpr (std::is_same_v<T, LayoutSpec>) {
          return layoutText(value);
        } else if constexpr (std::is_same_v<T, IndexMapSpec>) {
          return indexMapText(value);
        } else {
          return fmt::format("{}", value);
        }
      },
      a);
}

}  // namespace pet::rewrite
