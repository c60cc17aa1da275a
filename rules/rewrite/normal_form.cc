#include "rules/rewrite/normal_form.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "ir/layout_algebra.h"
#include "ir/no_op.h"
#include "ir/ops/op.h"
#include "ir/pieces.h"
#include "rules/rewrite/counting.h"
#include "rules/rewrite/einsum.h"
#include "rules/rewrite/idioms.h"

namespace pet::rewrite {
namespace {

/// An operator that is about to be applied, with all of its attributes.
struct Application {
  NormalFormBuilder& builder;
  const OpRow& op;
  const std::vector<Value>& operands;
  Attributes attributes;
  std::vector<Shape> operandShapes;
  Shape result;

  OpView view() const { return {attributes, operandShapes, {}}; }
  Value add(OpName name, std::vector<Value> of, Attributes with = {}) const {
    return builder.node(*findOp(name.text), std::move(of), std::move(with));
  }
  Value addNormal(OpName name, std::vector<Value> of) const {
    return addNormalForm(builder, *findOp(name.text), std::move(of), {});
  }
  const Shape& shape(Value v) const { return builder.shape(v); }
};

/// Something of a normal form does not fit, as a shape that is too large.
struct DoesNotFit {};

using Step = std::optional<Value> (*)(const Application&);

// --- Regroupings ---

std::optional<Value> regrouping(const Application& a) {
  return regrouped(a.builder, a.operands[0], a.result);
}

std::optional<Value> layout(const Application& a) {
  const LayoutSpec* spec = std::get_if<LayoutSpec>(&a.attributes.at("layout"));
  return spec && movesNothing(*spec) ? regrouping(a) : std::nullopt;
}

// --- Tables ---

std::optional<Value> gather(const Application& a) {
  if (a.builder.isConstant(a.operands[0])) return std::nullopt;
  const std::vector<Expr>& indices = a.view().list("indices");
  const auto table = counting(indices, {static_cast<int64_t>(indices.size())});
  if (!table) return std::nullopt;
  const auto axis = static_cast<size_t>(a.view().scalar("axis").constant());
  return a.add(ops::kIndexMap, {a.operands[0]}, {{"map", gatherMap(a.operandShapes[0], axis, *table)}});
}

// --- Parts ---

/// A Slice of a Slice along other axes: one along all of them, in their order.
std::optional<Value> slice(const Application& a) {
  const Node first = a.builder.program().node(a.operands[0]);
  if (!first.is(ops::kSlice)) return std::nullopt;
  constexpr const char* kLists[] = {"starts", "ends", "steps"};
  std::map<int64_t, std::array<Expr, std::size(kLists)>> along;
  auto enter = [&](const auto& part) {
    const std::vector<Expr>& axes = part.list("axes");
    for (size_t i = 0; i < axes.size(); ++i) {
      auto [range, isNew] = along.emplace(axes[i].constant(), std::array<Expr, std::size(kLists)>{0, 0, 1});
      if (!isNew) return false;
      for (size_t k = 0; k < std::size(kLists); ++k) {
        const std::vector<Expr>& list = part.list(kLists[k]);
        if (!list.empty()) range->second[k] = list[i];
      }
    }
    return true;
  };
  if (!enter(first) || !enter(a.view())) return std::nullopt;
  std::vector<Expr> axes;
  std::array<std::vector<Expr>, std::size(kLists)> lists;
  for (const auto& [axis, range] : along) {
    axes.emplace_back(axis);
    for (size_t k = 0; k < std::size(kLists); ++k)
      lists[k].push_back(range[k]);
  }
  Attributes attributes{{"axes", std::move(axes)}};
  for (size_t k = 0; k < std::size(kLists); ++k)
    attributes.emplace(kLists[k], std::move(lists[k]));
  return a.add(ops::kSlice, {first.operands[0]}, std::move(attributes));
}

// --- Constants ---

/// A constant without the dimensions of extent 1 in front; nullopt where it has none.
std::optional<Value> withoutOnes(NormalFormBuilder& builder, Value c) {
  const Shape& shape = builder.shape(c);
  const auto first = std::find_if(shape.begin(), shape.end(), [](const Dim& d) { return d != Dim(1); });
  return first == shape.begin() ? std::nullopt : regrouped(builder, c, Shape(first, shape.end()));
}

/// A constant that an operator broadcasts, without an Expand or Tile that repeats it as the other operand's extents do,
/// and without dimensions of extent 1 in front that do not count; nullopt where it has neither.
std::optional<Value> narrower(const Application& a, size_t i) {
  const Value x = a.operands[1 - i], c = a.operands[i];
  if (a.builder.isConstant(x) || !a.builder.isConstant(c)) return std::nullopt;
  if (auto once = withoutRepeats(a.builder, a.op, a.attributes, a.operands, i, a.result)) return once;
  return a.shape(x).size() < a.shape(c).size() ? std::nullopt : withoutOnes(a.builder, c);
}

/// The operator of a value and a constant that is narrower.
std::optional<Value> ofFewerDimensions(const Application& a, OpName op) {
  for (size_t i = 0; i < 2; ++i) {
    if (auto fewer = narrower(a, i)) return a.addNormal(op, {a.operands[1 - i], *fewer});
  }
  return std::nullopt;
}

/// A value and a constant tensor, which an operator joins: x + c, or x·c.
struct Joined {
  Value of, constant;
};

/// What `v` is, if it is that, and nothing else reads it.
std::optional<Joined> joinedBy(NormalFormBuilder& builder, Value v, OpName op) {
  const Node& n = builder.program().node(v);
  for (size_t i = 0; n.is(op) && i < 2 && builder.isReadOnce(v); ++i) {
    const Value x = n.operands[i], c = n.operands[1 - i];
    if (!builder.isConstant(x) && builder.isConstant(c) && !builder.shape(c).empty()) return Joined{x, c};
  }
  return std::nullopt;
}

/// Of `op` of such a value and a constant of the extents that its own has: the value, its constant and the other one.
struct Chain {
  Value of, first, second;
};

std::optional<Chain> chainOf(const Application& a, OpName first) {
  for (size_t i = 0; i < 2; ++i) {
    const Value c = a.operands[1 - i];
    if (!a.builder.isConstant(c)) continue;
    auto joined = joinedBy(a.builder, a.operands[i], first);
    if (joined && a.shape(joined->constant) == a.shape(c)) return Chain{joined->of, joined->constant, c};
  }
  return std::nullopt;
}

// --- Broadcasting ---

/// The operator without the dimensions of extent 1 that a Layout puts in front of one operand, where the other operand
/// has as many dimensions: they broadcast alike.
std::optional<Value> ofNarrower(const Application& a) {
  for (size_t i = 0; i < 2; ++i) {
    const Node n = a.builder.program().node(a.operands[i]);
    if (!n.is(ops::kLayout) || a.operandShapes[1 - i].size() < a.operandShapes[i].size()) continue;
    Shape wider = a.builder.shape(n.operands[0]);
    if (wider.size() >= a.operandShapes[i].size()) continue;
    wider.insert(wider.begin(), a.operandShapes[i].size() - wider.size(), Dim(1));
    if (wider != a.operandShapes[i] || !movesNothing(n)) continue;
    if (a.operandShapes[0] == a.operandShapes[1] && !a.builder.isReadOnce(a.operands[i])) continue;
    std::vector<Value> operands = a.operands;
    operands[i] = n.operands[0];
    return addNormalForm(a.builder, a.op, std::move(operands), a.attributes);
  }
  return std::nullopt;
}

// --- Arithmetic ---

/// A constant of one element, without dimensions.
std::optional<Value> scalarOf(NormalFormBuilder& builder, Value c, size_t mostDimensions) {
  if (!builder.isConstant(c) || builder.shape(c).size() > mostDimensions) return std::nullopt;
  auto number = builder.number(c);
  if (number && !std::isfinite(number->value)) return std::nullopt;
  if (builder.shape(c).empty()) return c;
  return number ? std::optional(builder.scalar(number->value, c)) : std::nullopt;
}

/// A value that is no constant, times such a constant.
struct Multiple {
  Value of;
  std::optional<Value> by;  ///< nullopt: once
};

Multiple multipleOf(NormalFormBuilder& builder, Value v) {
  const Node n = builder.program().node(v);
  for (size_t i = 0; n.is(ops::kMul) && i < 2; ++i) {
    if (builder.isConstant(n.operands[i])) continue;
    if (auto by = scalarOf(builder, n.operands[1 - i], builder.shape(n.operands[i]).size())) return {n.operands[i], by};
  }
  return {v, std::nullopt};
}

/// Of two values that the model computes, as in attention: exporters scale either of them, both or their product.
bool isOfActivations(NormalFormBuilder& builder, const std::vector<Value>& operands) {
  return !builder.isConstant(operands[0]) && !builder.isConstant(operands[1]);
}

/// by·x·y as a matrix product.
Value scaledProduct(const Application& a, Value x, Value y, Value by) {
  const Multiple m = multipleOf(a.builder, x);
  if (m.by) {
    auto one = a.builder.number(*m.by), other = a.builder.number(by);
    by = one && other ? a.builder.scalar(one->value * other->value, by) : a.add(ops::kMul, {*m.by, by});
  }
  return a.add(ops::kMatMul, {a.add(ops::kMul, {m.of, by}), y});
}

std::optional<Value> matrixProduct(const Application& a) {
  if (!isOfActivations(a.builder, a.operands)) return std::nullopt;
  const Multiple y = multipleOf(a.builder, a.operands[1]);
  return y.by ? std::optional(scaledProduct(a, a.operands[0], y.of, *y.by)) : std::nullopt;
}

std::optional<Value> product(const Application& a) {
  if (a.operands[0] == a.operands[1]) return a.add(ops::kSquare, {a.operands[0]});
  if (auto y = ofFewerDimensions(a, ops::kMul)) return y;
  if (auto y = ofNarrower(a)) return y;
  if (auto c = chainOf(a, ops::kMul)) return a.add(ops::kMul, {c->of, a.add(ops::kMul, {c->first, c->second})});
  if (auto c = chainOf(a, ops::kAdd))
    return a.addNormal(ops::kAdd,
                       {a.addNormal(ops::kMul, {c->of, c->second}), a.add(ops::kMul, {c->first, c->second})});
  for (size_t i = 0; i < 2; ++i) {
    const Node n = a.builder.program().node(a.operands[i]);
    if (!n.is(ops::kMatMul) || !isOfActivations(a.builder, n.operands)) continue;
    if (auto by = scalarOf(a.builder, a.operands[1 - i], n.shapes[0].size()))
      return scaledProduct(a, n.operands[0], n.operands[1], *by);
  }
  return std::nullopt;
}

// alpha·A'·B' + beta·C
std::optional<Value> gemm(const Application& a) {
  auto transposed = [&](size_t i, std::string_view flag) {
    Value x = a.operands[i];
    if (a.view().scalar(flag) == Expr(0)) return x;
    return a.add(ops::kTranspose, {x}, {{"perm", std::vector<Expr>{Expr(1), Expr(0)}}});
  };
  auto scaled = [&](Value x, std::string_view by) {
    const double factor = a.view().number(by);
    return factor == 1 ? x : a.addNormal(ops::kMul, {x, a.builder.scalar(factor, x)});
  };
  Value y = scaled(a.addNormal(ops::kMatMul, {transposed(0, "transA"), transposed(1, "transB")}), "alpha");
  return a.operands.size() < 3 ? y : a.add(ops::kAdd, {y, scaled(a.operands[2], "beta")});
}

/// Of a value and a constant, the operator `by` with `inverse` of the constant.
std::optional<Value> withInverse(const Application& a, OpName op, OpName by, OpName inverse) {
  const Value x = a.operands[0], c = a.operands[1];
  if (a.builder.isConstant(x) || !a.builder.isConstant(c)) return std::nullopt;
  if (auto fewer = narrower(a, 1)) return a.addNormal(op, {x, *fewer});
  return a.addNormal(by, {x, a.add(inverse, {c})});
}

std::optional<Value> quotient(const Application& a) {
  auto numerator = a.builder.number(a.operands[0]);
  if (numerator && numerator->value == 1 && a.result == a.operandShapes[1])
    return a.add(ops::kReciprocal, {a.operands[1]});
  if (auto y = ofNarrower(a)) return y;
  return withInverse(a, ops::kDiv, ops::kMul, ops::kReciprocal);
}

// (x + c - m)·f + b, with one value of c for each channel: the mean is m - c.
std::optional<Value> batchNormalization(const Application& a) {
  const auto sum = joinedBy(a.builder, a.operands[0], ops::kAdd);
  if (!sum || !a.builder.isConstant(a.operands[3])) return std::nullopt;
  Shape perChannel(a.result.size() - 1, Dim(1));
  perChannel[0] = a.result[1];
  const Shape& x = a.shape(sum->of);
  if (x != a.result || a.shape(sum->constant) != perChannel) return std::nullopt;
  auto shift = regrouped(a.builder, sum->constant, {a.result[1]});
  if (!shift) return std::nullopt;
  std::vector<Value> operands = a.operands;
  operands[0] = sum->of;
  operands[3] = a.add(ops::kSub, {operands[3], *shift});
  return a.builder.node(a.op, std::move(operands), a.attributes);
}

/// Constants as one; a LayerNormalization without a bias, and a bias.
std::optional<Value> sum(const Application& a) {
  if (auto y = ofFewerDimensions(a, ops::kAdd)) return y;
  if (auto y = ofNarrower(a)) return y;
  if (auto c = chainOf(a, ops::kAdd)) return a.add(ops::kAdd, {c->of, a.add(ops::kAdd, {c->first, c->second})});
  for (size_t i = 0; i < 2; ++i) {
    const Value bias = a.operands[1 - i];
    const Node n = a.builder.program().node(a.operands[i]);
    if (!n.is(ops::kLayerNormalization) || n.operands.size() != 2 || !a.builder.isConstant(bias)) continue;
    if (a.builder.shape(bias) == a.builder.shape(n.operands[1]))
      return a.builder.node(*n.op, {n.operands[0], n.operands[1], bias}, n.attributes);
  }
  return std::nullopt;
}

/// With other operators where exporters write these as well.
std::optional<Value> power(const Application& a) {
  const Value x = a.operands[0];
  const double exponent = a.view().number("exponent");
  if (exponent == 1) return x;
  if (exponent == 2) return a.add(ops::kSquare, {x});
  if (exponent == 3) return a.addNormal(ops::kMul, {a.add(ops::kSquare, {x}), x});
  if (exponent == 0.5) return a.add(ops::kSqrt, {x});
  if (exponent == -1) return a.add(ops::kReciprocal, {x});
  return std::nullopt;
}

std::optional<Value> exponential(const Application& a) {
  return a.add(ops::kExp, {a.addNormal(ops::kMul, {a.operands[0], a.add(ops::kLog, {a.operands[1]})})});
}

std::optional<Value> einsum(const Application& a) {
  return einsumInProducts(a.builder, a.view().text("equation"), a.operands);
}

std::optional<Value> difference(const Application& a) {
  if (auto y = ofNarrower(a)) return y;
  return withInverse(a, ops::kSub, ops::kAdd, ops::kNeg);
}

std::optional<Value> clip(const Application& a) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  const double least = a.view().number("min"), most = a.view().number("max");
  return least == 0 && most == kNone ? std::optional(a.add(ops::kRelu, {a.operands[0]})) : std::nullopt;
}

/// A slope without the dimensions of extent 1 in front.
std::optional<Value> prelu(const Application& a) {
  auto fewer = withoutOnes(a.builder, a.operands[1]);
  return fewer ? std::optional(a.add(ops::kPRelu, {a.operands[0], *fewer})) : std::nullopt;
}

std::optional<Value> where(const Application& a) {
  auto isConstant = [&](size_t i) { return a.builder.isConstant(a.operands[i]); };
  const Node& condition = a.builder.program().node(a.operands[0]);
  if (condition.is(ops::kNot) && !isConstant(0))
    return a.add(ops::kWhere, {condition.operands[0], a.operands[2], a.operands[1]});
  if (!isConstant(0) || !isConstant(1) || isConstant(2)) return std::nullopt;
  return a.add(ops::kWhere, {a.add(ops::kNot, {a.operands[0]}), a.operands[2], a.operands[1]});
}

// --- Windows ---

/// The distance between taps that are further apart than an operand is long, of at most as many positions.
constexpr int64_t kBeyond = 1024;

/// Over three axes, where the kernel covers the operand along the first of them, without pads: over the other two, that
/// axis in the channels.
std::optional<Value> overFewerAxes(const Application& a) {
  constexpr size_t kAxes = 3;
  const Shape &x = a.operandShapes[0], &w = a.operandShapes[1];
  const std::vector<Expr>& pads = a.view().list("pads");
  if (x.size() != kAxes + 2 || x[2] != w[2] || pads[0] != Expr(0) || pads[kAxes] != Expr(0) ||
      a.view().list("dilations")[0] != Expr(1) || a.result[2] != Dim(1))
    return std::nullopt;
  auto merged = [&](size_t operand) {
    const Shape& from = a.operandShapes[operand];
    return regrouped(a.builder, a.operands[operand], {from[0], Dim::product({from[1], from[2]}), from[3], from[4]});
  };
  auto image = merged(0), kernel = merged(1);
  if (!image || !kernel) return std::nullopt;
  Attributes attributes = a.attributes;
  for (auto& [name, value] : attributes) {
    auto* list = std::get_if<std::vector<Expr>>(&value);
    if (!list || list->empty()) continue;
    if (name == "pads") list->erase(list->begin() + kAxes);
    list->erase(list->begin());
  }
  const Value y = addNormalForm(a.builder, a.op, {*image, *kernel}, std::move(attributes));
  return regrouped(a.builder, y, a.result);
}

/// With a stride of 1 along an axis along which the kernel covers the padded operand.
bool hasOneStep(const Dim& extent, const Dim& taps, int64_t dilation, const Expr& begin, const Expr& end) {
  if (!extent.isAffine() || !taps.isAffine()) return false;
  return extent.affine() + begin + end == (taps.affine() - 1) * dilation + 1;
}

/// Whether taps are further apart than the operand is long, and whole distances are in front of it and behind it: one
/// tap sees all of it, and the others see padding, whatever the distance is.
bool areBeyond(const Dim& extent, const Dim& taps, int64_t dilation, const Expr& begin, const Expr& end) {
  const auto length = extent.asConstant(), count = taps.asConstant(), front = begin.asConstant(),
             back = end.asConstant();
  return length && count && front && back && *count > 1 && *length >= 1 && dilation >= *length && *length <= kBeyond &&
       *front % dilation == 0 && *back % dilation == 0 && *front + *back == checkedMul(*count - 1, dilation);
}

/// Along each axis with the least stride, and the one distance between taps, that say the same.
std::optional<Value> convolution(const Application& a) {
  const OpView view = a.view();
  if (view.text("auto_pad") != "NOTSET") return std::nullopt;
  if (auto y = overFewerAxes(a)) return y;
  std::vector<Expr> strides = view.list("strides"), dilations = view.list("dilations"), pads = view.list("pads");
  const size_t axes = strides.size();
  bool isOther = false;
  for (size_t d = 0; d < axes; ++d) {
    const Dim &extent = a.operandShapes[0][d + 2], &taps = a.operandShapes[1][d + 2];
    const int64_t dilation = *dilations[d].asConstant();
    Expr &begin = pads[d], &end = pads[axes + d];
    if (hasOneStep(extent, taps, dilation, begin, end) && strides[d] != Expr(1)) {
      strides[d] = Expr(1);
      isOther = true;
    }
    if (dilation != kBeyond && areBeyond(extent, taps, dilation, begin, end)) {
      begin = Expr(checkedMul(begin.constant() / dilation, kBeyond));
      end = Expr(checkedMul(end.constant() / dilation, kBeyond));
      dilations[d] = Expr(kBeyond);
      isOther = true;
    }
  }
  if (!isOther) return std::nullopt;
  Attributes attributes = a.attributes;
  attributes.insert_or_assign("strides", std::move(strides));
  attributes.insert_or_assign("dilations", std::move(dilations));
  attributes.insert_or_assign("pads", std::move(pads));
  return a.builder.node(a.op, a.operands, std::move(attributes));
}

// --- Reductions ---

/// Keeping the dimensions, and a Layout that drops them.
std::optional<Value> reduction(const Application& a) {
  if (a.view().scalar("keepdims") != Expr(0)) return std::nullopt;
  Attributes attributes = a.attributes;
  attributes.insert_or_assign("keepdims", Expr(1));
  return regrouped(a.builder, a.builder.node(a.op, a.operands, std::move(attributes)), a.result);
}

std::optional<Value> globalPool(const Application& a, OpName pool) {
  const Shape& x = a.operandShapes[0];
  const std::vector<Expr>& axes = a.view().list("axes");
  if (x.size() < 3 || axes.size() != x.size() - 2) return std::nullopt;
  for (size_t d = 2; d < x.size(); ++d) {
    if (std::find(axes.begin(), axes.end(), Expr(static_cast<int64_t>(d))) == axes.end()) return std::nullopt;
  }
  Value y = a.add(pool, {a.operands[0]});
  return a.result.size() == x.size() ? y : regrouped(a.builder, y, a.result);
}

std::optional<Value> mean(const Application& a) {
  auto pool = globalPool(a, ops::kGlobalAveragePool);
  return pool ? pool : reduction(a);
}

std::optional<Value> maximum(const Application& a) {
  auto pool = globalPool(a, ops::kGlobalMaxPool);
  return pool ? pool : reduction(a);
}

/// The pads of a node, if it does nothing but put zeros around spatial dimensions, on each side fewer than a pool's
/// kernel has taps.
std::optional<std::vector<Expr>> zerosAround(const Node& pad, const OpView& pool) {
  if (!pad.is(ops::kPad) || pad.text("mode") != "constant" || pad.number("value") != 0) return std::nullopt;
  const std::vector<Expr>&all = pad.list("pads"), &kernel = pool.list("kernel_shape");
  const size_t rank = all.size() / 2, spatial = kernel.size();
  std::vector<Expr> pads(2 * spatial, 0);
  for (size_t i = 0; i < all.size(); ++i) {
    const size_t d = i % rank, side = i / rank;
    if (d < 2 && all[i] != Expr(0)) return std::nullopt;
    if (d < 2) continue;
    const auto zeros = all[i].asConstant(), taps = kernel[d - 2].asConstant();
    if (!zeros || !taps || *zeros < 0 || *zeros >= *taps) return std::nullopt;
    pads[side * spatial + d - 2] = all[i];
  }
  return pads;
}

/// Where there are no pads, whether they count says nothing: patterns with pads of any size, which count them, hold as
/// well. Zeros around the operand are such pads.
std::optional<Value> averagePool(const Application& a) {
  const OpView view = a.view();
  const std::vector<Expr>& pads = view.list("pads");
  const bool isPadded = std::any_of(pads.begin(), pads.end(), [](const Expr& p) { return p != Expr(0); });
  if (isPadded || view.scalar("ceil_mode") != Expr(0) || view.text("auto_pad") != "NOTSET") return std::nullopt;
  const Node operand = a.builder.program().node(a.operands[0]);
  auto zeros = zerosAround(operand, view);
  if (!zeros && view.scalar("count_include_pad") == Expr(1)) return std::nullopt;
  Attributes attributes = a.attributes;
  attributes.insert_or_assign("count_include_pad", Expr(1));
  if (zeros) attributes.insert_or_assign("pads", std::move(*zeros));
  return a.builder.node(a.op, {zeros ? operand.operands[0] : a.operands[0]}, std::move(attributes));
}

struct Entry {
  OpName op;
  Step step;
};

constexpr Entry kSteps[] = {
    {ops::kAdd, sum},
    {ops::kArgMax, reduction},
    {ops::kAveragePool, averagePool},
    {ops::kBatchNormalization, batchNormalization},
    {ops::kClip, clip},
    {ops::kConv, convolution},
    {ops::kDiv, quotient},
    {ops::kEinsum, einsum},
    {ops::kExponential, exponential},
    {ops::kFlatten, regrouping},
    {ops::kGather, gather},
    {ops::kGemm, gemm},
    {ops::kLayout, layout},
    {ops::kMatMul, matrixProduct},
    {ops::kMul, product},
    {ops::kPRelu, prelu},
    {ops::kPow, power},
    {ops::kReduceL2, reduction},
    {ops::kReduceMax, maximum},
    {ops::kReduceMean, mean},
    {ops::kReduceSum, reduction},
    {ops::kReshape, regrouping},
    {ops::kSlice, slice},
    {ops::kSqueeze, regrouping},
    {ops::kSub, difference},
    {ops::kUnsqueeze, regrouping},
    {ops::kWhere, where},
};

/// Rebuilds a program.
class ProgramNormaliser final : public NormalFormBuilder {
 public:
  ProgramNormaliser(const Program& program, Idioms idioms) : program_(program), idioms_(idioms) {
    for (const Node& n : program.nodes()) {
      for (Value v : n.operands)
        ++readers_[v];
    }
    for (Value v : program.outputs())
      ++readers_[v];
  }
  Program run();

