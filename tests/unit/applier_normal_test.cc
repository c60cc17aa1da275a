// What exporters write in pieces or in a form of their own: how it is read, that it is written as it came where nothing
// changes, and that rules meet it.

#include <gtest/gtest.h>

#include "applier/operators/onnx_rows.h"
#include "applier/read/row_guards.h"
#include "ir/ops/einsum.h"
#include "ir/ops/op.h"
#include "tests/unit/applier_support.h"
#include "tests/unit/graph_text.h"

namespace pet::applier_normal_test {
namespace {

using namespace testing_support;

Graph withOutputs(Graph graph) {
  graph.outputs = graph.nodes.back().outputs;
  return graph;
}

std::string readAs(const std::string& text, int64_t opset) {
  return operators(normalise(withOutputs(graphOf(text, opset))).view);
}

// --- Idioms ---

constexpr const char* kTorchLayerNorm =
    "x:f[2,5,4] s=f{1,2,3,4} b=f{4,3,2,1} two=f(2) e=f(0.00001) m=ReduceMean(x) axes=[-1] d=Sub(x,m) p=Pow(d,two) "
    "v=ReduceMean(p) axes=[-1] a=Add(v,e) r=Sqrt(a) n=Div(d,r) t=Mul(n,s) y=Add(t,b) ";

TEST(ApplierIdioms, AreReadAsTheOperator) {
  EXPECT_EQ(readAs(kTorchLayerNorm, 13), "LayerNormalization");
  EXPECT_EQ(
      readAs("x:f[1,3,8,8] c=f(1.4142135) o=f(1) h=f(0.5) u=Div(x,c) e=Erf(u) p=Add(e,o) t=Mul(x,p) y=Mul(t,h)", 13),
      "Gelu");
  EXPECT_EQ(readAs("x:f[7] c=f(0.70710677) o=f(1) h=f(0.5) u=Mul(x,c) e=Erf(u) p=Add(o,e) t=Mul(h,x) y=Mul(p,t)", 13),
            "Gelu");
  EXPECT_EQ(readAs("x:f[N,3,8,8] k=f(3) z=f(0) s=f(6) u=Add(x,k) c=Clip(u,z,s) q=Div(c,s) y=Mul(x,q)", 13),
            "HardSwish");
  EXPECT_EQ(readAs("x:f[B,5,4] w=f{1,2,3,4} two=f(2) e=f(0.000001) p=Pow(x,two) v=ReduceMean(p) axes=[-1] a=Add(v,e) "
                   "s=Sqrt(a) r=Reciprocal(s) n=Mul(x,r) y=Mul(w,n)",
                   17),
            "RMSNormalization");
  EXPECT_EQ(readAs("x:f[B,5,4] w=f{1,2,3,4} two=f(2) e=f(0.000001) o=f(1) c=Cast(x) to=1 p=Pow(c,two) v=ReduceMean(p) "
                   "axes=[-1] a=Add(v,e) s=Sqrt(a) r=Div(o,s) n=Mul(c,r) y=Mul(w,n)",
                   13),
            "RMSNormalization");
  // Of a value with a dimension of extent 1 in front, as of a batch of one that a MatMul makes rows of.
  EXPECT_EQ(
      readAs("i:f[4,8] to=i{1,4,8} h=f(0.5) k=f(3) b=f(0.044715) c=f(0.7978846) o=f(1) x=Reshape(i,to) a=Mul(x,h) "
             "q=Pow(x,k) l=Mul(q,b) u=Add(x,l) w=Mul(u,c) t=Tanh(w) p=Add(t,o) y=Mul(a,p)",
             18),
      "Layout Gelu");
  EXPECT_EQ(readAs("x:f[B,5] h=f(0.5) b=f(0.044715) c=f(0.7978846) o=f(1) a=Mul(x,h) v=Mul(x,c) k=Mul(x,b) l=Mul(k,x) "
                   "u=Add(l,o) w=Mul(v,u) t=Tanh(w) p=Add(t,o) y=Mul(a,p)",
                   18),
            "Gelu");
  EXPECT_EQ(readAs("x:f[B,5] g=Sigmoid(x) y=Mul(g,x)", 13), "Swish");
  EXPECT_EQ(readAs("x:f[B,5] c=f(1.702) u=Mul(x,c) g=Sigmoid(u) y=Mul(x,g)", 13), "Swish");
  EXPECT_EQ(readAs("x:f[B,5] z:f[B,5] g=Sigmoid(z) y=Mul(g,x)", 13), "Sigmoid Mul");
  EXPECT_EQ(readAs("x:f[B,5] p=Softplus(x) t=Tanh(p) y=Mul(x,t)", 13), "Mish");
  EXPECT_EQ(readAs("x:f[7] c=f(0.7) o=f(1) h=f(0.5) u=Mul(x,c) e=Erf(u) p=Add(e,o) t=Mul(x,p) y=Mul(t,h)", 13),
            "Mul Erf Add Mul Mul");
}

TEST(ApplierIdioms, AreWrittenAsTheyCame) {
  const Graph graph = withOutputs(graphOf(std::string(kTorchLayerNorm) + "z=Relu(y)", 13));
  const Normalised read = normalise(graph);
  ASSERT_EQ(operators(read.view), "LayerNormalization Relu");
  auto written = emit(graph, read.view, read.view);
  ASSERT_TRUE(written) << written.error().message();
  EXPECT_EQ(types(*written), types(graph));
}

TEST(ApplierIdioms, SumsOfSquaresAndOfMagnitudesAreAlongTheirAxes) {
  for (const auto& [op, wanted] : {std::pair{"ReduceSumSquare", "Square ReduceSum"}, {"ReduceL1", "Abs ReduceSum"}}) {
    for (int64_t opset : {13, 17, 18}) {
      const std::string axes =
          opset < 18 ? "y=" + std::string(op) + "(x) axes=[1]" : "a=i{1} y=" + std::string(op) + "(x,a)";
      const Normalised read = normalise(withOutputs(graphOf("x:f[3,5] " + axes, opset)));
      EXPECT_EQ(operators(read.view), wanted);
      const Program& program = read.view.program;
      ASSERT_EQ(program.outputs().size(), 1U);
      EXPECT_EQ(program.shape(program.outputs()[0]), Shape({3, 1})) << op << " in opset " << opset;
    }
  }
}

/// The rule that these lines, after an x: [M, K], are one operator.
RuleSet piecesOf(const std::string& op, const std::string& lines) {
  return rulesOf("pattern pieces { shape M K : 1 <= M, 1 <= K\n  x: [M, K]\n" + lines +
                 "}\nrule whole of pieces {\n  class M K : 1 <= M, 1 <= K\n  numerics conditioned 33, spreads NaN\n"
                 "  replacement {\n    y = " +
                 op + "(x)\n  }\n}");
}

constexpr const char* kHardSwishPieces = R"(
  three = Constant() value=3
  six = Constant() value=6
  u = Add(x, three)
  c = Clip(u) min=0 max=6
  t = Mul(x, c)
  y = Div(t, six)
)";

constexpr const char* kGeluPieces = R"(
  root = Constant() value=0.7071067811865476
  one = Constant() value=1
  half = Constant() value=0.5
  u = Mul(x, root)
  e = Erf(u)
  p = Add(e, one)
  t = Mul(x, p)
  y = Mul(t, half)
)";

