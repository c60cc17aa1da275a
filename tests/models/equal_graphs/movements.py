"""What moves elements."""

import numpy as np


def unfold(stride):
    def make(g):
        _, channels, height, width = g.extents()
        x = g.Pad(g.values, np.array([0, 0, 1, 1, 0, 0, 1, 1]))
        rows = [g.slice(x, 2, i, i + height, stride) for i in range(3)]
        parts = [g.Unsqueeze(g.slice(rows[i], 3, j, j + width, stride), np.array([2])) for i in range(3) for j in range(3)]
        return g.reshape(g.Concat(*parts, axis=2), *g.result())
    return make


def signal_windows(g):
    """Hops of 80 samples, side by side."""
    blocks_of_hop = g.reshape(g.slice(g.values, 1, 0, 16000), 1, 200, 80)
    return g.Concat(*(g.slice(blocks_of_hop, 1, i, i + 195, 2) for i in range(5)), axis=2)


def unpatchify(g):
    x = g.reshape(g.values, 14 * 14 * 16, 16, 3)  # rows, columns and rows of a patch; its columns; channels
    x = g.reshape(g.transpose(x, 2, 0, 1), 3, 14, 14, 16, 16)
    return g.reshape(g.transpose(x, 0, 1, 3, 2, 4), *g.result())


def pixel_unshuffle(g):
    _, channels, height, width = g.extents()
    x = g.reshape(g.values, channels, height // 2, 2, width // 2, 2)
    x = g.reshape(g.transpose(x, 0, 1, 2, 4, 3), channels, height // 2, 4, width // 2)
    return g.reshape(g.transpose(x, 0, 2, 1, 3), *g.result())


def pixel_shuffle(g):
    _, channels, height, width = g.extents()
    x = g.reshape(g.values, channels // 4, 2, 2, height, width)
    x = g.reshape(g.transpose(x, 0, 1, 3, 4, 2), channels // 4, 2, height, 2 * width)
    return g.reshape(g.transpose(x, 0, 2, 1, 3), *g.result())


def sliced(axis, begin, end):
    return lambda g: g.slice(g.values, axis, begin, end)


def scatter_inside(g):
    x, y = g.inputs
    middle = g.Concat(g.slice(g.slice(x, 2, 1, 63), 3, 0, 1), y, g.slice(g.slice(x, 2, 1, 63), 3, 63, 64), axis=3)
    return g.Concat(g.slice(x, 2, 0, 1), middle, g.slice(x, 2, 63, 64), axis=2)


def shifted_windows(g):
    _, height, width, channels = g.extents()
    at = (np.arange(height * width).reshape(height, width))
    at = np.roll(at, (-3, -3), (0, 1)).reshape(8, 7, 8, 7).transpose(0, 2, 1, 3).ravel()
    return g.reshape(g.Gather(g.reshape(g.values, height * width, channels), at, axis=0), *g.result())


def merged_patches(g):
    _, height, width, channels = g.extents()
    x = g.reshape(g.values, height // 2, 2, width // 2, 2, channels)
    return g.reshape(g.transpose(x, 0, 2, 3, 1, 4), *g.result())


def channel_shuffle(g):
    channels = g.extents()[1]
    return g.Gather(g.values, np.arange(channels).reshape(3, channels // 3).T.ravel(), axis=1)


def rotary(g):
    x = g.reshape(g.values, *g.extents()[:-1], 64, 2)
    even, odd = (g.slice(x, 4, i, i + 1) for i in range(2))
    (even_cosine, odd_cosine), (even_sine, odd_sine) = ([table.reshape(128, 64, 2)[..., i:i + 1] for i in range(2)] for table in
                                                       (g.weights["constant_0"], g.weights["constant_1"]))
    pair = g.Concat(g.Sub(g.Mul(even, even_cosine), g.Mul(odd, even_sine)), g.Add(g.Mul(odd, odd_cosine), g.Mul(even, odd_sine)), axis=4)
    return g.reshape(pair, *g.extents())


EQUAL = {
    "unfold": unfold(1),
    "unfold_s2": unfold(2),
    "windows": signal_windows,
    "unpatchify": unpatchify,
    "pixel_unshuffle": pixel_unshuffle,
    "pixel_shuffle": pixel_shuffle,
    "gather_elements": sliced(2, 32, 64),
    "gather_rows": sliced(1, 64, 128),
    "scatter_inside": scatter_inside,
    "shifted_windows": shifted_windows,
    "merged_patches": merged_patches,
    "channel_shuffle": channel_shuffle,
    "rotary_pairs": rotary,
}
