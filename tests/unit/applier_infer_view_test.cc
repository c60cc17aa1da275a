// What an operator that pet does not know makes is an input of the view, if its extents follow.

#include <algorithm>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "applier/read/normalise.h"
#include "ir/ops/op.h"
#include "tests/unit/applier_support.h"
#include "tests/unit/graph_text.h"

namespace pet::applier_infer_view_test {

using ::testing::ElementsAre;
using namespace testing_support;

/// The ONNX values that the nodes of the view are, with their extents, and which of them are inputs.
std::vector<std::string> valuesOf(const View& view) {
  std::vector<std::string> values;
  for (const auto& [value, name] : view.names) {
    if (view.constants.contains(value.node)) continue;
    bool input = view.provenance[static_cast<size_t>(value.node)].origin < 0;
    values.push_back((input ? "input " : "") + name + str(view.program.shape(value)));
  }
  std::sort(values.begin(), values.end());
  return values;
}

Graph withOutput(Graph graph) {
  graph.outputs = {graph.nodes.back().outputs[0]};
  return graph;
}

// A LayerNormalization in pieces, between two products: a Pow is read where its exponent is a usual one.
TEST(ApplierInferView, GoesOnBehindPow) {
  Graph graph = withOutput(graphOf(
      "x:f[2,5,8] w:f[8,8] two=f(2.6) eps=f(0.00001) a=MatMul(x,w) m=ReduceMean(a) axes=[-1] s=Sub(a,m) p=Pow(s,two) "
      "v=ReduceMean(p) axes=[-1] e=Add(v,eps) q=Sqrt(e) d=Div(s,q) y=MatMul(d,w)",
      17));
  EXPECT_THAT(valuesOf(normalise(graph).view),
              ::testing::IsSupersetOf({"input p[2, 5, 8]", "v[2, 5, 1]", "d[2, 5, 8]", "y[2, 5, 8]"}));
}

TEST(ApplierInferView, GoesOnBehindWhatIsMadeFromSizes) {
  Graph graph = withOutput(
      graphOf("x:f[1,4,8,8] w:f[4,4,3,3] c:b[1,1,8,8] a=Conv(x,w) pads=[1,1,1,1] s=Shape(a) z=ConstantOfShape(s) "
              "t=Where(c,a,z) g=Cast(t) to=11 h=Cast(g) to=1 r=Relu(h) y=Conv(r,w)",
              17));
  EXPECT_THAT(valuesOf(normalise(graph).view),
              ::testing::IsSupersetOf({"a[1, 4, 8, 8]", "input h[1, 4, 8, 8]", "y[1, 4, 6, 6]"}));
}

// What only inference folds: Cast to int32, Where, a slice from the end.
TEST(ApplierInferView, SizesThatFollowFromExtentsAreConstants) {
  Graph graph = withOutput(
      graphOf("x:f[2,6,4] b=i{-2} e=i{9} z=i{0} k=i{3} s=Shape(x) n=Cast(s) to=6 m=Cast(n) to=7 t=Slice(m,b,e) "
              "o=Equal(t,z) w=Where(o,z,t) p=Concat(z,k,w) axis=0 f=ReduceProd(w) u=Concat(z,f) axis=0 y=Reshape(x,u)",
              17));
  EXPECT_THAT(valuesOf(normalise(graph).view), ElementsAre("input x[2, 6, 4]", "y[2, 24]"));
}

// The end of a Slice that goes to the end, on its way through an Unsqueeze.
TEST(ApplierInferView, TheLargestIntegerStaysExact) {
  Graph graph = withOutput(
      graphOf("x:f[2,6] e=i(9223372036854775807) b=i{2} a=i{1} z=i{0} u=Unsqueeze(e,z) y=Slice(x,b,u,a)", 17));
  EXPECT_THAT(valuesOf(normalise(graph).view), ElementsAre("input x[2, 6]", "y[2, 4]"));
}

/// What a graph makes of constants, as numbers; empty where its view computes it, or takes it from outside.
std::vector<double> foldedTo(const std::string& text) {
  const Normalised read = normalise(withOutput(graphOf("x:f[1] " + text + " f=Cast(y) to=1 z=Add(x,f)", 17)));
  for (const auto& [value, name] : read.view.names) {
    if (name != "f") continue;
    auto constant = read.view.constants.find(value.node);
    return constant == read.view.constants.end() ? std::vector<double>{} : constant->second.numbers().value();
  }
  return {};
}

// As exporters compute masks, once the sizes are numbers.
TEST(ApplierInferView, NumbersThatArePlacedByPositionAreConstants) {
  auto matrix = [](const std::string& constants) { return "k=i{1,2,3,4} s=i{2,2} " + constants + " m=Reshape(k,s) "; };
  const std::tuple<std::string, std::vector<double>> cases[] = {
      {"k=i{1,2,3} a=i(0) y=CumSum(k,a)", {1, 3, 6}},
      {"k=i{1,2,3} a=i(-1) y=CumSum(k,a) exclusive=1", {0, 1, 3}},
      {"k=i{1,2,3} a=i(0) y=CumSum(k,a) reverse=1", {6, 5, 3}},
      {matrix("a=i(0)") + "y=CumSum(m,a)", {1, 2, 4, 6}},
      {matrix("a=i(1)") + "y=CumSum(m,a)", {1, 3, 3, 7}},
      {"k=f{0.5,1} a=i(0) y=CumSum(k,a)", {}},
      {"k=i{5,6,7} j=i{2,-3} a=i{1} i=Unsqueeze(j,a) y=GatherND(k,i)", {7, 5}},
      {"k=i{5,6,7} j=i{3} a=i{1} i=Unsqueeze(j,a) y=GatherND(k,i)", {}},
      {matrix("j=i{1} a=i{1}") + "i=Unsqueeze(j,a) y=GatherND(m,i)", {3, 4}},
      {matrix("j=i{1,0} a=i{1}") + "i=Unsqueeze(j,a) y=GatherND(m,i) batch_dims=1", {2, 3}},
      {matrix("j=i{0,1} a=i{0}") + "i=Unsqueeze(j,a) y=GatherND(m,i)", {2}},
      {matrix("") + "y=Trilu(m)", {1, 2, 0, 4}},
      {matrix("") + "y=Trilu(m) upper=0", {1, 0, 3, 4}},
      {matrix("d=i(1)") + "y=Trilu(m,d)", {0, 2, 0, 0}},
      {"s=i{2,1024} y=ConstantOfShape(s) value=i{3}", std::vector<double>(2048, 3)},
  };
  for (const auto& [text, expected] : cases)
    EXPECT_EQ(foldedTo(text), expected) << text;
}

TEST(ApplierInferView, PowersWithAUsualExponentAreOtherOperators) {
  for (auto [exponent, op] : {std::pair("2", "Square"),
                              {"0.5", "Sqrt"},
                              {"-1", "Reciprocal"},
                              {"3", "Mul"},
                              {"0.75", "Pow"},
                              {"-4", "Pow"}}) {
    Graph graph = withOutput(graphOf("x:f[2,8] k=f(" + std::string(exponent) + ") y=Pow(x,k)", 17));
    Normalised read = normalise(graph);
    ASSERT_FALSE(read.view.program.outputs().empty()) << exponent;
    EXPECT_EQ(read.view.program.node(read.view.program.outputs()[0]).op->name, op) << exponent;
  }
}

TEST(ApplierInferView, ExtentsThatAreLeftOpenAreSymbols) {
  Graph graph = withOutput(graphOf("x:f[N,8] y=Relu(x)", 17));
  Normalised read = normalise(graph);
  EXPECT_THAT(valuesOf(read.view), ElementsAre("input x[N, 8]", "y[N, 8]"));
  EXPECT_EQ(read.sizes.least().at("N"), 1);
  EXPECT_EQ(read.sizes.samples().size(), 3U);
  Normalised even = normalise(graph, {.multiples = {{"N", 2}}});
  EXPECT_THAT(valuesOf(even.view), ElementsAre("input x[2N_per_2, 8]", "y[2N_per_2, 8]"));
}

constexpr const char* kProductOfInputs = R"(
pattern product { shape M K N : 1 <= M, 1 <= K, 1 <= N
  a: [M, K]
  b: [K, N]
  t = MatMul(a, b)
  y = Relu(t) }
rule turned of product {
  class M K N : 1 <= M, 1 <= K, 1 <= N
  numerics same-terms
  replacement {
    u = Transpose(a) perm=[1, 0]
    v = Transpose(b) perm=[1, 0]
    w = MatMul(v, u)
    r = Relu(w)
    y = Transpose(r) perm=[1, 0]
  }
})";

// The product itself says that B is A; two names alone would be two extents that no product has.
TEST(ApplierInferView, ExtentsThatAreDemandedToBeEqualAreOneSymbol) {
  Graph graph = withOutput(graphOf("x:f[N,A] w:f[B,M] p=MatMul(x,w) y=Relu(p)", 17));
  const Applied result = applied({graph, nullptr}, rulesOf(kProductOfInputs), all());
  ASSERT_EQ(result.report.fired.size(), 1U);
  EXPECT_EQ(result.report.fired[0].shapes.at("K").str(), "A");
  EXPECT_EQ(types(result.model.graph), "Transpose Transpose MatMul Relu Transpose");
}

}  // namespace pet::applier_infer_view_test
