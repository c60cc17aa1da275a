#include <numeric>
#include <random>

#include <gtest/gtest.h>

#include "applier/match/precedence.h"
#include "ir/ops/op.h"

namespace pet::applier_precedence_test {
namespace {

/// Sums of two values that are near, as models have them.
View sums(int count, std::mt19937& random) {
  ViewBuilder builder;
  std::vector<Value> values{builder.input("x", {Dim(2)}, ElementType::kFloat)};
  auto near = [&] {
    const size_t back = std::min<size_t>(values.size(), 1 + random() % 6);
    return values[values.size() - back];
  };
  for (int i = 0; i < count; ++i)
    values.push_back(builder.add(*findOp("Add"), {near(), near()}, {}, {"v" + std::to_string(i)}, {}).value());
  return std::move(builder).finish({values.back()});
}

TEST(Precedence, StepsOneByOneAreAsAllTogether) {
  std::mt19937 random(1);
  int refused = 0, taken = 0;
  for (int turn = 0; turn < 200; ++turn) {
    const View view = sums(40, random);
    const Precedence precedence(Graph(), view);
    std::vector<int> nodes(40);
    std::iota(nodes.begin(), nodes.end(), 1);
    Steps steps(precedence);
    std::vector<std::vector<int>> chosen;
    while (nodes.size() > 3) {  // groups of nodes that are near
      std::vector<int> group;
      const size_t begin = random() % (nodes.size() - 3);
      for (size_t i = 0; i < 2; ++i) {
        const size_t at = std::min(nodes.size() - 1, begin + random() % 3);
        group.push_back(nodes[at]);
        nodes.erase(nodes.begin() + static_cast<std::ptrdiff_t>(at));
      }
      chosen.push_back(group);
      const bool allowed = precedence.allows(chosen);
      EXPECT_EQ(steps.add(group), allowed);
      if (!allowed) chosen.pop_back();
      ++(allowed ? taken : refused);
    }
  }
  EXPECT_GT(refused, 200);
  EXPECT_GT(taken, 200);
}

}  // namespace
}  // namespace pet::applier_precedence_test
