#include "synth/mine/mine.h"

#include <gmock/gmock.h>

#include "ir/text.h"
#include "rules/text.h"
#include "synth/mine/known_patterns.h"
#include "tests/unit/program_text.h"

namespace pet::mine_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using testing_support::program;

Pattern pattern(const std::string& text) {
  auto set = parseRules("pattern p {\n" + text + "}\n", "test");
  EXPECT_TRUE(set) << (set ? "" : set.error().message()) << "\n" << text;
  return set ? set->patterns.at(0) : Pattern();
}

/// "a b, c": the names of the operators' first results, by subgraph.
std::vector<std::string> named(const Program& p, const mine::Subgraphs& found) {
  std::vector<std::string> result;
  for (const auto& nodes : found.nodes) {
    std::string names;
    for (int n : nodes)
      names += (names.empty() ? "" : " ") + p.name({n, 0});
    result.push_back(names);
  }
  return result;
}

const std::string kDiamond =
    "x: [4, 4]\nw: const [4]\na = Relu(x)\nb = Tanh(a)\nc = Sigmoid(a)\nd = Add(b, c)\nv = Neg(w)\ne = Mul(d, v)\n";

TEST(MineSubgraphs, ConnectedAndConvex) {
  Program p = program(kDiamond);
  // Not "a d": it needs b and c in between. Nothing of what only constants compute (v). Siblings are connected.
  EXPECT_THAT(named(p, mine::subgraphs(p, {.operators = 2})),
              UnorderedElementsAre("a", "b", "c", "d", "e", "a b", "a c", "b c", "b d", "c d", "d e"));
  EXPECT_THAT(named(p, mine::subgraphs(p, {.operators = 4})),
              UnorderedElementsAre("a", "b", "c", "d", "e", "a b", "a c", "b c", "b d", "c d", "d e", "a b c", "b c d",
                                   "b d e", "c d e", "a b c d", "b c d e"));
}

TEST(MineSubgraphs, SoManyAndNoMore) {
  Program p = program(kDiamond);
  auto found = mine::subgraphs(p, {.operators = 4, .most = 8});
  EXPECT_FALSE(found.complete);
  EXPECT_LE(found.nodes.size(), 8);
}

TEST(MineSubgraphs, SoManyInputs) {
  Program p = program("x: [4]\ny: [4]\nw: const [4]\na = Add(x, y)\nb = Mul(a, w)\n");
  auto found = mine::subgraphs(p, {.operators = 2, .inputs = 1});
  EXPECT_THAT(named(p, found), ElementsAre("b"));
  EXPECT_EQ(found.wide, 2);
}

TEST(MineSubgraphs, OutputsAreWhatIsReadOutside) {
  Program p = program(kDiamond);
  auto place = [&](std::string_view name) { return p.find(name)->node; };
  EXPECT_EQ(print(mine::cut(p, {place("a"), place("c")})), "x: [4, 4]\nt = Relu(x)\nt2 = Sigmoid(t)\nreturn t, t2\n");
  EXPECT_EQ(print(mine::cut(p, {place("d"), place("e")})),
            "x: [4, 4]\nx2: [4, 4]\nw: const [4]\nt = Add(x, x2)\nt2 = Mul(t, w)\n");
}

struct GeneralCase {
  std::string program, pattern;  ///< without constraints that the operators demand
  std::vector<std::string> pinned = {};
};

