#include "ir/denote.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "ir/text.h"
#include "tests/unit/denotation_value.h"
#include "tests/unit/random_programs.h"

namespace pet::denote_test {
namespace {

using testing_support::atomExtents;
using testing_support::CompiledPiece;
using testing_support::denotationIsTheValue;
using testing_support::ProgramAtShape;
using testing_support::randomProgram;
using testing_support::randomTensor;

Program parsed(std::string_view text) {
  auto program = parseProgram(text, "case");
  EXPECT_TRUE(program) << text << "\n" << (program ? "" : program.error().message());
  return program ? *program : Program();
}

/// The denotation's pieces, enumerated point by point, against evaluation over F_p with random inputs.
testing::AssertionResult denotationMatches(const Program& program, const Bindings& symbols) {
  std::mt19937_64 random(7);
  std::map<std::string, Tensor<Fp>> named;
  std::vector<Tensor<Fp>> inputs;
  std::vector<Extents> atoms;
  for (Value v : program.inputs()) {
    inputs.push_back(randomTensor(*evaluate(program.shape(v), symbols), random));
    named[program.name(v)] = inputs.back();
    atoms.push_back(atomExtents(program.shape(v), symbols));
  }
  auto results = evaluate<Fp>(program, symbols, named);
  if (!results) return testing::AssertionFailure() << results.error().message();
  for (size_t o = 0; o < program.outputs().size(); ++o) {
    Value output = program.outputs()[o];
    NameSource names;
    auto denoted = denote(program, output, names);
    if (!denoted) return testing::AssertionFailure() << denoted.error().message();
    std::vector<CompiledPiece> pieces;
    for (const Piece& p : denoted->pieces) {
      AccessPiece access{p.coefficient, p.reduction, p.domain, {}};
      for (const Factor& f : p.factors)
        access.reads.push_back({f.number, {f.at}});
      pieces.emplace_back(access, denoted->index, symbols);
    }
    Extents extents = atomExtents(program.shape(output), symbols);
    std::vector<int64_t> position(extents.size());
    for (const Fp& want : (*results)[o].data) {
      Fp got = 0;
      for (CompiledPiece& piece : pieces) {
        got += piece.sum(position, inputs, atoms);
        if (!piece.error().empty()) return testing::AssertionFailure() << str(position) << ": " << piece.error();
      }
      if (got != want) {
        return testing::AssertionFailure() << "at " << str(position) << " the denotation gives " << got.value()
                                           << ", evaluation " << want.value() << "\n"
                                           << print(program);
      }
      for (size_t d = extents.size(); d-- > 0;) {
        if (++position[d] < extents[d]) break;
        position[d] = 0;
      }
    }
  }
  return testing::AssertionSuccess();
}

struct Case {
  std::string_view program;
  std::vector<Bindings> shapes;
};

const Case kComposed[] = {
    // a Conv between layouts, and its corrections
    {R"(x: [2M, C, H, W]  w: const [F, C, R, S]
        t = Layout(x) (n 2) c h w -> n c h (2 w)
        u = Conv(t, w) pads=[P, Q, P, Q]
        y = Slice(u) axes=[3] starts=[1] ends=[2W + 2Q - S + 1] steps=[2])",
     {{{"M", 1}, {"C", 2}, {"H", 3}, {"W", 4}, {"F", 2}, {"R", 3}, {"S", 3}, {"P", 1}, {"Q", 1}},
      {{"M", 2}, {"C", 1}, {"H", 2}, {"W", 2}, {"F", 1}, {"R", 1}, {"S", 2}, {"P", 0}, {"Q", 0}}}},
    {R"(x: [N, C, H, W]  w: const [F, C, R, S]
        p = Pad(x) pads=[0, 0, 0, 0, 0, 0, 0, Q]
        t = Layout(p) n c h w -> 1 c h (n w)
        u = Conv(t, w) pads=[P, Q, P, S - 1 - Q]
        y = Layout(u) 1 f h (n w) -> n f h w)",
     {{{"N", 2}, {"C", 1}, {"H", 2}, {"W", 2}, {"F", 2}, {"R", 2}, {"S", 3}, {"P", 1}, {"Q", 1}},
      {{"N", 3}, {"C", 1}, {"H", 1}, {"W", 1}, {"F", 1}, {"R", 1}, {"S", 1}, {"P", 0}, {"Q", 0}}}},
    {R"(x: [N, C, 2H, 2W]  w: const [F, 4C, R, S]
        s = SpaceToDepth(x) blocksize=2
        y = Conv(s, w) pads=[1, 0, 0, 1])",
     {{{"N", 1}, {"C", 2}, {"H", 3}, {"W", 2}, {"F", 2}, {"R", 2}, {"S", 2}}}},
    // weights that are programs
    {R"(x: [N, C, H, W]  w: const [F, C, R, S]
        u = IndexMap(w) [c:C, f:F, r:R, s:S] -> [f, c, R - 1 - r, S - 1 - s]
        y = ConvTranspose(x, u) pads=[P, 0, 0, P] strides=[2, 1])",
     {{{"N", 1}, {"C", 2}, {"H", 2}, {"W", 3}, {"F", 2}, {"R", 3}, {"S", 3}, {"P", 1}}}},
    {R"(x: [N, (G C), H]  w: const [(G F), C, R]
        k = IndexMap(w) [(g:G f:F), (h:G c:C), r:R] -> [g : f, c, r] where g = h
        y = Conv(x, k) pads=[1, 1])",
     {{{"N", 2}, {"G", 2}, {"C", 2}, {"F", 3}, {"H", 3}, {"R", 2}}}},
    {R"(x: [N, C, H]  w: const [F, C, R]
        k = IndexMap(w) [(f:F r:R), c:C, o:1] -> [f, c, r]
        t = Conv(x, k)
        y = OffsetReduce(t) kernel_shape=[R] pads=[P, 0])",
     {{{"N", 2}, {"C", 2}, {"H", 4}, {"F", 2}, {"R", 3}, {"P", 1}}}},
    // chains: two reductions, and a value that is read twice
    {R"(x: [N, C, H]  w: const [F, C, R]  v: const [E, F, S]
        a = Conv(x, w) pads=[1, 0]
        y = Conv(a, v) pads=[0, 1])",
     {{{"N", 1}, {"C", 2}, {"H", 4}, {"F", 2}, {"R", 2}, {"E", 1}, {"S", 3}}}},
    {R"(x: [N, N]
        a = MatMul(x, x)
        b = Mul(a, x)
        y = Sub(b, a))",
     {{{"N", 1}}, {{"N", 3}}}},
    {R"(x: [N, W]
        y = Add(x, x))",
     {{{"N", 2}, {"W", 3}}}},
    // sums of several pieces with coefficients
    {R"(x: [N, C, H]
        a = AveragePool(x) kernel_shape=[2] pads=[1, 1] count_include_pad=1
        b = AveragePool(a) kernel_shape=[3]
        y = Concat(b, x, b) axis=2)",
     {{{"N", 1}, {"C", 2}, {"H", 3}}}},
    {R"(x: [H, W]
        a = Pad(x) pads=[1, 0, 0, 2] mode=reflect
        b = Pad(a) pads=[0, 1, 1, 0] mode=edge
        y = Slice(b) axes=[0, 1] starts=[1, 0] ends=[H + 2, W + 2])",
     {{{"H", 2}, {"W", 3}}, {{"H", 4}, {"W", 5}}}},
    // outputs of a Split, read apart; constants
    {R"(x: [A + B, W]
        a, b = Split(x) axis=0 split=[A, B]
        c = Constant() value=0.75 shape=[W]
        d = Mul(b, c)
        return d, a)",
     {{{"A", 2}, {"B", 1}, {"W", 3}}}},
};

