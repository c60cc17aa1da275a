// The models that engines of ours are for, small, and forms that rules rewrite them to.
#pragma once

#include <cmath>
#include <string>

#include "ir/text.h"
#include "runtime/draw.h"
#include "runtime/reference/reference.h"

namespace pet::testing_support {

struct EngineModel {
  std::string name, text;
};

inline const EngineModel kEngineModels[] = {
    {"SRCNN",
     "x: [1, 1, 20, 22]\n w1: const [64, 1, 9, 9]\n w2: const [32, 64, 1, 1]\n w3: const [1, 32, 5, 5]\n b: const [1, "
     "64, 1, 1]\n"
     "c1 = Conv(x, w1) pads=[4, 4, 4, 4]\n a1 = Add(c1, b)\n r1 = Relu(a1)\n c2 = Conv(r1, w2)\n r2 = Relu(c2)\n"
     "y = Conv(r2, w3) pads=[2, 2, 2, 2]"},
    {"CSRNet",
     "x: [1, 3, 16, 20]\n w1: const [32, 3, 3, 3]\n w2: const [32, 32, 3, 3]\n w3: const [64, 32, 3, 3]\n w4: const "
     "[1, 64, 1, 1]\n"
     "c1 = Conv(x, w1) pads=[1, 1, 1, 1]\n r1 = Relu(c1)\n c2 = Conv(r1, w2) pads=[1, 1, 1, 1]\n r2 = Relu(c2)\n"
     "p = MaxPool(r2) kernel_shape=[2, 2] strides=[2, 2]\n c3 = Conv(p, w3) pads=[2, 2, 2, 2] dilations=[2, 2]\n r3 = "
     "Relu(c3)\n"
     "y = Conv(r3, w4)"},
    {"R3D-18",
     "x: [1, 3, 4, 12, 12]\n w0: const [16, 3, 3, 7, 7]\n w1: const [16, 16, 3, 3, 3]\n w2: const [32, 16, 3, 3, 3]\n"
     "d: const [32, 16, 1, 1, 1]\n s: const [16]\n o: const [16]\n m: const [16]\n v: const [16]\n z = Square(v)\n"
     "c0 = Conv(x, w0) strides=[1, 2, 2] pads=[1, 3, 3, 1, 3, 3]\n n0 = BatchNormalization(c0, s, o, m, z)\n r0 = "
     "Relu(n0)\n"
     "c1 = Conv(r0, w1) pads=[1, 1, 1, 1, 1, 1]\n r1 = Relu(c1)\n c2 = Conv(r1, w1) pads=[1, 1, 1, 1, 1, 1]\n a = "
     "Add(c2, r0)\n"
     "r2 = Relu(a)\n c3 = Conv(r2, w2) strides=[2, 2, 2] pads=[1, 1, 1, 1, 1, 1]\n e = Conv(r2, d) strides=[2, 2, 2]\n"
     "f = Add(c3, e)\n r3 = Relu(f)\n y = GlobalAveragePool(r3)"},
    {"VGG-16",
     "x: [1, 3, 16, 16]\n w1: const [32, 3, 3, 3]\n w2: const [32, 32, 3, 3]\n k: const [40, 2048]\n b: const [40]\n"
     "c1 = Conv(x, w1) pads=[1, 1, 1, 1]\n r1 = Relu(c1)\n c2 = Conv(r1, w2) pads=[1, 1, 1, 1]\n r2 = Relu(c2)\n"
     "p = MaxPool(r2) kernel_shape=[2, 2] strides=[2, 2]\n f = Flatten(p) axis=1\n g = Gemm(f, k, b) transB=1\n y = "
     "Relu(g)"},
    {"ResNet-18",
     "x: [2, 3, 32, 32]\n w0: const [32, 3, 7, 7]\n w1: const [32, 32, 3, 3]\n w2: const [64, 32, 3, 3]\n w3: const "
     "[64, 64, 3, 3]\n"
     "d: const [64, 32, 1, 1]\n k: const [64, 10]\n"
     "c0 = Conv(x, w0) strides=[2, 2] pads=[3, 3, 3, 3]\n r0 = Relu(c0)\n"
     "p0 = MaxPool(r0) kernel_shape=[3, 3] strides=[2, 2] pads=[1, 1, 1, 1]\n c1 = Conv(p0, w1) pads=[1, 1, 1, 1]\n r1 "
     "= Relu(c1)\n"
     "c2 = Conv(r1, w1) pads=[1, 1, 1, 1]\n a2 = Add(c2, p0)\n r2 = Relu(a2)\n c3 = Conv(r2, w2) strides=[2, 2] "
     "pads=[1, 1, 1, 1]\n"
     "r3 = Relu(c3)\n c4 = Conv(r3, w3) pads=[1, 1, 1, 1]\n e = Conv(r2, d) strides=[2, 2]\n a4 = Add(c4, e)\n r4 = "
     "Relu(a4)\n"
     "g = GlobalAveragePool(r4)\n f = Flatten(g)\n y = MatMul(f, k)"},
    {"Network in Network",
     "x: [1, 3, 16, 16]\n w1: const [24, 3, 5, 5]\n w2: const [20, 24, 1, 1]\n w3: const [10, 20, 1, 1]\n"
     "c1 = Conv(x, w1) pads=[2, 2, 2, 2]\n r1 = Relu(c1)\n c2 = Conv(r1, w2)\n r2 = Relu(c2)\n"
     "p = AveragePool(r2) kernel_shape=[3, 3] strides=[2, 2] ceil_mode=1\n c3 = Conv(p, w3)\n g = "
     "GlobalAveragePool(c3)\n"
     "f = Flatten(g)\n y = Softmax(f) axis=1"},
    {"DenseNet-121",
     "x: [1, 32, 8, 8]\n s1: const [32]\n s2: const [48]\n w1: const [64, 32, 1, 1]\n w2: const [16, 64, 3, 3]\n k1: "
     "const [64, 48, 1, 1]\n"
     "t: const [24, 64, 1, 1]\n v1 = Square(s1)\n v2 = Square(s2)\n"
     "n1 = BatchNormalization(x, s1, s1, s1, v1)\n r1 = Relu(n1)\n c1 = Conv(r1, w1)\n q1 = Relu(c1)\n"
     "d1 = Conv(q1, w2) pads=[1, 1, 1, 1]\n h1 = Concat(x, d1) axis=1\n n2 = BatchNormalization(h1, s2, s2, s2, v2)\n "
     "r2 = Relu(n2)\n"
     "c2 = Conv(r2, k1)\n q2 = Relu(c2)\n d2 = Conv(q2, w2) pads=[1, 1, 1, 1]\n h2 = Concat(h1, d2) axis=1\n e = "
     "Conv(h2, t)\n"
     "y = AveragePool(e) kernel_shape=[2, 2] strides=[2, 2]"},
    {"fast neural style",
     "x: [1, 3, 12, 14]\n w1: const [32, 3, 9, 9]\n w2: const [32, 32, 3, 3]\n w3: const [3, 32, 9, 9]\n"
     "p1 = Pad(x) pads=[0, 0, 4, 4, 0, 0, 4, 4] mode=reflect\n c1 = Conv(p1, w1)\n r1 = Relu(c1)\n"
     "p2 = Pad(r1) pads=[0, 0, 1, 1, 0, 0, 1, 1] mode=reflect\n c2 = Conv(p2, w2)\n a = Add(c2, r1)\n"
     "u = Resize(a) scales=[1, 1, 1, 1, 2, 1, 2, 1] coordinate_transformation_mode=asymmetric nearest_mode=floor\n"
     "p3 = Pad(u) pads=[0, 0, 4, 4, 0, 0, 4, 4] mode=reflect\n y = Conv(p3, w3)"},
    {"U-Net",
     "x: [1, 4, 12, 16]\n w1: const [32, 4, 3, 3]\n w2: const [32, 32, 3, 3]\n w3: const [32, 64, 3, 3]\n w4: const "
     "[2, 32, 1, 1]\n"
     "c1 = Conv(x, w1) pads=[1, 1, 1, 1]\n r1 = Relu(c1)\n d = MaxPool(r1) kernel_shape=[2, 2] strides=[2, 2]\n"
     "c2 = Conv(d, w2) pads=[1, 1, 1, 1]\n r2 = Relu(c2)\n"
     "u = Resize(r2) scales=[1, 1, 1, 1, 2, 1, 2, 1] coordinate_transformation_mode=asymmetric nearest_mode=floor\n"
     "j = Concat(r1, u) axis=1\n c3 = Conv(j, w3) pads=[1, 1, 1, 1]\n r3 = Relu(c3)\n y = Conv(r3, w4)"},
    {"sliding-window attention",
     "x: [2, 24, 32]\n wq: const [32, 32]\n wk: const [32, 32]\n wv: const [32, 32]\n f = Constant() value=-1e4\n g = "
     "Constant() value=0.125\n"
     "q0 = MatMul(x, wq)\n k0 = MatMul(x, wk)\n v0 = MatMul(x, wv)\n q = Layout(q0) n t (h 8) -> n h t 8\n"
     "k = Layout(k0) n t (h 8) -> n h 8 t\n v = Layout(v0) n t (h 8) -> n h t 8\n a = MatMul(q, k)\n s = Mul(a, g)\n"
     "b = Band() shape=[24, 24] lower=4 upper=4\n m = Where(b, s, f)\n p = Softmax(m) axis=3\n o = MatMul(p, v)\n"
     "y = Layout(o) n h t 8 -> n t (h 8)"},
    {"Conformer's convolution",
     "x: [2, 20, 16]\n s: const [16]\n o: const [16]\n w1: const [32, 16, 1]\n w2: const [16, 1, 7]\n w3: const [16, "
     "16, 1]\n"
     "v = Square(s)\n n = LayerNormalization(x, s, o) axis=2\n t = Transpose(n) perm=[0, 2, 1]\n c1 = Conv(t, w1)\n"
     "a, b = Split(c1) axis=1 split=[16, 16]\n g = Sigmoid(b)\n u = Mul(a, g)\n c2 = Conv(u, w2) pads=[3, 3] group=16\n"
     "m = BatchNormalization(c2, s, o, s, v)\n h = Sigmoid(m)\n i = Mul(m, h)\n c3 = Conv(i, w3)\n r = Transpose(c3) "
     "perm=[0, 2, 1]\n"
     "y = Add(r, x)"},
    // What rules make of them.
    {"winograd in graph operators",
     "x: [1, 8, 12, 12]\n b: const [16, 1, 4, 4]\n u: const [16, 12, 8]\n a: const [4, 16]\n"
     "p = Pad(x) pads=[0, 0, 1, 1, 0, 0, 1, 1]\n f = Layout(p) n c h w -> (n c) 1 h w\n d = Conv(f, b) strides=[2, 2]\n"
     "e = Layout(d) (1 8) (t) i j -> t 8 (1 i j)\n m = MatMul(u, e)\n g = Layout(m) t k (n 6 6) -> n (t) k 6 6\n"
     "h = Transpose(g) perm=[0, 2, 3, 4, 1]\n q = Transpose(a) perm=[1, 0]\n o = MatMul(h, q)\n r = Transpose(o) "
     "perm=[0, 1, 4, 2, 3]\n"
     "s = Layout(r) n k t i j -> n (k t) i j\n y = DepthToSpace(s) blocksize=2 mode=CRD"},
    {"phases side by side",
     "x: [1, 32, 8, 12]\n w: const [32, 32, 3, 3]\n t = Layout(x) n c (h 2) (w 2) -> n c (2 h) (2 w)\n"
     "u = Conv(t, w) pads=[1, 1, 1, 1]\n v = Layout(u) n f (2 h) (2 w) -> n f (h 2) (w 2)\n y = Relu(v)"},
    {"images side by side, the seam corrected",
     "x: [2, 32, 8, 9]\n w: const [32, 32, 3, 3]\n t = Layout(x) (n 2) c h w -> n c h (2 w)\n u = Conv(t, w) pads=[1, "
     "1, 1, 1]\n"
     "s = Slice(t) axes=[3] starts=[7] ends=[9]\n e = Conv(s, w) pads=[1, 0, 1, 1]\n f = Slice(e) axes=[3] starts=[0] "
     "ends=[1]\n"
     "s2 = Slice(t) axes=[3] starts=[9] ends=[11]\n e2 = Conv(s2, w) pads=[1, 1, 1, 0]\n a = Slice(u) axes=[3] "
     "starts=[0] ends=[8]\n"
     "b = Slice(u) axes=[3] starts=[10] ends=[18]\n c = Concat(a, f, e2, b) axis=3\n y = Layout(c) n f h (2 w) -> (n "
     "2) f h w"},
    {"conv as product and offsets",
     "x: [1, 8, 9, 10]\n w: const [18, 8]\n f = Layout(x) n c h w -> n c (h w)\n t = MatMul(w, f)\n"
     "g = Layout(t) n k (9 10) -> n k 9 10\n y = OffsetReduce(g) kernel_shape=[3, 3] pads=[1, 1, 1, 1]"},
};

/// Real numbers, in the range that they have in models.
inline TensorMap drawModel(const Program& program) {
  TensorMap tensors;
  for (Value v : program.inputs()) {
    Extents extents = *evaluate(program.shape(v), {});
    Tensor<float> t = drawReal(Draw(5, program.name(v)), extents);
    // Kernels by their fan-in, so that values keep their range.
    double fan = extents.size() > 1 ? static_cast<double>(elementCount(extents)) / static_cast<double>(extents[0]) : 1;
    bool weight = program.node(v).scalar("constant") != Expr(0);
    for (float& x : t.data)
      x = weight ? static_cast<float>(x * std::sqrt(2 / fan)) : x;
    tensors.emplace(program.name(v), std::move(t));
  }
  return tensors;
}

}  // namespace pet::testing_support
