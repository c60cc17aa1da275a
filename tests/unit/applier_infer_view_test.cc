// What an operator that pet does not know makes is an input of the view, if its extents follow.

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "applier/read/normalise.h"
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

// A LayerNormalization in pieces, between two products: Pow is no operator of pet's.
TEST(ApplierInferView, GoesOnBehindPow) {
  Graph graph = withOutput(graphOf(
      "x:f[2,5,8] w:f[8,8] two=f(2) eps=f(0.00001) a=MatMul(x,w) m=ReduceMean(a) axes=[-1] s=Sub(a,m) p=Pow(s,two) "
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

TEST(ApplierInferView, SymbolsAreNoExtents) {
  Graph graph = withOutput(graphOf("x:f[N,8] two=f(2) p=Pow(x,two) y=Relu(p)", 17));
  Normalised read = normalise(graph);
  EXPECT_THAT(valuesOf(read.view), ElementsAre());
  EXPECT_FALSE(read.opaque[1].empty());
}

}  // namespace pet::applier_infer_view_test