/// Half as many pieces are worth writing where the opset lacks the operator; as many are not.
TEST(ApplierIdioms, AreNoOperatorThatTheOpsetLacks) {
  const std::string hardSwish =
      "x:f[2,5] three=f(3) zero=f(0) six=f(6) u=Add(x,three) c=Clip(u,zero,six) t=Mul(x,c) y=Div(t,six)";
  for (const auto& [opset, wanted] : {std::pair{13, "HardSigmoid Mul"}, {14, "HardSwish"}}) {
    const Applied result =
        applied({withOutputs(graphOf(hardSwish, opset)), nullptr}, piecesOf("HardSwish", kHardSwishPieces), all());
    ASSERT_EQ(result.report.fired.size(), 1U) << opset;
    EXPECT_EQ(types(result.model.graph), wanted);
  }
  const std::string gelu =
      "x:f[2,5] c=f(0.7071067811865476) o=f(1) h=f(0.5) u=Mul(x,c) e=Erf(u) p=Add(e,o) t=Mul(x,p) y=Mul(t,h)";
  for (int64_t opset : {19, 20}) {
    const Graph graph = withOutputs(graphOf(gelu, opset));
    const Applied result = applied({graph, nullptr}, piecesOf("Gelu", kGeluPieces), all());
    EXPECT_EQ(result.report.fired.size(), opset == 20 ? 1U : 0U);
    EXPECT_EQ(types(result.model.graph) == types(graph), opset == 19);
    if (opset == 20) continue;
    ASSERT_EQ(result.report.refused.size(), 1U);
    EXPECT_EQ(result.report.refused[0].reason.kind, ReasonKind::kOpset);
    EXPECT_EQ(result.report.refused[0].reason.value, "20");
  }
}

constexpr const char* kRelusMeet = R"(
pattern relus { shape M N : 1 <= M, 1 <= N
  x: [M, N]
  s: const [N]
  b: const [N]
  t = LayerNormalization(x, s, b) axis=1
  y = Relu(t) }
rule exchanged of relus {
  class M N : 1 <= M, 1 <= N
  numerics same-terms
  replacement {
    u = Layout(x) m n -> n m
    v = Layout(u) n m -> m n
    t = LayerNormalization(v, s, b) axis=1
    y = Relu(t)
  }
})";

// The pieces match; the opset has no such operator, so that pieces are written.
TEST(ApplierIdioms, MatchAndAreWrittenInPiecesWhereTheOpsetLacksThem) {
  for (int64_t opset : {13, 17}) {
    Graph graph = withOutputs(graphOf(std::string(kTorchLayerNorm) + "z=Relu(y)", opset));
    const Applied result = applied({graph, nullptr}, rulesOf(kRelusMeet), all());
    ASSERT_EQ(result.report.fired.size(), 1U)
        << opset << ": "
        << (result.report.refused.empty() ? "nothing matched" : result.report.refused[0].reason.detail);
    const std::string after = types(result.model.graph);
    EXPECT_EQ(after.find("LayerNormalization") != std::string::npos, opset == 17) << after;
    const auto before = results(graph), now = results(result.model.graph);
    for (size_t i = 0; i < before[0].data.size(); ++i)
      EXPECT_NEAR(before[0].data[i], now[0].data[i], 1e-5);
  }
}

// --- Attention ---

/// Whether the guard of an attention's rows is left out; `before`: up to the scores s.
bool isGuardLeftOut(const std::string& before, const std::string& after = "y=MatMul(w,v)") {
  const Graph graph =
      withOutputs(graphOf(before + " t=Add(s,m) p=Softmax(t) axis=-1 n=IsNaN(p) w=Where(n,z,p) " + after, 17));
  const Normalised read = normalise(graph);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (graph.nodes[i].type == "Where" && graph.nodes[i].outputs[0] == "w") return read.opaque[i].empty();
  }
  return false;
}

