"""What is expanded, or broadcast."""

import numpy as np


def repeat_last(g):
    x = g.Unsqueeze(g.values, np.array([3]))
    return g.reshape(g.Concat(x, x, axis=3), *g.result())


def square_sums(g, x):
    """Of rows."""
    return g.ReduceSum(g.Mul(x, x), np.array([-1]))


def distances(g):
    x, y = g.inputs
    return g.Add(g.Sub(square_sums(g, x), g.MatMul(g.Mul(x, np.float32(2)), g.transpose(y, 1, 0))), g.transpose(square_sums(g, y), 1, 0))


def distances_to_codes(g):
    codes = g.weights["codes"]
    return g.Add(g.Add(square_sums(g, g.values), g.MatMul(g.values, -2 * codes.T)), (codes.astype(np.float64) ** 2).sum(1))


def boxes(g):
    x, y = g.inputs[0], g.transpose(g.inputs[1], 1, 0)
    return g.Sum(*(g.Abs(g.Sub(g.slice(x, 1, i, i + 1), g.slice(y, 0, i, i + 1))) for i in range(4)))


def pairs(g):
    matrix = next(w for w in g.weights.values() if w.shape == (128, 64))
    first, second = g.MatMul(g.values, matrix[:64]), g.Add(g.MatMul(g.values, matrix[64:]), g.weights[next(n for n in g.weights if n.endswith("bias"))])
    return g.Add(g.Unsqueeze(first, np.array([2])), g.Unsqueeze(second, np.array([1])))


def weighted(g):
    x, a = g.inputs
    batch, count, *rest = g.extents()
    return g.reshape(g.MatMul(g.reshape(a, 1, 1, count), g.reshape(x, 1, count, int(np.prod(rest)))), *g.result())


def correlation(g):
    x, y = g.inputs
    _, channels, height, width = g.extents()
    padded = g.Pad(y, np.array([0, 0, 2, 2, 0, 0, 2, 2]))
    means, one = [], np.full((1, channels), 1 / channels)
    for i in range(5):
        rows = g.slice(padded, 2, i, i + height)
        for j in range(5):
            product = g.Mul(x, g.slice(rows, 3, j, j + width))
            means.append(g.reshape(g.MatMul(one, g.reshape(product, 1, channels, height * width)), 1, 1, height, width))
    return g.Concat(*means, axis=1)


EQUAL = {
    "repeat_last": repeat_last,
    "distances": distances,
    "distances_to_codes": distances_to_codes,
    "products_of_rows": lambda g: g.MatMul(g.inputs[0], g.transpose(g.inputs[1], 1, 0)),
    "distances_of_boxes": boxes,
    "pair_features": pairs,
    "weighted_maps": weighted,
    "weighted_tokens": weighted,
    "correlation": correlation,
    "expanded_scale": lambda g: g.Mul(*g.inputs),
}
