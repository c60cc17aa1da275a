// Symbols that stand for an operation on others, evaluated where these have values.

#include <gtest/gtest.h>

#include "applier/infer/infer.h"
#include "tests/unit/graph_text.h"

namespace pet::applier_made_sizes_test {
namespace {

using namespace testing_support;

struct Case {
  std::string graph;  ///< its last value has an extent that only a symbol of its own says
  Bindings sizes;
  std::optional<int64_t> value;
};

TEST(MadeSizes, AreWhatTheModelComputes) {
  const std::string sum = "x:f[N] z:f[M] y=Add(x,z)";
  auto of = [](const std::string& how) {
    return "x:f[N,M] v:f[1] z=i{0} o=i{1} t=i{2} s=Shape(x) n=Slice(s,z,o) m=Slice(s,o,t) q=" + how + " y=Expand(v,q)";
  };
  for (const Case& c : {
           Case{sum, {{"N", 7}, {"M", 7}}, 7},
           Case{sum, {{"N", 7}, {"M", 1}}, 7},
           Case{sum, {{"N", 1}, {"M", 5}}, 5},
           Case{sum, {{"N", 7}, {"M", 5}}, std::nullopt},
           Case{"x:f[N,8] s=i{0} e=i{5} a=i{0} y=Slice(x,s,e,a)", {{"N", 3}}, 3},
           Case{"x:f[N,8] s=i{0} e=i{5} a=i{0} y=Slice(x,s,e,a)", {{"N", 9}}, 5},
           Case{of("Max(n,m)"), {{"N", 3}, {"M", 8}}, 8},
           Case{of("Min(n,m)"), {{"N", 3}, {"M", 8}}, 3},
           Case{of("Div(n,m)"), {{"N", 17}, {"M", 5}}, 3},
           Case{of("Mod(n,m)"), {{"N", 17}, {"M", 5}}, 2},
       }) {
    const Graph graph = graphOf(c.graph, 17);
    const Inference inference = infer(graph);
    ASSERT_FALSE(inference.made.empty()) << c.graph;
    Bindings sizes = c.sizes;
    std::optional<int64_t> last;
    for (const auto& [symbol, value] : inference.made) {
      last = value(sizes);
      if (last) sizes.emplace(symbol, *last);
    }
    EXPECT_EQ(last, c.value) << c.graph;
  }
}

/// What the extents of the last value are, and which are positive besides, where it is the model's result.
TEST(MadeSizes, AreNoneWhereAWindowFits) {
  Graph graph = graphOf(
      "x:f[1,4,L] w:f[8,4,10] a=i{2} s=i{0} e=i{9223372036854775807} c=Conv(x,w) strides=[5] y=Slice(c,s,e,a)", 17);
  graph.outputs = {"y"};
  const Inference inference = infer(graph);
  const Expr length = Expr::variable("L"), windows = floorDiv(length, 5) - 1;
  EXPECT_EQ(inference.types.at("y").dims, (Shape{Dim(1), Dim(8), Dim(windows)}));
  EXPECT_EQ(inference.positive, (std::vector<Expr>{length - 9, windows}));
  graph.outputs = {"x"};
  const Inference unused = infer(graph);
  EXPECT_TRUE(unused.positive.empty()) << "nothing says that the Conv runs";
  EXPECT_NE(unused.types.at("y").dims, inference.types.at("y").dims);
}

}  // namespace
}  // namespace pet::applier_made_sizes_test
