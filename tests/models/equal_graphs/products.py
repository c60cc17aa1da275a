"""Products of matrices."""

import numpy as np


def einsum(first, second, back=None, swap=False):
    """MatMul of the operands with their axes in another order; the result's as well."""
    def make(g):
        x = g.transpose(g.values, *first) if first else g.values
        other = g.inputs[1] if len(g.inputs) > 1 else next(iter(g.weights.values()))
        y = (g.transpose(other, *second) if isinstance(other, str) else other.transpose(second)) if second else other
        made = g.MatMul(y, x) if swap else g.MatMul(x, y)
        return g.transpose(made, *back) if back else made
    return make


def einsum_graph(g):
    """nkctv,kvw->nctw: neighbours beside vertices."""
    matrix = next(iter(g.weights.values()))
    x = g.reshape(g.transpose(g.values, 0, 2, 3, 1, 4), 64 * 75, 75)
    return g.reshape(g.MatMul(x, matrix.reshape(75, 25)), *g.result())


def einsum_channels(g):
    """nchw,cd->ndhw"""
    matrix = next(iter(g.weights.values()))
    _, channels, height, width = g.extents()
    return g.reshape(g.MatMul(matrix.T, g.reshape(g.values, channels, height * width)), *g.result())


def einsum_rows(g):
    return g.ReduceSum(g.Mul(*g.inputs), np.array([1]), keepdims=0)


def one_column(g):
    return g.reshape(g.MatMul(next(w for w in g.weights.values() if w.ndim == 2).reshape(1, -1), g.transpose(g.values, 0, 2, 1)), *g.result())


def dots(g):
    x, y = g.inputs
    count, _, width = g.extents()
    return g.reshape(g.ReduceSum(g.Mul(g.reshape(x, count, width), g.reshape(y, count, width)), np.array([1])), *g.result())


def skinning(g):
    x, y = g.inputs
    return g.ReduceSum(g.Mul(x, g.transpose(y, 0, 2, 1)), np.array([2]))


def onehot(g):
    """What is no index has a row of zeros, the last one, which -1 is as well."""
    table = g.weights["constant_0"]
    table = np.concatenate([table, np.zeros_like(table[:1])])
    return g.Gather(table, g.Clip(g.values, np.array(-1), np.array(len(table) - 1)), axis=0)


def diagonal(g):
    return g.Mul(g.values, np.diagonal(g.weights["constant_0"]).copy())


def mixer(g):
    return g.MatMul(np.ascontiguousarray(next(w for w in g.weights.values() if w.ndim == 2).T), g.values)


def linear_across(g):
    """A layer across the first axis of each image, from the left."""
    matrix, bias = (next(w for w in g.weights.values() if w.ndim == rank) for rank in (2, 1))
    images, features, *rest = g.extents()
    x = g.reshape(g.values, images, features, int(np.prod(rest)))
    return g.reshape(g.Add(g.MatMul(np.ascontiguousarray(matrix.T), x), bias.reshape(-1, 1)), *g.result())


EQUAL = {
    "einsum_scores": einsum((0, 2, 3, 1), (0, 2, 1, 3), swap=True),
    "einsum_linear_attention": einsum((0, 1, 3, 2), None),
    "einsum_state_rows": einsum((0, 2, 3, 1), (0, 2, 1, 3)),
    "einsum_of_state_rows": einsum((0, 2, 1, 3), None, (0, 2, 1, 3)),
    "einsum_graph": einsum_graph,
    "einsum_channels": einsum_channels,
    "einsum_rows": einsum_rows,
    "einsum_tokens": einsum(None, None, swap=True),
    "matmul_one_column": one_column,
    "dot_of_rows": dots,
    "skinning": skinning,
    "onehot_table": onehot,
    "matmul_diagonal": diagonal,
    "mixer": mixer,
    "linear_tokens": linear_across,
    "linear_heads": linear_across,
}