TEST(Denote, AgreesWithEvaluation) {
  for (const Case& c : kComposed) {
    Program program = parsed(c.program);
    for (const Bindings& shape : c.shapes) {
      EXPECT_TRUE(denotationMatches(program, shape));
      auto concrete = program.substitute({shape.begin(), shape.end()});
      ASSERT_TRUE(concrete) << concrete.error().message();
      EXPECT_TRUE(denotationMatches(*concrete, {})) << "put in";
    }
  }
}

RC_GTEST_PROP(DenoteProperty, AgreesWithEvaluation, ()) {
  ProgramAtShape p = *randomProgram(4);
  RC_LOG() << print(p.program);
  NameSource names;
  auto denoted = denote(p.program, p.program.outputs()[0], names);
  if (!denoted && denoted.error().kind == ErrorKind::kUnsupported) RC_DISCARD("opaque to the prover");
  auto result = denotationMatches(p.program, p.symbols);
  RC_LOG() << result.message();
  RC_ASSERT(bool(result));
}

const Case kFunctions[] = {
    {"x: [N, C, H]\na = Pad(x) pads=[0, 0, 1, 0, 0, 2]\nb = Sigmoid(a)\nc = Relu(b)\ny = Neg(c)",
     {{{"N", 1}, {"C", 2}, {"H", 3}}}},
    {"x: [N, C, H]\na = Pad(x) pads=[0, 0, 1, 0, 0, 2] value=-0.75\nb = LeakyRelu(a) alpha=0.25\ny = Gelu(b)",
     {{{"N", 1}, {"C", 2}, {"H", 3}}}},
    {"x: [N, C, H]\ns: [C, 1]\na = PRelu(x, s)\ny = Clip(a) min=-0.5 max=1.5", {{{"N", 2}, {"C", 2}, {"H", 3}}}},
    {"x: [2N, H]\na = Layout(x) (n 2) h -> n (2 h)\nb = Tanh(a)\nc = Slice(b) axes=[1] starts=[1] ends=[H + 1]\n"
     "y = Square(c)",
     {{{"N", 2}, {"H", 3}}}},
    {"x: [N, C, H]\na = Pad(x) pads=[0, 0, 1, 0, 0, 2]\nb = MaxPool(a) kernel_shape=[2]\nc = MaxPool(b) "
     "kernel_shape=[2] strides=[2] pads=[1, 0]\ny = Relu(c)",
     {{{"N", 1}, {"C", 2}, {"H", 4}}}},
    {"x: [N, C, H]\na = Concat(x, x) axis=1\nb = ReduceMax(a) axes=[1]\nc = GlobalMaxPool(x)\ny = Sub(b, c)",
     {{{"N", 2}, {"C", 2}, {"H", 3}}}},
    {"x: [N, C, H]\ns = Softmax(x) axis=2\nt = Transpose(x) perm=[0, 2, 1]\ny = MatMul(s, t)",
     {{{"N", 2}, {"C", 2}, {"H", 3}}}},
    {"x: [M, M]\nm = Band() shape=[M, M] lower=1 upper=0\ni = Constant() value=-inf\nt = Where(m, x, i)\ny = "
     "Softmax(t) axis=1",
     {{{"M", 1}}, {{"M", 4}}}},
    {"c: [N, 1]\nx: [N, W]\nz: [W]\ny = Where(c, x, z)", {{{"N", 6}, {"W", 2}}}},
    {"x: [N, W]\na = Square(x)\nc = Constant() value=0.3\nb = Add(a, c)\ny = Div(x, b)", {{{"N", 2}, {"W", 3}}}},
    {"x: [N, H, W]\ns: [W]\nb: [W]\ny = LayerNormalization(x, s, b) axis=2 epsilon=0.5",
     {{{"N", 1}, {"H", 2}, {"W", 3}}}},
    {"x: [N, C, W]\ns: [C]\nb: [C]\nm: [C]\nv: [C]\nq = Square(v)\ny = BatchNormalization(x, s, b, m, q) "
     "epsilon=0.5",
     {{{"N", 1}, {"C", 2}, {"W", 3}}}},
    {"x: [N, C, W]\ns: [C]\nb: [C]\ny = InstanceNormalization(x, s, b) epsilon=0.5", {{{"N", 1}, {"C", 2}, {"W", 3}}}},
    {"x: [N, C, W]\ny = LRN(x) size=3 alpha=0.5", {{{"N", 1}, {"C", 4}, {"W", 2}}}},
    // constants
    {"x: [N, C, W]\na = AveragePool(x) kernel_shape=[3] pads=[1, 1]\nb = GlobalAveragePool(a)\ny = Add(a, b)",
     {{{"N", 1}, {"C", 2}, {"W", 4}}}},
    {"x: [N, C, W]\nb: [C, 1]\nt = Add(x, b)\ny = AveragePool(t) kernel_shape=[3] pads=[1, 1] strides=[2]",
     {{{"N", 1}, {"C", 2}, {"W", 4}}}},
    {"x: [N, H, W]\nb: [N, 1, 1]\nt = Add(x, b)\na = Resize(t) sizes=[N, G, V] mode=cubic\ny = Resize(a) "
     "scales=[1, 1, 3, 2, 2, 1]",
     {{{"N", 1}, {"H", 3}, {"W", 2}, {"G", 2}, {"V", 3}}}},
    {"x: [N, 2]\nt = Table() shape=[2, 3] values=[1, 0, -3, 4, 5, -6] denominator=4\nu = Table() shape=[3, 2] "
     "values=[7, -8, 0, 0, 1, 1]\ny = MatMul(x, t)\nz = MatMul(y, u)\nreturn z, y",
     {{{"N", 2}}}},
};

