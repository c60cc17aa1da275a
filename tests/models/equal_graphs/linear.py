"""Operators that are linear along axes."""

import numpy as np
import onnxruntime


def ran(model, *feeds):
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 3, 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, dict(zip([i.name for i in session.get_inputs()], feeds)))[0]


def matrices(g):
    """Of an operator that is linear along each of the last axes by itself, and the same in each channel: a matrix [results, extent] for each."""
    shape = g.extents()
    spatial = shape[2:]

    def response(axis):
        """To each unit vector along the axis, and ones along the others: [extent, results...]"""
        extent, made = spatial[axis], []
        for begin in range(0, extent, shape[1]):
            x = np.zeros(shape, np.float32)
            for channel in range(min(shape[1], extent - begin)):
                np.moveaxis(x[0, channel], axis, 0)[begin + channel] = 1
            made.append(ran(g.model, x)[0, :min(shape[1], extent - begin)])
        return np.concatenate(made).astype(np.float64)

    whole = ran(g.model, np.ones(shape, np.float32))[0, 0].astype(np.float64)
    centre = tuple(extent // 2 for extent in whole.shape)
    found = []
    for axis in range(len(spatial)):
        seen = response(axis)
        at = tuple(slice(None) if a == axis else c for a, c in enumerate(centre))
        scale = 1 if axis == 0 else whole[centre]
        found.append(seen[(slice(None), *at)].T / scale)
    return found


def by_matrices(g):
    """Two products: along the axis first that leaves less."""
    return two_products(g, g.values, *matrices(g))


def two_products(g, x, rows, columns):
    height, width = rows.shape[1], columns.shape[1]
    last = len(columns) * height * (width + len(rows))
    first = len(rows) * width * (height + len(columns))
    return g.MatMul(rows, g.MatMul(x, columns.T)) if last <= first else g.MatMul(g.MatMul(rows, x), columns.T)


def interpolation(extent, results):
    """[results, extent]: linear, between the middles of pixels."""
    at = np.clip((np.arange(results) + 0.5) * extent / results - 0.5, 0, extent - 1)
    low = np.floor(at).astype(int)
    matrix = np.zeros((results, extent))
    np.add.at(matrix, (np.arange(results), low), 1 - (at - low))
    np.add.at(matrix, (np.arange(results), np.minimum(low + 1, extent - 1)), at - low)
    return matrix


def linear_volume(g, x):
    """Twice as large."""
    batch, channels, *extents = g.extents()
    frames, height, width = extents
    depth, rows, columns = (interpolation(extent, 2 * extent) for extent in extents)
    x = g.MatMul(rows, g.MatMul(x, columns.T))
    x = g.MatMul(depth, g.reshape(x, batch, channels, frames, 4 * height * width))
    return g.reshape(x, batch, channels, 2 * frames, 2 * height, 2 * width)


def nearest_volume(g, x):
    """Twice as large: frames are repeated last, side by side."""
    batch, channels, frames, height, width = g.extents()
    x = twice(g, g.reshape(x, batch, channels * frames, height, width))
    x = g.reshape(x, batch, channels, frames, 1, 4 * height * width)
    return g.reshape(g.Concat(x, x, axis=3), batch, channels, 2 * frames, 2 * height, 2 * width)


def twice(g, x):
    return g.Resize(x, "", np.array([1, 1, 2, 2], np.float32), mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")


def conv_first(volume):
    """The Conv of one tap behind it is in front: it is of fewer pixels there."""
    return lambda g: volume(g, g.copy(2, g.copy(0, g.values)))


def tokens(g):
    nodes = g.model.graph.node
    x = g.Add(g.MatMul(g.values, g.weights[nodes[0].input[1]]), next(g.weights[i] for i in nodes[1].input if i in g.weights))
    matrix = interpolation(16, 64)
    return two_products(g, g.reshape(g.transpose(x, 0, 2, 1), 1, 128, 16, 16), matrix, matrix)


def deeplab(g):
    matrix = interpolation(33, 257)
    return two_products(g, g.copy(0, g.values), matrix, matrix)


def fourier(length):
    """[length, 2 results]: real and imaginary parts side by side, of the half that a real signal has."""
    angles = -2 * np.pi * np.outer(np.arange(length), np.arange(length // 2 + 1)) / length
    return np.stack([np.cos(angles), np.sin(angles)], -1)


def dft(g):
    length = g.extents()[-1]
    return g.reshape(g.MatMul(g.values, fourier(length).reshape(length, -1)), *g.result())


def stft(g, by_hops):
    _, hop_name, window_name, _ = next(node for node in g.model.graph.node if node.op_type == "STFT").input
    hop, window = int(g.weights[hop_name]), g.weights[window_name]
    length, (_, bins, count, _) = len(window), g.result()
    matrix = (window[:, None, None] * fourier(length)).reshape(length, -1)
    if by_hops:
        blocks = g.reshape(g.slice(g.values, 1, 0, (count + length // hop - 1) * hop), 1, -1, hop)
        frames = g.Concat(*(g.slice(blocks, 1, i, i + count) for i in range(length // hop)), axis=2)
    else:
        frames = g.Gather(g.values, np.arange(count)[:, None] * hop + np.arange(length), axis=1)
    x = g.reshape(g.MatMul(frames, matrix), 1, count, bins, 2)
    return g.transpose(x, 0, 2, 1, 3)


def sums_so_far(g):
    """Blocks, and the sums of those in front."""
    *batch, length = g.extents()
    if length <= 64:
        return g.MatMul(g.values, np.triu(np.ones((length, length))))
    block, count = 32, length // 32
    inside = g.MatMul(g.reshape(g.values, *batch, count, block), np.triu(np.ones((block, block))))
    ends = g.reshape(g.slice(inside, -1, block - 1, block), *batch, count)
    outside = g.CumSum(ends, np.array(len(batch), np.int64), exclusive=1)
    return g.reshape(g.Add(inside, g.reshape(outside, *batch, count, 1)), *batch, length)


def lrn(g):
    channels = g.extents()[1]
    band = np.array([[abs(i - j) <= 2 for j in range(channels)] for i in range(channels)]) * (1e-4 / 5)
    total = g.Conv(g.Mul(g.values, g.values), band[:, :, None, None].astype(np.float32), np.ones(channels, np.float32), kernel_shape=[1, 1])
    root = g.Sqrt(total)
    return g.Div(g.values, g.Mul(root, g.Sqrt(root)))


EQUAL = {
    "resize_cubic_positions": by_matrices,
    "resize_cubic_x2": by_matrices,
    "resize_cubic_x4": by_matrices,
    "resize_cubic_down": by_matrices,
    "resize_nearest_3d": lambda g: nearest_volume(g, g.values),
    "resize_nearest_3d_between": conv_first(nearest_volume),
    "resize_linear_psp": by_matrices,
    "resize_linear_x8": by_matrices,
    "resize_linear_tokens": tokens,
    "resize_linear_deeplab": deeplab,
    "resize_linear_from_one": lambda g: g.Expand(g.values, np.array(g.result())),
    "resize_linear_3d": lambda g: linear_volume(g, g.values),
    "resize_linear_3d_between": conv_first(linear_volume),
    "averagepool_31": by_matrices,
    "upscaling_dense": by_matrices,
    "upscaling_depthwise": by_matrices,
    "upscaling_depthwise_x2": by_matrices,
    "dft_400": dft,
    "dft_64": dft,
    "stft_400": lambda g: stft(g, False),
    "stft_512": lambda g: stft(g, True),
    "cumsum": sums_so_far,
    "cumsum_long": sums_so_far,
    "lrn": lrn,
    "upsample_expand": lambda g: twice(g, g.values),
}
