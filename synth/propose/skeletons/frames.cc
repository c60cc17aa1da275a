#include <algorithm>

#include <fmt/format.h>

#include "ir/ops/op.h"
#include "synth/propose/skeletons/arrange.h"

namespace pet {
namespace {

using Values = std::vector<Value>;

/// The depth axis of a Conv over N C D H W whose kernel has few frames, at constant distances.
struct Depth {
  std::string input;
  Shape x, y;
  int64_t taps, stride, dilation, begin, end;

  /// The output's frames for which tap k reads a frame of the input: lower, lower + 1, … < upper.
  Expr lower(int64_t k) const { return std::max<int64_t>(0, -floorDivide(k * dilation - begin, stride)); }
  Expr upper(int64_t k) const {
    int64_t behind = std::max(k * dilation, (taps - 1) * dilation - end);  // no more frames than the output has
    return floorDiv(x[2].affine() - 1 + begin - behind, stride) + 1;
  }
  Expr count(int64_t k) const { return upper(k) - lower(k); }
  /// The tap sees nothing but padding, however large the frames.
  bool isIdle(int64_t k) const {
    auto n = count(k).asConstant();
    return n && *n <= 0;
  }
};

constexpr int64_t kMostTaps = 7;

std::optional<Depth> depthOf(const PatternFacts& facts) {
  const Node& n = facts.root();
  if (!facts.single || linearName(n).empty() || n.shapes[0].size() != 5 || linearName(n).starts_with("convtranspose"))
    return std::nullopt;
  Value x = n.operands[0], w = n.operands[1];
  auto taps = facts.program.shape(w)[2].asConstant();
  auto begin = n.list("pads")[0].asConstant(), end = n.list("pads")[3].asConstant();
  if (!taps || *taps > kMostTaps || !begin || !end || !facts.program.shape(x)[2].isAffine()) return std::nullopt;
  return Depth{facts.program.name(x),
               facts.program.shape(x),
               n.shapes[0],
               *taps,
               *n.list("strides")[0].asConstant(),
               *n.list("dilations")[0].asConstant(),
               *begin,
               *end};
}

/// The frames that tap k reads, in the batch; `first` is the first one's number.
Expected<Value> framesInBatch(ProgramBuilder& b, Value x, const Depth& d, const Expr& first, const Expr& count) {
  if (first != Expr(0) || count != b.shape(x)[2].affine() || d.stride != 1) {
    auto some = b.add("Slice", {x},
                      {{"axes", std::vector<Expr>{2}},
                       {"starts", std::vector<Expr>{first}},
                       {"ends", std::vector<Expr>{first + (count - 1) * d.stride + 1}},
                       {"steps", std::vector<Expr>{d.stride}}});
    if (!some) return some;
    x = *some;
  }
  return layout(b, x, "n c d h w -> (n d) c h w");
}

Expected<Value> outOfBatch(ProgramBuilder& b, Value y, const Depth& d, const Expr& count) {
  return layout(b, y, "(n d) f h w -> n f d h w", {{"n", d.x[0]}, {"d", Dim(count)}});
}

Shape inBatch(const Shape& s, const Expr& frames, const Dim& channels) {
  return {Dim::product({s[0], Dim(frames)}), channels, s[3], s[4]};
}

/// One kernel for each tap, on the frames that are there.
Arrangement sumOfTaps(const Depth& d) {
  Arrangement a{fmt::format("frames({})", d.input), {}, {"sum", {}, {}}, "frames"};
  std::vector<int64_t> taps;
  for (int64_t k = 0; k < d.taps; ++k) {
    if (d.isIdle(k)) continue;
    taps.push_back(k);
    Expr first = d.lower(k) * d.stride + (k * d.dilation - d.begin);
    auto make = [d, k, first](ProgramBuilder& b) {
      return framesInBatch(b, *b.peek().find(d.input), d, first, d.count(k));
    };
    a.operands.push_back({d.input, inBatch(d.x, d.count(k), d.x[1]), make});
    a.behind.wanted.push_back(inBatch(d.y, d.count(k), d.y[1]));
  }
  a.behind.make = [d, taps](ProgramBuilder& b, const Values& v) -> Expected<Values> {
    std::optional<Value> total;
    for (size_t i = 0; i < taps.size(); ++i) {
      int64_t k = taps[i];
      auto y = outOfBatch(b, v[i], d, d.count(k));
      Expr before = d.lower(k), after = d.y[2].affine() - d.upper(k);
      if (y && (before != Expr(0) || after != Expr(0)))
        y = b.add("Pad", {*y}, {{"pads", std::vector<Expr>{0, 0, before, 0, 0, 0, 0, after, 0, 0}}});
      if (y && total) y = b.add("Add", {*total, *y});
      if (!y) return tl::unexpected(y.error());
      total = *y;
    }
    return Values{*total};
  };
  return a;
}

/// One kernel for all taps, on frames with their neighbours as channels.
Arrangement stacked(const Depth& d) {
  Expr frames = d.y[2].affine();
  auto make = [d, frames](ProgramBuilder& b) -> Expected<Value> {
    Value x = *b.peek().find(d.input);
    if (d.begin != 0 || d.end != 0) {
      auto padded = b.add("Pad", {x}, {{"pads", std::vector<Expr>{0, 0, d.begin, 0, 0, 0, 0, d.end, 0, 0}}});
      if (!padded) return padded;
      x = *padded;
    }
    Values parts;
    for (int64_t k = 0; k < d.taps; ++k) {
      auto part = framesInBatch(b, x, d, k * d.dilation, frames);
      if (!part) return part;
      parts.push_back(*part);
    }
    return b.add("Concat", std::move(parts), {{"axis", Expr(1)}});
  };
  Operand operand{fmt::format("stacked({})", d.input), inBatch(d.x, frames, Dim::product({Dim(d.taps), d.x[1]})), make};
  auto back = [d, frames](ProgramBuilder& b, const Values& v) { return only(outOfBatch(b, v[0], d, frames)); };
  return {"", {std::move(operand)}, {"frames", {inBatch(d.y, frames, d.y[1])}, back}, "frames"};
}

/// One input of rows, and a Conv on it: alone, or with what crops its result.
bool convolvesRows(const PatternFacts& facts) {
  if (facts.activations.size() != 1 || facts.program.outputs().size() != 1 || facts.output().size() != 3) return false;
  const Value x = facts.activations[0];
  const std::vector<Node>& nodes = facts.program.nodes();
  return facts.program.shape(x).size() == 3 && std::any_of(nodes.begin(), nodes.end(), [&](const Node& n) {
           return (n.is(ops::kConv) || n.is(ops::kConvTranspose)) && n.operands[0] == x;
         });
}

}  // namespace

std::vector<Arrangement> framesOf(const PatternFacts& facts) {
  auto depth = depthOf(facts);
  if (!depth) return {};
  Arrangement sum = sumOfTaps(*depth);
  if (static_cast<int64_t>(sum.operands.size()) < depth->taps) return {std::move(sum)};  // no stack of padding
  return {std::move(sum), stacked(*depth)};
}

std::vector<Arrangement> imagesOfRows(const PatternFacts& facts) {
  if (!convolvesRows(facts)) return {};
  const Shape &x = facts.program.shape(facts.activations[0]), &y = facts.output();
  std::string name = facts.program.name(facts.activations[0]);
  auto make = [name](ProgramBuilder& b) { return layout(b, *b.peek().find(name), "n c w -> n c 1 w"); };
  auto back = [](ProgramBuilder& b, const Values& v) { return only(layout(b, v[0], "n f 1 w -> n f w")); };
  Operand image{name, {x[0], x[1], Dim(1), x[2]}, make};
  return {{"", {std::move(image)}, {"row", {{y[0], y[1], Dim(1), y[2]}}, back}, "row-as-image"}};
}

}  // namespace pet
