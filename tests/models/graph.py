"""What the models of build.py are written with: seeded weights, and layers from front to back."""

import zlib

import numpy as np
from onnx import TensorProto, helper, numpy_helper

OPSET = 17
IR_VERSION = 8  # the one that came with opset 17
DRAWN = 1 << 20  # values that are drawn at a time: the memory beside the result stays small


def uniform(model, tensor, shape, low, high):
    """float32 values in [low, high), fixed by the two names."""
    stream = np.random.PCG64([zlib.crc32(model.encode()), zlib.crc32(tensor.encode())])
    values = np.empty(int(np.prod(shape)), np.float32)
    for begin in range(0, len(values), DRAWN):
        part = values[begin:begin + DRAWN]
        unit = (stream.random_raw(len(part)) >> np.uint64(40)).astype(np.float64) / 2.0**24
        part[:] = low + (high - low) * unit
    return values.reshape(shape)


def he(model, tensor, shape, fan_in, gain=1.0):
    limit = gain * (6.0 / fan_in) ** 0.5  # a uniform's variance is limit^2 / 3
    return uniform(model, tensor, shape, -limit, limit)


class Graph:
    """A graph being written, front to back. Each method adds one layer and returns the name of its value."""

    def __init__(self, name, shape):
        self.name = name
        self.inputs = [helper.make_tensor_value_info("input", TensorProto.FLOAT, shape)]
        self.nodes = []
        self.constants = []

    def input(self, name, shape):
        self.inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
        return name

    def node(self, op, name, operands, **attributes):
        self.nodes.append(helper.make_node(op, operands, [name + "_out"], name=name, **attributes))
        return name + "_out"

    def constant(self, name, array):
        self.constants.append(numpy_helper.from_array(np.asarray(array, order="C"), name))
        return name

    def small(self, name, count, low, high):
        """A vector, one value a channel: a bias, a scale, a running mean."""
        return self.constant(name, uniform(self.name, name, [count], low, high))

    def conv(self, name, x, inner, outer, kernel, stride=1, pad=0, dilation=1, gain=1.0, group=1, bias=True):
        """On as many axes as `kernel` has extents; numbers hold for two axes. `inner` and `outer` count all groups."""
        kernel = [kernel] * 2 if isinstance(kernel, int) else list(kernel)
        stride, pad, dilation = ([each] * len(kernel) if isinstance(each, int) else list(each) for each in (stride, pad, dilation))
        shape = [outer, inner // group, *kernel]
        operands = [x, self.constant(name + ".weight", he(self.name, name + ".weight", shape, int(np.prod(shape[1:])), gain))]
        if bias:
            operands.append(self.small(name + ".bias", outer, -0.1, 0.1))
        return self.node("Conv", name, operands, kernel_shape=kernel, strides=stride, pads=2 * pad, dilations=dilation, group=group)

    def conv_transpose(self, name, x, inner, outer, kernel, stride, pad, taps, gain=1.0):
        """`taps`: how many kernel positions reach one output position."""
        weight = he(self.name, name + ".weight", [inner, outer, kernel, kernel], inner * taps, gain)
        return self.node(
            "ConvTranspose", name, [x, self.constant(name + ".weight", weight)],
            kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4, dilations=[1, 1], group=1)

    def batch_norm(self, name, x, channels):
        return self.node(
            "BatchNormalization", name,
            [x, self.small(name + ".weight", channels, 0.8, 1.2), self.small(name + ".bias", channels, -0.1, 0.1),
             self.small(name + ".running_mean", channels, -0.1, 0.1),
             self.small(name + ".running_var", channels, 0.5, 1.5)],
            epsilon=1e-5, momentum=0.9)

    def instance_norm(self, name, x, channels):
        return self.node(
            "InstanceNormalization", name,
            [x, self.small(name + ".weight", channels, 0.8, 1.2), self.small(name + ".bias", channels, -0.1, 0.1)],
            epsilon=1e-5)

    def layer_norm(self, name, x, extent):
        return self.node(
            "LayerNormalization", name,
            [x, self.small(name + ".weight", extent, 0.8, 1.2), self.small(name + ".bias", extent, -0.1, 0.1)],
            axis=-1, epsilon=1e-5)

    def lrn(self, name, x):
        return self.node("LRN", name, [x], size=5, alpha=1e-4, beta=0.75, bias=1.0)

    def relu(self, name, x):
        return self.node("Relu", name, [x])

    def swish(self, name, x):
        return self.node("Mul", name + ".mul", [x, self.node("Sigmoid", name + ".sigmoid", [x])])

    def gelu(self, name, x):
        """As exporters write it where the opset has no Gelu."""
        scaled = self.node("Div", name + ".div", [x, self.scalar(name + ".root", 2.0**0.5)])
        shifted = self.node("Add", name + ".add", [self.node("Erf", name + ".erf", [scaled]), self.scalar(name + ".one", 1.0)])
        twice = self.node("Mul", name + ".mul", [x, shifted])
        return self.node("Mul", name + ".half", [twice, self.scalar(name + ".factor", 0.5)])

    def max_pool(self, name, x, kernel=2, stride=2, pad=0):
        return self.node("MaxPool", name, [x], kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4)

    def linear(self, name, x, inner, outer, gain=0.7):
        """A linear layer on something of more than two axes: a product, and a bias in front of it, as exporters write it.
        Nothing halves its values, so 0.7 and not 1 keeps their range."""
        weight = he(self.name, name + ".weight", [inner, outer], inner, gain)
        product = self.node("MatMul", name + ".matmul", [x, self.constant(name + ".weight", weight)])
        return self.node("Add", name + ".add", [self.small(name + ".bias", outer, -0.1, 0.1), product])

    def gemm(self, name, x, inner, outer):
        weight = he(self.name, name + ".weight", [outer, inner], inner)
        return self.node(
            "Gemm", name, [x, self.constant(name + ".weight", weight), self.small(name + ".bias", outer, -0.1, 0.1)],
            alpha=1.0, beta=1.0, transB=1)

    def classifier(self, name, x, inner, outer):
        """The mean of all positions, and a matrix."""
        return self.gemm(name, self.node("Flatten", "flatten", [self.node("GlobalAveragePool", "avgpool", [x])], axis=1), inner, outer)

    def reshape(self, name, x, shape):
        return self.node("Reshape", name, [x, self.constant(name + ".shape", np.array(shape, np.int64))])

    def integers(self, name, values):
        return self.constant(name, np.array(values, np.int64))

    def halves(self, name, x, extent, axis):
        """The first and the second `extent` positions."""
        names = [name + "_a", name + "_b"]
        sizes = self.constant(name + ".sizes", np.array([extent, extent], np.int64))
        self.nodes.append(helper.make_node("Split", [x, sizes], names, name=name, axis=axis))
        return names

    def scalar(self, name, value):
        return self.constant(name, np.array(value, np.float32))

    def reflect(self, name, x, pad):
        pads = self.constant(name + ".pads", np.array([0, 0, pad, pad, 0, 0, pad, pad], np.int64))
        return self.node("Pad", name, [x, pads], mode="reflect")

    def upscale(self, name, x):
        scales = self.constant(name + ".scales", np.array([1, 1, 2, 2], np.float32))
        return self.node("Resize", name, [x, "", scales], mode="nearest", nearest_mode="floor",
                         coordinate_transformation_mode="asymmetric")

    def model(self, result, shape):
        self.nodes[-1].output[0] = "output"
        assert result == self.nodes[-1].name + "_out", "the last layer is the output"
        outputs = [helper.make_tensor_value_info("output", TensorProto.FLOAT, shape)]
        graph = helper.make_graph(self.nodes, self.name, self.inputs, outputs, self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION,
                                 producer_name="pet-models")
