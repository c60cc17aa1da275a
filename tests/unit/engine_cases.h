// Programs that every engine of ours computes: one or a few operators each.
#pragma once

#include <algorithm>
#include <cmath>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "ir/text.h"
#include "runtime/draw.h"
#include "runtime/reference/reference.h"

namespace pet::testing_support {

struct EngineCase {
  std::string name;
  std::string text;
  double tolerance = 0;  ///< of max|y|; 0: integers, equal
  bool winograd = false;
};

inline void PrintTo(const EngineCase& c, std::ostream* out) {
  *out << c.name;
}

inline const EngineCase kEngineCases[] = {
    // Convolutions.
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
    // Products.
    {"matmul", "x: [7, 5]\n w: const [5, 6]\n y = MatMul(x, w)"},
    {"matmul, weights left", "x: [5, 7]\n w: const [6, 5]\n y = MatMul(w, x)"},
    {"matmul, weights left, batch", "x: [3, 5, 7]\n w: const [6, 5]\n y = MatMul(w, x)"},
    {"matmul of rows of a batch", "x: [3, 4, 5]\n w: const [5, 6]\n y = MatMul(x, w)"},
    {"matmul of rows that lie in another order",
     "x: [3, 4, 5]\n w: const [5, 6]\n t = Transpose(x) perm=[1, 0, 2]\n y = MatMul(t, w)"},
    {"matmul of rows that lie in another order, residual",
     "x: [3, 4, 5]\n w: const [5, 6]\n z: [4, 3, 6]\n t = Transpose(x) perm=[1, 0, 2]\n u = MatMul(t, w)\n y = Add(u, "
     "z)"},
    {"matmul, batch", "a: [3, 4, 5]\n b: [3, 5, 6]\n y = MatMul(a, b)"},
    {"matmul, batch of weights", "a: [3, 4, 5]\n b: const [3, 5, 6]\n y = MatMul(a, b)"},
    {"matmul, batch of weights left", "a: const [3, 4, 5]\n b: [3, 5, 6]\n y = MatMul(a, b)"},
    {"matmul, one for all", "a: [3, 4, 5]\n b: [5, 6]\n y = MatMul(a, b)"},
    {"matmul, one left for all", "a: [4, 5]\n b: [3, 5, 6]\n y = MatMul(a, b)"},
    {"matmul, batches broadcast", "a: [2, 1, 4, 5]\n b: [3, 5, 6]\n y = MatMul(a, b)"},
    {"matmul, transposed right", "a: [3, 4, 5]\n b: [3, 6, 5]\n t = Transpose(b) perm=[0, 2, 1]\n y = MatMul(a, t)"},
    {"matmul, transposed left", "a: [3, 5, 4]\n b: [3, 5, 6]\n t = Transpose(a) perm=[0, 2, 1]\n y = MatMul(t, b)"},
    {"matmul of heads",
     "a: [2, 7, 12]\n b: [2, 7, 12]\n"
     "p = Layout(a) n t (h 3) -> n h t 3\n q = Layout(b) n t (h 3) -> n h 3 t\n"
     "y = MatMul(p, q)"},
    {"matmul of windows that overlap",
     "x: [2, 12, 5]\n k: [6, 8, 7]\n g = Gather(x) axis=1 indices=[0, 1, 2, 3, 4, 5, 6, 7, 2, 3, 4, 5, 6, 7, 8, 9, 4, "
     "5, 6, 7, 8, 9, "
     "10, 11]\n t = Layout(g) n (3 8) c -> (n 3) c 8\n y = MatMul(t, k)"},
    {"matmul of one row for all", "x: [2, 1, 5]\n k: [2, 5, 7]\n e = Expand(x) shape=[2, 4, 5]\n y = MatMul(e, k)"},
    {"matmul, bias", "x: [3, 4, 5]\n w: const [5, 6]\n b: const [6]\n t = MatMul(x, w)\n y = Add(t, b)"},
    {"matmul, weights left, a function after it", "x: [5, 70]\n w: const [6, 5]\n t = MatMul(w, x)\n y = Tanh(t)",
     1e-5},
    {"matmul, scaled", "a: [3, 4, 5]\n b: [3, 5, 6]\n c: const [1]\n t = MatMul(a, b)\n y = Mul(t, c)"},
    {"matmul, scaled and moved",
     "a: [3, 4, 5]\n b: [3, 5, 6]\n c: const [1]\n d: const [6]\n t = MatMul(a, b)\n"
     "u = Mul(t, c)\n y = Add(u, d)",
     1e-6},
    {"matmul, columns scaled", "a: [3, 4, 5]\n b: [3, 5, 6]\n c: const [6]\n t = MatMul(a, b)\n y = Mul(t, c)"},
    {"matmul, weights' columns scaled",
     "a: [3, 4, 5]\n b: const [5, 6]\n c: const [6]\n t = MatMul(a, b)\n y = Mul(t, c)"},
    {"matmul of one row", "x: [1, 37]\n w: const [37, 100]\n y = MatMul(x, w)"},
    {"matmul of one row, bias and Relu",
     "x: [1, 1, 37]\n w: const [37, 128]\n b: const [128]\n t = MatMul(x, w)\n u = Add(t, b)\n y = Relu(u)"},
    {"matmul of one row, a function and a sum after it",
     "x: [1, 37]\n z: [1, 70]\n w: const [37, 70]\n t = MatMul(x, w)\n u = Add(t, z)\n y = Tanh(u)", 1e-5},
    {"matmul of one row, a sum after a function",
     "x: [1, 37]\n z: [1, 70]\n w: const [37, 70]\n t = MatMul(x, w)\n u = Sigmoid(t)\n y = Add(u, z)", 1e-5},
    {"matmul of one row, columns scaled",
     "x: [1, 37]\n w: const [37, 64]\n c: const [64]\n t = MatMul(x, w)\n y = Mul(t, c)"},
    {"matmul of one column, weights left", "x: [37, 1]\n w: const [70, 37]\n y = MatMul(w, x)"},
    {"matmul of few rows", "x: [2, 3, 520]\n w: const [520, 530]\n y = MatMul(x, w)"},
    {"matmul of few rows, between bounds",
     "x: [2, 3, 520]\n w: const [520, 530]\n t = MatMul(x, w)\n y = Clip(t) min=-0.5 max=0.25"},
    {"matmul of few columns, weights left", "x: [520, 5]\n w: const [530, 520]\n y = MatMul(w, x)"},
    {"gemm of few rows",
     "x: [4, 520]\n w: const [530, 520]\n b: const [530]\n t = Gemm(x, w, b) transB=1 alpha=2 beta=3\n y = Relu(t)"},
    {"gemm", "x: [4, 5]\n w: const [6, 5]\n b: const [6]\n y = Gemm(x, w, b) transB=1 alpha=2 beta=3"},
    {"gemm, transposed", "x: [5, 4]\n w: const [5, 6]\n y = Gemm(x, w) transA=1"},
    {"stft", "x: [2, 31]\n w: const [8]\n y = STFT(x, w) frame_step=3", 1e-5},
    {"stft, all frequencies of an odd window", "x: [3, 29]\n w: const [7]\n y = STFT(x, w) frame_step=2 onesided=0",
     1e-5},
    {"stft of frames apart", "x: [1, 41]\n w: const [5]\n y = STFT(x, w) frame_step=9", 1e-5},
    {"stft of one frame", "x: [2, 11]\n w: const [11]\n y = STFT(x, w) frame_step=4", 1e-5},
    {"stft without a window", "x: [2, 23]\n w = Constant() value=1 shape=[6]\n y = STFT(x, w) frame_step=5", 1e-5},
    {"stft of a padded signal",
     "x: [2, 23]\n w: const [9]\n p = Pad(x) pads=[0, 4, 0, 4] mode=reflect\n y = STFT(p, w) frame_step=2", 1e-5},
    {"dft of a real signal", "x: [2, 9, 1]\n y = DFT(x) axis=1 onesided=1", 1e-5},
    {"dft, all frequencies, between rows", "x: [3, 8, 5, 1]\n y = DFT(x) axis=1", 1e-5},
    {"dft of complex numbers, then back", "x: [2, 6, 5, 2]\n t = DFT(x) axis=2\n y = DFT(t) axis=1 inverse=1", 1e-5},
    {"dft of one signal", "x: [12, 1]\n y = DFT(x) axis=0", 1e-5},
    {"dft of a transposed signal", "x: [2, 5, 1, 6]\n t = Transpose(x) perm=[0, 3, 1, 2]\n y = DFT(t) axis=1", 1e-5},
    {"stft, then a power",
     "x: [2, 23]\n w: const [9]\n t = STFT(x, w) frame_step=2\n s = Square(t)\n y = ReduceSum(s) axes=[3]", 1e-5},
    {"matmul of rows that overlap",
     "x: [2, 9]\n k: [5, 3]\n g = Gather(x) axis=1 indices=[0, 1, 2, 3, 4, 2, 3, 4, 5, 6, 4, 5, 6, 7, 8]\n"
     "t = Layout(g) n (3 5) -> n 3 5\n y = MatMul(t, k)"},
    // What follows them.
    {"bias", "x: [1, 4, 9, 8]\n w: const [6, 4, 3, 3]\n b: const [1, 6, 1, 1]\n t = Conv(x, w)\n y = Add(t, b)"},
    {"bias and relu",
     "x: [1, 4, 9, 8]\n w: const [6, 4, 3, 3]\n b: const [6, 1, 1]\n t = Conv(x, w)\n u = Add(b, t)\n"
     "y = Relu(u)"},
    {"scale and shift",
     "x: [1, 4, 9, 8]\n w: const [6, 4, 3, 3]\n s: const [6, 1, 1]\n b: const [6, 1, 1]\n"
     "t = Conv(x, w)\n u = Mul(t, s)\n v = Sub(b, u)\n y = Relu(v)"},
    {"batch normalisation behind",
     "x: [1, 4, 9, 8]\n w: const [6, 4, 3, 3]\n s: const [6]\n b: const [6]\n m: const [6]\n"
     "v: const [6]\n z = Square(v)\n t = Conv(x, w)\n y = BatchNormalization(t, s, b, m, z)",
     1e-5},
    {"residual",
     "x: [1, 8, 9, 8]\n w: const [8, 8, 3, 3]\n t = Conv(x, w) pads=[1, 1, 1, 1]\n u = Add(t, x)\n"
     "y = Relu(u)"},
    {"residual, then used",
     "x: [1, 8, 9, 8]\n w: const [8, 8, 3, 3]\n k: const [8, 8, 1, 1]\n r = Conv(x, k)\n"
     "t = Conv(r, w) pads=[1, 1, 1, 1]\n u = Add(t, r)\n v = Relu(u)\n y = Sub(v, r)"},
    {"residual of another",
     "x: [1, 8, 9, 8]\n w: const [8, 8, 3, 3]\n k: const [8, 8, 1, 1]\n r = Conv(x, k)\n"
     "s = Conv(x, w) pads=[1, 1, 1, 1]\n u = Add(s, r)\n y = Relu(u)"},
    {"residual behind a function",
     "x: [1, 8, 9, 8]\n w: const [8, 8, 3, 3]\n t = Conv(x, w) pads=[1, 1, 1, 1]\n"
     "u = Relu(t)\n y = Add(u, x)"},
    {"residual, winograd",
     "x: [1, 64, 16, 16]\n w: const [64, 64, 3, 3]\n k: const [64, 64, 3, 3]\n"
     "r = Conv(x, k) pads=[1, 1, 1, 1]\n s = Relu(r)\n t = Conv(s, w) pads=[1, 1, 1, 1]\n"
     "u = Add(t, x)\n y = Relu(u)",
     1e-4, true},
    {"a result that is read twice",
     "x: [1, 8, 9, 8]\n w: const [8, 8, 3, 3]\n t = Conv(x, w) pads=[1, 1, 1, 1]\n"
     "u = Relu(t)\n y = Sub(u, t)"},
    {"scalars", "x: []\n c: const []\n t = Sub(x, c)\n u = Mul(t, c)\n y = Add(u, c)"},
    {"a sum of scalars", "x: []\n c: const []\n t = Add(x, c)\n y = Add(t, x)"},
    // Functions.
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
    // Pools.
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
    // Normalisations.
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
    // Attention, which an engine may compute in one call.
    {"attention",
     "q: [2, 3, 5, 8]\n k: [2, 3, 7, 8]\n v: [2, 3, 7, 16]\n c = Constant() value=0.25\n t = Transpose(k) perm=[0, 1, "
     "3, "
     "2]\n a = MatMul(q, t)\n s = Mul(a, c)\n p = Softmax(s) axis=3\n y = MatMul(p, v)",
     1e-5},
    {"attention of odd sizes",
     "q: [2, 3, 5, 7]\n k: [2, 3, 7, 9]\n v: [2, 3, 9, 3]\n a = MatMul(q, k)\n p = Softmax(a) axis=3\n y = MatMul(p, "
     "v)",
     1e-5},
    {"attention, operands scaled",
     "q: [2, 3, 5, 8]\n k: [2, 3, 8, 7]\n v: [2, 3, 7, 8]\n c: const [1]\n d: const []\n b = Mul(q, c)\n e = "
     "Mul(b, c)\n f = Mul(d, k)\n g = Div(f, d)\n a = MatMul(e, g)\n p = Softmax(a) axis=3\n y = MatMul(p, v)",
     1e-5},
    {"attention, scaled by a negative number",
     "q: [2, 3, 5, 8]\n k: [2, 3, 8, 7]\n v: [2, 3, 7, 8]\n c = Constant() value=-0.75\n e = Mul(q, c)\n a = MatMul(e, "
     "k)\n p = Softmax(a) axis=3\n y = MatMul(p, v)",
     1e-5},
    {"attention of one head",
     "q: [5, 8]\n k: [8, 7]\n v: [7, 8]\n a = MatMul(q, k)\n p = Softmax(a) axis=1\n y = MatMul(p, v)", 1e-5},
    {"attention, heads in the batch, a window",
     "q: [6, 9, 8]\n k: [6, 8, 9]\n v: [6, 9, 8]\n b = Band() shape=[9, 9] lower=2 upper=0\n z = Constant() value=0\n "
     "h = "
     "Constant() value=-inf\n m = Where(b, z, h)\n a = MatMul(q, k)\n s = Add(a, m)\n p = Softmax(s) axis=2\n y = "
     "MatMul(p, "
     "v)",
     1e-5},
    {"attention, causal",
     "q: [2, 3, 9, 8]\n k: [2, 3, 8, 7]\n v: [2, 3, 7, 8]\n b = Band() shape=[9, 7] lower=8 upper=0\n h = Constant() "
     "value=-inf\n a = MatMul(q, k)\n s = Where(b, a, h)\n p = Softmax(s) axis=3\n y = MatMul(p, v)",
     1e-5},
    {"attention, chosen by a mask",
     "q: [2, 3, 9, 8]\n k: [2, 3, 8, 9]\n v: [2, 3, 9, 8]\n b = Band() shape=[9, 9] lower=1 upper=1\n h = Constant() "
     "value=-inf\n c = Constant() value=3\n a = MatMul(q, k)\n d = Div(a, c)\n s = Where(b, d, h)\n p = Softmax(s) "
     "axis=3\n y "
     "= MatMul(p, v)",
     1e-5},
    {"attention, masked by a tensor",
     "q: [2, 3, 5, 8]\n k: [2, 3, 8, 7]\n v: [2, 3, 7, 8]\n m: [2, 1, 1, 7]\n a = MatMul(q, k)\n s = Add(m, a)\n p = "
     "Softmax(s) axis=3\n y = MatMul(p, v)",
     1e-5},
    {"attention, a bias for each head",
     "q: [2, 3, 5, 8]\n k: [2, 3, 8, 8]\n v: [2, 3, 8, 8]\n m: [3, 5, 8]\n a = MatMul(q, k)\n s = Add(a, m)\n p = "
     "Softmax(s) "
     "axis=3\n y = MatMul(p, v)",
     1e-5},
    {"attention, several terms",
     "q: [2, 3, 5, 8]\n k: [2, 3, 8, 7]\n v: [2, 3, 7, 8]\n m: [3, 1, 7]\n n: const [5, 7]\n x: [2, 1, 5, 7]\n c = "
     "Constant() "
     "value=0.5\n h = Constant() value=-inf\n f = Clip(x) min=0 max=1\n a = MatMul(q, k)\n s = Add(a, m)\n t = Mul(s, "
     "c)\n u = "
     "Add(n, t)\n w = Where(f, h, u)\n p = Softmax(w) axis=3\n y = MatMul(p, v)",
     1e-5},
    {"attention of heads that lie side by side",
     "x: [2, 9, 24]\n z: [2, 7, 24]\n g: const [24, 24]\n i = MatMul(x, g)\n j = MatMul(z, g)\n q = Layout(i) n t (h "
     "8) -> n h "
     "t 8\n k = Layout(j) n t (h 8) -> n h 8 t\n v = Layout(z) n t (h 8) -> n h t 8\n a = MatMul(q, k)\n p = "
     "Softmax(a) "
     "axis=3\n o = MatMul(p, v)\n u = Layout(o) n h t 8 -> n t (h 8)\n y = MatMul(u, g)",
     1e-5},
    {"attention, keys of one head",
     "q: [2, 3, 5, 8]\n k: [2, 1, 8, 7]\n v: [7, 8]\n a = MatMul(q, k)\n p = Softmax(a) axis=3\n y = MatMul(p, v)",
     1e-5},
    {"attention, heads of keys shared",
     "q: [2, 6, 5, 8]\n i: [2, 2, 8, 7]\n j: [2, 3, 7, 8]\n a = Unsqueeze(i) axes=[2]\n b = Expand(a) shape=[2, 2, 3, "
     "8, 7]\n k = "
     "Reshape(b) shape=[2, 6, 8, 7]\n c = Unsqueeze(j) axes=[2]\n d = Expand(c) shape=[2, 3, 2, 7, 8]\n v = Reshape(d) "
     "shape=[2, "
     "6, 7, 8]\n s = MatMul(q, k)\n p = Softmax(s) axis=3\n y = MatMul(p, v)",
     1e-5},
    {"attention whose weights are read twice",
     "q: [2, 3, 5, 8]\n k: [2, 3, 8, 7]\n v: [2, 3, 7, 8]\n a = MatMul(q, k)\n p = Softmax(a) axis=3\n y = MatMul(p, "
     "v)\n r = "
     "ReduceSum(p) axes=[3]\n return y, r",
     1e-5},
    {"attention along queries",
     "q: [2, 3, 5, 8]\n k: [2, 3, 8, 7]\n v: [2, 3, 7, 8]\n a = MatMul(q, k)\n p = Softmax(a) axis=2\n y = MatMul(p, "
     "v)",
     1e-5},
    {"attention, weighed keys",
     "q: [3, 5, 8]\n k: [3, 8, 7]\n v: [2, 3, 7, 8]\n c: const [7]\n a = MatMul(q, k)\n s = Mul(a, c)\n p = Softmax(s) "
     "axis=2\n y = MatMul(p, v)",
     1e-5},
    // What moves.
    {"transpose", "x: [2, 3, 4, 5]\n t = Transpose(x) perm=[3, 1, 0, 2]\n y = Neg(t)"},
    {"transpose alone", "x: [20, 33, 40]\n y = Transpose(x) perm=[0, 2, 1]"},
    {"slice with steps", "x: [2, 9, 4]\n y = Slice(x) axes=[1, 2] starts=[1, 0] ends=[8, 3] steps=[3, 2]"},
    {"split and swap", "x: [2, 9, 4]\n a, b = Split(x) axis=1 split=[4, 5]\n y = Concat(b, a) axis=1"},
    {"concat", "a: [2, 3, 4]\n b: [2, 5, 4]\n c: const [2, 1, 4]\n y = Concat(a, c, b) axis=1"},
    {"concat of convs",
     "x: [1, 4, 9, 8]\n w: const [16, 4, 3, 3]\n k: const [16, 4, 3, 3]\n a = Conv(x, w)\n"
     "b = Conv(x, k)\n y = Concat(a, b) axis=1"},
    {"pad", "x: [2, 3, 4]\n y = Pad(x) pads=[0, 1, 2, 1, 0, 3] value=5"},
    {"pad that crops", "x: [2, 3, 6]\n y = Pad(x) pads=[0, 1, -2, 0, 0, -1]"},
    {"pad, reflect", "x: [2, 3, 6]\n y = Pad(x) pads=[0, 1, 2, 1, 0, 3] mode=reflect"},
    {"pad, edge", "x: [2, 3, 6]\n y = Pad(x) pads=[0, 1, 2, 1, 0, 3] mode=edge"},
    {"pad twice",
     "x: [2, 3, 6]\n p = Pad(x) pads=[0, 1, 0, 0, 0, 1] value=3\n y = Pad(p) pads=[0, 0, 1, 0, 1, 1] value=4"},
    {"reshape of a pad", "x: [2, 3, 6]\n p = Pad(x) pads=[0, 1, 0, 0, 0, 1]\n y = Reshape(p) shape=[8, 7]"},
    {"reshape of a crop", "x: [2, 3, 6]\n p = Slice(x) axes=[2] starts=[1] ends=[5]\n y = Reshape(p) shape=[2, 12]"},
    {"copies that views and others read",
     "x: [2, 3, 6]\n r = Relu(x)\n p = Slice(r) axes=[2] starts=[1] ends=[5]\n q = Reshape(p) shape=[2, 2, 6]\n n = "
     "Neg(q)\n"
     "s = ReduceSum(p) axes=[1]\n return n, s"},
    {"a copy that a view still reads",
     "x: [2, 3, 6]\n r = Relu(x)\n p = Slice(r) axes=[2] starts=[1] ends=[5]\n q = Reshape(p) shape=[2, 2, 6]\n n = "
     "Neg(p)\n"
     "s = Neg(q)\n return n, s"},
    {"flatten", "x: [2, 3, 6]\n p = Transpose(x) perm=[0, 2, 1]\n y = Flatten(p) axis=1"},
    {"squeeze", "x: [2, 1, 6]\n p = Squeeze(x) axes=[1]\n y = Unsqueeze(p) axes=[0, 3]"},
    {"layout", "x: [4, 3, 6, 5]\n y = Layout(x) (n 2) c h w -> n c h (2 w)"},
    {"layout, phases", "x: [2, 3, 6, 8]\n y = Layout(x) n c (h 2) (w 2) -> n (2 c) h (w 2)"},
    {"depth to space", "x: [2, 12, 3, 4]\n y = DepthToSpace(x) blocksize=2"},
    {"depth to space, CRD", "x: [2, 12, 3, 4]\n y = DepthToSpace(x) blocksize=2 mode=CRD"},
    {"space to depth", "x: [2, 3, 4, 6]\n y = SpaceToDepth(x) blocksize=2"},
    {"expand", "x: [3, 1]\n y = Expand(x) shape=[2, 3, 4]"},
    {"tile", "x: [3, 2]\n y = Tile(x) repeats=[2, 3]"},
    {"gather", "x: [3, 5]\n y = Gather(x) axis=1 indices=[4, 0, 0, 2]"},
    {"rows replaced", "x: [5, 3]\n u: [2, 3]\n a = Relu(x)\n y = ScatterND(a, u) start=2"},
    {"rows replaced, of a value that is still read",
     "x: [3, 5]\n u: [3, 2]\n a = Transpose(x) perm=[1, 0]\n b = Transpose(u) perm=[1, 0]\n s = ScatterND(a, b) "
     "start=1\n y = Add(s, a)"},
    {"index map", "x: [3, 9, 2]\n y = IndexMap(x) [a:3, i:2, j:4, c:2] -> [a, i + 2j + 1, c]"},
    {"index map with a division", "x: [3, 4]\n y = IndexMap(x) [a:3, j:8] -> [a, floor(j/2)]"},
    {"index map of a shuffle", "x: [2, 6, 4]\n y = IndexMap(x) [n:2, (c:3 g:2), w:4] -> [n, 3g + c, w]"},
    {"index map that fills", "x: [3, 5]\n y = IndexMap(x) [a:3, j:8] -> [a, j - 2]"},
    {"nearest",
     "x: [1, 3, 4, 5]\n y = Resize(x) scales=[1, 1, 1, 1, 2, 1, 2, 1] coordinate_transformation_mode=asymmetric"
     " nearest_mode=floor"},
    {"linear", "x: [1, 3, 4, 5]\n y = Resize(x) mode=linear sizes=[1, 3, 8, 7]", 1e-6},
    {"linear, corners aligned, many channels",
     "x: [2, 19, 4, 5]\n r = Relu(x)\n y = Resize(r) mode=linear coordinate_transformation_mode=align_corners "
     "sizes=[2, 19, 9, 7]",
     1e-6},
    {"linear, corners aligned, few channels",
     "x: [2, 3, 4, 5]\n y = Resize(x) mode=linear coordinate_transformation_mode=align_corners sizes=[2, 3, 9, 17]",
     1e-6},
    {"linear, asymmetric, smaller, of a transposed tensor",
     "x: [2, 7, 11, 3]\n t = Transpose(x) perm=[0, 3, 1, 2]\n y = Resize(t) mode=linear scales=[1, 1, 1, 1, 1, 2, 3, "
     "4] "
     "coordinate_transformation_mode=asymmetric",
     1e-6},
    {"linear, one axis",
     "x: [2, 16, 9]\n y = Resize(x) mode=linear coordinate_transformation_mode=align_corners "
     "sizes=[2, 16, 21]",
     1e-6},
    {"linear, all axes", "x: [3, 4, 5]\n y = Resize(x) mode=linear sizes=[5, 2, 9]", 1e-6},
    {"linear, three axes, corners aligned",
     "x: [1, 9, 3, 4, 5]\n y = Resize(x) mode=linear coordinate_transformation_mode=align_corners "
     "sizes=[1, 9, 5, 8, 7]",
     1e-6},
    {"linear, rows alone, corners aligned",
     "x: [1, 9, 3, 40]\n y = Resize(x) mode=linear coordinate_transformation_mode=align_corners sizes=[1, 9, 6, 40]",
     1e-6},
    {"cubic", "x: [1, 20, 4, 5]\n y = Resize(x) mode=cubic sizes=[1, 20, 8, 7]", 1e-6},
    {"cubic, few channels", "x: [1, 2, 4, 5]\n y = Resize(x) mode=cubic cubic_coeff_a=-0.5 sizes=[1, 2, 9, 12]", 1e-6},
    {"identity", "x: [3, 5]\n y = Identity(x)"},
    {"an input for output", "x: [3, 5]\n return x, x"},
    {"a constant for output", "x: [3, 5]\n w: const [2]\n v = Neg(w)\n y = Relu(x)\n return y, v, y"},
};

/// What the reference makes of them.
inline std::vector<Tensor<float>> expected(const Program& program, const TensorMap& inputs) {
  auto results = execute<float>(program, {}, inputsFrom<float>(inputs));
  EXPECT_TRUE(results) << results.error().message();
  std::vector<Tensor<float>> tensors;
  for (const auto& r : *results)
    tensors.push_back(*r);
  return tensors;
}

/// The program's inputs: small whole numbers, or real ones.
inline TensorMap draw(const Program& program, bool integers) {
  TensorMap tensors;
  for (Value v : program.inputs()) {
    Extents extents = *evaluate(program.shape(v), {});
    Draw source(1, program.name(v));
    if (!integers) {
      tensors.emplace(program.name(v), drawReal(source, extents));
      continue;
    }
    Tensor<int64_t> whole = drawNonZero(source, extents, 3);
    tensors.emplace(program.name(v), Tensor<float>(extents, {whole.data.begin(), whole.data.end()}));
  }
  return tensors;
}

/// The largest difference, in units of the largest value.
inline double distance(const Tensor<float>& found, const Tensor<float>& wanted) {
  double worst = 0, most = 1e-30;
  for (size_t i = 0; i < wanted.data.size(); ++i) {
    const double y = wanted.data[i], difference = std::abs(found.data[i] - y);
    if (std::isfinite(y)) most = std::max(most, std::abs(y));
    if (found.data[i] == wanted.data[i] || (std::isnan(found.data[i]) && std::isnan(y))) continue;
    worst = std::max(worst, std::isnan(difference) ? 1e30 : difference);
  }
  return worst / most;
}

}  // namespace pet::testing_support
