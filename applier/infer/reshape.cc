// Operators that regroup dimensions, or permute, repeat or broadcast them.

#include <algorithm>

#include <fmt/format.h>

#include "applier/infer/rules.h"

namespace pet {
namespace {

/// What a Reshape's target says of one extent: itself, or that it is to be found out.
using Target = std::vector<std::optional<Dim>>;

/// The target with zeros replaced; nullopt for what is to be found out. `asked`: how often the target says -1.
Target readTarget(NodeInference& n, const std::vector<std::optional<Dim>>& entries, int& asked) {
  const bool copyZeros = !n.flag("allowzero", false);
  Target target;
  for (size_t i = 0; i < entries.size(); ++i) {
    auto k = entries[i] ? entries[i]->asConstant() : std::nullopt;
    if (k && *k < -1) NodeInference::invalid(fmt::format("the target has an extent {}", *k));
    asked += k == -1;
    if (k == 0 && copyZeros) {
      if (n.hasShape(0) && i >= n.rank(0)) NodeInference::invalid("the target copies a dimension that there is not");
      target.push_back(n.hasShape(0) ? std::optional(n.shape(0)[i]) : std::nullopt);
    } else {
      bool sure = entries[i] && n.sizes().least(*entries[i]) >= 0;
      target.push_back(sure ? entries[i] : std::nullopt);
    }
  }
  if (asked > 1) NodeInference::invalid("the target has several -1");
  return target;
}

/// Throws InvalidNode where the numbers of elements are known and do not fit.
void requireFits(const Dim& total, const Dim& others, bool open) {
  auto t = total.asConstant(), o = others.asConstant();
  if (!t || !o || *o == 0) return;
  if (open ? *t % *o != 0 : *t != *o)
    NodeInference::invalid(fmt::format("{} elements do not fit into {}{}", *t, *o, open ? " times an integer" : ""));
}

/// What an unknown extent is, if there is only one: what the others leave over.
Dim leftOver(NodeInference& n, const Target& target, bool asked) {
  if (!n.hasShape(0)) return n.open();
  Dim total = n.sizes().product(n.shape(0)), others = 1;
  for (const auto& d : target)
    others = d ? n.sizes().multiply(others, *d) : others;
  if (asked) requireFits(total, others, true);
  return n.sizes().quotient(total, others);
}

void inferReshape(NodeInference& n) {
  auto entries = n.list(1);
  if (!entries) NodeInference::nothing();
  int asked = 0;
  Target target = readTarget(n, *entries, asked);
  Shape y;
  auto unknown = std::count(target.begin(), target.end(), std::nullopt);
  for (const auto& d : target)
    y.push_back(d ? *d : unknown == 1 ? leftOver(n, target, asked == 1) : n.open());
  if (unknown == 0 && n.hasShape(0)) requireFits(n.sizes().product(n.shape(0)), n.sizes().product(y), false);
  n.setShape(0, std::move(y));
}

// [Π before the axis, Π from it on]
void inferFlatten(NodeInference& n) {
  const Shape& x = n.shape(0);
  int64_t axis = n.integer("axis", 1);
  auto rank = static_cast<int64_t>(x.size());
  if (axis < -rank || axis > rank) NodeInference::invalid(fmt::format("axis {} of {} dimensions", axis, rank));
  auto middle = x.begin() + (axis < 0 ? axis + rank : axis);
  n.setShape(0, {n.sizes().product({x.begin(), middle}), n.sizes().product({middle, x.end()})});
}

// Without axes: all dimensions of extent 1, which a symbol may be.
void inferSqueeze(NodeInference& n) {
  const Shape& x = n.shape(0);
  GivenList given = n.givenList("axes", 1, 13);
  if (given.given && !given.values) NodeInference::nothing();
  std::set<size_t> axes;
  if (given.given) axes = n.axes(*given.values, x.size());
  Shape y;
  for (size_t i = 0; i < x.size(); ++i) {
    auto k = x[i].asConstant();
    if (given.given && axes.contains(i) && k && *k != 1)
      NodeInference::invalid(fmt::format("dimension {} has extent {}, not 1", i, *k));
    if (!given.given && !k) NodeInference::nothing();
    if (given.given ? !axes.contains(i) : *k != 1) y.push_back(x[i]);
  }
  n.setShape(0, std::move(y));
}

void inferUnsqueeze(NodeInference& n) {
  const Shape& x = n.shape(0);
  GivenList given = n.givenList("axes", 1, 13);
  if (!given.values) {
    auto entries = n.opset() >= 13 ? n.list(1) : std::nullopt;
    return entries ? n.setShape(0, n.open(x.size() + entries->size())) : NodeInference::nothing();
  }
  size_t rank = x.size() + given.values->size();
  auto axes = n.axes(*given.values, rank);
  if (axes.size() != given.values->size()) NodeInference::invalid("an axis is given twice");
  Shape y;
  for (size_t i = 0, from = 0; i < rank; ++i)
    y.push_back(axes.contains(i) ? Dim(1) : x[from++]);
  n.setShape(0, std::move(y));
}

void inferTranspose(NodeInference& n) {
  auto perm = n.integers("perm");
  if (!n.hasShape(0)) return perm ? n.setShape(0, n.open(perm->size())) : NodeInference::nothing();
  const Shape& x = n.shape(0);
  if (!perm) return n.setShape(0, {x.rbegin(), x.rend()});
  std::set<int64_t> seen(perm->begin(), perm->end());
  bool valid = perm->size() == x.size() && seen.size() == x.size();
  if (!valid || (!seen.empty() && (*seen.begin() < 0 || *seen.rbegin() >= static_cast<int64_t>(x.size()))))
    NodeInference::invalid(fmt::format("perm is no permutation of {} dimensions", x.size()));
  Shape y;
  for (int64_t p : *perm)
    y.push_back(x[static_cast<size_t>(p)]);
  n.setShape(0, std::move(y));
}

// Both ways: an entry 1 keeps an extent.
void inferExpand(NodeInference& n) {
  auto entries = n.list(1);
  if (!entries) NodeInference::nothing();
  Shape target;
  for (const auto& d : *entries)
    target.push_back(d && n.sizes().least(*d) >= 0 ? *d : n.open());
  n.setShape(0, broadcast(n, n.shape(0), target));
}

void inferTile(NodeInference& n) {
  const Shape& x = n.shape(0);
  auto repeats = n.list(1);
  if (!repeats) return n.setShape(0, n.open(x.size()));
  if (repeats->size() != x.size())
    NodeInference::invalid(fmt::format("{} repeats for {} dimensions", repeats->size(), x.size()));
  Shape y;
  for (size_t i = 0; i < x.size(); ++i)
    y.push_back((*repeats)[i] ? n.sizes().multiply(x[i], *(*repeats)[i]) : n.open());
  n.setShape(0, std::move(y));
}

constexpr InferRule kReshapeRules[] = {
    {"Expand", inferExpand}, {"Flatten", inferFlatten},     {"Reshape", inferReshape},     {"Squeeze", inferSqueeze},
    {"Tile", inferTile},     {"Transpose", inferTranspose}, {"Unsqueeze", inferUnsqueeze},
};

}  // namespace

std::span<const InferRule> reshapeRules() {
  return kReshapeRules;
}

}  // namespace pet
