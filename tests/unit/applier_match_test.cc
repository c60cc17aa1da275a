// Where patterns match, and why not.

#include <gmock/gmock.h>

#include "applier/match/find_sites.h"
#include "rules/rewrite/bind.h"
#include "tests/unit/applier_support.h"

namespace pet::applier_match_test {
namespace {

using namespace testing_support;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kConv = R"(
pattern conv {
  shape N C H W F R S P Q : 0 <= P, 0 <= Q
  x: [N, C, H, W]
  w: const [F, C, R, S]
  y = Conv(x, w) pads=[P, Q, P, Q]
})";

struct Found {
  std::vector<Site> sites;
  std::vector<Refusal> refusals;
};

Found find(const std::string& pattern, const Model& model, const NormaliseOptions& options = {}) {
  RuleSet rules = rulesOf(pattern);
  static std::vector<Normalised> kept;  // sites refer to nothing of it, but names are handy when debugging
  kept.push_back(normalise(model.graph, options));
  MatchIndex index(model.graph, kept.back().view, kept.back().sizes);
  Found found;
  found.sites = match(index, rules.patterns.at(0), found.refusals);
  for (Site& s : found.sites)
    s.pattern = nullptr;
  return found;
}

TEST(ApplierMatch, BindsTheSymbolsOfASite) {
  Model model = modelOf("x: [2, 3, 8, 9]  w: const [4, 3, 5, 3]  y = Conv(x, w) pads=[2, 1, 2, 1]");
  Found found = find(kConv, model);
  ASSERT_EQ(found.sites.size(), 1U);
  Bindings expected{{"N", 2}, {"C", 3}, {"H", 8}, {"W", 9}, {"F", 4}, {"R", 5}, {"S", 3}, {"P", 2}, {"Q", 1}};
  EXPECT_EQ(found.sites[0].symbols, rewrite::symbolsOf(expected));
  EXPECT_TRUE(found.refusals.empty());
}

TEST(ApplierMatch, TheLastSitesAreThoseBehindWhichOnlyFunctionsAre) {
  const std::string first = "x: [1, 3, 8, 8]  w: const [3, 3, 3, 3]  v: const [3, 3, 3, 3]  c: const [3, 1, 1]  ";
  auto isLast = [&](const std::string& more) {
    std::vector<bool> last;
    for (const Site& s : find(kConv, modelOf(first + more)).sites)
      last.push_back(s.beside.isLast);
    return last;
  };
  using Last = std::vector<bool>;
  EXPECT_EQ(isLast("y = Conv(x, w)"), Last({true}));
  EXPECT_EQ(isLast("t = Conv(x, w)  u = Add(t, c)  y = Softmax(u) axis=1"), Last({true}));
  EXPECT_EQ(isLast("t = Conv(x, w)  u = Relu(t)  y = Conv(u, v)"), Last({false, true}));
  EXPECT_EQ(isLast("t = Conv(x, w)  u = Exp(t)  y = Mul(t, u)"), Last({false}));
  EXPECT_EQ(isLast("t = Conv(x, w)  u = Flatten(t)  y = Relu(u)"), Last({true}));
}

TEST(ApplierMatch, TheFirstSitesAreThoseBehindPlainLayouts) {
  const std::string inputs = "x: [1, 3, 8, 8]  w: const [3, 3, 3, 3]  c: const [3, 1, 1]  m: const [6, 6]  ";
  auto isFirst = [&](const std::string& more) {
    std::vector<bool> first;
    for (const Site& s : find(kConv, modelOf(inputs + more)).sites)
      first.push_back(s.beside.isFirst);
    return first;
  };
  using First = std::vector<bool>;
  EXPECT_EQ(isFirst("y = Conv(x, w)"), First({true}));
  EXPECT_EQ(isFirst("t = Exp(x)  y = Conv(t, w)"), First({true}));
  EXPECT_EQ(isFirst("t = Conv(x, w)  u = Add(t, c)  v = Relu(u)  y = Conv(v, w)"), First({true, false}));
  EXPECT_EQ(isFirst("t = MaxPool(x) kernel_shape=[2, 2]  u = Concat(t, t) axis=2  y = Conv(u, w)"), First({false}));
  EXPECT_EQ(isFirst("t = Conv(x, w)  u = MatMul(t, m)  y = Conv(u, w)"), First({true, true}));
}

TEST(ApplierMatch, ALayoutIsOneOfTheSameGroupsAndBindsItsExtents) {
  constexpr const char* kFlat = R"(
pattern flat {
  shape N C H W K
  x: [N, C, H, W]
  w: const [(C H W), K]
  f = Layout(x) n c h w -> n (c h w)
  y = MatMul(f, w)
})";
  Model same = modelOf("x: [2, 3, 4, 5]  w: const [60, 7]  f = Flatten(x)  y = MatMul(f, w)");
  Found found = find(kFlat, same);
  ASSERT_EQ(found.sites.size(), 1U);
  Bindings expected{{"N", 2}, {"C", 3}, {"H", 4}, {"W", 5}, {"K", 7}};
  EXPECT_EQ(found.sites[0].symbols, rewrite::symbolsOf(expected));
  Model exchanged = modelOf(
      "x: [2, 3, 4, 5]  w: const [60, 7]  t = Transpose(x) perm=[0, 2, 3, 1]  f = Flatten(t)  y = MatMul(f, w)");
  Found behind = find(kFlat, exchanged);
  ASSERT_EQ(behind.sites.size(), 1U) << "behind the Transpose";
  EXPECT_EQ(behind.sites[0].symbols.at("C"), Dim(4));
}

