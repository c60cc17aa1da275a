// Parts of models as models of their own.

#include <gmock/gmock.h>

#include "applier/measure/extract.h"
#include "tests/unit/applier_support.h"

namespace pet::applier_extract_test {
namespace {

using namespace testing_support;
using ::testing::ElementsAre;

/// x -> Conv p -> Relu r -> (Conv s, Neg t), y = s + t.
Model diamond() {
  return modelOf(
      "x: [1, 3, 6, 8]  v: const [4, 3, 3, 3]  w: const [4, 4, 1, 1]  p = Conv(x, v) pads=[1, 1, 1, 1]  r = Relu(p)  "
      "s = Conv(r, w)  t = Neg(r)  y = Add(s, t)");
}

Part part(const Model& model, const std::vector<int>& nodes) {
  return partOf(model.graph, typesOf(model.graph), nodes);
}

/// The part as a file would have it.
Graph extracted(const Model& model, const Part& of) {
  auto cut = extract(model, typesOf(model.graph), of);
  EXPECT_TRUE(cut.has_value()) << cut.error().message();
  auto bytes = serialize(*cut);
  EXPECT_TRUE(bytes.has_value()) << bytes.error().message();
  auto again = parseModel(*bytes, "part");
  EXPECT_TRUE(again.has_value()) << again.error().message();
  return again ? again->graph : Graph();
}

std::vector<std::string> constantsOf(const Graph& graph) {
  std::vector<std::string> names;
  for (const Initializer& i : graph.initializers)
    names.push_back(i.name);
  return names;
}

TEST(Extract, TakesANodeWithItsWeights) {
  Model model = diamond();
  ASSERT_EQ(types(model.graph), "Conv Relu Conv Neg Add");
  Graph graph = extracted(model, part(model, {2}));
  EXPECT_EQ(types(graph), "Conv");
  EXPECT_THAT(graph.inputs, ElementsAre("r"));
  EXPECT_THAT(graph.outputs, ElementsAre("s"));
  EXPECT_THAT(constantsOf(graph), ElementsAre("w"));
  EXPECT_EQ(graph.types.at("r").extents(), (Extents{1, 4, 6, 8}));  // which no file declared
  EXPECT_EQ(graph.types.at("s").extents(), (Extents{1, 4, 6, 8}));
  EXPECT_EQ(graph.opset, model.graph.opset);
}

TEST(Extract, GivesWhatIsReadElsewhere) {
  Model model = diamond();
  EXPECT_THAT(part(model, {0, 1}).outputs, ElementsAre("r"));
  EXPECT_THAT(part(model, {1, 2}).outputs, ElementsAre("r", "s"));  // Neg reads r, too
  EXPECT_THAT(part(model, {2, 3}).inputs, ElementsAre("r"));        // once
  EXPECT_THAT(part(model, {4}).outputs, ElementsAre("y"));
  EXPECT_THAT(part(model, {0, 4}).inputs, ElementsAre("x", "s", "t"));
}

TEST(Extract, AWholeModelComputesTheSame) {
  Model model = diamond();
  Graph graph = extracted(model, part(model, {0, 1, 2, 3, 4}));
  EXPECT_EQ(results(graph), results(model.graph));
}

TEST(Extract, MayTakeWhatItDoesNotRead) {
  Model model = diamond();
  Part more = part(model, {3});
  more.inputs.push_back("s");
  EXPECT_THAT(extracted(model, more).inputs, ElementsAre("r", "s"));
}

TEST(Extract, FindsNeighbours) {
  Model model = diamond();
  EXPECT_THAT(withNeighbours(model.graph, {1}), ElementsAre(0, 1, 2));  // one reader of two
  EXPECT_THAT(withNeighbours(model.graph, {0}), ElementsAre(0, 1));
  EXPECT_THAT(withNeighbours(model.graph, {4}), ElementsAre(2, 3, 4));
}

/// x [2, 6] -> Reshape by extents that are computed -> Relu; a node of another domain behind it.
Graph reshaped(const std::string& extents) {
  Graph graph;
  graph.opset = 17;
  graph.inputs = {"x"};
  graph.outputs = {"z"};
  graph.types["x"] = graph.types["z"] = {ElementType::kFloat, {{2, 6}}};
  graph.initializers = {{"ends", Constant::of(Tensor<int64_t>({2}, {2, 6}))}};
  if (extents == "Constant") {
    graph.nodes.push_back({"", "Constant", "", {{"value", Constant::of(Tensor<int64_t>({2}, {2, 6}))}}, {}, {"e"}, {}});
  } else {
    graph.nodes.push_back({"", extents, "", {}, {extents == "Shape" ? "x" : "ends"}, {"e"}, {}});
  }
  graph.types["e"] = {ElementType::kInt64, {{2}}};
  graph.nodes.push_back({"", "Reshape", "", {}, {"x", "e"}, {"y"}, {}});
  graph.nodes.push_back({"", "Mystery", "somebody", {}, {"y"}, {"z"}, {}, false});
  return graph;
}

TEST(Extract, ComputesConstantsAndExtents) {
  for (const char* extents : {"Constant", "Identity", "Shape"}) {
    SCOPED_TRACE(extents);
    Graph graph = reshaped(extents);
    graph.types["y"] = {ElementType::kFloat, {{2, 6}}};
    Part of = partOf(graph, typesOf(graph), {1});
    EXPECT_THAT(of.nodes, ElementsAre(0, 1));
    EXPECT_THAT(of.inputs, ElementsAre("x"));
    EXPECT_THAT(of.outputs, ElementsAre("y"));
  }
}

TEST(Extract, SaysWhichExtentsAreNotKnown) {
  Graph graph = reshaped("Constant");
  graph.types["z"] = {ElementType::kFloat, {{std::nullopt, 6}}};
  Part of = partOf(graph, typesOf(graph), {2});
  auto cut = extract({graph, nullptr}, typesOf(graph), of);
  ASSERT_FALSE(cut.has_value());
  EXPECT_EQ(cut.error().kind, ErrorKind::kUnsupported);
  EXPECT_EQ(cut.error().where, "z");
  EXPECT_EQ(cut.error().what, "its extents are not known");
}

TEST(Extract, OverridableInitializersBecomeConstants) {
  Model model = diamond();
  for (Initializer& i : model.graph.initializers)
    i.overridable = true;
  Graph graph = extracted(model, part(model, {2}));
  EXPECT_THAT(graph.inputs, ElementsAre("r"));
  EXPECT_FALSE(graph.initializers.at(0).overridable);
}

}  // namespace
}  // namespace pet::applier_extract_test
