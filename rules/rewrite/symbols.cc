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

std::string str(const Symbols& symbols) {
  std::string text;
  for (const auto& [name, value] : symbols)
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value.str());
  return text;
}

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