TEST(ApplierMatch, ANumberThatStandsForOthersIsTheModels) {
  constexpr const char* kLeaky = "pattern p {\n shape N\n any 0.01 > 0\n x: [N]\n y = LeakyRelu(x)\n}";
  Found found = find(kLeaky, modelOf("x: [3]  y = LeakyRelu(x) alpha=0.25"));
  ASSERT_EQ(found.sites.size(), 1U);
  EXPECT_EQ(found.sites[0].numbers, (Numbers{{0.01, 0.25}}));
}

TEST(ApplierMatch, SlicesOfOneSliceAreSlicesAlongBothAxes) {
  constexpr const char* kBoth =
      "pattern p {\n shape N H W\n x: [N, 2H, 2W]\n a = Slice(x) axes=[1, 2] starts=[0, 0] ends=[2H, 2W] steps=[2, 2]\n"
      " b = Slice(x) axes=[1, 2] starts=[0, 1] ends=[2H, 2W] steps=[2, 2]\n y = Concat(a, b) axis=0\n}";
  const std::string first = "x: [3, 8, 6]  r = Slice(x) axes=[1] starts=[0] ends=[8] steps=[2]  ";
  const std::string both =
      "a = Slice(r) axes=[2] starts=[0] ends=[6] steps=[2]  b = Slice(r) axes=[2] starts=[1] ends=[6] steps=[2]  ";
  EXPECT_EQ(find(kBoth, modelOf(first + both + "y = Concat(a, b) axis=0")).sites.size(), 1U);
  EXPECT_EQ(find(kBoth, modelOf(first + both + "y = Concat(b, a) axis=0")).sites.size(), 0U);
}

TEST(ApplierMatch, TapsBeyondTheMapAreAsFarApartAsThePatterns) {
  constexpr const char* kBeyond =
      "pattern p {\n shape N C W F B : W <= 1024, 1 <= B\n x: [N, C, W]\n w: const [F, C, 2B + 1]\n"
      " y = Conv(x, w) dilations=[1024] pads=[1024B, 1024B]\n}";
  auto sites = [&](const std::string& width, const std::string& attributes) {
    const std::string model = "x: [1, 2, " + width + "]  w: const [4, 2, 3]  y = Conv(x, w) ";
    return find(kBeyond, modelOf(model + attributes)).sites.size();
  };
  EXPECT_EQ(sites("9", "dilations=[9] pads=[9, 9]"), 1U);
  EXPECT_EQ(sites("9", "dilations=[12] pads=[12, 12]"), 1U);
  EXPECT_EQ(sites("9", "dilations=[8] pads=[8, 8]"), 0U);
  EXPECT_EQ(sites("9", "dilations=[12] pads=[24, 0]"), 0U) << "the last tap";
  EXPECT_EQ(sites("9", "dilations=[12] pads=[11, 13]"), 0U);
}

TEST(ApplierMatch, AConstantOfOneNumberIsTheModels) {
  constexpr const char* kSlope =
      "pattern p {\n shape N\n any 0.01 > 0\n x: [N]\n s = Constant() value=0.01\n y = PRelu(x, s)\n}";
  for (const char* slope : {"Constant() value=0.3", "Constant() value=0.3 shape=[1]"}) {
    Found found = find(kSlope, modelOf("x: [3]  s = " + std::string(slope) + "  y = PRelu(x, s)"));
    ASSERT_EQ(found.sites.size(), 1U) << slope;
    EXPECT_FLOAT_EQ(found.sites[0].numbers.at(0.01), 0.3);
  }
  for (const char* slope : {"Constant() value=-0.3", "Constant() value=0", "Table() shape=[3] values=[1, 2, 3]"})
    EXPECT_TRUE(find(kSlope, modelOf("x: [3]  s = " + std::string(slope) + "  y = PRelu(x, s)")).sites.empty())
        << slope;
  constexpr const char* kTwice =
      "pattern p {\n shape N\n any 0.01 > 0\n x: [N]\n s = Constant() value=0.01\n"
      " t = PRelu(x, s)\n y = LeakyRelu(t) alpha=0.01\n}";
  for (auto [alpha, sites] : {std::pair{"0.25", 1U}, {"0.5", 0U}}) {
    const std::string model = "x: [3]  s = Constant() value=0.25  t = PRelu(x, s)  y = LeakyRelu(t) alpha=";
    EXPECT_EQ(find(kTwice, modelOf(model + alpha)).sites.size(), sites) << alpha;
  }
}

