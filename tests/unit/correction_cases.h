// Results of which a part is computed once more: where that is written, on every engine of ours.
#pragma once

#include <string>

namespace pet::testing_support {

struct CorrectionCase {
  std::string name, text;
  std::string onednn, cuda;  ///< what the note of the Concat `c` begins with
};

inline const CorrectionCase kCorrectionCases[] = {
    {"two images side by side, as conv/n.in2-outer1_conv has them",
     "x: [4, 5, 6, 7]\n w: const [8, 5, 3, 3]\n t = Layout(x) (n 2) c h w -> n c h (2 w)\n"
     "u = Conv(t, w) pads=[1, 1, 1, 1]\n c1 = Slice(u) axes=[3] starts=[0] ends=[6]\n"
     "c2 = Slice(x) axes=[0] starts=[0] ends=[3] steps=[2]\n c3 = Slice(c2) axes=[3] starts=[5] ends=[7]\n"
     "c4 = Conv(c3, w) pads=[1, 0, 1, 1]\n c6 = Slice(x) axes=[0] starts=[1] ends=[4] steps=[2]\n"
     "c7 = Slice(c6) axes=[3] starts=[0] ends=[2]\n c8 = Conv(c7, w) pads=[1, 1, 1, 0]\n"
     "c9 = Slice(u) axes=[3] starts=[8] ends=[14]\n c = Concat(c1, c4, c8, c9) axis=3\n"
     "y = Layout(c) n f h (2 w) -> (n 2) f h w",
     "corrected in place, 2 copies", "corrected in place, 0 copies"},
    {"with what follows the correction",
     "x: [1, 4, 9, 8]\n w: const [8, 4, 3, 3]\n k: const [8, 4, 3, 1]\n b: const [8, 1, 1]\n"
     "u = Conv(x, w) pads=[1, 1, 1, 1]\n a = Slice(u) axes=[3] starts=[1] ends=[8]\n"
     "s = Slice(x) axes=[3] starts=[0] ends=[1]\n f0 = Conv(s, k) pads=[1, 0, 1, 0]\n f1 = Add(f0, b)\n"
     "f2 = Relu(f1)\n f = Neg(f2)\n c = Concat(f, a) axis=3\n y = Neg(c)",
     "corrected in place, 1 copies", "corrected in place, 0 copies"},
    {"a signal",
     "x: [2, 4, 9]\n w: const [8, 4, 3]\n k: const [8, 4, 1]\n u = Conv(x, w) pads=[1, 1]\n"
     "a = Slice(u) axes=[2] starts=[1] ends=[9]\n s = Slice(x) axes=[2] starts=[0] ends=[1]\n f = Conv(s, k)\n"
     "c = Concat(f, a) axis=2\n y = Neg(c)",
     "corrected in place, 1 copies", "corrected in place, 0 copies"},
    {"a frame and a row around it",
     "x: [1, 4, 9, 8]\n w: const [8, 4, 3, 3]\n k: const [8, 4, 3, 1]\n l: const [8, 4, 1, 3]\n"
     "u = Conv(x, w) pads=[1, 1, 1, 1]\n a = Slice(u) axes=[2, 3] starts=[1, 1] ends=[9, 8]\n"
     "s = Slice(x) axes=[2, 3] starts=[1, 0] ends=[9, 1]\n f = Conv(s, k) pads=[1, 0, 1, 0]\n"
     "d = Concat(f, a) axis=3\n r = Slice(x) axes=[2] starts=[0] ends=[1]\n h = Conv(r, l) pads=[0, 1, 0, 1]\n"
     "c = Concat(h, d) axis=2\n y = Neg(c)",
     "corrected in place, 0 copies", "corrected in place, 0 copies"},
    {"a pool",
     "x: [1, 4, 9, 8]\n u = MaxPool(x) kernel_shape=[3, 3] pads=[1, 1, 1, 1]\n"
     "a = Slice(u) axes=[3] starts=[1] ends=[8]\n s = Slice(x) axes=[3] starts=[0] ends=[2]\n"
     "f = MaxPool(s) kernel_shape=[3, 3] pads=[1, 1, 1, 0]\n c = Concat(f, a) axis=3\n y = Neg(c)",
     "corrected in place, 1 copies", "corrected in place, 0 copies"},
    {"a product",
     "x: [6, 5]\n w: const [5, 8]\n v: const [5, 8]\n u = MatMul(x, w)\n a = Slice(u) axes=[0] starts=[1] ends=[6]\n"
     "s = Slice(x) axes=[0] starts=[0] ends=[1]\n f = MatMul(s, v)\n c = Concat(f, a) axis=0\n y = Neg(c)",
     "corrected in place, 1 copies", "corrected in place, 0 copies"},
    {"elements",
     "x: [2, 6, 16]\n z: [2, 1, 16]\n u = Square(x)\n a = Slice(u) axes=[1] starts=[1] ends=[6]\n"
     "s = Slice(x) axes=[1] starts=[0] ends=[1]\n f = Mul(s, z)\n c = Concat(f, a) axis=1\n y = Neg(c)",
     "corrected in place, 0 copies", "corrected in place, 0 copies"},
    {"what is corrected was read before",
     "x: [1, 4, 9, 8]\n w: const [8, 4, 3, 3]\n k: const [8, 4, 3, 1]\n u = Conv(x, w) pads=[1, 1, 1, 1]\n"
     "o = Slice(u) axes=[3] starts=[0] ends=[1]\n v = Neg(o)\n a = Slice(u) axes=[3] starts=[1] ends=[8]\n"
     "s = Slice(x) axes=[3] starts=[0] ends=[1]\n f = Conv(s, k) pads=[1, 0, 1, 0]\n c = Concat(f, a) axis=3\n"
     "y = Sub(c, v)",
     "corrected in place, 1 copies", "corrected in place, 0 copies"},
    {"what is corrected is read in between",
     "x: [1, 4, 9, 8]\n w: const [8, 4, 3, 3]\n k: const [8, 4, 3, 1]\n u = Conv(x, w) pads=[1, 1, 1, 1]\n"
     "a = Slice(u) axes=[3] starts=[1] ends=[8]\n s = Slice(x) axes=[3] starts=[0] ends=[1]\n"
     "f = Conv(s, k) pads=[1, 0, 1, 0]\n o = Slice(u) axes=[3] starts=[0] ends=[1]\n v = Neg(o)\n"
     "c = Concat(f, a) axis=3\n y = Sub(c, v)",
     "corrected in place, 1 copies", "corrected in place, 1 copies"},
    {"what is corrected is read afterwards",
     "x: [1, 4, 9, 8]\n w: const [8, 4, 3, 3]\n k: const [8, 4, 3, 1]\n u = Conv(x, w) pads=[1, 1, 1, 1]\n"
     "a = Slice(u) axes=[3] starts=[1] ends=[8]\n s = Slice(x) axes=[3] starts=[0] ends=[1]\n"
     "f = Conv(s, k) pads=[1, 0, 1, 0]\n c = Concat(f, a) axis=3\n y = Sub(c, u)",
     "copies", "copies"},
    {"the correction is computed of the value itself",
     "x: [1, 4, 9, 8]\n w: const [8, 4, 3, 3]\n u = Conv(x, w) pads=[1, 1, 1, 1]\n"
     "a = Slice(u) axes=[3] starts=[1] ends=[8]\n s = Slice(u) axes=[3] starts=[7] ends=[8]\n f = Square(s)\n"
     "c = Concat(f, a) axis=3\n y = Neg(c)",
     "corrected in place, 1 copies", "corrected in place, 1 copies"},
    {"rows that are one in memory",
     "x: [1, 8]\n z: [4, 1]\n u = Square(x)\n e = Expand(u) shape=[4, 8]\n a = Slice(e) axes=[1] starts=[1] ends=[8]\n"
     "f = Neg(z)\n c = Concat(f, a) axis=1\n y = Neg(c)",
     "copies", "copies"},
    {"halves that lie apart",
     "x: [2, 4, 9]\n w: const [8, 4, 3]\n k: const [8, 4, 1]\n u = Conv(x, w) pads=[1, 1]\n"
     "v = Layout(u) n f w -> f (n w)\n a = Slice(v) axes=[1] starts=[0] ends=[8]\n"
     "b = Slice(v) axes=[1] starts=[10] ends=[18]\n s = Slice(x) axes=[0, 2] starts=[0, 7] ends=[1, 9]\n"
     "g = Conv(s, k)\n f = Layout(g) 1 f w -> f w\n c = Concat(a, f, b) axis=1\n y = Neg(c)",
     "corrected in place, 1 copies", "corrected in place, 1 copies"},
    {"the correction is read by another, too",
     "x: [1, 4, 9, 8]\n w: const [8, 4, 3, 3]\n k: const [8, 4, 3, 1]\n u = Conv(x, w) pads=[1, 1, 1, 1]\n"
     "a = Slice(u) axes=[3] starts=[1] ends=[8]\n s = Slice(x) axes=[3] starts=[0] ends=[1]\n"
     "f = Conv(s, k) pads=[1, 0, 1, 0]\n c = Concat(f, a) axis=3\n y = Sub(c, f)",
     "corrected in place, 1 copies", "corrected in place, 1 copies"},
};

}  // namespace pet::testing_support
