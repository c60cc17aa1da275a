"""To each operator of families.py an equal graph by hand, that ONNX Runtime runs faster: what a rule is measured against on the same machine.

    python tests/models/equal_graphs.py FOLDER [NAME...]      writes NAME.onnx and NAME.equal.onnx, and says how far their outputs differ

The forms are those that were known when the list was made ("gain" of a family says how many times as fast they were on another machine). They
are the other side of a comparison only: nothing that rewrites models reads them.
"""

import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import families  # noqa: E402


class Graph:
    """A graph with the inputs and outputs of a model. g.Op(inputs..., attributes) adds a node and returns its value; arrays become constants."""

    def __init__(self, model):
        self.model, self.nodes, self.constants = model, [], []
        self.inputs = [value.name for value in model.graph.input]
        self.weights = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
        self.values = self.inputs[0]

    def extents(self, index=0):
        return [d.dim_value for d in self.model.graph.input[index].type.tensor_type.shape.dim]

    def result(self):
        """Extents of the output."""
        return [d.dim_value for d in self.model.graph.output[0].type.tensor_type.shape.dim]

    def name(self, value):
        if isinstance(value, str):
            return value
        array = np.asarray(value)
        if array.dtype == np.float64:
            array = array.astype(np.float32)
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), f"c{len(self.constants)}"))
        return self.constants[-1].name

    def node(self, operator, operands, outputs=1, **attributes):
        made = [f"v{len(self.nodes)}_{index}" for index in range(outputs)]
        self.nodes.append(helper.make_node(operator, [self.name(o) for o in operands], made, **attributes))
        return made[0] if outputs == 1 else made

    def __getattr__(self, operator):
        if not operator[0].isupper():
            raise AttributeError(operator)
        return lambda *operands, **attributes: self.node(operator, operands, **attributes)

    def reshape(self, x, *extents):
        return self.Reshape(x, np.array(extents, np.int64))

    def slice(self, x, axis, begin, end, step=1):
        return self.Slice(x, *(np.array([number], np.int64) for number in (begin, end, axis, step)))

    def transpose(self, x, *perm):
        return self.Transpose(x, perm=perm)

    def copy(self, index, x):
        """The model's own node, of another first operand."""
        node = self.model.graph.node[index]
        attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        return self.node(node.op_type, [x, *(self.weights[name] for name in node.input[1:])], **attributes)

    def written(self, output):
        """The model: `output` gets the name that the original's has."""
        wanted = self.model.graph.output[0].name
        for node in self.nodes:
            for names in (node.input, node.output):
                names[:] = [wanted if name == output else name for name in names]
        graph = helper.make_graph(self.nodes, "equal", self.model.graph.input, self.model.graph.output, self.constants)
        return helper.make_model(graph, opset_imports=self.model.opset_import, ir_version=self.model.ir_version)


def first_weight(g, rank=None):
    """The first of the model's weights, and the bias that is beside it."""
    node = next(n for n in g.model.graph.node if len(n.input) > 1 and g.weights.get(n.input[1], np.zeros(0)).ndim == (rank or g.weights[n.input[1]].ndim))
    return g.weights[node.input[1]], g.weights[node.input[2]] if len(node.input) > 2 else None


def attribute(g, name, operator=None):
    for node in g.model.graph.node:
        for a in node.attribute:
            if a.name == name and operator in (None, node.op_type):
                return helper.get_attribute_value(a)
    raise KeyError(name)


def plus(g, x, bias, *shape):
    return x if bias is None else g.Add(x, bias.reshape(shape))


# ---- linear along axes


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


def along(g, x, axis, matrix, rank):
    """The matrix times the axis, counted from the back (1 or 2)."""
    return g.MatMul(x, matrix.T) if axis == rank - 1 else g.MatMul(matrix, x)


def by_matrices(g, x=None):
    """Two products: along the axis first that leaves less."""
    x = x or g.values
    rows, columns = matrices(g)
    height, width = rows.shape[1], columns.shape[1]
    last = height * width * len(columns) + height * len(columns) * len(rows)
    first = len(rows) * height * width + len(rows) * width * len(columns)
    return g.MatMul(rows, g.MatMul(x, columns.T)) if last <= first else g.MatMul(g.MatMul(rows, x), columns.T)


