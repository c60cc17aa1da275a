// What moves: layouts, slices, Concat, Resize.
#pragma once

#include "tests/unit/engine_cases/engine_case.h"

namespace pet::testing_support {

inline const EngineCase kMoves[] = {
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

}  // namespace pet::testing_support
