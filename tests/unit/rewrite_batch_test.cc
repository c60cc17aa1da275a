#include <filesystem>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ir/layout_algebra.h"
#include "ir/ops/op.h"
#include "ir/text.h"
#include "rules/rewrite/batch.h"
#include "rules/text.h"
#include "synth/judge/decide.h"
#include "tests/unit/text_file.h"

// A program with other batch dimensions is the same program between Reshapes: by table, and proved for every pattern
// that has a batch.
namespace pet::rewrite_batch_test {
namespace {

using namespace testing_support;
using rewrite::Batched;
using rewrite::withBatchDimensions;

Program parsed(const std::string& text) {
  auto program = parseProgram(text, "test");
  EXPECT_TRUE(program) << program.error().message() << "\n" << text;
  return program ? *program : Program();
}

struct Case {
  std::string name, program, expected;  ///< with two dimensions in front; "" where there is no batch
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.name;
}

const Case kCases[] = {
    {"Rows", "x: [M, K]\nw: const [K, N]\nb: const [N]\nt = MatMul(x, w)\ny = Add(t, b)\n",
     "x: [M1, M2, K]\nw: const [K, N]\nb: const [N]\nt = MatMul(x, w)\ny = Add(t, b)\n"},
    {"Axes", "x: [M, K]\ns: const [K]\nb: const [K]\nt = LayerNormalization(x, s, b) axis=1\ny = Softmax(t) axis=1\n",
     "x: [M1, M2, K]\ns: const [K]\nb: const [K]\nt = LayerNormalization(x, s, b) axis=2\ny = Softmax(t) axis=2\n"},
    {"Stacks", "q: [B, S, D]\nk: [B, T, D]\nl = Transpose(k) perm=[0, 2, 1]\ny = MatMul(q, l)\n",
     "q: [B1, B2, S, D]\nk: [B1, B2, T, D]\nl = Transpose(k) perm=[0, 1, 3, 2]\ny = MatMul(q, l)\n"},
    {"Parts", "x: [M, K + L]\ny, z = Split(x) axis=1 split=[K, L]\nu = Concat(z, y) axis=1\nreturn u\n",
     "x: [M1, M2, K + L]\ny, z = Split(x) axis=2 split=[K, L]\nu = Concat(z, y) axis=2\nreturn u\n"},
    {"PartsByPosition", "x: [M, K + 1]\ny = Slice(x) axes=[1] starts=[1] ends=[K + 1]\n",
     "x: [M1, M2, K + 1]\ny = Slice(x) axes=[2] starts=[1] ends=[K + 1]\n"},
    {"Maps", "x: [M, K + 1]\ny = IndexMap(x) [m:M, k:K] -> [m, k + 1]\n",
     "x: [M1, M2, K + 1]\ny = IndexMap(x) [m1:M1, m2:M2, k:K] -> [m1, m2, k + 1]\n"},
    {"TakenNames", "x: [M, M1]\ny = Relu(x)\n", "x: [M2, M3, M1]\ny = Relu(x)\n"},
    {"TwoInputs", "x: [M, K]\nz: [M, K]\ny = Mul(x, z)\n", "x: [M1, M2, K]\nz: [M1, M2, K]\ny = Mul(x, z)\n"},
    {"Equation", "q: [B, H, S, D]\nk: [B, H, T, D]\ny = Einsum(q, k) equation=\"bhsd,bhtd->bhst\"\n",
     "q: [B1, B2, H, S, D]\nk: [B1, B2, H, T, D]\ny = Einsum(q, k) equation=\"abcde,abcfe->abcdf\"\n"},
    {"EquationWithAMatrix", "x: [B, N, D]\nw: const [M, N]\ny = Einsum(x, w) equation=\"bnd,mn->bmd\"\n",
     "x: [B1, B2, N, D]\nw: const [M, N]\ny = Einsum(x, w) equation=\"abcd,ec->abed\"\n"},
    {"Expands", "x: [M, K]\ns: [M, 1]\nt = Expand(s) shape=[M, K]\ny = Div(x, t)\n",
     "x: [M1, M2, K]\ns: [M1, M2, 1]\nt = Expand(s) shape=[M1, M2, K]\ny = Div(x, t)\n"},
    {"UnitAxes", "x: [M, K]\nt = Unsqueeze(x) axes=[1]\nu = Relu(t)\ny = Squeeze(u) axes=[1]\n",
     "x: [M1, M2, K]\nt = Unsqueeze(x) axes=[2]\nu = Relu(t)\ny = Squeeze(u) axes=[2]\n"},
    {"UnitAxisInFront", "x: [M, K]\nt = Unsqueeze(x) axes=[0]\ny = Relu(t)\n", ""},
    {"ExpandToTheBatch", "x: [M, K]\ns: [1, K]\nt = Expand(s) shape=[M, K]\ny = Div(x, t)\n", ""},
    {"ExpandByTheBatch", "x: [M, M]\ns: [M, 1]\nt = Expand(s) shape=[M, M]\ny = Div(x, t)\n", ""},
    {"EquationThatSumsTheBatch", "x: [B, N]\nz: [B, M]\ny = Einsum(x, z) equation=\"bn,bm->nm\"\n", ""},
    {"EquationWithTheBatchBehind", "x: [B, N]\nw: const [N, M]\ny = Einsum(x, w) equation=\"bn,nm->mb\"\n", ""},
    {"WeightOfTheBatch", "x: [M, K]\ns: const [M, 1]\ny = Mul(x, s)\n", ""},
    {"ExtentTwice", "x: [M, M]\ny = Relu(x)\n", ""},
    {"MapAcross", "x: [M + 1, K]\nt = IndexMap(x) [m:M, k:K] -> [m + 1, k]\ny = Relu(t)\n", ""},
    {"MapOfTheBatch", "x: [M, K]\ny = IndexMap(x) [m:M, k:K] -> [m, k + m]\n", ""},
    {"SoftmaxAcross", "x: [M, K]\ny = Softmax(x) axis=0\n", ""},
    {"TransposeAcross", "x: [M, K]\nt = Relu(x)\ny = Transpose(t) perm=[1, 0]\n", ""},
    {"MatrixOfTheBatch", "x: [M, K]\nw: const [N, K]\nt = Transpose(x) perm=[1, 0]\ny = MatMul(w, t)\n", ""},
    {"RowsTimesRows", "x: [M, K]\nz: [K, M]\ny = MatMul(x, z)\n", ""},
    {"ConcatOfWeights", "x: [M, K]\nw: const [1, K]\nu = Mul(x, w)\ny = Concat(u, x) axis=0\n", ""},
    {"Conv", "x: [N, C, H, W]\nw: const [F, C, 3, 3]\ny = Conv(x, w)\n", ""},
    {"Reshape", "x: [M, K]\nt = Layout(x) m k -> (m k)\ny = Relu(t)\n", ""},
    {"NumberInFront", "x: [4, K]\ny = Relu(x)\n", ""},
};

class BatchCase : public testing::TestWithParam<Case> {};

TEST_P(BatchCase, HasTheDimensions) {
  auto batched = withBatchDimensions(parsed(GetParam().program), 2);
  ASSERT_EQ(batched.has_value(), !GetParam().expected.empty()) << (batched ? print(batched->program) : "");
  if (!batched) return;
  EXPECT_EQ(print(batched->program), print(parsed(GetParam().expected)));
}

INSTANTIATE_TEST_SUITE_P(Programs, BatchCase, testing::ValuesIn(kCases), [](const auto& each) {
  return each.param.name;
});

// --- Proved for every pattern that has a batch ---

Value reshaped(ProgramBuilder& builder, Value v, const Shape& to, const std::string& name) {
  auto layout = regroup(builder.shape(v), to);
  EXPECT_TRUE(layout) << str(builder.shape(v)) << " to " << str(to);
  return *builder.add("Layout", {v}, {{"layout", *layout}}, name);
}

/// A node's attributes, with the batch of a map made of these dimensions. An Expand leaves its batch as it is.
Attributes attributesOf(const Node& n, const Batched& batched) {
  Attributes attributes = n.attributes;
  if (n.is(ops::kExpand)) {
    Expr& front = std::get<std::vector<Expr>>(attributes.find("shape")->second).at(0);
    if (front == Expr::variable(batched.batch)) front = 1;
  }
  auto map = attributes.find("map");
  if (map == attributes.end()) return attributes;
  auto& spec = std::get<IndexMapSpec>(map->second);
  const LayoutAxis front = spec.dims.at(0).at(0);
  if (front.extent != Dim(Expr::variable(batched.batch))) return attributes;
  spec.dims[0] = {{front.name, 1}};
  if (batched.dims.empty()) return attributes;
  spec.dims[0].clear();
  spec.source[0].clear();
  for (const std::string& d : batched.dims) {
    spec.dims[0].push_back({fmt::format("{}{}", front.name, spec.dims[0].size()), Expr::variable(d)});
    spec.source[0].push_back(Expr::variable(spec.dims[0].back().name));
  }
  return attributes;
}

/// The program as it is, with its batch made of these dimensions, between Reshapes.
Program betweenReshapes(const Program& program, const Batched& batched) {
  std::vector<Dim> dims;
  for (const std::string& d : batched.dims)
    dims.emplace_back(Expr::variable(d));
  const Dim whole = dims.empty() ? Dim(1) : Dim::product(dims);
  ProgramBuilder builder;
  std::vector<Value> moved;
  for (const Node& n : program.nodes()) {
    if (n.op->name == "Input") {
      Shape shape = n.shapes[0], own = batched.program.shape(*batched.program.find(n.names[0]));
      Value v = builder.input(n.names[0], own, n.scalar("constant") == Expr(1));
      if (own.size() != shape.size()) {
        shape[0] = whole;
        v = reshaped(builder, v, shape, n.names[0] + "_rows");
      }
      moved.push_back(v);
      continue;
    }
    std::vector<Value> operands;
    for (Value o : n.operands)
      operands.push_back({moved[static_cast<size_t>(o.node)].node, o.output});
    std::vector<std::string> names;
    for (const std::string& name : n.names)
      names.push_back(name + "_inner");
    moved.push_back(builder.add(*n.op, operands, attributesOf(n, batched), names).value());
  }
  std::vector<Value> outputs;
  for (size_t i = 0; i < program.outputs().size(); ++i) {
    const Value v = program.outputs()[i], own = batched.program.outputs()[i];
    outputs.push_back(reshaped(builder, {moved[static_cast<size_t>(v.node)].node, v.output}, batched.program.shape(own),
                               batched.program.name(own)));
  }
  return std::move(builder).finish(outputs);
}

ShapeClass classOf(const ShapeClass& shapes, const Batched& batched) {
  ShapeClass result;
  for (const std::string& s : shapes.symbols) {
    if (s != batched.batch) result.symbols.push_back(s);
  }
  for (const std::string& d : batched.dims) {
    result.symbols.push_back(d);
    result.require(Constraint::le(1, Expr::variable(d)));
  }
  for (const Constraint& c : shapes.constraints) {
    if (!c.expr.mentions(batched.batch)) result.require(c);
  }
  return result;
}

TEST(BatchOfPatterns, IsProved) {
  std::set<std::string> withBatch;
  for (const auto& file : std::filesystem::directory_iterator(std::string(PET_SOURCE_DIR) + "/rules/patterns")) {
    auto set = parseRules(textOf(file.path()), "test");
    ASSERT_TRUE(set) << set.error().message();
    const Pattern& pattern = set->patterns.at(0);
    for (size_t count : {0, 2, 3}) {
      auto batched = withBatchDimensions(pattern.program, count);
      if (!batched) continue;
      withBatch.insert(pattern.name);
      Pattern claim{pattern.name, classOf(pattern.shapes, *batched), betweenReshapes(pattern.program, *batched)};
      Rule rule;
      rule.name = "batched";
      rule.pattern = pattern.name;
      rule.shapes = claim.shapes;
      rule.mutant = rule.replacement = batched->program;
      Decision decision = decide(claim, rule, {.check = count == 2});
      EXPECT_TRUE(std::holds_alternative<Proved>(decision))
          << pattern.name << " with " << count << ": " << verdictOf(decision) << "\n"
          << explain(decision);
    }
  }
  for (const char* name : {"matmul", "parallel-matmul-3", "layernorm-matmul", "attention-banded-heads", "matmul-sum"})
    EXPECT_TRUE(withBatch.contains(name)) << name;
  EXPECT_GE(withBatch.size(), 15U);
}

}  // namespace
}  // namespace pet::rewrite_batch_test
