// Every row's meaning against its kernel, with symbolic shapes and with the same shapes put in: its access relation, or
// the operators that it is made of.

#include "ir/denote.h"
#include "ir/text.h"
#include "tests/unit/access_check.h"

namespace pet::ops_access_test {
namespace {

using testing_support::accessMatchesKernels;
using testing_support::accessOf;
using testing_support::randomNumbers;

struct Case {
  std::string_view program;
  std::vector<Bindings> shapes;
};

const Case kCases[] = {
    // Conv
    {"x: [N, C, H, W]  w: const [F, C, R, S]  y = Conv(x, w) pads=[P, Q, P, Q]",
     {{{"N", 2}, {"C", 3}, {"H", 4}, {"W", 5}, {"F", 2}, {"R", 3}, {"S", 2}, {"P", 1}, {"Q", 1}},
      {{"N", 1}, {"C", 1}, {"H", 3}, {"W", 3}, {"F", 1}, {"R", 3}, {"S", 3}, {"P", 0}, {"Q", 2}},
      {{"N", 1}, {"C", 2}, {"H", 1}, {"W", 4}, {"F", 2}, {"R", 1}, {"S", 4}, {"P", 2}, {"Q", 0}}}},
    {"x: [N, C, W]  w: const [F, C, S]  y = Conv(x, w) pads=[P, Q] strides=[2] dilations=[3]",
     {{{"N", 2}, {"C", 2}, {"W", 11}, {"F", 3}, {"S", 3}, {"P", 2}, {"Q", 1}},
      {{"N", 1}, {"C", 1}, {"W", 7}, {"F", 1}, {"S", 2}, {"P", 0}, {"Q", 5}}}},
    {"x: [N, (G C), H, W]  w: const [(G F), C, 3, 2]  y = Conv(x, w) group=G pads=[1, 0, 2, 1] strides=[2, 1] "
     "dilations=[1, 2]",
     {{{"N", 2}, {"G", 3}, {"C", 2}, {"F", 2}, {"H", 5}, {"W", 4}},
      {{"N", 1}, {"G", 1}, {"C", 1}, {"F", 3}, {"H", 4}, {"W", 3}}}},
    {"x: [N, 4C, H, W]  w: const [4F, C, 1, 3]  y = Conv(x, w) group=4 pads=[0, 1, 0, 1]",
     {{{"N", 1}, {"C", 2}, {"F", 3}, {"H", 2}, {"W", 3}}}},
    {"x: [N, C, H, W]  w: const [3C, 1, R, 1]  y = Conv(x, w) group=C",
     {{{"N", 2}, {"C", 4}, {"H", 4}, {"W", 2}, {"R", 2}}}},
    {"x: [N, C, D, H, W]  w: const [F, C, 2, 2, 2]  y = Conv(x, w) strides=[1, 2, 1] pads=[1, 0, 0, 0, 1, 1]",
     {{{"N", 1}, {"C", 2}, {"D", 3}, {"H", 4}, {"W", 2}, {"F", 2}}}},
    {"x: [N, C, H, (M W)]  w: const [F, C, 1, 3]  y = Conv(x, w) pads=[0, 1, 0, 1]",
     {{{"N", 1}, {"C", 2}, {"H", 2}, {"M", 3}, {"W", 2}, {"F", 2}},
      {{"N", 1}, {"C", 1}, {"H", 1}, {"M", 1}, {"W", 4}, {"F", 1}}}},
    {"x: [N, C, H, 2W]  w: const [F, C, 1, 3]  y = Conv(x, w) pads=[0, 1, 0, 1] strides=[1, 2]",
     {{{"N", 1}, {"C", 2}, {"H", 2}, {"W", 3}, {"F", 2}}}},
    // Pads in their other forms
    {"x: [N, C, H, W]  w: const [F, C, R, 3]  y = Conv(x, w) auto_pad=SAME_UPPER dilations=[1, 2]",
     {{{"N", 1}, {"C", 2}, {"H", 3}, {"W", 4}, {"F", 2}, {"R", 4}}}},
    {"x: [N, C, H]  w: const [F, C, R]  y = Conv(x, w) auto_pad=SAME_LOWER strides=[2]",
     {{{"N", 1}, {"C", 2}, {"H", 5}, {"F", 2}, {"R", 4}}, {{"N", 1}, {"C", 2}, {"H", 6}, {"F", 2}, {"R", 5}}}},
    {"x: [N, C, H]  w: const [C, F, R]  y = ConvTranspose(x, w) output_shape=[V] strides=[2]",
     {{{"N", 1}, {"C", 2}, {"H", 3}, {"F", 2}, {"R", 4}, {"V", 5}}}},
    {"x: [N, C, H]  w: const [C, F, R]  y = ConvTranspose(x, w) auto_pad=SAME_UPPER strides=[2] output_padding=[1]",
     {{{"N", 1}, {"C", 2}, {"H", 3}, {"F", 2}, {"R", 4}}}},
    {"x: [N, C, H]  y = MaxPool(x) kernel_shape=[3] auto_pad=SAME_LOWER strides=[2]\n"
     "z = AveragePool(x) kernel_shape=[2] auto_pad=SAME_UPPER",
     {{{"N", 1}, {"C", 2}, {"H", 5}}, {{"N", 1}, {"C", 1}, {"H", 6}}}},
    // ConvTranspose
    {"x: [N, C, H, W]  w: const [C, F, R, S]  y = ConvTranspose(x, w) pads=[P, 0, 0, 1]",
     {{{"N", 2}, {"C", 2}, {"H", 3}, {"W", 2}, {"F", 3}, {"R", 2}, {"S", 3}, {"P", 1}}}},
    {"x: [N, C, W]  w: const [C, F, S]  y = ConvTranspose(x, w) strides=[3] dilations=[2] pads=[1, 2] "
     "output_padding=[2]",
     {{{"N", 1}, {"C", 2}, {"W", 4}, {"F", 2}, {"S", 3}}, {{"N", 2}, {"C", 1}, {"W", 1}, {"F", 1}, {"S", 4}}}},
    {"x: [N, (G C), H, W]  w: const [(G C), F, 2, 3]  y = ConvTranspose(x, w) group=G strides=[2, 2] "
     "output_padding=[1, 0]",
     {{{"N", 2}, {"G", 2}, {"C", 3}, {"H", 2}, {"W", 2}, {"F", 2}}}},
    {"x: [N, C, D, H, W]  w: const [C, F, 2, R, 3]  y = ConvTranspose(x, w) strides=[1, 2, 1] pads=[1, 0, 0, 0, 1, 1] "
     "dilations=[1, 1, 2] output_padding=[0, 1, 1]",
     {{{"N", 1}, {"C", 2}, {"D", 2}, {"H", 2}, {"W", 2}, {"F", 2}, {"R", 2}}}},
    {"x: [N, C, W]  w: const [3C, 1, S]  y = Conv(x, w) group=C strides=[2] dilations=[2] pads=[1, 2]",
     {{{"N", 2}, {"C", 2}, {"W", 5}, {"S", 2}}}},
    // MatMul, OffsetReduce
    {"a: [M, K]  b: [K, N]  y = MatMul(a, b)", {{{"M", 3}, {"K", 4}, {"N", 2}}, {{"M", 1}, {"K", 1}, {"N", 5}}}},
    {"a: [B, H, M, K]  b: [H, K, N]  y = MatMul(a, b)", {{{"B", 2}, {"H", 3}, {"M", 2}, {"K", 2}, {"N", 3}}}},
    {"a: [B, 1, M, K]  b: [1, H, K, N]  y = MatMul(a, b)", {{{"B", 2}, {"H", 3}, {"M", 2}, {"K", 2}, {"N", 3}}}},
    {"a: [(B H), M, K]  b: [K, N]  y = MatMul(a, b)", {{{"B", 2}, {"H", 3}, {"M", 2}, {"K", 2}, {"N", 3}}}},
    {"a: [1, M, K]  b: [B, K, N]  y = MatMul(a, b)", {{{"B", 3}, {"M", 2}, {"K", 2}, {"N", 3}}}},
    {"a: [M, K]  b: [M, K]  y = Einsum(a, b) equation=\"ij,ij->j\"", {{{"M", 3}, {"K", 4}}}},
    {"a: [N, K, C, V]  b: [K, V, W]  c: [N]  y = Einsum(a, b, c) equation=\"nkcv,kvw,n->wcn\"",
     {{{"N", 2}, {"K", 2}, {"C", 3}, {"V", 3}, {"W", 2}}}},
    {"a: [M, M, (C R)]  y = Einsum(a) equation=\"iik->i\"", {{{"M", 3}, {"C", 2}, {"R", 3}}}},
    {"a: [M]  y = Einsum(a) equation=\"i->\"", {{{"M", 3}}}},
    {"a: [B, M, (C R)]  b: [(C R), N]  y = MatMul(a, b)", {{{"B", 2}, {"M", 2}, {"C", 2}, {"R", 3}, {"N", 3}}}},
    {"t: [N, (F R S), H, W]  y = OffsetReduce(t) kernel_shape=[R, S] pads=[P, 1, 0, 1]",
     {{{"N", 2}, {"F", 2}, {"R", 2}, {"S", 3}, {"H", 4}, {"W", 3}, {"P", 1}}}},
    {"t: [N, 6F, W]  y = OffsetReduce(t) kernel_shape=[3] strides=[2] dilations=[2] pads=[1, 2]",
     {{{"N", 1}, {"F", 2}, {"W", 6}}}},
    {"x: [N, (C R S), ({H - R + 1} {W - S + 1})]  y = Col2Im(x) image_shape=[H, W] block_shape=[R, S]",
     {{{"N", 2}, {"C", 2}, {"H", 4}, {"W", 3}, {"R", 2}, {"S", 3}}}},
    {"x: [N, 6C, 4L]  y = Col2Im(x) image_shape=[8, 2L] block_shape=[3, 2] strides=[2, 2] pads=[1, 0, 0, 0]",
     {{{"N", 1}, {"C", 2}, {"L", 3}}}},
    {"x: [N, 3C, L]  y = Col2Im(x) image_shape=[2L + 3] block_shape=[3] strides=[2] dilations=[2] pads=[P, 1 - P]",
     {{{"N", 2}, {"C", 2}, {"L", 4}, {"P", 1}}, {{"N", 1}, {"C", 1}, {"L", 1}, {"P", 0}}}},
    // Layout, IndexMap, CyclicMap
    {"x: [2N, C, H, W]  y = Layout(x) (n 2) c h w -> n c h (2 w)",
     {{{"N", 2}, {"C", 2}, {"H", 2}, {"W", 3}}, {{"N", 1}, {"C", 1}, {"H", 1}, {"W", 1}}}},
    {"x: [N, C, H, W]  y = Layout(x) n c h w -> c 1 (n h w)", {{{"N", 2}, {"C", 3}, {"H", 2}, {"W", 3}}}},
    {"x: [(N H W), C]  y = Layout(x) (n h w) c -> n c h w", {{{"N", 2}, {"C", 3}, {"H", 2}, {"W", 3}}}},
    {"x: [6W, 4]  y = Layout(x) (p:2 w 3) (q:2 r:2) -> (q w p) (r 3)", {{{"W", 2}}, {{"W", 1}}}},
    {"x: [6W, 12]  y = Layout(x) (p:3 w 2) (q:2 r:2 s:3) -> (r p q w s) 2", {{{"W", 2}}}},
    {"x: [N, W, 2]  y = Layout(x) n w p -> (n w p)\nz = Layout(y) (n:N w:W p:2) -> p n w",
     {{{"N", 2}, {"W", 3}}, {{"N", 3}, {"W", 1}}}},
    {"x: [N, 6H, W, 4]  y = Layout(x) n (p:2 h q:3) w r -> (n p h r w q) 1\nz = Layout(y) (n:N p:2 h:H r:4 w:W q:3) 1 "
     "-> r q (p n) w h",
     {{{"N", 2}, {"H", 2}, {"W", 3}}, {{"N", 1}, {"H", 3}, {"W", 2}}}},
    {"x: [N, 4H, (6W K)]  y = Layout(x) n h (w k) -> (n w h k)\nz = Layout(y) (a:N b:6W c:4H d:K) -> c (a d) b",
     {{{"N", 2}, {"H", 2}, {"W", 1}, {"K", 2}}}},
    {"w: [F, C, R, S]  y = IndexMap(w) [f:F, c:C, r:R, s:S] -> [f, c, R - 1 - r, S - 1 - s]",
     {{{"F", 2}, {"C", 2}, {"R", 3}, {"S", 2}}}},
    {"w: [F, C, R]  y = IndexMap(w) [f:F, (c:C p:2), k:{R + 1}] -> [f, c, 2k + p - 1] where k <= R - 1",
     {{{"F", 2}, {"C", 2}, {"R", 3}}, {{"F", 1}, {"C", 1}, {"R", 1}}}},
    {"w: [(F G), C]  y = IndexMap(w) [(p:2 f:F), g:3G, c:C] -> [f : g - p, floor((c + p)/2)]",
     {{{"F", 2}, {"G", 2}, {"C", 3}}}},
    {"x: [N, 3I, 2J]  y = CyclicMap(x) [n:N, i:I, j:J, p:3, q:2] -> [n, 3i + p + S, 2j + q + T]",
     {{{"N", 2}, {"I", 2}, {"J", 2}, {"S", 4}, {"T", 1}}, {{"N", 1}, {"I", 1}, {"J", 1}, {"S", 1}, {"T", 0}}}},
    {"x: [N, (I J)]  y = CyclicMap(x) [(n:N i:2I), j:J] -> [n, i : j + S - 1]",
     {{{"N", 2}, {"I", 2}, {"J", 3}, {"S", 2}}, {{"N", 1}, {"I", 3}, {"J", 1}, {"S", 1}}}},
    {"x: [L]  y = CyclicMap(x) [l:L, k:3] -> [l + k] where k <= l", {{{"L", 3}}, {{"L", 1}}}},
    // Pad, Slice, Concat, Split, Transpose
    {"x: [N, H, W]  y = Pad(x) pads=[0, P, 1, 0, Q, 2]", {{{"N", 2}, {"H", 3}, {"W", 2}, {"P", 2}, {"Q", 0}}}},
    {"x: [N, H, (A B)]  y = Pad(x) pads=[1, -1, 0, 0, -1, 0]", {{{"N", 2}, {"H", 3}, {"A", 2}, {"B", 2}}}},
    {"x: [N, H, W]  y = Pad(x) pads=[0, P, 1, 0, Q, 2] value=-1.5",
     {{{"N", 2}, {"H", 3}, {"W", 2}, {"P", 2}, {"Q", 0}}}},
    {"x: [H, W]  y = Pad(x) pads=[-1, P, 2, -1] value=3",
     {{{"H", 3}, {"W", 4}, {"P", 3}}, {{"H", 1}, {"W", 1}, {"P", 0}}}},
    {"x: [H, W]  y = Pad(x) pads=[1, 2, 2, P] mode=reflect", {{{"H", 3}, {"W", 4}, {"P", 3}}}},
    {"x: [H, W]  y = Pad(x) pads=[1, 2, 2, P] mode=edge",
     {{{"H", 3}, {"W", 4}, {"P", 3}}, {{"H", 1}, {"W", 1}, {"P", 0}}}},
    {"x: [N, H, W]  y = Slice(x) axes=[2, 0] starts=[A, 1] ends=[W, N] steps=[3, 1]",
     {{{"N", 3}, {"H", 2}, {"W", 8}, {"A", 1}}, {{"N", 2}, {"H", 1}, {"W", 8}, {"A", 8}}}},
    {"x: [N, A, W]  z: [N, B, W]  y = Concat(x, z, x) axis=1", {{{"N", 2}, {"A", 2}, {"B", 3}, {"W", 2}}}},
    {"x: [N, A + B, W]  y, z = Split(x) axis=1 split=[A, B]", {{{"N", 2}, {"A", 2}, {"B", 3}, {"W", 2}}}},
    {"x: [N, (A B), W]  y = Transpose(x) perm=[2, 0, 1]", {{{"N", 2}, {"A", 2}, {"B", 3}, {"W", 2}}}},
    {"x: [N, W, 2]  y = Gather(x) axis=1 indices=[0, 2, 4, 4, 3, W - 1, 0]\nz = Gather(x) axis=0 indices=[N - 1]",
     {{{"N", 2}, {"W", 5}}, {{"N", 1}, {"W", 7}}}},
    {"x: [N, W]  u: [M, W]  y = ScatterND(x, u) start=S",
     {{{"N", 5}, {"M", 2}, {"W", 3}, {"S", 1}}, {{"N", 2}, {"M", 2}, {"W", 1}, {"S", 0}}}},
    {"x: [N, (A B)]  y = Gather(x) axis=0 indices=[3, 2, 1, 0]", {{{"N", 4}, {"A", 2}, {"B", 3}}}},
    // Reshape and the like
    {"x: [N, C, H, W]  y = Reshape(x) shape=[0, -1]", {{{"N", 2}, {"C", 3}, {"H", 2}, {"W", 2}}}},
    {"x: [N, C, H, W]  y = Reshape(x) shape=[N, C, -1]", {{{"N", 2}, {"C", 3}, {"H", 2}, {"W", 2}}}},
    {"x: [N, (C H W)]  y = Reshape(x) shape=[0, C, -1, W]", {{{"N", 2}, {"C", 3}, {"H", 2}, {"W", 3}}}},
    {"x: [B, S, 12, 4]  y = Reshape(x) shape=[B, S, 48]", {{{"B", 2}, {"S", 2}}}},
    {"x: [B, S, 12]  y = Reshape(x) shape=[B, S, 3, -1]", {{{"B", 2}, {"S", 2}}}},
    {"x: [B, 4, 6, 1]  y = Reshape(x) shape=[1, B, 3, 8]", {{{"B", 2}}}},
    {"x: [N, 2, W]  y = Reshape(x) shape=[N, 2W]", {{{"N", 3}, {"W", 2}}}},
    {"x: [2N, W]  y = Reshape(x) shape=[2, N, W]", {{{"N", 3}, {"W", 2}}}},
    {"x: [N, 6W]  y = Reshape(x) shape=[N, 2, W, 3]", {{{"N", 3}, {"W", 2}}}},
    {"x: [N, 2, W, H]  y = Reshape(x) shape=[-1, H]", {{{"N", 3}, {"W", 2}, {"H", 2}}}},
    {"x: [N, W, 4]  y = Reshape(x) shape=[-1, 2]", {{{"N", 3}, {"W", 2}}}},
    {"x: [N, C, H, W]  y = Flatten(x)", {{{"N", 2}, {"C", 3}, {"H", 2}, {"W", 2}}}},
    {"x: [N, C, H, 2]  y = Flatten(x) axis=2", {{{"N", 2}, {"C", 3}, {"H", 2}}}},
    {"x: [N, C]  y = Flatten(x) axis=0\nz = Flatten(y) axis=2", {{{"N", 2}, {"C", 3}}}},
    {"x: [1, N, 1, C]  y = Squeeze(x) axes=[2, 0]\nz = Unsqueeze(y) axes=[0, 1, 4]", {{{"N", 2}, {"C", 3}}}},
    {"x: [N, C, 2H, 2W]  y = SpaceToDepth(x) blocksize=2", {{{"N", 2}, {"C", 3}, {"H", 2}, {"W", 3}}}},
    {"x: [N, 9C, H, W]  y = DepthToSpace(x) blocksize=3", {{{"N", 2}, {"C", 2}, {"H", 2}, {"W", 1}}}},
    {"x: [N, 4C, H, W]  y = DepthToSpace(x) blocksize=2 mode=CRD", {{{"N", 2}, {"C", 3}, {"H", 2}, {"W", 3}}}},
    {"x: [N, 1, (A B)]  y = Expand(x) shape=[3, 1, C, 1]", {{{"N", 2}, {"A", 2}, {"B", 2}, {"C", 3}}}},
    {"x: [N, W]  y = Tile(x) repeats=[2, K]", {{{"N", 2}, {"W", 3}, {"K", 2}}, {{"N", 1}, {"W", 2}, {"K", 1}}}},
    // Arithmetic
    {"x: [N, C, H]  b: [C, 1]  y = Add(x, b)\nz = Sub(b, y)\nu = Mul(z, z)\nv = Neg(u)\nw = Identity(v)",
     {{{"N", 2}, {"C", 3}, {"H", 2}}}},
    {"x: [H, 2]  c = Constant() value=-3 shape=[H, 2]\nd = Constant() value=0.375\ne = Constant() value=0 shape=[H]\ny "
     "= Eye() extent=H",
     {{{"H", 3}}}},
    {"x: [N, C, H]  b: [C, 1]  y = Select(b, x)", {{{"N", 2}, {"C", 3}, {"H", 2}}}},
    {"y = Band() shape=[M, N] lower=L upper=U",
     {{{"M", 4}, {"N", 6}, {"L", 1}, {"U", 2}},
      {{"M", 5}, {"N", 2}, {"L", 0}, {"U", 0}},
      {{"M", 3}, {"N", 3}, {"L", -1}, {"U", 1}},
      {{"M", 3}, {"N", 3}, {"L", -2}, {"U", 1}}}},
    {"x: [N, 2]  t = Table() shape=[2, 3] values=[1, 0, -3, 4, 5, -6] denominator=4\nu = Table() shape=[2] values=[7, "
     "-8]\ny = Mul(x, u)\nz = MatMul(y, t)",
     {{{"N", 2}}}},
    // Pools, reductions, Gemm, Resize
    {"x: [N, C, H, W]  y = AveragePool(x) kernel_shape=[3, 2] pads=[1, 0, 1, 1] strides=[2, 1] count_include_pad=1",
     {{{"N", 2}, {"C", 2}, {"H", 5}, {"W", 3}}, {{"N", 1}, {"C", 1}, {"H", 2}, {"W", 2}}}},
    {"x: [N, C, W]  y = AveragePool(x) kernel_shape=[2] dilations=[3]", {{{"N", 2}, {"C", 2}, {"W", 5}}}},
    {"x: [N, C, H, W]  y = AveragePool(x) kernel_shape=[3, K] pads=[1, P, 2, Q] strides=[2, 1] dilations=[1, 2]",
     {{{"N", 2}, {"C", 2}, {"H", 4}, {"W", 5}, {"K", 2}, {"P", 1}, {"Q", 2}},
      {{"N", 1}, {"C", 1}, {"H", 1}, {"W", 7}, {"K", 3}, {"P", 0}, {"Q", 4}}}},
    {"x: [N, C, W]  y = AveragePool(x) kernel_shape=[K] pads=[P, P] count_include_pad=1",
     {{{"N", 2}, {"C", 2}, {"W", 4}, {"K", 3}, {"P", 2}}}},
    {"x: [N, C, W]  y = AveragePool(x) kernel_shape=[K]", {{{"N", 2}, {"C", 2}, {"W", 4}, {"K", 3}}}},
    {"x: [1, 2, 7]  y = AveragePool(x) kernel_shape=[3] strides=[2] pads=[1, 1] ceil_mode=1\n"
     "z = AveragePool(x) kernel_shape=[2] strides=[3] ceil_mode=1 count_include_pad=1\n"
     "u = AveragePool(x) kernel_shape=[4] strides=[3] pads=[2, 1] ceil_mode=1 count_include_pad=1\n"
     "v = AveragePool(x) kernel_shape=[2] strides=[4] pads=[0, 1] dilations=[2] ceil_mode=1",
     {{}}},
    {"x: [N, C, W]  y = AveragePool(x) kernel_shape=[3] strides=[2] ceil_mode=1 count_include_pad=1",
     {{{"N", 1}, {"C", 2}, {"W", 6}}, {{"N", 1}, {"C", 1}, {"W", 7}}}},
    {"x: [N, C, H, W]  y = MaxPool(x) kernel_shape=[3, K] pads=[1, P, 2, Q] strides=[2, 1] dilations=[1, 2]",
     {{{"N", 2}, {"C", 2}, {"H", 4}, {"W", 5}, {"K", 2}, {"P", 1}, {"Q", 2}},
      {{"N", 1}, {"C", 1}, {"H", 1}, {"W", 7}, {"K", 3}, {"P", 0}, {"Q", 4}}}},
    {"x: [N, C, W]  y = MaxPool(x) kernel_shape=[3] strides=[2] ceil_mode=1",
     {{{"N", 2}, {"C", 2}, {"W", 6}}, {{"N", 1}, {"C", 1}, {"W", 7}}}},
    {"x: [1, 2, 7]  y = MaxPool(x) kernel_shape=[2] strides=[3] pads=[1, 0] ceil_mode=1", {{}}},
    {"x: [(N A), C, H, W]  y = GlobalMaxPool(x)", {{{"N", 2}, {"A", 2}, {"C", 2}, {"H", 3}, {"W", 2}}}},
    {"x: [N, (A B), C]  y = ReduceMax(x) axes=[1]\nz = ReduceMax(x) axes=[2, 0] keepdims=0\nu = ReduceMax(x)",
     {{{"N", 2}, {"A", 2}, {"B", 3}, {"C", 2}}}},
    {"x: [(N A), C, 3, 5]  y = GlobalAveragePool(x)", {{{"N", 2}, {"A", 2}, {"C", 2}}}},
    {"x: [N, C, H, (A B)]  y = GlobalAveragePool(x)", {{{"N", 2}, {"A", 2}, {"B", 3}, {"C", 2}, {"H", 3}}}},
    {"x: [N, W, (A B)]  y = ReduceMean(x) axes=[1, 2]\nz = ReduceMean(x) axes=[0] keepdims=0",
     {{{"N", 2}, {"W", 3}, {"A", 2}, {"B", 2}}}},
    {"x: [N, (A B), C]  y = ReduceSum(x) axes=[1]\nz = ReduceSum(x) axes=[2, 0] keepdims=0\nu = ReduceSum(x) "
     "keepdims=0",
     {{{"N", 2}, {"A", 2}, {"B", 3}, {"C", 2}}}},
    {"x: [N, 3, 2]  y = ReduceMean(x) axes=[1, 2] keepdims=0", {{{"N", 2}}}},
    {"a: [M, K]  b: [K, N]  c: [N]  y = Gemm(a, b, c) alpha=0.5 beta=-2", {{{"M", 3}, {"K", 4}, {"N", 2}}}},
    {"a: [K, M]  b: [N, K]  c: [M, 1]  y = Gemm(a, b, c) transA=1 transB=1\nz = Gemm(a, b, c) transA=1 transB=1 "
     "alpha=0",
     {{{"M", 3}, {"K", 4}, {"N", 2}}}},
    {"x: [N, C, H, W]  y = Resize(x) scales=[1, 1, 1, 1, 2, 1, 3, 1]", {{{"N", 1}, {"C", 2}, {"H", 3}, {"W", 2}}}},
    {"x: [N, (A B), W]  y = Resize(x) scales=[1, 1, 1, 1, 2, 5] coordinate_transformation_mode=asymmetric "
     "nearest_mode=ceil",
     {{{"N", 1}, {"A", 2}, {"B", 2}, {"W", 11}}, {{"N", 1}, {"A", 1}, {"B", 1}, {"W", 3}}}},
    {"x: [N, 3W]  y = Resize(x) sizes=[N, 4W] nearest_mode=round_prefer_ceil",
     {{{"N", 2}, {"W", 1}}, {{"N", 1}, {"W", 5}}}},
    {"x: [N, W]  y = Resize(x) scales=[1, 1, 5, 3] nearest_mode=floor", {{{"N", 2}, {"W", 4}}, {{"N", 1}, {"W", 1}}}},
    {"x: [N, 4]  y = Resize(x) sizes=[N, 7] coordinate_transformation_mode=align_corners", {{{"N", 2}}}},
    {"x: [N, 4]  y = Resize(x) sizes=[N, 3] coordinate_transformation_mode=pytorch_half_pixel", {{{"N", 2}}}},
    {"x: [N, W]  y = Resize(x) sizes=[N, V]", {{{"N", 2}, {"W", 3}, {"V", 7}}, {{"N", 1}, {"W", 5}, {"V", 2}}}},
    {"x: [N, H, W]  y = Resize(x) sizes=[N, 2H, V] nearest_mode=ceil "
     "coordinate_transformation_mode=pytorch_half_pixel",
     {{{"N", 2}, {"H", 2}, {"W", 3}, {"V", 1}}, {{"N", 1}, {"H", 1}, {"W", 2}, {"V", 5}}}},
    {"x: [N, W]  y = Resize(x) sizes=[N, V] coordinate_transformation_mode=align_corners nearest_mode=floor",
     {{{"N", 2}, {"W", 3}, {"V", 1}}, {{"N", 1}, {"W", 4}, {"V", 7}}}},
    {"x: [N, W]  y = Resize(x) scales=[1, 1, 3, 2] coordinate_transformation_mode=half_pixel_symmetric "
     "nearest_mode=round_prefer_ceil",
     {{{"N", 2}, {"W", 3}}, {{"N", 1}, {"W", 4}}}},
    {"x: [N, 2W]  y = Resize(x) scales=[1, 1, 3, 2] coordinate_transformation_mode=half_pixel_symmetric",
     {{{"N", 2}, {"W", 3}}}},
    {"x: [N, H, W]  y = Resize(x) scales=[1, 1, 2, 1, 3, 2] mode=linear",
     {{{"N", 2}, {"H", 2}, {"W", 3}}, {{"N", 1}, {"H", 1}, {"W", 1}}}},
    {"x: [N, H, W]  y = Resize(x) sizes=[N, H, V] mode=linear coordinate_transformation_mode=asymmetric",
     {{{"N", 2}, {"H", 2}, {"W", 5}, {"V", 3}}}},
    {"x: [(A B), W]  y = Resize(x) scales=[1, 1, 1, 2] mode=linear coordinate_transformation_mode=half_pixel_symmetric",
     {{{"A", 2}, {"B", 2}, {"W", 5}}}},
    {"x: [N, H, W]  y = Resize(x) sizes=[N, G, V] mode=cubic",
     {{{"N", 1}, {"H", 4}, {"W", 3}, {"G", 3}, {"V", 7}}, {{"N", 2}, {"H", 1}, {"W", 2}, {"G", 2}, {"V", 1}}}},
    {"x: [N, W]  y = Resize(x) sizes=[N, V] mode=cubic cubic_coeff_a=-0.5 "
     "coordinate_transformation_mode=align_corners",
     {{{"N", 2}, {"W", 5}, {"V", 9}}}},
    {"x: [N, W]  y = Resize(x) scales=[1, 1, 4, 3] sizes=[N, V] mode=cubic "
     "coordinate_transformation_mode=pytorch_half_pixel",
     {{{"N", 2}, {"W", 5}, {"V", 6}}}},
    // CumSum
    {"x: [N, W]  y = CumSum(x) axis=1", {{{"N", 2}, {"W", 5}}, {{"N", 1}, {"W", 1}}}},
    {"x: [N, H, W]  y = CumSum(x) axis=1 exclusive=1", {{{"N", 2}, {"H", 4}, {"W", 3}}}},
    {"x: [N, W]  y = CumSum(x) axis=0 reverse=1", {{{"N", 4}, {"W", 2}}}},
    {"x: [N, W]  y = CumSum(x) axis=1 exclusive=1 reverse=1", {{{"N", 2}, {"W", 5}}}},
    // DFT
    {"x: [N, W, 2]  y = DFT(x) axis=1", {{{"N", 2}, {"W", 5}}, {{"N", 1}, {"W", 1}}}},
    {"x: [N, H, W, 2]  y = DFT(x) axis=1 inverse=1", {{{"N", 2}, {"H", 4}, {"W", 3}}}},
    {"x: [N, H, W, 1]  y = DFT(x) axis=1 onesided=1", {{{"N", 1}, {"H", 6}, {"W", 2}}, {{"N", 1}, {"H", 5}, {"W", 2}}}},
    {"x: [N, W, 1]  y = DFT(x) axis=0", {{{"N", 3}, {"W", 2}}}},
    // STFT
    {"x: [N, L]  w: [S]  y = STFT(x, w) frame_step=2",
     {{{"N", 2}, {"L", 9}, {"S", 4}}, {{"N", 1}, {"L", 5}, {"S", 5}}}},
    {"x: [N, L]  w: [S]  y = STFT(x, w) frame_step=3 onesided=0", {{{"N", 1}, {"L", 8}, {"S", 3}}}},
};

Program parsed(std::string_view text) {
  auto program = parseProgram(text, "case");
  EXPECT_TRUE(program) << (program ? "" : program.error().message()) << "\n" << text;
  return program ? *program : Program();
}

TEST(OpsAccess, SymbolicAndConcrete) {
  for (const Case& c : kCases) {
    Program program = parsed(c.program);
    for (const Bindings& shape : c.shapes) {
      EXPECT_TRUE(accessMatchesKernels(program, shape)) << c.program;
      std::map<std::string, Expr> by(shape.begin(), shape.end());
      auto concrete = program.substitute(by);
      ASSERT_TRUE(concrete) << c.program << "\n" << concrete.error().message();
      EXPECT_TRUE(accessMatchesKernels(*concrete, {})) << c.program << " put in";
    }
  }
}

/// What a composite operator is, by other operators.
const Case kComposites[] = {
    {"x: [N, W]  z: [W]  y = Div(x, z)", {{{"N", 2}, {"W", 3}}}},
    {"c: [N, W]  x: [W]  z: [N, 1]  y = Where(c, x, z)", {{{"N", 4}, {"W", 5}}}},
    {"x: [N, W]  z: [N, 1]  y = Greater(x, z)", {{{"N", 4}, {"W", 5}}}},
    {"x: [N, 2, W]  y = ArgMax(x) axis=1\nz = ArgMax(x) axis=1 keepdims=0 select_last_index=1", {{{"N", 4}, {"W", 5}}}},
    {"x: [N, 2]  i = ArgMax(x) axis=1 keepdims=0\ny = OneHot(i) depth=H", {{{"N", 9}, {"H", 1}}, {{"N", 9}, {"H", 4}}}},
    {"x: [N, 2]  i = ArgMax(x) axis=1 keepdims=0\nd = Constant() value=2\nj = Sub(i, d)\ny = OneHot(j) depth=H "
     "negative=1",
     {{{"N", 9}, {"H", 1}}, {{"N", 9}, {"H", 4}}}},
    {"x: [N, 2]  t: [W, 3]  i = ArgMax(x) axis=1 keepdims=0\ny = Lookup(i, t)",
     {{{"N", 9}, {"W", 2}}, {{"N", 9}, {"W", 5}}}},
    {"x: [N, 2]  t: [W, 3]  i = ArgMax(x) axis=1\nd = Constant() value=2\nj = Sub(i, d)\ny = Lookup(j, t) negative=2",
     {{{"N", 9}, {"W", 4}}, {{"N", 9}, {"W", 7}}}},
    {"x: [N, W, H]  y = Softmax(x) axis=1\nz = Softmax(x) axis=2", {{{"N", 2}, {"W", 3}, {"H", 2}}}},
    {"x: [N, (A B)]  y = Softmax(x) axis=1", {{{"N", 2}, {"A", 3}, {"B", 2}}}},
    {"x: [N, W]  z: [W]  b = Exp(z)\ny = Exponential(x, b)", {{{"N", 2}, {"W", 3}}}},
    {"x: [N, W, H]  y = LogSoftmax(x) axis=1", {{{"N", 2}, {"W", 3}, {"H", 2}}}},
    {"x: [N, C]  s: [C]  b: [C]  m: [C]  v: [C]  q = Mul(v, v)\ny = BatchNormalization(x, s, b, m, q)",
     {{{"N", 2}, {"C", 3}}}},
    {"x: [N, C, H, W]  s: [C]  b: [C]  m: [C]  v: [C]  q = Mul(v, v)\ny = BatchNormalization(x, s, b, m, q) "
     "epsilon=0.5",
     {{{"N", 2}, {"C", 3}, {"H", 2}, {"W", 2}}}},
    {"x: [N, C, H, W]  s: [C]  b: [C]  y = InstanceNormalization(x, s, b) epsilon=0.25",
     {{{"N", 2}, {"C", 3}, {"H", 2}, {"W", 3}}}},
    {"x: [N, H, W]  s: [H, W]  b: [H, W]  y = LayerNormalization(x, s, b) axis=1 epsilon=0.125",
     {{{"N", 2}, {"H", 2}, {"W", 3}}}},
    {"x: [N, H, W]  s: [W]  y = LayerNormalization(x, s) axis=2", {{{"N", 2}, {"H", 2}, {"W", 3}}}},
    {"x: [N, H, W]  s: [H, W]  y = RMSNormalization(x, s) axis=1 epsilon=0.125", {{{"N", 2}, {"H", 2}, {"W", 3}}}},
    {"x: [N, C, H, W]  y = LRN(x) size=2P + 1 alpha=0.5 bias=2",
     {{{"N", 2}, {"C", 5}, {"H", 2}, {"W", 3}, {"P", 1}}, {{"N", 1}, {"C", 2}, {"H", 1}, {"W", 1}, {"P", 3}}}},
    {"x: [N, C]  y = LRN(x) size=4 alpha=3 beta=1.5", {{{"N", 2}, {"C", 6}}}},
    {"x: [N, W]  q = Mul(x, x)\ny = Pow(q) exponent=0.75", {{{"N", 2}, {"W", 3}}}},
    {"x: [N, W]  q = Mul(x, x)\ny = Pow(q) exponent=-3.5", {{{"N", 2}, {"W", 3}}}},
    {"x: [N, W]  y = Pow(x) exponent=4", {{{"N", 2}, {"W", 3}}}},
    {"x: [N, C, W]  y = ReduceL2(x) axes=[1] keepdims=0", {{{"N", 2}, {"C", 3}, {"W", 4}}}},
};

TEST(OpsAccess, CompositesAreWhatTheyAreMadeOf) {
  for (const Case& c : kComposites) {
    Program program = parsed(c.program);
    auto lowered = lower(program);
    ASSERT_TRUE(lowered) << lowered.error().message();
    for (const Node& n : lowered->nodes())
      EXPECT_EQ(n.op->lower, nullptr) << n.op->name << " is left in " << c.program;
    for (const Bindings& shape : c.shapes) {
      std::mt19937_64 random(3);
      std::map<std::string, Tensor<double>> inputs;
      for (Value v : program.inputs())
        inputs[program.name(v)] = randomNumbers(*evaluate(program.shape(v), shape), random);
      if (inputs.contains("c")) inputs["c"].data[1] = inputs["c"].data[2] = 0;
      auto want = evaluate<double>(program, shape, inputs), got = evaluate<double>(*lowered, shape, inputs);
      ASSERT_TRUE(want && got) << c.program << "\n" << (want ? got : want).error().message();
      ASSERT_EQ((*got)[0].extents, (*want)[0].extents) << c.program;
      for (size_t i = 0; i < (*want)[0].data.size(); ++i)
        ASSERT_NEAR((*got)[0].data[i], (*want)[0].data[i], 1e-9 * (1 + std::abs((*want)[0].data[i]))) << c.program;
    }
  }
}

TEST(OpsAccess, EveryRowOccurs) {
  std::set<std::string_view> related, composite;
  for (const Case& c : kCases) {
    Program program = parsed(c.program);
    for (const Node& n : program.nodes())
      related.insert(n.op->name);
  }
  for (const Case& c : kComposites)
    composite.insert(parsed(c.program).nodes().back().op->name);
  for (const OpRow* row : operatorTable()) {
    EXPECT_TRUE(!row->access || related.contains(row->name)) << row->name;
    EXPECT_TRUE(!row->lower || composite.contains(row->name)) << row->name;
    EXPECT_EQ(row->access || row->lower, row->meaning != Meaning::kFunction && row->name != "Input") << row->name;
  }
}

// -inf is no element of F_p: the positions of a fill.
TEST(OpsAccess, MinusInfinityIsWhereTheKernelHasIt) {
  Program program = parsed("x: [N, W]  y = Pad(x) pads=[0, P, 1, -1] value=-inf");
  Bindings shape{{"N", 2}, {"W", 3}, {"P", 2}};
  const Node& node = program.nodes().back();
  std::vector<Shape> shapes{program.shape(node.operands[0])};
  auto access = accessOf(node, {node.attributes, shapes, node.shapes}, 0, shape);
  ASSERT_TRUE(access) << access.error().message();
  EXPECT_TRUE(testing_support::copiesOnce(*node.op, *access, shape));
  auto y = evaluate<double>(program, shape, {{"x", Tensor<double>({2, 3})}});
  std::vector<testing_support::CompiledPiece> fills;
  for (const AccessPiece& piece : access->pieces) {
    if (piece.minusInfinity) fills.emplace_back(piece, access->digits, shape);
  }
  testing_support::eachPosition(access->extents, [&](const std::vector<int64_t>& position, size_t i) {
    int64_t holding = 0;
    for (auto& piece : fills)
      holding += piece.points(position, access->atoms);
    EXPECT_EQ(holding == 1, std::isinf((*y)[0].data[i])) << str(Extents(position));
    return true;
  });
}

TEST(OpsAccess, UnknownIsSaid) {
  for (std::string_view text : {
           "x: [N, C, (A B)]  y = AveragePool(x) kernel_shape=[3] pads=[1, 1]",
           "x: [N, C, (A B)]  y = MaxPool(x) kernel_shape=[3] pads=[1, 1]",
           "c = Constant() value=inf",
           "a: [N, W]  b: [W, N]  y = Gemm(a, b) alpha=0.3",
           "x: [N, C, 3, (A B K)]  w: [C, C, 1, 3]  y = Conv(x, w) pads=[0, 1, 0, 1]",
       }) {
    Program program = parsed(text);
    const Node& node = program.nodes().back();
    std::vector<Shape> shapes;
    for (Value v : node.operands)
      shapes.push_back(program.shape(v));
    Index at;
    for (const Dim& d : node.shapes[0])
      at.emplace_back(d.atoms().size(), Expr::variable("v"));
    NameSource names;
    auto access = node.op->access({node.attributes, shapes, node.shapes}, 0, at, names);
    ASSERT_FALSE(access) << text;
    EXPECT_EQ(access.error().kind, ErrorKind::kUnsupported) << text;
  }
}

/// The constants of a Resize, one for each dimension that is resized.
std::vector<ConstantRead> constantsOf(std::string_view text) {
  Program program = parsed(text);
  const Node& node = program.nodes().back();
  std::vector<Shape> shapes{program.shape(node.operands[0])};
  auto access = accessOf(node, {node.attributes, shapes, node.shapes}, 0, {{"W", 3}, {"V", 5}});
  return access && !access->pieces.empty() ? access->pieces[0].constants : std::vector<ConstantRead>{};
}

TEST(OpsAccess, ResamplingMatricesAreToldApart) {
  // Each two of these differ for some shape.
  const std::string_view different[] = {
      "x: [W]  y = Resize(x) sizes=[V]",
      "x: [W]  y = Resize(x) sizes=[V] nearest_mode=floor",
      "x: [W]  y = Resize(x) sizes=[V] coordinate_transformation_mode=asymmetric",
      "x: [W]  y = Resize(x) sizes=[V] coordinate_transformation_mode=pytorch_half_pixel",
      "x: [W]  y = Resize(x) sizes=[V] coordinate_transformation_mode=align_corners",
      "x: [W]  y = Resize(x) sizes=[V] mode=linear",
      "x: [W]  y = Resize(x) sizes=[V] mode=linear scales=[2, 1]",
      "x: [W]  y = Resize(x) sizes=[V] mode=linear scales=[2, 1] coordinate_transformation_mode=half_pixel_symmetric",
      "x: [W]  y = Resize(x) sizes=[V] mode=linear scales=[3, 1]",
      "x: [W]  y = Resize(x) sizes=[2W] mode=linear",
      "x: [W + 1]  y = Resize(x) sizes=[V] mode=linear",
      "x: [W]  y = Resize(x) sizes=[V] mode=cubic",
      "x: [W]  y = Resize(x) sizes=[V] mode=cubic cubic_coeff_a=-0.5",
  };
  std::set<std::pair<std::string, std::vector<Expr>>> seen;
  for (std::string_view text : different) {
    auto constants = constantsOf(text);
    ASSERT_EQ(constants.size(), 1U) << text;
    EXPECT_TRUE(seen.emplace(constants[0].key, constants[0].parameters).second) << text;
  }
  // What a mode does not look at does not tell them apart.
  const std::pair<std::string_view, std::string_view> same[] = {
      {"x: [W]  y = Resize(x) sizes=[2W] mode=linear", "x: [W]  y = Resize(x) scales=[4, 2] mode=linear"},
      {"x: [W]  y = Resize(x) sizes=[2W] mode=linear",
       "x: [W]  y = Resize(x) sizes=[2W] mode=linear nearest_mode=ceil"},
      {"x: [W]  y = Resize(x) sizes=[2W] mode=linear",
       "x: [W]  y = Resize(x) sizes=[2W] mode=linear cubic_coeff_a=-0.5"},
      {"x: [W]  y = Resize(x) sizes=[V] coordinate_transformation_mode=align_corners",
       "x: [W]  y = Resize(x) sizes=[V] scales=[2, 1] coordinate_transformation_mode=align_corners"},
  };
  for (const auto& [one, other] : same) {
    auto a = constantsOf(one), b = constantsOf(other);
    ASSERT_TRUE(a.size() == 1 && b.size() == 1) << one;
    EXPECT_EQ(a[0].key, b[0].key);
    EXPECT_EQ(a[0].parameters, b[0].parameters) << one << "\n" << other;
  }
}

// The check itself: a relation that is wrong in one place is found.
TEST(OpsAccess, WrongRelationsAreFound) {
  using Access = Expected<std::vector<AccessPiece>> (*)(const OpView&, int, const Index&, NameSource&);
  auto piece = [](Expr at, std::vector<Constraint> domain, int64_t coefficient = 1) {
    return std::vector<AccessPiece>{
        {.coefficient = {coefficient, 1}, .domain = std::move(domain), .reads = {{0, {{at}}}}}};
  };
  static const auto make = piece;
  const Access wrong[] = {
      [](const OpView&, int, const Index& at, NameSource&) -> Expected<std::vector<AccessPiece>> {
        return make(at[0][0], {}, 2);
      },
      [](const OpView&, int, const Index& at, NameSource&) -> Expected<std::vector<AccessPiece>> {
        return make(at[0][0], {Constraint::le(at[0][0], 2)});
      },
      [](const OpView&, int, const Index& at, NameSource&) -> Expected<std::vector<AccessPiece>> {
        return make(at[0][0] + 1, {});
      },
      [](const OpView& v, int, const Index& at, NameSource&) -> Expected<std::vector<AccessPiece>> {
        return make(v.operands[0][0].affine() - 1 - at[0][0], {});
      },
      [](const OpView&, int, const Index& at, NameSource&) -> Expected<std::vector<AccessPiece>> {
        return std::vector<AccessPiece>{{.reduction = {"k"}, .reads = {{0, {{at[0][0]}}}}}};
      },
  };
  for (Access access : wrong) {
    OpRow row = *findOp("Identity");
    row.access = access;
    ProgramBuilder builder;
    Value x = builder.input("x", {Expr::variable("N")});
    auto y = builder.add(row, {x});
    EXPECT_FALSE(accessMatchesKernels(std::move(builder).finish({*y}), {{"N", 4}}));
  }
}

}  // namespace
}  // namespace pet::ops_access_test
