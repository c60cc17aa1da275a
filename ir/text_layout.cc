// Layouts and index maps.

#include <algorithm>

#include <fmt/format.h>

#include "ir/limits.h"
#include "ir/ops/digits.h"
#include "ir/text.h"

namespace pet {
namespace {

/// The extents of a group's open items, given the group's dimension.
bool inferExtents(std::vector<LayoutItem>& group, const Dim& dim) {
  Dim rest = dim;
  size_t first = 0, last = group.size();
  while (first < last && group[first].extent && group[first].extent->asConstant()) {
    auto q = divideByOuter(rest, group[first].extent->affine());
    if (!q) break;
    rest = *q;
    ++first;
  }
  while (last > first && group[last - 1].extent && group[last - 1].extent->asConstant()) {
    auto q = divideByInner(rest, group[last - 1].extent->affine());
    if (!q) break;
    rest = *q;
    --last;
  }
  if (last - first == 1 && !group[first].extent) {
    group[first].extent = rest;
  } else if (last - first == rest.atoms().size()) {
    for (size_t i = first; i < last; ++i) {
      if (!group[i].extent) group[i].extent = Dim(rest.atoms()[i - first]);
    }
  }
  std::vector<Dim> product;
  for (const auto& i : group) {
    if (!i.extent) return false;
    product.push_back(*i.extent);
  }
  return Dim::product(product) == dim;
}

bool hasAxis(const LayoutSpec& spec, std::string_view name) {
  return std::any_of(spec.axes.begin(), spec.axes.end(), [&](const LayoutAxis& a) { return a.name == name; });
}

using Side = std::vector<std::vector<LayoutItem>>;

std::optional<std::string> addLeft(LayoutSpec& spec, Side left, const Shape& operand) {
  for (size_t d = 0; d < left.size(); ++d) {
    if (!inferExtents(left[d], operand[d])) {
      return fmt::format("cannot split {} as written; give extents, e.g. (n p:2)", operand[d].str());
    }
    spec.left.emplace_back();
    for (const LayoutItem& item : left[d]) {
      if (!item.name.empty() && hasAxis(spec, item.name)) {
        return fmt::format("axis '{}' occurs twice on the left", item.name);
      }
      spec.left.back().push_back(static_cast<int>(spec.axes.size()));
      spec.axes.push_back({item.name, *item.extent});
    }
  }
  return std::nullopt;
}

/// Each axis of the left goes somewhere, once; dimensions of 1 come and go.
std::optional<std::string> addRight(LayoutSpec& spec, const Side& right) {
  std::vector<bool> used(spec.axes.size());
  for (const auto& group : right) {
    spec.right.emplace_back();
    for (const LayoutItem& item : group) {
      size_t found = spec.axes.size();
      for (size_t a = 0; a < spec.axes.size() && found == spec.axes.size(); ++a) {
        if (!used[a] && spec.axes[a].name == item.name && (!item.name.empty() || spec.axes[a].extent == *item.extent))
          found = a;
      }
      if (found == spec.axes.size()) {
        if (item.extent != Dim(1)) {
          return fmt::format("'{}' on the right is not on the left",
                             item.name.empty() ? item.extent->str() : item.name);
        }
        spec.axes.push_back({item.name, Dim(1)});
        used.push_back(false);
      }
      used[found] = true;
      spec.right.back().push_back(static_cast<int>(found));
    }
  }
  for (size_t a = 0; a < used.size(); ++a) {
    if (!used[a] && spec.axes[a].extent != Dim(1)) {
      return fmt::format("axis '{}' is missing on the right", spec.axes[a].name);
    }
  }
  return std::nullopt;
}

/// Literals get names, so that an axis is always referred to by name.
void nameLiterals(LayoutSpec& spec) {
  for (LayoutAxis& axis : spec.axes) {
    for (int k = 0; axis.name.empty(); ++k) {
      std::string free = fmt::format("_{}", k);
      if (!hasAxis(spec, free)) axis.name = free;
    }
  }
}

}  // namespace

Expected<std::vector<std::vector<LayoutItem>>> TextReader::layoutSide() {
  std::vector<std::vector<LayoutItem>> side;
  auto item = [&]() -> Expected<LayoutItem> {
    if (token_.kind == Token::Kind::kInteger) {
      auto k = integer("a 64-bit integer");
      if (!k) return tl::unexpected(k.error());
      return LayoutItem{"", Dim(*k)};
    }
    auto n = name("an axis name or a number");
    if (!n) return tl::unexpected(n.error());
    if (!accept(":")) return LayoutItem{*n, std::nullopt};
    auto d = extent();
    if (!d) return tl::unexpected(d.error());
    return LayoutItem{*n, *d};
  };
  while (!at("->") && !at("}") && !atEnd() && !(atLineStart() && !side.empty())) {
    side.emplace_back();
    if (side.size() > kMostDimensions) return error("a layout of very many dimensions");
    bool group = accept("(");
    do {
      auto i = item();
      if (!i) return tl::unexpected(i.error());
      side.back().push_back(*i);
      if (side.back().size() > kMostDimensions) return error("a group of very many axes");
    } while (group && !at(")"));
    if (group) take();
  }
  return side;
}

// layout := side '->' side;  side := { item | '(' { item } ')' }, e.g. (n 2) c h w -> n c h (2 w)
Expected<Attribute> TextReader::layout(const Shape& operand) {
  Token start = token_;
  auto left = layoutSide();
  if (!left) return tl::unexpected(left.error());
  if (auto ok = expect("->"); !ok) return tl::unexpected(ok.error());
  auto right = atLineStart() ? Side() : layoutSide();  // no dimensions: the next line is another statement
  if (!right) return tl::unexpected(right.error());
  if (left->size() != operand.size()) {
    return errorAt(
        start, fmt::format("the layout has {} dimensions on its left, the operand is {}", left->size(), str(operand)));
  }
  LayoutSpec spec;
  if (auto wrong = addLeft(spec, std::move(*left), operand)) return errorAt(start, *wrong);
  if (auto wrong = addRight(spec, *right)) return errorAt(start, *wrong);
  nameLiterals(spec);
  return spec;
}

// map := '[' dims ']' '->' '[' digits ']' ['where' constraints];  a dimension is axis:extent or ( axis:extent … ),
// digits of one dimension are separated by ':'
Expected<Attribute> TextReader::indexMap() {
  IndexMapSpec spec;
  if (auto ok = expect("["); !ok) return tl::unexpected(ok.error());
  while (!at("]")) {
    spec.dims.emplace_back();
    if (spec.dims.size() > kMostDimensions) return error("an index map of very many dimensions");
    bool group = accept("(");
    do {
      auto n = name("an axis name");
      if (!n) return tl::unexpected(n.error());
      if (auto ok = expect(":"); !ok) return tl::unexpected(ok.error());
      auto d = extent();
      if (!d) return tl::unexpected(d.error());
      spec.dims.back().push_back({*n, *d});
      if (spec.dims.back().size() > kMostDimensions) return error("a group of very many axes");
    } while (group && !at(")"));
    if (group) take();
    if (!accept(",")) break;
  }
  for (auto t : {"]", "->", "["}) {
    if (auto ok = expect(t); !ok) return tl::unexpected(ok.error());
  }
  while (!at("]")) {
    spec.source.emplace_back();
    if (spec.source.size() > kMostDimensions) return error("an index map of very many dimensions");
    do {
      auto e = expression();
      if (!e) return tl::unexpected(e.error());
      spec.source.back().push_back(*e);
      if (spec.source.back().size() > kMostTerms) return error("a dimension of very many digits");
    } while (accept(":"));
    if (!accept(",")) break;
  }
  if (auto ok = expect("]"); !ok) return tl::unexpected(ok.error());
  if (!atLineStart() && accept("where")) {
    auto guards = constraints();
    if (!guards) return tl::unexpected(guards.error());
    spec.guards = *guards;
  }
  return spec;
}

}  // namespace pet
