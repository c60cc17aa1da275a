// Operators that act along axes, one axis at a time: which candidates there are, and what becomes of them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/text.h"
#include "rules/rule.h"
#include "synth/propose/axes/axes_generator.h"
#include "synth/propose/axes/unrolled_sum.h"
#include "synth/propose/axes/whole_program.h"
#include "synth/synthesize.h"
#include "tests/unit/synth_support.h"

namespace pet::synth_along_axes_test {
namespace {

using ::testing::HasSubstr;
using testing_support::pattern;

std::string patternOf(const std::string& program) {
  return "pattern p { " + program + " }";
}

std::vector<std::string> unitsOf(const MadeGenerator& generator) {
  std::vector<std::string> names;
  for (size_t unit = 0; generator && unit < (*generator)->size(); ++unit)
    names.push_back((*generator)->name(unit));
  return names;
}

std::vector<std::string> waysOf(const std::string& program) {
  return unitsOf(axesGenerator(pattern(patternOf(program))));
}

const std::string kImage = "shape N C H W U V\n x: [N, C, H, W]\n";
const std::string kVideo = "shape N C D H W\n x: [N, C, D, H, W]\n";

/// Video, doubled, and a Conv of that.
std::string doubled(const std::string& weights, const std::string& attributes = "") {
  return "shape N C D H W F\n x: [N, C, D, H, W]\n w: const " + weights +
         "\n t = Resize(x) sizes=[N, C, 2D, 2H, 2W]\n y = Conv(t, w)" + attributes;
}

struct Ways {
  std::string program;
  std::vector<std::string> kept, dropped;
};

const std::string kUpscaled =
    "shape N C H W R S : 2 <= R, 2 <= S\n x: [N, C, H, W]\n u: const [R, 1]\n v: const [1, S]\n k = Mul(u, v)\n";
const std::string kByTwo = "y = ConvTranspose(x, w) strides=[2, 2]";
const std::vector<std::string> kBothAxes{"itself-2_itself-3", "itself-3_itself-2", "matrix-2_itself-3",
                                         "itself-3_matrix-2", "itself-2_matrix-3", "matrix-3_itself-2",
                                         "matrix-2_matrix-3", "matrix-3_matrix-2"};

const Ways kWays[] = {
    {kImage + "y = Resize(x) mode=linear sizes=[N, C, U, V]",
     {"itself-2_itself-3", "itself-3_itself-2", "matrix-2_itself-3", "itself-3_matrix-2", "itself-2_matrix-3",
      "matrix-3_itself-2", "matrix-2_matrix-3", "matrix-3_matrix-2"},
     // Nothing to merge: the pattern itself, or a way that is there already.
     {"itself-2-3_merged", "itself-2_itself-3_merged", "itself-3_itself-2_merged", "matrix-2_itself-3_merged",
      "itself-3_matrix-2_merged", "itself-2_matrix-3_merged", "matrix-3_itself-2_merged"}},
    // Sizes do not speak of dimensions that are merged; scales do.
    {kImage + "y = Resize(x) mode=cubic sizes=[N, C, H, V]", {"matrix-3"}, {"itself-3_merged"}},
    // Images stay images: a column of pixels is no line.
    {kVideo + "y = Resize(x) mode=cubic sizes=[N, C, D, 2H, W]", {"itself-3_merged", "matrix-3"}, {}},
    {kVideo + "y = Resize(x) mode=cubic sizes=[N, C, D, H, 2W]", {"itself-4_merged", "matrix-4"}, {}},
    {kImage + "y = ReduceMean(x) axes=[1]",
     {"itself-1_merged", "itself-1_last", "single_itself-1_merged", "single_itself-1_last", "matrix-1"},
     {}},
    // A maximum is no matrix; nor is a function.
    {kImage + "y = ReduceMax(x) axes=[1] keepdims=0",
     {"itself-1_merged", "itself-1_last", "single_itself-1_merged", "single_itself-1_last"},
     {}},
    {kImage + "y = LogSoftmax(x) axis=1",
     {"itself-1_merged", "itself-1_last", "single_itself-1_merged", "single_itself-1_last"},
     {}},
    {kImage + "y = Softmax(x) axis=1",
     {"itself-1_merged", "itself-1_last", "single_itself-1_merged", "single_itself-1_last"},
     {}},
    {"shape N C H W P\n x: [N, C, H, W]\n y = MaxPool(x) kernel_shape=[5, 3] pads=[P, 1, P, 1] strides=[2, 1]",
     {"itself-2_itself-3", "itself-3_itself-2", "itself-2_itself-3_merged", "itself-3_itself-2_merged"},
     {"itself-2-3_merged"}},
    // One of the operators that the pattern's is composed of.
    {kImage + "y = LRN(x) size=5", {"matrix-2"}, {"itself-2_merged"}},
    {kImage + "y = ReduceL2(x) axes=[1] keepdims=0",
     {"itself-1_merged", "itself-1_last", "single_itself-1_merged", "single_itself-1_last", "matrix-1"},
     {}},
    // Its matrix is of numbers and their parts; from the right and from the left, where that is not the same.
    {"shape N W\n x: [N, W, 2]\n y = DFT(x) axis=1 inverse=1", {"matrix-1"}, {}},
    {"shape N H W\n x: [N, H, W, 1]\n y = DFT(x) axis=1 onesided=1", {"matrix-1", "matrix-1_last"}, {}},
    // A triangle of ones.
    {"shape N W\n x: [N, W]\n y = CumSum(x) axis=1",
     {"matrix-1", "single_itself-1_merged"},
     {"itself-1_merged", "itself-1_last", "single_itself-1_last"}},
    // A ConvTranspose whose kernel is a product of one for each axis, for each channel by itself, as weights of groups
    // and as weights for all pairs of channels.
    {kUpscaled + "i = Constant() value=1 shape=[C, 1, 1, 1]\n w = Mul(i, k)\n" + kByTwo + " group=C", kBothAxes, {}},
    {kUpscaled + "e = Eye() extent=C\n i = Unsqueeze(e) axes=[2, 3]\n w = Mul(i, k)\n" + kByTwo, kBothAxes, {}},
    // The first dimension is a number.
    {"shape C W\n x: [1, C, W]\n y = ReduceSum(x) axes=[1]", {"itself-1_last", "matrix-1"}, {"itself-1_merged"}},
};

TEST(AxesGenerator, ProposesEveryWay) {
  for (const Ways& ways : kWays) {
    std::vector<std::string> all = ways.kept;
    all.insert(all.end(), ways.dropped.begin(), ways.dropped.end());
    EXPECT_THAT(waysOf(ways.program), ::testing::UnorderedElementsAreArray(all)) << ways.program;
  }
}

TEST(AxesGenerator, ItsWaysAreProvedAndChecked) {
  for (const Ways& ways : kWays) {
    auto done = synthesize({pattern(patternOf(ways.program))}, {});
    ASSERT_TRUE(done) << done.error().message();
    std::vector<std::string> kept;
    for (const Rule& rule : done->rules.rules)
      kept.push_back(rule.name.substr(2));
    for (const std::string& way : ways.kept)
      EXPECT_THAT(kept, ::testing::Contains(way)) << ways.program;
    for (const std::string& way : ways.dropped)
      EXPECT_THAT(kept, ::testing::Not(::testing::Contains(way))) << ways.program;
  }
}

TEST(AxesGenerator, GroupsAreOfNeighbours) {
  const auto ways = waysOf(kVideo + "y = Resize(x) mode=linear scales=[1, 1, 1, 1, 2, 1, 1, 1, 2, 1]");
  EXPECT_THAT(ways, ::testing::Contains("matrix-4_itself-2"));
  EXPECT_THAT(ways, ::testing::Each(::testing::Not(HasSubstr("2-4"))));
  EXPECT_THAT(waysOf(kVideo + "y = Resize(x) sizes=[N, C, 2D, 2H, 2W]"),
              ::testing::Contains("itself-3-4_itself-2_merged"));
}

TEST(AxesGenerator, APointwiseConvGoesFirst) {
  const std::string program = doubled("[F, C, 1, 1, 1]");
  const auto ways = waysOf(program);
  EXPECT_THAT(ways, ::testing::IsSupersetOf({"conv_itself-2_itself-3-4_merged", "conv_matrix-2_itself-3-4_merged"}));
  EXPECT_THAT(ways, ::testing::Not(::testing::Contains("conv_matrix-2_matrix-3_matrix-4")));
  const auto interpolated = waysOf(
      "shape N C D H W F T U V\n x: [N, C, D, H, W]\n w: const [F, C, 1, 1, 1]\n"
      " t = Resize(x) mode=linear sizes=[N, C, T, U, V]\n y = Conv(t, w)");
  EXPECT_THAT(interpolated, ::testing::IsSupersetOf({"conv_matrix-2_matrix-3_matrix-4", "conv_matrix-2_itself-3-4"}));
  EXPECT_THAT(interpolated, ::testing::Not(::testing::Contains("conv_matrix-2_matrix-3_itself-4")));
  auto done = synthesize({pattern(patternOf(program))}, {});
  ASSERT_TRUE(done) << done.error().message();
  EXPECT_THAT(done->rules.rules,
              ::testing::Contains(::testing::Field(&Rule::name, "p/conv_itself-2_itself-3-4_merged")));
}

TEST(AxesGenerator, HasNothingForOthers) {
  for (const char* program : {
           "shape N C H W\n x: [N, C, H, W]\n y = Relu(x)",
           "shape N C H W\n x: [N, C, H, W]\n y = AveragePool(x) kernel_shape=[1, 1]",
           "shape N C H W\n x: [N, C, H, W]\n t = ReduceMean(x) axes=[1]\n y = Relu(t)",
           "shape N C H W R S\n x: [N, C, H, W]\n w: const [C, 1, R, S]\n y = ConvTranspose(x, w) group=C",
           "shape N C H W\n x: [N, C, H, W]\n y = Resize(x) sizes=[N, C, 2H, 2W] scales=[1, 1, 1, 1, 2, 1, 2, 1]",
           "shape M K N\n x: [M, K]\n w: const [K, N]\n y = MatMul(x, w)",
           "shape N C H W F\n x: [N, C, H, W]\n w: const [F, C, 1, 1]\n t = Resize(x) sizes=[N, C, 2H, 2W]\n y = "
           "Conv(t, w)",
           "shape M K\n x: [M, K]\n y = Pow(x) exponent=0.75",
       })
    EXPECT_TRUE(waysOf(program).empty()) << program;
  for (const std::string& program : {
           doubled("[F, C, 1, 1, 1]", " strides=[2, 2, 2]"),
           doubled("[F, C, 1, 1, 1]", " pads=[1, 1, 1, 1, 1, 1]"),
           doubled("[F, C, 1, 1, 3]"),
           doubled("[C, 1, 1, 1, 1]", " group=C"),
       })
    EXPECT_TRUE(waysOf(program).empty()) << program;
}

/// `x` normalised along an axis, in pieces; scaled by constants of these extents.
std::string normalised(const std::string& shape, const std::string& axis, const std::string& scale) {
  return "shape N C H W\n any 1e-06 > 0\n x: " + shape + "\n s: const " + scale + "\n b: const " + scale +
         "\n epsilon = Constant() value=1e-06\n m = ReduceMean(x) axes=[" + axis +
         "]\n d = Sub(x, m)\n q = Square(d)\n v = ReduceMean(q) axes=[" + axis +
         "]\n e = Add(v, epsilon)\n r = Sqrt(e)\n n = Div(d, r)\n t = Mul(n, s)\n y = Add(t, b)";
}

std::vector<std::string> wholeWaysOf(const std::string& program) {
  return unitsOf(wholeProgramGenerator(pattern(patternOf(program))));
}

TEST(WholeProgramGenerator, MovesTheAxisBehindAllOthers) {
  using ::testing::ElementsAre;
  EXPECT_THAT(wholeWaysOf(normalised("[N, C, H, W]", "1", "[C, 1, 1]")),
              ElementsAre("whole-1_last", "single_whole-1_last", "whole-1_transposed"));
  EXPECT_THAT(wholeWaysOf(normalised("[N, C, H, W]", "2", "[H, 1]")),
              ElementsAre("whole-2_last", "single_whole-2_last", "whole-2_transposed"));
  EXPECT_THAT(wholeWaysOf(normalised("[C, H, W]", "0", "[C, 1, 1]")),
              ElementsAre("whole-0_last", "whole-0_transposed"));
  EXPECT_THAT(wholeWaysOf(normalised("[1, C, H]", "1", "[1, C, 1]")), ElementsAre("whole-1_last"));
  EXPECT_THAT(wholeWaysOf(kImage + "z: [N, C, H, W]\n t = Mul(x, z)\n y = ReduceSum(t) axes=[1]"),
              ElementsAre("whole-1_last", "single_whole-1_last", "whole-1_transposed"));
}

TEST(WholeProgramGenerator, HasNothingForOthers) {
  for (const std::string& program : {
           normalised("[N, C, H, W]", "3", "[W]"),           // the axis is behind all others
           normalised("[N, C, H, W]", "1, 2", "[C, 1, 1]"),  // two axes
           normalised("[N, C, H, W]", "1", "[H, 1]"),        // constants along another one
           normalised("[N, C, H, W]", "1", "[C, H, 1]"),     // and along both
           kImage + "y = ReduceMean(x) axes=[1]",            // one operator
           kImage + "t = Relu(x)\n y = Square(t)",           // no axis
           kImage + "t = ReduceMean(x) axes=[1]\n y = Softmax(t) axis=2",
           kImage + "t = ReduceMean(x) axes=[1] keepdims=0\n y = Relu(t)",
           kImage + "z: [N, 1, H, W]\n t = Mul(x, z)\n y = ReduceSum(t) axes=[1]",
           kImage + "t = Resize(x) sizes=[N, C, 2H, W]\n y = Relu(t)",
       })
    EXPECT_TRUE(wholeWaysOf(program).empty()) << program;
}

TEST(WholeProgramGenerator, PiecesBecomeTheOperatorThatEnginesKnow) {
  for (const std::string& program :
       {normalised("[N, C, H, W]", "1", "[C, 1, 1]"), normalised("[C, H, W, N]", "1", "[H, 1, 1]")}) {
    auto done = synthesize({pattern(patternOf(program))}, {});
    ASSERT_TRUE(done) << done.error().message();
    auto isWhole = [](const Rule& rule) {
      const auto& nodes = rule.mutant.nodes();
      return rule.name == "p/whole-1_last" &&
             std::any_of(nodes.begin(), nodes.end(), [](const Node& n) { return n.is(ops::kLayerNormalization); });
    };
    EXPECT_TRUE(std::any_of(done->rules.rules.begin(), done->rules.rules.end(), isWhole)) << program;
  }
}

const std::string kBranches = "shape N K C H W\n x: [N, K, C, H, W]\n";

TEST(UnrolledSumGenerator, AddsUpFewPositionsOneByOne) {
  for (const std::string& program : {
           kBranches + "y = ReduceSum(x) axes=[1] keepdims=0",
           kBranches + "y = ReduceSum(x) axes=[1]",
           kBranches + "a: [N, K, C, 1, 1]\n t = Mul(x, a)\n y = ReduceSum(t) axes=[1] keepdims=0",
           kBranches +
               "a: [K, 1, 1, 1]\n b: [N, 1, C, 1, 1]\n t = Mul(x, a)\n u = Add(t, b)\n y = ReduceSum(u) axes=[1]",
           std::string("shape M K\n x: [M, K]\n a = Abs(x)\n y = ReduceSum(a) axes=[1]"),
           std::string("shape M K\n x: [M, K]\n y = ReduceL2(x) axes=[1]"),
           std::string("shape M K\n x: [M, K]\n y = ReduceL2(x) axes=[1] keepdims=0"),
           std::string("shape M K\n x: [M, K]\n t = ReduceSum(x) axes=[1]\n u = Sqrt(t)\n y = Mul(t, u)"),
       }) {
    EXPECT_THAT(unitsOf(unrolledSumGenerator(pattern(patternOf(program)))),
                ::testing::ElementsAre("parts-2", "parts-3", "parts-4"));
    auto done = synthesize({pattern(patternOf(program))}, {});
    ASSERT_TRUE(done) << done.error().message();
    EXPECT_THAT(done->rules.rules, ::testing::Contains(::testing::Field(&Rule::name, "p/parts-2"))) << program;
  }
}

TEST(UnrolledSumGenerator, HasNothingForOthers) {
  for (const std::string& program : {
           kBranches + "y = ReduceSum(x) axes=[1, 2]",                       // two axes
           kBranches + "y = ReduceMax(x) axes=[1]",                          // no sum
           kBranches + "t = ReduceSum(x) axes=[1]\n y = Add(t, x)",          // not of the sum alone
           kBranches + "t = ReduceSum(x) axes=[1]\n y = Softmax(t) axis=2",  // not element by element
           kBranches + "t = Softmax(x) axis=1\n y = ReduceSum(t) axes=[1]",
           std::string("shape N C\n x: [N, 2, C]\n y = ReduceSum(x) axes=[1]"),  // nothing is left open
       })
    EXPECT_TRUE(unitsOf(unrolledSumGenerator(pattern(patternOf(program)))).empty()) << program;
}

TEST(AxesGenerator, AMatrixIsWhatTheOperatorMakesOfTheUnitMatrix) {
  const char* rows = "shape N C W K P\n x: [N, C, W]\n y = AveragePool(x) kernel_shape=[K] pads=[P, P] strides=[2]";
  auto generator = axesGenerator(pattern(patternOf(rows)));
  ASSERT_TRUE(generator);
  for (size_t unit = 0; unit < (*generator)->size(); ++unit) {
    (*generator)->propose(unit, [&](const Candidate& c) {
      if (c.name != "matrix-2") return false;
      EXPECT_TRUE(c.proposal);
      EXPECT_EQ(c.proposal ? print(c.proposal->program) : "",
                "x: [N, C, W]\n"
                "t1_0 = Eye() extent=W\n"
                "t2_0 = Layout(t1_0)  row column -> row 1 column\n"
                "t3_0 = AveragePool(t2_0) kernel_shape=[K] strides=[2] pads=[P, P]\n"
                "t4_0 = Layout(t3_0)  row 1 column -> row column\n"
                "t5_0 = MatMul(x, t4_0)\n");
      return true;
    });
  }
}

}  // namespace
}  // namespace pet::synth_along_axes_test