  Value node(const OpRow& op, std::vector<Value> operands, Attributes attributes) override {
    auto added = builder_.add(op, std::move(operands), std::move(attributes));
    if (!added) throw DoesNotFit{};
    return *added;
  }
  Value scalar(double value, Value) override { return node(*findOp("Constant"), {}, {{"value", value}}); }
  const Program& program() const override { return builder_.peek(); }
  bool isConstant(Value value) const override { return pet::isConstant(builder_.peek(), value); }
  bool isReadOnce(Value value) const override {
    auto it = moved_.find(value);
    return it == moved_.end() || it->second == 1;
  }
  std::optional<Number> number(Value value) const override {
    const Node& n = builder_.peek().node(value);
    if (!n.shapes[0].empty()) return std::nullopt;
    if (n.is(ops::kConstant)) return Number{n.number("value"), std::numeric_limits<double>::epsilon() / 2};
    if (!n.is(ops::kReciprocal)) return std::nullopt;
    auto of = number(n.operands[0]);
    return of ? std::optional(Number{1 / of->value, 2 * of->roundoff}) : std::nullopt;
  }

 private:
  const Program& program_;
  Idioms idioms_;
  ProgramBuilder builder_;
  std::map<Value, int> readers_;  ///< of the program's values
  std::map<Value, int> moved_;    ///< and of those that stand for them
};

Program ProgramNormaliser::run() {
  std::map<Value, Value> moved;
  for (int i = 0; i < static_cast<int>(program_.nodes().size()); ++i) {
    const Node& n = program_.nodes()[static_cast<size_t>(i)];
    std::vector<Value> operands;
    for (Value v : n.operands)
      operands.push_back(moved.at(v));
    if (n.is(ops::kInput)) {
      moved[{i, 0}] = builder_.input(n.names[0], n.shapes[0], n.scalar("constant") == Expr(1));
      continue;
    }
    Value normal = addNormalForm(*this, *n.op, std::move(operands), n.attributes);
    if (idioms_ == Idioms::kRecognised) normal = recognised(*this, normal).value_or(normal);
    for (int o = 0; o < static_cast<int>(n.names.size()); ++o) {
      const Value is{normal.node, normal.output + o};
      moved[{i, o}] = is;
      moved_[is] += readers_[{i, o}];
    }
  }
  std::vector<Value> outputs;
  for (Value v : program_.outputs())
    outputs.push_back(moved.at(v));
  return std::move(builder_).finish(std::move(outputs)).withoutDeadNodes();
}

}  // namespace

