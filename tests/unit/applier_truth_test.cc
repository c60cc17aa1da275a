// Comparisons of floating point: how models with them are read, and rewritten.

#include <gtest/gtest.h>

#include "ir/ops/op.h"
#include "tests/unit/applier_support.h"
#include "tests/unit/graph_text.h"

namespace pet::applier_truth_test {
namespace {

using namespace testing_support;

Graph withOutputs(Graph graph) {
  graph.outputs = graph.nodes.back().outputs;
  return graph;
}

const std::string kStart = "x:f[2,3] w:f[3] i:i[2,3] j:i[2,3] b:b[2,3] z=f(0) o=f(1) a=f(0.5) k=i(0) ";

std::string readAs(const std::string& text) {
  return operators(normalise(withOutputs(graphOf(kStart + text, 17))).view);
}

TEST(ApplierTruth, IsReadAsWhatItIs) {
  struct Case {
    std::string graph, operators;
  };
  const Case kCases[] = {
      {"c=Greater(x,w) y=Where(c,x,w)", "Greater Where"},
      {"c=Less(w,x) y=Where(c,x,w)", "Greater Where"},
      {"c=GreaterOrEqual(x,w) y=Where(c,x,w)", "Greater Where"},
      {"c=LessOrEqual(x,w) n=Not(c) y=Where(n,x,w)", "Greater Where"},
      {"c=Greater(x,w) y=Cast(c) to=7", "Greater Where"},
      {"c=Greater(x,w) y=Cast(c) to=1", "Greater Where"},
      {"c=Greater(x,w) y=Where(c,i,j)", "Greater Where"},
      {"y=Greater(x,w)", "Greater"},
      {"y=GreaterOrEqual(x,w)", "Greater Not"},
      {"y=ArgMax(x) axis=1", "ArgMax"},
      {"y=ArgMax(x) axis=-1 keepdims=0 select_last_index=1", "ArgMax Layout"},
      // What is one operator.
      {"c=Greater(x,z) y=Where(c,x,z)", "Relu"},
      {"c=Less(x,z) y=Where(c,z,x)", "Relu"},
      {"c=GreaterOrEqual(x,z) y=Where(c,x,z)", "Relu"},
      {"c=LessOrEqual(x,z) y=Where(c,z,x)", "Relu"},
      {"c=Greater(x,z) t=Cast(c) to=1 y=Mul(x,t)", "Relu"},
      {"t=Mul(x,a) c=Less(x,z) y=Where(c,t,x)", "LeakyRelu"},
      {"t=Mul(a,x) c=Greater(x,z) y=Where(c,x,t)", "LeakyRelu"},
      {"t=Neg(x) c=Greater(x,z) y=Where(c,x,t)", "Abs"},
      {"c=Greater(x,o) y=Where(c,x,z)", "Greater Where"},
      {"c=Greater(x,z) y=Where(c,z,x)", "Greater Where"},
      {"c=Greater(x,z) y=Where(c,x,o)", "Greater Where"},
      // Of integers, and truth values that come from elsewhere.
      {"c=Greater(i,j) y=Where(c,x,w)", ""},
      {"y=Where(b,x,w)", ""},
      {"y=Not(b)", ""},
      {"y=Cast(b) to=1", ""},
      {"c=Greater(x,w) d=And(c,b) y=Where(d,x,w)", "Greater"},
      {"y=ArgMax(i) axis=1", ""},
  };
  for (const Case& c : kCases)
    EXPECT_EQ(readAs(c.graph), c.operators) << c.graph;
}

constexpr const char* kRules = R"(
pattern which {
  shape N C
  x: [N, 2, C]
  y = ArgMax(x) axis=1
}
rule comparison of which {
  class N C : 1 <= N, 1 <= C
  numerics same-terms
  replacement {
    f = Slice(x) axes=[1] starts=[0] ends=[1]
    s = Slice(x) axes=[1] starts=[1] ends=[2]
    c = Greater(s, f)
    o = Constant() value=1
    z = Constant() value=0
    y = Where(c, o, z)
  }
}
pattern choice {
  shape M K
  x: [M, K]
  z = Constant() value=0
  c = Greater(x, z)
  y = Where(c, x, z)
}
rule one of choice {
  class M K : 1 <= K, 1 <= M
  numerics same-terms, spreads NaN
  replacement {
    y = Relu(x)
  }
}
pattern moved {
  shape M K
  x: [M, K]
  a: [M, K]
  o = Constant() value=1
  c = Greater(x, o)
  t = Where(c, x, a)
  y = Transpose(t) perm=[1, 0]
}
rule first of moved {
  class M K : 1 <= K, 1 <= M
  numerics same-terms
  replacement {
    u = Transpose(x) perm=[1, 0]
    b = Transpose(a) perm=[1, 0]
    o = Constant() value=1
    c = Greater(u, o)
    y = Where(c, u, b)
  }
}
)";

struct Rewriting {
  std::string graph, types;
};

// Each is checked at the site and as a whole, and read again.
TEST(ApplierTruth, IsRewritten) {
  const Rewriting kRewritings[] = {
      {"x:f[3,2,5] y=ArgMax(x) axis=1", "Slice Slice Greater Cast"},
      {"x:f[3,2,5] y=ArgMax(x) axis=1 keepdims=0", "Slice Slice Greater Cast Reshape"},
      {"x:f[3,2,5] w:f[5,5] v=MatMul(x,w) y=ArgMax(v) axis=1", "MatMul Slice Slice Greater Cast"},
      {"x:f[4,5] z=f(0) c=Greater(x,z) y=Where(c,x,z)", "Relu"},
      {"x:f[4,5] z=f(0) n=f(0) c=GreaterOrEqual(x,z) y=Where(c,x,n)", "Relu"},
      {"x:f[4,5] a:f[4,5] o=f(1) c=Less(o,x) t=Where(c,x,a) y=Transpose(t) perm=[1,0]",
       "Transpose Greater Transpose Where"},
  };
  const RuleSet rules = rulesOf(kRules);
  for (const Rewriting& r : kRewritings) {
    SCOPED_TRACE(r.graph);
    const Graph graph = withOutputs(graphOf(r.graph, 17));
    auto result = apply({graph, nullptr}, rules, {}, all());
    ASSERT_TRUE(result) << result.error().message();
    EXPECT_EQ(types(result->model.graph), r.types)
        << (result->report.refused.empty() ? "" : result->report.refused[0].reason.detail);
    EXPECT_TRUE(result->report.unchecked.empty());
  }
}

/// What a view computes of constants by a comparison.
TEST(ApplierTruth, OfConstantsIsEvaluated) {
  ViewBuilder builder;
  const Value a = builder.constant("a", Constant::of(Tensor<float>({3}, {0.25F, 0.75F, -1}))),
              b = builder.constant("b", Constant::of(Tensor<float>({}, {0.5F})));
  const Value c = builder.add(*findOp("Greater"), {a, b}, {}, {"c"}, {}).value();
  auto truth = builder.evaluated(c);
  ASSERT_TRUE(truth) << truth.error().message();
  EXPECT_EQ(truth->element, ElementType::kBool);
  EXPECT_EQ(truth->values<int64_t>().data, (std::vector<int64_t>{0, 1, 0}));
}

// A false rule is found by execution.
TEST(ApplierTruth, AFalseRuleIsFound) {
  std::string text = kRules;
  text.replace(text.find("Greater(s, f)"), 13, "Greater(f, s)");
  auto result = apply({withOutputs(graphOf("x:f[3,2,5] y=ArgMax(x) axis=1", 17)), nullptr}, rulesOf(text), {}, all());
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().kind, ErrorKind::kCheck);
}

}  // namespace
}  // namespace pet::applier_truth_test
