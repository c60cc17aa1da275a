// Winograd's matrices against the sum over sliding windows, exactly.

#include "ir/winograd.h"

#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ir/evaluate.h"
#include "ir/text.h"

namespace pet::winograd_test {
namespace {

Fp inField(Rational r) {
  return Fp(r.numerator) / Fp(r.denominator);
}

std::vector<Fp> times(const RationalMatrix& m, const std::vector<Fp>& v) {
  std::vector<Fp> result(static_cast<size_t>(m.rows));
  for (int i = 0; i < m.rows; ++i) {
    for (int j = 0; j < m.columns; ++j)
      result[static_cast<size_t>(i)] += inField(m.at(i, j)) * v[static_cast<size_t>(j)];
  }
  return result;
}

std::vector<Fp> draw(int count, std::mt19937_64& random) {
  std::vector<Fp> v;
  for (int i = 0; i < count; ++i)
    v.emplace_back(static_cast<int64_t>(random() % Fp::kPrime));
  return v;
}

std::vector<Fp> slidingSums(const std::vector<Fp>& d, const std::vector<Fp>& g) {
  std::vector<Fp> y(d.size() - g.size() + 1);
  for (size_t i = 0; i < y.size(); ++i) {
    for (size_t k = 0; k < g.size(); ++k)
      y[i] += d[i + k] * g[k];
  }
  return y;
}

void expectSums(const Winograd& w, int m, int r, std::mt19937_64& random) {
  auto d = draw(m + r - 1, random), g = draw(r, random);
  auto input = times(w.input, d), kernel = times(w.kernel, g);
  for (size_t i = 0; i < input.size(); ++i)
    input[i] *= kernel[i];
  EXPECT_EQ(times(w.output, input), slidingSums(d, g)) << m << ", " << r;
}

TEST(Winograd, ComputesSlidingSums) {
  std::mt19937_64 random(1);
  for (int m = 1; m <= 6; ++m) {
    for (int r = 1; r <= 6; ++r) {
      auto w = winograd(m, r);
      ASSERT_TRUE(w) << w.error().message();
      for (int round = 0; round < 5; ++round)
        expectSums(*w, m, r, random);
    }
  }
  auto w = winograd(3, 2, {{1, 3}, {-5, 7}, {2, 1}});
  ASSERT_TRUE(w) << w.error().message();
  expectSums(*w, 3, 2, random);
}

// A matrix that is wrong in one entry is found.
TEST(Winograd, TheCheckLooksAtEveryEntry) {
  std::mt19937_64 random(2);
  Winograd right = *winograd(2, 3);
  for (auto matrix : {&Winograd::output, &Winograd::kernel, &Winograd::input}) {
    for (size_t i = 0; i < (right.*matrix).entries.size(); ++i) {
      Winograd wrong = right;
      Rational& entry = (wrong.*matrix).entries[i];
      entry = Rational{entry.numerator + entry.denominator, 1} * Rational{1, entry.denominator};
      auto d = draw(4, random), g = draw(3, random);
      auto input = times(wrong.input, d), kernel = times(wrong.kernel, g);
      for (size_t k = 0; k < input.size(); ++k)
        input[k] *= kernel[k];
      EXPECT_NE(times(wrong.output, input), slidingSums(d, g)) << i;
    }
  }
}

TEST(Winograd, OfTwoOutputsAndThreeTaps) {
  auto text = [](const RationalMatrix& m) {
    std::string all;
    for (const Rational& e : m.entries)
      all += e.denominator == 1 ? fmt::format("{} ", e.numerator) : fmt::format("{}/{} ", e.numerator, e.denominator);
    return all;
  };
  Winograd w = *winograd(2, 3);
  EXPECT_EQ(text(w.output), "1 1 1 0 0 1 -1 1 ");
  EXPECT_EQ(text(w.kernel), "-1 0 0 1/2 1/2 1/2 1/2 -1/2 1/2 0 0 1 ");
  EXPECT_EQ(text(w.input), "-1 0 1 0 0 1 1 0 0 -1 1 0 0 -1 0 1 ");
}

TEST(Winograd, TheInputsMatrixIsWholeWherePointsAre) {
  std::vector<Rational> points;
  for (int64_t p : {0, 1, -1, 2, -2, 3, -3, 4})
    points.push_back({p, 1});
  Winograd w = *winograd(6, 4, points);
  for (const Rational& e : w.input.entries)
    EXPECT_EQ(e.denominator, 1);
}

TEST(Winograd, ErrorsSayWhy) {
  EXPECT_EQ(winograd(0, 3).error().what, "F(0, 3) has no meaning");
  EXPECT_EQ(winograd(2, 3, {{0, 1}, {1, 1}}).error().what, "F(2, 3) needs 3 points, got 2");
  EXPECT_EQ(winograd(2, 3, {{0, 1}, {1, 2}, {1, 2}}).error().what, "F(2, 3): a point twice");
}

TEST(Winograd, TablesAreTheMatrices) {
  Winograd w = *winograd(4, 3);
  ProgramBuilder builder;
  Value d = builder.input("d", {6, 1}), g = builder.input("g", {3, 1}, true);
  auto table = [&](const RationalMatrix& m) { return builder.add("Table", {}, tableOf(m)).value(); };
  Value input = builder.add("MatMul", {table(w.input), d}).value();
  Value kernel = builder.add("MatMul", {table(w.kernel), g}).value();
  Value product = builder.add("Mul", {input, kernel}).value();
  Value y = builder.add("MatMul", {table(w.output), product}).value();
  Program program = std::move(builder).finish({y});
  std::mt19937_64 random(3);
  auto x = draw(6, random), k = draw(3, random);
  auto result = evaluate<Fp>(program, {}, {{"d", {{6, 1}, x}}, {"g", {{3, 1}, k}}});
  ASSERT_TRUE(result) << result.error().message();
  EXPECT_EQ((*result)[0].data, slidingSums(x, k));
  auto again = parseProgram(print(program), "printed");
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(print(*again), print(program));
}

}  // namespace
}  // namespace pet::winograd_test
