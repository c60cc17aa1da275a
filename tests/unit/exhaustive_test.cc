#include "rules/exhaustive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/text.h"
#include "rules/small_shapes.h"
#include "rules/text.h"
#include "tests/unit/text_file.h"

namespace pet::exhaustive_test {
namespace {

using ::testing::HasSubstr;

std::string dataText(const std::string& file) {
  return testing_support::textOf(std::string(PET_SOURCE_DIR) + "/tests/data/" + file);
}

Evaluation evaluated(const std::string& text, const EvaluationOptions& options = {}) {
  auto set = parseRules(text, "test");
  EXPECT_TRUE(set) << (set ? "" : set.error().message());
  return evaluateRule(*set->findPattern(set->rules[0].pattern), set->rules[0], options);
}

// --- Shapes ---

ShapeClass shapeClass(std::vector<std::string> symbols, std::string_view constraints) {
  TextReader reader(constraints, "class");
  return {std::move(symbols), constraints.empty() ? std::vector<Constraint>{} : reader.constraints().value()};
}

SmallShapes shapesOf(const ShapeClass& c, size_t count) {
  return smallShapes(c, count, 1, [](const Bindings&) { return true; });
}

TEST(SmallShapes, AreDistinctMembersThatTouchEveryConstraint) {
  const ShapeClass kClasses[] = {
      shapeClass({"N", "W"}, "1 <= N, 1 <= W"),
      shapeClass(
          {"M", "C", "H", "W", "F", "R", "P", "Q"},
          "1 <= M, 1 <= C, 1 <= H, 1 <= W, 1 <= F, 1 <= R, 0 <= P, P <= R - 1, 0 <= Q, P <= H, 2Q <= W, R <= H + 2P"),
      shapeClass({"W", "Q"}, "2Q + 8 <= W, 3 <= Q"),        // the least W is 14
      shapeClass({"N"}, "N % 4 = 2, 2 <= N"),               // 2, 6, …
      shapeClass({"A", "B"}, "A + B = 7, 1 <= A, 1 <= B"),  // 6 members
      shapeClass({"K"}, "-2 <= K, K <= 2"),
      shapeClass({"C"}, "16 <= C, C % 8 = 0"),
      shapeClass({"Q", "W"}, "W <= 3Q, 5 <= W"),
  };
  for (const ShapeClass& c : kClasses) {
    SmallShapes s = shapesOf(c, 100);
    std::set<Bindings> distinct(s.members.begin(), s.members.end());
    EXPECT_EQ(distinct.size(), s.members.size());
    EXPECT_GE(s.members.size(), 4U);
    EXPECT_LE(s.members.size(), 100U);
    for (const Bindings& m : s.members)
      EXPECT_TRUE(c.contains(m));
    EXPECT_EQ(s.touched, c.constraints.size()) << c.constraints.front().str();
    EXPECT_EQ(shapesOf(c, 100).members, s.members);
  }
}

TEST(SmallShapes, OfSmallAndEmptyClasses) {
  EXPECT_EQ(shapesOf(shapeClass({"A", "B"}, "A + B = 7, 1 <= A, 1 <= B"), 100).members.size(), 6U);
  EXPECT_TRUE(shapesOf(shapeClass({"A"}, "1 <= A, A <= 0"), 100).members.empty());
  EXPECT_TRUE(shapesOf(shapeClass({"A"}, "2A = 5"), 100).members.empty());
  EXPECT_EQ(shapesOf(shapeClass({}, ""), 100).members.size(), 1U);           // no symbols: one shape
  EXPECT_EQ(shapesOf(shapeClass({"A"}, "1 <= B"), 100).members.size(), 0U);  // B is not declared
  EXPECT_THROW(shapesOf(shapeClass({"A"}, "2 <= A, 9223372036854775807A >= 1"), 10), OverflowError);
}

TEST(SmallShapes, AcceptsDecides) {
  auto even = [](const Bindings& b) { return b.at("A") % 2 == 0; };
  SmallShapes s = smallShapes(shapeClass({"A"}, "1 <= A"), 5, 1, even);
  for (const Bindings& m : s.members)
    EXPECT_EQ(m.at("A") % 2, 0);
  EXPECT_EQ(s.touched, 0U);  // A = 1 is refused
}

// --- Rules ---

TEST(Exhaustive, TrueRulesHold) {
  for (const char* file : {"conv.pet", "pair.pet", "square.pet", "phases.pet", "row.pet"}) {
    Evaluation e = evaluated(dataText(file));
    EXPECT_TRUE(e.holds()) << file << ": " << e.str();
    EXPECT_EQ(e.touched, e.constraints) << file;
    EXPECT_EQ(e.domain, "F_p");
    EXPECT_EQ(evaluated(dataText(file)).str(), e.str());
  }
}

TEST(Exhaustive, BoxesOfThePairAreTight) {
  Evaluation e = evaluated(dataText("pair.pet"));
  EXPECT_GT(e.boxPositions, 0);
  EXPECT_EQ(e.differentPositions, e.boxPositions);
  std::string wide = dataText("pair.pet");
  wide.replace(wide.find("0:Q]"), 4, "0:W]");
  Evaluation w = evaluated(wide);
  EXPECT_TRUE(w.holds());
  EXPECT_LT(w.differentPositions, w.boxPositions);
}

struct Damage {
  std::string name, file, from, to, found;
  bool isRead = true;  ///< else it is refused as text, with `found`
};

void PrintTo(const Damage& d, std::ostream* out) {
  *out << d.from << " -> " << d.to;
}

const Damage kDamages[] = {
    {"DroppedConstraint", "conv.pet", "P <= R - 1, ", "", "the pattern's class does not hold: P + 1 <= R"},
    {"DroppedExtent", "conv.pet", "1 <= C, ", "", "the pattern's class does not hold: 1 <= C"},
    {"DroppedHalo", "pair.pet", "2Q <= W, ", "Q <= W, ", "an obligation of the replacement does not hold: 2Q <= W"},
    {"MissingFlip", "conv.pet", "[f, c, R - 1 - r, S - 1 - s]", "[f, c, r, S - 1 - s]", "the replacement differs at"},
    {"FlipOfOneTooFew", "conv.pet", "[f, c, R - 1 - r, S - 1 - s]", "[f, c, R - 2 - r, S - 1 - s]", "differs"},
    {"SwappedPads", "conv.pet", "pads=[R - 1 - P, S - 1 - Q, R - 1 - P, S - 1 - Q]",
     "pads=[R - 1 - P, S - Q, R - 1 - P, S - 2 - Q]", "an obligation of the replacement does not hold: Q + 2 <= S"},
    {"WrongPads", "conv.pet", "pads=[R - 1 - P, S - 1 - Q, R - 1 - P, S - 1 - Q]",
     "pads=[R - 1 - P, S - 1 - Q, R - 1 - P, S - Q]",
     "an obligation of the replacement does not hold: S + 1 <= 2Q + W"},
    {"WrongHalo", "pair.pet", "starts=[W - 2Q] ends=[W]", "starts=[W - 2Q + 1] ends=[W + 1]",
     "the replacement differs"},
    {"WrongCorrection", "pair.pet", "b = Conv(a, w) pads=[P, 0, P, Q]", "b = Conv(a, w) pads=[P, Q, P, 0]", "differs"},
    {"UncorrectedSeam", "pair.pet", "z = Concat(left, b, d, right) axis=3",
     "z = Slice(u) axes=[3] starts=[0] ends=[2W]", "the replacement differs"},
    {"WrongOrder", "pair.pet", "Concat(left, b, d, right)", "Concat(left, d, b, right)", "the replacement differs"},
    {"WrongLayout", "pair.pet",
     "t = Layout(x) (n 2) c h w -> n c h (2 w)\n    u = Conv(t, w) pads=[P, Q, P, Q]\n    left",
     "t = Layout(x) (2 n) c h w -> n c h (2 w)\n    u = Conv(t, w) pads=[P, Q, P, Q]\n    left", "differs"},
    {"WrongShape", "pair.pet", "c = Slice(t) axes=[3] starts=[W] ends=[W + 2Q]",
     "c = Slice(t) axes=[3] starts=[W] ends=[W + 2Q + 1]", "cannot split 2W + 1 as written", false},
    {"OneFactor", "square.pet", "z = MatMul(t, t)", "z = MatMul(t, x)", "the replacement differs at N = 2"},
    {"BoxOneColumnShort", "pair.pet", "W - Q:W]", "W - Q + 1:W]", "the mutant differs outside its boxes"},
    {"BoxOneColumnShortRight", "pair.pet", "0:Q]", "0:Q - 1]", "the mutant differs outside its boxes"},
    {"BoxOfTheOtherImage", "pair.pet", "[1:2M:2,", "[0:2M:2,", "the mutant differs outside its boxes"},
    {"BoxWithGaps", "pair.pet", "[1:2M:2,", "[1:2M:4,", "the mutant differs outside its boxes"},
    {"BoxMissing", "pair.pet", "  box [1:2M:2, 0:F, 0:H + 2P - R + 1, 0:Q]\n", "", "the mutant differs outside"},
    {"BoxRank", "pair.pet", "[1:2M:2, 0:F,", "[1:2M:2,", "the mutant differs outside its boxes"},
    {"BoxSymbol", "pair.pet", "W - Q:W]", "W - Z:W]", "the mutant differs outside its boxes"},
    {"UndeclaredSymbol", "conv.pet", "class N C", "class C", "no small shape was found"},
    {"EmptyClass", "conv.pet", "1 <= N, ", "1 <= N, N <= 0, ", "no small shape was found"},
    {"WrongWhere", "pair.pet", "where N = 2M", "where N = 3M", "cannot split 3M as written", false},
    {"UnboundWhere", "pair.pet", "S = 2Q + 1", "S = 2Q + 1, Z = X", "Z = X has a symbol that the class lacks"},
};

class DamagedEvaluation : public ::testing::TestWithParam<Damage> {};

TEST_P(DamagedEvaluation, IsFound) {
  const Damage& d = GetParam();
  std::string text = dataText(d.file);
  size_t at = text.find(d.from, text.find("\nrule "));
  ASSERT_NE(at, std::string::npos);
  auto set = parseRules(text.replace(at, d.from.size(), d.to), "test");
  ASSERT_EQ(set.has_value(), d.isRead) << (set ? "" : set.error().message());
  if (!set) {
    EXPECT_THAT(set.error().message(), HasSubstr(d.found));
    return;
  }
  Evaluation e = evaluateRule(*set->findPattern(set->rules[0].pattern), set->rules[0]);
  EXPECT_FALSE(e.holds());
  EXPECT_THAT(e.str(), HasSubstr(d.found));
}

INSTANTIATE_TEST_SUITE_P(Exhaustive, DamagedEvaluation, ::testing::ValuesIn(kDamages), [](const auto& test) {
  return test.param.name;
});

TEST(Exhaustive, CounterExampleNamesShapePositionAndValues) {
  std::string text = dataText("conv.pet");
  const std::string from = "[f, c, R - 1 - r, S - 1 - s]";
  text.replace(text.find(from), from.size(), "[f, c, r, S - 1 - s]");
  Evaluation e = evaluated(text);
  ASSERT_TRUE(e.counterExample);
  EXPECT_EQ(e.counterExample->symbols.at("R"), 2);  // with one row the flip does not show
  EXPECT_EQ(e.counterExample->position.size(), 4U);
  EXPECT_NE(e.counterExample->patternValue, e.counterExample->otherValue);
  EXPECT_THAT(e.str(), HasSubstr("R = 2"));
}

TEST(Exhaustive, OrderedAndRealValues) {
  const std::string pattern = "pattern p {\n shape N W\n x: [N, W]\n y = Relu(x)\n}\n";
  auto rule = [&](const std::string& body) {
    return pattern + "rule r of p {\n class N W : 1 <= N, 1 <= W\n replacement {\n" + body + "\n}\n}\n";
  };
  Evaluation e = evaluated(rule("a = Layout(x) n w -> w n\nb = Relu(a)\ny = Layout(b) w n -> n w"));
  EXPECT_TRUE(e.holds()) << e.str();
  EXPECT_EQ(e.domain, "integers");
  EXPECT_FALSE(evaluated(rule("y = Identity(x)")).holds());
  e = evaluated(rule("a = LeakyRelu(x) alpha=0\ny = Relu(a)"));
  EXPECT_TRUE(e.holds()) << e.str();
  EXPECT_EQ(e.domain, "doubles");
  EXPECT_FALSE(evaluated(rule("y = LeakyRelu(x) alpha=0.001")).holds());
  EXPECT_FALSE(
      evaluated(rule("a = Pad(x) pads=[0, 1, 0, 0]\nb = Sigmoid(a)\ny = Slice(b) axes=[1] starts=[0] ends=[W]"))
          .holds());
}

TEST(Exhaustive, WorkIsBounded) {
  EvaluationOptions few{.shapes = 10};
  EXPECT_LE(evaluated(dataText("pair.pet"), few).shapes, 10U);
  EvaluationOptions little{.ruleWork = 500};
  Evaluation e = evaluated(dataText("pair.pet"), little);
  EXPECT_GE(e.shapes, 1U);
  EXPECT_LE(e.shapes, 20U);
}

}  // namespace
}  // namespace pet::exhaustive_test
