#include "ir/pbqp.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace pet::pbqp_test {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

struct Problem {
  Pbqp pbqp;
  std::vector<int> alternatives;
};

/// Every choice of alternatives, by counting.
double leastByCounting(const Problem& p) {
  std::vector<int> choice(p.alternatives.size(), 0);
  double least = kNever;
  while (true) {
    least = std::min(least, p.pbqp.cost(choice));
    size_t v = 0;
    while (v < choice.size() && ++choice[v] == p.alternatives[v])
      choice[v++] = 0;
    if (v == choice.size()) return least;
  }
}

/// `edges` of `n` variables; costs are small integers, so that sums are exact.
Problem drawn(int n, const std::vector<std::pair<int, int>>& edges) {
  Problem p;
  for (int v = 0; v < n; ++v) {
    p.alternatives.push_back(*rc::gen::inRange(1, 4));
    std::vector<double> costs{0};
    for (int i = 1; i < p.alternatives.back(); ++i)
      costs.push_back(*rc::gen::inRange(-5, 6));
    p.pbqp.variable(costs);
  }
  for (auto [a, b] : edges) {
    for (int i = 0; i < p.alternatives[static_cast<size_t>(a)]; ++i) {
      for (int j = 0; j < p.alternatives[static_cast<size_t>(b)]; ++j) {
        bool never = i > 0 && j > 0 && *rc::gen::inRange(0, 6) == 0;
        p.pbqp.together(a, i, b, j, never ? kNever : *rc::gen::inRange(-3, 4));
      }
    }
  }
  return p;
}

TEST(Pbqp, AloneEachTakesItsBest) {
  Pbqp p;
  p.variable({0, -2, 3});
  p.variable({0});
  EXPECT_EQ(p.solve().choice, (std::vector{1, 0}));
  EXPECT_EQ(p.solve().cost, -2);
  EXPECT_TRUE(Pbqp().solve().choice.empty());
}

TEST(Pbqp, TwoThatLoseAloneWinTogether) {
  // Each layout costs 3 and its core gains 2; between neighbours both layouts go.
  Pbqp p;
  int a = p.variable({0, 1}), b = p.variable({0, 1});
  p.together(a, 1, b, 1, -4);
  EXPECT_EQ(p.solve().choice, (std::vector{1, 1}));
  EXPECT_TRUE(p.solve().exact);
}

TEST(Pbqp, WhatOverlapsIsNotChosenTogether) {
  Pbqp p;
  int a = p.variable({0, -3}), b = p.variable({0, -4}), c = p.variable({0, -3});
  p.together(a, 1, b, 1, kNever);
  p.together(b, 1, c, 1, kNever);
  EXPECT_EQ(p.solve().choice, (std::vector{1, 0, 1}));
  EXPECT_EQ(p.solve().cost, -6);
}

/// Sites of one, two and all of three nodes: to go from a pair and a single to all three, two have to give way at once.
TEST(Pbqp, WhatIsBetterThanSeveralTogetherTakesTheirPlace) {
  const std::vector<std::pair<std::vector<int>, double>> sites{
      {{1}, -1}, {{2}, -4}, {{3}, -8}, {{1, 2}, -6}, {{1, 3}, -11}, {{2, 3}, -14.5}, {{1, 2, 3}, -15.6}};
  Pbqp p;
  for (const auto& [nodes, cost] : sites)
    p.variable({0, cost});
  for (size_t b = 0; b < sites.size(); ++b) {
    for (size_t a = 0; a < b; ++a) {
      const auto& others = sites[b].first;
      const bool overlap = std::any_of(sites[a].first.begin(), sites[a].first.end(), [&](int node) {
        return std::find(others.begin(), others.end(), node) != others.end();
      });
      if (overlap) p.together(static_cast<int>(a), 1, static_cast<int>(b), 1, kNever);
    }
  }
  EXPECT_EQ(p.solve().choice, (std::vector{0, 0, 0, 0, 0, 0, 1}));
}

RC_GTEST_PROP(PbqpProperty, AForestIsSolvedExactly, ()) {
  int n = *rc::gen::inRange(1, 8);
  std::vector<std::pair<int, int>> edges;
  for (int v = 1; v < n; ++v) {
    if (*rc::gen::inRange(0, 5) > 0) edges.emplace_back(*rc::gen::inRange(0, v), v);
  }
  Problem p = drawn(n, edges);
  auto solution = p.pbqp.solve();
  RC_ASSERT(solution.exact);
  RC_ASSERT(solution.cost == leastByCounting(p));
}

RC_GTEST_PROP(PbqpProperty, ARingIsSolvedExactly, ()) {
  int n = *rc::gen::inRange(3, 8);
  std::vector<std::pair<int, int>> edges{{0, n - 1}};
  for (int v = 1; v < n; ++v)
    edges.emplace_back(v - 1, v);
  Problem p = drawn(n, edges);
  auto solution = p.pbqp.solve();
  RC_ASSERT(solution.exact);
  RC_ASSERT(solution.cost == leastByCounting(p));
}

RC_GTEST_PROP(PbqpProperty, AnyGraphHasASolutionThatIsSaidToBeExactOnlyWhereItIs, ()) {
  int n = *rc::gen::inRange(1, 7);
  std::vector<std::pair<int, int>> edges;
  for (int b = 1; b < n; ++b) {
    for (int a = 0; a < b; ++a) {
      if (*rc::gen::inRange(0, 3) > 0) edges.emplace_back(a, b);
    }
  }
  Problem p = drawn(n, edges);
  auto solution = p.pbqp.solve();
  RC_ASSERT(std::isfinite(solution.cost));
  double least = leastByCounting(p);
  RC_ASSERT(solution.cost >= least);
  RC_ASSERT(!solution.exact || solution.cost == least);
  RC_ASSERT(p.pbqp.solve().choice == solution.choice);
}

}  // namespace
}  // namespace pet::pbqp_test