/// Numbers, and what becomes of them.
const std::vector<GeneralCase> kCases = {
    // Equal numbers are not equal symbols; a kernel is a symbol, pads are one where both ends are alike.
    {"x: [1, 8, 8, 8]\nw: const [8, 8, 3, 3]\ny = Conv(x, w) strides=[2, 2] pads=[1, 0, 1, 1]\n",
     "shape N C H W F R S P Q QE\nx: [N, C, H, W]\nw: const [F, C, R, S]\n"
     "y = Conv(x, w) strides=[2, 2] pads=[P, Q, P, QE]\n"},
    // Unless an operator demands it: the residual.
    {"x: [1, 8, 9, 9]\nw: const [8, 8, 3, 3]\nt = Conv(x, w) pads=[1, 1, 1, 1]\ny = Add(t, x)\n",
     "shape N C H W P Q\nx: [N, C, H, W]\nw: const [C, C, 2P + 1, 2Q + 1]\nt = Conv(x, w) pads=[P, Q, P, Q]\n"
     "y = Add(t, x)\n"},
    // Kernels of extent 1 stay; a bias is broadcast.
    {"x: [1, 8, 9, 9]\nw: const [4, 8, 1, 1]\nb: const [4, 1, 1]\nt = Conv(x, w)\nu = Add(t, b)\ny = Relu(u)\n",
     "shape N C H W F\nx: [N, C, H, W]\nw: const [F, C, 1, 1]\nb: const [F, 1, 1]\nt = Conv(x, w)\nu = Add(t, b)\n"
     "y = Relu(u)\n"},
    // What one operator makes the other takes.
    {"x: [1, 3, 9, 9]\nv: const [4, 3, 3, 3]\nw: const [5, 4, 1, 1]\nt = Conv(x, v)\ny = Conv(t, w)\n",
     "shape N C H W F R S P Q F2\nx: [N, C, H, W]\nv: const [F, C, R, S]\nw: const [F2, F, 1, 1]\n"
     "t = Conv(x, v) pads=[P, Q, P, Q]\ny = Conv(t, w)\n"},
    // Floors are equal where what they halve is.
    {"x: [1, 3, 8, 8]\nv: const [4, 3, 3, 3]\nw: const [5, 3, 1, 1]\nt = Conv(x, v) strides=[2, 2] pads=[1, 1, 1, 1]\n"
     "u = Conv(x, w) strides=[2, 2]\ny = Concat(t, u) axis=1\n",
     "shape N C H W F P Q F2\nx: [N, C, H, W]\nv: const [F, C, 2P + 1, 2Q + 1]\nw: const [F2, C, 1, 1]\n"
     "t = Conv(x, v) strides=[2, 2] pads=[P, Q, P, Q]\nu = Conv(x, w) strides=[2, 2]\ny = Concat(t, u) axis=1\n"},
    // Depthwise, and so many groups.
    {"x: [1, 6, 8, 8]\nw: const [12, 1, 3, 3]\ny = Conv(x, w) group=6 pads=[1, 1, 1, 1]\n",
     "shape N C H W R S P Q\nx: [N, C, H, W]\nw: const [2C, 1, R, S]\ny = Conv(x, w) group=C pads=[P, Q, P, Q]\n"},
    {"x: [1, 6, 8, 8]\nw: const [9, 2, 3, 3]\ny = Conv(x, w) group=3\n",
     "shape N H W C R S F P Q\nx: [N, 3C, H, W]\nw: const [3F, C, R, S]\ny = Conv(x, w) group=3 pads=[P, Q, P, Q]\n"},
    {"x: [2, 3, 8]\nw: const [3, 4, 5]\ny = ConvTranspose(x, w) strides=[2]\n",
     "shape N C W F S Q\nx: [N, C, W]\nw: const [C, F, S]\ny = ConvTranspose(x, w) strides=[2] pads=[Q, Q]\n"},
    // Matrices: the outer extents broadcast.
    {"x: [2, 1, 4, 5]\nw: [3, 5, 6]\ny = MatMul(x, w)\n",
     "shape B M K B2 N\nx: [B, 1, M, K]\nw: [B2, K, N]\ny = MatMul(x, w)\n"},
    {"x: [4, 5]\nw: const [6, 5]\nb: const [6]\ny = Gemm(x, w, b) transB=1\n",
     "shape M K N\nx: [M, K]\nw: const [N, K]\nb: const [N]\ny = Gemm(x, w, b) transB=1\n"},
    // A dimension is a product where it is taken apart.
    {"x: [1, 7, 12]\nb: const [12]\nt = Add(x, b)\ny = Layout(t)  b m (h:3 k:4) -> b m h k\n",
     "shape B M E E2\nx: [B, M, (E E2)]\nb: const [(E E2)]\nt = Add(x, b)\n"
     "y = Layout(t)  a0 a1 (a2:E a3:E2) -> a0 a1 a2 a3\n"},
    {"x: [1, 8, 2, 3]\nw: const [48, 5]\nt = Layout(x)  n c h w -> n (c h w)\ny = MatMul(t, w)\n",
     "shape N C H W N2\nx: [N, C, H, W]\nw: const [(C H W), N2]\nt = Layout(x)  a0 a1 a2 a3 -> a0 (a1 a2 a3)\n"
     "y = MatMul(t, w)\n"},
    // Multiples stay multiples.
    {"x: [1, 8, 4, 4]\nt = Resize(x) sizes=[1, 8, 8, 12]\ny = DepthToSpace(t) blocksize=2\n",
     "shape N H W C\nx: [N, 4C, H, W]\nt = Resize(x) sizes=[N, 4C, 2H, 3W]\ny = DepthToSpace(t) blocksize=2\n"},
    {"x: [1, 8, 4, 4]\na, b = Split(x) axis=1 split=[3, 5]\n",
     "shape N C H W C2\nx: [N, C + C2, H, W]\na, b = Split(x) axis=1 split=[C, C2]\n"},
    // No symbols for what only numbers say.
    {"x: [1, 8, 4, 4]\nt = Resize(x) sizes=[1, 8, 6, 8]\n",
     "shape N C W\nx: [N, C, 4, W]\nt = Resize(x) sizes=[N, C, 6, 2W]\n",
     {"H = 4"}},
};