TEST(Denote, AgreesWithEvaluationOfFunctions) {
  for (const Case& c : kFunctions) {
    Program program = parsed(c.program);
    for (const Bindings& shape : c.shapes)
      EXPECT_TRUE(denotationIsTheValue(program, shape));
  }
  for (const Case& c : kComposed) {
    Program program = parsed(c.program);
    EXPECT_TRUE(denotationIsTheValue(program, c.shapes[0]));
  }
}

TEST(Denote, IsAFunctionOfTheProgram) {
  Program program = parsed(kComposed[0].program);
  auto text = [&](int before) {
    NameSource names;
    for (int i = 0; i < before; ++i)
      names.fresh("z");
    auto d = denote(program, program.outputs()[0], names).value();
    std::string out;
    for (const Piece& p : d.pieces) {
      for (const std::string& r : p.reduction)
        out += r + " ";
      for (const Constraint& c : p.domain)
        out += c.str() + ", ";
      for (const Factor& f : p.factors) {
        for (const Expr& e : f.at)
          out += e.str() + " ";
      }
    }
    return out;
  };
  EXPECT_EQ(text(0), text(0));
  EXPECT_NE(text(0), text(1));  // the source's state is part of the names
}

TEST(Denote, NamesDigitsAndIndicesInOrder) {
  Program program = parsed("x: [(N W), C]\nw: const [C, F]\ny = MatMul(x, w)");
  NameSource names;
  auto d = denote(program, program.outputs()[0], names).value();
  EXPECT_EQ(d.index, (std::vector<std::string>{"v0", "v1", "v2"}));  // n, w and f
  ASSERT_EQ(d.pieces.size(), 1U);
  EXPECT_EQ(d.pieces[0].reduction, std::vector<std::string>{"k_1"});
  EXPECT_EQ(d.pieces[0].factors[0].at.size(), 3U);
  // Factors are sorted by input, whatever the order of the operands.
  Program swapped = parsed("x: [N, W]\nz: [N, W]\ny = Mul(z, x)");
  auto e = denote(swapped, swapped.outputs()[0], names).value();
  EXPECT_EQ(e.pieces[0].factors[0].number, 0);
  EXPECT_EQ(e.pieces[0].factors[1].number, 1);
}