TEST(ApplierMatch, AnOperatorInPiecesIsOneThatTheModelHasInAsMany) {
  constexpr const char* kPieces =
      "pattern p {\n shape M K\n x: [M, K]\n three = Constant() value=3\n six = Constant() value=6\n u = Add(x, "
      "three)\n"
      " c = Clip(u) min=0 max=6\n t = Mul(x, c)\n y = Div(t, six)\n}";
  const std::string line = "x: [2, 3, 4]  three = Constant() value=3  six = Constant() value=6  u = Add(x, three)  ";
  for (const char* same : {"c = Clip(u) min=0 max=6  t = Mul(c, x)  y = Div(t, six)",
                           "c = Clip(u) min=0 max=6  t = Div(c, six)  y = Mul(x, t)"}) {
    Found found = find(kPieces, modelOf(line + same));
    ASSERT_EQ(found.sites.size(), 1U) << same;
    EXPECT_EQ(found.sites[0].nodes.size(), 1U);
    EXPECT_TRUE(found.sites[0].isInPieces);
  }
  for (const char* other :
       {"x: [2, 3]  y = HardSwish(x)", "x: [2, 3]  g = HardSigmoid(x) alpha=0.16666667 beta=0.5  y = Mul(x, g)"}) {
    Found found = find(kPieces, modelOf(other));
    EXPECT_TRUE(found.sites.empty()) << other;
    ASSERT_EQ(found.refusals.size(), 1U) << other;
    EXPECT_EQ(found.refusals[0].reason.detail, "the model has it in fewer operators");
  }
  EXPECT_TRUE(find(kPieces, modelOf(line + "c = Clip(u) min=0 max=5  t = Mul(c, x)  y = Div(t, six)")).sites.empty());
}

TEST(ApplierMatch, APatternThatRepeatsIsOfModelsThatDo) {
  constexpr const char* kRepeats =
      "pattern p {\n shape M K\n x: [M, K]\n s: [M, 1]\n t = Expand(s) shape=[M, K]\n y = Mul(x, t)\n}";
  for (const char* repeats : {"t = Expand(s) shape=[2, 3]  ", "t = Tile(s) repeats=[1, 3]  "}) {
    Found found = find(kRepeats, modelOf("x: [2, 3]  s: [2, 1]  " + std::string(repeats) + "y = Mul(x, t)"));
    ASSERT_EQ(found.sites.size(), 1U) << repeats;
    EXPECT_TRUE(found.sites[0].isInPieces);
  }
  Found found = find(kRepeats, modelOf("x: [2, 3]  s: [2, 1]  y = Mul(x, s)"));
  EXPECT_TRUE(found.sites.empty());
  ASSERT_EQ(found.refusals.size(), 1U);
  EXPECT_EQ(found.refusals[0].reason.detail, "the model has it in fewer operators");
}

TEST(ApplierMatch, AClippedWeightIsAConstantWithinTheBounds) {
  constexpr const char* kWithin =
      "pattern p {\n shape N C H\n x: [N, C, H]\n w: const [C, 1]\n s = Clip(w) min=0 max=1\n y = PRelu(x, s)\n}";
  auto model = [](const std::string& values) {
    return modelOf("x: [2, 3, 4]  s = Table() shape=[3, 1] denominator=4 values=" + values + "  y = PRelu(x, s)");
  };
  for (const char* within : {"[0, 1, 4]", "[1, 1, 1]", "[0, 0, 0]"}) {
    Found found = find(kWithin, model(within));
    ASSERT_EQ(found.sites.size(), 1U) << within;
    EXPECT_EQ(found.sites[0].factored.size(), 1U);
  }
  for (const char* beyond : {"[0, 1, 5]", "[-1, 1, 1]"}) {
    Found found = find(kWithin, model(beyond));
    EXPECT_TRUE(found.sites.empty()) << beyond;
    ASSERT_EQ(found.refusals.size(), 1U) << beyond;
    EXPECT_EQ(found.refusals[0].reason.detail, "equal only where a constant is in [0, 1]");
  }
}

TEST(ApplierMatch, ARowStandsForThoseOfTensorsOfAnyRankUpToVideo) {
  const char* tensors[] = {"[5]", "[4, 5]", "[3, 4, 5]", "[2, 3, 4, 5]", "[1, 2, 3, 4, 5]"};
  for (const std::string tensor : tensors) {
    Found found =
        find("pattern p {\n shape M K\n x: [M, K]\n y = Mish(x)\n}", modelOf("x: " + tensor + "  y = Mish(x)"));
    ASSERT_EQ(found.sites.size(), 1U) << tensor;
    EXPECT_EQ(found.sites[0].symbols.at("K"), Dim(5)) << tensor;
  }
}

