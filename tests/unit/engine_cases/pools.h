// Pools and reductions, and what follows them.
#pragma once

#include "tests/unit/engine_cases/engine_case.h"

namespace pet::testing_support {

inline const EngineCase kPools[] = {
    {"max pool", "x: [2, 3, 9, 8]\n y = MaxPool(x) kernel_shape=[3, 2] strides=[2, 2] pads=[1, 1, 1, 0]"},
    {"max pool, few channels",
     "x: [2, 3, 9, 50]\n y = MaxPool(x) kernel_shape=[3, 2] strides=[2, 2] pads=[1, 1, 1, 0]"},
    {"max pool 1-d, few channels", "x: [2, 3, 90]\n y = MaxPool(x) kernel_shape=[3] dilations=[2] pads=[2, 2]"},
    {"max pool 3-d, few channels",
     "x: [1, 2, 5, 6, 40]\n y = MaxPool(x) kernel_shape=[2, 2, 3] strides=[2, 2, 1] pads=[1, 0, 1, 0, 1, 1]"},
    {"max pool, few channels, ceiling",
     "x: [1, 2, 10, 20]\n y = MaxPool(x) kernel_shape=[3, 3] strides=[2, 2] ceil_mode=1"},
    {"max pool, dilated", "x: [2, 3, 9, 8]\n y = MaxPool(x) kernel_shape=[2, 2] dilations=[2, 3]"},
    {"max pool, ceiling", "x: [2, 3, 9, 8]\n y = MaxPool(x) kernel_shape=[3, 3] strides=[2, 2] ceil_mode=1"},
    {"average pool", "x: [2, 3, 9, 8]\n y = AveragePool(x) kernel_shape=[2, 2] strides=[2, 1] pads=[1, 1, 0, 1]", 1e-6},
    {"average pool, pads count",
     "x: [2, 3, 9, 8]\n"
     "y = AveragePool(x) kernel_shape=[2, 2] pads=[1, 1, 0, 1] count_include_pad=1",
     1e-6},
    {"pool of a conv",
     "x: [1, 4, 9, 8]\n w: const [6, 4, 3, 3]\n t = Conv(x, w)\n"
     "y = MaxPool(t) kernel_shape=[2, 2] strides=[2, 2]"},
    {"pool 1-d", "x: [2, 3, 9]\n y = MaxPool(x) kernel_shape=[3]"},
    {"pool 3-d", "x: [2, 3, 5, 6, 4]\n y = MaxPool(x) kernel_shape=[2, 2, 2] strides=[2, 2, 2]"},
    {"global average", "x: [2, 3, 9, 8]\n y = GlobalAveragePool(x)", 1e-6},
    {"global max", "x: [2, 3, 9, 8]\n y = GlobalMaxPool(x)"},
    {"reduce sum", "x: [2, 3, 9, 8]\n y = ReduceSum(x) axes=[1, 3]"},
    {"reduce mean", "x: [2, 3, 9, 8]\n y = ReduceMean(x) axes=[2] keepdims=0", 1e-6},
    {"reduce sum of few", "x: [3, 9, 8, 2]\n y = ReduceSum(x) axes=[3] keepdims=0"},
    {"reduce sum of few along two dimensions", "x: [9, 2, 8, 3]\n y = ReduceSum(x) axes=[1, 3] keepdims=1"},
    {"reduce mean of few", "x: [4, 3, 7, 5]\n y = ReduceMean(x) axes=[1]", 1e-6},
    {"reduce sum of few of what is padded",
     "x: [3, 9, 8, 2]\n t = Pad(x) pads=[0, 0, 0, 0, 0, 1, 0, 1] value=2\n y = ReduceSum(t) axes=[3] keepdims=0"},
    {"reduce sum of few with channels last",
     "x: [1, 8, 9, 8]\n w: const [4, 8, 3, 3]\n t = Conv(x, w)\n y = ReduceSum(t) axes=[1] keepdims=0"},
    {"sum of a stack",
     "a: [2, 5, 4, 1]\n b: [2, 5, 4, 1]\n c: const [2, 5, 4, 1]\n s = Concat(a, b, c) axis=3\n y = ReduceSum(s) "
     "axes=[3] keepdims=0"},
    {"sum of a stack, its dimension kept, of what lies otherwise",
     "a: [4, 5, 2]\n b: [1, 2, 5, 3]\n t = Transpose(a) perm=[2, 1, 0]\n u = Unsqueeze(t) axes=[0]\n"
     "v = Pad(b) pads=[0, 0, 0, 0, 0, 0, 0, 1] value=3\n s = Concat(u, v) axis=0\n y = ReduceSum(s) axes=[0] "
     "keepdims=1"},
    {"sum of a stack that is read elsewhere",
     "a: [2, 5, 1]\n b: [2, 5, 1]\n s = Concat(a, b) axis=2\n y = ReduceSum(s) axes=[2] keepdims=0\n z = Neg(s)\n "
     "return y, z"},
    {"sum along a stack of more than one",
     "a: [2, 5, 1]\n b: [2, 5, 2]\n s = Concat(a, b) axis=2\n y = ReduceSum(s) axes=[2] keepdims=0"},
    {"reduce max", "x: [2, 3, 9, 8]\n y = ReduceMax(x) axes=[]"},
    {"reduce max along channels", "x: [2, 3, 9, 8]\n y = ReduceMax(x) axes=[1]"},
    {"norm along channels", "x: [2, 20, 9, 7]\n y = ReduceL2(x) axes=[1] keepdims=1", 1e-5},
    {"norm along rows", "x: [2, 3, 40]\n y = ReduceL2(x) axes=[2] keepdims=0", 1e-5},
    {"reduce max along rows", "x: [2, 3, 9, 40]\n y = ReduceMax(x) axes=[0, 3] keepdims=1"},
    // Pools and reductions with what follows them, from t on.
    {"max pool and a function",
     "x: [2, 3, 9, 8]\n t = MaxPool(x) kernel_shape=[3, 2] strides=[2, 2] pads=[1, 1, 1, 0]\n y = LeakyRelu(t) "
     "alpha=0.25"},
    {"max pool, scaled, shifted, a sum and a function",
     "x: [2, 3, 9, 8]\n z: [2, 3, 7, 8]\n s: const [3, 1, 1]\n b: const [1, 3, 1, 1]\n k = Transpose(z) perm=[0, 1, 3, "
     "2]\n"
     "t = MaxPool(x) kernel_shape=[2, 2] pads=[0, 0, 0, 0]\n u = Mul(t, s)\n v = Add(u, b)\n r = Add(v, k)\n y = "
     "Relu(r)"},
    {"max pool and a sum with what is padded",
     "x: [1, 2, 6]\n z: [1, 2, 3]\n p = Pad(z) pads=[0, 0, 0, 0, 0, 1] value=2\n t = MaxPool(x) kernel_shape=[3]\n"
     "y = Add(t, p)"},
    {"average pool, normalised",
     "x: [2, 3, 9, 8]\n g: const [3]\n b: const [3]\n m: const [3]\n v: const [3]\n"
     "t = AveragePool(x) kernel_shape=[2, 2] strides=[2, 1] pads=[1, 1, 0, 1]\n"
     "u = BatchNormalization(t, g, b, m, v) epsilon=10\n y = Relu(u)",
     1e-5},
    {"global average, scaled and a function",
     "x: [2, 3, 9, 8]\n s: const [1, 3, 1, 1]\n t = GlobalAveragePool(x)\n u = Mul(t, s)\n y = Sigmoid(u)", 1e-6},
    {"global max and a sum", "x: [2, 3, 9, 8]\n z: [2, 3, 1, 1]\n t = GlobalMaxPool(x)\n y = Add(t, z)"},
    {"reduce mean, a number, a root",
     "x: [2, 3, 9, 8]\n e: const [1]\n s = Square(x)\n t = ReduceMean(s) axes=[3]\n q = Square(e)\n u = Add(t, q)\n "
     "y = Sqrt(u)",
     1e-5},
    {"reduce max, a scale for each of the last, a sum and a function",
     "x: [2, 3, 9, 8]\n s: const [9]\n z: [2, 9]\n t = ReduceMax(x) axes=[1, 3] keepdims=0\n u = Mul(t, s)\n"
     "v = Add(u, z)\n y = Clip(v) min=-3 max=5"},
    {"reduce sum over a map, a scale for each channel",
     "x: [2, 3, 9, 8]\n s: const [1, 3, 1, 1]\n t = ReduceSum(x) axes=[2, 3]\n u = Mul(t, s)\n y = Neg(u)"},
    {"reduce sum of all and a function", "x: [2, 3, 4]\n t = ReduceSum(x) axes=[] keepdims=0\n y = Neg(t)"},
};

}  // namespace pet::testing_support
