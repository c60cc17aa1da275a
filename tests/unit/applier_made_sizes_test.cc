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

}  // namespace
}  // namespace pet::applier_made_sizes_test