/// Two products that share their left side.
constexpr const char* kProducts = R"(
pattern products {
  shape M K A B
  w: const [M, K]
  a: [K, A]
  b: [K, B]
  y = MatMul(w, a)
  z = MatMul(w, b)
  return y, z
})";

struct Case {
  std::string pattern, model;
  size_t sites;
  std::string refusal = "";  ///< part of the first refusal's reason
};

std::string pattern(const std::string& body) {
  return "pattern p {\n" + body + "\n}";
}

const std::string kChain = pattern("shape N M\nx: [N, M]\nr = Relu(x)\ny = Tanh(r)");
const std::string kGrouped = pattern(
    "shape N G C H W F R S P Q\nx: [N, (G C), H, W]\nw: const [(G F), C, R, S]\ny = Conv(x, w) pads=[P, Q, P, Q] "
    "group=G");

const std::string kBiased = pattern(
    "shape M K A B\nx: [M, K]\nv: const [K, A]\nb: const [A]\nw: const [K, B]\nc: const [B]\ns = MatMul(x, v)\n"
    "y = Add(s, b)\nt = MatMul(x, w)\nz = Add(t, c)\nreturn y, z");

/// Both operators have one epsilon, which may be any.
const std::string kNormalised = pattern(
    "shape N C\nany 1e-05 > 0\nx: [N, C]\ns: const [C]\nt = LayerNormalization(x, s) axis=1\nr = Relu(t)\n"
    "y = LayerNormalization(r, s) axis=1");
std::string normalised(const std::string& first, const std::string& second) {
  return "x: [2, 3]  s: const [3]  t = LayerNormalization(x, s) axis=1 epsilon=" + first +
         "  r = Relu(t)  y = LayerNormalization(r, s) axis=1 epsilon=" + second;
}

