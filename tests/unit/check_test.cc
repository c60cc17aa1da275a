#include "rules/check/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/pack/file.h"
#include "rules/text.h"
#include "tests/unit/text_file.h"

namespace pet::check_test {
namespace {

using check::Verdict;
using ::testing::HasSubstr;
using testing_support::dataText;

CheckReport checkText(const std::string& text, const CheckOptions& options = {}) {
  auto set = parseRules(text, "test");
  EXPECT_TRUE(set.has_value()) << set.error().message();
  return checkRule(*set->findPattern(set->rules[0].pattern), set->rules[0], options);
}

TEST(Check, ProvesTheRules) {
  for (const char* file : {"conv.pet", "pair.pet", "phases.pet", "pool.pet", "relu.pet", "row.pet", "square.pet",
                           "branches.pet", "products.pet"}) {
    CheckReport report = checkText(dataText(file));
    EXPECT_TRUE(report.proved()) << file << ": " << report.reason();
    EXPECT_EQ(report.reason(), "");
    EXPECT_GE(report.steps.size(), 10U);
  }
}

TEST(Check, GivesUpWithinItsLimitAndSaysSo) {
  CheckReport report = checkText(dataText("pair.pet"), {.steps = 1});
  EXPECT_FALSE(report.proved());
  EXPECT_THAT(report.reason(), HasSubstr("gave up within 1 steps"));
}

/// The reader refuses it, too.
TEST(Check, RefusesASymbolTwice) {
  auto set = parseRules(dataText("conv.pet"), "test");
  ASSERT_TRUE(set.has_value());
  set->rules[0].shapes.symbols.emplace_back("N");
  CheckReport report = checkRule(set->patterns[0], set->rules[0]);
  EXPECT_FALSE(report.proved());
  EXPECT_THAT(report.reason(), HasSubstr("N is declared twice"));
}

/// One damage to a text, and a part of the reason for which it must be refused.
struct Damage {
  std::string name, file, from, to, reason;
  Verdict verdict = Verdict::kRefuted;
};

void PrintTo(const Damage& d, std::ostream* out) {
  *out << d.from << " -> " << d.to;
}

std::string damaged(const Damage& d) {
  std::string text = dataText(d.file);
  size_t rule = text.find("\nrule "), at = text.find(d.from, rule);
  EXPECT_NE(at, std::string::npos) << d.from;
  return text.replace(at, d.from.size(), d.to);
}

class Damaged : public ::testing::TestWithParam<Damage> {};

TEST_P(Damaged, IsRejectedWithAReason) {
  const Damage& d = GetParam();
  CheckReport report = checkText(damaged(d));
  ASSERT_FALSE(report.proved());
  EXPECT_THAT(report.reason(), HasSubstr(d.reason));
  bool refuted = std::any_of(report.steps.begin(), report.steps.end(),
                             [](const CheckStep& s) { return s.verdict == Verdict::kRefuted; });
  EXPECT_EQ(refuted, d.verdict == Verdict::kRefuted) << report.reason();
}

const Damage kDamages[] = {
    // the class
    {"DroppedConstraint", "conv.pet", "P <= R - 1, ", "", "the pattern's class: P + 1 <= R"},
    {"DroppedExtent", "conv.pet", "1 <= C, ", "", "the pattern's class: 1 <= C"},
    {"DroppedHalo", "pair.pet", "2Q <= W, ", "Q <= W, ", "an obligation of the replacement: 2Q <= W"},
    {"EmptyClass", "conv.pet", "1 <= N, ", "1 <= N, N <= 0, ", "its constraints contradict each other"},
    {"UndeclaredSymbol", "conv.pet", "class N C", "class C", "N is not declared"},
    {"SymbolLikeAnIndex", "conv.pet", "class N C", "class N v0 C", "v0 is a name that indices have"},
    {"WrongWhere", "pair.pet", "S = 2Q + 1", "S = 2Q + 1, Z = 1", "Z is no symbol of the pattern"},
    // the shapes
    {"WrongPad", "conv.pet", "pads=[R - 1 - P, S - 1 - Q, R - 1 - P, S - 1 - Q]",
     "pads=[R - 1 - P, S - 1 - Q, R - 1 - P, S - Q]", "an obligation of the replacement: S + 1 <= 2Q + W"},
    {"MissingFlip", "conv.pet", "[f, c, R - 1 - r, S - 1 - s]", "[f, c, r, S - 1 - s]", "the term stays the same"},
    {"SwappedPads", "conv.pet", "pads=[R - 1 - P, S - 1 - Q, R - 1 - P, S - 1 - Q]",
     "pads=[R - 1 - P, S - Q, R - 1 - P, S - 2 - Q]", "an obligation of the replacement: Q + 2 <= S"},
    // the record
    {"WrongImage", "conv.pet", "forward 0 -> 0 [c_1, R - 1 - r_2,", "forward 0 -> 0 [c_1, R - r_2,",
     "the image is a term"},
    {"Identity", "conv.pet", "forward 0 -> 0 [c_1, R - 1 - r_2,", "forward 0 -> 0 [c_1, r_2,",
     "it is the record that is wrong"},
    {"WrongInverse", "conv.pet", "backward 0 -> 0 [c_4, R - 1 - r_5,", "backward 0 -> 0 [c_4, r_5,",
     "backward leads back"},
    {"ConstantImage", "conv.pet", "forward 0 -> 0 [c_1,", "forward 0 -> 0 [0,", "the term stays the same"},
    {"MissingBackward", "conv.pet", "backward 0 -> 0 [c_4, R - 1 - r_5, S - 1 - s_6]", "",
     "backward: one map for every term"},
    {"PartialForward", "conv.pet", "S - 1 - s_3]", "S - 1 - s_3] when v0 >= 1", "forward: one map for every term"},
    {"TwoForward", "conv.pet", "S - 1 - s_3]",
     "S - 1 - s_3]\n forward 0 -> 0 [c_1, R - 1 - r_2, S - 1 - s_3] when v0 = 0", "forward: one map for every term"},
    {"NoSuchPiece", "conv.pet", "forward 0 -> 0", "forward 0 -> 1", "there is no piece 1"},
    {"TooShort", "conv.pet", "[c_1, R - 1 - r_2, S - 1 - s_3]", "[c_1, R - 1 - r_2]",
     "it gives 2 of 3 reduction indices"},
    {"StrangerInMap", "conv.pet", "forward 0 -> 0 [c_1,", "forward 0 -> 0 [c_4,", "c_4 is no index of the piece"},
    {"WrongSeam", "pair.pet", "v0 % 2 = 1, v3 < Q", "v0 % 2 = 1, v3 <= Q", "forward: one map for every term"},
    {"SwappedPieces", "pair.pet", "forward 0 -> 13", "forward 0 -> 12", "the image is a term"},
    {"NotInjective", "square.pet", "forward 0 -> 0 [k_1]", "forward 0 -> 0 [0]", "the term stays the same"},
    // the programs
    {"WrongHalo", "pair.pet", "starts=[W - 2Q] ends=[W]", "starts=[W - 2Q + 1] ends=[W + 1]", "the programs differ"},
    {"WrongCorrection", "pair.pet", "b = Conv(a, w) pads=[P, 0, P, Q]", "b = Conv(a, w) pads=[P, Q, P, 0]",
     "the programs differ"},
    {"UncorrectedSeam", "pair.pet", "z = Concat(left, b, d, right) axis=3",
     "z = Slice(u) axes=[3] starts=[0] ends=[2W]", "there is no piece 13"},
    {"WrongOrder", "pair.pet", "Concat(left, b, d, right)", "Concat(left, d, b, right)", "the programs differ"},
    {"WrongLayout", "pair.pet",
     "t = Layout(x) (n 2) c h w -> n c h (2 w)\n    u = Conv(t, w) pads=[P, Q, P, Q]\n    left",
     "t = Layout(x) (2 n) c h w -> n c h (2 w)\n    u = Conv(t, w) pads=[P, Q, P, Q]\n    left", "the programs differ"},
    {"OneFactor", "square.pet", "z = MatMul(t, t)", "z = MatMul(t, x)", "the programs differ"},
    // the boxes
    {"BoxOneColumnShort", "pair.pet", "W - Q:W]", "W - Q + 1:W]", "mutant and pattern differ"},
    {"BoxOneColumnShortRight", "pair.pet", "0:Q]", "0:Q - 1]", "mutant and pattern differ"},
    {"BoxOfTheOtherImage", "pair.pet", "[1:2M:2,", "[0:2M:2,", "mutant and pattern differ"},
    {"BoxWithGaps", "pair.pet", "[1:2M:2,", "[1:2M:4,", "mutant and pattern differ"},
    {"BoxMissing", "pair.pet", "  box [1:2M:2, 0:F, 0:H + 2P - R + 1, 0:Q]\n", "", "mutant and pattern differ"},
    {"BoxRank", "pair.pet", "[1:2M:2, 0:F,", "[1:2M:2,", "a box has 3 ranges, the output 4 digits"},
    // Of two outputs one is damaged.
    {"SecondOutputTransposed", "branches.pet", "forward 0 -> 1 [c_1, r_2, s_3]", "forward 0 -> 1 [c_1, s_3, r_2]",
     "output z: forward map 0 (0 -> 1)"},
    {"SecondOutputOfTheFirstKernels", "branches.pet", "forward 0 -> 1 [", "forward 0 -> 0 [",
     "output z: forward map 0 (0 -> 0)"},
    {"FirstOutputWithoutAWayBack", "branches.pet", "    backward 0 -> 0 [c_4, r_5, s_6]\n", "",
     "output y: backward: one map for every term of piece 0"},
    {"SecondOutputWithoutAProof", "branches.pet",
     "    forward 0 -> 1 [c_1, r_2, s_3]\n    backward 1 -> 0 [c_4, r_5, s_6]\n", "",
     "output z: forward: one map for every term of piece 0"},
    {"OutputsExchanged", "branches.pet", "k = Concat(v, w) axis=0", "k = Concat(w, v) axis=0", "output y: "},
    {"PartsExchanged", "products.pet", "split=[A, B]", "split=[B, A]", "output y of the replacement"},
    {"OneOutputOnly", "products.pet", "split=[A, B]\n", "split=[A, B]\n    return y\n",
     "outputs of the replacement: 2 against 1"},
    {"BoxSymbol", "pair.pet", "W - Q:W]", "W - S:W]", "S is not declared"},
};

INSTANTIATE_TEST_SUITE_P(Rules, Damaged, ::testing::ValuesIn(kDamages), [](const auto& test) {
  return test.param.name;
});

/// Whole rules, small enough to read: what is not multilinear or not a bijection is never proved.
struct Case {
  std::string name, inputs, pattern, shapes, replacement, proof, reason;  ///< an empty reason: proved
};

std::string caseText(const Case& c) {
  return "pattern p {\n shape " + c.shapes + "\n " + c.inputs + "\n " + c.pattern +
         "\n}\nrule r of p {\n family f\n depth 1\n" + " class " + c.shapes + "\n replacement {\n " + c.replacement +
         "\n }\n proof {\n " + c.proof + "\n }\n}\n";
}

const std::string kSwap = "forward 0 -> 1 []\n forward 1 -> 0 []\n backward 0 -> 1 []\n backward 1 -> 0 []";
const std::string kSame = "forward 0 -> 0 []\n backward 0 -> 0 []";
const std::string kCut =
    "a = Slice(x) axes=[0] starts=[0] ends=[W - 5]\n b = Slice(x) axes=[0] starts=[W - 5] ends=[W]\n "
    "y = Concat(a, b) axis=0";
const std::string kCutProof =
    "forward 0 -> 0 [] when v0 < W - 5\n forward 0 -> 1 [] when W - 5 <= v0\n"
    " backward 0 -> 0 []\n backward 1 -> 0 []";

const std::string kMaxima = "equal sums 1 = 1 when u_1 = u_5, u_2 = u_6, u_3 + r_4 = u_7 + r_8 {\n" + kSame +
                            "\n}\n equal maxima 0 = 0 when u_1 = u_5, u_2 = u_6, u_3 = u_7 {\n";

const Case kCases[] = {
    {"AddCommutes", "a: [N]\n b: [N]", "y = Add(a, b)", "N : 1 <= N", "y = Add(b, a)", kSwap, ""},
    {"AddIsNotSub", "a: [N]\n b: [N]", "y = Sub(a, b)", "N : 1 <= N", "y = Sub(b, a)", kSwap, "1/1 becomes -1/1"},
    // Equal pieces are one, with the sum of their coefficients.
    {"TwiceIsNotOnce", "x: [N]", "y = Add(x, x)", "N : 1 <= N", "y = Identity(x)", kSame, "2/1 becomes 1/1"},
    {"OnceIsNotTwice", "x: [N]", "y = Identity(x)", "N : 1 <= N", "y = Add(x, x)", kSame, "1/1 becomes 2/1"},
    {"TwiceIsTwice", "x: [N]", "y = Add(x, x)", "N : 1 <= N", "c = Constant() value=2\n y = Mul(c, x)", kSame, ""},
    {"TwoToOne", "x: [2N]",
     "a = Slice(x) axes=[0] starts=[0] ends=[N]\n b = Slice(x) axes=[0] starts=[N] ends=[2N]\n "
     "y = Add(a, b)",
     "N : 1 <= N", "y = Slice(x) axes=[0] starts=[0] ends=[N]",
     "forward 0 -> 0 []\n forward 1 -> 0 []\n backward 0 -> 0 []", "forward map 1 (1 -> 0): the term stays the same"},
    {"OtherInput", "a: [N]\n b: [N]", "y = Identity(a)", "N : 1 <= N", "y = Identity(b)", kSame,
     "a product of other inputs"},
    {"MeanIsNotSum", "x: [N, 4]", "y = ReduceMean(x) axes=[1]", "N : 1 <= N", "y = ReduceSum(x) axes=[1]",
     "forward 0 -> 0 [k_1]\n backward 0 -> 0 [k_2]", "1/4 becomes 1/1"},
    {"CutInTwo", "x: [W]", "y = Identity(x)", "W : 5 <= W", kCut, kCutProof, ""},
    {"CutFromANegativeStart", "x: [W]", "y = Identity(x)", "W : 1 <= W", kCut, kCutProof,
     "an obligation of the replacement: 5 <= W"},
    {"OtherExtent", "x: [W]", "y = Identity(x)", "W : 1 <= W", "y = Slice(x) axes=[0] starts=[0] ends=[W - 1]", kSame,
     "an obligation of the replacement: 2 <= W"},
    {"OtherRank", "x: [W]", "y = Identity(x)", "W : 1 <= W", "y = Layout(x) w -> 1 w", kSame, "[W] against [1, W]"},
    // functions and maxima: by lemmas about their arguments
    {"Function", "x: [N]", "y = Relu(x)", "N : 1 <= N", "y = Relu(x)",
     "equal sums 1 = 1 when u_1 = u_2 {\n" + kSame + "\n}\n" + kSame, ""},
    {"FunctionWithoutLemma", "x: [N]", "y = Relu(x)", "N : 1 <= N", "y = Relu(x)", kSame, "that no lemma compares"},
    {"FunctionAnywhere", "x: [N]", "y = Relu(x)", "N : 1 <= N", "y = Relu(x)",
     "equal sums 1 = 1 when 0 = 0 {\n" + kSame + "\n}\n" + kSame, "lemma 0 (sums 1 = 1): forward map 0 (0 -> 0)"},
    {"FunctionElsewhere", "x: [N]", "y = Relu(x)", "N : 1 <= N", "y = Relu(x)",
     "equal sums 1 = 1 when u_1 = u_2, u_1 <= 3 {\n" + kSame + "\n}\n" + kSame,
     "forward map 0 (0 -> 0): the term stays the same"},
    {"LemmaAfterItsUse", "x: [N]", "r = Relu(x)\n y = Tanh(r)", "N : 1 <= N", "r = Relu(x)\n y = Tanh(r)",
     "equal sums 2 = 2 when u_1 = u_3 {\n" + kSame + "\n}\n equal sums 1 = 1 when u_2 = u_4 {\n" + kSame + "\n}\n" +
         kSame,
     "lemma 0 (sums 2 = 2): forward map 0 (0 -> 0): a product of other inputs, or of functions"},
    {"LemmaBeforeItsUse", "x: [N]", "r = Relu(x)\n y = Tanh(r)", "N : 1 <= N", "r = Relu(x)\n y = Tanh(r)",
     "equal sums 1 = 1 when u_2 = u_4 {\n" + kSame + "\n}\n equal sums 2 = 2 when u_1 = u_3 {\n" + kSame + "\n}\n" +
         kSame,
     ""},
    {"LemmaOfItself", "x: [N]", "r = Relu(x)\n y = Tanh(r)", "N : 1 <= N", "r = Sigmoid(x)\n y = Tanh(r)",
     "equal sums 1 = 1 when u_2 = u_4 {\n" + kSame + "\n}\n equal sums 2 = 2 when u_1 = u_3 {\n" + kSame + "\n}\n" +
         kSame,
     "lemma 1 (sums 2 = 2): forward map 0 (0 -> 0): a product of other inputs, or of functions"},
    {"NoSuchSum", "x: [N]", "y = Relu(x)", "N : 1 <= N", "y = Relu(x)",
     "equal sums 1 = 2 when u_1 = u_2 {\n" + kSame + "\n}\n" + kSame, "there is no such sum"},
    {"OtherAlpha", "x: [N]", "y = LeakyRelu(x)", "N : 1 <= N", "y = LeakyRelu(x) alpha=0.02",
     "equal sums 1 = 1 when u_1 = u_2 {\n" + kSame + "\n}\n" + kSame, "that no lemma compares"},
    {"Max", "x: [N, C, W]", "y = MaxPool(x) kernel_shape=[2]", "N C W : 2 <= W, 1 <= N, 1 <= C",
     "y = MaxPool(x) kernel_shape=[2]", kMaxima + "forward 0 -> 0 [r_4]\n backward 0 -> 0 [r_8]\n}\n" + kSame, ""},
    {"MaxOfOthers", "x: [N, C, W]", "y = MaxPool(x) kernel_shape=[2]", "N C W : 2 <= W, 1 <= N, 1 <= C",
     "y = MaxPool(x) kernel_shape=[2]", kMaxima + "forward 0 -> 0 [1 - r_4]\n backward 0 -> 0 [1 - r_8]\n}\n" + kSame,
     "lemma 1 (maxima 0 = 0): forward map 0 (0 -> 0): the elements are equal"},
    {"MaxOfMore", "x: [N, C, W]", "y = MaxPool(x) kernel_shape=[2]", "N C W : 2 <= W, 1 <= N, 1 <= C",
     "z = MaxPool(x) kernel_shape=[1]\n y = Slice(z) axes=[2] starts=[0] ends=[W - 1]",
     kMaxima + "forward 0 -> 0 [0] when r_4 = 0\n backward 0 -> 0 [r_8]\n}\n" + kSame,
     "lemma 1 (maxima 0 = 0): forward: a map for alternative 0"},
    {"Vanishing", "x: [N]", "y = Relu(x)", "N : 1 <= N",
     "z = Constant() value=0 shape=[N]\n r = Tanh(z)\n s = Relu(x)\n y = Add(r, s)",
     "vanish replacement 0.0.0\n equal sums 1 = 2 when u_1 = u_3 {\n" + kSame + "\n}\n" +
         "forward 0 -> 1 []\n backward 1 -> 0 []",
     ""},
    {"VanishingOfWhatIsThere", "x: [N]", "y = Relu(x)", "N : 1 <= N", "r = Tanh(x)\n s = Relu(x)\n y = Add(r, s)",
     "vanish replacement 0.0.0\n equal sums 1 = 2 when u_1 = u_3 {\n" + kSame + "\n}\n" +
         "forward 0 -> 0 []\n backward 0 -> 0 []",
     "vanish 0: piece 0 of the argument has no monomial there"},
    {"VanishingOfSigmoid", "x: [N]", "y = Relu(x)", "N : 1 <= N",
     "z = Constant() value=0 shape=[N]\n r = Sigmoid(z)\n s = Relu(x)\n y = Add(r, s)",
     "vanish replacement 0.0.0\n equal sums 1 = 2 when u_1 = u_3 {\n" + kSame + "\n}\n" +
         "forward 0 -> 1 []\n backward 1 -> 0 []",
     "vanish 0: the factor is no function that keeps 0"},
    // Relu(-inf) is 0: a maximum of nothing is not the maximum of nothing's images
    {"ReluOfNothing", "x: [N, C, W]",
     "p = Pad(x) pads=[0, 0, 5, 0, 0, 0] value=-inf\n m = MaxPool(p) kernel_shape=[2]\n y = Relu(m)",
     "N C W : 1 <= N, 1 <= C, 1 <= W",
     "p = Pad(x) pads=[0, 0, 5, 0, 0, 0] value=-inf\n m = MaxPool(p) kernel_shape=[2]\n "
     "y = Relu(m)",
     kSame, "maximum 2 of the pattern is of something"},
    // 0 · -inf is no number: nothing is said of such a product, not even that it is itself
    {"ProductWithInfinity", "x: [W, W]",
     "p = Pad(x) pads=[0, 0, 0, 1] value=-inf\n b = Band() shape=[W, W + 1] lower=W upper=0\n m = Mul(b, p)\n "
     "y = Exp(m)",
     "W : 1 <= W",
     "p = Pad(x) pads=[0, 0, 0, 1] value=-inf\n b = Band() shape=[W, W + 1] lower=W upper=0\n m = Mul(b, p)\n "
     "y = Exp(m)",
     kSame, "-inf in a product"},
};

class Whole : public ::testing::TestWithParam<Case> {};

void PrintTo(const Case& c, std::ostream* out) {
  *out << caseText(c);
}

TEST_P(Whole, IsProvedOrHasAReason) {
  const Case& c = GetParam();
  CheckReport report = checkText(caseText(c));
  EXPECT_EQ(report.proved(), c.reason.empty()) << report.reason();
  EXPECT_THAT(report.reason(), HasSubstr(c.reason));
}

INSTANTIATE_TEST_SUITE_P(Rules, Whole, ::testing::ValuesIn(kCases), [](const auto& test) { return test.param.name; });

/// Damages that leave a rule true and its record a proof.
TEST(Check, AcceptsWhatIsStillRight) {
  const Damage kHarmless[] = {
      {"", "conv.pet", "1 <= N, ", "3 <= N, ", ""},
      {"", "conv.pet", "[c_1, R - 1 - r_2, S - 1 - s_3]",
       "[c_1, R - 1 - r_2, S - 1 - s_3] when v0 = 0\n forward 0 -> 0 [c_1, R - 1 - r_2, S - 1 - s_3] when 1 <= v0", ""},
      {"", "pair.pet", "W - Q:W]", "W - Q - 1:W]", ""},
      {"", "pair.pet", "0:Q]", "0:W]", ""},
      {"", "pair.pet", "[1:2M:2,", "[0:2M,", ""},
      {"", "square.pet", "forward 0 -> 0 [k_1]", "forward 0 -> 0 [k_1] when 0 <= v0", ""},
  };
  for (const Damage& d : kHarmless) {
    CheckReport report = checkText(damaged(d));
    EXPECT_TRUE(report.proved()) << d.from << " -> " << d.to << ": " << report.reason();
  }
}

/// A rule in memory can be what the text cannot say.
TEST(Check, WantsOneProofForEachOutput) {
  auto set = parseRules(dataText("branches.pet"), "test");
  ASSERT_TRUE(set.has_value());
  auto reasonOf = [&](Rule rule) { return checkRule(set->patterns[0], rule).reason(); };
  Rule rule = set->rules[0];
  std::swap(rule.proofs[0], rule.proofs[1]);
  EXPECT_EQ(reasonOf(rule), "the proofs: one of 'z', not 'y'");
  rule.proofs.pop_back();
  EXPECT_EQ(reasonOf(rule), "the proofs: 1 of 2 outputs");
  rule = set->rules[0];
  rule.boxes.push_back({{{0, 1}, {0, 1}, {0, 1}, {0, 1}}});
  EXPECT_EQ(reasonOf(rule), "the boxes: the pattern has several outputs");
}

TEST(Check, CounterExamplesArePositionsThatDiffer) {
  CheckReport report = checkText(damaged({"", "pair.pet", "W - Q:W]", "W - Q + 1:W]", ""}));
  EXPECT_THAT(report.reason(), HasSubstr("M = 1"));
  EXPECT_THAT(report.reason(), HasSubstr("; v = [0, 0, "));
}

}  // namespace
}  // namespace pet::check_test
