// Functions of each element.
#pragma once

#include "tests/unit/engine_cases/engine_case.h"

namespace pet::testing_support {

inline const EngineCase kFunctions[] = {
    {"relu", "x: [2, 3, 4]\n y = Relu(x)"},
    {"leaky relu", "x: [2, 3, 4]\n y = LeakyRelu(x) alpha=0.25"},
    {"clip", "x: [2, 3, 4]\n y = Clip(x) min=-1 max=2"},
    {"clip, one side", "x: [2, 3, 4]\n y = Clip(x) min=0"},
    {"neg", "x: [2, 3, 4]\n y = Neg(x)"},
    {"square", "x: [2, 3, 4]\n y = Square(x)"},
    {"sigmoid", "x: [2, 3, 40]\n y = Sigmoid(x)", 1e-5},
    {"tanh", "x: [2, 3, 40]\n y = Tanh(x)", 1e-5},
    {"exp", "x: [2, 3, 40]\n y = Exp(x)", 1e-5},
    {"log", "x: [2, 3, 40]\n t = Exp(x)\n y = Log(t)", 1e-5},
    {"abs", "x: [2, 3, 4]\n y = Abs(x)"},
    {"gelu", "x: [2, 3, 40]\n y = Gelu(x)", 1e-5},
    {"gelu by tanh", "x: [2, 3, 40]\n y = Gelu(x) approximate=tanh", 1e-5},
    {"elu", "x: [2, 3, 40]\n y = Elu(x)", 1e-5},
    {"elu of another alpha", "x: [2, 3, 40]\n y = Elu(x) alpha=0.25", 1e-5},
    {"selu", "x: [2, 3, 40]\n y = Selu(x)", 1e-5},
    {"selu behind a conv", "x: [1, 8, 9, 8]\n w: const [8, 8, 3, 3]\n t = Conv(x, w) pads=[1, 1, 1, 1]\n y = Selu(t)",
     1e-5},
    {"softplus", "x: [2, 3, 40]\n y = Softplus(x)", 1e-5},
    {"swish", "x: [2, 3, 40]\n y = Swish(x)", 1e-5},
    {"swish of another slope", "x: [2, 3, 40]\n y = Swish(x) alpha=1.5", 1e-5},
    {"mish", "x: [2, 3, 40]\n y = Mish(x)", 1e-5},
    {"hard swish", "x: [2, 3, 40]\n y = HardSwish(x)", 1e-5},
    {"reciprocal", "x: [2, 3, 40]\n y = Reciprocal(x)", 1e-5},
    {"elements in one pass",
     "x: [3, 40]\n w: const [40]\n r: [3, 1]\n c: const [1]\n a = Mul(x, w)\n b = Sub(a, r)\n d = Add(b, c)\n e = "
     "Mul(d, x)\n y = Relu(e)"},
    {"elements in one pass, over what is read no more",
     "x: [3, 40]\n r = Neg(x)\n t = Transpose(r) perm=[1, 0]\n u = Layout(t) a b -> (a b)\n v = Reshape(r) "
     "shape=[120]\n"
     "a = Sub(u, v)\n y = Mul(a, u)"},
    {"elements in one pass, chosen", "x: [3, 40]\n z: [3, 40]\n a = Relu(x)\n b = Where(a, z, x)\n y = Sub(b, z)"},
    {"functions in one pass",
     "x: [2, 600]\n a = Tanh(x)\n b = Sigmoid(a)\n c = Exp(b)\n d = Sqrt(c)\n e = HardSwish(d)\n f = Swish(e) "
     "alpha=0.5\n y = HardSigmoid(f)",
     1e-5},
    {"elements in short rows that lie apart or repeat",
     "x: [3, 5, 64]\n s: [3, 1, 20]\n r: [5, 1]\n a = Slice(x) axes=[2] starts=[0] ends=[20]\n b = Slice(x) axes=[2] "
     "starts=[44] ends=[64]\n c = Mul(a, b)\n d = Add(c, s)\n y = Sub(d, r)"},
    {"elements of channels that lie innermost, scaled for each",
     "x: [2, 24, 9, 8]\n w: const [24, 24, 1, 1]\n s: [2, 24, 1, 1]\n t = Conv(x, w)\n y = Mul(s, t)"},
    {"transpose of few rows and columns",
     "x: [2, 3, 70]\n z: [2, 41, 4]\n a = Transpose(x) perm=[0, 2, 1]\n b = Transpose(z) perm=[0, 2, 1]\n y = Neg(a)\n "
     "v = Neg(b)\n return y, v"},
    {"transpose to lines a power of two apart", "x: [1024, 37]\n t = Transpose(x) perm=[1, 0]\n y = Neg(t)"},
    {"gelu in pieces",
     "x: [2, 600]\n c: const [1]\n a = Mul(x, c)\n e = Erf(a)\n s = Add(e, c)\n t = Mul(x, s)\n y = Mul(t, c)", 1e-5},
    {"erf of few", "x: [2, 3]\n y = Erf(x)", 1e-5},
    {"sine and cosine", "x: [2, 3, 40]\n a = Sin(x)\n b = Cos(x)\n y = Add(a, b)", 1e-6},
    {"sine of few", "x: [2, 3]\n y = Sin(x)", 1e-6},
    {"a sine's square, of each channel",
     "x: [2, 3, 40]\n c: const [3, 1]\n a = Mul(x, c)\n s = Sin(a)\n q = Square(s)\n r = Div(q, c)\n y = Add(x, r)",
     1e-5},
    {"erf", "x: [2, 3, 40]\n y = Erf(x)", 1e-5},
    {"whole numbers and what is left",
     "x: [2, 3, 40]\n f = Floor(x)\n c = Ceil(x)\n m = Mod(x) divisor=0.5\n s = Add(f, c)\n y = Add(s, m)", 1e-5},
    {"power", "x: [2, 3, 40]\n s = Sigmoid(x)\n y = Pow(s) exponent=-0.75", 1e-5},
    {"power of a negative number", "x: [2, 3, 40]\n y = Pow(x) exponent=3", 1e-5},
    {"hard sigmoid", "x: [2, 3, 40]\n y = HardSigmoid(x) alpha=0.5 beta=0.25", 1e-6},
    {"where", "c: [2, 3, 4]\n a: [3, 1]\n b: [2, 3, 4]\n d = Relu(c)\n y = Where(d, a, b)"},
    {"where of a band",
     "x: [2, 5, 5]\n c = Band() shape=[5, 5] lower=1 upper=1\n f = Constant() value=-2\n y = Where(c, x, f)"},
    {"function of a part", "x: [2, 6, 4]\n s = Slice(x) axes=[1] starts=[1] ends=[4]\n y = Relu(s)"},
    {"function of a filled one", "x: [2, 6, 4]\n s = Pad(x) pads=[0, 1, 0, 0, 2, 0] value=-2\n y = Neg(s)"},
    {"add", "a: [2, 3, 4]\n b: [2, 3, 4]\n y = Add(a, b)"},
    {"add and relu", "a: [2, 3, 4]\n b: [2, 3, 4]\n t = Add(a, b)\n y = Relu(t)"},
    {"add to itself", "a: [2, 3, 4]\n t = Relu(a)\n y = Add(t, t)"},
    {"add its neighbours",
     "x: [6, 4]\n r = Relu(x)\n a = Slice(r) axes=[0] starts=[1] ends=[6]\n b = Slice(r) axes=[0] starts=[0] ends=[5]\n"
     "t = Sub(a, b)\n y = Relu(t)"},
    {"add its transposed", "a: [4, 4]\n t = Relu(a)\n s = Transpose(t) perm=[1, 0]\n y = Add(t, s)"},
    {"sub, broadcast", "a: [2, 3, 4]\n b: [3, 1]\n y = Sub(a, b)"},
    {"sub from a broadcast", "a: [2, 3, 4]\n b: [4]\n y = Sub(b, a)"},
    {"mul, both broadcast", "a: [2, 1, 4]\n b: [3, 1]\n t = Mul(a, b)\n y = Relu(t)"},
    {"mul by a constant", "a: [2, 3, 4]\n b: const [3, 4]\n y = Mul(a, b)"},
    {"div", "a: [2, 3, 4]\n b: [2, 3, 4]\n y = Div(a, b)", 1e-6},
    {"prelu", "a: [2, 3, 4]\n b: const [3, 1]\n y = PRelu(a, b)"},
    {"max", "a: [2, 1, 4]\n b: [3, 1]\n y = Max(a, b)"},
    {"greater", "a: [2, 1, 4]\n b: [3, 1]\n y = Greater(a, b)"},
    {"a choice by a comparison",
     "x: [2, 3, 4]\n w: const [3, 1]\n t = Mul(x, w)\n c = Greater(x, w)\n y = Where(c, x, t)"},
    {"max of a value and its part", "a: [2, 3, 4]\n b: const [3, 1]\n t = Mul(a, b)\n y = Max(a, t)"},
    {"sum of many",
     "a: [2, 3, 4]\n b: [2, 3, 4]\n c: [2, 3, 4]\n d: [2, 3, 4]\n s = Add(a, b)\n t = Add(c, d)\n y = Add(s, t)"},
    {"sum of moved ones, filled with zeros",
     "x: [1, 6, 5, 4]\n p = Pad(x) pads=[0, 0, 1, 1, 0, 0, 1, 1]\n a = Slice(p) axes=[1, 2, 3] starts=[0, 0, 0] "
     "ends=[2, 5, 4]\n"
     "b = Slice(p) axes=[1, 2, 3] starts=[2, 1, 2] ends=[4, 6, 6]\n c = Slice(p) axes=[1, 2, 3] starts=[4, 2, 1] "
     "ends=[6, 7, 5]\n"
     "s = Add(a, b)\n t = Add(s, c)\n y = Relu(t)"},
    {"sum of ones filled with a number",
     "x: [1, 6]\n a = Pad(x) pads=[0, 1, 0, 0] value=2\n b = Pad(x) pads=[0, 0, 0, 1] value=3\n"
     "s = Add(a, b)\n t = Add(s, a)\n y = Add(t, b)"},
    {"sum whose inner one is read twice",
     "a: [2, 3]\n b: [2, 3]\n c: [2, 3]\n s = Add(a, b)\n t = Add(s, c)\n u = Add(t, s)\n"
     "y = Add(u, c)"},
};

}  // namespace pet::testing_support
