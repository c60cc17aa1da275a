// Indices that a model is given: how OneHot and rows of a table are read, and rewritten.

#include <gtest/gtest.h>

#include "tests/unit/applier_support.h"
#include "tests/unit/graph_text.h"

namespace pet::applier_index_test {
namespace {

using namespace testing_support;

Graph withOutputs(const std::string& text) {
  Graph graph = graphOf(text, 17);
  graph.outputs = graph.nodes.back().outputs;
  return graph;
}

const std::string kStart =
    "i:i[2,4] j:j[4] u:u[4] x:f[4] t:f[3,5] a=i{0,1,2} b=i{-3,-2,-1} c=i{0,2,1} d=i(3) v=f{0,1} w=f{1,0} n=i(-1) "
    "m=i(2) "
    "p=i(-2) q=i(1) r=i{0} s=i{2} ";

TEST(ApplierIndex, IsReadAsWhatItIs) {
  struct Case {
    std::string graph, operators;
  };
  const Case kCases[] = {
      {"e=Unsqueeze(i,s) y=Equal(e,a)", "OneHot"},
      {"e=Unsqueeze(i,s) y=Equal(b,e)", "OneHot"},
      {"e=Unsqueeze(i,s) y=Equal(e,c)", "Layout"},
      {"e=Unsqueeze(i,r) y=Equal(e,a)", "Layout"},  // the last dimension is not 1
      {"y=Equal(i,q)", ""},
      {"y=Equal(x,v)", ""},
      {"y=OneHot(i,d,v)", "OneHot Where OneHot Where Add"},
      {"y=OneHot(i,d,v) axis=2", "OneHot Where OneHot Where Add"},
      {"y=OneHot(i,d,v) axis=0", ""},
      {"y=OneHot(i,d,w)", ""},
      {"y=OneHot(u,d,v)", ""},
      {"y=OneHot(x,d,v)", ""},
      {"e=Unsqueeze(i,s) g=Equal(e,a) h=Cast(g) to=7 y=Cast(h) to=1", "OneHot Where"},
      // Of 3 rows, with a row for what is no index.
      {"k=Clip(i,n,m) y=Gather(t,k)", "Lookup"},
      {"k=Clip(i,p,q) y=Gather(t,k)", "Lookup"},
      {"k=Clip(i,n,q) y=Gather(t,k)", "Clip"},
      {"k=Clip(i,q,m) y=Gather(t,k)", "Clip"},
      {"k=Clip(i,,m) y=Gather(t,k)", ""},
      {"k=Clip(i,n,m) y=Gather(t,k) axis=1", "Clip"},
      {"y=Gather(t,i)", ""},
  };
  for (const Case& c : kCases)
    EXPECT_EQ(operators(normalise(withOutputs(kStart + c.graph)).view), c.operators) << c.graph;
}

constexpr const char* kRules = R"(
pattern front {
  shape M D K : 1 <= D
  i: [M]
  t: const [D, K]
  is = OneHot(i) depth=D
  one = Constant() value=1
  zero = Constant() value=0
  h = Where(is, one, zero)
  y = MatMul(h, t)
}
rule row of front {
  class M D K : 1 <= M, 1 <= D, 1 <= K
  numerics same-terms, spreads NaN
  replacement {
    u = Pad(t) pads=[0, 0, 1, 0]
    y = Lookup(i, u)
  }
}
pattern both {
  shape M D K : 1 <= D
  i: [M]
  t: const [D, K]
  one = Constant() value=1
  zero = Constant() value=0
  is = OneHot(i) depth=D
  f = Where(is, one, zero)
  yes = Constant() value=1
  no = Constant() value=0
  end = OneHot(i) depth=D negative=1
  b = Where(end, yes, no)
  h = Add(f, b)
  y = MatMul(h, t)
}
rule rows of both {
  class M D K : 1 <= M, 1 <= D, 1 <= K
  numerics same-terms, spreads NaN
  replacement {
    a = Pad(t) pads=[0, 0, 1, 0]
    u = Concat(a, t) axis=0
    y = Lookup(i, u) negative=D
  }
}
)";

Expected<Applied> rewritten(const std::string& graph, const std::string& rules) {
  return apply({withOutputs(graph), nullptr}, rulesOf(rules), {}, all());
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

// Each is checked at the site and as a whole, with indices from both ends and others, and read again.
TEST(ApplierIndex, IsRewritten) {
  const std::string positions = "a=i{0,1,2} r=i{-1} ";
  const std::string graphs[] = {
      "i:i[4] " + positions + "s=f{1,2,3} e=Unsqueeze(i,r) c=Equal(e,a) h=Cast(c) to=1 y=MatMul(h,s)",
      "i:j[4] " + positions +
          "t=f{1,2,3} k=i{3,1} p=Cast(a) to=6 e=Unsqueeze(i,r) c=Equal(e,p) g=Cast(c) to=7 "
          "h=Cast(g) to=1 s=Reshape(t,k) y=MatMul(h,s)",
      "i:i[2,3,4] " + positions +
          "t=f{1,2,3} k=i{3,1} e=Unsqueeze(i,r) c=Equal(e,a) h=Cast(c) to=1 s=Reshape(t,k) "
          "y=MatMul(h,s)",
      "i:i[5] d=i(3) v=f{0,1} t=f{1,2,3} k=i{3,1} h=OneHot(i,d,v) s=Reshape(t,k) y=MatMul(h,s)",
  };
  for (const std::string& graph : graphs) {
    SCOPED_TRACE(graph);
    auto result = rewritten(graph, kRules);
    ASSERT_TRUE(result) << result.error().message();
    const bool isVector = graph.find("k=") == std::string::npos;
    EXPECT_EQ(types(result->model.graph), isVector ? "Clip Gather Reshape" : "Clip Gather");
    EXPECT_TRUE(result->report.unchecked.empty());
  }
}

// False rules are found by execution: zeros for what is no index, and what counts from the end, are drawn as well.
TEST(ApplierIndex, AFalseRuleIsFound) {
  const std::string both = "i:i[50] d=i(3) v=f{0,1} t=f{1,2,3} k=i{3,1} h=OneHot(i,d,v) s=Reshape(t,k) y=MatMul(h,s)";
  const std::string edge = replaced(kRules, "a = Pad(t) pads=[0, 0, 1, 0]", "a = Pad(t) pads=[0, 0, 1, 0] mode=edge"),
                    front =
                        replaced(replaced(kRules, "Concat(a, t)", "Concat(a, a)"), "negative=D\n", "negative=D + 1\n");
  for (const std::string& rules : {edge, front}) {
    auto result = rewritten(both, rules);
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().kind, ErrorKind::kCheck) << result.error().message();
  }
}

// A Clip of indices has bounds of their type, whether a Lookup writes it or the program has it.
TEST(ApplierIndex, BoundsAreOfTheirType) {
  const Model model = modelOf("i: [2, 3]  t: const [4, 5]  c = Clip(i) min=0 max=2  y = Lookup(c, t)");
  for (const Initializer& bound : model.graph.initializers) {
    EXPECT_EQ(bound.value.element, bound.name == "t" ? ElementType::kFloat : ElementType::kInt64) << bound.name;
  }
  EXPECT_EQ(model.graph.initializers.size(), 5U);
}

}  // namespace
}  // namespace pet::applier_index_test
