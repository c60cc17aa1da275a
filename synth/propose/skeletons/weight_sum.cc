#include "synth/propose/skeletons/weight_sum.h"

#include <algorithm>
#include <set>
#include <utility>

#include "synth/analysis/operators.h"

namespace pet {
namespace {

using Axes = std::vector<LayoutAxis>;

bool contains(const Axes& axes, const LayoutAxis& a) {
  return std::find(axes.begin(), axes.end(), a) != axes.end();
}

/// A tensor with one dimension per axis.
struct Indexed {
  Value value;
  Axes axes;
};

/// One term: IndexMaps of its factors, contracted from the left.
class Contraction {
 public:
  Contraction(ProgramBuilder& builder, const WeightSum& weights, const WeightTerm& term)
      : builder_(builder), term_(term) {
    for (const auto& group : weights.dims)
      position_.insert(position_.end(), group.begin(), group.end());
  }

  Expected<Indexed> run() {
    std::vector<Axes> axes = axesOfFactors();
    std::optional<Indexed> product;
    for (size_t f = 0; f < axes.size(); ++f) {
      auto factor = gather(f, axes[f]);
      if (!factor) return tl::unexpected(factor.error());
      Axes later(position_);
      for (size_t g = f + 1; g < axes.size(); ++g)
        later.insert(later.end(), axes[g].begin(), axes[g].end());
      auto next = product ? multiply(*product, *factor, later) : sum(*factor, later);
      if (!next) return tl::unexpected(next.error());
      product = std::move(*next);
    }
    return *product;
  }

 private:
  /// Which axes each factor has; a term without factors is one factor, a constant. Every axis of the position, and
  /// every variable of a guard, has a factor.
  std::vector<Axes> axesOfFactors() {
    std::vector<std::set<std::string>> names(std::max<size_t>(1, term_.factors.size()));
    for (size_t f = 0; f < term_.factors.size(); ++f) {
      for (const Expr& e : term_.factors[f].at)
        e.collectVariables(names[f]);
    }
    guards_.resize(names.size());
    for (const Constraint& c : term_.guards) {
      auto mentioned = c.expr.variables();
      std::erase_if(mentioned, [&](const std::string& n) { return !isAxis(n); });
      auto covers = [&](const auto& have) {
        return std::includes(have.begin(), have.end(), mentioned.begin(), mentioned.end());
      };
      auto it = std::find_if(names.begin(), names.end(), covers);
      size_t f = it == names.end() ? 0 : static_cast<size_t>(it - names.begin());
      names[f].insert(mentioned.begin(), mentioned.end());
      guards_[f].push_back(c);
    }
    for (const LayoutAxis& a : position_) {
      bool read = std::any_of(names.begin(), names.end(), [&](const auto& have) { return have.contains(a.name); });
      if (!read) names[0].insert(a.name);
    }
    std::vector<Axes> result;
    for (const auto& have : names) {
      result.emplace_back();
      for (const Axes* from : {&std::as_const(position_), &term_.summed}) {
        for (const LayoutAxis& a : *from) {
          if (have.contains(a.name)) result.back().push_back(a);
        }
      }
    }
    return result;
  }

  bool isAxis(const std::string& name) const {
    auto named = [&](const LayoutAxis& a) { return a.name == name; };
    return std::any_of(position_.begin(), position_.end(), named) ||
           std::any_of(term_.summed.begin(), term_.summed.end(), named);
  }

  /// Factor f as a tensor over its axes.
  Expected<Indexed> gather(size_t f, const Axes& axes) {
    IndexMapSpec map;
    for (const LayoutAxis& a : axes)
      map.dims.push_back({a});
    map.guards = guards_[f];
    Value from;
    if (term_.factors.empty()) {
      auto one = builder_.add("Constant", {}, {{"value", 1.0}, {"shape", std::vector<Expr>{1}}});
      if (!one) return tl::unexpected(one.error());
      from = *one;
      map.source = {{Expr(0)}};
    } else {
      from = *builder_.peek().find(term_.factors[f].input);
      auto digit = term_.factors[f].at.begin();
      for (const Dim& d : builder_.shape(from)) {
        map.source.emplace_back(digit, digit + static_cast<std::ptrdiff_t>(d.atoms().size()));
        digit += static_cast<std::ptrdiff_t>(d.atoms().size());
      }
    }
    if (isIdentity(map, builder_.shape(from))) return Indexed{from, axes};
    auto value = builder_.add("IndexMap", {from}, {{"map", std::move(map)}});
    if (!value) return tl::unexpected(value.error());
    return Indexed{*value, axes};
  }

  /// Sums the axes that nothing later has.
  Expected<Indexed> sum(const Indexed& x, const Axes& later) {
    std::vector<Expr> gone;
    Axes left;
    for (size_t i = 0; i < x.axes.size(); ++i) {
      if (contains(later, x.axes[i]))
        left.push_back(x.axes[i]);
      else
        gone.emplace_back(static_cast<int64_t>(i));
    }
    if (gone.empty()) return x;
    auto value = builder_.add("ReduceSum", {x.value}, {{"axes", std::move(gone)}, {"keepdims", Expr(0)}});
    if (!value) return tl::unexpected(value.error());
    return Indexed{*value, std::move(left)};
  }

