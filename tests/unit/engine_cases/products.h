// Products, and what follows them.
#pragma once

#include "tests/unit/engine_cases/engine_case.h"

namespace pet::testing_support {

inline const EngineCase kProducts[] = {
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
};

}  // namespace pet::testing_support
