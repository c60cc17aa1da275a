#include "applier/clean/simplify.h"

#include <algorithm>
#include <cassert>
#include <optional>
#include <set>

#include "applier/clean/hoist.h"
#include "ir/layout_algebra.h"
#include "ir/no_op.h"
#include "ir/ops/op.h"

namespace pet {
namespace {

/// The Layout that an operator is, for operators that only regroup dimensions.
std::optional<LayoutSpec> asLayout(const Node& n, const Shape& operand) {
  if (const LayoutSpec* layout = layoutOf(n)) return *layout;
  if (n.is(ops::kTranspose)) return transposition(operand, n.list("perm"));
  bool regroups = n.is(ops::kReshape) || n.is(ops::kFlatten) || n.is(ops::kSqueeze) || n.is(ops::kUnsqueeze);
  if (regroups) return regroup(operand, n.shapes[0]);
  return std::nullopt;
}

/// One pass over a view: every node is copied, or replaced by something simpler.
class Simplifier {
 public:
  explicit Simplifier(const View& view)
      : view_(view),
        readers_(readers(view.program)),
        required_(view.program.outputs().begin(), view.program.outputs().end()) {}
  View run();
  bool changed() const { return changed_; }

 private:
  const Program& old() const { return view_.program; }
  const Program& now() const { return builder_.program(); }
  const Provenance& from(int node) const { return view_.provenance[static_cast<size_t>(node)]; }
  /// A node that some rewrite made or changed.
  bool isNew(const Provenance& p, Value v) const { return p.origin < 0 && !now().node(v).is(ops::kInput); }
  bool isNew(Value v) const { return isNew(builder_.provenance(v), v); }
  bool required(Value v) const { return required_.contains(v); }
  /// An ONNX value or a new one: it can be read from outside the ONNX node that it belongs to.
  bool readable(Value v) const { return isNew(v) || builder_.named(v) || builder_.isConstant(v); }

  void enter(int node);
  bool enterSimpler(int node, Value simpler);
  int splitBehind(const Node& split, Value part) const;
  bool enterSplit(int node);
  /// One node reads the value, in the old view; and in the new one, where it is still that value alone.
  bool readOnce(Value before, Value after) const {
    return readers_.at(before).size() == 1 && old().name(before) == now().name(after);
  }
  std::optional<LayoutSpec> newLayout(Value v) const;
  /// The Layouts of a value in the new view, so far.
  const std::vector<int>& layoutsOf(Value v);
  std::optional<Value> beforeLayout(const LayoutSpec& layout, Value v);
  std::optional<Value> knownLayout(const LayoutSpec& layout, Value operand);

  // The steps. Each gives the value that a node of the old view may be replaced by; `operands` are in the new view.
  using Operands = std::vector<Value>;
  std::optional<Value> layoutOfLayout(int node, const Node& n, const Operands& operands);
  std::optional<Value> layoutBehind(int node, const Node& n, const Operands& operands);
  std::optional<Value> sameLayout(int node, const Node& n, const Operands& operands);
  std::optional<Value> layoutOfSlice(int node, const Node& n, const Operands& operands);
  std::optional<Value> padOfLayout(int node, const Node& n, const Operands& operands);
  std::optional<Value> unchanged(int node, const Node& n, const Operands& operands);
  std::optional<Value> smallerConcat(int node, const Node& n, const Operands& operands);
  std::optional<Value> sliceOfConcat(int node, const Node& n, const Operands& operands);
  std::optional<Value> concatOfSlices(int node, const Node& n, const Operands& operands);
  struct Step {
    std::optional<Value> (Simplifier::*apply)(int, const Node&, const Operands&);
    bool ofNewOnly;  ///< nodes that came with the model stay
  };
  static const Step kSteps[];

  /// Nullopt: its extents cannot be written, or are not known to fit.
  std::optional<Value> add(std::string_view op, std::vector<Value> operands, Attributes attributes, int like) {
    return add(op, std::move(operands), std::move(attributes), like, from(like));
  }
  std::optional<Value> add(
      std::string_view op, std::vector<Value> operands, Attributes attributes, int like, Provenance provenance);