TEST(ApplierAttention, RowsThatHaveAKeyAreNotGuarded) {
  const std::string operands = "q:f[B,2,3,4] k:f[B,2,4,3] v:f[B,2,3,5] z=f(0) ", scores = "s=MatMul(q,k)";
  EXPECT_TRUE(isGuardLeftOut(operands + "m=f{0,-inf,-inf} " + scores));
  EXPECT_TRUE(isGuardLeftOut("m:f[3,3] " + operands + scores)) << "the model's inputs are finite";
  EXPECT_TRUE(isGuardLeftOut("i:i[3,3] " + operands + "e=f{1,2,3} m=Gather(e,i) " + scores));
  EXPECT_TRUE(isGuardLeftOut(operands + "m=f{0,-1,-inf} o=f{1,2,3,4} h=LayerNormalization(q,o) s=MatMul(h,k)"));
  EXPECT_FALSE(isGuardLeftOut(operands + "m=f{-inf,-inf,-inf} " + scores));
  EXPECT_FALSE(isGuardLeftOut(operands + "m=f{0,-inf,inf} " + scores));
  EXPECT_FALSE(isGuardLeftOut(operands + "m=f{0,-inf,nan} " + scores));
  EXPECT_FALSE(isGuardLeftOut("b:b[3,3] " + operands + "h=f(-inf) m=Where(b,z,h) " + scores)) << "a row may be hidden";
  EXPECT_FALSE(isGuardLeftOut("i:i[3,3] " + operands + "e=f{1,2,-inf} m=Gather(e,i) " + scores));
  EXPECT_FALSE(isGuardLeftOut(operands + "m=f{0,-inf,-inf} h=Sqrt(q) s=MatMul(h,k)")) << "NaN where q is negative";
  EXPECT_FALSE(isGuardLeftOut(operands + "m=f{0,-inf,-inf} c=f{1,2,inf,4} h=Mul(q,c) s=MatMul(h,k)"));
  const std::string quotient = "e=Div(c,d) h=Mul(q,e) s=MatMul(h,k)";
  EXPECT_TRUE(isGuardLeftOut(operands + "m=f{0,-inf,-inf} c=f{1,2,3,4} d=f{4,3,2,1} " + quotient)) << "as it comes out";
  EXPECT_FALSE(isGuardLeftOut(operands + "m=f{0,-inf,-inf} c=f{1,2,3,4} d=f{4,3,0,1} " + quotient));
  EXPECT_FALSE(isGuardLeftOut(operands + "m=f{0,-inf,-inf} " + scores, "y=Not(n)")) << "the condition is read";
  std::string many;
  for (int i = 0; i < 3000; ++i)
    many += "1,";
  for (const std::string last : {"1", "inf", "nan"}) {
    EXPECT_EQ(isGuardLeftOut("i:i[3,3] " + operands + "e=f{" + many + last + "} m=Gather(e,i) " + scores), last == "1");
    EXPECT_EQ(isGuardLeftOut("i:i[3,3] " + operands + "e=f{" + last + "," + many + "1} m=Gather(e,i) " + scores),
              last == "1");
  }
}

TEST(ApplierAttention, WhatTheGuardLeftOutIsWrittenWhereNothingChanges) {
  const Graph graph =
      withOutputs(graphOf("q:f[1,2,3,4] k:f[1,2,4,3] v:f[1,2,3,5] z=f(0) m=f{0,-inf,-inf} s=MatMul(q,k) t=Add(s,m) "
                          "p=Softmax(t) axis=-1 n=IsNaN(p) w=Where(n,z,p) y=MatMul(w,v)",
                          17));
  const Normalised read = normalise(graph);
  ASSERT_EQ(operators(read.view), "MatMul Add Softmax MatMul");
  auto written = emit(graph, read.view, read.view);
  ASSERT_TRUE(written) << written.error().message();
  EXPECT_EQ(types(*written), types(graph));
}

/// The operators of a model without the guards that it does not need.
std::string withoutGuards(const std::string& text, std::vector<std::string> outputs = {}) {
  Graph graph = withOutputs(graphOf("q:f[1,2,3,4] k:f[1,2,4,3] v:f[1,2,3,5] z=f(0) " + text, 17));
  if (!outputs.empty()) graph.outputs = std::move(outputs);
  const auto [less, leftOut] = withoutRowGuards(graph, {});
  EXPECT_EQ(less.nodes.size() == graph.nodes.size(), leftOut.empty());
  return types(less);
}

TEST(ApplierAttention, GuardsThatNoRowNeedsGoFromTheModel) {
  const std::string masked = "m=f{0,-inf,-inf} s=MatMul(q,k) t=Add(s,m) p=Softmax(t) axis=-1 n=IsNaN(p) ";
  const std::string guarded = masked + "w=Where(n,z,p) ";
  EXPECT_EQ(withoutGuards(guarded + "y=MatMul(w,v)"), "MatMul Add Softmax MatMul");
  EXPECT_EQ(withoutGuards(guarded + "o=Add(w,z) y=MatMul(o,v)"), "MatMul Add Softmax Add MatMul") << "zero is read";
  EXPECT_EQ(withoutGuards(guarded + "y=MatMul(w,v)", {"y", "w"}), "MatMul Add Softmax IsNaN Where MatMul")
      << "the graph names it";
  EXPECT_EQ(withoutGuards("h:f[2,1,2,3,3] " + masked + "w=Where(n,h,p) y=Relu(w)"),
            "MatMul Add Softmax IsNaN Where Relu")
      << "it repeats what it chooses";
  EXPECT_EQ(withoutGuards("m=f{-inf,-inf,-inf} s=MatMul(q,k) t=Add(s,m) p=Softmax(t) axis=-1 n=IsNaN(p) "
                          "w=Where(n,z,p) y=MatMul(w,v)"),
            "MatMul Add Softmax IsNaN Where MatMul")
      << "no row has a key";
}

