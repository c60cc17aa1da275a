"""Layers of networks on sequences, as exporters write them. See build.py."""

import numpy as np

from graph import Graph


def heads(g, name, x, shape, order):
    """The features of each head by themselves."""
    return g.node("Transpose", name + ".transpose", [g.reshape(name + ".reshape", x, shape)], perm=order)


def attend(g, prefix, q, k, v, scale, mask):
    """Of queries, keys (transposed) and values, a head each; the scores are divided by `scale`."""
    scores = g.node("MatMul", prefix + ".scores", [q, k])
    if scale:
        scores = g.node("Div", prefix + ".div", [scores, g.scalar(prefix + ".root", scale)])
    if mask is not None:
        scores = g.node("Add", prefix + ".masked", [scores, g.constant(prefix + ".mask", mask)])
    return g.node("MatMul", prefix + ".context", [g.node("Softmax", prefix + ".softmax", [scores], axis=-1), v])


def attention(g, prefix, x, length, count, extent, mask=None, scaled_before=False):
    """Self-attention with `count` heads of `extent` features. The scores are divided, or queries and keys multiplied
    before (`scaled_before`)."""
    features = count * extent
    q, k, v = (g.linear(f"{prefix}.{each}", x, features, features) for each in ["query", "key", "value"])
    shape = [1, length, count, extent]
    q = heads(g, prefix + ".query", q, shape, [0, 2, 1, 3])
    v = heads(g, prefix + ".value", v, shape, [0, 2, 1, 3])
    k = heads(g, prefix + ".key", k, shape, [0, 2, 3, 1])
    if scaled_before:
        root = g.scalar(prefix + ".root", extent**-0.25)
        q, k = (g.node("Mul", f"{prefix}.{each}.mul", [x, root]) for each, x in [("query", q), ("key", k)])
    y = attend(g, prefix, q, k, v, None if scaled_before else extent**0.5, mask)
    y = g.node("Transpose", prefix + ".transpose", [y], perm=[0, 2, 1, 3])
    y = g.linear(prefix + ".out", g.reshape(prefix + ".reshape", y, [1, length, features]), features, features)
    return g.node("Add", prefix + ".residual", [y, x])


def band_mask(length, band):
    position = np.arange(length)
    return np.where(abs(position[:, None] - position[None, :]) <= band, 0, -np.inf).astype(np.float32)


def window_core(name, length, count, band):
    """The same as window_attention() without the four products with weights around it."""
    g = Graph(name, [1, count, length, 64])
    k, v = (g.input(each, [1, count, length, 64]) for each in ["key", "value"])
    k = g.node("Transpose", "attention.key.transpose", [k], perm=[0, 1, 3, 2])
    y = attend(g, "attention", "input", k, v, 8.0, band_mask(length, band))
    return g.model(y, [1, count, length, 64])


def window_attention(name, length, count, band, scaled_before=False):
    """Sliding-window attention (Longformer, Beltagy et al. 2020) as a mask makes it: a position sees `band` others on either
    side."""
    g = Graph(name, [1, length, 64 * count])
    mask = band_mask(length, band)
    return g.model(attention(g, "attention", "input", length, count, 64, mask, scaled_before), [1, length, 64 * count])


def encoder_layer(name, length, count):
    """A layer of BERT's encoder (Devlin et al. 2019), heads of 64."""
    features = 64 * count
    g = Graph(name, [1, length, features])
    x = g.layer_norm("attention.norm", attention(g, "attention", "input", length, count, 64), features)
    y = g.gelu("intermediate.gelu", g.linear("intermediate", x, features, 4 * features))
    y = g.node("Add", "output.residual", [g.linear("output", y, 4 * features, features), x])
    return g.model(g.layer_norm("output.norm", y, features), [1, length, features])


def conformer(name, length, channels):
    """Two convolution modules of Conformer (Gulati et al. 2020), one behind the other."""
    g = Graph(name, [1, length, channels])
    x = "input"
    for index in range(2):
        p = f"conv{index}"
        y = g.node("Transpose", p + ".in", [g.layer_norm(p + ".norm", x, channels)], perm=[0, 2, 1])
        y = g.conv(p + ".pointwise1", y, channels, 2 * channels, [1], gain=0.7)
        linear, gate = g.halves(p + ".glu", y, channels, axis=1)  # a gated linear unit
        y = g.node("Mul", p + ".glu.mul", [linear, g.node("Sigmoid", p + ".glu.sigmoid", [gate])])
        y = g.conv(p + ".depthwise", y, channels, channels, [31], pad=15, group=channels)
        y = g.swish(p + ".swish", y)
        y = g.conv(p + ".pointwise2", y, channels, channels, [1], gain=0.7)
        x = g.node("Add", p + ".add", [x, g.node("Transpose", p + ".out", [y], perm=[0, 2, 1])])
    return g.model(x, [1, length, channels])
