"""Convolutions and pools."""

import numpy as np

from .graph import attribute, conv_weights, inside_convs, plus


def whole_kernel(g):
    weight, bias = conv_weights(g)
    x = g.MatMul(g.reshape(g.values, g.extents()[0], -1), weight.reshape(len(weight), -1).T)
    return g.reshape(plus(g, x, bias, -1), *g.result())


def electrodes(g):
    """The rows are contracted first."""
    time, rows = (w for w in g.weights.values() if w.ndim == 4)
    bias = next(w for w in g.weights.values() if w.ndim == 1)
    x = g.Conv(g.values, rows.reshape(16, 1, 22, 1), kernel_shape=[22, 1])
    kernel = np.repeat(time, 2, 0)  # of each result the filter of its group
    offset = np.repeat(bias, 2) * rows.sum((1, 2, 3))
    return g.Conv(x, kernel, offset.astype(np.float32), kernel_shape=[1, 64], pads=[0, 32, 0, 32], group=16)


def flipped(g, x=None, node=0):
    """As a ConvTranspose of the mirrored kernel."""
    weight, bias = conv_weights(g, node)
    spatial = weight.shape[2:]
    mirrored = np.flip(np.swapaxes(weight, 0, 1), tuple(range(2, weight.ndim)))
    operands = [x or g.values, np.ascontiguousarray(mirrored), *([] if bias is None else [bias])]
    return g.node("ConvTranspose", operands, kernel_shape=spatial, pads=[k // 2 for k in spatial] * 2)


def blocks(size):
    """size x size results as channels, of one Conv of a larger kernel and that stride."""
    def make(g):
        weight, bias = conv_weights(g)
        filters, inner, *kernel = weight.shape
        larger = [k + size - 1 for k in kernel]
        made = np.zeros((filters, size, size, inner, *larger), np.float32)
        for i in range(size):
            for j in range(size):
                made[:, i, j, :, i:i + kernel[0], j:j + kernel[1]] = weight
        made = made.transpose(1, 2, 0, 3, 4, 5).reshape(filters * size * size, inner, *larger)  # DCR: blocks before channels
        operands = [g.values, made, *([] if bias is None else [np.tile(bias, size * size)])]
        pad = kernel[0] // 2
        return g.DepthToSpace(g.Conv(*operands, kernel_shape=larger, strides=[size, size], pads=[pad] * 4), blocksize=size)
    return make


def one_channel(g):
    weight, bias = conv_weights(g)
    _, channels, height, width = g.extents()
    x = g.MatMul(weight.reshape(1, channels), g.reshape(g.values, channels, height * width))
    return g.reshape(g.Add(x, bias.reshape(1, 1)), 1, 1, height, width)


def depthwise_frames(g):
    """Frames as a batch, a Conv of two axes for each tap in time, and their sum."""
    strides = attribute(g, "strides")[1:]
    weight, bias = conv_weights(g)
    _, channels, frames, height, width = g.extents()
    taps, side = weight.shape[2], weight.shape[3]
    x = g.reshape(g.transpose(g.values, 0, 2, 1, 3, 4), frames, channels, height, width)
    x = g.Pad(x, np.array([taps // 2, 0, 0, 0, taps // 2, 0, 0, 0]))
    parts = []
    for tap in range(taps):
        operands = [g.slice(x, 0, tap, tap + frames), weight[:, :, tap], *([bias] if bias is not None and not tap else [])]
        parts.append(g.Conv(*operands, kernel_shape=[side, side], pads=[side // 2] * 4, strides=strides, group=channels))
    total = g.Sum(*parts)
    return g.reshape(g.transpose(g.reshape(total, 1, frames, channels, *g.result()[3:]), 0, 2, 1, 3, 4), *g.result())


def row(g, x=None, node=0, pads=None):
    """A Conv of a signal as one of an image with one row."""
    weight, bias = conv_weights(g, node)
    begin, end = pads or attribute(g, "pads", node)
    x = g.Conv(g.Unsqueeze(x or g.values, np.array([2])), weight[:, :, None], bias, kernel_shape=[1, weight.shape[2]], pads=[0, begin, 0, end],
               group=attribute(g, "group", node))
    return g.Squeeze(x, np.array([2]))


def stem(g):
    """Taps in time as channels of a frame."""
    weight, _ = conv_weights(g)
    _, channels, frames, height, width = g.extents()
    filters, _, taps, side, _ = weight.shape
    x = g.reshape(g.transpose(g.values, 0, 2, 1, 3, 4), frames, channels, height, width)
    x = g.Pad(x, np.array([1, 0, 0, 0, 1, 0, 0, 0]))
    x = g.Concat(*(g.slice(x, 0, tap, tap + frames) for tap in range(taps)), axis=1)
    x = g.Conv(x, weight.transpose(0, 2, 1, 3, 4).reshape(filters, taps * channels, side, side), kernel_shape=[side, side], strides=[2, 2], pads=[3] * 4)
    return g.transpose(g.reshape(x, 1, frames, filters, height // 2, width // 2), 0, 2, 1, 3, 4)


def pixels_as_row(g):
    """3x1x1: a Conv of frames by pixels."""
    weight, _ = conv_weights(g)
    _, channels, frames, height, width = g.extents()
    x = g.Conv(g.reshape(g.values, 1, channels, frames, height * width), weight.reshape(*weight.shape[:3], 1), kernel_shape=[3, 1], pads=[1, 0, 1, 0])
    return g.reshape(x, *g.result())


def centre_tap(g):
    weight, _ = conv_weights(g)
    return g.Conv(g.values, np.ascontiguousarray(weight[:, :, 1:2, 1:2]), kernel_shape=[1, 1])


def nine_parts(g):
    weight, _ = conv_weights(g)
    _, _, height, width = g.extents()
    far, parts = 24, []
    for i in range(3):
        for j in range(3):
            down, right = far * (i - 1), far * (j - 1)
            x = g.slice(g.slice(g.values, 2, max(down, 0), height + min(down, 0)), 3, max(right, 0), width + min(right, 0))
            x = g.Conv(x, np.ascontiguousarray(weight[:, :, i:i + 1, j:j + 1]), kernel_shape=[1, 1])
            parts.append(g.Pad(x, np.array([0, 0, max(-down, 0), max(-right, 0), 0, 0, max(down, 0), max(right, 0)])) if down or right else x)
    return g.Sum(*parts)


def seeing_taps(g):
    """The taps of a long kernel that see a part of the signal at all."""
    weight, bias = conv_weights(g)
    length, taps, pad = g.extents()[-1], weight.shape[2], 64
    low, high = max(pad - length + 1, 0), min(pad + length, taps)
    kept = np.ascontiguousarray(weight[:, :, low:high])[:, :, None]
    x = g.Conv(g.Unsqueeze(g.values, np.array([2])), kept, bias, kernel_shape=[1, high - low], pads=[0, pad - low, 0, high - 1 - pad], group=16)
    return g.Squeeze(x, np.array([2]))


def focus(g):
    """Of the four parts at stride 2, rows before columns: channels [row 0 column 0, row 1 column 0, row 0 column 1, row 1 column 1]."""
    weight, _ = conv_weights(g)
    parts = weight.reshape(32, 2, 2, 3, 3, 3)  # filter, column, row, channel, taps
    larger = parts.transpose(0, 3, 4, 2, 5, 1).reshape(32, 3, 6, 6)
    return g.Conv(g.values, np.ascontiguousarray(larger), kernel_shape=[6, 6], strides=[2, 2], pads=[2] * 4)


def as_conv(g):
    weight, bias = conv_weights(g)
    return g.Conv(g.values, np.ascontiguousarray(np.flip(weight.swapaxes(0, 1), (2, 3))), bias, kernel_shape=[3, 3], pads=[1] * 4)


def four_phases(g):
    """One Conv of 2 x 2 for each phase."""
    weight, bias = conv_weights(g)
    inner, outer = weight.shape[:2]
    phases = []
    for i in range(2):
        for j in range(2):
            taps = weight[:, :, [3, 1] if i == 0 else [2, 0]][:, :, :, [3, 1] if j == 0 else [2, 0]].swapaxes(0, 1)
            phases.append(g.Conv(g.values, np.ascontiguousarray(taps), bias, kernel_shape=[2, 2], pads=[1 - i, 1 - j, i, j]))
    return g.DepthToSpace(g.Concat(*phases, axis=1), blocksize=2)


def phases_1d(g):
    """To one channel: a Conv with a result for each phase."""
    weight, _ = conv_weights(g)
    stride = attribute(g, "strides")[0]
    inner, _, kernel = weight.shape
    taps = kernel // stride
    made = np.flip(weight.reshape(inner, taps, stride), 1).transpose(2, 0, 1)
    x = g.Conv(g.values, np.ascontiguousarray(made), kernel_shape=[taps], pads=[taps - 1] * 2)
    return g.reshape(g.transpose(x, 0, 2, 1), *g.result())


def box(g):
    """A pool of 1 x k, then of k x 1."""
    kernel = attribute(g, "kernel_shape")[0]
    pad, operator = kernel // 2, g.model.graph.node[0].op_type
    more = {"count_include_pad": 1} if operator == "AveragePool" else {}
    x = g.node(operator, [g.values], kernel_shape=[1, kernel], pads=[0, pad, 0, pad], **more)
    return g.node(operator, [x], kernel_shape=[kernel, 1], pads=[pad, 0, pad, 0], **more)


def pools(g):
    """The larger ones by the smaller, each along one axis at a time."""
    def five(x):
        return g.MaxPool(g.MaxPool(x, kernel_shape=[1, 5], pads=[0, 2, 0, 2]), kernel_shape=[5, 1], pads=[2, 0, 2, 0])
    first = five(g.values)
    second = five(first)
    return g.Concat(g.values, first, second, five(second), axis=1)


EQUAL = {
    "patches_3d": whole_kernel,
    "patches": whole_kernel,
    "kernel_covers": whole_kernel,
    "maps_of_one": whole_kernel,
    "electrodes": electrodes,
    "conv_one_output": flipped,
    "conv_one_output_depth": flipped,
    "conv_one_output_depth_between": inside_convs(lambda g, x: flipped(g, x, 1), -1),
    "conv_one_output_cbam": blocks(4),
    "conv_three_outputs_srgan": blocks(4),
    "conv_three_outputs": blocks(2),
    "conv1d_one_output": flipped,
    "conv3d_one_output": flipped,
    "conv_1x1_one_output": one_channel,
    "conv3d_depthwise_5": depthwise_frames,
    "conv3d_depthwise_3": depthwise_frames,
    "conv3d_depthwise_s2": depthwise_frames,
    "conv1d_depthwise_31": row,
    "conv1d_depthwise_31_between": inside_convs(lambda g, x: row(g, x, 1), -1),
    "conv1d_depthwise_7": row,
    "conv1d_depthwise_causal": row,
    "conv1d_mamba": lambda g: row(g, pads=(3, 0)),
    "conv3d_stem": stem,
    "conv3d_frames": pixels_as_row,
    "conv_rate_beyond": centre_tap,
    "conv_rate_large": nine_parts,
    "conv1d_positions": seeing_taps,
    "focus": focus,
    "transposed_stride_1": as_conv,
    "transposed_stride_2": four_phases,
    "istft_4096": phases_1d,
    "istft_1024": phases_1d,
    "averagepool_13": box,
    "maxpool_13": box,
    "pyramid_pools": pools,
}