  const View& view_;
  std::map<Value, std::vector<int>> readers_;
  std::set<Value> required_;
  ViewBuilder builder_;
  std::map<Value, std::vector<int>> layouts_;  ///< of the new view's nodes, by operand; of the first `known_`
  size_t known_ = 0;
  std::map<Value, Value> moved_;
  bool changed_ = false;
};

std::optional<Value> Simplifier::add(
    std::string_view op, std::vector<Value> operands, Attributes attributes, int like, Provenance provenance) {
  provenance.origin = -1;
  auto v = builder_.add(*findOp(op), std::move(operands), std::move(attributes),
                        {old().nodes()[static_cast<size_t>(like)].names[0]}, provenance,
                        view_.elements[static_cast<size_t>(like)]);
  return v ? std::optional(*v) : std::nullopt;
}

/// The operand that the node only passes on.
std::optional<Value> Simplifier::unchanged(int, const Node& n, const Operands& operands) {
  if (operands.size() != 1 || n.shapes.size() != 1 || now().shape(operands[0]) != n.shapes[0]) return std::nullopt;
  if (isNoOp(*n.op, {n.attributes, n.shapes, n.shapes})) return operands[0];
  // Dimensions with one position may be exchanged.
  auto layout = asLayout(n, now().shape(operands[0]));
  return layout && movesNothing(*layout) ? std::optional(operands[0]) : std::nullopt;
}

std::optional<Value> Simplifier::layoutOfLayout(int node, const Node& n, const Operands& operands) {
  if (operands.size() != 1) return std::nullopt;
  auto second = asLayout(n, now().shape(operands[0]));
  if (!second) return std::nullopt;
  const Node& producer = now().node(operands[0]);
  const Provenance before = builder_.provenance(operands[0]), behind = from(node);
  if (before.isStep && behind.isStep && before.site == behind.site) return std::nullopt;
  if (producer.operands.size() != 1 || !readable(producer.operands[0])) return std::nullopt;
  auto first = asLayout(producer, now().shape(producer.operands[0]));
  if (!first) return std::nullopt;
  // A node that came with the model changes only if that makes its new operand superfluous.
  bool mine = from(node).origin < 0;
  if (!mine && (!isNew(operands[0]) || readers_.at(n.operands[0]).size() > 1)) return std::nullopt;
  auto both = compose(*first, *second);
  if (!both) return std::nullopt;
  Value x = producer.operands[0];
  return add("Layout", {x}, {{"layout", *both}}, node, before.isStep ? before : behind);
}

std::optional<Value> Simplifier::smallerConcat(int node, const Node& n, const Operands& operands) {
  if (!n.is(ops::kConcat)) return std::nullopt;
  auto axis = static_cast<size_t>(*n.scalar("axis").asConstant());
  std::vector<Value> kept;
  for (Value v : operands) {
    if (now().shape(v)[axis] != Dim(0)) kept.push_back(v);
  }
  if (kept.size() == operands.size() || kept.empty()) return std::nullopt;
  if (kept.size() == 1) return kept[0];
  return add("Concat", kept, n.attributes, node);
}

std::optional<Value> Simplifier::sliceOfConcat(int node, const Node& n, const Operands& operands) {
  if (!n.is(ops::kSlice) || n.list("axes").size() != 1) return std::nullopt;
  const Node& concat = now().node(operands[0]);
  if (!concat.is(ops::kConcat) || !isNew(operands[0]) || concat.scalar("axis") != n.list("axes")[0])
    return std::nullopt;
  auto axis = static_cast<size_t>(*concat.scalar("axis").asConstant());
  auto from = n.list("starts")[0].asConstant(), to = n.list("ends")[0].asConstant();
  if (!from || !to) return std::nullopt;
  int64_t start = *from, end = *to, offset = 0;
  for (Value part : concat.operands) {
    auto known = now().shape(part)[axis].asConstant();
    if (!known) return std::nullopt;
    int64_t extent = *known;
    if (offset <= start && end <= offset + extent && readable(part)) {
      Attributes attributes = n.attributes;
      attributes["starts"] = std::vector<Expr>{start - offset};
      attributes["ends"] = std::vector<Expr>{end - offset};
      return add("Slice", {part}, attributes, node);
    }
    offset += extent;
  }
  return std::nullopt;
}

/// Where a Slice begins, per dimension of what it is a part of; nullopt where it leaves something out in between.
std::optional<std::vector<Expr>> beginOf(const Node& slice, size_t rank) {
  std::vector<Expr> begin(rank, Expr(0));
  for (size_t i = 0; i < slice.list("axes").size(); ++i) {
    if (!slice.list("steps").empty() && slice.list("steps")[i] != Expr(1)) return std::nullopt;
    begin[static_cast<size_t>(slice.list("axes")[i].constant())] = slice.list("starts")[i];
  }
  return begin;
}

/// Parts of one value that are neighbours in it: the part that they make up, or all of the value.
std::optional<Value> Simplifier::concatOfSlices(int node, const Node& n, const Operands& operands) {
  if (!n.is(ops::kConcat)) return std::nullopt;
  const auto axis = static_cast<size_t>(n.scalar("axis").constant());
  const Node& first = now().node(operands[0]);
  if (!first.is(ops::kSlice) || !readable(first.operands[0])) return std::nullopt;
  const Value whole = first.operands[0];
  const Shape shape = now().shape(whole);
  const auto begin = beginOf(first, shape.size());
  if (!begin) return std::nullopt;
  std::vector<Expr> next = *begin;
  for (Value v : operands) {
    const Node& part = now().node(v);
    if (!part.is(ops::kSlice) || part.operands[0] != whole || beginOf(part, shape.size()) != next) return std::nullopt;
    if (!part.shapes[0][axis].isAffine()) return std::nullopt;
    next[axis] += part.shapes[0][axis].affine();
  }
  std::vector<Expr> axes, starts, ends;
  for (size_t d = 0; d < shape.size(); ++d) {
    const Dim& extent = n.shapes[0][d];
    if (extent == shape[d]) continue;
    axes.emplace_back(static_cast<int64_t>(d));
    starts.push_back((*begin)[d]);
    ends.push_back((*begin)[d] + extent.affine());
  }
  if (axes.empty()) return whole;
  return add("Slice", {whole}, {{"axes", axes}, {"starts", starts}, {"ends", ends}}, node);
}

/// The Layout that gives a value, if rewriting made it.
std::optional<LayoutSpec> Simplifier::newLayout(Value v) const {
  const Node& n = now().node(v);
  const LayoutSpec* layout = layoutOf(n);
  if (!isNew(v) || !layout || !readable(n.operands[0])) return std::nullopt;
  return *layout;
}

const std::vector<int>& Simplifier::layoutsOf(Value v) {
  for (; known_ < now().nodes().size(); ++known_) {
    const Node& n = now().nodes()[known_];
    if (layoutOf(n)) layouts_[n.operands[0]].push_back(static_cast<int>(known_));
  }
  return layouts_[v];
}

/// A value that the layout makes `v` of: its operand, or what the opposite layout made of `v`.
std::optional<Value> Simplifier::beforeLayout(const LayoutSpec& layout, Value v) {
  if (auto own = newLayout(v); own && reduced(*own) == reduced(layout)) return now().node(v).operands[0];
  for (int i : layoutsOf(v)) {
    if (!readable({i, 0})) continue;
    auto both = compose(*layoutOf(now().nodes()[static_cast<size_t>(i)]), layout);
    if (both && movesNothing(*both)) return Value{i, 0};
  }
  return std::nullopt;
}

/// L(a) + L(b) = L(a + b), and L(a) + b = L(a + M(b)) where M, the opposite of L, was applied to b anyway; alike for
/// other functions of two numbers. What reads the sum may then meet the layout.
std::optional<Value> Simplifier::layoutBehind(int, const Node& n, const Operands& operands) {
  const bool isOfTwoNumbers = n.is(ops::kAdd) || n.is(ops::kDiv) || n.is(ops::kMul) || n.is(ops::kSub);
  if (!isOfTwoNumbers || operands.size() != 2 || now().shape(operands[0]) != n.shapes[0] ||
      now().shape(operands[1]) != n.shapes[0])
    return std::nullopt;
  for (size_t side : {0, 1}) {
    Value closed = operands[side], other = operands[1 - side];
    auto layout = newLayout(closed);
    if (!layout || movesNothing(*layout) || !readOnce(n.operands[side], closed)) continue;
    auto before = beforeLayout(*layout, other);
    if (!before || *before == closed) continue;  // b + L(b) where L undoes itself: L(b) would stay
    std::vector<Value> inner{now().node(closed).operands[0], *before};
    if (now().shape(inner[0]) != now().shape(inner[1])) continue;
    if (side == 1) std::swap(inner[0], inner[1]);
    Provenance provenance = builder_.provenance(closed);
    auto sum = builder_.add(*n.op, inner, n.attributes, {builder_.unique(n.names[0] + "/inner")}, provenance);
    assert(sum && "operands of equal shapes");
    auto behind = builder_.add(*findOp("Layout"), {*sum}, now().node(closed).attributes, {n.names[0]}, provenance);
    assert(behind && "the layout's operand had this shape");
    return *behind;
  }
  return std::nullopt;
}

/// What a Layout that is equal to this one makes of the value.
std::optional<Value> Simplifier::knownLayout(const LayoutSpec& layout, Value operand) {
  for (int i : layoutsOf(operand)) {
    if (!isNew({i, 0})) continue;
    if (reduced(*layoutOf(now().nodes()[static_cast<size_t>(i)])) == reduced(layout)) return Value{i, 0};
  }
  return std::nullopt;
}

std::optional<Value> Simplifier::sameLayout(int, const Node& n, const Operands& operands) {
  const LayoutSpec* layout = layoutOf(n);
  return layout ? knownLayout(*layout, operands[0]) : std::nullopt;
}

/// L(Slice(x)) = Slice(L(x)) along an axis that L makes the outermost of a dimension: where L of all of x is wanted as
/// well, or x comes from a layout that may cancel.
std::optional<Value> Simplifier::layoutOfSlice(int node, const Node& n, const Operands& operands) {
  if (!layoutOf(n)) return std::nullopt;
  const Node slice = now().node(operands[0]);  // a copy: nodes are added below
  if (!slice.is(ops::kSlice) || !isNew(operands[0]) || slice.list("axes").size() != 1) return std::nullopt;
  const Value x = slice.operands[0];
  if (!readable(x)) return std::nullopt;
  LayoutSpec layout = *layoutOf(n);
  auto along = static_cast<size_t>(*slice.list("axes")[0].asConstant());
  auto to = outermost(opposite(layout), along);
  const std::vector<Expr>& steps = slice.list("steps");  // none: 1
  const auto inner = to ? to->inner.asConstant() : std::nullopt;
  if (!inner || (*inner != 1 && !steps.empty() && steps[0] != Expr(1))) return std::nullopt;
  layout.axes[static_cast<size_t>(to->axis)].extent = now().shape(x)[along];
  auto isWhole = [&](int reader) {
    if (reader < 0) return false;
    const LayoutSpec* other = layoutOf(old().nodes()[static_cast<size_t>(reader)]);
    return other && reduced(*other) == reduced(layout);
  };
  const auto& besides = readers_.at(old().node(n.operands[0]).operands[0]);
  if (!newLayout(x) && std::none_of(besides.begin(), besides.end(), isWhole)) return std::nullopt;
  auto whole = knownLayout(layout, x);
  if (!whole) whole = add("Layout", {x}, {{"layout", layout}}, node);
  if (!whole) return std::nullopt;
  auto times = [&](const char* name) { return std::vector<Expr>{slice.list(name)[0] * *inner}; };
  return add("Slice", {*whole},
             {{"axes", std::vector<Expr>{to->dimension}},
              {"starts", times("starts")},
              {"ends", times("ends")},
              {"steps", steps}},
             node);
}

/// Pad(L(x)) = L(Pad(x)) along an axis that is the outermost of a dimension of x.
std::optional<Value> Simplifier::padOfLayout(int node, const Node& n, const Operands& operands) {
  if (!n.is(ops::kPad) || n.text("mode") != "constant" || !readOnce(n.operands[0], operands[0])) return std::nullopt;
  auto own = newLayout(operands[0]);
  if (!own) return std::nullopt;
  const std::vector<Expr>& pads = n.list("pads");
  const size_t rank = pads.size() / 2;
  auto isPadded = [&](size_t d) { return pads[d] != Expr(0) || pads[d + rank] != Expr(0); };
  size_t along = 0;
  while (along < rank && !isPadded(along))
    ++along;
  for (size_t d = along + 1; d < rank; ++d) {
    if (isPadded(d)) return std::nullopt;
  }
  auto to = along < rank ? outermost(*own, along) : std::nullopt;
  const auto inner = to ? to->inner.asConstant() : std::nullopt;
  if (!inner) return std::nullopt;
  const Value x = now().node(operands[0]).operands[0];
  const size_t dimensions = now().shape(x).size();
  std::vector<Expr> moved(2 * dimensions, Expr(0));
  moved[static_cast<size_t>(to->dimension)] = pads[along] * *inner;
  moved[static_cast<size_t>(to->dimension) + dimensions] = pads[along + rank] * *inner;
  auto padded = add("Pad", {x}, {{"pads", moved}, {"value", n.number("value")}}, node);
  if (!padded) return std::nullopt;
  own->axes[static_cast<size_t>(to->axis)].extent = n.shapes[0][along];
  return add("Layout", {*padded}, {{"layout", *own}}, node);
}

/// The Split along the same axis that takes this part, and nobody else; -1: there is none.
int Simplifier::splitBehind(const Node& split, Value part) const {
  auto it = readers_.find(part);
  if (it == readers_.end() || it->second.size() != 1 || it->second[0] < 0) return -1;
  const Node& reader = old().nodes()[static_cast<size_t>(it->second[0])];
  return reader.op == split.op && reader.scalar("axis") == split.scalar("axis") ? it->second[0] : -1;
}

/// A Split and those of its parts, as one.
bool Simplifier::enterSplit(int node) {
  const Node& n = old().nodes()[static_cast<size_t>(node)];
  if (!n.is(ops::kSplit) || from(node).origin >= 0) return false;
  std::vector<Expr> extents;
  std::vector<std::string> names;
  std::vector<Value> parts;
  bool nested = false;
  for (int o = 0; o < static_cast<int>(n.names.size()); ++o) {
    int behind = splitBehind(n, {node, o});
    nested = nested || behind >= 0;
    const Node& split = behind < 0 ? n : old().nodes()[static_cast<size_t>(behind)];
    for (int p = behind < 0 ? o : 0; p < (behind < 0 ? o + 1 : static_cast<int>(split.names.size())); ++p) {
      extents.push_back(split.list("split")[static_cast<size_t>(p)]);
      names.push_back(split.names[static_cast<size_t>(p)]);
      parts.push_back({behind < 0 ? node : behind, p});
    }
  }
  if (!nested) return false;
  auto v = builder_.add(*n.op, {moved_.at(n.operands[0])}, {{"axis", n.scalar("axis")}, {"split", extents}}, names,
                        from(node), view_.elements[static_cast<size_t>(node)]);
  assert(v && "the parts are as they were");
  for (size_t i = 0; i < parts.size(); ++i) {
    Value part{v->node, static_cast<int>(i)};
    if (auto name = view_.names.find(parts[i]); name != view_.names.end()) builder_.name(part, name->second);
    moved_[parts[i]] = part;
  }
  return changed_ = true;
}

const Simplifier::Step Simplifier::kSteps[] = {
    {&Simplifier::layoutOfLayout, false}, {&Simplifier::layoutBehind, false}, {&Simplifier::sameLayout, true},
    {&Simplifier::layoutOfSlice, true},   {&Simplifier::padOfLayout, true},   {&Simplifier::unchanged, true},
    {&Simplifier::smallerConcat, true},   {&Simplifier::sliceOfConcat, true}, {&Simplifier::concatOfSlices, true},
};

/// The simpler value takes the node's place. False where it cannot, for it is one that has to keep its own name, too.
bool Simplifier::enterSimpler(int node, Value simpler) {
  const Value value{node, 0};
  auto name = view_.names.find(value);
  bool nameIsFree = name == view_.names.end() || !builder_.named(simpler);
  if (nameIsFree || !required(value)) {
    if (name != view_.names.end() && nameIsFree) builder_.name(simpler, name->second);
    moved_[value] = simpler;
    return changed_ = true;
  }
  // Two names that must both stay: the value remains, as an Identity of the simpler one.
  if (old().node(value).is(ops::kIdentity)) return false;
  Value same = add("Identity", {simpler}, {}, node).value();
  builder_.name(same, name->second);
  moved_[value] = same;
  return changed_ = true;
}

void Simplifier::enter(int node) {
  const Node& n = old().nodes()[static_cast<size_t>(node)];
  if (moved_.contains({node, 0}) || enterSplit(node)) return;
  if (!n.is(ops::kInput) && n.shapes.size() == 1) {
    Operands operands;
    for (Value o : n.operands)
      operands.push_back(moved_.at(o));
    std::optional<Value> simpler;
    for (const Step& step : kSteps) {
      if (step.ofNewOnly && from(node).origin >= 0) continue;
      if ((simpler = (this->*step.apply)(node, n, operands))) break;
    }
    if (simpler && enterSimpler(node, *simpler)) return;
  }
  Value v = builder_.copy(view_, node, [&](Value o) { return moved_.at(o); });
  for (int o = 0; o < static_cast<int>(n.names.size()); ++o)
    moved_[Value{node, o}] = Value{v.node, o};
}

View Simplifier::run() {
  for (const Node& n : old().nodes()) {
    for (const std::string& name : n.names)
      builder_.reserve(name);
  }
  for (int i = 0; i < static_cast<int>(old().nodes().size()); ++i)
    enter(i);
  std::vector<Value> outputs;
  for (Value v : old().outputs())
    outputs.push_back(moved_.at(v));
  return pruned(std::move(builder_).finish(std::move(outputs)));
}

}  // namespace

View simplify(const View& view) {
  View result = view;
  // Every step makes the view smaller or moves a function towards its operands; the bound is for our own mistakes.
  for (int pass = 0; pass < 64; ++pass) {
    Simplifier simplifier(result);
    View next = simplifier.run();
    auto hoisted = hoist(next);
    if (!simplifier.changed() && !hoisted) return next;
    result = hoisted ? std::move(*hoisted) : std::move(next);
  }
  return result;
}

}  // namespace pet
