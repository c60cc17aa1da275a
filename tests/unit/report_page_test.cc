// What the page of a report draws.

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "tests/unit/applier_support.h"
#include "tools/apply/page/drawn_graph.h"
#include "tools/apply/page/page.h"

namespace pet::report_page_test {
namespace {

using namespace testing_support;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using tool::changeOfSite;
using tool::drawnGraph;

const char* const kTwoReaders = "x: [2, 3]  a = Relu(x)  b = Neg(a)  c = Sigmoid(a)  d = Add(b, c)  y = Tanh(d)";

Place placeOf(const Graph& graph) {
  return mainPlace(graph, infer(graph, {}));
}

std::vector<std::string> operatorsOf(const tool::DrawnGraph& drawn) {
  std::vector<std::string> names;
  for (const tool::DrawnNode& n : drawn.nodes)
    names.push_back(n.operatorName);
  return names;
}

TEST(DrawnGraph, InputsNodesOutputs) {
  const Model model = modelOf(kTwoReaders);
  const auto drawn = drawnGraph(placeOf(model.graph), {{1, 0}}, 100);
  EXPECT_THAT(operatorsOf(drawn), ElementsAre("input", "Relu", "Neg", "Sigmoid", "Add", "Tanh", "output"));
  EXPECT_THAT(drawn.nodes[4].operands, ElementsAre(2, 3));
  EXPECT_EQ(drawn.nodes[2].change, 0);
  EXPECT_EQ(drawn.nodes[3].change, -1);
  EXPECT_EQ(drawn.nodes[0].extents, "2 x 3");
  EXPECT_TRUE(drawn.nodes[0].isEnd && drawn.nodes[6].isEnd && !drawn.nodes[1].isEnd);
  EXPECT_EQ(drawn.hidden, 0U);
}

TEST(DrawnGraph, OfLargeGraphsWhatIsNearestToAChange) {
  const Model model = modelOf(kTwoReaders);
  struct Case {
    tool::ChangeOfNode changes;
    size_t most;
    std::vector<std::string> operators;
  };
  for (const Case& c : std::vector<Case>{{{{4, 0}}, 1, {"Tanh", "output"}},
                                         {{{4, 0}}, 2, {"Add", "Tanh", "output"}},
                                         {{{0, 0}}, 3, {"input", "Relu", "Neg", "Sigmoid"}},
                                         {{}, 2, {"input", "Relu", "Neg"}}}) {
    const auto drawn = drawnGraph(placeOf(model.graph), c.changes, c.most);
    EXPECT_EQ(operatorsOf(drawn), c.operators);
    EXPECT_EQ(drawn.hidden, 5 - c.most);
  }
}

TEST(DrawnGraph, ExtentsHaveTheNamesOfTheFile) {
  Model model = modelOf(kTwoReaders);
  model.graph.types["x"] = {ElementType::kFloat, {{std::nullopt, 3}}, {"batch size", ""}};
  for (const char* inner : {"a", "b", "c", "d", "y"})
    model.graph.types.erase(inner);
  const auto drawn = drawnGraph(placeOf(model.graph), {}, 100);
  EXPECT_EQ(drawn.nodes[0].extents, "batch size x 3");
  EXPECT_EQ(drawn.nodes[5].extents, "batch size x 3");
}

TEST(ChangeOfSite, IsTheOldNodesWhoseNameItBeginsWith) {
  Graph before;
  for (const char* name : {"conv1", "conv1/inner", "conv10"}) {
    before.nodes.emplace_back();
    before.nodes.back().name = name;
  }
  Changes changes;
  for (int i : {0, 1, 2})
    changes.changes.push_back({{i}, {}, {}, {}});
  for (const auto& [site, change] : std::vector<std::pair<const char*, int>>{{"conv1", 0},
                                                                             {"conv10", 2},
                                                                             {"conv1/y1", 0},
                                                                             {"conv1/inner", 1},
                                                                             {"conv1/inner/y1", 1},
                                                                             {"pet/conv/some-rule/conv1/y1", 0},
                                                                             {"pet/a/b/pet/conv/some-rule/conv10/y", 2},
                                                                             {"conv2", -1},
                                                                             {"pet/conv", -1},
                                                                             {"", -1}}) {
    EXPECT_EQ(changeOfSite(site, before, changes), change) << site;
  }
}

TEST(PageOf, TextOfTheModelIsNoMarkup) {
  Model model = modelOf(kTwoReaders);
  model.graph.nodes[0].name = "</script><script>alert(1)</script><!--";
  ApplyReport report;
  report.refused.push_back({"</script>", "pattern", "rule", {ReasonKind::kNoGain, "<b>"}});
  const std::string page = tool::pageOf({.title = "</title>",
                                         .headline = "",
                                         .before = model.graph,
                                         .after = model.graph,
                                         .report = report,
                                         .statements = {},
                                         .proof = "",
                                         .run = {}});
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(page, Not(HasSubstr("<b>")));
  EXPECT_THAT(page, Not(HasSubstr("</title></")));
  EXPECT_THAT(page, HasSubstr(R"("name":"\u003c/script>\u003cscript>alert(1))"));
  EXPECT_THAT(page, Not(HasSubstr("/* data */")));
}

TEST(PageOf, EmbedsTheDataThatTheReportIs) {
  const Model model = modelOf(kTwoReaders);
  ApplyReport report;
  report.refused.push_back({"a < b", "pattern", "rule", {ReasonKind::kNoGain, ""}});
  const tool::PageContent content{.title = "model.onnx",
                                  .headline = "</script>",
                                  .before = model.graph,
                                  .after = model.graph,
                                  .report = report,
                                  .statements = {},
                                  .proof = "",
                                  .run = {{"Model", "model.onnx"}}};
  const std::string page = tool::pageOf(content), begin = R"(id="data">)";
  const size_t from = page.find(begin) + begin.size();
  const auto embedded = nlohmann::json::parse(page.substr(from, page.find("</script>", from) - from));
  EXPECT_EQ(nlohmann::json::parse(tool::pageData(content)), embedded);
  EXPECT_EQ(embedded.at("headline"), "</script>");
  EXPECT_EQ(embedded.at("places").at(0).at("before").at("nodes").size(), 7U);
}

}  // namespace
}  // namespace pet::report_page_test
