// Convolutions.
#pragma once

#include "tests/unit/engine_cases/engine_case.h"

namespace pet::testing_support {

inline const EngineCase kConvolutions[] = {
    {"conv", "x: [2, 3, 9, 8]\n w: const [5, 3, 3, 3]\n y = Conv(x, w) pads=[1, 1, 1, 1]"},
    {"conv of many channels", "x: [1, 32, 9, 8]\n w: const [48, 32, 3, 3]\n y = Conv(x, w) pads=[1, 1, 1, 1]"},
    {"conv by winograd", "x: [2, 32, 13, 15]\n w: const [48, 32, 3, 3]\n y = Conv(x, w) pads=[1, 1, 1, 1]", 1e-4, true},
    {"conv by winograd, unlike pads", "x: [1, 64, 16, 21]\n w: const [48, 64, 3, 3]\n y = Conv(x, w) pads=[0, 1, 2, 0]",
     1e-4, true},
    {"conv by winograd, of many blocks", "x: [3, 64, 30, 30]\n w: const [64, 64, 3, 3]\n y = Conv(x, w)", 1e-4, true},
    {"conv by winograd, in groups",
     "x: [2, 96, 13, 15]\n w: const [192, 32, 3, 3]\n b: const [192, 1, 1]\n t = Conv(x, w) pads=[1, 1, 1, 1] "
     "group=3\n u = Add(t, b)\n y = Relu(u)",
     1e-4, true},
    {"conv 3-d by winograd, in groups",
     "x: [1, 64, 3, 13, 15]\n w: const [64, 32, 3, 3, 3]\n y = Conv(x, w) pads=[1, 1, 1, 1, 1, 1] group=2", 1e-4, true},
    {"conv by winograd, dilated",
     "x: [1, 64, 15, 17]\n w: const [64, 64, 3, 3]\n y = Conv(x, w) pads=[2, 2, 2, 2] dilations=[2, 2]", 1e-4, true},
    {"conv by winograd, scale, sum and relu",
     "x: [1, 64, 16, 16]\n w: const [64, 64, 3, 3]\n k: const [64, 64, 1, 1]\n s: const [64, 1, 1]\n b: const [64, 1, "
     "1]\n"
     "r = Conv(x, k)\n t = Conv(x, w) pads=[1, 1, 1, 1]\n u = Mul(t, s)\n v = Add(u, b)\n a = Add(v, r)\n y = Relu(a)",
     1e-4, true},
    {"conv by winograd, clipped",
     "x: [1, 64, 16, 16]\n w: const [64, 64, 3, 3]\n t = Conv(x, w) pads=[1, 1, 1, 1]\n y = Clip(t) min=-1 max=2", 1e-4,
     true},
    {"conv by winograd, a function after it",
     "x: [1, 64, 16, 16]\n w: const [64, 64, 3, 3]\n t = Conv(x, w) pads=[1, 1, 1, 1]\n y = Sigmoid(t)", 1e-4, true},
    {"conv 3-d by winograd",
     "x: [2, 32, 5, 9, 8]\n w: const [48, 32, 3, 3, 3]\n y = Conv(x, w) pads=[1, 1, 1, 1, 1, 1]", 1e-4, true},
    {"conv 3-d by winograd, an even number of taps, unlike pads",
     "x: [1, 64, 3, 9, 8]\n w: const [64, 64, 2, 3, 3]\n y = Conv(x, w) pads=[1, 1, 1, 0, 1, 1]", 1e-4, true},
    {"conv, one number for all channels behind a function",
     "x: [2, 6, 5, 4]\n w: const [20, 6, 3, 3]\n s: const [1]\n b: const [1, 1, 1]\n t = Conv(x, w) pads=[1, 1, 1, "
     "1]\n "
     "u = Relu(t)\n v = Mul(s, u)\n q = Add(v, b)\n y = Sub(b, q)"},
    {"conv, a number behind a sum",
     "x: [2, 6, 5, 4]\n w: const [20, 6, 3, 3]\n v: const [20, 6, 3, 3]\n s: const [1]\n r = Conv(x, v) pads=[1, 1, 1, "
     "1]\n t = Conv(x, w) pads=[1, 1, 1, 1]\n a = Add(t, r)\n u = Mul(a, s)\n y = Relu(u)"},
    {"conv by winograd, a number behind a function",
     "x: [1, 64, 16, 16]\n w: const [64, 64, 3, 3]\n s: const [1]\n t = Conv(x, w) pads=[1, 1, 1, 1]\n u = Relu(t)\n v "
     "= Sub(u, s)\n y = Relu(v)",
     1e-4, true},
    {"conv, unlike pads", "x: [1, 4, 9, 8]\n w: const [6, 4, 3, 2]\n y = Conv(x, w) pads=[2, 0, 1, 1]"},
    {"conv, strides", "x: [1, 4, 9, 8]\n w: const [6, 4, 3, 3]\n y = Conv(x, w) pads=[1, 1, 1, 1] strides=[2, 3]"},
    {"conv, dilated", "x: [1, 4, 9, 8]\n w: const [6, 4, 3, 3]\n y = Conv(x, w) pads=[2, 2, 2, 2] dilations=[2, 2]"},
    {"conv, groups", "x: [1, 8, 9, 8]\n w: const [12, 2, 3, 3]\n y = Conv(x, w) pads=[1, 1, 1, 1] group=4"},
    {"conv of single positions, squeezed and excited",
     "x: [2, 48, 7, 5]\n w: const [16, 48, 1, 1]\n k: const [48, 16, 1, 1]\n g = GlobalAveragePool(x)\n a = Conv(g, "
     "w)\n r "
     "= Relu(a)\n b = Conv(r, k)\n s = Sigmoid(b)\n y = Mul(x, s)",
     1e-5},
    {"conv, two channels a group",
     "x: [2, 38, 9, 8]\n w: const [38, 2, 3, 3]\n t = Conv(x, w) pads=[1, 1, 1, 1] group=19\n y = Relu(t)"},
    {"conv, four channels a group, a scale and a sum",
     "x: [1, 36, 9, 30]\n w: const [36, 4, 3, 3]\n s: const [1, 36, 1, 1]\n b: const [1, 36, 1, 1]\n"
     "t = Conv(x, w) pads=[1, 1, 1, 1] strides=[2, 1] group=9\n u = Mul(t, s)\n v = Add(u, b)\n y = Relu(v)"},
    {"conv, eight channels a group",
     "x: [1, 24, 9, 12]\n w: const [24, 8, 3, 3]\n t = Conv(x, w) pads=[1, 1, 1, 1] group=3\n y = Clip(t) min=-9 "
     "max=6"},
    {"conv, four channels a group, added to another",
     "x: [1, 16, 9, 8]\n w: const [16, 4, 3, 3]\n t = Conv(x, w) pads=[1, 1, 1, 1] group=4\n u = Add(t, x)\n"
     "y = Relu(u)"},
    {"conv, depthwise", "x: [1, 16, 9, 8]\n w: const [16, 1, 3, 3]\n y = Conv(x, w) pads=[1, 1, 1, 1] group=16"},
    {"conv, depthwise, odd sizes",
     "x: [2, 37, 11, 29]\n w: const [37, 1, 5, 5]\n y = Conv(x, w) pads=[2, 2, 2, 2] group=37"},
    {"conv, depthwise, strides and unlike pads",
     "x: [2, 144, 10, 19]\n w: const [144, 1, 5, 4]\n t = Conv(x, w) pads=[2, 0, 1, 3] strides=[2, 3] group=144\n y = "
     "Swish(t)",
     1e-5},
    {"conv, depthwise, taps that never meet the map",
     "x: [1, 40, 3, 5]\n w: const [40, 1, 4, 3]\n y = Conv(x, w) pads=[6, 7, 6, 7] dilations=[4, 3] group=40"},
    {"conv, depthwise, scale, addend and bounds",
     "x: [1, 48, 9, 8]\n w: const [48, 1, 5, 5]\n s: const [48, 1, 1]\n b: const [48, 1, 1]\n t = Conv(x, w) pads=[2, "
     "2, "
     "2, 2] group=48\n u = Mul(t, s)\n v = Add(u, b)\n y = Clip(v) min=-9 max=6"},
    {"conv, depthwise, functions after it",
     "x: [1, 48, 9, 8]\n w: const [48, 1, 3, 3]\n t = Conv(x, w) pads=[1, 1, 1, 1] group=48\n u = Relu(t)\n y = "
     "Swish(u)",
     1e-5},
    {"conv, depthwise, a function after it, strides",
     "x: [2, 56, 13, 17]\n w: const [56, 1, 3, 3]\n t = Conv(x, w) pads=[1, 1, 1, 1] strides=[2, 2] group=56\n y = "
     "Sigmoid(t)",
     1e-5},
    {"conv, depthwise, 5 x 5, strides",
     "x: [1, 32, 30, 30]\n w: const [32, 1, 5, 5]\n t = Conv(x, w) pads=[2, 2, 2, 2] strides=[2, 2] group=32\n y = "
     "Tanh(t)",
     1e-5},
    {"conv, depthwise, residual",
     "x: [1, 48, 9, 8]\n w: const [48, 1, 3, 3]\n r = Relu(x)\n t = Conv(r, w) pads=[1, 1, 1, 1] group=48\n u = Add(t, "
     "r)\n y = Relu(u)"},
    {"conv, depthwise, 5 x 5, residual",
     "x: [1, 37, 9, 10]\n w: const [37, 1, 5, 5]\n r = Relu(x)\n t = Conv(r, w) pads=[2, 2, 2, 2] group=37\n u = "
     "Add(t, r)\n y = Clip(u) min=-9 max=6"},
    {"conv 1-d, depthwise, taps far apart, residual",
     "x: [2, 21, 40]\n w: const [21, 1, 3]\n t = Conv(x, w) pads=[16, 16] dilations=[16] group=21\n y = Add(t, x)"},
    {"conv 3-d, depthwise",
     "x: [2, 37, 4, 5, 9]\n w: const [37, 1, 3, 3, 3]\n t = Conv(x, w) pads=[1, 1, 1, 1, 1, 1] group=37\n y = "
     "Relu(t)"},
    {"conv 3-d, depthwise, along frames, scale and addend",
     "x: [1, 24, 9, 3, 5]\n w: const [24, 1, 5, 1, 1]\n s: const [24, 1, 1, 1]\n b: const [24, 1, 1, 1]\n t = Conv(x, "
     "w) pads=[2, 0, 0, 2, 0, 0] group=24\n u = Mul(t, s)\n y = Add(u, b)"},
    {"conv 3-d, depthwise, strides, unlike pads and a function after it",
     "x: [2, 54, 6, 8, 11]\n w: const [54, 1, 3, 2, 3]\n t = Conv(x, w) pads=[0, 1, 1, 2, 0, 1] strides=[2, 1, 2] "
     "group=54\n y = Swish(t)",
     1e-5},
    {"conv 3-d, depthwise, residual",
     "x: [1, 40, 5, 6, 7]\n w: const [40, 1, 3, 3, 3]\n b: const [40, 1, 1, 1]\n t = Conv(x, w) pads=[1, 1, 1, 1, 1, "
     "1] "
     "group=40\n v = Add(t, b)\n u = Add(v, x)\n y = Relu(u)"},
    {"conv 3-d, depthwise, taps that read pads alone",
     "x: [1, 48, 2, 4, 4]\n w: const [48, 1, 5, 3, 3]\n y = Conv(x, w) pads=[2, 1, 1, 2, 1, 1] group=48"},
    {"conv 3-d, two channels a group",
     "x: [1, 38, 3, 5, 6]\n w: const [38, 2, 3, 3, 3]\n t = Conv(x, w) pads=[1, 1, 1, 1, 1, 1] dilations=[1, 1, 1] "
     "group=19\n y = Relu(t)"},
    {"conv, depthwise, two results a channel",
     "x: [1, 16, 9, 8]\n w: const [32, 1, 3, 3]\n y = Conv(x, w) pads=[1, 1, 1, 1] group=16"},
    {"conv, pointwise", "x: [2, 20, 9, 8]\n w: const [16, 20, 1, 1]\n y = Conv(x, w)"},
    {"conv, pointwise, a function after it",
     "x: [2, 20, 9, 7]\n w: const [24, 20, 1, 1]\n s: const [24, 1, 1]\n b: const [24, 1, 1]\n t = Conv(x, w)\n u = "
     "Mul(t, "
     "s)\n v = Add(u, b)\n y = Swish(v)",
     1e-5},
    {"conv, one channel out", "x: [1, 20, 9, 8]\n w: const [1, 20, 5, 5]\n y = Conv(x, w) pads=[2, 2, 2, 2]"},
    {"a frame of padding without its dimension",
     "x: [1, 3, 2, 4]\n t = Pad(x) pads=[0, 0, 1, 0, 0, 0, 0, 0]\n a = Slice(t) axes=[2] starts=[0] ends=[1]\n "
     "b = Slice(t) axes=[2] starts=[1] ends=[2]\n r = Reshape(a) shape=[1, 3, 4]\n s = Reshape(b) shape=[1, 3, 4]\n "
     "y = Concat(r, s) axis=1"},
    {"conv 1-d", "x: [2, 6, 19]\n w: const [5, 6, 3]\n y = Conv(x, w) pads=[1, 1]"},
    {"conv 1-d, depthwise", "x: [2, 32, 19]\n w: const [32, 1, 15]\n y = Conv(x, w) pads=[7, 7] group=32"},
    {"conv 1-d, strides and pads",
     "x: [2, 6, 19]\n w: const [5, 6, 4]\n y = Conv(x, w) pads=[1, 2] strides=[2] dilations=[2]"},
    {"conv 1-d, residual",
     "x: [2, 16, 19]\n w: const [16, 16, 3]\n r = Relu(x)\n t = Conv(r, w) pads=[1, 1]\n u = Add(t, r)\n"
     "y = Relu(u)"},
    {"conv 1-d, one channel out",
     "x: [2, 16, 19]\n w: const [1, 16, 3]\n b: const [1]\n t = Conv(x, w) pads=[1, 1]\n u = Add(t, b)\n"
     "y = Neg(u)"},
    {"transposed 1-d", "x: [2, 6, 7]\n w: const [6, 3, 4]\n y = ConvTranspose(x, w) strides=[2] pads=[1, 1]"},
    {"conv 3-d", "x: [1, 3, 5, 6, 7]\n w: const [8, 3, 3, 3, 3]\n y = Conv(x, w) pads=[1, 1, 1, 1, 1, 1]"},
    {"conv after a pad",
     "x: [1, 4, 9, 8]\n w: const [6, 4, 3, 3]\n"
     "p = Pad(x) pads=[0, 0, 1, 2, 0, 0, 2, 1]\n y = Conv(p, w)"},
    {"conv after a pad too wide",
     "x: [1, 4, 9, 8]\n w: const [6, 4, 3, 3]\n"
     "p = Pad(x) pads=[0, 0, 4, 4, 0, 0, 4, 4]\n y = Conv(p, w) pads=[1, 1, 1, 1]"},
    {"conv after a pad of ones",
     "x: [1, 4, 9, 8]\n w: const [6, 4, 3, 3]\n"
     "p = Pad(x) pads=[0, 0, 1, 1, 0, 0, 1, 1] value=1\n y = Conv(p, w)"},
    {"conv after a reflecting pad",
     "x: [1, 4, 9, 8]\n w: const [6, 4, 3, 3]\n"
     "p = Pad(x) pads=[0, 0, 1, 1, 0, 0, 1, 1] mode=reflect\n y = Conv(p, w)"},
    {"transposed",
     "x: [2, 6, 5, 4]\n w: const [6, 3, 4, 4]\n"
     "y = ConvTranspose(x, w) strides=[2, 2] pads=[1, 1, 1, 1]"},
    {"transposed, many channels",
     "x: [2, 32, 5, 4]\n w: const [32, 16, 4, 4]\n"
     "y = ConvTranspose(x, w) strides=[2, 2] pads=[1, 1, 1, 1]"},
    {"transposed, between bounds, then a function",
     "x: [2, 6, 5, 4]\n w: const [6, 3, 4, 4]\n t = ConvTranspose(x, w) strides=[2, 2] pads=[1, 1, 1, 1]\n"
     "u = Clip(t) min=-1 max=2\n y = Sigmoid(u)",
     1e-5},
    {"transposed, output padding",
     "x: [2, 6, 5, 4]\n w: const [6, 3, 3, 3]\n"
     "y = ConvTranspose(x, w) strides=[2, 2] pads=[1, 1, 1, 1] output_padding=[1, 1]"},
    {"transposed, then a sum with what lies otherwise",
     "x: [2, 6, 5, 4]\n z: [2, 3, 10, 8]\n w: const [6, 3, 4, 4]\n t = ConvTranspose(x, w) strides=[2, 2] pads=[1, 1, "
     "1, 1]\n y = Add(t, z)"},
    {"transposed, with a bias, then a sum, then a function",
     "x: [2, 6, 5, 4]\n z: [2, 6, 10, 8]\n k: const [20, 6, 1, 1]\n w: const [6, 20, 4, 4]\n b: const [20, 1, 1]\n"
     "r = Conv(z, k)\n t = ConvTranspose(x, w) strides=[2, 2] pads=[1, 1, 1, 1]\n u = Add(t, b)\n s = Add(r, u)\n"
     "y = Sigmoid(s)",
     1e-5},
    {"transposed, a function, then a sum",
     "x: [2, 6, 5, 4]\n z: [2, 20, 10, 8]\n w: const [6, 20, 4, 4]\n"
     "t = ConvTranspose(x, w) strides=[2, 2] pads=[1, 1, 1, 1]\n u = Relu(t)\n y = Add(u, z)"},
    {"transposed 1-d, then a sum",
     "x: [2, 6, 7]\n z: [2, 18, 14]\n w: const [6, 18, 4]\n t = ConvTranspose(x, w) strides=[2] pads=[1, 1]\n"
     "u = Add(z, t)\n y = Relu(u)"},
    {"transposed 3-d, then a sum",
     "x: [1, 4, 3, 4, 2]\n z: [1, 16, 6, 8, 4]\n w: const [4, 16, 3, 3, 3]\n t = ConvTranspose(x, w) strides=[2, 2, 2] "
     "pads=[1, 1, 1, 1, 1, 1] output_padding=[1, 1, 1]\n y = Add(t, z)"},
    {"conv to few channels, then a sum",
     "x: [2, 8, 9, 8]\n z: [2, 2, 9, 8]\n w: const [2, 8, 3, 3]\n t = Conv(x, w) pads=[1, 1, 1, 1]\n u = Add(t, z)\n"
     "y = Relu(u)"},
    {"transposed, two phases of an odd width, few channels",
     "x: [2, 6, 5, 5]\n w: const [6, 3, 3, 3]\n b: const [3, 1, 1]\n t = ConvTranspose(x, w) strides=[2, 2] pads=[1, "
     "1, 1, 1]\n u = Add(t, b)\n y = Relu(u)"},
    {"transposed, three phases of unlike lengths",
     "x: [2, 6, 4, 7]\n w: const [6, 2, 5, 5]\n y = ConvTranspose(x, w) strides=[3, 3] pads=[1, 1, 1, 1]"},
    {"transposed, phases that no tap reaches",
     "x: [1, 6, 3, 9]\n w: const [6, 2, 2, 2]\n b: const [2, 1, 1]\n t = ConvTranspose(x, w) strides=[5, 5]\n y = "
     "Add(t, b)"},
    {"transposed, more phases than a row is added up in",
     "x: [1, 6, 3, 5]\n w: const [6, 2, 11, 11]\n y = ConvTranspose(x, w) strides=[9, 9]"},
    {"transposed, taps apart between strides",
     "x: [1, 6, 5, 9]\n w: const [6, 2, 3, 3]\n y = ConvTranspose(x, w) strides=[2, 2] dilations=[2, 3] pads=[1, 2, 1, "
     "0]"},
    {"transposed, groups", "x: [2, 6, 5, 4]\n w: const [6, 2, 3, 3]\n y = ConvTranspose(x, w) group=3"},
    {"transposed from one position",
     "x: [4, 10, 1, 1]\n w: const [10, 6, 4, 4]\n b: const [6, 1, 1]\n t = ConvTranspose(x, w)\n"
     "u = Add(t, b)\n y = Relu(u)"},
    {"transposed, a function behind",
     "x: [2, 6, 5, 4]\n w: const [6, 3, 4, 4]\n"
     "t = ConvTranspose(x, w) strides=[2, 2] pads=[1, 1, 1, 1]\n u = Neg(t)\n y = Relu(u)"},
    {"offset reduce, a bias, another value, a relu",
     "t: [2, 18, 5, 6]\n b: const [2, 1, 1]\n r: [2, 2, 5, 6]\n a = OffsetReduce(t) kernel_shape=[3, 3] pads=[1, 1, 1, "
     "1]\n "
     "c = Add(a, b)\n d = Add(c, r)\n y = Relu(d)"},
    {"offset reduce, a scale, a function",
     "t: [2, 18, 5, 6]\n b: const [2, 1, 1]\n a = OffsetReduce(t) kernel_shape=[3, 3] pads=[1, 1, 1, 1]\n c = Mul(a, "
     "b)\n y = "
     "Tanh(c)",
     1e-5},
    {"offset reduce, functions, another value",
     "t: [2, 18, 5, 6]\n r: [2, 2, 5, 6]\n a = OffsetReduce(t) kernel_shape=[3, 3] pads=[1, 1, 1, 1]\n b = Relu(a)\n c "
     "= "
     "Sigmoid(b)\n y = Add(c, r)",
     1e-5},
    {"col2im, a bias, a function",
     "t: [2, 18, 20]\n b: const [2, 1, 1]\n a = Col2Im(t) image_shape=[6, 7] block_shape=[3, 3]\n c = Add(a, b)\n y = "
     "Sigmoid(c)",
     1e-5},
    {"col2im, strides, many taps",
     "t: [1, 81, 30]\n y = Col2Im(t) image_shape=[10, 12] block_shape=[9, 9] strides=[2, 2] pads=[4, 4, 3, 3]"},
    {"offset reduce", "t: [2, 18, 5, 6]\n y = OffsetReduce(t) kernel_shape=[3, 3] pads=[1, 1, 1, 1]"},
    {"offset reduce, strides",
     "t: [2, 18, 7, 8]\n y = OffsetReduce(t) kernel_shape=[3, 3] strides=[2, 2] pads=[1, 0, 0, 1]"},
    {"offset reduce behind a conv",
     "x: [2, 4, 7, 8]\n w: const [27, 4, 1, 1]\n t = Conv(x, w)\n"
     "y = OffsetReduce(t) kernel_shape=[3, 3] dilations=[2, 2] pads=[2, 2, 2, 2]"},
};

}  // namespace pet::testing_support
