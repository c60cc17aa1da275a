// Whole graphs on a session: which part is a program, extents that come with the inputs, subgraphs, what is refused.

#include <gmock/gmock.h>

#include "ir/ops/op.h"
#include "session/draw_inputs.h"
#include "session/fold.h"
#include "tests/unit/session_support.h"

namespace pet::session_test {
namespace {

using namespace testing_support;
using ::testing::HasSubstr;

/// "Relu Add | Gather | Mul": the operators of each stage's region, and of its nodes behind a colon.
std::string stagesOf(const Graph& graph) {
  const Normalised read = normalise(graph, {.freezeInputs = true});
  auto parts = session::partition(graph, read);
  if (!parts) return parts.error().message();
  std::vector<std::string> stages;
  for (const session::Stage& stage : parts->stages) {
    std::vector<std::string> words;
    for (int n : stage.region)
      words.emplace_back(read.view.program.nodes()[static_cast<size_t>(n)].op->name);
    std::string text = fmt::format("{}", fmt::join(words, " "));
    for (int n : stage.nodes)
      text += (text.empty() || text.back() == ' ' ? ":" : " :") + graph.nodes[static_cast<size_t>(n)].type;
    stages.push_back(text);
  }
  return fmt::format("{}", fmt::join(stages, " | "));
}

struct StageCase {
  std::string graph, stages;
};

TEST(SessionPartition, RegionsAreAsLargeAsTheNodesBetweenThemAllow) {
  const StageCase kCases[] = {
      {"x:f[2,3] a=Relu(x) b=Tanh(a) y=Mul(a,b)", "Relu Tanh Mul"},
      {"t:f[9,4] i:i[2] w:f[4,4] r=Gather(t,i) a=Relu(r) y=MatMul(a,w)", ":Gather | Relu MatMul"},
      // Another name of a value is no step.
      {"x:f[2] a=Relu(x) b=Identity(a) c=Tanh(a) z=Identity(b) y=Add(z,c)", "Relu Tanh Add"},
      {"x:f[2] a=Relu(x) y=Identity(a)", "Relu"},
      // What does not wait for the node is computed with what comes before it.
      {"x:f[2,2] i:i[2] a=Relu(x) g=Gather(a,i) b=Tanh(a) c=Add(g,b) y=Sigmoid(c)", "Relu Tanh :Gather | Add Sigmoid"},
      {"i:i[2] j=Neg(i) k=Abs(j) y=Cast(k) to=1", ":Neg :Abs :Cast"},
      // Nobody reads it.
      {"x:f[2] n=NonZero(x) y=Relu(x)", "Relu"},
      // The result's extents depend on values: all behind it is node by node.
      {"x:f[4] n=NonZero(x) g=Gather(x,n) y=Relu(g)", ":NonZero :Gather :Relu"},
  };
  for (const StageCase& c : kCases)
    EXPECT_EQ(stagesOf(sessionGraph(c.graph)), c.stages) << c.graph;
}

struct RunCase {
  std::string graph, feeds, results;
  std::vector<std::string> outputs = {};
};

TEST(Session, RunsWholeGraphs) {
  const RunCase kCases[] = {
      {"t:f[3,2] i:i[2] w:f[2,2] r=Gather(t,i) y=MatMul(r,w)", "t=f[3,2]{1,2,3,4,5,6} i=i[2]{2,0} w=f[2,2]{1,0,0,1}",
       "f[2,2]{5,6,1,2}"},
      {"x:f[4] n=NonZero(x) g=Gather(x,n) y=Relu(g)", "x=f[4]{0,3,-2,0}", "f[1,2]{3,0}", {"y"}},
      // An input, a constant and a value that is read twice as outputs
      {"k=i{4,5} x:f[1] y=Relu(x) z=Identity(y)",
       "x=f[1]{2}",
       "f[1]{2} i[2]{4,5} f[1]{2} f[1]{2}",
       {"x", "k", "y", "z"}},
      // A value with several names, all of them read
      {"x:f[2] a=Relu(x) b=Identity(a) n=NonZero(b) z=Identity(b)",
       "x=f[2]{-1,2}",
       "f[2]{0,2} f[2]{0,2} i[1,1]{1} f[2]{0,2}",
       {"a", "b", "n", "z"}},
      // Sizes, as exporters compute them
      {"x:f[a,b] i=i{0} m=i{-1} s=Shape(x) g=Gather(s,i) c=Concat(g,m) axis=0 r=Reshape(x,c) y=Relu(r)",
       "x=f[2,2]{1,-1,2,-2}", "f[2,2]{1,0,2,0}"},
      // Nothing to compute with
      {"x:f[n,2] a=Relu(x) y=Add(a,a)", "x=f[0,2]{}", "f[0,2]{}"},
      // A mask of integers
      {"x:f[2] m:i[2] one=f(1) low=f(-100) c=Cast(m) to=1 d=Sub(one,c) e=Mul(d,low) y=Add(x,e)",
       "x=f[2]{1,2} m=i[2]{1,0}", "f[2]{1,-98}"},
  };
  for (RunCase c : kCases) {
    // graphOf() has constants before the first node only.
    EXPECT_EQ(ran(sessionGraph(c.graph, 17, c.outputs), c.feeds), c.results) << c.graph;
  }
}

/// The operators of each program that an engine is asked for.
std::vector<std::string> askedFor(const std::string& text) {
  std::vector<std::string> programs;
  const ProgramEngine engine = [&](const Program& program, const InputSource<float>& weights) {
    std::string operators;
    for (const Node& node : program.nodes())
      operators += node.is(ops::kInput) ? "" : std::string(node.op->name) + " ";
    programs.push_back(operators);
    return referenceEngine()(program, weights);
  };
  auto session = session::ModelSession::of({.graph = sessionGraph(text), .file = nullptr}, "test", {engine, nullptr},
                                           {.plans = 1});
  EXPECT_TRUE(session) << session.error().message();
  EXPECT_EQ(session ? ran(**session, "t=i[2]{1,2} x=f[2]{1,-1}").substr(0, 4) : "", "f[2]");
  return programs;
}

TEST(Session, ALittleBetweenNodesIsNotTheEngines) {
  // Angles and their sines; what comes behind is an output.
  EXPECT_EQ(askedFor("t:i[2] x:f[2] c=Cast(t) to=1 m=Mul(c,c) s=Sin(m) y=Relu(s)"), std::vector<std::string>{"Relu "});
  // An output by another name
  EXPECT_EQ(askedFor("t:i[2] x:f[2] c=Cast(t) to=1 m=Mul(c,c) s=Sin(m) r=Relu(s) y=Identity(r)"),
            std::vector<std::string>{"Relu "});
  // Read by the next program, too
  EXPECT_EQ(askedFor("t:i[2] x:f[2] c=Cast(t) to=1 m=Mul(c,c) s=Sin(m) y=Add(s,m)"),
            (std::vector<std::string>{"Square ", "Add "}));
}

Graph subgraph(const std::string& text, const std::vector<std::string>& outputs) {
  Graph graph = sessionGraph(text, 17, outputs);
  return graph;
}

void addBody(Graph& graph, const std::string& name, Graph body) {
  body.opset = graph.opset;
  graph.nodes.back().captured = capturedBy(body);
  graph.nodes.back().attributes[name] = std::make_shared<const Graph>(std::move(body));
}

TEST(Session, RunsSubgraphs) {
  Graph choice = sessionGraph("c:b[] x:f[2] y=If(c)");
  addBody(choice, "then_branch", subgraph("a=Neg(x)", {"a"}));
  addBody(choice, "else_branch", subgraph("a=Relu(x)", {"a"}));
  choice.nodes.back().captured = {"x"};
  EXPECT_EQ(ran(choice, "c=b[]{1} x=f[2]{1,-2}"), "f[2]{-1,2}");
  EXPECT_EQ(ran(choice, "c=b[]{0} x=f[2]{1,-2}"), "f[2]{1,0}");
  // x is doubled as long as it is below 20; each value is kept.
  Graph loop = sessionGraph("m:i[] c:b[] x:f[1] y,z=Loop(m,c,x)");
  addBody(loop, "body",
          subgraph("i:i[] g:b[] v:f[1] l=f{20} d=Add(v,v) b=Less(d,l) k=Identity(d) "
                   "t=Squeeze(b)",
                   {"t", "d", "k"}));
  EXPECT_EQ(ran(loop, "m=i[]{9} c=b[]{1} x=f[1]{3}"), "f[1]{24} f[3,1]{6,12,24}");
  EXPECT_EQ(ran(loop, "m=i[]{2} c=b[]{1} x=f[1]{3}"), "f[1]{12} f[2,1]{6,12}");
}

TEST(Session, PlansForExtentsAndKeepsTheLast) {
  auto session = sessionOf(sessionGraph("x:f[n,2] a=Relu(x) y=Neg(a)"), 2);
  ASSERT_TRUE(session.has_value()) << session.error().message();
  EXPECT_EQ((*session)->plans(), 0U);
  EXPECT_EQ(ran(**session, "x=f[1,2]{1,-1}"), "f[1,2]{-1,-0}");
  EXPECT_EQ(ran(**session, "x=f[2,2]{1,-1,2,3}"), "f[2,2]{-1,-0,-2,-3}");
  EXPECT_EQ(ran(**session, "x=f[1,2]{4,5}"), "f[1,2]{-4,-5}");
  EXPECT_EQ((*session)->plans(), 2U);
  EXPECT_EQ(ran(**session, "x=f[3,2]{1,2,3,4,5,6}"), "f[3,2]{-1,-2,-3,-4,-5,-6}");
  EXPECT_EQ((*session)->plans(), 2U);
}

TEST(Session, SaysWhatIsWrongWithInputs) {
  auto session = sessionOf(sessionGraph("x:f[n,2] z:f[n,2] y=Add(x,z)"));
  ASSERT_TRUE(session.has_value());
  const std::pair<const char*, const char*> kCases[] = {
      {"x=f[1,2]{1,1}", "no value for the input 'z'"},
      {"x=f[1,2]{1,1} z=f[1,2]{1,1} w=f[1]{1}", "it has no input 'w'"},
      {"x=i[1,2]{1,1} z=f[1,2]{1,1}", "input 'x' is of float32, not of int64"},
      {"x=f[1,3]{1,1,1} z=f[1,2]{1,1}", "input 'x' has extents [1, 3]: dimension 1 differs"},
      {"x=f[2]{1,1} z=f[1,2]{1,1}", "another rank"},
      {"x=f[1,2]{1,1} z=f[2,2]{1,1,1,1}", "input 'z' has extents [2, 2]: n is 1 elsewhere"},
  };
  for (const auto& [feeds, said] : kCases)
    EXPECT_THAT(ran(**session, feeds), HasSubstr(said));
}

TEST(Session, NamesWhatNothingComputes) {
  Graph graph = sessionGraph("x:f[2] a=Relu(x) b=Frobnicate(a) y=Frobnicate(b)");
  EXPECT_THAT(ran(graph, "x=f[2]{1,2}"),
              HasSubstr("node 'b' (Frobnicate): an operator that is not known, and so are 1 more"));
  graph.nodes[1].standard = false;
  graph.nodes[1].domain = "ai.bar";
  EXPECT_THAT(ran(graph, "x=f[2]{1,2}"), HasSubstr("an operator of the domain ai.bar"));
  // Nobody reads it.
  graph.outputs = {"a"};
  EXPECT_EQ(ran(graph, "x=f[2]{1,-2}"), "f[2]{1,0}");
}

TEST(Session, FoldsWhatIsTheSameInEveryRun) {
  const Graph graph = sessionGraph("k=i{2,3} x:f[a,4] s=Shape(x) n=Neg(k) y=Concat(s,n) axis=0");
  const Graph bound = session::bound(graph, {{"x", {5, 4}}});
  EXPECT_EQ(bound.types.at("x").extents(), (Extents{5, 4}));
  EXPECT_TRUE(session::folded(bound, infer(bound, {.freezeInputs = true})).nodes.empty());
  EXPECT_EQ(session::folded(graph, infer(graph, {.freezeInputs = true})).nodes.size(), 2U);
}

// As exporters make positions within each image of those within all of them.
TEST(Session, KnowsThePositionsOfSingleElements) {
  const Graph graph = sessionGraph(
      "b=i{0,0} e=i{1,1} k=i{2,3} x:f[n,2,1,2] u,v=MaxPool(x) kernel_shape=[1,1] c=Slice(v,b,e,k) y=Neg(c) z=Abs(u)",
      17, {"y", "z"});
  const Graph bound = session::bound(graph, {{"x", {2, 2, 1, 2}}});
  const Graph folded = session::folded(bound, infer(bound, {.freezeInputs = true}));
  EXPECT_TRUE(std::none_of(folded.initializers.begin(), folded.initializers.end(),
                           [](const Initializer& i) { return i.name == "v" || i.name == "c"; }));
  EXPECT_EQ(ran(graph, "x=f[2,2,1,2]{1,2,-3,4,5,6,7,8}"), "i[2,2,1,1]{0,-2,-4,-6} f[2,2,1,2]{1,2,3,4,5,6,7,8}");
}

// (x - 1) / 2 by (w - 0): [0.5, 1.5] · [2, 1], in halves above 3.
TEST(Session, PacksOfIntegersAreProductsOfNumbers) {
  const Graph graph =
      sessionGraph("s=f(0.5) u=f(1) o=f(0.5) x:u[1,2] z:u[] w:u[2,1] v:u[] q:u[] y=QLinearMatMul(x,s,z,w,u,v,o,q)");
  EXPECT_EQ(ran(graph, "x=u[1,2]{2,4} z=u[]{1} w=u[2,1]{2,1} v=u[]{0} q=u[]{3}"), "u[1,1]{8}");
}

TEST(Session, DrawsInputs) {
  auto session = sessionOf(sessionGraph("x:f[n,2] i:i[n] y=Gather(x,i)"));
  ASSERT_TRUE(session.has_value());
  auto open = session::drawInputs(**session, {});
  ASSERT_FALSE(open.has_value());
  EXPECT_THAT(open.error().message(), HasSubstr("'n'"));
  auto drawn = session::drawInputs(**session, {.seed = 3, .positive = true, .dims = {{"n", 4}}, .shapes = {}});
  ASSERT_TRUE(drawn.has_value());
  EXPECT_EQ(drawn->at("x").extents, (Extents{4, 2}));
  for (float x : drawn->at("x").values<float>().data)
    EXPECT_GE(x, 1.0F / 64);
  for (int64_t i : drawn->at("i").values<int64_t>().data)
    EXPECT_TRUE(i == 0 || i == 1);
  EXPECT_FALSE(
      session::drawInputs(**session, {.seed = 0, .positive = false, .dims = {{"m", 4}}, .shapes = {}}).has_value());
}

}  // namespace
}  // namespace pet::session_test
