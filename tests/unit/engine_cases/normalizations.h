// Normalisations.
#pragma once

#include "tests/unit/engine_cases/engine_case.h"

namespace pet::testing_support {

inline const EngineCase kNormalizations[] = {
    {"softmax", "x: [2, 3, 9]\n y = Softmax(x) axis=2", 1e-6},
    {"softmax, other axis", "x: [2, 3, 9]\n y = Softmax(x) axis=1", 1e-6},
    {"softmax, scale, shift and a function",
     "x: [2, 3, 9]\n s: const [9]\n b: const [9]\n t = Softmax(x) axis=1\n u = Mul(t, s)\n v = Add(u, b)\n y = Relu(v)",
     1e-5},
    {"softmax, added to what it reads", "x: [2, 3, 9]\n z = Square(x)\n t = Softmax(z) axis=2\n y = Add(t, z)", 1e-5},
    {"softmax, added to what it reads, transposed",
     "x: [2, 9, 9]\n z = Square(x)\n t = Softmax(z) axis=2\n u = Transpose(z) perm=[0, 2, 1]\n y = Add(t, u)", 1e-5},
    {"softmax of a slice", "x: [2, 3, 12]\n t = Slice(x) axes=[2] starts=[2] ends=[11]\n y = Softmax(t) axis=2", 1e-6},
    {"layer normalisation of heads",
     "x: [2, 3, 20]\n s: const [5]\n b: const [5]\n t = Layout(x) b l (h c:5) -> b h l c\n"
     "u = Slice(t) axes=[1] starts=[1] ends=[3]\n y = LayerNormalization(u, s, b) axis=3",
     1e-5},
    {"batch normalisation of a slice",
     "x: [2, 9, 9, 5]\n s: const [3]\n b: const [3]\n m: const [3]\n v: const [3]\n z = Square(v)\n"
     "t = Slice(x) axes=[1] starts=[2] ends=[9] steps=[3]\n y = BatchNormalization(t, s, b, m, z)",
     1e-5},
    {"log of softmax", "x: [2, 3, 9]\n y = LogSoftmax(x) axis=2", 1e-5},
    {"log of softmax, other axis", "x: [2, 3, 9]\n y = LogSoftmax(x) axis=1", 1e-5},
    {"local responses", "x: [2, 20, 9, 7]\n y = LRN(x) size=5 alpha=0.5 beta=0.75 bias=2", 1e-5},
    {"local responses of few channels", "x: [2, 3, 9, 7]\n y = LRN(x) size=7 alpha=2 beta=0.5", 1e-5},
    {"layer normalisation", "x: [2, 3, 9]\n s: const [9]\n b: const [9]\n y = LayerNormalization(x, s, b) axis=2",
     1e-5},
    {"normalisation by the root of squares", "x: [2, 3, 9]\n s: const [9]\n y = RMSNormalization(x, s) axis=2", 1e-5},
    {"the same of two", "x: [2, 3, 9]\n s: const [3, 9]\n y = RMSNormalization(x, s) axis=1", 1e-5},
    {"the same behind a transposition",
     "x: [2, 40, 3]\n s: const [40]\n t = Transpose(x) perm=[0, 2, 1]\n y = RMSNormalization(t, s) axis=2", 1e-5},
    {"layer normalisation of two", "x: [2, 3, 9]\n s: const [3, 9]\n y = LayerNormalization(x, s) axis=1", 1e-5},
    {"layer normalisation and a function",
     "x: [2, 3, 9]\n s: const [9]\n b: const [9]\n z = Neg(x)\n t = LayerNormalization(z, s, b) axis=2\n y = Gelu(t)",
     1e-5},
    {"batch normalisation",
     "x: [2, 3, 9, 5]\n s: const [3]\n b: const [3]\n m: const [3]\n v: const [3]\n"
     "z = Square(v)\n t = BatchNormalization(x, s, b, m, z)\n y = Relu(t)",
     1e-5},
    {"batch normalisation and its operand, between bounds",
     "x: [2, 3, 9, 5]\n s: const [3]\n b: const [3]\n m: const [3]\n v: const [3]\n z = Square(v)\n"
     "t = BatchNormalization(x, s, b, m, z)\n a = Add(x, t)\n y = Clip(a) min=-0.5 max=1",
     1e-5},
    {"batch normalisation beside convs of blocks of channels",
     "x: [2, 4, 9, 8]\n w: const [32, 4, 3, 3]\n k: const [32, 32, 1, 1]\n s: const [32]\n b: const [32]\n"
     "m: const [32]\n v: const [32]\n z = Square(v)\n r = Conv(x, w)\n t = Conv(r, k)\n"
     "u = BatchNormalization(r, s, b, m, z)\n a = Add(t, u)\n y = Relu(a)",
     1e-4},
    {"batch normalisation with channels last",
     "x: [2, 9, 5, 20]\n r: [2, 9, 5, 20]\n s: const [20]\n b: const [20]\n m: const [20]\n v: const [20]\n"
     "z = Square(v)\n p = Transpose(x) perm=[0, 3, 1, 2]\n q = Transpose(r) perm=[0, 3, 1, 2]\n"
     "u = BatchNormalization(p, s, b, m, z)\n c = Add(u, q)\n a = Relu(c)\n y = Transpose(a) perm=[0, 2, 3, 1]",
     1e-5},
    {"batch normalisation of rows",
     "x: [9, 20]\n s: const [20]\n b: const [20]\n m: const [20]\n v: const [20]\n z = Square(v)\n"
     "t = BatchNormalization(x, s, b, m, z)\n y = Relu(t)",
     1e-5},
    {"instance normalisation",
     "x: [2, 5, 9, 7]\n s: const [5]\n b: const [5]\n t = InstanceNormalization(x, s, b)\n"
     "y = Relu(t)",
     1e-5},
    {"instance normalisation, between bounds",
     "x: [2, 5, 9, 7]\n s: const [5]\n b: const [5]\n t = InstanceNormalization(x, s, b)\n y = Clip(t) min=-0.5 max=1",
     1e-5},
    {"instance normalisation and its operand",
     "x: [2, 5, 9, 7]\n s: const [5]\n b: const [5]\n r = Relu(x)\n t = InstanceNormalization(r, s, b)\n y = Add(t, r)",
     1e-5},
    {"instance normalisation of a conv",
     "x: [2, 4, 9, 8]\n w: const [20, 4, 3, 3]\n s: const [20]\n b: const [20]\n k: const [20, 4, 3, 3]\n t = Conv(x, "
     "w)\n"
     "r = Conv(x, k)\n u = InstanceNormalization(t, s, b)\n v = Add(u, r)\n y = Relu(v)",
     1e-5},
    {"group normalisation of a conv",
     "x: [2, 4, 9, 8]\n w: const [20, 4, 3, 3]\n s: const [5]\n b: const [5]\n g: const [20, 1, 1]\n"
     "t = Conv(x, w)\n f = Reshape(t) shape=[2, 5, 168]\n u = InstanceNormalization(f, s, b)\n"
     "h = Reshape(u) shape=[2, 20, 7, 6]\n y = Mul(h, g)",
     1e-5},
    {"group normalisation of more channels than a part, between bounds",
     "x: [2, 4, 9, 8]\n w: const [76, 4, 3, 3]\n s: const [4]\n b: const [4]\n t = Conv(x, w)\n"
     "f = Reshape(t) shape=[2, 4, 798]\n u = InstanceNormalization(f, s, b)\n v = Clip(u) min=-0.5 max=1\n"
     "y = Reshape(v) shape=[2, 76, 7, 6]",
     1e-5},
    {"group normalisation of all channels, and a sum",
     "x: [2, 4, 9, 8]\n w: const [20, 4, 3, 3]\n s: const [1]\n b: const [1]\n k: const [20, 4, 3, 3]\n"
     "t = Conv(x, w)\n r = Conv(x, k)\n f = Reshape(t) shape=[2, 1, 840]\n g = Reshape(r) shape=[2, 1, 840]\n"
     "u = InstanceNormalization(f, s, b)\n v = Add(u, g)\n h = Reshape(v) shape=[2, 20, 7, 6]\n y = Relu(h)",
     1e-5},
    {"group normalisation of transposed maps",
     "x: [2, 6, 3, 4]\n s: const [3]\n b: const [3]\n t = Transpose(x) perm=[0, 1, 3, 2]\n"
     "f = Reshape(t) shape=[2, 3, 24]\n y = InstanceNormalization(f, s, b)",
     1e-5},
    {"group normalisation of rows",
     "x: [2, 30, 4]\n s: const [2]\n b: const [2]\n t = Transpose(x) perm=[0, 2, 1]\n"
     "f = Reshape(t) shape=[2, 2, 60]\n y = InstanceNormalization(f, s, b)",
     1e-5},
};

}  // namespace pet::testing_support