/// The mask of a model's attention as it is read.
std::vector<double> maskRead(const std::string& mask, int64_t opset = 13) {
  const Normalised read =
      normalise(withOutputs(graphOf("s:f[2,3] m=" + mask + " t=Add(m,s) y=Softmax(t) axis=-1", opset)));
  const Node& sum = read.view.program.node(read.view.program.node(read.view.program.outputs()[0]).operands[0]);
  for (Value v : sum.operands) {
    if (auto c = read.view.constants.find(v.node); c != read.view.constants.end()) return *c->second.numbers();
  }
  return {};
}

TEST(ApplierAttention, TheLowestNumberHides) {
  constexpr double kHidden = -std::numeric_limits<double>::infinity();
  EXPECT_EQ(maskRead("f{0,-3.4028234e38,-1}"), (std::vector<double>{0, kHidden, -1}));
  EXPECT_EQ(maskRead("f{0,-3.4e38,-1e9}")[1], static_cast<double>(-3.4e38F)) << "another number";
  EXPECT_TRUE(std::isfinite(maskRead("f{-3.4028234e38,-3.4028234e38,-3.4028234e38}")[0])) << "nothing is seen";
  EXPECT_TRUE(std::isfinite(maskRead("f{-3.4028234e38,-1e38,-3.4028234e38}")[0])) << "what is seen is hardly more";
}

TEST(ApplierAttention, IsReadInItsPieces) {
  const std::string apart = "q:f[2,2,3,4] k:f[2,2,5,4] v:f[2,2,5,6] ", packed = "q:f[2,3,8] k:f[2,5,8] v:f[2,5,12] ";
  EXPECT_EQ(readAs(apart + "y=Attention(q,k,v)", 23), "Mul Transpose MatMul Softmax MatMul");
  EXPECT_EQ(readAs(apart + "y=Attention(q,k,v) is_causal=1 scale=1.0", 23), "Mul Transpose MatMul Add Softmax MatMul");
  EXPECT_EQ(readAs(apart + "m=f{0,0,-inf,0,0} y=Attention(q,k,v,m)", 23), "Mul Transpose MatMul Add Softmax MatMul");
  EXPECT_EQ(readAs(packed + "y=Attention(q,k,v) q_num_heads=2 kv_num_heads=2", 23),
            "Layout Transpose Layout Transpose Layout Transpose Mul Transpose MatMul Softmax MatMul Transpose Layout");
  for (const char* form :
       {"y=Attention(q,k,v,m)", "y=Attention(q,k,v) softcap=2.0", "y,p=Attention(q,k,v)", "y=Attention(q,k,v,h)"})
    EXPECT_EQ(readAs("m:f[3,5] " + apart + "h=f{-inf,-inf,-inf,-inf,-inf} " + form, 23), "") << form;
}

// --- What is computed for each channel, behind a Conv ---

constexpr std::string_view kBiased =
    "x: [1, 2, 6, 6]  w: const [3, 2, 3, 3]  b: const [3, 1, 1]  s: const [3]  c: const [3]  m: const [3]  v: const "
    "[3]  "
    "p: const [1, 3, 1, 1]  q: const [1, 3, 1, 1]  t = Conv(x, w) pads=[1, 1, 1, 1]  u = Add(t, b)  ";

Model behindABias(const std::string& rest) {
  return modelOf(std::string(kBiased) + rest);
}

TEST(ApplierChannels, ABiasIsPartOfWhatFollows) {
  const Graph norm = behindABias("y = BatchNormalization(u, s, c, m, v)").graph;
  EXPECT_EQ(types(norm), "Conv BatchNormalization");
  EXPECT_EQ(operators(normalise(norm).view), "Conv BatchNormalization");
  EXPECT_EQ(operators(normalise(behindABias("a = Mul(u, p)  y = Add(a, q)").graph).view), "Conv Mul Add");
  EXPECT_EQ(operators(normalise(behindABias("a = Mul(u, p)  y = Add(a, u)").graph).view), "Conv Add Mul Add")
      << "which is read elsewhere, too";
}

constexpr const char* kConvRule = R"(
pattern conv { shape N C H W F : 1 <= N, 1 <= C, 3 <= H, 3 <= W, 1 <= F
  x: [N, C, H, W]
  w: const [F, C, 3, 3]
  y = Conv(x, w) pads=[1, 1, 1, 1] }
rule padded of conv {
  class N C H W F : 1 <= N, 1 <= C, 3 <= H, 3 <= W, 1 <= F
  numerics same-terms
  replacement {
    p = Pad(x) pads=[0, 0, 1, 1, 0, 0, 1, 1]
    y = Conv(p, w) pads=[0, 0, 0, 0]
  }
})";
constexpr const char* kScaleRule = R"(
pattern scale { shape N F H W : 1 <= N, 1 <= F, 1 <= H, 1 <= W
  x: [N, F, H, W]
  s: const [F, 1, 1]
  b: const [F, 1, 1]
  t = Mul(x, s)
  y = Add(t, b) }
