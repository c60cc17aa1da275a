// Subgraphs and functions: what is inferred of them, calls that are inlined, graphs that are opened and closed again.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>

#include "applier/measure/extract.h"
#include "applier/onnx/inline.h"
#include "applier/round/places.h"
#include "tests/unit/applier_support.h"
#include "tests/unit/graph_text.h"

namespace pet::applier_subgraphs_test {
namespace {

using namespace testing_support;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A graph as graph_text.h has it, and behind "->" its outputs.
Graph graphWith(const std::string& text, int64_t opset = 17) {
  size_t arrow = text.find(" -> ");
  Graph graph = testing_support::graphOf(text.substr(0, arrow), opset);
  graph.outputs = split(text.substr(arrow + 4), ',');
  return graph;
}

/// The last node's attributes are these subgraphs.
void attach(Graph& graph, const std::vector<std::pair<std::string, std::string>>& subgraphs) {
  std::set<std::string> captured;
  for (const auto& [name, text] : subgraphs) {
    Graph inner = graphWith(text, graph.opset);
    inner.captured = capturedBy(inner);
    captured.insert(inner.captured.begin(), inner.captured.end());
    graph.nodes.back().attributes[name] = std::make_shared<const Graph>(std::move(inner));
  }
  graph.nodes.back().captured.assign(captured.begin(), captured.end());
}

std::string shown(const InferredType& type) {
  if (type.kind == InferredType::Kind::kUnknown) return "unknown";
  return std::string(str(type.element)) + (type.dims ? str(*type.dims) : " ?");
}

// --- Types ---

struct ControlCase {
  int64_t opset;
  const char* graph;  ///< its last node gets the subgraphs
  std::vector<std::pair<std::string, std::string>> subgraphs;
  const char* results;  ///< of the last node, joined by "; "
};

const char* const kOn = "i:? g:b[] s:? on=Identity(g) ";

const ControlCase kControl[] = {
    // If
    {17,
     "x:f[N,3] c:b[] y=If(c) -> y",
     {{"then_branch", "t=Relu(x) -> t"}, {"else_branch", "e=Neg(x) -> e"}},
     "float[N, 3]"},
    {17,
     "x:f[N,3] z:f[M,3] c:b[] y=If(c) -> y",
     {{"then_branch", "t=Relu(x) -> t"}, {"else_branch", "t=Neg(z) -> t"}},
     "float[d1, 3]"},
    {17,
     "x:f[N,3] z:f[3] c:b[] y=If(c) -> y",
     {{"then_branch", "t=Relu(x) -> t"}, {"else_branch", "t=Neg(z) -> t"}},
     "float ?"},
    {17,
     "x:f[3] z:i[3] c:b[] y=If(c) -> y",
     {{"then_branch", "t=Relu(x) -> t"}, {"else_branch", "t=Neg(z) -> t"}},
     "unknown"},
    {17,
     "x:f[N,3] z:f[3] k=i(1) c=Cast(k) to=9 y=If(c) -> y",
     {{"then_branch", "t=Relu(x) -> t"}, {"else_branch", "t=Neg(z) -> t"}},
     "float[N, 3]"},
    {17,
     "x:f[N,3] z:f[3] k=i(0) c=Cast(k) to=9 y=If(c) -> y",
     {{"then_branch", "t=Relu(x) -> t"}, {"else_branch", "t=Neg(z) -> t"}},
     "float[3]"},
    // A branch that is never taken may not fit its operands.
    {17,
     "x:f[4,2] k=i{0} n=i(0) c=Cast(n) to=9 y=If(c) -> y",
     {{"then_branch", "t=Squeeze(x,k) -> t"}, {"else_branch", "e=Neg(x) -> e"}},
     "float[4, 2]"},
    {17,
     "x:f[N,3] c:b[] y=If(c) -> y",
     {{"then_branch", "t=Mystery(x) -> t"}, {"else_branch", "e=Neg(x) -> e"}},
     "unknown"},
    // Sizes that are computed inside from those outside
    {17,
     "x:f[N,6] c:b[] y=If(c) -> y",
     {{"then_branch", "q=Shape(x) t=Expand(x,q) -> t"}, {"else_branch", "e=Neg(x) -> e"}},
     "float[N, 6]"},
    // Loop: what is carried keeps its extents, or not; what is collected has one dimension more.
    {17,
     "x:f[N,3] m=i(7) y,z=Loop(m,,x) -> y",
     {{"body", "t=Relu(s) u=Neg(t) -> on,t,u"}},
     "float[N, 3]; float[7, N, 3]"},
    {17,
     "x:f[N,3] m:i[] y,z=Loop(m,,x) -> y",
     {{"body", "t=Relu(s) u=Neg(t) -> on,t,u"}},
     "float[N, 3]; float[d1, N, 3]"},
    {17, "x:f[N,3] y,z=Loop(,,x) -> y", {{"body", "t=Relu(s) u=Neg(t) -> on,t,u"}}, "float[N, 3]; float[d1, N, 3]"},
    {17,
     "x:f[N,3] m=i(7) c:b[] y,z=Loop(m,c,x) -> y",
     {{"body", "t=Relu(s) u=Neg(t) -> on,t,u"}},
     "float[N, 3]; float[d1, N, 3]"},
    {17,
     "x:f[N,3] q:b[] m=i(7) y,z=Loop(m,,x) -> y",
     {{"body", "t=Relu(s) u=Neg(t) -> q,t,u"}},
     "float[N, 3]; float[d1, N, 3]"},
    {17,
     "x:f[N,3] m=i(7) y,z=Loop(m,,x) -> y",
     {{"body", "t=Concat(s,s) axis=0 u=Neg(s) -> on,t,u"}},
     "float[d3, 3]; float[7, d2, 3]"},
    {17, "x:f[3] k=i{0} m=i(7) y=Loop(m,,x) -> y", {{"body", "t=Unsqueeze(s,k) -> on,t"}}, "float ?"},
    {17, "x:f[3,4] m=i(7) y=Loop(m,,x) -> y", {{"body", "t=Transpose(s) perm=[1,0] -> on,t"}}, "float[d3, d4]"},
    {17, "x:f[4,4] m=i(7) y=Loop(m,,x) -> y", {{"body", "t=Transpose(s) perm=[1,0] -> on,t"}}, "float[4, 4]"},
    {17, "x:f[N] m=i(7) z=Loop(m,) -> z", {{"body", "u=NonZero(x) -> on,u"}}, "int64[7, 1, d2]"},
    // A size that each execution makes larger is not known to be the first.
    {17,
     "x:f[N,3] k=i{2,3} m=i(7) y,z=Loop(m,,k) -> y",
     {{"body", "t=Add(s,s) u=Expand(x,s) -> on,t,u"}},
     "int64[2]; float[7, d4, 3]"},
    // Scan
    {17,
     "x:f[3] v:f[T,3] y,z=Scan(x,v) num_scan_inputs=1 -> y",
     {{"body", "s:? e:? t=Add(s,e) u=Neg(t) -> t,u"}},
     "float[3]; float[T, 3]"},
    {17,
     "v:f[3,T] z=Scan(v) num_scan_inputs=1 scan_input_axes=[-1] scan_output_axes=[1] -> z",
     {{"body", "e:? u=Neg(e) -> u"}},
     "float[3, T]"},
    {8,
     "l:i[] x:f[1,3] v:f[1,T,3] y=Scan(l,x,v) num_scan_inputs=1 -> y",
     {{"body", "s:? e:? t=Add(s,e) -> t"}},
     "unknown"},
};

TEST(Subgraphs, TypesOfResults) {
  for (const ControlCase& c : kControl) {
    Graph graph = graphWith(c.graph, c.opset);
    auto subgraphs = c.subgraphs;
    for (auto& [name, text] : subgraphs) {
      if (graph.nodes.back().type == "Loop")
        text = (graph.nodes.back().inputs.size() > 2 ? kOn : "i:? g:b[] on=Identity(g) ") + text;
    }
    attach(graph, subgraphs);
    Inference inference = infer(graph);
    EXPECT_TRUE(inference.problems.empty()) << c.graph << " " << inference.problems[0].text;
    std::vector<std::string> results;
    for (const std::string& name : graph.nodes.back().outputs)
      results.push_back(shown(inference.types[name]));
    EXPECT_EQ(fmt::format("{}", fmt::join(results, "; ")), c.results) << c.graph << " " << subgraphs[0].second;
  }
}

TEST(Subgraphs, ValuesInsideAreOfTheLastRound) {
  Graph graph = graphWith("x:f[N,3] m=i(7) y=Loop(m,,x) -> y");
  attach(graph, {{"body", "i:? g:? s:? on=Identity(g) a=Relu(s) t=Concat(a,a) axis=0 -> on,t"}});
  Inference inference = infer(graph);
  ASSERT_EQ(inference.inside.size(), 1U);
  auto& types = inference.inside.begin()->second.types;
  EXPECT_EQ(shown(types["a"]), "float[d1, 3]");  // not N
  EXPECT_EQ(shown(types["t"]), "float[2d1, 3]");
}

/// What an exporter saw in the first execution.
TEST(Subgraphs, DeclarationsDoNotSayWhatChanges) {
  Graph graph = graphWith("x:f[2,3] m=i(7) y=Loop(m,,x) -> y");
  attach(graph, {{"body", "i:? g:? s:f[2,3] on=Identity(g) a=Relu(s) t=Concat(a,a) axis=0 -> on,t"}});
  Graph body = *std::get<Subgraph>(graph.nodes[0].attributes["body"]);
  body.types["a"] = valueTypeOf("f[2,3]");
  graph.nodes[0].attributes["body"] = std::make_shared<const Graph>(std::move(body));
  graph.types["y"] = valueTypeOf("f[256,3]");
  Inference inference = infer(graph);
  EXPECT_EQ(shown(inference.inside.begin()->second.types["a"]), "float[d1, 3]");
  EXPECT_EQ(shown(inference.types["y"]), "float[256, 3]");
}

TEST(Subgraphs, ProblemsInsideNameTheNodes) {
  Graph graph = graphWith("x:f[N,3] c:b[] y=If(c) -> y");
  attach(graph, {{"then_branch", "t=Relu(x,x) -> t"}, {"else_branch", "e=Neg(x) -> e"}});
  Inference inference = infer(graph);
  ASSERT_EQ(inference.problems.size(), 1U);
  EXPECT_EQ(inference.problems[0].text, "in node 'y' (If), node 't' (Relu): has 2 operands, not 1");
}

/// Each level's body is inferred more than once for each round of the level around it: there is an end to it.
TEST(Subgraphs, LoopsInLoopsTakeBoundedTime) {
  auto text = [](int depth) { return fmt::format("i{0}:? g{0}:? s{0}:? on{0}=Identity(g{0}) ", depth); };
  constexpr int kDepth = 23;
  Graph body = graphWith(text(kDepth) + fmt::format("t{0}=Concat(s{0},s{0}) axis=0 -> on{0},t{0}", kDepth));
  for (int d = kDepth - 1; d >= 0; --d) {
    Graph around = graphWith(text(d) + fmt::format("t{0}=Loop(m,,s{0}) -> on{0},t{0}", d));
    body.captured = capturedBy(body);
    around.nodes.back().captured = body.captured;
    around.nodes.back().attributes["body"] = std::make_shared<const Graph>(std::move(body));
    body = std::move(around);
  }
  Graph graph = graphWith("x:f[2,3] m=i(7) y=Loop(m,,x) -> y");
  body.captured = capturedBy(body);
  graph.nodes.back().captured = body.captured;
  graph.nodes.back().attributes["body"] = std::make_shared<const Graph>(std::move(body));
  Inference inference = infer(graph);
  EXPECT_TRUE(inference.problems.empty());
}

// --- Functions ---

std::shared_ptr<Function> functionOf(const std::string& name, const std::string& body) {
  auto function = std::make_shared<Function>();
  function->name = name;
  function->domain = "mine";
  function->body = graphWith(body);
  function->opsets = {{"", 17}};
  return function;
}

/// Nodes of the function's name become its calls.
void link(Graph& graph, const std::shared_ptr<const Function>& function) {
  for (GraphNode& n : graph.nodes) {
    if (n.type != function->name) continue;
    n.standard = false;
    n.domain = function->domain;
    n.callee = function;
  }
}

TEST(Functions, CallsAgreeOrNot) {
  struct Case {
    const char* graph;
    bool agree;
    const char* result;  ///< of the last call
  };
  for (const Case& c : {Case{"x:f[N,3] a=F(x,x) y=F(a,x) -> y", true, "float[N, 3]"},
                        {"x:f[N,3] z:f[4] a=F(x,x) y=F(z,z) -> a,y", false, "float[4]"},
                        {"x:f[3] z:i[3] a=F(x,x) y=F(z,z) -> a,y", false, "int64[3]"},
                        {"x:f[3] w=f{1,2,3} v=f{1,2,3} a=F(x,w) y=F(x,v) -> a,y", true, "float[3]"},
                        {"x:f[3] w=f{1,2,3} v=f{1,2,4} a=F(x,w) y=F(x,v) -> a,y", false, "float[3]"},
                        {"x:f[3] w=f{1,2,3} z:f[3] a=F(x,w) y=F(x,z) -> a,y", false, "float[3]"},
                        {"x:f[3] a=F(x,x) y=F(x,) -> a,y", false, "float[3]"},
                        {"x:f[3] a=F(x,x) y=F(x,x) alpha=2 -> a,y", false, "float[3]"}}) {
    auto function = functionOf("F", "p:? q:? r=Clip(p,) s=Relu(r) -> s");
    Graph graph = graphWith(c.graph);
    link(graph, function);
    Inference inference = infer(graph);
    EXPECT_TRUE(inference.problems.empty()) << inference.problems[0].text;
    EXPECT_EQ(inference.functions.at(function.get()).agree, c.agree) << c.graph;
    EXPECT_EQ(shown(inference.types["y"]), c.result) << c.graph;
  }
}

/// A function that is called from where pet does not look may get anything; so do those that it calls.
TEST(Functions, CallsThatAreNotSeen) {
  auto inner = functionOf("G", "p:? q=Relu(p) -> q");
  auto outer = functionOf("F", "p:? q=G(p) -> q");
  link(outer->body, inner);
  Graph graph = graphWith("x:f[3] a=F(x) b=G(a) y=Mystery(b) -> y");
  link(graph, inner);
  link(graph, outer);
  EXPECT_TRUE(infer(graph).functions.at(inner.get()).agree);
  graph.nodes.back().hiddenCalls = {outer};
  Inference inference = infer(graph);
  EXPECT_FALSE(inference.functions.at(outer.get()).agree);
  EXPECT_FALSE(inference.functions.at(inner.get()).agree);
}

/// Each function calls the next twice, with other extents: a million calls.
TEST(Functions, ManyCallsTakeBoundedTime) {
  auto next = functionOf("F0", "p:? q=Relu(p) -> q");
  for (int i = 1; i <= 20; ++i) {
    auto caller =
        functionOf(fmt::format("F{}", i), fmt::format("p:? a=F{0}(p) b=Concat(p,p) axis=0 c=F{0}(b) -> c", i - 1));
    link(caller->body, next);
    caller->depth = next->depth + 1;
    next = caller;
  }
  Graph graph = graphWith("x:f[2] y=F20(x) -> y");
  link(graph, next);
  EXPECT_FALSE(infer(graph).functions.at(next.get()).agree);
  Inlined inlined = inlineCalls({.graph = graph, .file = nullptr}, [](const GraphNode&) { return true; });
  EXPECT_LE(inlined.model.graph.nodes.size(), kMostInlinedNodes);
}

std::string nodesOf(const Graph& graph) {
  std::string text;
  for (const GraphNode& n : graph.nodes)
    text += fmt::format("{}{}={}({})", text.empty() ? "" : " ", fmt::join(n.outputs, ","), n.type,
                        fmt::join(n.inputs, ","));
  return text;
}

TEST(Functions, Inlining) {
  struct Case {
    const char *body, *graph, *inlined;
  };
  for (const Case& c :
       {Case{"p:? q=Relu(p) r=Neg(q) -> r", "x:f[3] y=F(x) -> y", "y/q=Relu(x) y=Neg(y/q)"},
        {"p:? q=Relu(p) -> q", "x:f[3] q=Neg(x) y=F(q) -> y", "q=Neg(x) y=Relu(q)"},
        {"p:? q=Relu(p) r=Neg(q) -> q,r", "x:f[3] ,y=F(x) -> y", "y/q=Relu(x) y=Neg(y/q)"},
        // A result that is an operand, and one value twice
        {"p:? q=Relu(p) -> p,q,q", "x:f[3] a,b,c=F(x) -> a,b,c", "b=Relu(x) a=Identity(x) c=Identity(b)"},
        {"p:? l:? h:? q=Clip(p,l,h) -> q", "x:f[3] y=F(x,,x) -> y", "y=Clip(x,,x)"},
        {"p:? l:? h:? q=Clip(p,l,h) -> q", "x:f[3] y=F(x) -> y", "y=Clip(x,,)"}}) {
    auto function = functionOf("F", c.body);
    Graph graph = graphWith(c.graph);
    link(graph, function);
    ASSERT_EQ(whyNotInlined(graph.nodes.back(), {{"", 17}}), "");
    Inlined inlined = inlineCalls({.graph = graph, .file = nullptr}, [](const GraphNode&) { return true; });
    EXPECT_EQ(nodesOf(inlined.model.graph), c.inlined);
    EXPECT_THAT(inlined.model.inlined, ElementsAre("mine:F"));
    EXPECT_THAT(changedCalls(inlined.calls, inlined.model.graph), IsEmpty());
  }
}

TEST(Functions, CallsAroundAChangeAreChanged) {
  auto inner = functionOf("G", "p:? q=Relu(p) -> q");
  auto outer = functionOf("F", "p:? a=G(p) b=Neg(a) -> b");
  link(outer->body, inner);
  Graph graph = graphWith("x:f[3] a=F(x) y=F(a) -> y");
  link(graph, outer);
  Inlined inlined = inlineCalls({.graph = graph, .file = nullptr}, [](const GraphNode&) { return true; });
  EXPECT_EQ(nodesOf(inlined.model.graph), "a/a=Relu(x) a=Neg(a/a) y/a=Relu(a) y=Neg(y/a)");
  Graph after = inlined.model.graph;
  after.nodes.erase(after.nodes.begin());
  EXPECT_THAT(changedCalls(inlined.calls, after), ElementsAre("a", "a/a"));
}

TEST(Functions, WhyNotInlined) {
  auto function = functionOf("F", "p:? q=Relu(p) -> q");
  Graph graph = graphWith("x:f[3] y=F(x) -> y");
  link(graph, function);
  EXPECT_EQ(whyNotInlined(graph.nodes[0], {{"", 18}}), "a function of opset 17, which is not the model's");
  EXPECT_EQ(whyNotInlined(graph.nodes[0], {}), "a function of opset 17, which is not the model's");
  graph.nodes[0].attributes["sparse"] = std::monostate();
  EXPECT_EQ(whyNotInlined(graph.nodes[0], {{"", 17}}), "a function with an attribute that is not looked into");
}

// --- Graphs of their own ---

TEST(Subgraphs, OpenedAndClosed) {
  Graph graph = graphWith("x:f[N,3] w=f{1,2,3} v=f{4,5,6} c:b[] a=Relu(x) y=If(c) -> y");
  graph.initializers[1].overridable = true;
  attach(graph, {{"then_branch", "b=Mul(a,w) t=Add(b,v) -> t"}, {"else_branch", "e=Neg(a) -> e"}});
  const Inference inference = infer(graph);
  const Place main = mainPlace(graph, inference);
  auto places = placesWithin(main, inference);
  ASSERT_EQ(places.size(), 2U);
  EXPECT_EQ(places[1].place.path, "y/then_branch/");
  const Graph& open = places[1].place.graph;
  EXPECT_THAT(open.inputs, ElementsAre("a", "v"));
  ASSERT_EQ(open.initializers.size(), 1U);
  EXPECT_EQ(open.initializers[0].name, "w");
  EXPECT_EQ(shown(places[1].place.inference.types.at("t")), "float[N, 3]");
  const auto& subgraph = *std::get<Subgraph>(graph.nodes.back().attributes.at("then_branch"));
  const Graph closed = closeGraph(open, subgraph);
  EXPECT_THAT(closed.initializers, IsEmpty());
  EXPECT_THAT(closed.inputs, IsEmpty());
  EXPECT_THAT(closed.captured, ElementsAre("a", "v", "w"));
}

/// What --measure times of a subgraph has the weights from outside.
TEST(Subgraphs, PartsToBeTimed) {
  Graph graph = graphWith("x:f[2,3] w=f{1,2,3} c:b[] y=If(c) -> y");
  attach(graph, {{"then_branch", "b=Mul(x,w) t=Relu(b) -> t"}, {"else_branch", "e=Neg(x) -> e"}});
  const Inference inference = infer(graph);
  auto places = placesWithin(mainPlace(graph, inference), inference);
  const Place& place = places[1].place;
  const ValueTypes types = typesOf(place.graph, place.inference.types, {});
  auto part = extract({place.graph, nullptr, true}, types, partOf(place.graph, types, {0}));
  ASSERT_TRUE(part.has_value()) << part.error().message();
  part->file = nullptr;
  auto bytes = serialize(*part);
  ASSERT_TRUE(bytes.has_value());
  auto again = parseModel(*bytes, "part");
  ASSERT_TRUE(again.has_value()) << again.error().message();
  EXPECT_EQ(nodesOf(again->graph), "b=Mul(x,w)");
  EXPECT_THAT(again->graph.inputs, ElementsAre("x"));
}

/// Through a file: two branches, nested, whose new weights would have the same names.
TEST(Subgraphs, NamesOfAllGraphsDiffer) {
  Graph graph = graphWith("x:f[1,2,6,6] c=i(1) y=If(c) -> y");
  graph.types["y"] = graph.types["x"];
  graph.types["c"] = {ElementType::kBool, std::vector<std::optional<int64_t>>{}};
  graph.initializers.clear();
  graph.inputs.push_back("c");
  graph.initializers.push_back({"w", Constant::of(integers({2, 2, 3, 3}, 5))});
  attach(graph,
         {{"then_branch", "p=Conv(x,w) pads=[1,1,1,1] -> p"}, {"else_branch", "p=Conv(x,w) pads=[1,1,1,1] -> p"}});
  for (const char* branch : {"then_branch", "else_branch"}) {
    Graph inner = *std::get<Subgraph>(graph.nodes[0].attributes[branch]);
    inner.nodes[0].name = "conv";
    inner.types["p"] = graph.types["x"];
    graph.nodes[0].attributes[branch] = std::make_shared<const Graph>(std::move(inner));
  }
  auto bytes = serialize({graph, nullptr});
  ASSERT_TRUE(bytes.has_value());
  auto model = parseModel(*bytes, "test");
  ASSERT_TRUE(model.has_value()) << model.error().message();
  Applied a = applied(*model, rulesOf(dataText("conv.pet")), all());
  ASSERT_EQ(a.report.fired.size(), 2U);
  EXPECT_EQ(a.report.fired[0].site, "y/else_branch/conv");
  auto again = parseModel(bytesOf(a), "again");
  ASSERT_TRUE(again.has_value());
  std::set<std::string> names;
  size_t count = 0;
  forEachSubgraph(again->graph.nodes[0], [&](const auto&, const Subgraph& inner) {
    EXPECT_EQ(types(*inner), "ConvTranspose");
    ++count;
    for (const Initializer& i : inner->initializers)
      names.insert(i.name);
  });
  EXPECT_EQ(count, 2U);
  EXPECT_EQ(names.size(), 2U);
  EXPECT_THAT(again->graph.initializers, IsEmpty());
}

TEST(Subgraphs, NestedTooDeep) {
  auto nested = [](size_t depth) {
    Graph inner = graphWith("t=Neg(x) -> t");
    for (size_t i = 0; i < depth; ++i) {
      inner.captured = capturedBy(inner);
      Graph outer = graphWith(fmt::format("t{0}=If(c) -> t{0}", i));
      outer.nodes[0].captured = inner.captured;
      for (const char* branch : {"then_branch", "else_branch"})
        outer.nodes[0].attributes[branch] = std::make_shared<const Graph>(inner);
      if (i > 0) outer.nodes[0].attributes["else_branch"] = std::make_shared<const Graph>(graphWith("e=Neg(x) -> e"));
      inner = std::move(outer);
    }
    inner.inputs = {"x", "c"};
    inner.types["x"] = inner.types[inner.outputs[0]] = valueTypeOf("f[3]");
    inner.types["c"] = valueTypeOf("b[]");
    auto bytes = serialize({inner, nullptr});
    return bytes ? parseModel(*bytes, "test") : Expected<Model>(tl::unexpected(bytes.error()));
  };
  EXPECT_TRUE(nested(kMostNestedGraphs).has_value());
  auto tooDeep = nested(kMostNestedGraphs + 1);
  ASSERT_FALSE(tooDeep.has_value());
  EXPECT_THAT(tooDeep.error().what, HasSubstr("subgraphs are nested more than 24 deep"));
}

}  // namespace
}  // namespace pet::applier_subgraphs_test
