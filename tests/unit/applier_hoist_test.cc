// Functions in front of layouts: what moves, and that each such law is proved.
//
// kPassages lists every layout operator, Resize, and MatMul by a Resize of an identity matrix, with what may move from
// behind it to in front of it, and the case in tests/prove/ that proves this for all extents. A function or an addition
// that moves and is not listed fails here, and so does a new layout operator in ir/ops without a line, or a function
// that the prover does not let through.

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "applier/clean/hoist.h"
#include "applier/clean/simplify.h"
#include "ir/ops/op.h"
#include "synth/judge/decide.h"
#include "tests/unit/applier_support.h"
#include "tests/unit/prove_cases.h"
#include "tests/unit/random_programs.h"
#include "tests/unit/text_file.h"

namespace pet::applier_hoist_test {
namespace {

using namespace testing_support;

/// Which functions of one operand move.
enum class Functions { kNone, kThatKeepZero, kDefinedEverywhere, kAll };

struct Passage {
  std::string layout;  ///< "a", of u [2, 4, 4, 6], and for Concat of v, too; on one line, as parsed() reads it
  Functions functions = Functions::kNone;
  std::string proof = {};   ///< a case in tests/prove: the law for one function
  std::string proved = {};  ///< that function
  /// Which additions move: the dimension of `a` along which the constant varies (-1: a number), and the case.
  std::map<int, std::string> additions = {};
};

const Passage kPassages[] = {
    {"a = Layout(u) n (2 c) h w -> (2 n) c h w",
     Functions::kAll,
     "exp-of-a-layout",
     "Exp",
     {{-1, "number-added-to-a-layout"}, {1, "bias-of-a-layout"}, {2, "bias-of-a-layout"}, {3, "bias-of-a-layout"}}},
    {"a = Layout(u) n (2 c:2) h (w 3) -> n (c 2) (h w) 3",
     Functions::kAll,
     "exp-of-a-layout",
     "Exp",
     {{-1, "number-added-to-a-layout"},
      {0, "bias-of-a-layout"},
      {1, "bias-of-a-layout-of-digits"},
      {3, "bias-of-a-layout"}}},
    {"a = Concat(u, v) axis=1",
     Functions::kAll,
     "sigmoid-through-concat",
     "Sigmoid",
     {{-1, "number-added-to-a-concat"},
      {0, "bias-of-a-concat"},
      {1, "bias-along-a-concat"},
      {2, "bias-of-a-concat"},
      {3, "bias-of-a-concat"}}},
    {"a = Slice(u) axes=[3, 1] starts=[1, 0] ends=[6, 4] steps=[1, 2]",
     Functions::kAll,
     "exp-of-a-slice",
     "Exp",
     {{-1, "number-added-to-a-slice"}, {0, "bias-of-a-slice"}, {2, "bias-of-a-slice"}}},
    {"a = Pad(u) pads=[0, 0, 1, 1, 0, 1, 1, 0]", Functions::kThatKeepZero, "tanh-of-a-zero-pad", "Tanh"},
    {"a = Pad(u) pads=[0, 0, 1, 1, 0, 1, 1, 0] value=1"},
    {"a = Pad(u) pads=[0, 0, 1, 1, 0, 1, 1, 0] value=-inf"},
    {"a = Pad(u) pads=[0, 0, 1, 1, 0, 1, 1, 0] mode=edge", Functions::kAll, "exp-through-an-edge-pad", "Exp"},
    {"a = Pad(u) pads=[0, 0, 1, 1, 0, 1, 1, 0] mode=reflect", Functions::kAll, "exp-of-a-reflected-pad", "Exp"},
    {"a = IndexMap(u) [n:2, c:4, w:6, k:3] -> [n, c, 2, w + k - 1]", Functions::kThatKeepZero, "tanh-of-an-index-map",
     "Tanh"},
    {"a = CyclicMap(u) [n:2, c:4, w:6, k:3] -> [n, c, 2, w + k - 1]", Functions::kThatKeepZero, "tanh-of-a-cyclic-map",
     "Tanh"},
    {"a = Transpose(u) perm=[2, 0, 3, 1]", Functions::kAll, "relu-through-transpose", "Relu"},
    {"a = Reshape(u) shape=[2, 2, 2, 24]", Functions::kAll, "exp-of-a-reshape", "Exp"},
    {"a = Flatten(u)", Functions::kAll, "exp-of-a-flattened-matrix", "Exp"},
    {"t = Unsqueeze(u) axes=[1]  a = Unsqueeze(t) axes=[0]", Functions::kAll, "exp-of-an-unsqueezed-row", "Exp"},
    {"t = Unsqueeze(u) axes=[1]  a = Squeeze(t) axes=[1]", Functions::kAll, "exp-of-a-squeezed-row", "Exp"},
    {"a = SpaceToDepth(u) blocksize=2", Functions::kAll, "exp-through-space-to-depth", "Exp"},
    {"a = DepthToSpace(u) blocksize=2 mode=CRD",
     Functions::kAll,
     "gelu-through-depth-to-space",
     "Gelu",
     {{-1, "number-added-to-blocks"}, {0, "bias-of-blocks-crd"}, {1, "bias-of-blocks-crd"}}},
    {"a = DepthToSpace(u) blocksize=2",
     Functions::kAll,
     "gelu-through-depth-to-space",
     "Gelu",
     {{-1, "number-added-to-blocks"}, {0, "bias-of-blocks"}, {1, "bias-of-blocks"}}},
    {"a = Expand(u) shape=[3, 2, 4, 4, 6]", Functions::kAll, "exp-of-a-broadcast", "Exp"},
    {"a = Tile(u) repeats=[1, 1, 2, 3]", Functions::kAll, "exp-of-tiles", "Exp"},
    {"a = Gather(u) axis=1 indices=[3, 0, 0]", Functions::kAll, "exp-of-gathered-rows", "Exp"},
    {"w = Conv(z, k)  s = Slice(w) axes=[0] starts=[0] ends=[1]  a = ScatterND(u, s) start=1", Functions::kAll,
     "exp-of-replaced-rows", "Exp"},
    {"a = Resize(u) sizes=[2, 4, 8, 6] coordinate_transformation_mode=asymmetric nearest_mode=floor",
     Functions::kAll,
     "exp-of-a-nearest-resize",
     "Exp",
     {{-1, "number-added-to-a-nearest-resize"},
      {0, "bias-of-a-nearest-resize"},
      {1, "bias-of-a-nearest-resize"},
      {3, "bias-of-a-nearest-resize"}}},
    {"a = Resize(u) sizes=[2, 4, 9, 11] mode=linear",
     Functions::kNone,
     {},
     {},
     {{-1, "number-added-to-an-interpolation"}, {0, "bias-of-an-interpolation"}, {1, "bias-of-an-interpolation"}}},
    {"a = Resize(u) sizes=[2, 4, 8, 12] mode=cubic",
     Functions::kNone,
     {},
     {},
     {{-1, "number-added-to-an-interpolation-of-four"},
      {0, "bias-of-an-interpolation-of-four"},
      {1, "bias-of-an-interpolation-of-four"}}},
    {"a = Resize(u) sizes=[2, 4, 2, 6] nearest_mode=floor"},  // in front of it there is more to compute
    {"e = Eye() extent=6  m = Resize(e) sizes=[6, 9] mode=linear  a = MatMul(u, m)",
     Functions::kNone,
     {},
     {},
     {{-1, "number-added-to-a-product-that-interpolates"},
      {0, "bias-of-a-product-that-interpolates"},
      {1, "bias-of-a-product-that-interpolates"},
      {2, "bias-of-a-product-that-interpolates"}}},
    {"e = Eye() extent=4  r = Resize(e) sizes=[4, 8] mode=cubic  m = Transpose(r) perm=[1, 0]  a = MatMul(m, u)",
     Functions::kNone,
     {},
     {},
     {{-1, "number-added-to-a-product-that-interpolates"},
      {0, "bias-of-a-product-that-interpolates-by-four"},
      {1, "bias-of-a-product-that-interpolates-by-four"},
      {3, "bias-of-a-product-that-interpolates-by-four"}}},
    {"e = Eye() extent=4  m = Resize(e) scales=[2, 1, 1, 1] coordinate_transformation_mode=asymmetric "
     "nearest_mode=floor  a = MatMul(m, u)",
     Functions::kDefinedEverywhere,
     "exp-of-a-product-that-copies",
     "Exp",
     {{-1, "number-added-to-a-product-that-interpolates"},
      {0, "bias-of-a-product-that-interpolates"},
      {1, "bias-of-a-product-that-interpolates"},
      {3, "bias-of-a-product-that-interpolates"}}},
    {"e = Eye() extent=6  m = Resize(e) sizes=[6, 3] mode=linear  a = MatMul(u, m)"},
    {"a, b = Split(u) axis=1 split=[1, 3]"},  // its other results would have to follow
};

/// A passage's layout of what Convs compute, and what stands behind it.
Program programOf(const Passage& p, const std::string& behind, const Extents& constant = {1}) {
  return parsed(fmt::format(
      "x: [2, 4, 4, 6]  z: [2, 4, 4, 6]  k: const [4, 4, 1, 1]  c: const {}  u = Conv(x, k)  v = Conv(z, k)  {}  {}",
      str(constant), p.layout, behind));
}

bool moves(const Program& program) {
  return hoist(newView(program)).has_value();
}

/// "Clip" and its attributes, on both sides of what its facts depend on.
std::vector<std::string> attributesOf(std::string_view function) {
  if (function == "Clip") return {"min=-1 max=1", "min=1 max=2"};
  if (function == "LeakyRelu") return {"", "alpha=-2"};
  if (function == "HardSigmoid") return {"", "alpha=-1"};
  if (function == "Pow") return {"exponent=0.75"};
  if (function == "Mod") return {"divisor=1", "divisor=-2.5"};
  if (function == "Gelu") return {"", "approximate=tanh"};
  return {""};
}

bool isFunction(const OpRow& row) {
  return row.facts.elementwise && row.maxOperands == 1 && row.name != "Identity";
}

bool isListed(Functions functions, const OpRow& row) {
  switch (functions) {
    case Functions::kNone:
      return false;
    case Functions::kThatKeepZero:
      return row.facts.zeroPreserving;
    case Functions::kDefinedEverywhere:
      return !row.lower && row.facts.domain == Facts::Domain::kEverything;
    case Functions::kAll:
      return true;
  }
  return false;
}

std::string caseText(const std::string& name) {
  return textOf(testing_support::proveCase(name));
}

/// The case with another function in place of the one it has.
std::string withFunction(const std::string& text,
                         const std::string& from,
                         std::string_view to,
                         const std::string& with) {
  std::istringstream in(text);
  std::string result;
  for (std::string line; std::getline(in, line); result += '\n') {
    size_t at = line.find(" " + from + "(");
    if (at != std::string::npos) line.replace(at + 1, from.size(), to).append(" " + with);
    result += line;
  }
  return result;
}

bool isProved(const std::string& text) {
  auto set = parseRules(text, "case");
  EXPECT_TRUE(set) << (set ? "" : set.error().message()) << text;
  return set && std::holds_alternative<Proved>(decide(set->patterns[0], set->rules[0]));
}

TEST(ApplierHoist, EveryLayoutOperatorIsListed) {
  std::set<std::string_view> listed;
  for (const Passage& p : kPassages) {
    Program program = programOf(p, "y = Relu(a)");
    listed.insert(program.node(program.nodes().back().operands[0]).op->name);
  }
  for (const OpRow* row : operatorTable())
    EXPECT_EQ(listed.contains(row->name), row->layout || row->name == "Resize" || row->name == "MatMul") << row->name;
}

TEST(ApplierHoist, AFunctionMovesOnlyWhereThatIsProved) {
  for (const Passage& p : kPassages) {
    for (const OpRow* row : operatorTable()) {
      if (!isFunction(*row)) continue;
      for (const std::string& attributes : attributesOf(row->name)) {
        SCOPED_TRACE(fmt::format("{} behind {}", row->name, p.layout));
        bool moved = moves(programOf(p, fmt::format("y = {}(a) {}", row->name, attributes)));
        bool listed = isListed(p.functions, *row);
        EXPECT_EQ(moved, listed);
        if (p.functions == Functions::kNone) continue;
        bool proved = isProved(withFunction(caseText(p.proof), p.proved, row->name, attributes));
        EXPECT_TRUE(proved || !listed);
        // Whether Clip and Pow keep 0 depends on their attributes, and where a function has a value on what it is
        // lowered to: the prover sees them, the list does not.
        EXPECT_TRUE(listed || !proved || row->name == "Clip" || row->name == "Pow" || row->lower);
      }
    }
  }
}

TEST(ApplierHoist, AnAdditionMovesOnlyWhereThatIsProved) {
  std::set<std::string> cases;
  for (const Passage& p : kPassages) {
    Program layout = programOf(p, "y = Relu(a)");
    Extents extents = concrete(layout.node(layout.outputs()[0]).shapes[0]);
    for (int d = -1; d < static_cast<int>(extents.size()); ++d) {
      SCOPED_TRACE(fmt::format("along dimension {} of {}", d, p.layout));
      if (d >= 0 && extents[static_cast<size_t>(d)] == 1) continue;
      Extents constant(d < 0 ? 1 : extents.size() - static_cast<size_t>(d), 1);
      if (d >= 0) constant[0] = extents[static_cast<size_t>(d)];
      EXPECT_EQ(moves(programOf(p, "y = Add(a, c)", constant)), p.additions.contains(d));
    }
    for (const auto& [d, proof] : p.additions)
      cases.insert(proof);
  }
  for (const std::string& proof : cases)
    EXPECT_TRUE(isProved(caseText(proof))) << proof;
}

TEST(ApplierHoist, NothingElseMoves) {
  for (const OpRow* row : operatorTable()) {
    for (size_t operands = 1; operands <= 3; ++operands) {
      Program layout = programOf(kPassages[0], "");
      Value a{static_cast<int>(layout.nodes().size()) - 1, 0}, c{3, 0};
      ProgramBuilder builder(layout);
      std::vector<Value> taken = {a};
      taken.resize(operands, c);
      auto y = builder.add(*row, taken, {});
      if (!y) continue;
      EXPECT_EQ(moves(std::move(builder).finish({*y})), isFunction(*row) || (row->name == "Add" && operands == 2))
          << row->name;
    }
  }
}

TEST(ApplierHoist, AResizeIsPassedWhereItIsKnownToEnlarge) {
  const std::string start = "x: [N, W]  z: [N, W]  u = Mul(x, z)  a = Resize(u) nearest_mode=floor sizes=";
  EXPECT_TRUE(moves(parsed(start + "[N, 2W]  y = Exp(a)")));
  EXPECT_FALSE(moves(parsed(
      "x: [N, W, V]  z: [N, W, V]  u = Mul(x, z)  a = Resize(u) nearest_mode=floor sizes=[N, V, V]  y = Exp(a)")));
}

struct Refused {
  std::string program, proof;
};

// What would be wrong, and the case that says so.
const Refused kRefused[] = {
    {"x: [2, 3]  z: [2, 3]  u = Mul(x, z)  a = Pad(u) pads=[0, 1, 0, 1]  y = Sigmoid(a)", "sigmoid-of-a-pad"},
    {"x: [2, 3]  z: [2, 3]  u = Mul(x, z)  a = Pad(u) pads=[0, 1, 0, 1]  y = Exp(a)", "exp-of-a-zero-pad"},
    {"x: [2, 3]  z: [2, 3]  u = Mul(x, z)  a = Pad(u) pads=[0, 1, 0, 0]  y = Clip(a) min=1 max=6",
     "clip-of-a-pad-to-positive-numbers"},
    {"x: [2, 3]  z: [2, 3]  u = Mul(x, z)  a = Pad(u) pads=[0, 1, 0, 0] value=1  y = Tanh(a)", "tanh-of-a-pad-of-ones"},
    {"x: [2, 3]  z: [2, 3]  b: const [2, 1]  u = Mul(x, z)  a = Pad(u) pads=[0, 1, 0, 1]  y = Add(a, b)",
     "bias-before-a-pad"},
    {"x: [4, 3]  z: [4, 3]  b: const [2, 1]  u = Mul(x, z)  a = Slice(u) axes=[0] starts=[1] ends=[3]  y = Add(a, b)",
     "bias-along-a-slice"},
    {"x: [2, 3]  z: [2, 3]  b: const [4, 1]  u = Mul(x, z)  a = Concat(u, u) axis=0  y = Add(a, b)",
     "bias-along-a-concat-of-copies"},
    {"x: [2, 3]  z: [2, 3]  u = Mul(x, z)  a = Resize(u) sizes=[2, 6] mode=linear  y = Relu(a)",
     "relu-of-an-interpolation"},
    {"x: [2, 3]  z: [2, 3]  b: const [6]  u = Mul(x, z)  a = Resize(u) sizes=[2, 6] nearest_mode=floor  y = Add(a, b)",
     "bias-along-a-resize"},
    {"x: [2, 3]  z: [2, 3]  e = Eye() extent=3  m = Resize(e) sizes=[3, 6] mode=linear  u = Mul(x, z)  "
     "a = MatMul(u, m)  y = Relu(a)",
     "relu-of-a-product-that-interpolates"},
    {"x: [2, 3]  z: [2, 3]  b: const [6]  e = Eye() extent=3  m = Resize(e) sizes=[3, 6] mode=linear  u = Mul(x, z)  "
     "a = MatMul(u, m)  y = Add(a, b)",
     "bias-along-a-product-that-interpolates"},
};

TEST(ApplierHoist, WhatWouldBeWrongStays) {
  for (const Refused& r : kRefused) {
    EXPECT_FALSE(moves(parsed(r.program))) << r.program;
    EXPECT_FALSE(isProved(caseText(r.proof))) << r.proof;
  }
}

// --- Properties: what moves computes the same, and one law at a time the prover says so ---

/// A chain of layouts, functions and additions of constants behind products of inputs.
class Chain {
 public:
  Chain() {
    Extents extents;
    for (int64_t rank = draw(1, 3); rank-- > 0;)
      extents.push_back(draw(1, 4));
    last_ = leaf(shapeOf(extents));
  }
  void layouts(int64_t steps) {
    while (steps-- > 0)
      append(&Chain::layout);
  }
  void moving() { append(draw(0, 1) == 0 ? &Chain::function : &Chain::addition); }
  Program program() && { return std::move(builder_).finish({last_}); }

