// Types and extents: a table by operator, exporters' arithmetic of sizes, nodes that nobody can run, declarations.

#include <algorithm>
#include <set>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "applier/infer/infer.h"
#include "applier/infer/rules.h"
#include "applier/infer/signatures.h"
#include "applier/infer/sizes.h"
#include "ir/text.h"
#include "tests/unit/graph_text.h"

namespace pet::applier_infer_test {

using ::testing::HasSubstr;
using namespace testing_support;

/// "float[N, 3]", with entries if some are known: "int64[2] {N, ?}".
std::string shown(const InferredType& type) {
  std::string text = type.kind == InferredType::Kind::kSequence ? "sequence of " : "";
  text += std::string(str(type.element)) + (type.dims ? str(*type.dims) : " ?");
  if (!type.data) return text;
  std::vector<std::string> entries;
  for (const SizeEntry& e : *type.data) {
    const auto* d = std::get_if<Dim>(&e);
    const auto* x = std::get_if<double>(&e);
    entries.push_back(d ? d->str() : x ? fmt::format("{}", *x) : "?");
  }
  return text + fmt::format(" {{{}}}", fmt::join(entries, ", "));
}

std::vector<std::string> problemsOf(const Inference& inference) {
  std::vector<std::string> texts;
  for (const InferenceProblem& p : inference.problems)
    texts.push_back(p.text);
  return texts;
}

struct InferCase {
  int64_t opset;
  const char* graph;
  const char* result;  ///< of the last node's results, joined by "; "
};

std::string resultOf(const InferCase& c) {
  Graph graph = graphOf(c.graph, c.opset);
  Inference inference = infer(graph);
  EXPECT_THAT(problemsOf(inference), ::testing::IsEmpty()) << c.graph;
  std::vector<std::string> results;
  for (const std::string& name : graph.nodes.back().outputs) {
    auto it = inference.types.find(name);
    results.push_back(it == inference.types.end() ? "" : shown(it->second));
  }
  return fmt::format("{}", fmt::join(results, "; "));
}

// --- The table ---

constexpr InferCase kCases[] = {
    // Elementwise
    {17, "x:f[N,3] y=Relu(x)", "float[N, 3]"},
    {17, "x:f y=Relu(x)", "float ?"},
    {17, "x:f[N,1,4] z:f[3,1] y=Add(x,z)", "float[N, 3, 4]"},
    {17, "x:f[N] z:f[1] y=Add(x,z)", "float[N]"},
    {17, "x:f[N] z:f[5] y=Pow(x,z)", "float[5]"},
    {17, "x:f[N] z:f[M] y=Add(x,z)", "float[d1]"},
    {17, "x:f[N] z:f[M] a=Add(x,z) b=Mul(z,x) y=Sub(a,b)", "float[d1]"},
    {17, "x:f[?] y=Neg(x)", "float[d1]"},
    {17, "x:f[a.b] z:f[a_b] y=Add(x,z)", "float[d1]"},
    {17, "x:f[2N] y=Neg(x)", "float[_2N]"},
    {17, "x:f[N,3] z:f[3] y=Equal(x,z)", "bool[N, 3]"},
    {17, "c:b[N,1] x:f[3] z:f[N,3] y=Where(c,x,z)", "float[N, 3]"},
    {13, "x:f[N] y=Cast(x) to=7", "int64[N]"},
    {17, "x:f[2] l:i[3] y=CastLike(x,l)", "int64[2]"},
    {13, "x:f[N] y,m=Dropout(x)", "float[N]; bool[N]"},
    {7, "x:f[N] y,m=Dropout(x)", "float[N]; float[N]"},
    {13, "x:f[N] s:f[] y=QuantizeLinear(x,s)", "uint8[N]"},
    {13, "x:u[N] s:f[] y=DequantizeLinear(x,s)", "float[N]"},
    {11, "x:f[N] y,s,z=DynamicQuantizeLinear(x)", "uint8[N]; float[]; uint8[]"},
    // Normalisations
    {17, "x:f[N,S,8] s:f[8] y,m=LayerNormalization(x,s)", "float[N, S, 8]; float[N, S, 1]"},
    {17, "x:f[N,4,H] s:f[4] y=BatchNormalization(x,s,s,s,s)", "float[N, 4, H]"},
    {9, "x:f[N,4] y=Softmax(x) axis=2", "float[N, 4]"},
    // Reductions
    {17, "x:f[N,3,H] y=ReduceMean(x) axes=[1,-1]", "float[N, 1, 1]"},
    {17, "x:f[N,3,H] y=ReduceMean(x) axes=[1] keepdims=0", "float[N, H]"},
    {18, "x:f[N,3,H] a=i{1} y=ReduceMean(x,a) keepdims=0", "float[N, H]"},
    {18, "x:f[N,3] a:i[?] y=ReduceMax(x,a)", "float[d2, d3]"},
    {18, "x:f[N,3] y=ReduceMax(x) noop_with_empty_axes=1", "float[N, 3]"},
    {13, "x:f[N,3] y=ReduceSum(x) keepdims=0", "float[]"},
    {13, "x:f[N,3] y=ArgMax(x) axis=-1 keepdims=0", "int64[N]"},
    {13, "x:f[N,3,H,W] y=GlobalAveragePool(x)", "float[N, 3, 1, 1]"},
    // Windows
    {17, "x:f[N,3,H,W] w:f[8,3,3,3] y=Conv(x,w) pads=[1,1,1,1]", "float[N, 8, H, W]"},
    {17, "x:f[N,3,H,9] w:f[8,3,3,3] y=Conv(x,w) strides=[2,2] dilations=[2,1]", "float[N, 8, H - floor((H)/2) - 2, 4]"},
    {17, "x:f[N,3,H,9] w:f[8,3,3,3] y=Conv(x,w) strides=[2,2] auto_pad=\"SAME_UPPER\"",
     "float[N, 8, H - floor((H)/2), 5]"},
    {17, "x:f[N,C,8,8] w:f[8,1,3,3] y=Conv(x,w) group=8", "float[N, 8, 6, 6]"},
    {17, "x:f[N,3,8] w:f[F,3,K] y=Conv(x,w)", "float[N, F, -K + 9]"},
    {17, "x:f[N,S,3] w:f[8,3,1,1] k=i{1,3,-1,1} t=Transpose(x) perm=[2,0,1] r=Reshape(t,k) y=Conv(r,w)",
     "float[1, 8, (N S), 1]"},
    {17, "x:f[N,4,H,5] w:f[4,6,3,2] y=ConvTranspose(x,w) strides=[2,2] output_padding=[1,0]",
     "float[N, 6, 2H + 2, 10]"},
    {17, "x:f[N,4,H,5] w:f[4,6,3,2] y=ConvTranspose(x,w) output_shape=[9,9]", "float[N, 6, 9, 9]"},
    {17, "x:f[N,4,H,W] y,i=MaxPool(x) kernel_shape=[2,2] strides=[2,2]",
     "float[N, 4, floor((H)/2), floor((W)/2)]; int64[N, 4, floor((H)/2), floor((W)/2)]"},
    {17, "x:f[1,4,7,8] y=MaxPool(x) kernel_shape=[2,2] strides=[2,2] ceil_mode=1", "float[1, 4, 4, 4]"},
    {17, "x:f[1,4,H,2] y=MaxPool(x) kernel_shape=[3,1] strides=[2,2] ceil_mode=1", "float[1, 4, floor((H)/2), 1]"},
    {17, "x:f[1,4,H] y=MaxPool(x) kernel_shape=[1] strides=[2] ceil_mode=1 pads=[0,1]", "float[1, 4, d1]"},
    {17, "x:f[1,4,2] y=AveragePool(x) kernel_shape=[3]", "float[1, 4, d1]"},
    {18, "x:f[N,12,16] i=i{5,6} b=i{2,3} y=Col2Im(x,i,b)", "float[N, 2, 5, 6]"},
    // Regrouping
    {17, "x:f[N,3,H,W] s=i{0,-1} y=Reshape(x,s)", "float[N, (3H W)]"},
    {17, "x:f[N,S,768] s=i{0,0,12,64} y=Reshape(x,s)", "float[N, S, 12, 64]"},
    {17, "x:f[N,S,12,64] s=i{0,0,-1} y=Reshape(x,s)", "float[N, S, 768]"},
    {17, "x:f[N,S,768] s=i{-1,12,64} y=Reshape(x,s)", "float[(N S), 12, 64]"},
    {17, "x:f[4,6] s:i[3] y=Reshape(x,s)", "float[d1, d2, d3]"},
    {17, "x:f[4,6] s:i[1] y=Reshape(x,s)", "float[24]"},
    {17, "x:f[4,6] s:i[?] y=Reshape(x,s)", "float ?"},
    {17, "x:f[0,6] s=i{0,3} y=Reshape(x,s) allowzero=1", "float[0, 3]"},
    {17, "x:f[N,3,H,W] y=Flatten(x)", "float[N, (3H W)]"},
    {17, "x:f[N,3,H,W] y=Flatten(x) axis=0", "float[1, (3H N W)]"},
    {13, "x:f[N,1,H] a=i{1} y=Squeeze(x,a)", "float[N, H]"},
    {11, "x:f[N,1,H] y=Squeeze(x) axes=[-2]", "float[N, H]"},
    {11, "x:f[N,1,H] y=Squeeze(x)", "float ?"},
    {11, "x:f[2,1,3] y=Squeeze(x)", "float[2, 3]"},
    {13, "x:f[N,H] a=i{0,-1} y=Unsqueeze(x,a)", "float[1, N, H, 1]"},
    {11, "x:f[N,H] y=Unsqueeze(x) axes=[1]", "float[N, 1, H]"},
    {17, "x:f[N,3,H] y=Transpose(x) perm=[2,0,1]", "float[H, N, 3]"},
    {17, "x:f[N,3,H] y=Transpose(x)", "float[H, 3, N]"},
    {17, "x:f[N,1] s=i{2,1,5} y=Expand(x,s)", "float[2, N, 5]"},
    {17, "x:f[N,3] r=i{2,2} y=Tile(x,r)", "float[2N, 6]"},
    // Joining and cutting
    {17, "x:f[N,3] z:f[N,H] y=Concat(x,z) axis=1", "float[N, H + 3]"},
    {17, "x:f[N,3] z:f[4,5] y=Concat(x,z) axis=1", "float[4, 8]"},
    {17, "x:f[N,8] y,z=Split(x) axis=1", "float[N, 4]; float[N, 4]"},
    {11, "x:f[N,8] y,z=Split(x) axis=1 split=[3,5]", "float[N, 3]; float[N, 5]"},
    {13, "x:f[N,8] s=i{3,5} y,z=Split(x,s) axis=1", "float[N, 3]; float[N, 5]"},
    {18, "x:f[7] a,b,c,d=Split(x) num_outputs=4", "float[2]; float[2]; float[2]; float[1]"},
    {18, "x:f[N] a,b=Split(x) num_outputs=2", "float[N - floor((N)/2)]; float[floor((N)/2)]"},
    {17, "x:f[N,8] s=i{1} e=i{9223372036854775807} a=i{1} y=Slice(x,s,e,a)", "float[N, 7]"},
    {17, "x:f[N,8] s=i{1} e=i{2147483647} a=i{0} y=Slice(x,s,e,a)", "float[N - 1, 8]"},
    {17, "x:f[N,8] s=i{1} e=i{1000000000} a=i{0} y=Slice(x,s,e,a)", "float[N - 1, 8]"},
    {17, "x:f[N,8] s=i{1} e=i{999999999} a=i{0} y=Slice(x,s,e,a)", "float[d1 - 1, 8]"},
    {17, "x:f[N,8] s=i{-1} e=i{9223372036854775807} a=i{0} y=Slice(x,s,e,a)", "float[1, 8]"},
    {17, "x:f[N,8] s=i{0} e=i{-1} a=i{0} y=Slice(x,s,e,a)", "float[N - 1, 8]"},
    {17, "x:f[N,8] s=i{0} e=i{5} a=i{0} y=Slice(x,s,e,a)", "float[d1, 8]"},
    {17, "x:f[N,8] s=i{7} e=i{-9} a=i{1} p=i{-2} y=Slice(x,s,e,a,p)", "float[N, 4]"},
    {17, "x:f[N,8] s=i{-1} e=i{-9223372036854775807} a=i{0} p=i{-1} y=Slice(x,s,e,a,p)", "float[N, 8]"},
    {9, "x:f[N,8] y=Slice(x) starts=[0,2] ends=[9223372036854775807,5]", "float[N, 3]"},
    {17, "x:f[N,8] s:i[1] e:i[1] a=i{1} y=Slice(x,s,e,a)", "float[N, d1]"},
    {17, "x:f[N,8] p=i{0,1,2,3} y=Pad(x,p)", "float[N + 2, 12]"},
    {9, "x:f[N,8] y=Pad(x) pads=[0,1,2,3]", "float[N + 2, 12]"},
    {18, "x:f[N,8] p=i{1,2} a=i{-1} y=Pad(x,p,,a)", "float[N, 11]"},
    {17, "x:f[N,12,H,W] y=DepthToSpace(x) blocksize=2", "float[N, 3, 2H, 2W]"},
    {17, "x:f[N,3,H,W] y=SpaceToDepth(x) blocksize=2", "float[N, 12, floor((H)/2), floor((W)/2)]"},
    // By index
    {17, "x:f[V,8] i:i[B,S] y=Gather(x,i)", "float[B, S, 8]"},
    {17, "x:f[N,8] i:i[] y=Gather(x,i) axis=1", "float[N]"},
    {17, "x:f[N,8] i:i[N,3] y=GatherElements(x,i) axis=1", "float[N, 3]"},
    {17, "x:f[N,8,4] i:i[B,2] y=GatherND(x,i)", "float[B, 4]"},
    {17, "x:f[N,8,4] i:i[N,1] y=GatherND(x,i) batch_dims=1", "float[N, 4]"},
    {17, "x:f[N,8] y=NonZero(x)", "int64[2, d1]"},
    {17, "x:f[3,8] s=Shape(x) z=ConstantOfShape(s) y=NonZero(z)", "int64[2, 0]"},
    {17, "x=i{0,4,0,5} s=i{2,2} z=Reshape(x,s) y=NonZero(z)", "int64[2, 2] {0, 1, 1, 1}"},
    {17, "i:i[B] d=i(5) v:f[2] y=OneHot(i,d,v)", "float[B, 5]"},
    {17, "x:f[N,8] k=i{3} y,i=TopK(x,k)", "float[N, 3]; int64[N, 3]"},
    {9, "x:f[N,8] y,i=TopK(x) k=3", "float[N, 3]; int64[N, 3]"},
    {17, "x:f[N,8] y,i,v,c=Unique(x)", "float[d1]; int64[d1]; int64[8N]; int64[d1]"},
    {17, "x:f[N,8] c:b[8] y=Compress(x,c) axis=1", "float[N, d1]"},
    // Resizing
    {17, "x:f[N,3,H,W] s=f{1,1,2,2} y=Resize(x,,s)", "float[N, 3, 2H, 2W]"},
    {17, "x:f[N,3,H,W] s=f{1,1,0.5,3} y=Resize(x,,s)", "float[N, 3, floor((H)/2), 3W]"},
    {17, "x:f[N,3,H,W] s=f{1,1,0.7,1} y=Resize(x,,s)", "float[N, 3, d1, W]"},
    {17, "x:f[N,3,9,W] s=i{1,3,4,5} y=Resize(x,,,s)", "float[1, 3, 4, 5]"},
    {10, "x:f[N,3,9,W] s=f{1,1,0.5,2} y=Resize(x,s)", "float[N, 3, 4, 2W]"},
    {9, "x:f[N,3,9,W] s=f{1,1,2,2} y=Upsample(x,s)", "float[N, 3, 18, 2W]"},
    {18, "x:f[N,3,9,W] s=i{4,5} y=Resize(x,,,s) axes=[2,3]", "float[N, 3, 4, 5]"},
    {18, "x:f[1,3,10,20] s=i{5,5} y=Resize(x,,,s) axes=[2,3] keep_aspect_ratio_policy=\"not_larger\"",
     "float[1, 3, d1, 5]"},
    {20, "x:f[N,3,H,W] g:f[N,5,6,2] y=GridSample(x,g)", "float[N, 3, 5, 6]"},
    // Products
    {17, "x:f[B,S,8] w:f[8,4] y=MatMul(x,w)", "float[B, S, 4]"},
    {17, "x:f[8] w:f[B,8,4] y=MatMul(x,w)", "float[B, 4]"},
    {17, "x:f[B,8] w:f[8] y=MatMul(x,w)", "float[B]"},
    {17, "x:f[8,N] w:f[4,8] y=Gemm(x,w) transA=1 transB=1", "float[N, 4]"},
    {17, "x:f[B,S,8] w:f[B,T,8] y=Einsum(x,w) equation=\"bsd,btd->bst\"", "float[B, S, T]"},
    {17, "x:f[B,S,8] w:f[8,4] y=Einsum(x,w) equation=\"...d,de->...e\"", "float[B, S, 4]"},
    {17, "x:f[3,4] y=Einsum(x) equation=\"ba\"", "float[4, 3]"},
    {17, "x:f[B,4,4] y=Det(x)", "float[B]"},
    {23, "q:f[B,12,S,64] k:f[B,12,T,64] v:f[B,12,T,32] p:f[B,12,P,64] r:f[B,12,P,32] y,a,b=Attention(q,k,v,,p,r)",
     "float[B, 12, S, 32]; float[B, 12, P + T, 64]; float[B, 12, P + T, 32]"},
    {23, "q:f[B,S,768] y=Attention(q,q,q) q_num_heads=12 kv_num_heads=12", "float[B, S, 768]"},
    // Recurrences
    {17, "x:f[S,B,8] w:f[2,64,8] r:f[2,64,16] y,h,c=LSTM(x,w,r) hidden_size=16 direction=\"bidirectional\"",
     "float[S, 2, B, 16]; float[2, B, 16]; float[2, B, 16]"},
    {17, "x:f[B,S,8] w:f[1,48,8] r:f[1,48,16] y,h=GRU(x,w,r) hidden_size=16 layout=1",
     "float[B, S, 1, 16]; float[B, 1, 16]"},
    // Made from sizes
    {17, "s=i{2,3} y=ConstantOfShape(s)", "float[2, 3] {0, 0, 0, 0, 0, 0}"},
    {17, "x:f[N,3] s=Shape(x) y=ConstantOfShape(s) value=i{7}", "int64[N, 3]"},
    {17, "y=Constant() value_ints=[4,5]", "int64[2] {4, 5}"},
    {17, "y=Constant() value_float=1.5", "float[] {1.5}"},
    {17, "x:f[4,5] y=EyeLike(x) dtype=7", "int64[4, 5]"},
    {17, "y=RandomNormal() shape=[2,3]", "float[2, 3]"},
    {17, "a=i(1) b=i(10) c=i(4) y=Range(a,b,c)", "int64[3] {1, 5, 9}"},
    {17, "a=f(1) b=f(10) c=f(4) y=Range(a,b,c)", "float[3]"},
    {17, "x:f[N,S,8] y=Shape(x) start=1", "int64[2] {S, 8}"},
    {17, "x:f[N,S,8] y=Size(x)", "int64[] {(8N S)}"},
    // Detection, sequences
    {17, "b:f[N,M,4] s:f[N,C,M] y=NonMaxSuppression(b,s)", "int64[d1, 3]"},
    {17, "x:f[N,3,H,W] r:f[R,4] b:i[R] y=RoiAlign(x,r,b) output_height=7 output_width=7", "float[R, 3, 7, 7]"},
    {17, "x:f[N,C] t:i[N] y=NegativeLogLikelihoodLoss(x,t)", "float[]"},
    {17, "x:f[N,3] s=SequenceConstruct(x,x) i=Constant() value_int=0 y=SequenceAt(s,i)", "float[N, 3]"},
    {17, "x:f[N,3] z:f[N,4] y=SequenceConstruct(x,z)", "sequence of float ?"},
    {17, "x:f[N,3] s=SequenceConstruct(x,x) y=ConcatFromSequence(s) axis=0", "float[d1, 3]"},
    // Opsets that the table does not know: the newest rules; before opset 7 nothing but what holds there
    {99, "x:f[N,3] y=Relu(x)", "float[N, 3]"},
    {1, "x:f[N,3] y=Transpose(x)", "float[3, N]"},
    {1, "x:f[N,3] y=Add(x,x)", "unknown ?"},
};

TEST(ApplierInfer, Operators) {
  for (const InferCase& c : kCases)
    EXPECT_EQ(resultOf(c), c.result) << "opset " << c.opset << ": " << c.graph;
}

// --- Arithmetic of sizes, as exporters write it ---

constexpr InferCase kChains[] = {
    // TorchScript: x.view(x.size(0), -1)
    {13,
     "x:f[N,3,H,W] i=i(0) a=i{0} m=i{-1} s=Shape(x) g=Gather(s,i) u=Unsqueeze(g,a) c=Concat(u,m) axis=0 y=Reshape(x,c)",
     "float[N, (3H W)]"},
    // x.view(B, S, 12, D // 12).transpose(1, 2)
    {13,
     "x:f[B,S,768] i=i(2) a=i{0} k=i(12) b=i{12} z=i{0,0} s=Shape(x) g=Gather(s,i) d=Div(g,k) u=Unsqueeze(d,a) "
     "c=Concat(z,b,u) axis=0 r=Reshape(x,c) y=Transpose(r) perm=[0,2,1,3]",
     "float[B, 12, S, 64]"},
    // and back: view(B, S, 12 * 64) with sizes out of the transposed value
    {13,
     "x:f[B,12,S,64] i=i(0) j=i(1) a=i{0} e=i{768} t=Transpose(x) perm=[0,2,1,3] s=Shape(t) b=Gather(s,i) "
     "c=Gather(s,j) "
     "u=Unsqueeze(b,a) v=Unsqueeze(c,a) k=Concat(u,v,e) axis=0 y=Reshape(t,k)",
     "float[B, S, 768]"},
    // [B·S, 768] and back with an unknown extent
    {17,
     "x:f[B,S,768] z:f[B,S] e=i{768} m=i{-1} a=Concat(m,e) axis=0 r=Reshape(x,a) s=Shape(z) b=Concat(s,m) axis=0 "
     "y=Reshape(r,b)",
     "float[B, S, 768]"},
    // tf2onnx: Shape, Cast to int32, Slice, arithmetic, Cast back
    {13,
     "x:f[N,H,W,4] b=i{1} e=i{3} k=i{2} s=Shape(x) t=Slice(s,b,e) u=Mul(t,k) v=Cast(u) to=6 w=Cast(v) to=7 "
     "y=ConstantOfShape(w)",
     "float[2H, 2W]"},
    // expand with Where: -1 keeps an extent
    {17, "x:f[N,1] s:f[M,7] m=i{-1,7} n=i{-1} z=Shape(x) o=Equal(m,n) w=Where(o,z,m) y=Expand(x,w)", "float[N, 7]"},
    // arange(S), as positions
    {17, "x:f[B,S] i=i(1) a=i(0) d=i(1) s=Shape(x) l=Gather(s,i) y=Range(a,l,d)", "int64[S]"},
    // arange(past, past + S)
    {17, "x:f[B,S] p:f[B,P] i=i(1) d=i(1) s=Shape(x) l=Gather(s,i) t=Shape(p) k=Gather(t,i) e=Add(l,k) y=Range(k,e,d)",
     "int64[S]"},
    // positions[:, :S] of a table of 512, added to a value of S
    {17, "x:f[B,S,8] p:f[1,512,8] z=i{0} a=i{1} b=i{2} s=Shape(x) e=Slice(s,a,b) q=Slice(p,z,e,a) y=Add(x,q)",
     "float[B, S, 8]"},
    // halves by Split of sizes
    {17, "x:f[N,C,H] s=Shape(x) a,b,c=Split(s) y=Concat(c,a) axis=0", "int64[2] {H, N}"},
    {17, "x:f[N,C,8] s=Shape(x) y=ReduceProd(s) keepdims=0", "int64[] {(8C N)}"},
    {17, "x:f[N,8] s=Shape(x) k=Constant() value_ints=[1,2] y=Max(s,k)", "int64[2] {N, 8}"},
    {17, "x:f[N,8] s=Shape(x) k=Constant() value_ints=[2,2] y=Less(s,k)", "bool[2] {?, 0}"},
    {17, "x:f[N,8] s=Shape(x) k=Constant() value_ints=[2,3] y=Mod(s,k)", "int64[2] {N - 2floor((N)/2), 2}"},
    {17, "x:f[N,8] s=Shape(x) k=Constant() value_ints=[-2,-3] y=Div(s,k)", "int64[2] {d1, -2}"},
    {17, "x:f[7] s=Shape(x) f=Cast(s) to=1 h=Constant() value_float=0.5 y=Neg(f)", "float[1] {-7}"},
    {17, "x:f[N] i:i[] s=Shape(x) y=Gather(s,i)", "int64[]"},
    {13, "x:f[1,3,9,7] s=Shape(x) f=Cast(s) to=1 m=ReduceMax(f) keepdims=0 y=Cast(m) to=7", "int64[] {9}"},
    {17, "i:i[] x:f[N] a=i{0} s=Shape(x) u=Unsqueeze(i,a) c=Concat(s,u) axis=0 y=Squeeze(c)", "int64[2] {N, ?}"},
};

TEST(ApplierInfer, ChainsOfSizes) {
  for (const InferCase& c : kChains)
    EXPECT_EQ(resultOf(c), c.result) << c.graph;
}

TEST(ApplierInfer, ResizeByAHalfInFloat) {
  // int(h * 0.5): Cast, Mul, Floor, Cast
  EXPECT_EQ(resultOf({13,
                      "x:f[1,3,9,9] h=f(0.5) b=i{2} e=i{4} s=Shape(x) t=Slice(s,b,e) f=Cast(t) to=1 m=Mul(f,h) "
                      "o=Floor(m) y=Cast(o) to=7",
                      ""}),
            "int64[2] {4, 4}");
}

TEST(ApplierInfer, RootsAndPowersOfWholeNumbers) {
  // The side of a square grid: int(n ** 0.5).
  EXPECT_EQ(resultOf({15, "a=f(1369) b=f(0.5) p=Pow(a,b) y=Cast(p) to=7", ""}), "int64[] {37}");
  EXPECT_EQ(resultOf({15, "a=i{1369,16} b=f(0.5) y=Pow(a,b)", ""}), "int64[2] {37, 4}");
  EXPECT_EQ(resultOf({15, "a=i{3,-1,300} b=i(2) y=Pow(a,b)", ""}), "int64[3] {9, ?, 90000}");
  // What is rounded differs from one engine to the next.
  EXPECT_EQ(resultOf({15, "a=f(1370) b=f(0.5) p=Pow(a,b) y=Cast(p) to=7", ""}), "int64[]");
  EXPECT_EQ(resultOf({15, "a=f(8) b=f(0.3333333) p=Pow(a,b) y=Cast(p) to=7", ""}), "int64[]");
  EXPECT_EQ(resultOf({15, "a=f(3) b=f(20) p=Pow(a,b) y=Cast(p) to=7", ""}), "int64[]");
  EXPECT_EQ(resultOf({15, "a=f(-4) b=f(2) p=Pow(a,b) y=Cast(p) to=7", ""}), "int64[]");
}

// --- Bad nodes ---

struct BadCase {
  int64_t opset;
  const char* graph;
  const char* problem;
};

constexpr BadCase kBad[] = {
    {17, "x:f[2] y=Add(x)", "node 'y' (Add): has 1 operands, not 2"},
    {17, "x:f[2] y=Relu(x,x)", "has 2 operands, not 1"},
    {17, "x:f[2] y=Clip(x,x,x,x)", "has 4 operands, not 1 to 3"},
    {17, "x:f[2] y=Concat() axis=0", "has 0 operands, not at least 1"},
    {17, "x:f[2] y,z=Relu(x)", "has 2 results, not 1"},
    {17, "x:f[2] y=Add(,x)", "has no operand 1"},
    {17, "x:f[2] i:i[2] y=Add(x,i)", "operand 2 is of int64, not of float"},
    {17, "x:f[2] s:f[1] y=Reshape(x,s)", "operand 2 is of float, not of int64"},
    {17, "x:f[2] y=Concat(x) axis=\"a\"", "attribute 'axis' is of another type"},
    {17, "x:f[2] y=Concat(x)", "has no attribute 'axis'"},
    {17, "x:f[2] y=Softmax(x) axis=1", "axis 1 of a tensor of 1 dimensions"},
    {17, "x:f[2] z:f[3] y=Add(x,z)", "extents 2 and 3 cannot be broadcast"},
    {17, "x:f[N,4,8,8] w:f[4,2,3,3] y=Conv(x,w)", "the channels of images and weights times groups differ: 4 and 2"},
    {17, "x:f[N,4,8,8] w:f[3,2,3,3] y=Conv(x,w) group=2", "2 groups do not divide 3 feature maps"},
    {17, "x:f[N,4,8,8] w:f[4,4,3,3] y=Conv(x,w) strides=[0,1]", "strides below 1"},
    {17, "x:f[N,4,8,8] w:f[4,4,3,3] y=Conv(x,w) strides=[1]", "strides has 1 entries for 2 spatial dimensions"},
    {17, "x:f[N,4,8,8] w:f[4,4,3,3] y=Conv(x,w) pads=[1]", "pads has 1 entries for 2 spatial dimensions"},
    {17, "x:f[N,4,8,8] w:f[4,4,3,3] y=Conv(x,w) group=0", "group is 0"},
    {17, "x:f[N,4,8,8] w:f[4,4,3,3] y=Conv(x,w) kernel_shape=[2,3]", "kernel_shape and the weights differ: 2 and 3"},
    {17, "x:f[N,4,8,8] w:f[4,4,3] y=Conv(x,w)", "operand 2 has 3 dimensions, not 4"},
    {17, "x:f[N,4,8,8] w:f[4,4,3,3] b:f[5] y=Conv(x,w,b)",
     "the bias is not as long as there are feature maps: 5 and 4"},
    {17, "x:f[N,4,8,8] y=MaxPool(x)", "has no attribute 'kernel_shape'"},
    {17, "x:f[2,3] w:f[4,5] y=MatMul(x,w)", "the inner extents differ: 3 and 4"},
    {17, "x:f[2,3] w:f[4,5] y=Gemm(x,w)", "the inner extents differ: 3 and 4"},
    {17, "x:f[2,3,4] w:f[4,5] y=Gemm(x,w)", "operand 1 has 3 dimensions, not 2"},
    {17, "x:f[2,3] s=i{4,-1} y=Reshape(x,s)", "6 elements do not fit into 4 times an integer"},
    {17, "x:f[2,3] s=i{7} y=Reshape(x,s)", "6 elements do not fit into 7"},
    {17, "x:f[2,3] s=i{-1,-1} y=Reshape(x,s)", "several -1"},
    {17, "x:f[2,3] y=Transpose(x) perm=[0,0]", "perm is no permutation of 2 dimensions"},
    {17, "x:f[2,3] a=i{0} y=Squeeze(x,a)", "dimension 0 has extent 2, not 1"},
    {17, "x:f[2,3] z:f[2,3,4] y=Concat(x,z) axis=0", "operand 2 has 3 dimensions, not 2"},
    {17, "x:f[2,3] z:f[2,4] y=Concat(x,z) axis=0", "extents of dimension 1 differ: 3 and 4"},
    {13, "x:f[7] a,b=Split(x)", "an extent of 7 has no 2 equal parts"},
    {13, "x:f[7] s=i{3,3} a,b=Split(x,s)", "the parts do not add up to the extent: 6 and 7"},
    {17, "x:f[7] s=i{0} e=i{5} a=i{0} p=i{0} y=Slice(x,s,e,a,p)", "a step of 0"},
    {17, "x:f[7] p=i{1} y=Pad(x,p)", "1 pads for 1 dimensions"},
    {17, "x:f[1,5,4,4] y=DepthToSpace(x) blocksize=2", "5 channels are no multiple of 4"},
    {17, "x:f[2,3] y=Einsum(x) equation=\"abc\"", "'abc' stands for a tensor of 2 dimensions"},
    {17, "x:f[2,3] y=Einsum(x) equation=\"ab->c\"", "no operand has the label 'c'"},
    {17, "x:f[2,3] k=i{4} y,i=TopK(x,k)", "k is 4, the extent 3"},
    {17, "x:f[2,3] s=Shape(x) i=Constant() value_int=2 y=Gather(s,i)", "an index beyond the axis"},
};

TEST(ApplierInfer, NodesThatNobodyCanRun) {
  for (const BadCase& c : kBad) {
    auto problems = problemsOf(infer(graphOf(c.graph, c.opset)));
    ASSERT_EQ(problems.size(), 1U) << c.graph << fmt::format("{}", fmt::join(problems, " | "));
    EXPECT_THAT(problems[0], HasSubstr(c.problem)) << c.graph;
  }
}

/// Every operator of ONNX's own domain has a rule, and every rule is of one.
TEST(ApplierInfer, EveryOperatorHasARule) {
  std::set<std::string_view> operators, ruled;
  for (const Signature& s : signatures())
    operators.insert(s.type);
  for (const InferRule* rule : inferRules())
    EXPECT_TRUE(ruled.insert(rule->type).second) << rule->type << " has two";
  EXPECT_EQ(operators, ruled);
  EXPECT_GE(operators.size(), 200U);
}

/// Nobody knows what an operator is of which the model does not say the opset; those of other domains are no concern.
TEST(ApplierInfer, OperatorsOfNoOpset) {
  Graph graph = graphOf("x:f[4] y=Relu(x)", 0);
  EXPECT_THAT(problemsOf(infer(graph)),
              ::testing::ElementsAre("node 'y' (Relu): is an operator of ONNX's own, and the model has no opset"));
  graph.nodes[0].standard = false;
  EXPECT_THAT(problemsOf(infer(graph)), ::testing::IsEmpty());
}

TEST(ApplierInfer, SparseConstants) {
  Graph graph = graphOf("y=Constant() value_int=2", 17);
  graph.nodes[0].attributes = {{"sparse_value", SparseConstant{ElementType::kFloat, {3, 4}}}};
  Inference inference = infer(graph);
  EXPECT_EQ(shown(inference.types["y"]), "float[3, 4]");
  EXPECT_TRUE(inference.problems.empty());
}

// --- Declarations ---

TEST(ApplierInfer, DeclarationsFillInWhatIsNotKnown) {
  Graph graph = graphOf("x:f[N,3] y=NonZero(x) z=Mystery(x) v=Relu(x) u=Relu(z)", 17);
  graph.types["y"] = valueTypeOf("i[2,K]");
  graph.types["z"] = valueTypeOf("f[N,M,?]");
  graph.types["v"] = valueTypeOf("f[batch,3]");
  Inference inference = infer(graph);
  EXPECT_EQ(shown(inference.types["y"]), "int64[2, K]");
  EXPECT_EQ(shown(inference.types["u"]), "float[N, M, d2]");
  EXPECT_EQ(shown(inference.types["v"]), "float[N, 3]");  // the inferred symbol
  EXPECT_TRUE(inference.problems.empty());
}

/// A name that no input has is that of the extent at which it is declared first.
TEST(ApplierInfer, NamesOfResultsStandForTheirExtents) {
  Graph graph = graphOf("x:f[N,?,2] y=Relu(x) z=Mystery(x) u=Relu(z)", 17);
  graph.types["y"] = valueTypeOf("f[batch,length,2]");
  graph.types["z"] = valueTypeOf("f[batch,length,K]");
  Inference inference = infer(graph);
  EXPECT_EQ(shown(inference.types["y"]), "float[N, length, 2]");
  EXPECT_EQ(shown(inference.types["u"]), "float[N, length, K]");
  EXPECT_EQ(inference.equal.at("batch"), Expr::variable("N"));
  EXPECT_EQ(inference.symbols,
            (std::map<std::string, std::string, std::less<>>{{"N", "N"}, {"length", "length"}, {"K", "K"}}));
  EXPECT_TRUE(inference.problems.empty());
}

/// What callers choose is what they choose: such declarations are left behind where inputs are made open later on.
TEST(ApplierInfer, DeclarationsOfWhatCallersChooseAreSaidOnce) {
  for (auto [declared, extent] : {std::pair("f[5,3]", "5"), {"f[M,3]", "M"}}) {
    Graph graph = graphOf("x:f[N,3] z:f[M,3] y=Relu(x) v=Neg(y) w=Mul(v,z)", 17);
    graph.types["y"] = graph.types["v"] = valueTypeOf(declared);
    Inference inference = infer(graph);
    EXPECT_THAT(problemsOf(inference), ::testing::ElementsAre(fmt::format(
                                           "node 'y' (Relu): its result 'y' is declared with extent {} in dimension "
                                           "0, but has N, which callers choose: nothing relies on it",
                                           extent)));
    EXPECT_EQ(shown(inference.types["v"]), "float[N, 3]");
  }
}

TEST(ApplierInfer, DeclarationsThatCannotBe) {
  for (auto [declared, problem] : {std::pair("f[N,4]", "is declared with extent 4 in dimension 1, but has 3"),
                                   {"f[3]", "is declared with 1 dimensions, but has 2: [N, 3]"},
                                   {"i[N,3]", "is declared as int64, but is of float"}}) {
    Graph graph = graphOf("x:f[N,3] y=Relu(x)", 17);
    graph.types["y"] = valueTypeOf(declared);
    Inference inference = infer(graph);
    ASSERT_EQ(inference.problems.size(), 1U);
    EXPECT_EQ(inference.problems[0].kind, InferenceProblem::Kind::kDeclaration);
    EXPECT_EQ(inference.problems[0].text, std::string("node 'y' (Relu): its result 'y' ") + problem);
    EXPECT_EQ(shown(inference.types["y"]), "float[N, 3]");
  }
}

TEST(ApplierInfer, WhatACallerMayReplaceHasNoEntries) {
  Graph graph = graphOf("x:f[4,6] s=i{3,8} y=Reshape(x,s)", 17);
  graph.initializers[0].overridable = true;
  EXPECT_EQ(shown(infer(graph).types["y"]), "float[d1, d2]");
  EXPECT_EQ(shown(infer(graph, {.freezeInputs = true}).types["y"]), "float[3, 8]");
}

TEST(ApplierInfer, LocalFunctionsAndOtherDomainsAreNotONNX) {
  Graph graph = graphOf("x:f[4] y=Relu(x)", 17);
  graph.nodes[0].standard = false;
  EXPECT_EQ(shown(infer(graph).types["y"]), "unknown ?");
}

// --- Symbols that are equal ---

struct EqualCase {
  const char* graph;   ///< its last result is its output
  const char* result;  ///< of the last node
};

constexpr EqualCase kEqual[] = {
    {"x:f[N,A] w:f[B,M] y=MatMul(x,w) z=Transpose(x)", "float[A, N]"},  // no output needs the product
    {"x:f[N,A] w:f[B,M] c=MatMul(x,w) t=Transpose(w) z=Concat(x,t) axis=0", "float[M + N, A]"},
    {"x:f[N,A] w:f[B,M] t=Transpose(w) c=MatMul(x,w) u=Mul(x,t) y=MatMul(c,u)", "float[N, A]"},
    {"x:f[N,C,?] w:f[8,3,1] y=Conv(x,w)", "float[N, 8, d1]"},
    {"x:f[?,?] w:f[5,4] s=Relu(x) z=MatMul(s,w) y=Concat(s,z) axis=1", "float[d1, 9]"},
    {"x:f[?,3] z:f[?,4] y=Concat(x,z) axis=1", "float[d1, 7]"},
    {"x:f[N,3] z:f[M,3] y=Add(x,z)", "float[d1, 3]"},  // one of them may be 1
    {"x:f[N,3] z:f[M,3] a=Add(x,z) y=Concat(x,z) axis=1", "float[N, 6]"},
    {"x:f[N,A] b:f[A] s:f[K] y=BatchNormalization(x,s,s,s,s)", "float[N, A]"},
    {"x:f[N,2K] z:f[M,2L] y=Concat(x,z) axis=0", "float[M + N, _2K]"},
};

TEST(ApplierInfer, WhatANodeDemandsIsEqual) {
  for (const EqualCase& c : kEqual) {
    Graph graph = graphOf(c.graph, 17);
    graph.outputs = {graph.nodes.back().outputs[0]};
    Inference inference = infer(graph);
    EXPECT_THAT(problemsOf(inference), ::testing::IsEmpty()) << c.graph;
    EXPECT_EQ(shown(inference.types[graph.outputs[0]]), c.result) << c.graph;
  }
}

TEST(ApplierInfer, WhatIsEqualIsToldByTheFilesNames) {
  Graph graph = graphOf("x:f[N,A] w:f[B,5] v:f[K,M] y=MatMul(x,w) z=MatMul(y,v)", 17);
  graph.outputs = {"z"};
  Inference inference = infer(graph);
  EXPECT_EQ(inference.equal, (std::map<std::string, Expr, std::less<>>{{"B", Expr::variable("A")}, {"K", Expr(5)}}));
  EXPECT_FALSE(inference.symbols.contains("B") || inference.symbols.contains("K") || inference.least.contains("B"));
  EXPECT_EQ(inference.least.at("A"), 1);
}

/// Nor a branch that may not be taken.
TEST(ApplierInfer, WhatNeedNotRunDemandsNothing) {
  Graph branch = graphOf("y=MatMul(x,w)", 17);
  branch.outputs = {"y"};
  branch.captured = {"x", "w"};
  Graph graph = graphOf("c:b[] x:f[N,A] w:f[B,M] r=If(c) s=Relu(x)", 17);
  graph.nodes[0].attributes = {{"then_branch", std::make_shared<const Graph>(branch)},
                               {"else_branch", std::make_shared<const Graph>(branch)}};
  graph.nodes[0].captured = {"x", "w"};
  graph.outputs = {"r", "s"};
  EXPECT_TRUE(infer(graph).equal.empty());
}

TEST(ApplierInfer, WhatCannotBeEqualRunsNowhere) {
  Graph graph = graphOf("x:f[N,A] w:f[5,M] v:f[4,M] a=MatMul(x,w) b=MatMul(x,v) y=Mul(a,b)", 17);
  graph.outputs = {"y"};
  EXPECT_THAT(problemsOf(infer(graph)), ::testing::ElementsAre("node 'b' (MatMul): the inner extents differ: 5 and 4"));
}

TEST(EqualSymbols, OneStandsForAll) {
  EqualSymbols equal;
  auto symbol = [](const char* name) { return Dim(Expr::variable(name)); };
  for (const char* name : {"a", "b", "c", "d", "e"})
    equal.enter(name);
  equal.equate(symbol("d"), symbol("c"));
  equal.equate(symbol("b"), symbol("d"));
  EXPECT_EQ(equal.of("d"), Expr::variable("b"));
  EXPECT_EQ(equal.of("c"), Expr::variable("b"));
  equal.equate(Dim(Expr::variable("c") * 3 + 1), Dim(13));
  EXPECT_EQ(equal.of("d"), Expr(4));
  EXPECT_EQ(equal.count(), 3U);
  for (const auto& [x, y] : {std::pair(Dim(Expr::variable("a") + 1), symbol("e")),
                             {symbol("d"), Dim(5)},
                             {symbol("a"), Dim(0)},
                             {symbol("a"), symbol("unknown")},
                             {Dim(Expr::variable("a") * 2), Dim(3)},
                             {Dim(floorDiv(Expr::variable("a"), 2)), symbol("e")}})
    equal.equate(x, y);
  EXPECT_EQ(equal.count(), 3U);
  EXPECT_EQ(equal.of("a"), Expr::variable("a"));
}

// --- Work that a file may cause ---

TEST(ApplierInfer, HostileSizesAreOnlyUnknown) {
  // Each doubles the number of dimensions, of entries, of terms; 64 bits are left.
  std::string ranks = "x:f[2] a=i{0}", terms = "x:f[N] k=i{0}", wide = "x:f[4611686018427387904]";
  for (int i = 0; i < 80; ++i)
    ranks += fmt::format(" x{}=Unsqueeze({},a)", i, i == 0 ? "x" : fmt::format("x{}", i - 1));
  EXPECT_EQ(shown(infer(graphOf(ranks, 17)).types["x79"]), "float ?");
  terms += " s0=Shape(x)";
  for (int i = 1; i < 200; ++i)
    terms +=
        fmt::format(" c{0}=Constant() value_ints=[{0}] m{0}=Div(s{1},c{0}) s{0}=Add(m{0},s{1})", i + 1, i == 1 ? 0 : i);
  Inference deep = infer(graphOf(terms, 17));
  EXPECT_TRUE(deep.problems.empty());
  EXPECT_LT(shown(deep.types["s200"]).size(), 1000U);
  Inference large = infer(graphOf(wide + " y=Concat(x,x,x) axis=0 z=Relu(y)", 17));
  EXPECT_EQ(shown(large.types["z"]), "float ?");
}

TEST(ApplierInfer, OnlySoManyEntriesAreKept) {
  std::string text = "a=i(0) b=i(1000) c=i(1) x0=Range(a,b,c)";
  for (int i = 1; i <= 500; ++i)
    text += fmt::format(" x{}=Neg(x{})", i, i - 1);
  Inference inference = infer(graphOf(text, 17));
  EXPECT_TRUE(inference.types["x300"].data.has_value());
  EXPECT_FALSE(inference.types["x500"].data.has_value());
  EXPECT_EQ(shown(inference.types["x500"]), "int64[1000]");
}

// --- Sizes ---

TEST(ApplierSizes, Arithmetic) {
  Sizes s;
  Dim n = s.named("N", 1), m = s.named("M", 1), unknown = s.fresh(std::nullopt);
  EXPECT_EQ(s.multiply(n, m), s.multiply(m, n));
  EXPECT_EQ(s.add(s.multiply(n, m), n).str(), "({M + 1} N)");
  EXPECT_EQ(s.quotient(s.multiply(s.multiply(n, m), Dim(768)), s.multiply(m, Dim(64))).str(), "12N");
  EXPECT_EQ(s.quotient(n, m), s.quotient(n, m));
  EXPECT_EQ(s.least(s.subtract(n, s.floorDivide(n, 2))), 1);
  EXPECT_EQ(s.least(s.subtract(n, Dim(1))), 0);
  EXPECT_EQ(s.least(s.subtract(n, m)), std::nullopt);
  EXPECT_EQ(s.maximum(s.add(n, Dim(2)), n).str(), "N + 2");
  EXPECT_EQ(s.maximum(n, m), s.maximum(m, n));
  EXPECT_TRUE(s.isAtLeast(n, s.minimum(n, m)));
  EXPECT_EQ(s.broadcast(n, s.minimum(n, Dim(512))), n);
  EXPECT_EQ(s.broadcast(Dim(3), Dim(4)), std::nullopt);
  EXPECT_EQ(s.isEqual(n, Dim(0)), false);
  EXPECT_EQ(s.isEqual(n, m), std::nullopt);
  EXPECT_EQ(s.divide(n, Dim(0)), std::nullopt);
  EXPECT_EQ(s.divide(Dim(-7), Dim(2)), Dim(-3));
  EXPECT_EQ(s.modulo(Dim(-7), Dim(3), false), Dim(2));
  EXPECT_EQ(s.modulo(Dim(-7), Dim(3), true), Dim(-1));
  EXPECT_TRUE(s.isMade(*s.divide(unknown, Dim(2))));
  EXPECT_EQ(s.named("a b").str(), "a_b");
  EXPECT_EQ(s.named("a-b").str(), "a_b_2");
  EXPECT_EQ(s.named("floor").str(), "floor_");
}

// Every symbol and extent can be read back as text.
TEST(ApplierSizes, NamesAreNamesOfTheTextForm) {
  Sizes s;
  for (const char* name : {"", "7", "batch size", "s0 + 1", "é", "floor", "x'"}) {
    std::string text = s.named(name).str();
    auto read = parseExpr(text);
    ASSERT_TRUE(read.has_value()) << text;
    EXPECT_EQ(Dim(*read), s.named(name));
  }
}

TEST(Signatures, OfAnOpset) {
  EXPECT_EQ(findSignature("Add", 17)->inputs, "T T");
  EXPECT_EQ(findSignature("Squeeze", 11)->inputs, "T");
  EXPECT_EQ(findSignature("Squeeze", 13)->inputs, "T int64?");
  EXPECT_EQ(findSignature("Gelu", 19), nullptr);
  EXPECT_EQ(findSignature("Nothing", 19), nullptr);
}

}  // namespace pet::applier_infer_test
