#include "applier/clean/hoist.h"

#include <algorithm>
#include <cassert>
#include <set>

#include "ir/layout_algebra.h"
#include "ir/ops/op.h"
#include "ir/ops/resize.h"

namespace pet {
namespace {

/// What moves: an element-wise function, or the addition of a constant that varies along one dimension at most.
struct Moving {
  int node = -1;       ///< in the old view
  Value operand;       ///< what it is applied to, in the old view
  Value constant;      ///< added, in the old view; node -1 for a function
  int dimension = -1;  ///< of `operand`, along which the constant varies; -1: it does not
  bool adds() const { return constant.node >= 0; }
};

/// The addition's constant on its way up: one value per position of `dimension`.
struct Added {
  Value vector;  ///< in the new view
  int dimension = -1;
};

/// The Layout that an operator is, of those that may stand in front of a function.
std::optional<LayoutSpec> layoutPassed(const Node& n, const Shape& operand) {
  const LayoutSpec* layout = layoutOf(n);
  return layout ? std::optional(*layout) : depthToSpace(n, operand);
}

/// A Resize to no less in any dimension: in front of it there is no more to compute.
bool enlarges(const Node& n, const Shape& operand) {
  if (!n.is(ops::kResize)) return false;
  for (size_t d = 0; d < operand.size(); ++d) {
    const auto before = operand[d].asConstant(), after = n.shapes[0][d].asConstant();
    if (before && after ? *after < *before : !quotient(n.shapes[0][d], operand[d])) return false;
  }
  return true;
}

/// A product that interpolates: x · M or M · x, where M is a Resize of an identity matrix to no less.
struct Interpolation {
  size_t operand = 0;   ///< which one x is
  int dimension = 0;    ///< of x and of the product: along it
  bool copies = false;  ///< the nearest
};

std::optional<Interpolation> interpolation(const Program& p, const Node& n) {
  if (!n.is(ops::kMatMul)) return std::nullopt;
  for (size_t side : {0, 1}) {
    const Node* m = &p.node(n.operands[side]);
    const bool turned = m->is(ops::kTranspose);
    if (turned) m = &p.node(m->operands[0]);
    if (!m->is(ops::kResize) || !p.node(m->operands[0]).is(ops::kEye)) continue;
    // Over what is summed it has the identity's positions, of which each row has shares.
    const size_t kept = turned ? side : 1 - side;
    const Shape& unit = p.shape(m->operands[0]);
    const auto rank = static_cast<int>(p.shape(n.operands[1 - side]).size());
    if (keeps({m->attributes, std::span(&unit, 1), m->shapes}, kept) && rank >= 2 && enlarges(*m, unit))
      return Interpolation{1 - side, rank - 2 + static_cast<int>(side), m->text("mode") == "nearest"};
  }
  return std::nullopt;
}

/// How the constant comes to a value: along which dimension it varies there, and the layout operators, with their
/// operands, that made another constant of it on the way.
struct Arrival {
  int dimension = -1;
  std::vector<std::pair<int, size_t>> through = {};
  friend bool operator==(const Arrival&, const Arrival&) = default;
};
using Arrivals = std::map<Value, Arrival>;

class Hoister {
 public:
  explicit Hoister(const View& view)
      : view_(view),
        readers_(readers(view.program)),
        constant_(knownNodes(view.program)),
        required_(view.program.outputs().begin(), view.program.outputs().end()) {}
  std::optional<View> run();

 private:
  const Program& old() const { return view_.program; }
  const Node& node(int i) const { return old().nodes()[static_cast<size_t>(i)]; }
  bool isNew(int i) const {
    return view_.provenance[static_cast<size_t>(i)].origin < 0 && !node(i).is(ops::kInput) &&
           !constant_[static_cast<size_t>(i)];
  }
  bool required(Value v) const { return required_.contains(v); }
  /// It may be passed: a layout operator, a Resize, or a product that interpolates.
  bool isPassable(int i) const {
    const Node& n = node(i);
    return n.op->layout || (!n.operands.empty() && enlarges(n, old().shape(n.operands[0]))) || interpolation(old(), n);
  }

  std::optional<Moving> moving(int i) const;
  bool passes(const Moving& f, int layout, int dimension, std::vector<int>& dimensions) const;
  bool plan(const Moving& f);
  bool planValue(const Moving& f, Value v, const Arrival& arrival, Arrivals& met) const;

  Value push(const Moving& f, Value v, const Added& c);
  Value pushedThrough(const Moving& f, int layout, const Added& c);
  Value atLeaf(const Moving& f, Value v, const Added& c);
  Added throughLayout(const LayoutSpec& layout, const Added& c);
  Value add(std::string_view op, std::vector<Value> operands, Attributes attributes, const std::string& name, int like);
  Value regrouped(Value x, const Extents& extents, int like);