rule negated of scale {
  class N F H W : 1 <= N, 1 <= F, 1 <= H, 1 <= W
  numerics same-terms
  replacement {
    c = Neg(b)
    t = Mul(x, s)
    y = Sub(t, c)
  }
})";
constexpr const char* kFoldRule = R"(
pattern both { shape N C H W F : 1 <= N, 1 <= C, 3 <= H, 3 <= W, 1 <= F
  x: [N, C, H, W]
  w: const [F, C, 3, 3]
  s: const [F, 1, 1]
  b: const [F, 1, 1]
  t = Conv(x, w) pads=[1, 1, 1, 1]
  u = Mul(t, s)
  y = Add(u, b) }
rule folded of both {
  class N C H W F : 1 <= N, 1 <= C, 3 <= H, 3 <= W, 1 <= F
  numerics same-terms
  replacement {
    f = Layout(s)  f 1 1 -> f 1 1 1
    v = Mul(w, f)
    t = Conv(x, v) pads=[1, 1, 1, 1]
    y = Add(t, b)
  }
})";

// The Conv without its bias is no value of the model's: where one of the two changes, both are written anew.
TEST(ApplierChannels, AreWrittenWithoutTheBiasOrAsTheyWere) {
  const Model model = behindABias("a = Mul(u, p)  r = Add(a, q)  y = Relu(r)");
  ASSERT_EQ(types(model.graph), "Conv Mul Add Relu");
  for (const auto& [rules, after] :
       {std::pair(kConvRule, "Pad Conv Mul Add Relu"), {kScaleRule, "Conv Mul Sub Relu"}, {kFoldRule, "Conv Relu"}}) {
    const Applied result = applied(model, rulesOf(rules), all());
    ASSERT_EQ(result.report.fired.size(), 1U) << after;
    EXPECT_EQ(types(result.model.graph), after);
    const auto before = results(model.graph), now = results(result.model.graph);
    for (size_t i = 0; i < before[0].data.size(); ++i)
      EXPECT_NEAR(before[0].data[i], now[0].data[i], 1e-3) << after;
  }
  // Of another Conv nothing changes here.
  const Model two =
      behindABias("a = Mul(u, p)  r = Add(a, q)  y = Relu(r)  z = Transpose(x) perm=[0, 1, 3, 2]  return y, z");
  const Applied other = applied(two, rulesOf(R"(
pattern turn { shape A B H W : 1 <= A, 1 <= B, 1 <= H, 1 <= W
  x: [A, B, H, W]
  y = Transpose(x) perm=[0, 1, 3, 2] }
rule twice of turn {
  class A B H W : 1 <= A, 1 <= B, 1 <= H, 1 <= W
  numerics bit-equal
  replacement {
    p = Pad(x) pads=[0, 1, 0, 0, 0, 0, 0, 0]
    q = Transpose(p) perm=[0, 1, 3, 2]
    y = Slice(q) axes=[1] starts=[1] ends=[B + 1]
  }
})"),
                                all());
  ASSERT_EQ(other.report.fired.size(), 1U);
  const std::string written = types(other.model.graph);
  EXPECT_NE(written.find("Conv Mul Add Relu"), std::string::npos) << written;
  EXPECT_NE(written.find("Pad"), std::string::npos) << written;
}

// --- Parts of what is left open ---

TEST(ApplierOpenParts, AreRead) {
  const std::pair<const char*, std::string> cases[] = {
      {"s=i{0} e=i{1} a=i{1} y=Slice(x,s,e,a)", "Slice"},
      {"s=i{1} e=i{9223372036854775807} a=i{1} y=Slice(x,s,e,a)", "Slice"},
      {"s=i{-1} e=i{9223372036854775807} a=i{1} y=Slice(x,s,e,a)", "Slice"},
      {"s=i{0} e=i{-1} a=i{1} y=Slice(x,s,e,a)", "Slice"},
      {"s=i{0} e=i{9223372036854775807} a=i{1} y=Slice(x,s,e,a)", ""},
      {"s=i{0} e=i{5} a=i{1} y=Slice(x,s,e,a)", ""},  // of a seq that may be shorter
      {"s=i{-5} e=i{9223372036854775807} a=i{1} y=Slice(x,s,e,a)", ""},
      {"i=i(0) y=Gather(x,i) axis=1", "Gather Layout"},
      {"i=i(-1) y=Gather(x,i) axis=1", "Gather Layout"},
      {"i=i(1) y=Gather(x,i) axis=1", ""},
  };
  for (const auto& [text, wanted] : cases)
    EXPECT_EQ(readAs("x:f[batch,seq,8] " + std::string(text), 17), wanted) << text;
}