const Case kCases[] = {
    {kNormalised, normalised("1e-05", "1e-05"), 1},
    {kNormalised, normalised("1e-12", "1e-12"), 1},
    {kNormalised, normalised("0.5", "0.5"), 1},
    {kNormalised, normalised("1e-05", "0.5"), 0, "epsilon of LayerNormalization is"},
    {kNormalised, normalised("0", "0"), 0},
    {kConv, "x: [1, 2, 5, 5]  w: const [3, 2, 3, 3]  y = Conv(x, w)", 1},
    {kConv, "x: [1, 2, 5, 5]  w: const [3, 2, 3, 3]  y = Conv(x, w) strides=[2, 1]", 0, "strides of Conv is 2, not 1"},
    {kConv, "x: [1, 2, 5, 5]  w: const [3, 2, 3, 3]  y = Conv(x, w) pads=[1, 0, 0, 0]", 0, "pads of Conv is 0, not P"},
    {kConv, "x: [1, 2, 5, 5]  w: const [2, 1, 3, 3]  y = Conv(x, w) group=2", 0, "group of Conv is 2, not 1"},
    {kConv, "x: [1, 2, 5]  w: const [3, 2, 3]  y = Conv(x, w)", 0},  // lists of another length: not the operator
    {kConv, "x: [1, 2, 5, 5]  w: [3, 2, 3, 3]  y = Conv(x, w)", 0, "w is not a constant of the model"},
    // A constant that the model computes is one, too.
    {kConv, "x: [1, 2, 5, 5]  v: const [2, 3, 3, 3]  w = Transpose(v) perm=[1, 0, 2, 3]  y = Conv(x, w)", 1},
    {kConv, "x: [1, 2, 9, 9]  w: const [2, 2, 3, 3]  a = Conv(x, w)  b = Relu(a)  y = Conv(b, w)", 2},
    // A convolution of constants alone is none.
    {kConv,
     "x: [2]  v: const [1, 2, 5, 5]  w: const [1, 2, 5, 5]  a = Conv(v, w)  b = Reshape(a) shape=[1]  y = Add(x, b)",
     0},
    // Groups: G is found in the attribute, then C and F in the products.
    {kGrouped, "x: [1, 6, 5, 5]  w: const [9, 2, 3, 3]  y = Conv(x, w) group=3", 1},
    {kGrouped, "x: [1, 6, 5, 5]  w: const [9, 6, 3, 3]  y = Conv(x, w)", 1},
    // Interior values are nobody else's.
    {kChain, "x: [2, 3]  r = Relu(x)  y = Tanh(r)", 1},
    {kChain, "x: [2, 3]  r = Relu(x)  t = Tanh(r)  y = Add(t, r)", 0, "its Relu is used elsewhere"},
    {kChain, "x: [2, 3]  r = Relu(x)  y = Tanh(r)  return y, r", 0, "its Relu is used elsewhere"},
    {kChain, "x: [2, 3]  r = Relu(x)  a = Tanh(r)  b = Tanh(r)  y = Add(a, b)", 0, "its Relu is used elsewhere"},
    // A variable that occurs twice is one value.
    {pattern("shape N M\nx: [N, M]\ny = Mul(x, x)"), "x: [2, 3]  y = Mul(x, x)", 1},
    {pattern("shape N M\nx: [N, M]\ny = Mul(x, x)"), "x: [2, 3]  z: [2, 3]  y = Mul(x, z)", 0},
    // Sums and products match in either order.
    {pattern("shape N M\nx: [N, M]\nz: [N, M]\nr = Relu(z)\ny = Add(x, r)"),
     "x: [2, 3]  z: [2, 3]  r = Relu(z)  y = Add(r, x)", 1},
    {pattern("shape N M\nx: [N, M]\nc: const [M]\ny = Add(x, c)"), "x: [2, 3]  c: const [3]  y = Add(c, x)", 1},
    // Attributes: numbers and words are equal, symbols are solved.
    {pattern("shape N M\nx: [N, M]\ny = LeakyRelu(x) alpha=0.5"), "x: [2, 3]  y = LeakyRelu(x) alpha=0.25", 0},
    {pattern("shape N M A B\nx: [N, M]\ny = Slice(x) axes=[1] starts=[A] ends=[A + B] steps=[1]"),
     "x: [2, 9]  y = Slice(x) axes=[1] starts=[2] ends=[7]", 1},
    {pattern("shape N K\nx: [2N, 3K + 1]\ny = Relu(x)"), "x: [4, 7]  y = Relu(x)", 1},
    {pattern("shape N K\nx: [2N, 3K + 1]\ny = Relu(x)"), "x: [4, 8]  y = Relu(x)", 0, "extent 1 of x is 8, not 3K + 1"},
    {pattern("shape N : N <= 3\nx: [N, N]\ny = Relu(x)"), "x: [4, 4]  y = Relu(x)", 0, "N <= 3 does not hold"},
    {pattern("shape N M\nx: [N, M]\nw: const [N, M]\ny = Mul(x, w)"), "x: [2, 3, 4]  w: const [2, 3, 4]  y = Mul(x, w)",
     0, "a tensor of another rank"},
    // Batch dimensions, as many as there are.
    {pattern("shape N M\nx: [N, M]\ny = Relu(x)"), "x: [2, 3, 4]  y = Relu(x)", 1, ""},
    {pattern("shape N M\nx: [N, M]\ny = Relu(x)"), "x: [3]  y = Relu(x)", 1, ""},
    {pattern("shape N M : 2 <= N\nx: [N, M]\ny = Relu(x)"), "x: [3]  y = Relu(x)", 0, "2 <= N does not hold"},
    {pattern("shape N M : N <= 6\nx: [N, M]\ny = Relu(x)"), "x: [2, 3, 4]  y = Relu(x)", 1, ""},
    {pattern("shape N M : N <= 5\nx: [N, M]\ny = Relu(x)"), "x: [2, 3, 4]  y = Relu(x)", 0, "N <= 5 does not hold"},
    // What a pattern takes is not computed by it.
    {pattern("shape N M\nx: [N, M]\nz: [N, M]\nr = Relu(z)\ny = Add(x, r)"), "x: [2, 3]  r = Relu(x)  y = Add(r, r)", 0,
     "one of its results is needed for another"},
    // Several outputs: siblings are found along what they share. Alike ones are one site, others one for each order.
    {kProducts, "w: const [2, 3]  a: [3, 4]  b: [3, 4]  y = MatMul(w, a)  z = MatMul(w, b)  return y, z", 1},
    {kProducts, "w: const [2, 3]  a: [3, 4]  b: [3, 5]  y = MatMul(w, a)  z = MatMul(w, b)  return y, z", 2},
    {kProducts,
     "w: const [2, 3]  v: const [2, 3]  a: [3, 4]  b: [3, 4]  y = MatMul(w, a)  z = MatMul(v, b)  return y, z", 0},
    {kProducts, "w: const [2, 3]  a: [3, 4]  y = MatMul(w, a)", 0},
    {kProducts, "w: const [2, 3]  a: [3, 4]  y = MatMul(w, a)  z = MatMul(w, a)  return y, z", 1},
    {kProducts,
     "w: const [2, 3]  a: [3, 4]  b: [3, 4]  c: [3, 4]  y = MatMul(w, a)  z = MatMul(w, b)  u = MatMul(w, c)  "
     "return y, z, u",
     3},
    // An output may be read by anybody, and stay; an interior value may not.
    {kProducts,
     "w: const [2, 3]  a: [3, 4]  b: [3, 4]  y = MatMul(w, a)  z = MatMul(w, b)  s = Add(y, z)  r = Relu(y)  "
     "return s, r, y",
     1},
    {kBiased,
     "x: [2, 3]  v: const [3, 4]  b: const [4]  w: const [3, 4]  c: const [4]  s = MatMul(x, v)  y = Add(s, b)  "
     "t = MatMul(x, w)  z = Add(c, t)  return y, z",
     1},
    {kBiased,
     "x: [2, 3]  v: const [3, 4]  b: const [4]  w: const [3, 4]  c: const [4]  s = MatMul(x, v)  y = Add(s, b)  "
     "t = MatMul(x, w)  z = Add(t, c)  return y, z, t",
     0, "its MatMul is used elsewhere"},
    // One output inside of the other; outputs in another order than in the model.
    {pattern("shape N M\nx: [N, M]\nr = Relu(x)\ny = Tanh(r)\nreturn y, r"),
     "x: [2, 3]  r = Relu(x)  y = Tanh(r)  return y, r", 1},
    {pattern("shape N M\nx: [N, M]\ny = Relu(x)\nz = Neg(x)\nreturn y, z"),
     "x: [2, 3]  z = Neg(x)  y = Relu(x)  return y, z", 1},
    // Outputs that share nothing are no pattern of one place.
    {pattern("shape N M\nx: [N, M]\nz: [N, M]\na = Relu(x)\nb = Relu(z)\nreturn a, b"),
     "x: [2, 3]  z: [2, 3]  a = Relu(x)  b = Relu(z)  return a, b", 0},
    // A path from a result back to what the site takes: the one result, or through other nodes.
    {kProducts, "w: const [3, 3]  a: [3, 3]  y = MatMul(w, a)  z = MatMul(w, y)  return y, z", 0,
     "one of its results is needed for another"},
    {kProducts, "w: const [3, 3]  a: [3, 3]  y = MatMul(w, a)  r = Relu(y)  z = MatMul(w, r)  return y, z", 0,
     "one of its results is needed for another"},
    {kProducts,
     "w: const [3, 3]  a: [3, 3]  y = MatMul(w, a)  r = Relu(y)  s = Tanh(r)  b = Add(s, a)  z = MatMul(w, b)", 0,
     "one of its results is needed for another"},
};

