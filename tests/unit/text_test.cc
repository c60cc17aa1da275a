#include "ir/text.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "ir/evaluate.h"
#include "tests/unit/random_programs.h"

namespace pet::text_test {
namespace {

using testing_support::ProgramAtShape;
using testing_support::randomProgram;

Program parsed(std::string_view text) {
  auto program = parseProgram(text, "case");
  EXPECT_TRUE(program) << text << "\n" << (program ? "" : program.error().message());
  return program ? *program : Program();
}

// --- What is written in canonical form reads back to itself ---

const std::string_view kCanonical[] = {
    "x: [N, C, H, W]\nw: const [F, C, R, S]\ny = Conv(x, w) pads=[P, Q, P, Q]\n",
    "x: [N, C, H, W]\nw: const [F, C, 3, 3]\ny = Conv(x, w) strides=[2, 1] dilations=[1, 2] pads=[0, 1, 2, 3]\n",
    "x: [N, (G C), W]\nw: const [(G F), C, S]\ny = Conv(x, w) group=G\n",
    "x: [N, W]\ny = Relu(x)\n",
    "x: [N, W]\ny = LeakyRelu(x) alpha=0.25\n",
    "x: [N, W]\ny = Clip(x) min=-0.5 max=6\n",
    "x: [N, W]\ny = Clip(x) max=1e+30\n",
    "x: [N, W]\ny = Clip(x) min=1.5e-07\n",
    "x: [A + B]\ny, z = Split(x) axis=0 split=[A, B]\n",
    "x: [A + B]\ny, z = Split(x) axis=0 split=[A, B]\nreturn z, y\n",
    "x: [A + B]\ny, z = Split(x) axis=0 split=[A, B]\nreturn y\n",
    "x: [N, W]\ny = Pad(x) pads=[0, Q, 0, W - 1] mode=reflect\n",
    "x: [N, W]\nz: [W, V]\ny = Einsum(x, z) equation=\"nw,wv->vn\"\n",
    "x: [N, W]\ny = Slice(x) axes=[1] starts=[floor((W)/2)] ends=[W] steps=[2]\n",
    "c = Constant() value=0.5\nd = Constant() value=-inf shape=[W]\ny = Mul(d, c)\n",
    "x: [N]\ny = Einsum(x) equation=\"n->\"\nz = Relu(y)\n",
    // layouts: literals, names, extents where they cannot be inferred
    "x: [2N, C, H, W]\ny = Layout(x)  (n 2) c h w -> n c h (2 w)\n",
    "x: [2N, C, H, W]\ny = Layout(x)  (2 n) c h w -> n c h (w 2)\n",
    "x: [N, C]\ny = Layout(x)  n c -> 1 (c n)\n",
    "x: [1, N]\ny = Layout(x)  1 n -> n\n",
    "x: [N, 1]\ny = Layout(x)  n _0 -> _0 n 1\n",
    "x: [(N W)]\ny = Layout(x)  (n:N w:W) -> w n\n",
    "x: [6W, 4]\ny = Layout(x)  (3 w p:2) (q:2 r:2) -> (w p) (q r 3)\n",
    "x: [(N {W + 1} 2)]\n",
    // index maps
    "w: [F, C, R]\ny = IndexMap(w)  [c:C, f:F, r:R] -> [f, c, R - r - 1]\n",
    "w: [F, C, R]\ny = IndexMap(w)  [f:F, (c:C p:2), k:{R + 1}] -> [f, c, 2k + p - 1] where k + 1 <= R\n",
    "w: [(F G), C]\ny = IndexMap(w)  [f:F, g:G, c:C] -> [f : g, c]\n",
    "x: [N, W]\ny = Resize(x) scales=[1, 1, 2, 1]\n",
};

TEST(Text, CanonicalFormIsStable) {
  for (std::string_view text : kCanonical) {
    if (text.find('=') == std::string_view::npos) continue;
    EXPECT_EQ(print(parsed(text)), text);
  }
}

/// Other ways to write the same.
const std::pair<std::string_view, std::string_view> kSpellings[] = {
    {"x:[N,2*W]y=Relu(x)", "x: [N, 2W]\ny = Relu(x)\n"},
    {"# a comment\nx: [N, W*2]  # another\n\ty = Relu(\n x )\n#", "x: [N, 2W]\ny = Relu(x)\n"},
    {"x: [N, (W)]\ny = Relu(x)", "x: [N, W]\ny = Relu(x)\n"},
    {"x: [N, W,]\ny = Relu(x,)", "x: [N, W]\ny = Relu(x)\n"},
    {"x: [N, W, 3]\nw: const [W, W, 2]\ny = Conv(x, w) pads=[0, 0] strides=[1] group=1",
     "x: [N, W, 3]\nw: const [W, W, 2]\ny = Conv(x, w)\n"},
    {"x: [N, W]\ny = Relu(x)\nreturn y", "x: [N, W]\ny = Relu(x)\n"},
    {"x: [N, W]\ny = Pad(x) pads=[0, 1, 0, 1] mode=\"edge\"", "x: [N, W]\ny = Pad(x) pads=[0, 1, 0, 1] mode=edge\n"},
    {"x: [2N]\ny = Layout(x) (a:N b:2) -> b a", "x: [2N]\ny = Layout(x)  (a 2) -> 2 a\n"},
    {"x: [2N]\ny = Layout(x) (a b:2) -> b a", "x: [2N]\ny = Layout(x)  (a 2) -> 2 a\n"},
    {"x: [4N]\ny = Layout(x) (_0 2 _1:2) -> 2 _0 _1", "x: [4N]\ny = Layout(x)  (_0 _2:2 _1:2) -> _2 _0 _1\n"},
    {"x: [4N]\ny = Layout(x) (2 a b:2) -> b a 2", "x: [4N]\ny = Layout(x)  (_0:2 a b:2) -> b a _0\n"},
};

TEST(Text, OtherSpellings) {
  for (const auto& [text, canonical] : kSpellings)
    EXPECT_EQ(print(parsed(text)), canonical) << text;
}

// --- Errors: where, and what was expected ---

struct BadText {
  std::string_view text, where, what;
};

const BadText kBadPrograms[] = {
    // tokens
    {"", "1:1", "a program needs at least one statement"},
    {"x: [N]\ny = Relu(x) $", "2:13", "expected a value name, found '$'"},
    {"x: [N]\n  y ! Relu(x)", "2:5", "expected '=', found '!'"},
    {"x: [99999999999999999999]\ny = Relu(x)", "1:5", "expected a 64-bit integer"},
    // expressions
    {"x: [N +]\ny = Relu(x)", "1:8", "expected an expression, found ']'"},
    {"x: [N * W]\ny = Relu(x)", "1:9", "expected an integer factor"},
    {"x: [floor(N)]\ny = Relu(x)", "1:12", "expected '/', found ')'"},
    {"x: [floor(N/0)]\ny = Relu(x)", "1:13", "expected a positive divisor"},
    {"x: [floor(N/M)]\ny = Relu(x)", "1:13", "expected a positive divisor"},
    {"x: [9223372036854775807N + 9223372036854775807N]\ny = Relu(x)", "1:48",
     "integer overflow in an affine expression"},
    // declarations and shapes
    {"x: N\ny = Relu(x)", "1:4", "expected '[', found 'N'"},
    {"x: [N\ny = Relu(x)", "2:1", "expected ']', found 'y'"},
    {"x: [(N W]\ny = Relu(x)", "1:9", "expected an expression, found ']'"},
    {"x: [(N W + 1)]\ny = Relu(x)", "1:10", "expected an expression, found '+'"},
    {"x: [(N {W + 1)]\ny = Relu(x)", "1:14", "expected '}', found ')'"},
    {"x: [N]\nx: [W]\ny = Relu(x)", "2:1", "'x' is defined twice"},
    {"x: [(9223372036854775807 3 N)]\ny = Relu(x)", "1:30", "integer overflow in an affine expression"},
    // statements
    {"x: [N]\ny = Relux(x)", "2:5", "unknown operator 'Relux' (did you mean 'Relu'?)"},
    {"x: [N]\ny = Input(x)", "2:5", "unknown operator 'Input'"},
    {"x: [N]\ny = Relu(z)", "2:10", "'z' is not defined"},
    {"x: [N]\ny = Relu(y)", "2:10", "'y' is not defined"},
    {"x: [N]\nx = Relu(x)", "2:1", "'x' is defined twice"},
    {"x: [N]\ny = Relu(x\nz", "3:1", "expected ')', found 'z'"},
    {"x: [N]\ny = Relu(x", "2:11", "expected ')', found the end"},
    {"x: [N]\ny = Relu x", "2:10", "expected '(', found 'x'"},
    {"x: [N]\ny = Relu(x, x)", "2:5", "Relu takes 1 operands, got 2"},
    {"x: [N]\ny = Einsum(x) equation=\"n->", "2:24", "expected '\"' at the end of the line"},
    {"x: [N]\ny = Einsum(x) equation=\"n->\nz\"", "2:24", "expected '\"' at the end of the line"},
    {"x: [N]\ny = Einsum(x) equation=\"n->\" $", "2:30", "expected a value name, found '$'"},
    {"x: [N]\ny = Einsum(x) equation=\"n\"", "2:5", "Einsum of 1 operands by \"n\""},
    {"x: [N]\ny = Einsum(x) equation=\"n->m\"", "2:5", "Einsum of 1 operands by \"n->m\""},
    {"x: [N]\ny = Einsum(x) equation=\"n->nn\"", "2:5", "Einsum of 1 operands by \"n->nn\""},
    {"x: [N]\ny = Einsum(x) equation=\"n...->n\"", "2:5", "Einsum of 1 operands by \"n...->n\""},
    {"x: [N]\ny = Einsum(x, x) equation=\"n->n\"", "2:5", "Einsum of 2 operands by \"n->n\""},
    {"x: [N, M]\ny = Einsum(x) equation=\"nn->n\"", "2:5", "Einsum of [N, M] by \"nn\""},
    {"x: [N]\ny = Einsum(x) equation=\"ab->a\"", "2:5", "Einsum of [N] by \"ab\""},
    {"x: [N]\ny = Concat() axis=0", "2:5", "Concat takes 1 or more operands, got 0"},
    {"x: [N]\ny, z = Relu(x)", "2:8", "Relu has 1 outputs, not 2"},
    {"x: [2N]\ny = Split(x) axis=0 split=[N, N]", "2:1", "Split has 2 outputs"},
    {"x: [N]\nreturn z", "2:8", "'z' is not defined"},
    {"x: [N]\ny = Relu(x)\nreturn y\nz = Relu(y)", "4:1", "expected the end"},
    // attributes
    {"x: [N]\ny = Relu(x) alpha=1", "2:13", "Relu has no attribute 'alpha'"},
    {"x: [N]\ny = LeakyRelu(x) alpha=N", "2:24", "expected a number"},
    {"x: [N]\ny = LeakyRelu(x) alpha=1e999", "2:24", "expected a number"},
    {"x: [N]\ny = LeakyRelu(x) alpha 1", "2:24", "expected '=', found '1'"},
    {"x: [N]\ny = LeakyRelu(x) alpha=1 alpha=2", "2:26", "'alpha' is given twice"},
    {"x: [N]\ny = Concat(x, x)", "2:5", "Concat needs the attribute 'axis'"},
    {"x: [N]\ny = Pad(x) pads=0", "2:17", "expected '[', found '0'"},
    {"x: [N]\ny = Pad(x) pads=[0, 1", "2:22", "expected ']', found the end"},
    {"x: [N]\ny = Pad(x) pads=[0, 0] mode=3", "2:29", "expected a word, found '3'"},
    // shape rules: at the operator, with both shapes
    {"x: [N, C]\nw: [D, F]\n  y = MatMul(x, w)", "3:7", "MatMul of [N, C] and [D, F]"},
    {"x: [N, C]\nz: [N, D]\ny = Add(x, z)", "3:5", "broadcasting of [N, C] and [N, D]: C and D do not broadcast"},
    {"x: [N, C]\nz: [M, D]\ny = Concat(x, z) axis=1", "3:5", "Concat of [N, C] and [M, D] along axis 1"},
    {"x: [N, C, W]\nw: const [F, D, S]\ny = Conv(x, w)", "3:5",
     "Conv of [N, C, W] with [F, D, S] in 1 groups: channels do not agree"},
    {"x: [N, W]\ny = Reshape(x) shape=[W, N]", "2:5",
     "Reshape of [N, W] to [W, N] does not keep the order of its dimensions"},
    // layouts
    {"x: [N, W]\ny = Layout(x) n -> n", "2:15", "the layout has 1 dimensions on its left, the operand is [N, W]"},
    {"x: [N]\ny = Layout(x) (n 2) -> n 2", "2:15", "cannot split N as written; give extents, e.g. (n p:2)"},
    {"x: [(N W)]\ny = Layout(x) (w:W n:N) -> n w", "2:15", "cannot split (N W) as written; give extents, e.g. (n p:2)"},
    {"x: [N]\ny = Layout(x) n -> m", "2:15", "'m' on the right is not on the left"},
    {"x: [N]\ny = Layout(x) n -> n n", "2:15", "'n' on the right is not on the left"},
    {"x: [N, N]\ny = Layout(x) n n -> n n", "2:15", "axis 'n' occurs twice on the left"},
    {"x: [N, W]\ny = Layout(x) n w -> n", "2:15", "axis 'w' is missing on the right"},
    {"x: [N, W]\ny = Layout(x) n w", "2:18", "expected '->', found the end"},
    {"x: [N]\ny = Layout(x) (n", "2:17", "expected an axis name or a number, found the end"},
    {"x: [N]\ny = Layout(x) () -> n", "2:16", "expected an axis name or a number, found ')'"},
    {"x: [N]\ny = Layout() n -> n", "2:5", "an operand is missing"},
    // index maps
    {"x: [N]\ny = IndexMap(x) [n] -> [n]", "2:19", "expected ':', found ']'"},
    {"x: [N]\ny = IndexMap(x) [n:N] [n]", "2:23", "expected '->', found '['"},
    {"x: [N]\ny = IndexMap(x) [n:N] -> [n, n]", "2:5", "a map's source does not have one expression per digit of [N]"},
    {"x: [N]\ny = IndexMap(x) [n:N, n:2] -> [n]", "2:5", "the name 'n' of an axis is taken"},
    {"x: [N]\ny = CyclicMap(x) [n:N] -> [n, n]", "2:5", "a map's source does not have one expression per digit of [N]"},
    {"x: [N]\ny = CyclicMap(x)", "2:17", "expected '[', found the end"},
    {"x: [N]\ny = IndexMap(x) [N:3] -> [N]", "2:5", "the name 'N' of an axis is taken"},
    {"x: [N]\ny = IndexMap(x) [n:N] -> [n] where", "2:35", "expected an expression, found the end"},
    {"x: [N]\ny = IndexMap(x) [n:N] -> [n] where n", "2:37", "expected one of <= < = > >="},
    {"x: [N]\ny = IndexMap(x) [n:N] -> [n] where n % 0 = 1", "2:40", "expected a positive modulus"},
};

TEST(Text, ErrorsSayWhereAndWhat) {
  for (const BadText& c : kBadPrograms) {
    auto program = parseProgram(c.text, "f.pet");
    ASSERT_FALSE(program) << c.text << "\nis read as\n" << print(*program);
    EXPECT_EQ(program.error().message(), fmt::format("f.pet:{}: {}", c.where, c.what)) << c.text;
    EXPECT_TRUE(program.error().kind == ErrorKind::kText || program.error().kind == ErrorKind::kUnsupported);
  }
}

TEST(Text, DeepNestingIsAnErrorAndNoCrash) {
  std::string open(100000, '('), text = "x: [" + open + "N]\ny = Relu(x)";
  EXPECT_EQ(parseProgram(text, "f").error().what, "nested too deeply");
  EXPECT_EQ(parseExpr("1 + 2" + open).error().what, "nested too deeply");
  EXPECT_TRUE(parseExpr("2" + std::string(100, '(') + "N" + std::string(100, ')')));
}

TEST(Text, ExpressionsEndWhereTheyEnd) {
  EXPECT_EQ(parseExpr("N M").error().message(), "expression:1:3: unexpected text after the expression");
  EXPECT_EQ(parseExpr("").error().message(), "expression:1:1: expected an expression, found the end");
  EXPECT_EQ(parseExpr("2 N").error().message(), "expression:1:3: unexpected text after the expression");
  EXPECT_EQ(parseExpr("2(N + 1)").value().str(), "2N + 2");
}

// --- Properties ---

RC_GTEST_PROP(TextProperty, RandomProgramsReadBack, ()) {
  ProgramAtShape p = *randomProgram(6);
  std::string text = print(p.program);
  RC_LOG() << text;
  auto again = parseProgram(text, "printed");
  if (!again) RC_FAIL(again.error().message());
  RC_ASSERT(print(*again) == text);
}

/// No prefix or one-character damage of a program crashes; what is read prints to something that reads back.
RC_GTEST_PROP(TextProperty, DamagedTextIsReadOrRefused, ()) {
  std::string text(kCanonical[static_cast<size_t>(testing_support::draw(0, std::size(kCanonical) - 1))]);
  const std::string alphabet = "xNW12()[]{}:=,->+*/%#\n _e.";
  for (int64_t edits = testing_support::draw(1, 3); edits-- > 0;) {
    auto at = static_cast<size_t>(testing_support::draw(0, static_cast<int64_t>(text.size()) - 1));
    char c = alphabet[static_cast<size_t>(testing_support::draw(0, static_cast<int64_t>(alphabet.size()) - 1))];
    switch (testing_support::draw(0, 3)) {
      case 0:
        text[at] = c;
        break;
      case 1:
        text.insert(at, 1, c);
        break;
      case 2:
        if (text.size() > 1) text.erase(at, 1);
        break;
      default:
        if (at > 0) text.resize(at);
    }
  }
  RC_LOG() << text;
  auto program = parseProgram(text, "damaged");
  if (!program) {
    RC_ASSERT(program.error().where.rfind("damaged:", 0) == 0);
    return;
  }
  std::string printed = print(*program);
  auto again = parseProgram(printed, "printed");
  if (!again) RC_FAIL(printed + again.error().message());
  RC_ASSERT(print(*again) == printed);
}

}  // namespace
}  // namespace pet::text_test