std::optional<Value> withoutRepeats(const NormalFormBuilder& builder,
                                    const OpRow& op,
                                    const Attributes& attributes,
                                    const std::vector<Value>& operands,
                                    size_t operand,
                                    const Shape& result) {
  const Node& repeated = builder.program().node(operands[operand]);
  if (!repeats(repeated)) return std::nullopt;
  std::vector<Shape> extents;
  for (size_t i = 0; i < operands.size(); ++i)
    extents.push_back(builder.shape(i == operand ? repeated.operands[0] : operands[i]));
  auto shapes = op.infer({attributes, extents, {}});
  return shapes && (*shapes)[0] == result ? std::optional(repeated.operands[0]) : std::nullopt;
}

std::optional<Value> regrouped(NormalFormBuilder& builder, Value x, const Shape& to) {
  if (builder.shape(x) == to) return x;
  auto layout = regroup(builder.shape(x), to);
  if (!layout) return std::nullopt;
  return builder.node(*findOp(ops::kLayout.text), {x}, {{"layout", *layout}});
}

namespace {

/// The first result; nullopt: it is in normal form as it stands, or does not fit.
std::optional<Value> inOtherForm(NormalFormBuilder& builder,
                                 const OpRow& op,
                                 const std::vector<Value>& operands,
                                 Attributes attributes) {
  auto entry = std::find_if(std::begin(kSteps), std::end(kSteps), [&](const Entry& e) { return op.is(e.op); });
  const auto count = static_cast<int>(operands.size());
  if ((entry == std::end(kSteps) && !mayBeNoOp(op.name)) || count < std::max(1, op.minOperands) ||
      (op.maxOperands >= 0 && count > op.maxOperands))
    return std::nullopt;
  Application a{builder, op, operands, std::move(attributes), {}, {}};
  for (Value v : operands)
    a.operandShapes.push_back(builder.shape(v));
  if (!completeAttributes(op, a.operandShapes[0].size(), a.attributes)) return std::nullopt;
  auto shapes = op.infer(a.view());
  if (!shapes) return std::nullopt;
  if (isNoOp(op, {a.attributes, a.operandShapes, *shapes})) return operands[0];
  if (entry == std::end(kSteps)) return std::nullopt;
  a.result = std::move((*shapes)[0]);
  return entry->step(a);
}

}  // namespace

Value addNormalForm(NormalFormBuilder& builder, const OpRow& op, std::vector<Value> operands, Attributes attributes) {
  auto other = inOtherForm(builder, op, operands, attributes);
  return other ? *other : builder.node(op, std::move(operands), std::move(attributes));
}

bool isReadAway(std::string_view op) {
  constexpr OpName kReadAway[] = {ops::kEinsum, ops::kExponential, ops::kPow};
  return std::any_of(std::begin(kReadAway), std::end(kReadAway), [&](OpName name) { return op == name.text; });
}

bool mayEndOtherwise(std::string_view op) {
  if (isReadAway(op)) return false;  // where such a pattern matches, the model has it
  return std::any_of(std::begin(kSteps), std::end(kSteps), [&](const Entry& e) { return e.op.text == op; }) ||
         mayBeNoOp(op) || isLastOfIdiom(op);
}

Program inNormalForm(const Program& program, Idioms idioms) {
  try {
    return ProgramNormaliser(program, idioms).run();
  } catch (const DoesNotFit&) {
    return program;
  }
}

}  // namespace pet::rewrite