TEST(ApplierMatch, Cases) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.pattern + "\n" + c.model);
    Found found = find(c.pattern, modelOf(c.model));
    EXPECT_EQ(found.sites.size(), c.sites);
    std::string reason = found.refusals.empty() ? "" : found.refusals[0].reason.detail;
    EXPECT_THAT(reason, HasSubstr(c.refusal));
    EXPECT_EQ(reason.empty(), c.refusal.empty()) << reason;
  }
}

TEST(ApplierMatch, InitializersThatACallerMayReplaceAreNoConstants) {
  Model model = modelOf("x: [1, 2, 5, 5]  w: const [3, 2, 3, 3]  y = Conv(x, w)");
  model.graph.initializers.at(0).overridable = true;
  Found found = find(kConv, model);
  EXPECT_EQ(found.sites.size(), 0U);
  ASSERT_FALSE(found.refusals.empty());
  EXPECT_EQ(found.refusals[0].reason.kind, ReasonKind::kReplaceable);
  EXPECT_EQ(find(kConv, model, {.freezeInputs = true}).sites.size(), 1U);
}

TEST(ApplierMatch, WeightsThatTheModelComputesCannotBeFrozen) {
  Model model = modelOf("x: [1, 2, 5, 5]  w: [3, 2, 3, 3]  s: const [3, 2, 3, 3]  v = Mul(w, s)  y = Conv(x, v)");
  model.graph.initializers.at(0).overridable = true;
  Found found = find(kConv, model);
  ASSERT_FALSE(found.refusals.empty());
  EXPECT_EQ(found.refusals[0].reason.kind, ReasonKind::kVariable);
}

TEST(ApplierMatch, ValuesThatSubgraphsReadStay) {
  Model model = modelOf("x: [2, 3]  r = Relu(x)  y = Tanh(r)");
  GraphNode loop;
  loop.type = "Loop";
  loop.name = "loop";
  loop.outputs = {"z"};
  loop.captured = {"r"};
  model.graph.nodes.push_back(loop);
  model.graph.outputs.push_back("z");
  Found found = find(kChain, model);
  EXPECT_EQ(found.sites.size(), 0U);
  ASSERT_EQ(found.refusals.size(), 1U);
  EXPECT_EQ(found.refusals[0].reason.detail, "its Relu is used elsewhere");
}

/// The path back may run through nodes that pet does not look into.
TEST(ApplierMatch, ResultsThatAreNeededForOthersByWayOfUnknownNodes) {
  Model model = modelOf("w: const [3, 3]  a: [3, 3]  b: [3, 3]  y = MatMul(w, a)  z = MatMul(w, b)  return y, z");
  ASSERT_EQ(find(kProducts, model).sites.size(), 1U);
  GraphNode unknown;
  unknown.type = "Mystery";
  unknown.domain = "somebody";
  unknown.standard = false;
  unknown.name = "unknown";
  unknown.inputs = {"y"};
  unknown.outputs = {"b"};
  std::erase(model.graph.inputs, "b");
  model.graph.nodes.insert(model.graph.nodes.begin() + 1, unknown);
  Found found = find(kProducts, model);
  EXPECT_EQ(found.sites.size(), 0U);
  ASSERT_FALSE(found.refusals.empty());
  EXPECT_EQ(found.refusals[0].reason.detail, "one of its results is needed for another");
}