TEST(ApplierOpenSizes, ThatTheModelComputesAreRead) {
  const std::pair<const char*, std::string> cases[] = {
      {"t=i{16,16} v=Shape(x) end=2 s=Concat(v,t) axis=0 y=Resize(x,,,s) mode=\"linear\"", "Resize"},
      {"two=i{2} v=Shape(x) start=2 t=Mul(v,two) n=Shape(x) end=2 s=Concat(n,t) axis=0 y=Resize(x,,,s)", "Resize"},
      {"s=i{16,16} y=Resize(x,,,s) axes=[2,3]", "Resize"},
      {"c=f{1} s=Shape(x) y=Expand(c,s) z=Add(x,y)", "Add"},  // which broadcasts by itself
      {"m=f{1,2,3,4} r=i{1,1,2,2} p=Reshape(m,r) s=Shape(x) start=2 y=Resize(p,,,s) axes=[2,3] z=Add(x,y)",
       "Resize Add"},
      {"n=Shape(x) start=2 end=3 s=Concat(n,n) axis=0 c=ConstantOfShape(s) e=EyeLike(c) dtype=1 y=MatMul(e,x)",
       "Eye MatMul"},
      {"n=Shape(x) start=2 end=3 s=Concat(n,n) axis=0 c=ConstantOfShape(s) e=EyeLike(c) y=MatMul(e,x)", "Eye MatMul"},
      {"s=Shape(x) start=2 c=ConstantOfShape(s) e=EyeLike(c) dtype=1 y=MatMul(e,x)", "MatMul"},  // no square
      {"n=Shape(x) start=2 end=3 s=Concat(n,n) axis=0 c=ConstantOfShape(s) e=EyeLike(c) dtype=1 k=1 y=MatMul(e,x)",
       "MatMul"},
      {"n=Shape(x) start=2 end=3 s=Concat(n,n) axis=0 c=ConstantOfShape(s) e=EyeLike(c) dtype=7 f=Cast(e) to=1 "
       "y=MatMul(f,x)",
       "MatMul"},
      {"a=i{2,3} m=ReduceMax(x,a) s=Shape(x) y=Expand(m,s)", "GlobalMaxPool Expand"},
      {"t=i{8,2} a=i{4} v=Shape(x) end=3 s=Concat(v,t) axis=0 u=Unsqueeze(x,a) y=Expand(u,s)", "Layout Expand"},
  };
  for (const auto& [text, wanted] : cases)
    EXPECT_EQ(readAs("x:f[batch,3,H,8] " + std::string(text), 18), wanted) << text;
}

// --- Bounds ---

TEST(ApplierBounds, MinAndMaxWithOneNumberAreClips) {
  const std::pair<const char*, std::string> cases[] = {
      {"c=f(0.5) y=Min(x,c)", "Clip"}, {"c=f(0.5) y=Max(x,c)", "Clip"},
      {"c=f(6) y=Min(c,x)", "Clip"},   {"c=f{6} y=Min(x,c)", "Clip"},
      {"c=f(0) y=Max(x,c)", "Relu"},   {"c=f{1,2,3,4} y=Max(x,c)", "Max"},
      {"c=f{1,2,3,4} y=Min(x,c)", ""}, {"s=i{1,1,1} c=f{6} d=Reshape(c,s) y=Min(x,d)", ""},
      {"z=Neg(x) y=Min(x,z)", "Neg"},  {"c=f(6) z=Neg(x) y=Min(x,z,c)", "Neg"},
  };
  for (const auto& [text, wanted] : cases)
    EXPECT_EQ(readAs("x:f[B,4] " + std::string(text), 13), wanted) << text;
}

// --- Tables ---

TEST(ApplierTables, ThatCountAreMaps) {
  const std::pair<const char*, std::string> cases[] = {
      {"i=i{1,2,3} y=Gather(x,i) axis=1", "IndexMap"},
      {"i=i{-3,-2} y=Gather(x,i) axis=1", "IndexMap"},
      {"i=i{0,2,4} y=Gather(x,i) axis=1", "IndexMap"},
      {"i=i{2,1,0} y=Gather(x,i) axis=1", "Gather"},
      {"i=i{0,1,3} y=Gather(x,i) axis=1", "Gather"},
      {"i=i{1} y=Gather(x,i) axis=1", "Gather"},
      {"i=i{0,1,2,1,2,3} s=i{2,3} j=Reshape(i,s) y=Gather(x,j) axis=1", "IndexMap"},
      {"i=i{0,1,2,3,4,5} s=i{2,3} j=Reshape(i,s) y=Gather(x,j) axis=1", "IndexMap Layout"},
      {"i=i{2,3} s=i{2,6,2} j=Expand(i,s) y=GatherElements(x,j) axis=2", "IndexMap"},
      {"i=i{2,3} s=i{1,4,2} j=Expand(i,s) y=GatherElements(x,j) axis=2", "Slice IndexMap"},
      {"i=i{0,1,2,3} s=i{4,1} j=Reshape(i,s) t=i{2,4,8} k=Expand(j,t) y=GatherElements(x,k) axis=2", ""},
  };
  for (const auto& [text, wanted] : cases)
    EXPECT_EQ(readAs("x:f[2,6,8] " + std::string(text), 17), wanted) << text;
}

/// Windows that overlap are along the middle one of three dimensions.
TEST(ApplierTables, ThatCountWindowsThatOverlapHaveTheirAxisBetweenTwo) {
  const std::pair<const char*, std::string> cases[] = {
      {"i=i{0,1,2,2,3,4,4,5,6} s=i{3,3} j=Reshape(i,s) y=Gather(x,j) axis=2", "Layout IndexMap Layout"},
      {"i=i{0,1,2,2,3,4} s=i{2,3} j=Reshape(i,s) y=Gather(x,j) axis=1", "IndexMap"},
      {"i=i{0,1,2,2,3,4} s=i{1,2,3} j=Reshape(i,s) y=Gather(x,j) axis=1", "IndexMap Layout"},
      // Apart, beside each other, one element on, each other element.
      {"i=i{0,1,3,4} s=i{2,2} j=Reshape(i,s) y=Gather(x,j) axis=2", "IndexMap"},
      {"i=i{0,1,2,3} s=i{2,2} j=Reshape(i,s) y=Gather(x,j) axis=2", "IndexMap Layout"},
      {"i=i{0,1,2,1,2,3} s=i{2,3} j=Reshape(i,s) y=Gather(x,j) axis=2", "IndexMap"},
      {"i=i{0,2,4,3,5,7} s=i{2,3} j=Reshape(i,s) y=Gather(x,j) axis=2", "IndexMap"},
  };
  for (const auto& [text, wanted] : cases)
    EXPECT_EQ(readAs("x:f[2,6,8] " + std::string(text), 17), wanted) << text;
  const std::string table = "i=i{0,1,2,2,3,4} s=i{2,3} j=Reshape(i,s) y=Gather(x,j) axis=1";
  EXPECT_EQ(readAs("x:f[N,6,8] " + table, 17), "IndexMap");
  EXPECT_EQ(readAs("x:f[A,6,B,8] " + table, 17), "Layout IndexMap Layout");
  EXPECT_EQ(readAs("x:f[N,6] " + table, 17), "Layout IndexMap Layout");
}