def volume_by_matrices(g, x, shape, depth, rows, columns):
    batch, channels, frames, height, width = shape
    x = g.MatMul(rows, g.MatMul(x, columns.T))
    x = g.MatMul(depth, g.reshape(x, batch, channels, frames, len(rows) * len(columns)))
    return g.reshape(x, batch, channels, len(depth), len(rows), len(columns))


def twice(extent, linear):
    """[2 extent, extent]: what doubles an axis."""
    if not linear:
        return np.repeat(np.eye(extent), 2, 0)
    at = np.clip((np.arange(2 * extent) + 0.5) / 2 - 0.5, 0, extent - 1)
    low = np.floor(at).astype(int)
    matrix = np.zeros((2 * extent, extent))
    np.add.at(matrix, (np.arange(2 * extent), low), 1 - (at - low))
    np.add.at(matrix, (np.arange(2 * extent), np.minimum(low + 1, extent - 1)), at - low)
    return matrix


def nearest_volume(g, x, shape):
    """Frames are repeated last, side by side."""
    batch, channels, frames, height, width = shape
    x = g.Resize(g.reshape(x, batch, channels * frames, height, width), "", np.array([1, 1, 2, 2], np.float32), mode="nearest",
                 coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    x = g.reshape(x, batch, channels, frames, 1, 4 * height * width)
    return g.reshape(g.Concat(x, x, axis=3), batch, channels, 2 * frames, 2 * height, 2 * width)


def nearest_between(g):
    x = g.copy(2, g.copy(0, g.values))  # a Conv of one tap in front of what repeats
    return nearest_volume(g, x, g.extents())


def linear_between(g):
    shape = g.extents()
    x = g.copy(2, g.copy(0, g.values))
    return volume_by_matrices(g, x, shape, *(twice(extent, True) for extent in shape[2:]))


def tokens(g):
    nodes = g.model.graph.node
    x = g.Add(g.MatMul(g.values, g.weights[nodes[0].input[1]]), next(g.weights[i] for i in nodes[1].input if i in g.weights))
    x = g.reshape(g.transpose(x, 0, 2, 1), 1, 128, 16, 16)
    return four_times(g, x, 16)


def four_times(g, x, extent):
    at = np.clip((np.arange(4 * extent) + 0.5) / 4 - 0.5, 0, extent - 1)
    low = np.floor(at).astype(int)
    matrix = np.zeros((4 * extent, extent))
    np.add.at(matrix, (np.arange(4 * extent), low), 1 - (at - low))
    np.add.at(matrix, (np.arange(4 * extent), np.minimum(low + 1, extent - 1)), at - low)
    return g.MatMul(matrix, g.MatMul(x, matrix.T))


def deeplab(g):
    at = np.clip((np.arange(257) + 0.5) * 33 / 257 - 0.5, 0, 32)
    low = np.floor(at).astype(int)
    matrix = np.zeros((257, 33))
    np.add.at(matrix, (np.arange(257), low), 1 - (at - low))
    np.add.at(matrix, (np.arange(257), np.minimum(low + 1, 32)), at - low)
    return g.MatMul(matrix, g.MatMul(g.copy(0, g.values), matrix.T))


def box(g):
    """A pool of 1 x k, then of k x 1."""
    kernel = attribute(g, "kernel_shape")[0]
    pad, operator = kernel // 2, g.model.graph.node[0].op_type
    more = {"count_include_pad": 1} if operator == "AveragePool" else {}
    x = g.node(operator, [g.values], kernel_shape=[1, kernel], pads=[0, pad, 0, pad], **more)
    return g.node(operator, [x], kernel_shape=[kernel, 1], pads=[pad, 0, pad, 0], **more)


def fourier(length):
    """[length, 2 results]: real and imaginary parts side by side, of the half that a real signal has."""
    angles = -2 * np.pi * np.outer(np.arange(length), np.arange(length // 2 + 1)) / length
    return np.stack([np.cos(angles), np.sin(angles)], -1)


def dft(g):
    length = g.extents()[-1]
    return g.reshape(g.MatMul(g.values, fourier(length).reshape(length, -1)), *g.result())


def stft(g, by_hops):
    hop = next(int(w) for n, w in g.weights.items() if w.ndim == 0 and n != "val_3")
    window = next(w for w in g.weights.values() if w.ndim == 1 and w.dtype == np.float32)
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
    outside = g.CumSum(ends, np.array(1, np.int64) if len(batch) == 1 else np.array(len(batch), np.int64), exclusive=1)
    return g.reshape(g.Add(inside, g.reshape(outside, *batch, count, 1)), *batch, length)


def lrn(g):
    channels = g.extents()[1]
    band = np.array([[abs(i - j) <= 2 for j in range(channels)] for i in range(channels)]) * (1e-4 / 5)
    total = g.Conv(g.Mul(g.values, g.values), band[:, :, None, None].astype(np.float32), np.ones(channels, np.float32), kernel_shape=[1, 1])
    root = g.Sqrt(total)
    return g.Div(g.values, g.Mul(root, g.Sqrt(root)))


# ---- expanding, broadcasting


def upsample(g):
    return g.Resize(g.values, "", np.array([1, 1, 2, 2], np.float32), mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")


def repeat_last(g):
    x = g.Unsqueeze(g.values, np.array([3]))
    return g.reshape(g.Concat(x, x, axis=3), *g.result())


def square_sums(g, x, axis=-1):
    return g.ReduceSum(g.Mul(x, x), np.array([axis]))


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


# ---- reductions, normalisation


def mean_rows(g, axes=1):
    count = int(np.prod(g.extents()[1:1 + axes]))
    x = g.reshape(g.values, count, -1) if axes > 1 else g.values
    return g.reshape(g.MatMul(np.full((1, count), 1 / count), x), *g.result())


def first_axis(operator):
    """The batch of one is dropped, so that channels are the first axis."""
    def make(g):
        x = g.reshape(g.values, g.extents()[1], -1)
        made = g.ReduceMax(x, np.array([0]), keepdims=0) if operator == "ReduceMax" else g.node(operator, [x, np.array([0])], keepdims=0)
        return g.reshape(made, *g.result())
    return make


def l2(g):
    x = g.reshape(g.values, g.extents()[1], -1)
    return g.reshape(g.Sqrt(g.ReduceSum(g.Mul(x, x), np.array([0]), keepdims=0)), *g.result())


def channel_means(g, x, channels, pixels):
    return g.MatMul(np.full((1, channels), 1 / channels), x)


def mean_between(g):
    _, channels, height, width = g.extents()
    x = g.reshape(g.copy(0, g.values), channels, height * width)
    return g.copy(2, g.reshape(channel_means(g, x, channels, height * width), 1, 1, height, width))


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
    x = g.Sub(x, channel_means(g, x, channels, height * width))
    deviation = g.Sqrt(g.Add(channel_means(g, g.Mul(x, x), channels, height * width), np.float32(1e-6)))
    x = g.Mul(g.Mul(x, g.Div(np.float32(1), deviation)), scale.reshape(channels, 1))
    return g.reshape(g.Add(x, bias.reshape(channels, 1)), 1, channels, height, width)


def inside_convs(make, back):
    """Between the model's own Convs, the last of which is node `back`."""
    return lambda g: g.copy(back, make(g, g.copy(0, g.values)))


def layer_norm(g):
    return g.LayerNormalization(g.values, g.weights["scale"], g.weights["offset"], axis=-1, epsilon=1e-6)


# ---- convolutions


def whole_kernel(g):
    weight, bias = first_weight(g)
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


def flipped(g, x=None, node=None):
    """As a ConvTranspose of the mirrored kernel."""
    weight, bias = first_weight(g) if node is None else (g.weights[g.model.graph.node[node].input[i]] for i in (1, 2))
    spatial = weight.shape[2:]
    mirrored = np.flip(np.swapaxes(weight, 0, 1), tuple(range(2, weight.ndim)))
    operands = [x or g.values, np.ascontiguousarray(mirrored), *([] if bias is None else [bias])]
    return g.node("ConvTranspose", operands, kernel_shape=spatial, pads=[k // 2 for k in spatial] * 2)


def blocks(size):
    """size x size results as channels, of one Conv of a larger kernel and that stride."""
    def make(g, x=None):
        weight, bias = first_weight(g)
        filters, inner, *kernel = weight.shape
        larger = [k + size - 1 for k in kernel]
        made = np.zeros((filters, size, size, inner, *larger), np.float32)
        for i in range(size):
            for j in range(size):
                made[:, i, j, :, i:i + kernel[0], j:j + kernel[1]] = weight
        made = made.transpose(1, 2, 0, 3, 4, 5).reshape(filters * size * size, inner, *larger)  # DCR: blocks before channels
        operands = [x or g.values, made, *([] if bias is None else [np.tile(bias, size * size)])]
        pad = kernel[0] // 2
        return g.DepthToSpace(g.Conv(*operands, kernel_shape=larger, strides=[size, size], pads=[pad] * 4), blocksize=size)
    return make


def one_channel(g):
    weight, bias = first_weight(g)
    _, channels, height, width = g.extents()
    x = g.MatMul(weight.reshape(1, channels), g.reshape(g.values, channels, height * width))
    return g.reshape(g.Add(x, bias.reshape(1, 1)), 1, 1, height, width)


def depthwise_frames(g):
    """Frames as a batch, a Conv of two axes for each tap in time, and their sum."""
    weight, bias = first_weight(g)
    _, channels, frames, height, width = g.extents()
    taps, side = weight.shape[2], weight.shape[3]
    x = g.reshape(g.transpose(g.values, 0, 2, 1, 3, 4), frames, channels, height, width)
    x = g.Pad(x, np.array([taps // 2, 0, 0, 0, taps // 2, 0, 0, 0]))
    parts = []
    for tap in range(taps):
        operands = [g.slice(x, 0, tap, tap + frames), weight[:, :, tap], *([bias] if bias is not None and not tap else [])]
        parts.append(g.Conv(*operands, kernel_shape=[side, side], pads=[side // 2] * 4, group=channels))
    total = g.Sum(*parts)
    return g.reshape(g.transpose(g.reshape(total, 1, frames, channels, height, width), 0, 2, 1, 3, 4), *g.result())


def row(g, x=None, node=0, pads=None):
    """A Conv of a signal as one of an image with one row."""
    n = g.model.graph.node[node]
    weight, bias = g.weights[n.input[1]], g.weights[n.input[2]]
    begin, end = pads or next(helper.get_attribute_value(a) for a in n.attribute if a.name == "pads")
    group = next(helper.get_attribute_value(a) for a in n.attribute if a.name == "group")
    x = g.Conv(g.Unsqueeze(x or g.values, np.array([2])), weight[:, :, None], bias, kernel_shape=[1, weight.shape[2]], pads=[0, begin, 0, end], group=group)
    return g.Squeeze(x, np.array([2]))


def row_between(g):
    return g.copy(2, row(g, g.copy(0, g.values), 1))


def stem(g):
    """Taps in time as channels of a frame."""
    weight, _ = first_weight(g)
    _, channels, frames, height, width = g.extents()
    filters, _, taps, side, _ = weight.shape
    x = g.reshape(g.transpose(g.values, 0, 2, 1, 3, 4), frames, channels, height, width)
    x = g.Pad(x, np.array([1, 0, 0, 0, 1, 0, 0, 0]))
    x = g.Concat(*(g.slice(x, 0, tap, tap + frames) for tap in range(taps)), axis=1)
    x = g.Conv(x, weight.transpose(0, 2, 1, 3, 4).reshape(filters, taps * channels, side, side), kernel_shape=[side, side], strides=[2, 2], pads=[3] * 4)
    return g.transpose(g.reshape(x, 1, frames, filters, height // 2, width // 2), 0, 2, 1, 3, 4)


def pixels_as_row(g):
    """3x1x1: a Conv of frames by pixels."""
    weight, _ = first_weight(g)
    _, channels, frames, height, width = g.extents()
    x = g.Conv(g.reshape(g.values, 1, channels, frames, height * width), weight.reshape(*weight.shape[:3], 1), kernel_shape=[3, 1], pads=[1, 0, 1, 0])
    return g.reshape(x, *g.result())


def centre_tap(g):
    weight, _ = first_weight(g)
    return g.Conv(g.values, np.ascontiguousarray(weight[:, :, 1:2, 1:2]), kernel_shape=[1, 1])


def nine_parts(g):
    weight, _ = first_weight(g)
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
    weight, bias = first_weight(g)
    length, taps, pad = g.extents()[-1], weight.shape[2], 64
    low, high = max(pad - length + 1, 0), min(pad + length, taps)
    kept = np.ascontiguousarray(weight[:, :, low:high])[:, :, None]
    x = g.Conv(g.Unsqueeze(g.values, np.array([2])), kept, bias, kernel_shape=[1, high - low], pads=[0, pad - low, 0, high - 1 - pad], group=16)
    return g.Squeeze(x, np.array([2]))


def focus(g):
    """Of the four parts at stride 2, rows before columns: channels [row 0 column 0, row 1 column 0, row 0 column 1, row 1 column 1]."""
    weight, _ = first_weight(g, 4)
    parts = weight.reshape(32, 2, 2, 3, 3, 3)  # filter, column, row, channel, taps
    larger = parts.transpose(0, 3, 4, 2, 5, 1).reshape(32, 3, 6, 6)
    return g.Conv(g.values, np.ascontiguousarray(larger), kernel_shape=[6, 6], strides=[2, 2], pads=[2] * 4)


def as_conv(g):
    weight, bias = first_weight(g)
    return g.Conv(g.values, np.ascontiguousarray(np.flip(weight.swapaxes(0, 1), (2, 3))), bias, kernel_shape=[3, 3], pads=[1] * 4)


def four_phases(g):
    """One Conv of 2 x 2 for each phase."""
    weight, bias = first_weight(g)
    inner, outer = weight.shape[:2]
    phases = []
    for i in range(2):
        for j in range(2):
            taps = weight[:, :, [3, 1] if i == 0 else [2, 0]][:, :, :, [3, 1] if j == 0 else [2, 0]].swapaxes(0, 1)
            phases.append(g.Conv(g.values, np.ascontiguousarray(taps), bias, kernel_shape=[2, 2], pads=[1 - i, 1 - j, i, j]))
    return g.DepthToSpace(g.Concat(*phases, axis=1), blocksize=2)


def phases_1d(g):
    """To one channel: a Conv with a result for each phase."""
    weight, _ = first_weight(g)
    stride = attribute(g, "strides")[0]
    inner, _, kernel = weight.shape
    taps = kernel // stride
    made = np.flip(weight.reshape(inner, taps, stride), 1).transpose(2, 0, 1)
    x = g.Conv(g.values, np.ascontiguousarray(made), kernel_shape=[taps], pads=[taps - 1] * 2)
    return g.reshape(g.transpose(x, 0, 2, 1), *g.result())


def pools(g):
    """The larger ones by the smaller, each along one axis at a time."""
    def five(x):
        return g.MaxPool(g.MaxPool(x, kernel_shape=[1, 5], pads=[0, 2, 0, 2]), kernel_shape=[5, 1], pads=[2, 0, 2, 0])
    first = five(g.values)
    second = five(first)
    return g.Concat(g.values, first, second, five(second), axis=1)


# ---- movements


def unfold(g):
    _, channels, height, width = g.extents()
    x = g.Pad(g.values, np.array([0, 0, 1, 1, 0, 0, 1, 1]))
    rows = [g.slice(x, 2, i, i + height) for i in range(3)]
    parts = [g.Unsqueeze(g.slice(rows[i], 3, j, j + width), np.array([2])) for i in range(3) for j in range(3)]
    return g.reshape(g.Concat(*parts, axis=2), *g.result())


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


# ---- products


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
    return g.Gather(g.weights["constant_0"], g.values, axis=0)


def diagonal(g):
    return g.Mul(g.values, np.diagonal(g.weights["constant_0"]).copy())


def mixer(g):
    return g.MatMul(np.ascontiguousarray(next(w for w in g.weights.values() if w.ndim == 2).T), g.values)


# ---- functions of elements


def prelu(g, x=None):
    x, slope = x or g.values, next(w for w in g.weights.values() if w.ndim == 4 and w.shape[0] == 1 and w.shape[2] == 1 and w.size <= 64)
    if slope.size == 1:
        return g.LeakyRelu(x, alpha=float(slope.ravel()[0]))
    if slope.min() >= 0 and slope.max() <= 1:
        return g.Max(x, g.Mul(x, slope))
    return g.Add(g.Relu(x), g.Mul(slope, g.Min(x, np.float32(0))))


def mish(g, x=None):
    x = x or g.values
    power = g.Exp(g.Min(x, np.float32(20)))
    t = g.Mul(power, g.Add(power, np.float32(2)))
    return g.Mul(x, g.Div(t, g.Add(t, np.float32(2))))


def softplus(g):
    x = g.values
    return g.Add(g.Relu(x), g.Log(g.Add(g.Exp(g.Neg(g.Abs(x))), np.float32(1))))


def chain(*operators):
    def make(g):
        x = g.values
        for operator in operators:
            x = g.Mul(x, x) if operator == "square" else g.node(operator, [x])
        return x
    return make


def three_quarters(g):
    root = g.Sqrt(g.values)
    return g.Mul(root, g.Sqrt(root))


def mod_one(g):
    """Less what is in front of the point, of either sign."""
    x, zero = g.values, np.float32(0)
    return g.Sub(x, g.Add(g.Floor(g.Max(x, zero)), g.Ceil(g.Min(x, zero))))


def sign(g):
    x, zero = g.values, np.float32(0)
    return g.Sub(g.Cast(g.Greater(x, zero), to=onnx.TensorProto.FLOAT), g.Cast(g.Less(x, zero), to=onnx.TensorProto.FLOAT))


def elu(g, x=None):
    x = x or g.values
    return g.Sub(g.Add(g.Relu(x), g.Exp(g.Min(x, np.float32(0)))), np.float32(1))


def selu(g):
    x, alpha, gamma = g.values, 1.67326319217681884765625, 1.05070102214813232421875
    below = g.Mul(g.Sub(g.Exp(g.Min(x, np.float32(0))), np.float32(1)), np.float32(alpha * gamma))
    return g.Add(g.Mul(g.Relu(x), np.float32(gamma)), below)


def hard_swish(g, x=None):
    return g.HardSwish(x or g.values)


def scaled(g):
    """A Conv of each channel does both."""
    x = g.copy(1, g.copy(0, g.values))
    number, offset = ([w for w in g.weights.values() if w.ndim == 3] or [w for w in g.weights.values() if w.ndim == 0])
    weight, bias = (np.broadcast_to(w.ravel(), [64]).astype(np.float32).copy() for w in (number, offset))
    return g.copy(4, g.Conv(x, weight.reshape(64, 1, 1, 1), bias, kernel_shape=[1, 1], group=64))


def gelu_tanh(g):
    x = g.values
    u = g.Mul(g.Mul(x, g.Add(g.Mul(g.Mul(x, x), np.float32(0.044715)), np.float32(1))), np.float32(2 * (2 / np.pi) ** 0.5))
    return g.Mul(x, g.Sigmoid(u))


def by_constant(operator, change=lambda w: w):
    return lambda g: g.node(operator, [g.values, change(next(w for w in g.weights.values() if w.ndim == 0))])


def mask(g):
    where = next(w for w in g.weights.values() if w.dtype == bool)
    node = g.model.graph.node[0]
    kept = where if node.input[1] == g.values else ~where
    return g.Add(g.values, np.where(kept, 0, -1e9).astype(np.float32))


def volume(g):
    shape = g.extents()
    return volume_by_matrices(g, g.values, shape, *(twice(extent, True) for extent in shape[2:]))


EQUAL = {
    "resize_cubic_positions": by_matrices,
    "resize_cubic_x2": by_matrices,
    "resize_cubic_x4": by_matrices,
    "resize_cubic_down": by_matrices,
    "resize_nearest_3d": lambda g: nearest_volume(g, g.values, g.extents()),
    "resize_nearest_3d_between": nearest_between,
    "resize_linear_psp": by_matrices,
    "resize_linear_x8": by_matrices,
    "resize_linear_tokens": tokens,
    "resize_linear_deeplab": deeplab,
    "resize_linear_from_one": lambda g: g.Expand(g.values, np.array(g.result())),
    "resize_linear_3d": volume,
    "resize_linear_3d_between": linear_between,
    "averagepool_13": box,
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
    "upsample_expand": upsample,
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
    "mean_tokens": mean_rows,
    "mean_channels": first_axis("ReduceMean"),
    "sum_channels": first_axis("ReduceSum"),
    "max_channels": first_axis("ReduceMax"),
    "l2_channels": l2,
    "mean_pixels_last": lambda g: mean_rows(g, 2),
    "mean_channels_large": lambda g: g.reshape(channel_means(g, g.reshape(g.values, 256, 3136), 256, 3136), *g.result()),
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
    "patches_3d": whole_kernel,
    "patches": whole_kernel,
    "kernel_covers": whole_kernel,
    "maps_of_one": whole_kernel,
    "electrodes": electrodes,
    "conv_one_output": flipped,
    "conv_one_output_depth": flipped,
    "conv_one_output_depth_between": lambda g: g.copy(2, flipped(g, g.copy(0, g.values), 1)),
    "conv_one_output_cbam": blocks(4),
    "conv_three_outputs_srgan": blocks(4),
    "conv_three_outputs": blocks(2),
    "conv1d_one_output": flipped,
    "conv3d_one_output": flipped,
    "conv_1x1_one_output": one_channel,
    "conv3d_depthwise_5": depthwise_frames,
    "conv3d_depthwise_3": depthwise_frames,
    "conv1d_depthwise_31": row,
    "conv1d_depthwise_31_between": row_between,
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
    "pyramid_pools": pools,
    "maxpool_13": box,
    "unfold": unfold,
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
    "prelu": prelu,
    "prelu_between": inside_convs(prelu, -1),
    "prelu_shared": prelu,
    "prelu_shared_between": inside_convs(prelu, -1),
    "mish": mish,
    "mish_between": inside_convs(mish, -1),
    "softplus": softplus,
    "pow_half": chain("Sqrt"),
    "pow_minus_one": chain("Reciprocal"),
    "pow_minus_half": chain("Sqrt", "Reciprocal"),
    "pow_four": chain("square", "square"),
    "pow_three_quarters": three_quarters,
    "pow_of_base": lambda g: g.Exp(g.Mul(g.values, np.float32(np.log(1.5)))),
    "pow_tensor": chain("square"),
    "pow_two": chain("square"),
    "pow_three": lambda g: g.Mul(g.Mul(g.values, g.values), g.values),
    "mod_one": mod_one,
    "where_positive": chain("Relu"),
    "sign": sign,
    "elu": elu,
    "elu_between": inside_convs(elu, -1),
    "selu": selu,
    "layer_norm_in_pieces": layer_norm,
    "hardswish_pieces": hard_swish,
    "hardswish_pieces_between": inside_convs(hard_swish, -1),
    "number_scale_bias_between": scaled,
    "scale_bias_between": scaled,
    "gelu_tanh": gelu_tanh,
    "div_power_of_two": by_constant("Mul", lambda w: 1 / w),
    "where_mask": mask,
    "min_constant": lambda g: g.Clip(g.values, "", next(w for w in g.weights.values() if w.size == 1).reshape(())),
}


def equal(name, model):
    """The model of a family, written otherwise."""
    graph = Graph(model)
    return graph.written(EQUAL[name](graph))


def main():
    import build
    import compare
    folder, names = pathlib.Path(sys.argv[1]), sys.argv[2:] or list(EQUAL)
    folder.mkdir(parents=True, exist_ok=True)
    worst = 0
    for name in names:
        path = build.build(name, folder)
        other = folder / f"{name}.equal.onnx"
        try:
            made = equal(name, onnx.load(path))
            onnx.checker.check_model(made, full_check=True)
            onnx.save(made, other)
            off = compare.Reference(path, positive=families.FAMILIES[name].positive).compare(other).relative
        except Exception as error:
            print(f"{name}: {type(error).__name__} {str(error)[:300]}")
            continue
        worst = max(worst, off)
        print(f"{name}: {off:.1e}")
    return 1 if worst > 1e-4 else 0


if __name__ == "__main__":
    sys.exit(main())