TEST(Denote, LeavesOutWhatNeverHolds) {
  Program program = parsed("x: [2]\nz: [3]\na = Concat(x, z) axis=0\ny = Slice(a) axes=[0] starts=[0] ends=[1]");
  NameSource names;
  auto d = denote(program, program.outputs()[0], names).value();
  // Only the piece of z is impossible by its constants alone once v0 is a number; both stay, as v0 is an index.
  EXPECT_EQ(d.pieces.size(), 2U);
  Program apart = parsed("x: [1, W]\nz: [1, W]\na = Concat(x, z) axis=0\ny = Layout(a) (2 1) w -> (2 w)");
  EXPECT_EQ(denote(apart, apart.outputs()[0], names).value().pieces.size(), 2U);  // of 4 pairs of cases
}

TEST(Denote, OpaqueOperatorsAreNamed) {
  const std::pair<std::string_view, std::string_view> kOpaque[] = {
      {"x: [N, C, (A B)]\nm = MaxPool(x) kernel_shape=[3] pads=[1, 1]\ny = Neg(m)", "a pool over (A B)"},
      {"x: [N, C, (A B D)]\nw: [C, C, 3]\ny = Conv(x, w) pads=[1, 1]", "carry over more than two digits"},
      {"x: [N]\nc = Constant() value=inf\ny = Add(x, c)", "the constant inf"},
      {"x: [N, W]\ny = Pad(x) pads=[0, 1, 0, 1] value=-inf", "an output that is -inf"},
      {"x: [N, W]\np = Pad(x) pads=[0, 1, 0, 1] value=-inf\ny = Tanh(p)", "Tanh of -inf"},
      {"x: [N, W]\nc = Constant() value=-inf\np = Add(x, c)\ny = Mul(p, p)", "-inf in a product"},
  };
  for (const auto& [text, reason] : kOpaque) {
    Program program = parsed(text);
    NameSource names;
    auto d = denote(program, program.outputs()[0], names);
    ASSERT_FALSE(d) << text;
    EXPECT_EQ(d.error().kind, ErrorKind::kUnsupported);
    EXPECT_EQ(d.error().what.rfind(reason, 0), 0U) << d.error().what;
  }
}

