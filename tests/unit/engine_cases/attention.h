// Attention, which an engine may compute in one call.
#pragma once

#include "tests/unit/engine_cases/engine_case.h"

namespace pet::testing_support {

inline const EngineCase kAttention[] = {
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
};

}  // namespace pet::testing_support
