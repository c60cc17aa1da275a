"""Reductions and normalisations."""

import numpy as np
import onnx

from .graph import inside_convs


def mean_rows(g, axes=1):
    count = int(np.prod(g.extents()[1:1 + axes]))
    x = g.reshape(g.values, count, -1) if axes > 1 else g.values
    return g.reshape(g.MatMul(np.full((1, count), 1 / count), x), *g.result())


def first_axis(operator):
    """The batch of one is dropped, so that channels are the first axis."""
    def make(g):
        made = g.node(operator, [g.reshape(g.values, g.extents()[1], -1), np.array([0])], keepdims=0)
        return g.reshape(made, *g.result())
    return make


def l2(g):
    x = g.reshape(g.values, g.extents()[1], -1)
    return g.reshape(g.Sqrt(g.ReduceSum(g.Mul(x, x), np.array([0]), keepdims=0)), *g.result())


def channel_means(g, x):
    """Of [channels, pixels]."""
    channels = g.extents()[1]
    return g.MatMul(np.full((1, channels), 1 / channels), x)


def mean_between(g):
    _, channels, height, width = g.extents()
    x = g.reshape(g.copy(0, g.values), channels, height * width)
    return g.copy(2, g.reshape(channel_means(g, x), 1, 1, height, width))


def softmax_rows(operator):
    def make(g):
        shape = g.extents()
        x = g.transpose(g.reshape(g.values, shape[1], -1), 1, 0)
        return g.reshape(g.transpose(g.node(operator, [x], axis=1), 1, 0), *shape)
    return make


def softmax_pieces(g, x=None, log=False):
    x = x or g.values
    x = g.Sub(x, g.ReduceMax(x, np.array([1])))
    power = g.Exp(x)
    total = g.ReduceSum(power, np.array([1]))
    return g.Sub(x, g.Log(total)) if log else g.Div(power, total)


def softmax_two(g):
    first, second = g.slice(g.values, 1, 0, 1), g.slice(g.values, 1, 1, 2)
    share = g.Sigmoid(g.Sub(first, second))
    return g.Concat(share, g.Sub(np.float32(1), share), axis=1)


def argmax_two(g):
    greater = g.Greater(g.slice(g.values, 1, 1, 2), g.slice(g.values, 1, 0, 1))
    return g.reshape(g.Cast(greater, to=onnx.TensorProto.INT64), *g.result())


def channel_norm(g, x=None, transposed=False):
    scale, bias = (w for w in g.weights.values() if w.ndim == 3)
    _, channels, height, width = g.extents()
    x = g.reshape(x or g.values, channels, height * width)
    if transposed:
        x = g.LayerNormalization(g.transpose(x, 1, 0), scale.ravel(), bias.ravel(), axis=1, epsilon=1e-6)
        return g.reshape(g.transpose(x, 1, 0), 1, channels, height, width)
    x = g.Sub(x, channel_means(g, x))
    deviation = g.Sqrt(g.Add(channel_means(g, g.Mul(x, x)), np.float32(1e-6)))
    x = g.Mul(g.Mul(x, g.Div(np.float32(1), deviation)), scale.reshape(channels, 1))
    return g.reshape(g.Add(x, bias.reshape(channels, 1)), 1, channels, height, width)


def layer_norm(g):
    return g.LayerNormalization(g.values, g.weights["scale"], g.weights["offset"], axis=-1, epsilon=1e-6)


EQUAL = {
    "mean_tokens": mean_rows,
    "mean_channels": first_axis("ReduceMean"),
    "sum_channels": first_axis("ReduceSum"),
    "max_channels": first_axis("ReduceMax"),
    "l2_channels": l2,
    "mean_pixels_last": lambda g: mean_rows(g, 2),
    "mean_channels_large": lambda g: g.reshape(channel_means(g, g.reshape(g.values, 256, 3136)), *g.result()),
    "mean_channels_between": mean_between,
    "softmax_channels_150": softmax_rows("Softmax"),
    "softmax_channels_21": softmax_rows("Softmax"),
    "softmax_channels_large": softmax_pieces,
    "softmax_channels_behind": lambda g: softmax_pieces(g, g.copy(0, g.values)),
    "softmax_channels_batch": softmax_pieces,
    "log_softmax_channels": lambda g: softmax_pieces(g, log=True),
    "softmax_box_head": softmax_pieces,
    "softmax_two": softmax_two,
    "argmax_two": argmax_two,
    "channel_norm_sam": channel_norm,
    "channel_norm_sam_between": inside_convs(channel_norm, -1),
    "channel_norm_nafnet": channel_norm,
    "channel_norm_convnext": channel_norm,
    "channel_norm_convnext_between": inside_convs(channel_norm, -1),
    "channel_norm_convnext_last": lambda g: channel_norm(g, transposed=True),
    "layer_norm_in_pieces": layer_norm,
}