  /// Σ over the axes of both that nothing later has, as a MatMul with the other common axes as its batch.
  Expected<Indexed> multiply(const Indexed& a, const Indexed& b, const Axes& later) {
    auto right = sum(b, join(later, a.axes));
    if (!right) return right;
    Axes batch, rows, columns, inner;
    for (const LayoutAxis& x : a.axes)
      (!contains(right->axes, x) ? rows : contains(later, x) ? batch : inner).push_back(x);
    for (const LayoutAxis& x : right->axes) {
      if (!contains(a.axes, x)) columns.push_back(x);
    }
    if (inner.empty()) return scale(a, *right, columns);
    auto left = regroup(a, {batch, rows, inner});
    if (!left) return tl::unexpected(left.error());
    auto other = regroup(*right, {batch, inner, columns});
    if (!other) return tl::unexpected(other.error());
    auto product = builder_.add("MatMul", {*left, *other});
    if (!product) return tl::unexpected(product.error());
    Axes axes = join(join(batch, rows), columns);
    auto value = ungroup(*product, {batch, rows, columns}, axes);
    if (!value) return tl::unexpected(value.error());
    return sum(Indexed{*value, axes}, later);
  }

  /// The product position by position.
  Expected<Indexed> scale(const Indexed& a, const Indexed& b, const Axes& columns) {
    std::vector<Axes> left, right;
    for (const LayoutAxis& x : a.axes) {
      left.push_back({x});
      right.push_back(contains(b.axes, x) ? Axes{x} : Axes{});
    }
    for (const LayoutAxis& x : columns) {
      left.emplace_back();
      right.push_back({x});
    }
    auto l = regroup(a, left);
    if (!l) return tl::unexpected(l.error());
    auto r = regroup(b, right);
    if (!r) return tl::unexpected(r.error());
    auto product = builder_.add("Mul", {*l, *r});
    if (!product) return tl::unexpected(product.error());
    return Indexed{*product, join(a.axes, columns)};
  }

  static Axes join(Axes a, const Axes& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  }

  /// Dimensions of one axis each to one dimension per group.
  Expected<Value> regroup(const Indexed& x, const std::vector<Axes>& groups) {
    bool same = groups.size() == x.axes.size();
    for (size_t i = 0; same && i < groups.size(); ++i)
      same = groups[i] == Axes{x.axes[i]};
    if (same) return x.value;
    LayoutSpec spec;
    for (const LayoutAxis& a : x.axes) {
      spec.left.push_back({static_cast<int>(spec.axes.size())});
      spec.axes.push_back(a);
    }
    spec.right = indices(spec, groups);
    return builder_.add("Layout", {x.value}, {{"layout", std::move(spec)}});
  }

  Expected<Value> ungroup(Value x, const std::vector<Axes>& groups, const Axes& axes) {
    LayoutSpec spec;
    spec.axes = axes;
    spec.left = indices(spec, groups);
    for (size_t i = 0; i < axes.size(); ++i)
      spec.right.push_back({static_cast<int>(i)});
    return builder_.add("Layout", {x}, {{"layout", std::move(spec)}});
  }

  /// Where the groups' axes stand in the layout; an empty group is an axis of extent 1 of its own.
  static std::vector<std::vector<int>> indices(LayoutSpec& spec, const std::vector<Axes>& groups) {
    std::vector<std::vector<int>> result;
    for (const Axes& group : groups) {
      result.emplace_back();
      for (const LayoutAxis& a : group)
        result.back().push_back(static_cast<int>(std::find(spec.axes.begin(), spec.axes.end(), a) - spec.axes.begin()));
      if (!group.empty()) continue;
      result.back().push_back(static_cast<int>(spec.axes.size()));
      spec.axes.push_back({"_" + std::to_string(spec.axes.size()), Dim(1)});
    }
    return result;
  }

  ProgramBuilder& builder_;
  const WeightTerm& term_;
  Axes position_;
  std::vector<std::vector<Constraint>> guards_;
};

/// From one dimension per axis to the weight's dimensions.
Expected<Value> toShape(ProgramBuilder& builder, const Indexed& x, const std::vector<Axes>& dims) {
  bool single = std::all_of(dims.begin(), dims.end(), [](const Axes& g) { return g.size() == 1; });
  Axes order;
  for (const Axes& g : dims)
    order.insert(order.end(), g.begin(), g.end());
  if (single && order == x.axes) return x.value;
  LayoutSpec spec{x.axes, {}, {}};
  for (size_t i = 0; i < x.axes.size(); ++i)
    spec.left.push_back({static_cast<int>(i)});
  for (const Axes& g : dims) {
    spec.right.emplace_back();
    for (const LayoutAxis& a : g)
      spec.right.back().push_back(static_cast<int>(std::find(x.axes.begin(), x.axes.end(), a) - x.axes.begin()));
  }
  return builder.add("Layout", {x.value}, {{"layout", std::move(spec)}});
}

Expected<Value> scaled(ProgramBuilder& builder, Value x, const Rational& by) {
  if (by == Rational{}) return x;
  auto factor = builder.add("Table", {},
                            {{"shape", std::vector<Expr>{}},
                             {"values", std::vector<Expr>{by.numerator}},
                             {"denominator", Expr(by.denominator)}});
  if (!factor) return factor;
  return builder.add("Mul", {x, *factor});
}

}  // namespace

Expected<Value> emitWeights(ProgramBuilder& builder, const WeightSum& weights) {
  std::optional<Value> total;
  for (const WeightTerm& term : weights.terms) {
    auto product = Contraction(builder, weights, term).run();
    if (!product) return tl::unexpected(product.error());
    auto shaped = toShape(builder, *product, weights.dims);
    if (!shaped) return shaped;
    auto value = scaled(builder, *shaped, term.coefficient);
    if (!value) return value;
    auto sum = total ? builder.add("Add", {*total, *value}) : value;
    if (!sum) return sum;
    total = *sum;
  }
  return *total;
}

}  // namespace pet