TEST(ApplierMatch, SitesOfSeveralOutputsStandInTheOrderOfTheView) {
  Model model = modelOf(
      "w: const [2, 3]  a: [3, 4]  b: [3, 4]  c: [3, 5]  y = MatMul(w, a)  z = MatMul(w, b)  u = MatMul(w, c)  "
      "return y, z, u");
  Found found = find(kProducts, model);
  std::vector<std::pair<int, int>> outputs;
  for (const Site& s : found.sites)
    outputs.emplace_back(s.outputs[0].node, s.outputs[1].node);
  ASSERT_EQ(outputs.size(), 5U);  // {y, z} is alike; {y, u} and {z, u} are not
  int y = outputs[0].first, z = outputs[0].second, u = outputs[1].second;
  EXPECT_TRUE(y < z && z < u);
  EXPECT_THAT(outputs,
              ElementsAre(std::pair(y, z), std::pair(y, u), std::pair(z, u), std::pair(u, y), std::pair(u, z)));
}

TEST(ApplierMatch, QuantizedWeightsAreTheReason) {
  Model model = modelOf("x: [2, 3]  w: [3, 4]  y = MatMul(x, w)");
  std::erase(model.graph.inputs, "w");
  model.graph.types.erase("w");
  const Tensor<float> scale({}, {0.5F});
  model.graph.initializers.push_back({"s", Constant::of(scale), false, -1});
  model.graph.initializers.push_back({"q", {ElementType::kInt8, {3, 4}, std::string(12, '\1')}, false, -1});
  GraphNode dequantize;
  dequantize.type = "DequantizeLinear";
  dequantize.inputs = {"q", "s"};
  dequantize.outputs = {"w"};
  model.graph.nodes.insert(model.graph.nodes.begin(), dequantize);
  const std::string weights = pattern("shape N M K\nx: [N, M]\nw: const [M, K]\ny = MatMul(x, w)");
  Found found = find(weights, model);
  EXPECT_TRUE(found.sites.empty());
  ASSERT_EQ(found.refusals.size(), 1U);
  EXPECT_EQ(found.refusals[0].reason.detail, "w is quantized: a DequantizeLinear computes it");
  EXPECT_EQ(normalise(model.graph).opaque[0], "quantized: rules are for floating point");
}

TEST(ApplierMatch, UnknownRanksAndTypesDoNotMatch) {
  Model model = modelOf("x: [2, 3]  r = Relu(x)  y = Tanh(r)");
  model.graph.types["x"].dims->at(0) = std::nullopt;
  EXPECT_EQ(find(kChain, model).sites.size(), 1U);  // an extent that is left open is a symbol
  model.graph.types["x"].dims.reset();
  EXPECT_EQ(find(kChain, model).sites.size(), 0U);
  model.graph.types["x"] = {ElementType::kInt32, std::vector<std::optional<int64_t>>{2, 3}};
  EXPECT_EQ(find(kChain, model).sites.size(), 0U);
  model.graph.types["x"] = {ElementType::kFloat16, std::vector<std::optional<int64_t>>{2, 3}};
  EXPECT_EQ(find(kChain, model).sites.size(), 1U);
  model.graph.types["x"] = {ElementType::kDouble, std::vector<std::optional<int64_t>>{2, 3}};
  EXPECT_EQ(find(kChain, model).sites.size(), 1U);
}

// --- Operators that views read away ---

struct ReadAwayCase {
  const char* pattern;
  const char* model;
  size_t sites;
};

constexpr const char* kSquareByPow = "shape M K\nx: [M, K]\ny = Pow(x) exponent=2";
constexpr const char* kGraphProduct =
    "shape N K C V W\nx: [N, K, C, V]\na: [K, V, W]\ny = Einsum(x, a) equation=\"nkcv,kvw->ncw\"";
constexpr const char* kProduct = "shape M N K\nx: [M, K]\nw: [K, N]\ny = Einsum(x, w) equation=\"mk,kn->mn\"";

