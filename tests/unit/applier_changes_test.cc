// Where two models differ, by the rules of tests/data.

#include <gmock/gmock.h>

#include "applier/apply.h"
#include "applier/measure/changes.h"
#include "tests/unit/applier_support.h"
#include "tests/unit/text_file.h"

namespace pet::applier_changes_test {
namespace {

using namespace testing_support;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Two convolutions with a Relu between, batch 2; a Neg that nothing changes in front.
const char* const kChain =
    "x: [2, 3, 6, 8]  v: const [4, 3, 3, 3]  w: const [2, 4, 3, 3]  n = Neg(x)  p = Conv(n, v) pads=[1, 1, 1, 1]  "
    "r = Relu(p)  y = Conv(r, w) pads=[1, 1, 1, 1]";

Model rewritten(const Model& model, const std::string& file, const std::vector<std::string>& sites = {}) {
  ApplyOptions options;
  options.policy.all = true;
  options.policy.sites = sites;
  auto made = apply(model, rulesOf(textOf(std::string(PET_SOURCE_DIR) + "/tests/data/" + file)), {}, options);
  EXPECT_TRUE(made.has_value()) << made.error().message();
  return made ? parseModel(bytesOf(*made), "rewritten").value() : Model();
}

std::vector<std::string> outputs(const Graph& graph, const std::vector<int>& nodes) {
  std::vector<std::string> names;
  for (int n : nodes)
    names.push_back(graph.nodes[static_cast<size_t>(n)].outputs.at(0));
  return names;
}

TEST(WithoutRules, SplitsNamesOfNewNodes) {
  using Rules = std::vector<std::string_view>;
  struct Case {
    std::string_view name;
    Rules rules;
    std::string_view rest;
  };
  for (const Case& c : std::vector<Case>{{"conv1", {}, "conv1"},
                                         {"pet/conv/pair/conv1/y", {"conv/pair"}, "conv1/y"},
                                         {"pet/a/b/pet/conv/pair/conv1/y", {"a/b", "conv/pair"}, "conv1/y"},
                                         {"pet/conv/pair", {}, "pet/conv/pair"},
                                         {"pet/conv", {}, "pet/conv"},
                                         {"", {}, ""}}) {
    const NewNodeName parts = withoutRules(c.name);
    EXPECT_EQ(parts.rules, c.rules) << c.name;
    EXPECT_EQ(parts.rest, c.rest) << c.name;
  }
}

TEST(Changes, EachSiteByItself) {
  Model model = modelOf(kChain);
  ASSERT_EQ(types(model.graph), "Neg Conv Relu Conv");
  Graph after = rewritten(model, "conv.pet").graph;
  ASSERT_EQ(types(after), "Neg ConvTranspose Relu ConvTranspose");
  Changes found = changesOf(model.graph, after);
  ASSERT_EQ(found.changes.size(), 2U);
  EXPECT_THAT(outputs(model.graph, found.changes[0].before), ElementsAre("p"));
  EXPECT_THAT(outputs(after, found.changes[0].after), ElementsAre("p"));
  EXPECT_THAT(found.changes[0].rules, ElementsAre("conv/transposed"));
  EXPECT_THAT(found.changes[1].sites, ElementsAre("y"));
  EXPECT_THAT(found.kept, ElementsAre(std::pair(0, 0), std::pair(2, 2)));
}

TEST(Changes, SitesThatShareALayoutAreOne) {
  Model model = modelOf(kChain);
  Graph after = rewritten(model, "pair.pet").graph;  // the layouts on both sides of the Relu are gone
  Changes found = changesOf(model.graph, after);
  ASSERT_EQ(found.changes.size(), 1U);
  EXPECT_THAT(outputs(model.graph, found.changes[0].before), ElementsAre("p", "r", "y"));
  EXPECT_EQ(found.changes[0].after.size() + found.kept.size(), after.nodes.size());
  EXPECT_THAT(found.changes[0].sites, ElementsAre("p", "y"));
  EXPECT_THAT(found.changes[0].rules, ElementsAre("conv/pair"));
}

TEST(Changes, RulesThatBuildOnEachOther) {
  Model model = modelOf(kChain);
  Graph twice = rewritten(rewritten(model, "pair.pet", {"p"}), "conv.pet", {"pet/*"}).graph;
  Changes found = changesOf(model.graph, twice);
  ASSERT_EQ(found.changes.size(), 1U);
  EXPECT_THAT(found.changes[0].sites, ElementsAre("p"));
  EXPECT_THAT(found.changes[0].rules, ElementsAre("conv/pair", "conv/transposed"));
}

TEST(Changes, NothingBetweenEqualModels) {
  Model model = modelOf(kChain);
  Changes found = changesOf(model.graph, model.graph);
  EXPECT_THAT(found.changes, IsEmpty());
  EXPECT_EQ(found.kept.size(), 4U);
}

TEST(Changes, SeesAttributesAndWeights) {
  Model model = modelOf(kChain);
  Graph other = model.graph;
  other.nodes[1].attributes["pads"] = std::vector<int64_t>{1, 1, 1, 0};
  EXPECT_THAT(changesOf(model.graph, other).changes.at(0).before, ElementsAre(1));
  other = model.graph;
  for (Initializer& i : other.initializers) {
    if (i.name == "w") i.value = Constant::of(Tensor<float>({2, 4, 3, 3}));
  }
  Changes found = changesOf(model.graph, other);
  ASSERT_EQ(found.changes.size(), 1U);
  EXPECT_THAT(found.changes[0].before, ElementsAre(3));
  EXPECT_THAT(found.changes[0].sites, IsEmpty());  // no rule made it
  EXPECT_THAT(found.changes[0].rules, IsEmpty());
}

}  // namespace
}  // namespace pet::applier_changes_test
