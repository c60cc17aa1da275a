// What pet-tune --cliffs cuts out of models, what it must compute and move, and what of it is listed.

#include <filesystem>

#include <gmock/gmock.h>

#include "tests/unit/applier_support.h"
#include "tools/common/scratch.h"
#include "tools/tune/cliffs/groups.h"
#include "tools/tune/cliffs/in_place.h"
#include "tools/tune/cliffs/ranking.h"
#include "tools/tune/cliffs/work.h"

namespace pet::tune_cliffs_test {
namespace {

using namespace tune;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using tune::Candidate;

Subject subjectOf(std::string_view text) {
  tool::Scratch folder("pet-unit");
  const std::string path = (folder.path() / "model.onnx").string();
  auto bytes = serialize(testing_support::modelOf(text));
  EXPECT_TRUE(bytes && writeModel(*bytes, path));
  auto subject = Subject::read(path);
  EXPECT_TRUE(subject.has_value()) << subject.error().message();
  return std::move(*subject);
}

/// x -> Conv 0 -> Relu 1 -> (Conv 2, Neg 3) -> Add 4.
Subject diamond() {
  return subjectOf(
      "x: [1, 3, 6, 8]  v: const [4, 3, 3, 3]  w: const [4, 4, 1, 1]  p = Conv(x, v) pads=[1, 1, 1, 1]  r = Relu(p)  "
      "s = Conv(r, w)  t = Neg(r)  y = Add(s, t)");
}

TEST(Cliffs, GroupsHandValuesOnAndAreComputedInOneStep) {
  const Subject subject = diamond();
  EXPECT_THAT(groupsOf(subject, 1).nodes, IsEmpty());
  EXPECT_THAT(groupsOf(subject, 2).nodes, UnorderedElementsAre(ElementsAre(0, 1), ElementsAre(1, 2), ElementsAre(1, 3),
                                                               ElementsAre(2, 4), ElementsAre(3, 4)));
  const auto three = groupsOf(subject, 3).nodes;
  auto has = [&](const std::vector<int>& group) { return std::find(three.begin(), three.end(), group) != three.end(); };
  EXPECT_TRUE(has({1, 2, 3}));
  EXPECT_TRUE(has({2, 3, 4}));
  EXPECT_FALSE(has({1, 2, 4}));  // Neg would have to be computed in between
}

TEST(Cliffs, WorkIsTheOperatorTables) {
  const Subject subject = diamond();
  EXPECT_EQ(flopsOf(subject, 0), 2.0 * 4 * 6 * 8 * 27);
  EXPECT_EQ(flopsOf(subject, 2), 2.0 * 4 * 6 * 8 * 4);
}

TEST(Cliffs, BytesAreThoseAtTheBorder) {
  const Subject subject = diamond();
  const double map = 4 * 4 * 6 * 8;
  EXPECT_EQ(compulsoryBytes(subject, {1}), 2 * map);
  EXPECT_EQ(compulsoryBytes(subject, {2}), 2 * map + 4 * 16);
  EXPECT_EQ(compulsoryBytes(subject, {3, 4}), 3 * map);              // r and s come in, y goes out
  EXPECT_EQ(compulsoryBytes(subject, {2, 3, 4}), 2 * map + 4 * 16);  // r once
  EXPECT_EQ(compulsoryBytes(subject, {1, 2}), 3 * map + 4 * 16);     // Neg reads r as well
  const Subject part = subjectOf("x: [1, 3, 6, 80]  y = Slice(x) starts=[0] ends=[2] axes=[3] steps=[1]");
  EXPECT_LT(compulsoryBytes(part, {0}), 2 * 4 * 3 * 6 * 2 + 64);
}

TEST(Cliffs, EqualOperatorsAreOneCandidate) {
  const std::vector<Subject> models{subjectOf("x: [4, 6]  a = Relu(x)  b = Neg(a)  c = Relu(b)  y = Mul(c, c)"),
                                    subjectOf("x: [4, 6]  z: [4, 6]  a = Relu(x)  y = Mul(a, z)")};
  const Candidates found = candidatesOf(models, 1);
  std::vector<std::pair<std::string, size_t>> counts;
  for (const Candidate& c : found.all)
    counts.emplace_back(c.operators[0], c.occurrences.size());
  // A square is not the product of two values.
  EXPECT_THAT(counts, ElementsAre(std::pair("Relu", 3), std::pair("Neg", 1), std::pair("Mul", 1), std::pair("Mul", 1)));
  EXPECT_EQ(found.operators, 4U);
}

TEST(Cliffs, RatesLieBetweenThoseMeasured) {
  const Peaks peaks{1e-6, 100e9, 90e9, 100e9, {{1e4, 80e9}, {1e6, 40e9}}};
  EXPECT_EQ(peaks.rateAt(1), 80e9);
  EXPECT_NEAR(peaks.rateAt(1e5), 60e9, 1);
  EXPECT_EQ(peaks.rateAt(1e9), 40e9);
  EXPECT_TRUE(peaks.isBoundByFlops(1e6, 1e4));
  EXPECT_DOUBLE_EQ(peaks.seconds(1e6, 1e4), 1e-5);
}

/// MatMul 0, Add 1 behind it at two places, and the two as one.
Candidates productsWithBias() {
  auto candidate = [](std::vector<std::string> operators, std::vector<Occurrence> occurrences) {
    Candidate c;
    c.operators = std::move(operators);
    c.occurrences = std::move(occurrences);
    return c;
  };
  Candidates of;
  of.all = {candidate({"MatMul"}, {{0, {0}}, {0, {2}}}), candidate({"Add"}, {{0, {1}}, {0, {3}}}),
            candidate({"MatMul", "Add"}, {{0, {0, 1}}, {0, {2, 3}}})};
  of.all[2].parts = {0, 1};
  of.operators = 2;
  return of;
}

TEST(Cliffs, WhatIsTakenIntoTheOperatorInFrontCountsSo) {
  const Candidates of = productsWithBias();
  EXPECT_THAT(behindOthers(of, 1), ElementsAre(2));
  EXPECT_THAT(behindOthers(of, 0), IsEmpty());
  auto inPlace = [&](std::vector<Timing> timings) { return secondsInPlace(of, timings, 1); };
  EXPECT_DOUBLE_EQ(inPlace({{1.0, ""}, {3.0, ""}, {1.5, ""}}).value(), 0.5);
  EXPECT_EQ(inPlace({{1.0, ""}, {3.0, ""}, {0.5, ""}}), 0.0);
  EXPECT_EQ(inPlace({{1.0, ""}, {3.0, ""}, {6.0, ""}}), 3.0);  // joined they may be slower than apart
  EXPECT_EQ(inPlace({{1.0, ""}, {3.0, ""}, {std::nullopt, "refused"}}), 3.0);
  EXPECT_EQ(inPlace({{1.0, ""}, {std::nullopt, "refused"}, {1.5, ""}}), std::nullopt);
}

TEST(Cliffs, WhatIsElsewhereTooCountsAlone) {
  Candidates of = productsWithBias();
  of.all[1].occurrences.push_back({0, {7}});
  EXPECT_THAT(behindOthers(of, 1), IsEmpty());
  EXPECT_EQ(secondsInPlace(of, {{1.0, ""}, {3.0, ""}, {1.5, ""}}, 1), 3.0);
}

/// A survey of one model of ten milliseconds, with the seconds of the candidates; the roofline is by bytes, 1e9 a
/// second.
Survey surveyed(const std::vector<double>& seconds) {
  Survey survey;
  survey.peaks = {0, 1e12, 1e12, 1e12, {{1, 1e9}}};
  survey.models.push_back({1e-2, ""});
  for (double s : seconds)
    survey.candidates.push_back({s, ""});
  return survey;
}

Candidates candidatesWith(std::vector<Candidate> all, size_t operators) {
  return {std::move(all), operators, true};
}

Candidate candidate(double bytes, std::vector<std::vector<int>> at, std::vector<size_t> parts = {}) {
  Candidate c;
  c.bytes = bytes;
  c.parts = std::move(parts);
  for (auto& nodes : at)
    c.occurrences.push_back({0, std::move(nodes)});
  return c;
}

TEST(Cliffs, EachNodeCountsOnce) {
  // Two operators near the roofline of their own, which in one step need a tenth of it; they stand there twice in a
  // row.
  const Candidates all = candidatesWith(
      {candidate(1e6, {{0}, {2}}), candidate(1e6, {{1}, {3}}), candidate(2e5, {{0, 1}, {1, 2}, {2, 3}}, {0, 1})}, 2);
  const auto found = worst(all, surveyed({1.1e-3, 2.5e-3, 3e-3}), 10, 2);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].candidate, 2U);
  EXPECT_EQ(found[0].models.at(0).count, 2U);
  EXPECT_NEAR(found[0].models.at(0).share, 0.6, 1e-9);
  EXPECT_NEAR(found[0].times(), 15, 1e-9);
}

TEST(Cliffs, AGroupThatSaysNoMoreThanItsOperatorsIsNotListed) {
  const Candidates all =
      candidatesWith({candidate(1e5, {{0}}), candidate(1e5, {{1}}), candidate(1e5, {{0, 1}}, {0, 1})}, 2);
  const auto found = worst(all, surveyed({3e-3, 1e-4, 3.1e-3}), 10, 2);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].candidate, 0U);
}

TEST(Cliffs, WhatIsNearTheRooflineIsNotListed) {
  const Candidates all = candidatesWith({candidate(1e6, {{0}}), candidate(1e6, {{1}})}, 2);
  EXPECT_THAT(worst(all, surveyed({1.9e-3, 1.5e-3}), 10, 2), IsEmpty());
  EXPECT_EQ(worst(all, surveyed({2.1e-3, 3e-3}), 1, 2)[0].candidate, 1U);
}

}  // namespace
}  // namespace pet::tune_cliffs_test