TEST(ApplierTables, RowsThatFollowEachOtherAreReplaced) {
  const std::pair<const char*, const char*> cases[] = {
      {"u:f[2,8] i=i{1,2}", "ScatterND"}, {"u:f[2,8] i=i{-2,-1}", "ScatterND"},
      {"u:f[2,8] i=i{2,1}", ""},          {"u:f[2,8] i=i{1,3}", ""},
      {"u:f[2,8] i=i{5,6}", ""},
  };
  for (const auto& [text, wanted] : cases)
    EXPECT_EQ(readAs("x:f[6,8] " + std::string(text) + " a=i{1} j=Unsqueeze(i,a) y=ScatterND(x,j,u)", 17), wanted)
        << text;
  EXPECT_EQ(readAs("x:f[6,8] u:f[2,8] i=i{1,2} a=i{1} j=Unsqueeze(i,a) y=ScatterND(x,j,u) reduction=\"add\"", 17), "");
}

/// The Unsqueeze makes what the Gather takes before it drops the axis.
TEST(ApplierOpenParts, AnInnerValueThatAnotherNodeMakesHasItsName) {
  const Graph graph = graphOf("x:f[4,6] i=i(1) g=Gather(x,i) axis=0 u=Unsqueeze(g) axes=[0] n=NonZero(u)", 11);
  const View view = normalise(withOutputs(graph)).view;
  ASSERT_EQ(view.program.outputs().size(), 1U);
  const Value inner = view.program.outputs()[0];
  ASSERT_TRUE(view.names.contains(inner));
  EXPECT_EQ(view.names.at(inner), "u");
}

TEST(ApplierOpenParts, AreWrittenFromTheEnd) {
  View view = newView(parsed("x: [2, S, 8]  y = Slice(x) axes=[1] starts=[S - 1] ends=[S]"));
  Graph graph;
  graph.opset = 17;
  graph.inputs = {"x"};
  graph.outputs = {"y"};
  auto written = emit(graph, view, view);
  ASSERT_TRUE(written) << written.error().message();
  ASSERT_EQ(types(*written), "Slice");
  auto values = [&](size_t operand) {
    for (const Initializer& i : written->initializers) {
      if (i.name == written->nodes[0].inputs.at(operand)) return *i.value.integers();
    }
    return std::vector<int64_t>();
  };
  EXPECT_EQ(values(1), std::vector<int64_t>{-1});
  EXPECT_GE(values(2).at(0), std::numeric_limits<int32_t>::max());
}

TEST(ApplierOpenParts, HalvesOfWhatIsPromisedToBeEven) {
  EXPECT_EQ(readAs("x:f[batch,seq,8] y,z=Split(x) axis=0", 13), "") << "a batch that may be odd";
}

constexpr const char* kRowsBehindRelu = R"(
pattern relu-of-rows { shape M N A : 1 <= M, 1 <= N, 1 <= A
  x: [A + M, N]
  s = Slice(x) axes=[0] starts=[A] ends=[A + M] steps=[1]
  y = Relu(s) }
rule exchanged of relu-of-rows {
  class M N A : 1 <= M, 1 <= N, 1 <= A
  numerics same-terms
  replacement {
    t = Relu(x)
    y = Slice(t) axes=[0] starts=[A] ends=[A + M] steps=[1]
  }
})";

/// The view has the columns of rows as one Slice, which reads no rows: where these go, it is written.
TEST(ApplierParts, OfAPartThatGoesAreWrittenAnew) {
  Graph graph = graphOf(
      "x:f[4,6] zero=i{0} one=i{1} four=i{4} six=i{6} rows=Slice(x,one,four,zero) r=Relu(rows) "
      "c=Slice(rows,four,six,one)",
      13);
  graph.outputs = {"r", "c"};
  const Applied result = applied({graph, nullptr}, rulesOf(kRowsBehindRelu), all());
  ASSERT_EQ(result.report.fired.size(), 1U);
  EXPECT_EQ(types(result.model.graph), "Relu Slice Slice");
  const auto before = results(graph), now = results(result.model.graph);
  ASSERT_EQ(before.size(), now.size());
  for (size_t i = 0; i < before.size(); ++i)
    EXPECT_EQ(before[i].data, now[i].data);
}

// --- Einsum ---

/// By its definition: the sum over all labels that the result has not. An extent of 1 stands for all positions.
Tensor<float> einsum(const std::vector<std::string>& labels,
                     const std::string& result,
                     const std::vector<Tensor<float>>& operands) {
  std::map<char, int64_t> extents;
  for (size_t i = 0; i < labels.size(); ++i) {
    for (size_t d = 0; d < labels[i].size(); ++d)
      extents[labels[i][d]] = std::max(extents[labels[i][d]], operands[i].extents[d]);
  }
  Extents out;
  for (char c : result)
    out.push_back(extents.at(c));
  Tensor<float> y(out);
  std::map<char, int64_t> at;
  auto offset = [&](const std::string& of, const Extents& in) {
    int64_t position = 0;
    for (size_t d = 0; d < of.size(); ++d)
      position = position * in[d] + at.at(of[d]) % in[d];
    return static_cast<size_t>(position);
  };
  auto sum = [&](auto&& self, std::map<char, int64_t>::const_iterator label) -> void {
    if (label == extents.cend()) {
      float product = 1;
      for (size_t i = 0; i < labels.size(); ++i)
        product *= operands[i].data[offset(labels[i], operands[i].extents)];
      y.data[offset(result, y.extents)] += product;
      return;
    }
    for (int64_t v = 0; v < label->second; ++v) {
      at[label->first] = v;
      self(self, std::next(label));
    }
  };
  sum(sum, extents.cbegin());
  return y;
}

