#include "synth/analysis/typical_shape.h"

#include <set>

namespace pet {
namespace {

/// Extents of the shape that a class must hold to be of use.
constexpr int64_t kUsualExtent = 16;

using Symbols = std::set<std::string>;

/// Fixes one symbol after the other to the first of its wanted values that leaves the class a member.
class Choice {
 public:
  explicit Choice(const poly::Context& context) : context_(context) {}

  void pick(const std::string& symbol, std::initializer_list<int64_t> values) {
    for (int64_t v : values) {
      if (tryValue(symbol, v)) return;
    }
  }

  /// The largest value up to `wanted`.
  void pickUpTo(const std::string& symbol, int64_t wanted) {
    for (int64_t v = wanted; v > 0; --v) {
      if (tryValue(symbol, v)) return;
    }
  }

  void prefer(const Constraint& c) {
    fixed_.push_back(c);
    if (context_.excludes(fixed_)) fixed_.pop_back();
  }

  std::optional<Bindings> point() const {
    auto p = context_.set({}, fixed_).sample();
    return p ? std::optional(p->first) : std::nullopt;
  }

 private:
  bool tryValue(const std::string& symbol, int64_t value) {
    fixed_.push_back(Constraint::eq(Expr::variable(symbol), value));
    if (!context_.excludes(fixed_)) return true;
    fixed_.pop_back();
    return false;
  }

  const poly::Context& context_;
  poly::Conjunction fixed_;
};

/// The symbols of the inputs that are constant, or of those that are not.
Symbols inputSymbols(const Program& p, bool constant) {
  Symbols result;
  for (Value v : p.inputs()) {
    if ((p.node(v).scalar("constant") == Expr(1)) != constant) continue;
    for (const Dim& d : p.shape(v)) {
      for (const Expr& atom : d.atoms())
        atom.collectVariables(result);
    }
  }
  return result;
}

/// The symbols of weights, and of windows without weights.
Symbols kernelSymbols(const Program& p) {
  Symbols result = inputSymbols(p, true);
  for (const Node& n : p.nodes()) {
    if (!n.attributes.contains("kernel_shape")) continue;
    for (const Expr& e : n.list("kernel_shape"))
      e.collectVariables(result);
  }
  return result;
}

/// The pads at both ends of a window axis are equal: v runs from x = -pad to x = extent - 1 + pad.
std::optional<Constraint> evenPads(const Axis& axis) {
  int64_t sv = -axis.relation.coefficient("v"), sr = -axis.relation.coefficient("r");
  if (axis.relation.coefficient("x") != 1 || sv < 1 || sr < 1) return std::nullopt;
  Expr begin = axis.relation.substitute({{"v", 0}, {"x", 0}, {"r", 0}});
  Expr last = (axis.outExtent - 1) * sv + (axis.taps - 1) * sr - begin;
  return Constraint::eq(begin, last - (axis.inExtent - 1));
}

/// The symbols that are a dimension of some activation, and those of its inputs.
Symbols activationSymbols(const Program& p) {
  Symbols result = inputSymbols(p, false);
  for (int i = 0; i < static_cast<int>(p.nodes().size()); ++i) {
    if (isConstant(p, {i, 0})) continue;
    for (const Shape& s : p.nodes()[static_cast<size_t>(i)].shapes) {
      for (const Dim& d : s) {
        if (auto symbol = d.isAffine() ? d.affine().asVariable() : std::nullopt) result.insert(*symbol);
      }
    }
  }
  return result;
}

std::optional<Bindings> choose(const poly::Context& context,
                               const Program& source,
                               const std::vector<Constraint>& preferred,
                               const Symbols& small,
                               const Symbols& large,
                               int64_t extent) {
  Choice choice(context);
  Symbols kernel = kernelSymbols(source);
  for (const Constraint& c : preferred)
    choice.prefer(c);
  const auto& symbols = context.shapes().symbols;
  auto isExtent = [&](const std::string& s) { return small.contains(s) || large.contains(s); };
  // Pads first, so that kernels are not forced to be larger than 3 by pads of 3.
  for (const std::string& s : symbols) {
    if (!isExtent(s) && !kernel.contains(s)) choice.pick(s, {1, 0, 2, 3, 4});
  }
  for (const std::string& s : symbols) {
    if (!isExtent(s) && kernel.contains(s)) choice.pick(s, {3, 2, 1, 4, 5, 6, 7, 8, 9});
  }
  int64_t wanted = extent, wantedSmall = 2;
  for (const std::string& s : symbols) {
    if (isExtent(s)) choice.pickUpTo(s, large.contains(s) ? wanted++ : wantedSmall++);
  }
  return choice.point();
}

/// Windows are as they are in most models: with equal pads at both ends.
std::vector<Constraint> evenPads(const MainOperator& source) {
  std::vector<Constraint> result;
  for (const Axis* a : source.ofKind(Axis::Kind::kWindow)) {
    if (auto even = evenPads(*a)) result.push_back(*even);
  }
  return result;
}

}  // namespace

std::optional<Bindings> typicalShape(const poly::Context& context, const MainOperator& source, int64_t extent) {
  return choose(context, source.program, evenPads(source), {}, inputSymbols(source.program, false), extent);
}

std::optional<Bindings> typicalShape(const poly::Context& context, const Program& source, int64_t extent) {
  return choose(context, source, {}, {}, activationSymbols(source), extent);
}

std::optional<Bindings> compactShape(const poly::Context& context, const MainOperator& source, int64_t extent) {
  Symbols slides;
  for (const Axis* a : source.ofKind(Axis::Kind::kWindow))
    a->inExtent.collectVariables(slides);
  return choose(context, source.program, evenPads(source), inputSymbols(source.program, false), slides, extent);
}

bool holdsUsualShape(const Program& source, const ShapeClass& whole, const ShapeClass& part) {
  auto usual = typicalShape(poly::Context(whole), source, kUsualExtent);
  return !usual || part.contains(*usual);
}

}  // namespace pet
