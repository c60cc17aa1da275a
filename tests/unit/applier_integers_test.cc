#include <array>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "applier/operators/onnx_rows.h"
#include "applier/view/element_types.h"
#include "applier/view/evaluate_constants.h"
#include "ir/ops/op.h"
#include "runtime/compare.h"
#include "tests/unit/applier_support.h"

// Tensors of integers and truth values: what moves values applies to them, what computes does not.
namespace pet::applier_integers_test {
namespace {

using namespace testing_support;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr ElementType kTypes[] = {ElementType::kInt8,   ElementType::kUint8,  ElementType::kInt16,
                                  ElementType::kUint16, ElementType::kInt32,  ElementType::kUint32,
                                  ElementType::kInt64,  ElementType::kUint64, ElementType::kBool};

/// Values that are all of the type's bits, as far as that is so.
Constant patternOf(ElementType element, const Extents& extents) {
  Tensor<int64_t> tensor(extents);
  for (size_t i = 0; i < tensor.data.size(); ++i)
    tensor.data[i] = element == ElementType::kBool ? static_cast<int64_t>(i % 3 == 0)
                                                   : static_cast<int64_t>(0xF123456789ABCDEFU * (i + 1));
  return Constant::whole(element, tensor);
}

/// The model that computes a program with inputs, outputs and constants of this type, as it would come from a file.
Model modelIn(ElementType element, std::string_view text, int64_t opset = 17) {
  const Program program = parsed(text);
  Constants constants;
  for (Value v : program.inputs()) {
    if (program.node(v).scalar("constant") == Expr(1))
      constants.emplace(program.name(v), patternOf(element, concrete(program.shape(v))));
  }
  auto graph = toGraph(program, constants, opset, element);
  EXPECT_TRUE(graph.has_value()) << graph.error().message();
  auto bytes = serialize({*graph, nullptr});
  EXPECT_TRUE(bytes.has_value());
  return parseModel(*bytes, "test").value();
}

std::string lines(std::string_view text) {
  std::string result(text);
  for (size_t at = result.find("  "); at != std::string::npos; at = result.find("  ", at))
    result[at] = '\n';
  return result;
}

RuleSet ruleOf(std::string_view pattern, std::string_view replacement) {
  return rulesOf(
      fmt::format("pattern p {{\n  shape\n{}\n}}\nrule p/r of p {{\n  depth 1\n  class\n  numerics bit-equal\n"
                  "  replacement {{\n{}\n  }}\n}}\n",
                  lines(pattern), lines(replacement)));
}

Applied appliedTo(const Model& model, const RuleSet& rules) {
  return applied(model, rules, all());
}

// --- Values of each type ---

TEST(ApplierIntegers, ConstantsKeepTheirBits) {
  for (ElementType element : kTypes) {
    const Constant c = patternOf(element, {2, 5});
    const Constant again = Constant::whole(element, c.values<int64_t>());
    EXPECT_EQ(c.bytes, again.bytes) << str(element);
    EXPECT_EQ(c.bytes->size(), 10 * elementSize(element));
  }
}

TEST(ApplierIntegers, NumbersThatATypeHas) {
  struct Case {
    ElementType element;
    double least, most;
  };
  for (const Case& c : {Case{ElementType::kInt8, -128, 127}, Case{ElementType::kUint8, 0, 255},
                        Case{ElementType::kInt16, -32768, 32767}, Case{ElementType::kUint16, 0, 65535},
                        Case{ElementType::kBool, 0, 1}}) {
    EXPECT_TRUE(hasNumber(c.element, c.least) && hasNumber(c.element, c.most)) << str(c.element);
    EXPECT_FALSE(hasNumber(c.element, c.least - 1) || hasNumber(c.element, c.most + 1)) << str(c.element);
    EXPECT_FALSE(hasNumber(c.element, 0.5) || hasNumber(c.element, -std::numeric_limits<double>::infinity()));
  }
  EXPECT_TRUE(hasNumber(ElementType::kInt64, -2147483647.0));
  EXPECT_FALSE(hasNumber(ElementType::kInt64, 0x1p53)) << "programs do not hold it exactly in every ring";
}

// --- What moves values ---

struct Move {
  std::string_view name, program, replacement;
};

// In the replacement each result is padded and cut again, so that nothing cancels.
constexpr Move kMoves[] = {
    {"Transpose", "x: [2, 3]  y = Transpose(x) perm=[1, 0]", "t = Transpose(x) perm=[1, 0]"},
    {"Layout", "x: [2, 6]  y = Layout(x) a (b 2) -> (a b) 2", "t = Layout(x) a (b 2) -> (a b) 2"},
    {"Reshape", "x: [2, 3]  y = Reshape(x) shape=[3, 2]", "t = Reshape(x) shape=[3, 2]"},
    {"Slice", "x: [4, 3]  y = Slice(x) axes=[0] starts=[1] ends=[3] steps=[1]",
     "t = Slice(x) axes=[0] starts=[1] ends=[3]"},
    {"Concat", "x: [2, 3]  z: [1, 3]  y = Concat(x, z) axis=0", "t = Concat(x, z) axis=0"},
    {"Pad", "x: [2, 3]  y = Pad(x) pads=[1, 0, 0, 2]", "t = Pad(x) pads=[1, 0, 0, 2]"},
    {"PadOfOnes", "x: [2, 3]  y = Pad(x) pads=[1, 0, 0, 2] value=1", "t = Pad(x) pads=[1, 0, 0, 2] value=1"},
    {"PadEdge", "x: [2, 3]  y = Pad(x) pads=[1, 0, 0, 2] mode=edge", "t = Pad(x) pads=[1, 0, 0, 2] mode=edge"},
    {"Gather", "x: [4, 3]  y = Gather(x) axis=0 indices=[3, 0]", "t = Gather(x) axis=0 indices=[3, 0]"},
    {"ScatterND", "x: [4, 3]  u: [2, 3]  y = ScatterND(x, u) start=1", "t = ScatterND(x, u) start=1"},
    {"Expand", "x: [1, 3]  y = Expand(x) shape=[4, 3]", "t = Expand(x) shape=[4, 3]"},
    {"Tile", "x: [2, 3]  y = Tile(x) repeats=[2, 1]", "t = Tile(x) repeats=[2, 1]"},
    {"DepthToSpace", "x: [1, 8, 2, 3]  y = DepthToSpace(x) blocksize=2", "t = DepthToSpace(x) blocksize=2"},
    {"SpaceToDepth", "x: [1, 2, 4, 6]  y = SpaceToDepth(x) blocksize=2", "t = SpaceToDepth(x) blocksize=2"},
};

/// The program padded by one row in front, and cut.
std::string paddedAndCut(const Move& move) {
  const Shape shape = parsed(move.program).shape(parsed(move.program).outputs()[0]);
  const int64_t rows = *shape[0].asConstant();
  std::vector<std::string> pads(2 * shape.size(), "0");
  pads[0] = "1";
  return fmt::format("{}  p = Pad(t) pads=[{}]  y = Slice(p) axes=[0] starts=[1] ends=[{}]", move.replacement,
                     fmt::join(pads, ", "), rows + 1);
}

class OfEachType : public testing::TestWithParam<ElementType> {};

TEST_P(OfEachType, WhatMovesValuesIsRewritten) {
  for (const Move& move : kMoves) {
    SCOPED_TRACE(move.name);
    if (whyNotEmitted(parsed(move.program), 17, GetParam())) continue;
    const Model model = modelIn(GetParam(), move.program);
    ASSERT_THAT(normalise(model.graph).opaque, testing::Each(""));
    const RuleSet rules = ruleOf(move.program, paddedAndCut(move));
    const Applied result = appliedTo(model, rules);
    if (auto why = whyNotEmitted(rules.rules[0].replacement, 17, GetParam())) {
      EXPECT_THAT(result.report.fired, IsEmpty());
      EXPECT_EQ(result.report.refused.at(0).reason.detail, *why);
      continue;
    }
    ASSERT_EQ(result.report.fired.size(), 1U);
    EXPECT_THAT(result.report.unchecked, IsEmpty());
    for (const CheckLine& line : result.report.checks)
      EXPECT_TRUE(line.possible) << line.reason;
    const Graph graph = parseModel(bytesOf(result), "rewritten").value().graph;
    EXPECT_THAT(types(graph), HasSubstr("Pad Slice"));
    const Inference types = infer(graph);
    EXPECT_THAT(types.problems, IsEmpty());
    EXPECT_EQ(types.types.at("y").element, GetParam());
  }
}

TEST_P(OfEachType, WhatComputesIsNoPartOfTheView) {
  for (std::string_view text :
       {"x: [2, 3]  y = Add(x, x)", "x: [2, 3]  z: [3, 2]  y = MatMul(x, z)", "x: [2, 3]  y = Neg(x)",
        "x: [2, 3]  y = Relu(x)", "x: [1, 2, 4, 4]  y = MaxPool(x) kernel_shape=[2, 2]"}) {
    Model model = modelOf(text);
    for (auto& [name, type] : model.graph.types)
      type.element = GetParam();
    const Normalised normalised = normalise(model.graph);
    EXPECT_THAT(normalised.opaque, ElementsAre(HasSubstr("computes, and " + std::string(str(GetParam()))))) << text;
    EXPECT_EQ(operators(normalised.view), "");
  }
}

TEST_P(OfEachType, AReplacementThatComputesIsNotUsed) {
  const Model model = modelIn(GetParam(), "x: [2, 3]  y = Transpose(x) perm=[1, 0]");
  const Applied result = appliedTo(
      model, ruleOf("x: [2, 3]  y = Transpose(x) perm=[1, 0]", "n = Neg(x)  t = Transpose(n) perm=[1, 0]  y = Neg(t)"));
  EXPECT_THAT(result.report.fired, IsEmpty());
  ASSERT_EQ(result.report.refused.size(), 1U);
  const bool isWide = GetParam() == ElementType::kInt32;  // as sums are
  EXPECT_EQ(result.report.refused[0].reason.detail,
            isWide ? "sums of integers up to 2147483648 would be beyond int32"
                   : fmt::format("Neg computes, and {} is no floating point", str(GetParam())));
}

TEST_P(OfEachType, NewConstantsAreOfTheModelsType) {
  const Model model = modelIn(GetParam(), "x: [2, 3]  c: const [2, 1]  y = Concat(c, x) axis=1");
  const Constant c = model.graph.initializers.at(0).value;
  const Applied result =
      appliedTo(model, ruleOf("x: [2, 3]  c: const [2, 1]  y = Concat(c, x) axis=1",
                              "a = Transpose(x) perm=[1, 0]  p = Pad(c) pads=[1, 0, 0, 0] value=1  b = Slice(p) "
                              "axes=[0] starts=[1] ends=[3]  "
                              "d = Transpose(p) perm=[1, 0]  e = Slice(d) axes=[1] starts=[1] ends=[3]  "
                              "t = Concat(e, a) axis=0  y = Transpose(t) perm=[1, 0]"));
  ASSERT_EQ(result.report.fired.size(), 1U)
      << (result.report.refused.empty() ? "" : result.report.refused[0].reason.detail);
  const Graph graph = parseModel(bytesOf(result), "rewritten").value().graph;
  bool found = false;
  for (const Initializer& i : graph.initializers) {
    if (i.value.element != GetParam() || i.value.extents != Extents{1, 2}) continue;
    found = true;
    EXPECT_EQ(i.value.values<int64_t>().data, c.values<int64_t>().data);
  }
  EXPECT_TRUE(found);
}

// The proof and the checks are two layers: without the first, the second finds a false rule.
TEST_P(OfEachType, AFalseRuleIsFound) {
  const Model model = modelIn(GetParam(), "x: [4, 3]  y = Slice(x) axes=[0] starts=[1] ends=[3]");
  const RuleSet rules = ruleOf("x: [4, 3]  y = Slice(x) axes=[0] starts=[1] ends=[3] steps=[1]",
                               "t = Slice(x) axes=[0] starts=[1] ends=[4]  y = Slice(t) axes=[0] starts=[1] ends=[3]");
  auto result = apply(model, rules, {}, all());
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().kind, ErrorKind::kCheck);
}

TEST_P(OfEachType, WhereByAConstantSelects) {
  Model model = modelIn(GetParam(), "x: [2, 3]  z: [2, 3]  y = Concat(x, z) axis=0");
  GraphNode& node = model.graph.nodes.at(0);
  node = {};
  node.type = "Where";
  node.inputs = {"c", "x", "z"};
  node.outputs = {"y"};
  model.graph.initializers.push_back({"c", {ElementType::kBool, {3}, std::string("\1\0\1", 3)}, false, -1});
  model.graph.types["y"] = {GetParam(), std::vector<std::optional<int64_t>>{2, 3}};
  const RuleSet rules = ruleOf("c: const [3]  x: [2, 3]  z: [2, 3]  y = Where(c, x, z)",
                               "a = Transpose(x) perm=[1, 0]  b = Transpose(z) perm=[1, 0]  "
                               "d = Layout(c) a -> a 1  t = Where(d, a, b)  y = Transpose(t) perm=[1, 0]");
  const Applied result = appliedTo(model, rules);
  const bool written = !whyNotEmitted(rules.rules[0].replacement, 17, GetParam());
  EXPECT_EQ(result.report.fired.size(), written ? 1U : 0U);
  EXPECT_THAT(result.report.unchecked, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Types, OfEachType, testing::ValuesIn(kTypes), [](const auto& each) {
  return std::string(str(each.param));
});

// --- Fills ---

TEST(ApplierIntegers, AFillThatTheTypeDoesNotHaveStaysOut) {
  struct Case {
    ElementType element;
    std::string_view value;
    bool isIn;
  };
  for (const Case& c : {Case{ElementType::kBool, "1", true}, Case{ElementType::kBool, "2", false},
                        Case{ElementType::kUint8, "255", true}, Case{ElementType::kUint8, "-1", false},
                        Case{ElementType::kInt8, "-128", true}, Case{ElementType::kInt8, "0.5", false}}) {
    const std::string program = fmt::format("x: [2, 3]  y = Pad(x) pads=[1, 0, 0, 2] value={}", c.value);
    EXPECT_EQ(!whyNotOf(parsed(program), std::array{OperandType{c.element}}, std::array{c.element}).has_value(), c.isIn)
        << str(c.element) << " " << c.value;
  }
  const Model model = modelIn(ElementType::kUint8, "x: [2, 3]  y = Pad(x) pads=[1, 0, 0, 2]");
  const Applied result =
      appliedTo(model, ruleOf("x: [2, 3]  y = Pad(x) pads=[1, 0, 0, 2]",
                              "p = Pad(x) pads=[1, 0, 0, 2] value=-1  q = Slice(p) axes=[0] starts=[1] ends=[3]  "
                              "r = Slice(q) axes=[1] starts=[0] ends=[3]  y = Pad(r) pads=[1, 0, 0, 2]"));
  ASSERT_EQ(result.report.refused.size(), 1U);
  EXPECT_EQ(result.report.refused[0].reason.detail, "uint8 has no -1");
}

TEST(ApplierIntegers, PadIsWrittenInOpsetsThatHaveItForTheType) {
  const Program pad = parsed("x: [2, 3]  y = Pad(x) pads=[1, 0, 0, 2]");
  EXPECT_EQ(whyNotEmitted(pad, 10), std::nullopt);
  EXPECT_EQ(whyNotEmitted(pad, 10, ElementType::kInt8), "Pad of int8 needs opset 11, the model has 10");
  EXPECT_EQ(whyNotEmitted(pad, 12, ElementType::kBool), "Pad of bool needs opset 13, the model has 12");
  EXPECT_EQ(whyNotEmitted(pad, 17, ElementType::kInt16), "ONNX Runtime has no Pad of int16");
  EXPECT_EQ(whyNotEmitted(pad, 11, ElementType::kInt64), std::nullopt);
  EXPECT_EQ(whyNotEmitted(pad, 13, ElementType::kBool), std::nullopt);
}

// --- What exporters do with integers ---

GraphNode nodeOf(std::string type, std::vector<std::string> inputs, std::string output) {
  GraphNode node;
  node.type = std::move(type);
  node.inputs = std::move(inputs);
  node.outputs = {std::move(output)};
  return node;
}

Initializer int64s(const std::string& name, const Extents& extents, const std::vector<int64_t>& values) {
  return {name, Constant::of(Tensor<int64_t>(extents, values)), false, -1};
}

// Sizes are no tensors to rewrite, not even where a node that pet does not know reads them.
TEST(ApplierIntegers, SizesAreNoPartOfTheView) {
  Model model = modelOf("x: [2, 3]  y = Relu(x)");
  Graph& graph = model.graph;
  graph.types["x"].dims->at(0) = std::nullopt;
  graph.initializers = {int64s("zero", {1}, {0}), int64s("rest", {1}, {-1})};
  graph.nodes = {nodeOf("Shape", {"x"}, "shape"), nodeOf("Gather", {"shape", "zero"}, "rows"),
                 nodeOf("Concat", {"rows", "rest"}, "target"), nodeOf("Mul", {"target", "target"}, "y")};
  graph.nodes[2].attributes["axis"] = int64_t{0};
  graph.types.erase("y");
  const Normalised normalised = normalise(graph);
  EXPECT_EQ(operators(normalised.view), "");
  EXPECT_EQ(normalised.opaque[1], "'shape' is a size that the model computes");
}

TEST(ApplierIntegers, TokensAreTensors) {
  Model model = modelIn(ElementType::kInt64, "x: [2, 3]  y = Transpose(x) perm=[1, 0]");
  Graph& graph = model.graph;
  graph.nodes.push_back(nodeOf("Cast", {"y"}, "f"));
  graph.nodes.back().attributes["to"] = static_cast<int64_t>(ElementType::kFloat);
  graph.outputs = {"f"};
  graph.types.erase("y");
  const Normalised normalised = normalise(graph);
  EXPECT_EQ(operators(normalised.view), "Transpose");
  EXPECT_EQ(normalised.opaque[1], "another element type");
}

// A Reshape's target that is computed: the view's Reshape has its extents from the declaration, and does not read it.
TEST(ApplierIntegers, WhatOnlyAnOnnxNodeReadsIsNotInside) {
  Model model =
      modelIn(ElementType::kInt64, "a: [1]  b: [1]  c = Concat(a, b) axis=0  g = Gather(c) axis=0 indices=[1, 0]");
  const RuleSet rules =
      ruleOf("a: [1]  b: [1]  c = Concat(a, b) axis=0  g = Gather(c) axis=0 indices=[1, 0]", "g = Concat(b, a) axis=0");
  EXPECT_EQ(appliedTo(model, rules).report.fired.size(), 1U);
  Graph& graph = model.graph;
  const std::vector<std::optional<int64_t>> from{2, 6}, to{3, 4};
  graph.types["x"] = {ElementType::kFloat, from};
  graph.types["y"] = {ElementType::kFloat, to};
  graph.inputs.push_back("x");
  graph.outputs.push_back("y");
  graph.nodes.push_back(nodeOf("Reshape", {"x", "c"}, "y"));
  const Normalised normalised = normalise(graph);
  EXPECT_THAT(normalised.opaque, testing::Each(""));
  const Applied result = appliedTo(model, rules);
  EXPECT_THAT(result.report.fired, IsEmpty());
  ASSERT_EQ(result.report.refused.size(), 1U);
  EXPECT_EQ(result.report.refused[0].reason.detail, "its Concat is used elsewhere");
}

// Beyond what double holds exactly.
TEST(ApplierIntegers, LargeIntegersAreNotRounded) {
  const int64_t large = (int64_t{1} << 62) + 1;
  Model model = modelIn(ElementType::kInt64, "x: [2]  c: const [2]  y = Concat(c, x) axis=0");
  model.graph.initializers.at(0) = int64s("c", {2}, {large, -large});
  const Applied result = appliedTo(
      model,
      ruleOf(
          "x: [2]  c: const [2]  y = Concat(c, x) axis=0",
          "d = Gather(c) axis=0 indices=[1, 0]  t = Concat(d, x) axis=0  y = Gather(t) axis=0 indices=[1, 0, 2, 3]"));
  ASSERT_EQ(result.report.fired.size(), 1U)
      << (result.report.refused.empty() ? "" : result.report.refused[0].reason.detail);
  const Graph graph = parseModel(bytesOf(result), "rewritten").value().graph;
  const bool kept = std::any_of(graph.initializers.begin(), graph.initializers.end(), [&](const Initializer& i) {
    return i.value.integers() == std::vector<int64_t>{-large, large};
  });
  EXPECT_TRUE(kept);
}

// --- Facts ---

// What is said to move values is evaluated in integers, and gives values that came in, or a number that it has.
TEST(ApplierIntegers, OperatorsThatMoveAreEvaluatedInIntegers) {
  for (const OpRow* op : operatorTable()) {
    EXPECT_TRUE(!movesValues(*op) || op->kernels.get<int64_t>()) << op->name;
  }
  for (const Move& move : kMoves) {
    const Program program = parsed(move.program);
    std::map<std::string, Tensor<int64_t>> inputs;
    std::set<int64_t> known{0, 1};
    for (Value v : program.inputs()) {
      Tensor<int64_t>& x = inputs.emplace(program.name(v), Tensor<int64_t>(concrete(program.shape(v)))).first->second;
      for (int64_t& value : x.data)
        value = int64_t{1000} + static_cast<int64_t>(known.size()), known.insert(value);
    }
    const auto results = evaluate<int64_t>(program, {}, inputs);
    ASSERT_TRUE(results.has_value()) << move.name;
    for (int64_t value : (*results)[0].data)
      EXPECT_TRUE(known.contains(value)) << move.name;
  }
}

TEST(ApplierIntegers, PlacesAreCompared) {
  const Program a = parsed("x: [2, 3]  y = Transpose(x) perm=[1, 0]"),
                b = parsed("x: [2, 3]  y = Reshape(x) shape=[3, 2]");
  EXPECT_TRUE(compareIntegers({a, {}}, {a, {}}, {}, 0).holds());
  EXPECT_EQ(compareIntegers({a, {}}, {b, {}}, {}, 0).reason, "y[0, 1] is another value");
  const WholeTensors equal{{"x", Tensor<int64_t>({2, 3}, std::vector<int64_t>(6, 5))}};
  EXPECT_TRUE(compareIntegers({a, equal}, {b, equal}, {}, 0).holds()) << "of these values";
}

}  // namespace
}  // namespace pet::applier_integers_test