 private:
  void append(Expected<Value> (Chain::*step)()) {
    ProgramBuilder before = builder_;
    auto next = (this->*step)();
    if (next && elementCount(concrete(builder_.shape(*next))) <= 96) {
      last_ = *next;
    } else {
      builder_ = std::move(before);
    }
  }
  Value input(const Shape& shape, bool constant = false) {
    return builder_.input(fmt::format("x{}", inputs_++), shape, constant);
  }
  Value leaf(const Shape& shape) { return *builder_.add("Mul", {input(shape), input(shape)}); }
  Extents extents() const { return concrete(builder_.shape(last_)); }
  int64_t axis() const { return draw(0, static_cast<int64_t>(builder_.shape(last_).size()) - 1); }

  Expected<Value> layout() {
    if (builder_.shape(last_).empty()) return builder_.add("Unsqueeze", {last_}, {{"axes", std::vector<Expr>{0}}});
    switch (draw(0, 6)) {
      case 0:
        return slice();
      case 1:
        return pad();
      case 2:
        return builder_.add("Concat", {last_, draw(0, 2) == 0 ? last_ : leaf(builder_.shape(last_))},
                            {{"axis", Expr(axis())}});
      case 3:
        return copies();
      default:
        return builder_.add("Layout", {last_}, {{"layout", drawLayout(extents())}});
    }
  }