struct EinsumCase {
  const char* equation;
  const char* operators = "";  ///< in the view; empty: any
  const char* ones = "";       ///< labels of extent 1 in the second operand
};

constexpr EinsumCase kEinsums[] = {
    {"ab,bc->ac", "MatMul"},
    {"abc,cd->abd", "MatMul"},
    {"abc,abd->acd"},
    {"abcd,aecd->abe"},
    {"ab,cb->ca"},
    {"abc,bc->ac"},
    {"ab,ac->abc"},
    {"abc,ac->abc"},
    {"abc->ca"},
    {"ab,b->a"},
    {"a,a->"},
    {"bac,dae->bd"},
    {"abcd,acde->abce"},
    // An ellipsis, of the two dimensions Y and Z
    {"...a,ab->...b", "MatMul"},
    {"...ab,...bc->...ac", "MatMul"},
    {"a...,...->a..."},
    {"...a->a..."},
    {"ab,...bc"},
    {"...a,...a->...", "", "Z"},
    // More than two: those with the fewest labels first
    {"ab,bc,cd->ad", "MatMul MatMul"},
    {"ab,cd,bc->ad", "MatMul MatMul"},
    {"ab,ac,a->bc"},
    {"a,b,c->abc"},
    {"abc,abd,abe->cde"},
    {"ab,b,bc,c,cd->a"},
    {"...a,ab,bc->...c", "MatMul MatMul"},
    // A diagonal
    {"aa->a", "Layout Slice"},
    {"aa->"},
    {"aba->ba", "Transpose Layout Slice Transpose"},
    {"aab,bc->ac"},
    {"aaa->a"},
    {"ab,aa->b"},
    // An extent of 1 that stands for others
    {"ab,ab->a", "", "a"},
    {"ab,ab->a", "", "b"},
    {"ab,bc->ac", "", "b"},
    {"ab,abc->ac", "", "ab"},
};

TEST(ApplierEinsum, IsItsProducts) {
  const std::map<char, int64_t> extents{{'a', 2}, {'b', 3}, {'c', 4}, {'d', 5}, {'e', 2}, {'Y', 3}, {'Z', 2}};
  auto withDots = [](std::string labels) {
    const size_t dots = labels.find('.');
    return dots == std::string::npos ? labels : labels.replace(dots, 1, "YZ");
  };
  for (const auto& [equation, wanted, ones] : kEinsums) {
    const EinsumEquation e = readEinsum(equation);
    std::vector<std::string> labels;
    Graph graph;
    graph.opset = 13;
    GraphNode node;
    node.type = "Einsum";
    node.outputs = {"y"};
    node.attributes.emplace("equation", std::string(equation));
    std::vector<Tensor<float>> operands;
    for (size_t i = 0; i < e.operands.size(); ++i) {
      const std::string name(1, static_cast<char>('p' + i));
      ValueType type{ElementType::kFloat, std::vector<std::optional<int64_t>>()};
      Extents shape;
      labels.push_back(withDots(e.operands[i]));
      for (char c : labels.back()) {
        const bool isOne = i == 1 && std::string_view(ones).find(c) != std::string_view::npos;
        shape.push_back(isOne ? 1 : extents.at(c));
        type.dims->emplace_back(shape.back());
      }
      graph.types[name] = type;
      graph.inputs.push_back(name);
      node.inputs.push_back(name);
      operands.push_back(integers(shape, name.size() + 3));  // as results() draws them
    }
    graph.nodes.push_back(node);
    graph.outputs = {"y"};
    const auto got = results(graph);
    ASSERT_EQ(got.size(), 1U) << equation;
    const Tensor<float> should = einsum(labels, withDots(e.result), operands);
    EXPECT_EQ(got[0].extents, should.extents) << equation;
    EXPECT_EQ(got[0].data, should.data) << equation;
    if (*wanted) {
      EXPECT_EQ(operators(normalise(graph).view), wanted) << equation;
    }
  }
}

TEST(ApplierEinsum, OfOpenExtentsToo) {
  EXPECT_EQ(readAs("x:f[B,S,8] w:f[8,4] v:f[4,2] y=Einsum(x,w,v) equation=\"...d,de,ef->...f\"", 13), "MatMul MatMul");
}

TEST(ApplierEinsum, OtherEquationsPassThrough) {
  for (const char* text : {"x:f[N,N] y=Einsum(x) equation=\"aa->a\"", "x:f[2,3] y=Einsum(x) equation=\"...a->a\"",
                           "x:f[N,3] z:f[M,3] y=Einsum(x,z) equation=\"ab,ab->a\"",
                           "x:f[N,3] z:f[4,3] y=Einsum(x,z) equation=\"ab,ab->a\"",
                           "x:f[2] y=Einsum(x,x,x,x,x,x,x,x,x) equation=\"a,a,a,a,a,a,a,a,a->a\""})
    EXPECT_EQ(readAs(text, 13), "") << text;
}

}  // namespace
}  // namespace pet::applier_normal_test