const ReadAwayCase kReadAwayCases[] = {
    {kSquareByPow, "x: [2, 3]  y = Pow(x) exponent=2", 1},
    {kSquareByPow, "x: [2, 3, 4]  y = Pow(x) exponent=2  z = Pow(y) exponent=2", 2},
    {kSquareByPow, "x: [2, 3]  y = Square(x)", 0},
    {kSquareByPow, "x: [2, 3]  y = Mul(x, x)", 0},
    {kSquareByPow, "x: [2, 3]  y = Pow(x) exponent=3", 0},  // its first part is a square
    {kSquareByPow, "x: [2, 3]  y = Pow(x) exponent=0.5", 0},
    {"shape M K\nx: [M, K]\ny = Square(x)", "x: [2, 3]  y = Pow(x) exponent=2", 1},
    {"shape M K\nx: [M, K]\ns = Pow(x) exponent=2\ny = ReduceSum(s) axes=[1]",  // with others: in normal form
     "x: [2, 3]  s = Mul(x, x)  y = ReduceSum(s) axes=[1]", 1},
    {kGraphProduct, "x: [2, 3, 4, 5]  a: [3, 5, 6]  y = Einsum(x, a) equation=\"abcd,bde->ace\"", 1},
    {kGraphProduct, "x: [1, 3, 4, 5]  a: [3, 5, 6]  y = Einsum(x, a) equation=\"abcd,bde->ace\"", 1},
    {kGraphProduct, "x: [2, 1, 4, 1]  a: [1, 1, 6]  y = Einsum(x, a) equation=\"abcd,bde->ace\"", 1},
    {kGraphProduct, "x: [2, 3, 4, 5]  a: const [3, 5, 6]  y = Einsum(x, a) equation=\"abcd,bde->ace\"", 1},
    {kGraphProduct, "x: [2, 3, 4, 5]  a: [3, 5, 6]  y = Einsum(x, a) equation=\"abcd,bde->aec\"", 0},
    {kGraphProduct,
     "x: [2, 3, 4, 5]  a: [3, 5, 6]  t = Transpose(x) perm=[0, 2, 1, 3]  u = Layout(t)  n c k v -> n c (k v)  "
     "b = Layout(a)  k v w -> (k v) w  y = MatMul(u, b)",
     0},
    {kProduct, "x: [2, 3]  w: [3, 4]  y = Einsum(x, w) equation=\"ab,bc->ac\"", 1},
    {kProduct, "x: [2, 3]  w: [3, 4]  y = Einsum(w, x) equation=\"ab,ca->cb\"", 1},  // operands exchanged
    {kProduct, "x: [2, 3]  w: [3, 4]  y = Einsum(w, x) equation=\"ab,ca->bc\"", 0},
    {kProduct, "x: [2, 3]  w: [3, 4]  y = MatMul(x, w)", 0},
    {kProduct, "x: [2, 3]  w: [3, 4]  v: [4, 5]  y = Einsum(x, w, v) equation=\"ab,bc,cd->ad\"", 0},
    {"shape M N K\nx: [M, K]\nw: [K, N]\ny = MatMul(x, w)",
     "x: [2, 3]  w: [3, 4]  y = Einsum(x, w) equation=\"ab,bc->ac\"", 1},
};

TEST(ApplierMatch, APatternOfWhatIsReadAwayStandsWhereTheModelHasIt) {
  for (const auto& [pattern_, model, sites] : kReadAwayCases) {
    const std::string text = std::string(pattern_) + "\n" + model;
    Found found = find(pattern(pattern_), modelOf(model));
    EXPECT_EQ(found.sites.size(), sites) << text;
    if (sites == 0 && std::string_view(model).find("exponent=2") == std::string_view::npos) {
      EXPECT_TRUE(found.refusals.empty()) << text << found.refusals.at(0).reason.detail;
    }
  }
}

/// What a site is checked with is what the model computes there; all that the view has in its place is replaced.
TEST(ApplierMatch, ASiteOfWhatIsReadAwayIsAllOfIt) {
  Found found =
      find(pattern(kGraphProduct),
           modelOf("x: [2, 3, 4, 5]  a: [3, 5, 6]  r = Relu(x)  y = Einsum(r, a) equation=\"nkcv,kvw->ncw\""));
  ASSERT_EQ(found.sites.size(), 1U);
  const Site& site = found.sites[0];
  EXPECT_TRUE(site.isReadAway);
  EXPECT_EQ(site.program->node(site.program->outputs()[0]).op->name, "Einsum");
  EXPECT_EQ(site.nodes.size(), 4U);  // Transpose, two Layouts, MatMul
  EXPECT_EQ(site.anchor, site.outputs.at(0).node);
}

/// A scale goes to the first operand of a product, which is then no part of the Einsum alone.
TEST(ApplierMatch, AnEinsumThatANumberScalesIsThatOfTheScaledOperand) {
  const std::string scaled = "  c = Constant() value=0.5  y = Mul(p, c)";
  const auto sitesOf = [&](const std::string& einsum) {
    return find(pattern(kProduct), modelOf(("x: [3, 3]  w: [3, 3]  p = Einsum(" + einsum + scaled).c_str())).sites;
  };
  EXPECT_EQ(sitesOf("x, w) equation=\"ab,bc->ac\"").size(), 1U);
  EXPECT_TRUE(sitesOf("x, x) equation=\"ab,bc->ac\"").empty()) << "of which operand is not known";
}

}  // namespace
}  // namespace pet::applier_match_test