  Expected<Value> slice() {
    int64_t a = axis(), extent = extents()[static_cast<size_t>(a)];
    return builder_.add("Slice", {last_},
                        {{"axes", std::vector<Expr>{a}},
                         {"starts", std::vector<Expr>{draw(0, extent / 2)}},
                         {"ends", std::vector<Expr>{extent}},
                         {"steps", std::vector<Expr>{draw(1, 2)}}});
  }
  Expected<Value> pad() {
    auto mode = drawFrom<std::string>({"constant", "constant", "edge", "reflect"});
    std::vector<Expr> pads;
    for (size_t d = 0; d < 2 * extents().size(); ++d)
      pads.push_back(extents()[d % extents().size()] > 1 ? draw(0, 1) : 0);
    return builder_.add("Pad", {last_}, {{"pads", pads}, {"mode", mode}, {"value", static_cast<double>(draw(0, 1))}});
  }
  Expected<Value> copies() {
    if (draw(0, 1) == 0) {
      int64_t a = axis(), last = extents()[static_cast<size_t>(a)] - 1;
      return builder_.add(
          "Gather", {last_},
          {{"axis", Expr(a)}, {"indices", std::vector<Expr>{draw(0, last), draw(0, last), draw(0, last)}}});
    }
    std::vector<Expr> repeats(extents().size(), 1);
    repeats[static_cast<size_t>(axis())] = 2;
    return builder_.add("Tile", {last_}, {{"repeats", repeats}});
  }
  /// Not Reciprocal: of a zero in a pad it is infinite, with the zero's sign, which Neg changes.
  Expected<Value> function() {
    return builder_.add(
        drawFrom<std::string>({"Relu", "Tanh", "Sigmoid", "Neg", "Square", "Exp", "Not", "HardSwish", "LeakyRelu"}),
        {last_});
  }
  Expected<Value> addition() {
    Extents constant = extents();
    int64_t varying = draw(0, 3) == 0 ? -1 : axis();
    for (size_t d = 0; d < constant.size(); ++d) {
      if (static_cast<int64_t>(d) != varying) constant[d] = 1;
    }
    return builder_.add("Add", {last_, input(shapeOf(constant), true)});
  }