/// The same text up to the names of values.
std::string canonicalText(const Pattern& p) {
  Program own = mine::cut(p.program, [&] {
    std::vector<int> nodes;
    for (size_t n = 0; n < p.program.nodes().size(); ++n) {
      if (p.program.nodes()[n].op->name != "Input") nodes.push_back(static_cast<int>(n));
    }
    return nodes;
  }());
  return print(own);
}

TEST(MineGeneralise, NumbersBecomeSymbols) {
  for (const GeneralCase& c : kCases) {
    SCOPED_TRACE(c.program);
    auto general = mine::generalise(program(c.program), {});
    ASSERT_TRUE(general) << general.error().message();
    Pattern wanted = pattern(c.pattern);
    EXPECT_EQ(canonicalText(general->pattern), canonicalText(wanted));
    EXPECT_THAT(general->pinned, testing::ElementsAreArray(c.pinned));
    EXPECT_THAT(general->pattern.shapes.symbols, testing::UnorderedElementsAreArray(wanted.shapes.symbols));
  }
}

TEST(MineGeneralise, ProofsDoNotDependOnEpsilon) {
  auto of = [](const std::string& epsilon) {
    auto found = mine::generalise(
        program("x: [4, 6]\ns: const [6]\ny = LayerNormalization(x, s) axis=1 epsilon=" + epsilon + "\n"), {});
    EXPECT_TRUE(found) << found.error().message();
    return found ? found->pattern.anyNumbers : std::vector<double>();
  };
  EXPECT_THAT(of("1e-12"), ElementsAre(1e-12));
  EXPECT_THAT(of("0.5"), IsEmpty()) << "proofs may calculate with it";
}

TEST(MineGeneralise, TheModelsNumbersGiveTheModelsProgram) {
  for (const GeneralCase& c : kCases) {
    for (bool pointwise : {true, false}) {
      SCOPED_TRACE(c.program);
      Program source = program(c.program);
      auto general = mine::generalise(source, {.pointwise = pointwise});
      ASSERT_TRUE(general) << general.error().message();
      EXPECT_TRUE(general->pattern.shapes.contains(general->values));
      std::map<std::string, Expr> numbers(general->values.begin(), general->values.end());
      auto back = general->pattern.program.substitute(numbers);
      ASSERT_TRUE(back) << back.error().message();
      ASSERT_EQ(back->nodes().size(), source.nodes().size());
      for (size_t n = 0; n < source.nodes().size(); ++n) {
        EXPECT_EQ(back->nodes()[n].op, source.nodes()[n].op);
        EXPECT_EQ(back->nodes()[n].operands, source.nodes()[n].operands);
        EXPECT_EQ(back->nodes()[n].shapes, source.nodes()[n].shapes);
        for (const auto& [name, value] : source.nodes()[n].attributes) {
          if (name == "layout") continue;  // its axes have names of their own
          EXPECT_EQ(back->nodes()[n].attributes.find(name)->second, value) << name;
        }
      }
    }
  }
}

TEST(MineGeneralise, AnyKernelInPlaceOfOne) {
  auto general =
      mine::generalise(program("x: [1, 8, 9, 9]\nw: const [4, 8, 1, 1]\ny = Conv(x, w)\n"), {.pointwise = false});
  ASSERT_TRUE(general);
  EXPECT_EQ(canonicalText(general->pattern),
            canonicalText(pattern("shape N C H W F R S P Q\nx: [N, C, H, W]\nw: const [F, C, R, S]\n"
                                  "y = Conv(x, w) pads=[P, Q, P, Q]\n")));
}

struct KnownCase {
  std::string pattern;
  bool known;
};

