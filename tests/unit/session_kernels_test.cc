// Nodes by themselves: values that were computed by hand. A new case is a line.

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <tuple>

#include "tests/unit/session_support.h"

namespace pet::session_kernels_test {
namespace {

using namespace testing_support;

struct KernelCase {
  std::string graph, feeds, results;
  int64_t opset = 18;
};

const KernelCase kCases[] = {
    // Integers and truth values
    {"a:i[3] b:i[] y=Add(a,b)", "a=i[3]{1,2,3} b=i[]{10}", "i[3]{11,12,13}"},
    {"a:u[2] b:u[2] y=Sub(a,b)", "a=u[2]{1,5} b=u[2]{2,3}", "u[2]{255,2}"},
    {"a:i[4] b:i[4] y=Div(a,b)", "a=i[4]{7,-7,7,-7} b=i[4]{2,2,-2,-2}", "i[4]{3,-3,-3,3}"},
    {"a:i[4] b:i[4] y=Mod(a,b)", "a=i[4]{7,-7,7,-7} b=i[4]{3,3,-3,-3}", "i[4]{1,2,-2,-1}"},
    {"a:i[4] b:i[4] y=Mod(a,b) fmod=1", "a=i[4]{7,-7,7,-7} b=i[4]{3,3,-3,-3}", "i[4]{1,-1,1,-1}"},
    {"a:i[1] b:i[1] y=Div(a,b)", "a=i[1]{1} b=i[1]{0}", "test: node 'y' (Div): an integer is divided by 0"},
    {"a:i[2] b:f[2] y=Pow(a,b)", "a=i[2]{3,9} b=f[2]{2,0.5}", "i[2]{9,3}"},
    {"a:i[2,1] b:i[3] y=Greater(a,b)", "a=i[2,1]{1,2} b=i[3]{0,1,2}", "b[2,3]{1,0,0,1,1,0}"},
    {"a:b[2] b:b[2] c=And(a,b) d=Or(a,b) e=Xor(c,d) y=Not(e)", "a=b[2]{1,0} b=b[2]{1,1}", "b[2]{1,0}"},
    {"x:f[3] y=IsNaN(x)", "x=f[3]{nan,1,inf}", "b[3]{1,0,0}"},
    {"x:j[3] a=Neg(x) b=Abs(x) c=Sign(x) y=Max(a,b,c)", "x=j[3]{-3,0,2}", "j[3]{3,0,2}"},
    {"x:i[3] l:i[] y=Clip(x,l,)", "x=i[3]{-3,0,2} l=i[]{-1}", "i[3]{-1,0,2}"},
    {"c:b[2,1] a:f[3] b:f[] y=Where(c,a,b)", "c=b[2,1]{1,0} a=f[3]{1,2,3} b=f[]{9}", "f[2,3]{1,2,3,9,9,9}"},
    // Casts
    {"x:f[4] y=Cast(x) to=7", "x=f[4]{1.9,-1.9,0,3}", "i[4]{1,-1,0,3}"},
    {"x:f[3] y=Cast(x) to=9", "x=f[3]{0.5,0,-2}", "b[3]{1,0,1}"},
    {"x:i[2] y=Cast(x) to=1", "x=i[2]{3,-4}", "f[2]{3,-4}"},
    {"x:i[2] y=Cast(x) to=2", "x=i[2]{257,-1}", "u[2]{1,255}"},
    {"x:f[1] y=Cast(x) to=10", "x=f[1]{2049}", "h[1]{2048}"},
    // Random numbers: as ONNX Runtime's first run has them
    {"y=RandomNormal() shape=[3] seed=3.0", "", "f[3]{-0.750384,-1.41054,1.68928}"},
    {"x:f[4] y=RandomNormalLike(x) seed=7.0 mean=1.0 scale=2.0", "x=f[4]{0,0,0,0}",
     "f[4]{-0.86858,-0.360609,1.49534,4.47301}"},
    {"y=RandomUniform() shape=[3] seed=3.0", "", "f[3]{2.34786e-05,0.394613,0.266816}"},
    {"x:i[4] y=RandomUniformLike(x) seed=7.0 low=-1.0 high=1.0 dtype=1", "x=i[4]{0,0,0,0}",
     "f[4]{-0.99989,0.841529,-0.421525,-0.578898}"},
    {"x:f[4] y=Bernoulli(x) seed=7.0 dtype=9", "x=f[4]{0,1,0,1}", "b[4]{0,1,0,1}"},
    {"x:i[1] y=RandomNormalLike(x)", "x=i[1]{0}",
     "test: node 'y' (RandomNormalLike): random numbers of a type that is not floating point"},
    // Moves
    {"x:i[2,3] s:i[2] y=Reshape(x,s)", "x=i[2,3]{1,2,3,4,5,6} s=i[2]{0,-1}", "i[2,3]{1,2,3,4,5,6}"},
    {"x:i[2,3] s:i[1] y=Reshape(x,s)", "x=i[2,3]{1,2,3,4,5,6} s=i[1]{-1}", "i[6]{1,2,3,4,5,6}"},
    {"x:i[2,3] s:i[1] y=Reshape(x,s)", "x=i[2,3]{1,2,3,4,5,6} s=i[1]{5}",
     "test: node 'y' (Reshape): [2, 3] does not fit into [5]"},
    {"x:b[1,2,1] a:i[1] t=Squeeze(x,a) y=Unsqueeze(t,a)", "x=b[1,2,1]{1,0} a=i[1]{-1}", "b[1,2,1]{1,0}"},
    {"x:i[2,3] y=Transpose(x)", "x=i[2,3]{1,2,3,4,5,6}", "i[3,2]{1,4,2,5,3,6}"},
    {"a:i[2,1] b:i[2,2] y=Concat(a,b) axis=-1", "a=i[2,1]{1,2} b=i[2,2]{3,4,5,6}", "i[2,3]{1,3,4,2,5,6}"},
    {"x:i[5] s:i[2] y,z=Split(x,s)", "x=i[5]{1,2,3,4,5} s=i[2]{2,3}", "i[2]{1,2} i[3]{3,4,5}"},
    {"x:i[2,1] s:i[3] y=Expand(x,s)", "x=i[2,1]{1,2} s=i[3]{2,1,2}", "i[2,2,2]{1,1,2,2,1,1,2,2}"},
    {"x:i[1,2] r:i[2] y=Tile(x,r)", "x=i[1,2]{1,2} r=i[2]{2,2}", "i[2,4]{1,2,1,2,1,2,1,2}"},
    {"x:i[4] b:i[1] e:i[1] a:i[1] s:i[1] y=Slice(x,b,e,a,s)",
     "x=i[4]{1,2,3,4} b=i[1]{-1} e=i[1]{-9} a=i[1]{0} s=i[1]{-2}", "i[2]{4,2}"},
    {"x:i[4] b:i[1] e:i[1] y=Slice(x,b,e)", "x=i[4]{1,2,3,4} b=i[1]{3} e=i[1]{1}", "i[0]{}"},
    {"x:i[3] p:i[2] v:i[] y=Pad(x,p,v)", "x=i[3]{1,2,3} p=i[2]{1,2} v=i[]{7}", "i[6]{7,1,2,3,7,7}"},
    {"x:i[3] p:i[2] y=Pad(x,p) mode=\"reflect\"", "x=i[3]{1,2,3} p=i[2]{2,1}", "i[6]{3,2,1,2,3,2}"},
    {"x:f[2,2] y=Trilu(x) upper=0", "x=f[2,2]{1,2,3,4}", "f[2,2]{1,0,3,4}"},
    // Indices
    {"x:f[3,2] i:i[2] y=Gather(x,i)", "x=f[3,2]{1,2,3,4,5,6} i=i[2]{-1,0}", "f[2,2]{5,6,1,2}"},
    {"x:f[2,2] i:i[] y=Gather(x,i) axis=1", "x=f[2,2]{1,2,3,4} i=i[]{1}", "f[2]{2,4}"},
    {"x:f[2] i:i[1] y=Gather(x,i)", "x=f[2]{1,2} i=i[1]{2}", "test: node 'y' (Gather): index 2 into an extent of 2"},
    {"x:f[2,2] i:i[2,2] y=GatherND(x,i)", "x=f[2,2]{1,2,3,4} i=i[2,2]{0,0,1,1}", "f[2]{1,4}"},
    {"x:f[2,2] i:i[2,1] y=GatherND(x,i) batch_dims=1", "x=f[2,2]{1,2,3,4} i=i[2,1]{1,0}", "f[2]{2,3}"},
    {"x:f[2,2] i:i[2,2] y=GatherElements(x,i) axis=1", "x=f[2,2]{1,2,3,4} i=i[2,2]{0,0,1,0}", "f[2,2]{1,1,4,3}"},
    {"x:f[4] i:i[2,1] u:f[2] y=ScatterND(x,i,u)", "x=f[4]{1,2,3,4} i=i[2,1]{3,0} u=f[2]{9,8}", "f[4]{8,2,3,9}"},
    {"x:i[1,3] i:i[1,2] u:i[1,2] y=ScatterElements(x,i,u) axis=1 reduction=\"add\"",
     "x=i[1,3]{1,2,3} i=i[1,2]{1,1} u=i[1,2]{10,20}", "i[1,3]{1,32,3}"},
    {"x:b[2,2] y=NonZero(x)", "x=b[2,2]{1,0,1,1}", "i[2,3]{0,1,1,0,0,1}"},
    {"x:f[2,2] c:b[2] y=Compress(x,c) axis=0", "x=f[2,2]{1,2,3,4} c=b[2]{0,1}", "f[1,2]{3,4}"},
    // What makes tensors
    {"x:f[2,3] y=Shape(x) start=1", "x=f[2,3]{1,2,3,4,5,6}", "i[1]{3}"},
    {"a:i[] b:i[] c:i[] y=Range(a,b,c)", "a=i[]{5} b=i[]{0} c=i[]{-2}", "i[3]{5,3,1}"},
    {"s:i[2] y=ConstantOfShape(s) value=i{4}", "s=i[2]{1,2}", "i[1,2]{4,4}"},
    {"i:i[2] d:i[] v:f[2] y=OneHot(i,d,v)", "i=i[2]{1,-1} d=i[]{3} v=f[2]{0,5}", "f[2,3]{0,5,0,0,0,5}"},
    // Order and sums
    {"x:f[2,3] k:i[1] y,z=TopK(x,k)", "x=f[2,3]{1,3,2,5,5,4} k=i[1]{2}", "f[2,2]{3,2,5,5} i[2,2]{1,2,0,1}"},
    {"x:j[3] k:i[1] y,z=TopK(x,k) largest=0", "x=j[3]{3,1,2} k=i[1]{1}", "j[1]{1} i[1]{1}"},
    {"x:f[2,2] y=ArgMax(x) axis=1 keepdims=0", "x=f[2,2]{1,2,4,3}", "i[2]{1,0}"},
    {"x:f[3] a:i[] y=CumSum(x,a) exclusive=1 reverse=1", "x=f[3]{1,2,3} a=i[]{0}", "f[3]{5,3,0}"},
    {"x:f[1,2,2,3] y,z=MaxPool(x) kernel_shape=[2,2] strides=[1,2] pads=[0,0,0,1]",
     "x=f[1,2,2,3]{1,4,2,3,0,5,-1,-2,-3,-4,-5,-6}", "f[1,2,1,2]{4,5,-1,-3} i[1,2,1,2]{1,5,6,8}"},
    {"x:f[1,1,2,3] y,z=MaxPool(x) kernel_shape=[1,2] storage_order=1", "x=f[1,1,2,3]{1,4,2,3,0,5}",
     "f[1,1,2,2]{4,4,3,5} i[1,1,2,2]{2,2,1,5}"},
    {"x:f[1,1,5] y,z=MaxPool(x) kernel_shape=[2] strides=[2] ceil_mode=1", "x=f[1,1,5]{1,2,4,3,5}",
     "f[1,1,3]{2,4,5} i[1,1,3]{1,2,4}"},
    {"x:f[1,1,4] y,z=MaxPool(x) kernel_shape=[2] auto_pad=\"SAME_LOWER\" dilations=[2]", "x=f[1,1,4]{1,3,2,1}",
     "f[1,1,4]{3,2,3,2} i[1,1,4]{1,2,1,2}"},
    {"x:f[1,1,2] y,z=MaxPool(x) kernel_shape=[3]", "x=f[1,1,2]{1,2}",
     "test: node 'y' (MaxPool): a window that is larger than what it slides over"},
    // The first of equal ones; a NaN where it is the first; -inf is a value, nothing is at -1.
    {"x:f[1,1,6] y,z=MaxPool(x) kernel_shape=[2] strides=[2]", "x=f[1,1,6]{3,3,nan,1,2,nan}",
     "f[1,1,3]{3,nan,2} i[1,1,3]{0,2,4}"},
    {"x:f[1,1,2] y,z=MaxPool(x) kernel_shape=[1] strides=[2] pads=[2,1]", "x=f[1,1,2]{-inf,1}",
     "f[1,1,3]{-inf,-inf,-inf} i[1,1,3]{-1,0,-1}"},
    {"x:i[1,1,2,2] y,z=MaxPool(x) kernel_shape=[2,2]", "x=i[1,1,2,2]{-9,-7,-7,-8}", "i[1,1,1,1]{-7} i[1,1,1,1]{1}"},
    {"x:f[2,1,1,2] y,z=MaxPool(x) kernel_shape=[1,1]", "x=f[2,1,1,2]{4,nan,5,6}",
     "f[2,1,1,2]{4,nan,5,6} i[2,1,1,2]{0,1,2,3}"},
    {"x:f[1,2,2] i:i[1,2,2] y=MaxUnpool(x,i) kernel_shape=[2] strides=[2]", "x=f[1,2,2]{1,2,3,4} i=i[1,2,2]{1,2,4,7}",
     "f[1,2,4]{0,1,2,0,3,0,0,4}"},
    {"x:f[1,1,2] i:i[1,1,2] s:i[3] y=MaxUnpool(x,i,s) kernel_shape=[2] strides=[2]",
     "x=f[1,1,2]{1,2} i=i[1,1,2]{0,3} s=i[3]{1,1,5}", "f[1,1,5]{1,0,0,2,0}"},
    {"x:f[1,1,1] i:i[1,1,1] y=MaxUnpool(x,i) kernel_shape=[2]", "x=f[1,1,1]{1} i=i[1,1,1]{2}",
     "test: node 'y' (MaxUnpool): index 2 into 2 elements"},
    {"x:i[2,2] a:i[1] y=ReduceProd(x,a) keepdims=0", "x=i[2,2]{1,2,3,4} a=i[1]{1}", "i[2]{2,12}"},
    {"x:i[2,2] a:i[1] y=ReduceMin(x,a)", "x=i[2,2]{1,2,3,-4} a=i[1]{0}", "i[1,2]{1,-4}"},
    {"x:f[2] y=ReduceL2(x) axes=[0] keepdims=0", "x=f[2]{3,4}", "f[]{5}", 13},
    // Integers that stand for numbers
    {"x:f[4] s:f[] z:u[] y=QuantizeLinear(x,s,z)", "x=f[4]{0,0.5,-9,900} s=f[]{0.2} z=u[]{10}", "u[4]{10,12,0,255}"},
    {"x:u[1,2] s:f[2] z:u[2] y=DequantizeLinear(x,s,z)", "x=u[1,2]{10,12} s=f[2]{0.5,2} z=u[2]{8,10}", "f[1,2]{1,4}"},
    // Detection
    {"b:f[1,3,4] s:f[1,1,3] k:i[1] o:f[1] t:f[1] y=NonMaxSuppression(b,s,k,o,t)",
     "b=f[1,3,4]{0,0,1,1,0,0,1,1.1,5,5,6,6} s=f[1,1,3]{0.8,0.9,0.7} k=i[1]{3} o=f[1]{0.5} t=f[1]{0}",
     "i[2,3]{0,0,1,0,0,2}"},
    {"b:f[1,4,4] s:f[1,2,4] k:i[1] o:f[1] y=NonMaxSuppression(b,s,k,o) center_point_box=1",
     "b=f[1,4,4]{0,0,2,2,0,1,2,2,9,9,0,0,9,9,0,0} s=f[1,2,4]{4,3,2,1,1,2,3,4} k=i[1]{3} o=f[1]{0.33}",
     "i[6,3]{0,0,0,0,0,2,0,0,3,0,1,3,0,1,2,0,1,1}"},
    {"x:f[1,2,2,2] r:f[2,4] b:i[2] y=RoiAlign(x,r,b) sampling_ratio=1 output_width=2",
     "x=f[1,2,2,2]{1,2,3,4,5,6,7,8} r=f[2,4]{0,0,2,2,-9,-9,-7,-7} b=i[2]{0,0}", "f[2,2,1,2]{2,3,6,7,0,0,0,0}"},
    {"x:f[1,1,2,2] r:f[1,4] b:i[1] y=RoiAlign(x,r,b) sampling_ratio=1",
     "x=f[1,1,2,2]{1,2,3,4} r=f[1,4]{0,0,2,2} b=i[1]{0}", "f[1,1,1,1]{2.5}"},
    // One step of each recurrent layer of one unit, from h = 0, with weights of 1: sigmoid(1) = 0.731059, tanh(1) =
    // 0.761594
    {"x:f[1,1,1] w:f[1,1,1] r:f[1,1,1] y,h=RNN(x,w,r) hidden_size=1", "x=f[1,1,1]{1} w=f[1,1,1]{1} r=f[1,1,1]{1}",
     "f[1,1,1,1]{0.761594} f[1,1,1]{0.761594}"},
    {"x:f[1,1,1] w:f[1,4,1] r:f[1,4,1] y,h,c=LSTM(x,w,r) hidden_size=1",
     "x=f[1,1,1]{1} w=f[1,4,1]{1,1,1,1} r=f[1,4,1]{1,1,1,1}",
     "f[1,1,1,1]{0.369606} f[1,1,1]{0.369606} f[1,1,1]{0.55677}"},
    {"x:f[1,1,1] w:f[1,3,1] r:f[1,3,1] y,h=GRU(x,w,r) hidden_size=1",
     "x=f[1,1,1]{1} w=f[1,3,1]{1,1,1} r=f[1,3,1]{1,1,1}", "f[1,1,1,1]{0.204824} f[1,1,1]{0.204824}"},
    // Functions and normalisations
    {"x:f[2] y=Elu(x)", "x=f[2]{-1,2}", "f[2]{-0.632121,2}"},
    {"x:i[2] b:i[2] y=BitShift(x,b) direction=\"RIGHT\"", "x=i[2]{-8,4} b=i[2]{1,70}", "i[2]{-4,0}"},
    {"x:f[1,2] y=LogSoftmax(x)", "x=f[1,2]{0,0}", "f[1,2]{-0.693147,-0.693147}"},
    {"x:f[1,2,1] y=LRN(x) size=1 alpha=2.0 beta=1.0", "x=f[1,2,1]{1,2}", "f[1,2,1]{0.333333,0.222222}"},
    {"x:f[1,2,2] s:f[2] b:f[2] y=GroupNormalization(x,s,b) num_groups=1 epsilon=0.0",
     "x=f[1,2,2]{1,1,3,3} s=f[2]{1,2} b=f[2]{0,5}", "f[1,2,2]{-1,-1,7,7}", 21},
    {"n:i[] y=HannWindow(n)", "n=i[]{4}", "f[4]{0,0.5,1,0.5}"},
    {"x:f[1,1,1,2] g:f[1,1,1,2] y=GridSample(x,g) align_corners=1", "x=f[1,1,1,2]{1,3} g=f[1,1,1,2]{0,-1}",
     "f[1,1,1,1]{2}"},
    // The first key is hidden; two heads of queries to one of keys, with a key of the past.
    {"q:f[1,1,1,1] k:f[1,1,2,1] v:f[1,1,2,1] m:b[1,2] y=Attention(q,k,v,m)",
     "q=f[1,1,1,1]{1} k=f[1,1,2,1]{5,1} v=f[1,1,2,1]{3,7} m=b[1,2]{0,1}", "f[1,1,1,1]{7}", 23},
    {"q:f[1,2,1,1] k:f[1,1,1,1] v:f[1,1,1,1] p:f[1,1,1,1] r:f[1,1,1,1] y,a,b=Attention(q,k,v,,p,r)",
     "q=f[1,2,1,1]{0,0} k=f[1,1,1,1]{1} v=f[1,1,1,1]{4} p=f[1,1,1,1]{2} r=f[1,1,1,1]{6}",
     "f[1,2,1,1]{5,5} f[1,1,2,1]{2,1} f[1,1,2,1]{6,4}", 23},
    // Doubles and 16 bits, by the operator's row and by kernels
    {"x:d[2] y=Sigmoid(x)", "x=d[2]{0,0}", "d[2]{0.5,0.5}"},
    {"x:h[2] y=Add(x,x)", "x=h[2]{1,1024}", "h[2]{2,2048}"},
};

class SessionKernels : public ::testing::TestWithParam<size_t> {};

/// graph_text.h has no letters for these two.
Graph withMoreTypes(const KernelCase& c) {
  Graph graph = sessionGraph(c.graph, c.opset);
  for (const std::string& word : split(c.graph, ' ')) {
    const size_t colon = word.find(':');
    if (colon == std::string::npos || colon + 1 >= word.size()) continue;
    auto type = graph.types.find(word.substr(0, colon));
    if (word[colon + 1] == 'd') type->second.element = ElementType::kDouble;
    if (word[colon + 1] == 'h') type->second.element = ElementType::kFloat16;
  }
  return graph;
}

TEST_P(SessionKernels, ComputeWhatOnnxSays) {
  const KernelCase& c = kCases[GetParam()];
  EXPECT_EQ(ran(withMoreTypes(c), c.feeds), c.results) << c.graph;
}

Constant drawnNumbers(ElementType element, const Extents& extents, unsigned seed) {
  std::mt19937 random(seed);
  Tensor<double> values(extents);
  for (double& v : values.data)
    v = static_cast<double>(random() % 1000) / 1000 - 0.5;
  return Constant::rounded(element, values);
}

/// A recurrent layer of 50 hidden numbers, in this type, of sequence `only` or of all five.
std::vector<double> layer(
    const std::string& type, int64_t gates, ElementType element, int only, const std::string& attributes) {
  constexpr int64_t kSteps = 3, kBatch = 5, kInput = 7, kHidden = 50;
  const bool alone = only >= 0;
  const std::string n = std::to_string(alone ? 1 : kBatch), rows = std::to_string(gates * kHidden);
  Graph graph = sessionGraph("x:f[3," + n + ",7] w:f[2," + rows + ",7] r:f[2," + rows + ",50] b:f[2," +
                             std::to_string(2 * gates * kHidden) + "] l:j[" + n + "] y,h=" + type +
                             "(x,w,r,b,l) hidden_size=50 direction=\"bidirectional\" " + attributes);
  for (const char* input : {"x", "w", "r", "b"})
    graph.types.at(input).element = element;
  Constant x = drawnNumbers(element, {kSteps, kBatch, kInput}, 1);
  if (alone) {
    Tensor<double> part({kSteps, 1, kInput});
    const auto all = x.values<double>().data;
    for (int64_t i = 0; i < part.size(); ++i)
      part.data[static_cast<size_t>(i)] = all[static_cast<size_t>((i / kInput * kBatch + only) * kInput + i % kInput)];
    x = Constant::rounded(element, part);
  }
  const std::vector<int64_t> lengths{3, 1, 2, 3, 0};
  const Tensor<int64_t> some(alone ? Extents{1} : Extents{kBatch},
                             alone ? std::vector<int64_t>{lengths[static_cast<size_t>(only)]} : lengths);
  auto session = sessionOf(graph);
  auto results = (*session)->run({{"x", x},
                                  {"w", drawnNumbers(element, {2, gates * kHidden, kInput}, 2)},
                                  {"r", drawnNumbers(element, {2, gates * kHidden, kHidden}, 3)},
                                  {"b", drawnNumbers(element, {2, 2 * gates * kHidden}, 4)},
                                  {"l", Constant::whole(ElementType::kInt32, some)}});
  return results ? *(*results)[1].numbers() : std::vector<double>();
}

TEST(SessionRecurrent, TypesAndBatchesAgree) {
  for (const auto& [type, gates, attributes] :
       {std::tuple("LSTM", 4, ""), {"GRU", 3, ""}, {"GRU", 3, "linear_before_reset=1"}, {"RNN", 1, ""}}) {
    const auto all = layer(type, gates, ElementType::kFloat, -1, attributes),
               exact = layer(type, gates, ElementType::kDouble, -1, attributes);
    ASSERT_EQ(all.size(), 500U) << type;
    ASSERT_EQ(exact.size(), 500U) << type;
    for (size_t i = 0; i < all.size(); ++i)
      EXPECT_NEAR(all[i], exact[i], 1e-5) << type << i;
    for (size_t only = 0; only < 5; ++only) {
      const auto one = layer(type, gates, ElementType::kFloat, static_cast<int>(only), attributes);
      for (size_t i = 0; i < one.size(); ++i)
        EXPECT_NEAR(one[i], all[(i / 50 * 5 + only) * 50 + i % 50], 1e-6) << type << only;
    }
  }
}

/// h' = tanh(W x + R h), of more columns than lie together.
TEST(SessionRecurrent, IsTheSumOverTheWeights) {
  constexpr int64_t kSteps = 2, kInput = 7, kHidden = 300;
  const Graph graph = sessionGraph("x:f[2,1,7] w:f[1,300,7] r:f[1,300,300] y,h=RNN(x,w,r) hidden_size=300");
  const Constant x = drawnNumbers(ElementType::kFloat, {kSteps, 1, kInput}, 1);
  const Constant w = drawnNumbers(ElementType::kFloat, {1, kHidden, kInput}, 2);
  const Constant r = drawnNumbers(ElementType::kFloat, {1, kHidden, kHidden}, 3);
  auto session = sessionOf(graph);
  auto results = (*session)->run({{"x", x}, {"w", w}, {"r", r}});
  ASSERT_TRUE(results) << results.error().message();
  const std::vector<double> xs = *x.numbers(), ws = *w.numbers(), rs = *r.numbers(), found = *(*results)[1].numbers();
  std::vector<double> h(kHidden, 0);
  for (size_t s = 0; s < kSteps; ++s) {
    std::vector<double> next;
    for (size_t m = 0; m < kHidden; ++m) {
      double sum = 0;
      for (size_t k = 0; k < kInput; ++k)
        sum += ws[m * kInput + k] * xs[s * kInput + k];
      for (size_t k = 0; k < kHidden; ++k)
        sum += rs[m * kHidden + k] * h[k];
      next.push_back(std::tanh(sum));
    }
    h = next;
  }
  for (size_t m = 0; m < kHidden; ++m)
    EXPECT_NEAR(found[m], h[m], 1e-5) << m;
}

/// What a MaxPool over two dimensions says, position by position.
struct Pooled {
  std::vector<double> values;
  std::vector<int64_t> indices;
};
Pooled pooledByDefinition(const std::vector<double>& x,
                          int64_t images,
                          Extents in,
                          Extents out,
                          int64_t kernel,
                          const Extents& strides,
                          int64_t dilation,
                          int64_t before,
                          bool columnsFirst) {
  Pooled result;
  for (int64_t n = 0; n < images; ++n) {
    for (int64_t o = 0; o < out[0] * out[1]; ++o) {
      double best = -std::numeric_limits<double>::infinity();
      int64_t index = -1;
      for (int64_t tap = 0; tap < kernel * kernel; ++tap) {
        const int64_t h = o / out[1] * strides[0] + tap / kernel * dilation - before;
        const int64_t w = o % out[1] * strides[1] + tap % kernel * dilation - before;
        if (h < 0 || h >= in[0] || w < 0 || w >= in[1]) continue;
        const double value = x[static_cast<size_t>(n * in[0] * in[1] + h * in[1] + w)];
        if (index >= 0 && !(value > best)) continue;
        best = value;
        index = n * in[0] * in[1] + (columnsFirst ? w * in[0] + h : h * in[1] + w);
      }
      result.values.push_back(best);
      result.indices.push_back(index);
    }
  }
  return result;
}

TEST(SessionMaxPool, IsTheFirstMaximumOfEachWindow) {
  constexpr int64_t kHeight = 7;
  std::mt19937 random(1);
  for (const auto& [width, kernel, stride, dilation, before, columnsFirst] : {std::tuple(40, 2, 2, 1, 0, false),
                                                                              {41, 3, 2, 1, 1, false},
                                                                              {35, 3, 1, 1, 1, false},
                                                                              {39, 2, 3, 2, 1, true},
                                                                              {8, 3, 2, 2, 2, false},
                                                                              {3, 3, 1, 1, 2, true},
                                                                              {50, 1, 1, 1, 0, false},
                                                                              {33, 2, 1, 3, 0, false}}) {
    for (const ElementType element : {ElementType::kFloat, ElementType::kDouble, ElementType::kInt64}) {
      Tensor<double> drawn({2, 2, kHeight, width});
      for (double& v : drawn.data)
        v = static_cast<double>(random() % 9) - 4;  // so that many are equal
      if (element != ElementType::kInt64) drawn.data[5] = drawn.data[77] = std::numeric_limits<double>::quiet_NaN();
      const auto list = [](int64_t number, int count) {
        std::string text = std::to_string(number);
        for (int i = 1; i < count; ++i)
          text += "," + std::to_string(number);
        return "[" + text + "]";
      };
      Graph graph =
          sessionGraph("x:f[2,2,7," + std::to_string(width) + "] y,z=MaxPool(x) kernel_shape=" + list(kernel, 2) +
                       " strides=" + list(stride, 2) + " dilations=" + list(dilation, 2) + " pads=" + list(before, 4) +
                       " storage_order=" + (columnsFirst ? "1" : "0"));
      graph.types.at("x").element = element;
      auto session = sessionOf(graph);
      ASSERT_TRUE(session);
      auto results = (*session)->run({{"x", Constant::rounded(element, drawn)}});
      ASSERT_TRUE(results) << results.error().message();
      const Extents& out = (*results)[0].extents;
      const Pooled expected = pooledByDefinition(drawn.data, 4, {kHeight, width}, {out[2], out[3]}, kernel,
                                                 {stride, stride}, dilation, before, columnsFirst);
      std::vector<double> values;
      if (element == ElementType::kInt64) {
        const auto whole = (*results)[0].values<int64_t>().data;
        values.assign(whole.begin(), whole.end());
      } else {
        values = *(*results)[0].numbers();
      }
      const auto indices = (*results)[1].values<int64_t>().data;
      EXPECT_EQ(indices, expected.indices) << width << ", " << kernel;
      for (size_t i = 0; i < values.size(); ++i)
        EXPECT_TRUE(values[i] == expected.values[i] || (std::isnan(values[i]) && std::isnan(expected.values[i]))) << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, SessionKernels, ::testing::Range<size_t>(0, std::size(kCases)));

}  // namespace
}  // namespace pet::session_kernels_test