  ProgramBuilder builder_;
  Value last_;
  int inputs_ = 0;
};

/// The program and what hoist() makes of it, at last.
struct Hoisted {
  Program before;
  View after;
  bool any = false;
};

Hoisted hoisted(Program program) {
  Hoisted h{program, newView(program)};
  for (auto next = hoist(h.after); next; next = hoist(h.after)) {
    h.after = std::move(*next);
    h.any = true;
  }
  RC_LOG() << print(h.before) << "---\n" << print(h.after.program);
  return h;
}

RC_GTEST_PROP(ApplierHoist, WhatMovesComputesTheSame, ()) {
  Chain chain;
  for (int64_t i = draw(1, 4); i-- > 0;) {
    chain.layouts(draw(1, 3));
    chain.moving();
  }
  Hoisted h = hoisted(std::move(chain).program());
  Constants constants = constantsOf(h.before);
  auto is = results(h.after.program, constants)[0], expected = results(h.before, constants)[0];
  RC_ASSERT(is.extents == expected.extents);
  auto same = [](float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); };
  RC_ASSERT(std::equal(is.data.begin(), is.data.end(), expected.data.begin(), same));
}

// Of several functions the prover knows less: f of a Pad of g(x) where g keeps zero.
RC_GTEST_PROP(ApplierHoist, OneThatMovesIsProvedToComputeTheSame, ()) {
  Chain chain;
  chain.layouts(draw(1, 4));
  chain.moving();
  Hoisted h = hoisted(std::move(chain).program());
  RC_PRE(h.any);
  Equality verdict = proveEqual(poly::Context({}, 4'000'000), h.before, h.after.program);
  if (const auto* unknown = std::get_if<Unknown>(&verdict)) RC_LOG() << unknown->reason;
  RC_ASSERT(std::holds_alternative<Proved>(verdict));
}

// --- Functions of two numbers that stand behind layouts ---

size_t layoutsIn(const Program& program) {
  const auto& nodes = program.nodes();
  return static_cast<size_t>(std::count_if(
      nodes.begin(), nodes.end(), [](const Node& n) { return n.op->name == "Layout" || n.op->name == "Transpose"; }));
}

TEST(ApplierHoist, AFunctionOfTwoNumbersMeetsLayoutsOnlyWhereThatIsProved) {
  const std::set<std::string_view> kMeet = {"Add", "Div", "Mul", "Sub"};
  const std::string before = "x: [2, 4, 4]  z: [2, 4, 4]  t: [4, 2, 4]  u = Exp(x)  v = Exp(z)  ";
  const std::string layout = " n (2 c) w -> (2 n) c w  ";
  for (const OpRow* row : operatorTable()) {
    SCOPED_TRACE(row->name);
    Program operands = parsed(before + "a = Layout(u)" + layout + "b = Layout(v)" + layout);
    ProgramBuilder builder(operands);
    Value a{static_cast<int>(operands.nodes().size()) - 2, 0};
    auto y = builder.add(*row, {a, {a.node + 1, 0}}, {});
    if (!y || builder.shape(*y) != builder.shape(a)) continue;
    size_t layouts = layoutsIn(simplify(newView(std::move(builder).finish({*y}))).program);
    EXPECT_EQ(layouts, kMeet.contains(row->name) ? 1U : 2U);
    if (kMeet.contains(row->name)) {
      EXPECT_TRUE(isProved(withFunction(caseText("sum-of-layouts"), "Add", row->name, "")));
      EXPECT_TRUE(isProved(withFunction(caseText("sum-of-a-layout-and-a-plain-value"), "Sub", row->name, "")));
    }
  }
  EXPECT_FALSE(isProved(caseText("sum-of-different-layouts")));
  auto left = [&](const std::string& rest) { return layoutsIn(simplify(newView(parsed(before + rest))).program); };
  EXPECT_EQ(left("a = Layout(u) n (2 c) w -> (2 n) c w  b = Layout(v) n (c 2) w -> (2 n) c w  y = Add(a, b)"), 2U);
  // v is taken through the opposite layout anyway; without that, nothing moves.
  EXPECT_EQ(left("a = Layout(u) n (2 c) w -> (2 n) c w  m = Layout(t) (2 n) c w -> n (2 c) w  r = Tanh(m)  "
                 "s = Add(a, t)  y = Layout(s) (2 n) c w -> n (2 c) w  return r, y"),
            1U);
  EXPECT_EQ(left("a = Layout(u) n (2 c) w -> (2 n) c w  y = Add(a, t)"), 1U);
}

/// What a 3-d convolution by frames leaves: slices before the layouts, pads behind them.
TEST(ApplierHoist, SlicesAndPadsAlongTheOutermostAxisMoveAcrossLayouts) {
  auto left = [](const std::string& text) { return layoutsIn(simplify(newView(parsed(text))).program); };
  const std::string x = "x: [3, 5, 4]  k: const [4, 4]  u = Exp(x)  ";
  const std::string whole = "a = Layout(u) n d w -> (d n) w  ";
  EXPECT_EQ(
      left(x + "s = Slice(u) axes=[1] starts=[1] ends=[4]  b = Layout(s) n d w -> (d n) w  " + whole + "return a, b"),
      1U);
  EXPECT_EQ(left(x + "s = Slice(u) axes=[1] starts=[1] ends=[4]  b = Layout(s) n d w -> (n d) w  "
                     "a = Layout(u) n d w -> (n d) w  return a, b"),
            2U);  // the frames of a video are together: no slice of the rows
  EXPECT_EQ(left(x + "s = Slice(u) axes=[1] starts=[1] ends=[4]  b = Layout(s) n d w -> (d n) w"), 1U);
  EXPECT_EQ(left(x + whole +
                 "r = MatMul(a, k)  y = Layout(r) (d n:3) w -> n d w  t = Slice(y) axes=[1] starts=[1] ends=[4]  "
                 "b = Layout(t) n d w -> (d n) w"),
            1U);  // in front of the product
  EXPECT_EQ(left(x + whole +
                 "r = MatMul(a, k)  y = Layout(r) (d n:3) w -> n d w  t = Pad(y) pads=[0, 1, 0, 0, 2, 0]  "
                 "b = Layout(t) n d w -> (d n) w"),
            1U);
  EXPECT_EQ(left(x + whole +
                 "r = MatMul(a, k)  y = Layout(r) (d n:3) w -> n d w  t = Pad(y) pads=[1, 1, 0, 0, 0, 0]  "
                 "b = Layout(t) n d w -> (d n) w"),
            3U);
  for (const char* proof : {"slice-in-front-of-a-layout", "pad-behind-a-layout"})
    EXPECT_TRUE(isProved(caseText(proof))) << proof;
  EXPECT_FALSE(isProved(caseText("slice-in-front-of-a-layout-within")));
}

/// Values in a few shapes, by regroupings there and back, slices, pads, functions of one and of two.
RC_GTEST_PROP(ApplierHoist, WhatMeetsComputesTheSame, ()) {
  ProgramBuilder builder;
  std::vector<Value> values;
  for (int i = 0; i < 2; ++i)
    values.push_back(*builder.add("Exp", {builder.input(fmt::format("x{}", i), shapeOf({2, 2, 4}))}));
  for (int64_t steps = draw(3, 12); steps-- > 0;) {
    Value v = drawFrom(values);
    Extents extents = concrete(builder.shape(v));
    Expected<Value> next;
    std::vector<Expr> pads(2 * extents.size(), 0);
    size_t d = static_cast<size_t>(draw(0, static_cast<int64_t>(extents.size()) - 1));
    switch (draw(0, 6)) {
      case 0:
        next = builder.add(drawFrom<std::string>({"Relu", "Neg"}), {v});
        break;
      case 1:
        next = builder.add("Layout", {v}, {{"layout", drawLayout(extents)}});
        break;
      case 2:
        next = builder.add("Slice", {v},
                           {{"axes", std::vector<Expr>{static_cast<int64_t>(d)}},
                            {"starts", std::vector<Expr>{draw(0, extents[d] - 1)}},
                            {"ends", std::vector<Expr>{extents[d]}},
                            {"steps", std::vector<Expr>{draw(1, 2)}}});
        break;
      case 3:
        pads[d + (draw(0, 1) == 0 ? 0 : extents.size())] = draw(1, 2);
        next = builder.add("Pad", {v}, {{"pads", pads}, {"value", static_cast<double>(draw(0, 1))}});
        break;
      case 4:
        if (extents.size() != 3) continue;
        next =
            builder.add("Transpose", {v}, {{"perm", drawFrom<std::vector<Expr>>({{1, 0, 2}, {2, 0, 1}, {1, 2, 0}})}});
        break;
      default:
        std::vector<Value> alike;
        for (Value o : values) {
          if (builder.shape(o) == builder.shape(v)) alike.push_back(o);
        }
        next = builder.add(drawFrom<std::string>({"Add", "Sub", "Mul", "Div"}), {v, drawFrom(alike)});
    }
    values.push_back(*next);
  }
  Program before = std::move(builder).finish({values.back(), drawFrom(values)}).withoutDeadNodes();
  Program after = simplify(newView(before)).program;
  RC_LOG() << print(before) << "---\n" << print(after);
  RC_ASSERT(layoutsIn(after) <= layoutsIn(before));
  auto is = results(after, constantsOf(before)), expected = results(before, constantsOf(before));
  auto same = [](float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); };
  for (size_t i = 0; i < expected.size(); ++i) {
    RC_ASSERT(is[i].extents == expected[i].extents);
    RC_ASSERT(std::equal(is[i].data.begin(), is[i].data.end(), expected[i].data.begin(), same));
  }
}

}  // namespace
}  // namespace pet::applier_hoist_test