TEST(MineKnown, InstancesAreKnown) {
  Pattern shipped = pattern(
      "shape N C H W F R S P Q PE QE : 0 <= P, 0 <= Q, 0 <= PE, 0 <= QE\nx: [N, C, H, W]\n"
      "w: const [F, C, R, S]\nb: const [F, 1, 1]\nt = Conv(x, w) pads=[P, Q, PE, QE]\n"
      "u = Add(t, b)\n");
  mine::KnownPatterns known({shipped});
  const std::string tail = "b: const [F, 1, 1]\n";
  const std::vector<KnownCase> cases = {
      {"shape A B H W F R S P Q : 0 <= P, 0 <= Q\nimage: [A, B, H, W]\nw: const [F, B, R, S]\n" + tail +
           "t = Conv(image, w) pads=[P, Q, P, Q]\nu = Add(b, t)\n",
       true},
      {"shape N C H W F R S\nx: [N, C, H, W]\nw: const [F, C, R, S]\n" + tail + "t = Conv(x, w)\nu = Add(t, b)\n",
       true},
      // More holds for a kernel of extent 1.
      {"shape N C H W F\nx: [N, C, H, W]\nw: const [F, C, 1, 1]\n" + tail + "t = Conv(x, w)\nu = Add(t, b)\n", false},
      // The weights are none of the model's constants.
      {"shape N C H W F R S\nx: [N, C, H, W]\nw: [F, C, R, S]\n" + tail + "t = Conv(x, w)\nu = Add(t, b)\n", false},
      {"shape N C H W F R S\nx: [N, C, H, W]\nw: const [F, C, R, S]\n" + tail +
           "t = Conv(x, w) strides=[2, 2]\nu = Add(t, b)\n",
       false},
      {"shape N C H W F R S\nx: [N, C, H, W]\nw: const [F, C, R, S]\n" + tail + "t = Conv(x, w)\nu = Mul(t, b)\n",
       false},
      // Its inner value is one of the results.
      {"shape N C H W F R S\nx: [N, C, H, W]\nw: const [F, C, R, S]\n" + tail +
           "t = Conv(x, w)\nu = Add(t, b)\nreturn t, u\n",
       false},
  };
  for (const KnownCase& c : cases)
    EXPECT_EQ(known.nameOf(pattern(c.pattern)), c.known ? std::optional<std::string>("p") : std::nullopt) << c.pattern;
}

TEST(MineKnown, OfAnyEpsilon) {
  auto normalised = [](const std::string& any, const std::string& epsilon) {
    return pattern("shape N C\n" + any +
                   "x: [N, C]\ns: const [C]\ny = LayerNormalization(x, s) axis=1 epsilon=" + epsilon + "\n");
  };
  const Pattern open = normalised("any 1e-05 > 0\n", "1e-05"), one = normalised("", "1e-05");
  const std::string other = "any 1e-12 > 0\n";
  EXPECT_EQ(mine::KnownPatterns({open}).nameOf(normalised(other, "1e-12")), "p");
  EXPECT_EQ(mine::KnownPatterns({open}).nameOf(normalised("", "0.5")), "p");
  EXPECT_EQ(mine::KnownPatterns({one}).nameOf(open), std::nullopt);
  EXPECT_EQ(mine::KnownPatterns({one}).nameOf(normalised("", "1e-12")), std::nullopt);
}

std::vector<std::string> lines(const mine::Mine& found) {
  std::vector<std::string> result;
  for (const mine::Mined& m : found.patterns)
    result.push_back(fmt::format("{} {}{}", m.count, m.pattern.name.substr(0, m.pattern.name.rfind('-')),
                                 m.known.empty() ? "" : " = " + m.known));
  return result;
}

TEST(MinePatterns, EqualUpToNamesAndOrderIsOnePattern) {
  Program one =
      program("x: [1, 8, 9, 9]\nw: const [4, 8, 3, 3]\nr = Relu(x)\na = Conv(x, w) pads=[1, 1, 1, 1]\nreturn a, r\n");
  Program two = program("w: const [6, 8, 5, 5]\ny: [2, 8, 7, 8]\nb = Conv(y, w)\nz = Relu(y)\nreturn z, b\n");
  EXPECT_THAT(lines(mine::mine({one, two}, {}, {.operators = 2})), ElementsAre("2 relu", "2 conv", "2 conv-relu"));
}

TEST(MinePatterns, OfKernelsOfExtent1TwoPatterns) {
  Program p = program("x: [1, 8, 9, 9]\nw: const [4, 8, 1, 1]\nt = Conv(x, w)\ny = Relu(t)\n");
  EXPECT_THAT(lines(mine::mine({p}, {}, {.operators = 2})),
              UnorderedElementsAre("1 conv", "1 conv-1x1", "1 relu", "1 conv-relu", "1 conv-1x1-relu"));
}

TEST(MinePatterns, KnownOnesAreNamed) {
  Program p = program("x: [1, 8, 9, 9]\nw: const [4, 8, 3, 3]\ny = Conv(x, w)\n");
  Pattern conv =
      pattern("shape N C H W F R S P Q\nx: [N, C, H, W]\nw: const [F, C, R, S]\ny = Conv(x, w) pads=[P, Q, P, Q]\n");
  EXPECT_THAT(lines(mine::mine({p}, {conv}, {})), ElementsAre("1 conv = p"));
  EXPECT_THAT(mine::mine({p}, {conv}, {}).failed, IsEmpty());
}

}  // namespace
}  // namespace pet::mine_test