TEST(Denote, SharedValuesInAProductAreLookedAtOnce) {
  std::string text = "x: [N]\na0 = Add(x, x)\n";
  for (int i = 1; i < 60; ++i)
    text += fmt::format("a{} = Add(a{}, a{})\n", i, i - 1, i - 1);
  Program program = parsed(text + "y = Mul(a59, x)");
  NameSource names;
  auto d = denote(program, program.outputs()[0], names);
  ASSERT_FALSE(d);
  EXPECT_EQ(d.error().what, "a sum of very many products");
}

TEST(Obligations, OfOperatorsAndExtents) {
  struct Obliged {
    std::string_view program;
    std::vector<std::string_view> must;
  };
  const Obliged kCases[] = {
      {"x: [N, W]\ny = Neg(x)", {"1 <= N", "1 <= W"}},
      {"x: [N, C, W]\nw: const [F, C, S]\ny = Conv(x, w) pads=[Q, 0]",
       {"0 <= Q", "1 <= S", "1 <= N", "1 <= F", "S <= Q + W"}},
      {"x: [W]\ny = Slice(x) axes=[0] starts=[A] ends=[B]", {"0 <= A", "A <= B", "B <= W", "A + 1 <= B"}},
      // A value may be empty where a Concat is all that reads it.
      {"x: [W]\na = Slice(x) axes=[0] starts=[0] ends=[B]\nb = Slice(x) axes=[0] starts=[B] ends=[W]\ny = Concat(a, b) "
       "axis=0",
       {"0 <= B", "B <= W", "1 <= W"}},
      {"x: [W]\na = Slice(x) axes=[0] starts=[0] ends=[B]\nb = Neg(a)\ny = Concat(b, x) axis=0",
       {"0 <= B", "B <= W", "1 <= B + W"}},
      {"x: [N, C, (M W)]\nw: const [F, C, 3]\ny = Conv(x, w) pads=[2, 0]",
       {"2 <= W", "0 <= W", "1 <= N", "1 <= F", "1 <= M", "1 <= W"}},
  };
  for (const Obliged& c : kCases) {
    std::set<std::string> got, want(c.must.begin(), c.must.end());
    for (const Constraint& o : obligations(parsed(c.program)))
      got.insert(o.str());
    EXPECT_EQ(got, want) << c.program;
  }
}

}  // namespace
}  // namespace pet::denote_test