  const View& view_;
  std::map<Value, std::vector<int>> readers_;
  std::vector<bool> constant_;
  std::set<Value> required_;
  std::map<int, Moving> planned_;  ///< by the node that moves
  std::set<int> taken_;            ///< nodes of planned trees
  ViewBuilder builder_;
  std::map<Value, Value> moved_;
  std::map<Value, Value> pushed_;  ///< of the function that is moving now
};

std::optional<Moving> Hoister::moving(int i) const {
  const Node& n = node(i);
  Moving f;
  f.node = i;
  if (constant_[static_cast<size_t>(i)] || n.shapes.size() != 1) return std::nullopt;
  if (n.op->facts.elementwise && n.operands.size() == 1 && !n.is(ops::kIdentity)) {
    f.operand = n.operands[0];
    return f;
  }
  if (!n.is(ops::kAdd)) return std::nullopt;
  for (size_t side : {0, 1}) {
    f.operand = n.operands[side];
    f.constant = n.operands[1 - side];
    if (!constant_[static_cast<size_t>(f.constant.node)] || old().shape(f.operand) != n.shapes[0]) continue;
    auto extents = asConstants(old().shape(f.constant));
    if (!extents) continue;
    const Extents& c = *extents;
    auto varying = std::count_if(c.begin(), c.end(), [](int64_t e) { return e != 1; });
    if (varying > 1 || c.size() > n.shapes[0].size()) continue;
    f.dimension = -1;
    for (size_t d = 0; d < c.size(); ++d) {
      if (c[d] != 1) f.dimension = static_cast<int>(d + n.shapes[0].size() - c.size());
    }
    return f;
  }
  return std::nullopt;
}

/// A Concat along this dimension.
bool joins(const Node& n, int dimension) {
  return n.is(ops::kConcat) && n.scalar("axis") == Expr(dimension);
}

/// f of what the operator fills with is what it fills with. (Other modes of a Pad than "constant" copy.)
bool keepsFill(const OpRow& f, const Node& filling) {
  bool pad = filling.is(ops::kPad);
  if (pad && filling.text("mode") != "constant") return true;
  return f.facts.zeroPreserving && (!pad || filling.number("value") == 0);
}

/// True if the function commutes with this operator, a passable one; `dimensions`: where the constant varies, per
/// operand. Each case is proved: tests/unit/applier_hoist_test.cc has the table.
bool Hoister::passes(const Moving& f, int layout, int dimension, std::vector<int>& dimensions) const {
  const Node& n = node(layout);
  dimensions.assign(n.operands.size(), dimension);
  // Nearest neighbours are copies; the shares of interpolation are 1 together.
  if (auto product = interpolation(old(), n)) {
    // It multiplies the others by 0, so that they have to have a value.
    const OpRow& op = *node(f.node).op;
    return f.adds() ? dimension != product->dimension
                    : product->copies && !op.lower && op.facts.domain == Facts::Domain::kEverything;
  }
  if (n.is(ops::kResize)) {
    if (!f.adds()) return n.text("mode") == "nearest";
    const auto d = static_cast<size_t>(dimension);
    return dimension < 0 || old().shape(n.operands[0])[d] == n.shapes[0][d];
  }
  if (!f.adds()) return !n.op->fills || keepsFill(*node(f.node).op, n);
  if (n.is(ops::kConcat)) return true;
  if (n.is(ops::kSlice)) {
    const auto& axes = n.list("axes");
    return dimension < 0 || std::find(axes.begin(), axes.end(), Expr(dimension)) == axes.end();
  }
  auto spec = layoutPassed(n, old().shape(n.operands[0]));
  if (!spec) return false;
  if (dimension < 0) return true;
  // The channels' axes lie within one dimension of the operand.
  for (size_t d = 0; d < spec->left.size(); ++d) {
    const auto& group = spec->left[d];
    const auto& channels = spec->right[static_cast<size_t>(dimension)];
    bool all = std::all_of(channels.begin(), channels.end(), [&](int a) {
      return spec->axes[static_cast<size_t>(a)].extent == Dim(1) ||
             std::find(group.begin(), group.end(), a) != group.end();
    });
    if (!all) continue;
    dimensions[0] = static_cast<int>(d);
    return std::all_of(group.begin(), group.end(),
                       [&](int a) { return spec->axes[static_cast<size_t>(a)].extent.asConstant().has_value(); });
  }
  return false;
}

/// Collects the operators that the function passes and the values it ends at.
bool Hoister::planValue(const Moving& f, Value v, const Arrival& arrival, Arrivals& met) const {
  const Node& n = node(v.node);
  if (required(v) || !isNew(v.node) || taken_.contains(v.node)) return false;
  if (f.adds() && isEmpty(old().shape(v))) return false;
  // Met again, a value may want another constant: Concat(u, u) along the channels.
  if (auto [first, inserted] = met.emplace(v, arrival); !inserted) return first->second == arrival;
  if (!isPassable(v.node)) return true;
  std::vector<int> dimensions;
  if (n.shapes.size() != 1 || !passes(f, v.node, arrival.dimension, dimensions)) return false;
  const auto product = interpolation(old(), n);
  bool parts = joins(n, arrival.dimension);
  auto isNumber = [&](Value o) {
    return old().shape(o)[static_cast<size_t>(arrival.dimension)].asConstant().has_value();
  };
  if (f.adds() && parts && !std::all_of(n.operands.begin(), n.operands.end(), isNumber)) return false;
  bool regroups = !n.is(ops::kSlice) && !n.is(ops::kConcat) && !n.is(ops::kResize) && !product;
  bool changes = arrival.dimension >= 0 && (regroups || parts);
  for (size_t i = 0; i < n.operands.size(); ++i) {
    if (product && i != product->operand) continue;
    Arrival next{dimensions[i], arrival.through};
    if (changes) next.through.emplace_back(v.node, i);
    if (!planValue(f, n.operands[i], next, met)) return false;
  }
  return true;
}

bool Hoister::plan(const Moving& f) {
  Arrivals met;
  if (!isPassable(f.operand.node) || !planValue(f, f.operand, {f.dimension}, met)) return false;
  // Nobody else may see what is inside.
  auto passed = [&](int reader) { return reader >= 0 && isPassable(reader) && met.contains({reader, 0}); };
  for (const auto& [v, arrival] : met) {
    for (int reader : readers_[v]) {
      if (reader != f.node && !passed(reader)) return false;
    }
  }
  for (const auto& [v, arrival] : met) {
    if (isPassable(v.node)) taken_.insert(v.node);
  }
  taken_.insert(f.node);
  planned_.emplace(f.node, f);
  return true;
}

Value Hoister::add(
    std::string_view op, std::vector<Value> operands, Attributes attributes, const std::string& name, int like) {
  Provenance provenance = view_.provenance[static_cast<size_t>(like)];
  provenance.origin = -1;
  auto v = builder_.add(*findOp(op), std::move(operands), std::move(attributes), {name}, provenance,
                        view_.elements[static_cast<size_t>(like)]);
  assert(v && "a moved function fits");
  return *v;
}

Value Hoister::regrouped(Value x, const Extents& extents, int like) {
  if (builder_.shape(x) == shapeOf(extents)) return x;
  return add("Layout", {x}, {{"layout", regroup(builder_.shape(x), shapeOf(extents)).value()}},
             builder_.unique(node(like).names[0] + "/constant"), like);
}

Value Hoister::atLeaf(const Moving& f, Value v, const Added& c) {
  const Node& n = node(f.node);
  std::string name = builder_.unique(old().name(v) + "/" + std::string(n.op->name));
  Value x = moved_.at(v);
  if (!f.adds()) return add(n.op->name, {x}, n.attributes, name, v.node);
  Value constant = c.vector;
  if (c.dimension >= 0) {
    Extents extents(old().shape(v).size() - static_cast<size_t>(c.dimension), 1);
    extents[0] = concrete(builder_.shape(c.vector))[0];
    constant = regrouped(constant, extents, v.node);
  }
  return add("Add", {x, constant}, {}, name, v.node);
}

/// The constant before the layout: c'[(a r b)] = c[(r)] for the channels' axes r within a dimension of axes (a r b).
Added Hoister::throughLayout(const LayoutSpec& layout, const Added& c) {
  if (c.dimension < 0) return c;
  const auto& channels = layout.right[static_cast<size_t>(c.dimension)];
  size_t d = 0;
  auto extent = [&](int a) { return layout.axes[static_cast<size_t>(a)].extent.asConstant().value(); };
  auto isChannel = [&](int a) {
    return std::find(channels.begin(), channels.end(), a) != channels.end() && extent(a) != 1;
  };
  while (std::none_of(layout.left[d].begin(), layout.left[d].end(), isChannel))
    ++d;
  const auto& group = layout.left[d];
  std::vector<int> inRight, inLeft;
  std::copy_if(channels.begin(), channels.end(), std::back_inserter(inRight), isChannel);
  std::copy_if(group.begin(), group.end(), std::back_inserter(inLeft), isChannel);
  Extents cut, spread, full;
  std::vector<Expr> perm;
  perm.reserve(inLeft.size());
  for (int a : inRight)
    cut.push_back(extent(a));
  for (int a : inLeft)
    perm.emplace_back(std::find(inRight.begin(), inRight.end(), a) - inRight.begin());
  for (int a : group) {
    spread.push_back(isChannel(a) ? extent(a) : 1);
    full.push_back(extent(a));
  }
  auto step = [&](std::string_view op, Value x, Attributes attributes) {
    auto v =
        builder_.add(*findOp(op), {x}, std::move(attributes),
                     {builder_.unique(builder_.program().name(c.vector) + "/spread")}, builder_.provenance(c.vector));
    assert(v);
    return *v;
  };
  auto reshaped = [&](Value x, const Extents& to) {
    const Shape wanted = shapeOf(to);
    return builder_.shape(x) == wanted ? x
                                       : step("Layout", x, {{"layout", regroup(builder_.shape(x), wanted).value()}});
  };
  Value v = reshaped(c.vector, cut);
  if (perm.size() > 1) v = step("Transpose", v, {{"perm", perm}});
  v = reshaped(v, spread);
  if (spread != full) v = step("Expand", v, {{"shape", std::vector<Expr>(full.begin(), full.end())}});
  return {reshaped(v, {elementCount(full)}), static_cast<int>(d)};
}

Value Hoister::pushedThrough(const Moving& f, int layout, const Added& c) {
  const Node& n = node(layout);
  std::vector<Value> operands;
  if (auto spec = layoutPassed(n, old().shape(n.operands[0]))) {
    Added before = f.adds() ? throughLayout(*spec, c) : c;
    operands.push_back(push(f, n.operands[0], before));
  } else if (auto product = interpolation(old(), n)) {
    for (size_t i : {0, 1})
      operands.push_back(i == product->operand ? push(f, n.operands[i], c) : moved_.at(n.operands[i]));
  } else {
    int64_t offset = 0;
    bool along = joins(n, c.dimension);
    for (Value o : n.operands) {
      Added part = c;
      if (along) {
        int64_t extent = *old().shape(o)[static_cast<size_t>(c.dimension)].asConstant();
        part.vector = add("Slice", {c.vector},
                          {{"axes", std::vector<Expr>{0}},
                           {"starts", std::vector<Expr>{offset}},
                           {"ends", std::vector<Expr>{offset + extent}}},
                          builder_.unique(n.names[0] + "/constant"), layout);
        if (extent == 1) part = {regrouped(part.vector, {}, layout), -1};
        offset += extent;
      }
      operands.push_back(push(f, o, part));
    }
  }
  return add(n.op->name, std::move(operands), n.attributes, n.names[0], layout);
}

Value Hoister::push(const Moving& f, Value v, const Added& c) {
  if (auto it = pushed_.find(v); it != pushed_.end()) return it->second;
  Value result = isPassable(v.node) ? pushedThrough(f, v.node, c) : atLeaf(f, v, c);
  return pushed_[v] = result;
}

std::optional<View> Hoister::run() {
  bool any = false;
  for (int i = 0; i < static_cast<int>(old().nodes().size()); ++i) {
    if (auto f = moving(i)) any = plan(*f) || any;
  }
  if (!any) return std::nullopt;
  for (const Node& n : old().nodes()) {
    for (const std::string& name : n.names)
      builder_.reserve(name);
  }
  for (int i = 0; i < static_cast<int>(old().nodes().size()); ++i) {
    auto planned = planned_.find(i);
    if (planned == planned_.end()) {
      Value v = builder_.copy(view_, i, [&](Value o) { return moved_.at(o); });
      for (int o = 0; o < static_cast<int>(node(i).names.size()); ++o)
        moved_[Value{i, o}] = Value{v.node, o};
      continue;
    }
    const Moving& f = planned->second;
    Added c;
    if (f.adds()) {
      c.dimension = f.dimension;
      c.vector = moved_.at(f.constant);
      Extents extents;
      if (c.dimension >= 0) extents.push_back(elementCount(concrete(builder_.shape(c.vector))));
      c.vector = regrouped(c.vector, extents, i);
    }
    pushed_.clear();
    Value v = push(f, f.operand, c);
    moved_[Value{i, 0}] = v;
    if (auto name = view_.names.find({i, 0}); name != view_.names.end()) builder_.name(v, name->second);
  }
  std::vector<Value> outputs;
  for (Value v : old().outputs())
    outputs.push_back(moved_.at(v));
  return pruned(std::move(builder_).finish(std::move(outputs)));
}

}  // namespace

std::optional<View> hoist(const View& view) {
  return Hoister(view).run();
}

}  // namespace pet
