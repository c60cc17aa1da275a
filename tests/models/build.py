#!/usr/bin/env python3
"""Builds the benchmark models, at their real sizes, with seeded random weights.

    python tests/models/build.py OUTDIR [NAME...]        writes OUTDIR/NAME.onnx; all models where no name is given

The same name gives the same bytes on every machine: weights come from the raw 64-bit stream of a PCG64 seeded by the
names of the model and of the tensor, through exact arithmetic. Their scale is He's (variance 2 / fan-in), so that
activations keep a sane range through any depth.

`resnet18` is the graph that PyTorch's exporter writes (opset 20, with value_info; see export.py), weights filled in.
The others are written here, opset 17, named and arranged as published, without value_info, as older exporters do.
"""

import pathlib
import sys
import zlib

import numpy as np
import onnx
import onnx.parser
from onnx import TensorProto, helper, numpy_helper

EXPORTED = pathlib.Path(__file__).parent / "exported"
OPSET = 17
IR_VERSION = 8  # the one that came with opset 17


def uniform(model, tensor, shape, low, high):
    """float32 values in [low, high), fixed by the two names."""
    stream = np.random.PCG64([zlib.crc32(model.encode()), zlib.crc32(tensor.encode())])
    count = int(np.prod(shape))
    unit = (stream.random_raw(count) >> np.uint64(40)).astype(np.float64) / 2.0**24
    return (low + (high - low) * unit).astype(np.float32).reshape(shape)


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

    def node(self, op, name, operands, **attributes):
        self.nodes.append(helper.make_node(op, operands, [name + "_out"], name=name, **attributes))
        return name + "_out"

    def constant(self, name, array):
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def small(self, name, count, low, high):
        """A vector, one value a channel: a bias, a scale, a running mean."""
        return self.constant(name, uniform(self.name, name, [count], low, high))

    def conv(self, name, x, inner, outer, kernel, stride=1, pad=0, dilation=1, gain=1.0):
        weight = he(self.name, name + ".weight", [outer, inner, kernel, kernel], inner * kernel * kernel, gain)
        return self.node(
            "Conv", name,
            [x, self.constant(name + ".weight", weight), self.small(name + ".bias", outer, -0.1, 0.1)],
            kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4, dilations=[dilation] * 2, group=1)

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

    def relu(self, name, x):
        return self.node("Relu", name, [x])

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


def srcnn(name):
    """SRCNN 9-1-5 (Dong et al. 2014), on a luma plane."""
    g = Graph(name, [1, 1, 224, 224])
    x = g.relu("relu1", g.conv("conv1", "input", 1, 64, 9, pad=4))
    x = g.relu("relu2", g.conv("conv2", x, 64, 32, 1))
    return g.model(g.conv("conv3", x, 32, 1, 5, pad=2), [1, 1, 224, 224])


def csrnet(name, height, width):
    """CSRNet (Li et al. 2018): the first ten convolutions of VGG-16, six dilated ones, a 1x1 for the density map."""
    g = Graph(name, [1, 3, height, width])
    x, inner = "input", 3
    for index, outer in enumerate([64, 64, "pool", 128, 128, "pool", 256, 256, 256, "pool", 512, 512, 512]):
        if outer == "pool":
            x = g.node("MaxPool", f"frontend.{index}", [x], kernel_shape=[2, 2], strides=[2, 2], pads=[0] * 4)
        else:
            x = g.relu(f"frontend.{index}.relu", g.conv(f"frontend.{index}", x, inner, outer, 3, pad=1))
            inner = outer
    for index, outer in enumerate([512, 512, 512, 256, 128, 64]):
        x = g.relu(f"backend.{index}.relu", g.conv(f"backend.{index}", x, inner, outer, 3, pad=2, dilation=2))
        inner = outer
    return g.model(g.conv("output_layer", x, inner, 1, 1), [1, 1, height // 8, width // 8])


def fast_style(name):
    """Fast neural style transfer (Johnson et al. 2016), the TransformerNet of PyTorch's examples."""
    g = Graph(name, [1, 3, 224, 224])

    def layer(prefix, x, inner, outer, kernel, stride=1):
        padded = g.reflect(prefix + ".reflection_pad", x, kernel // 2)
        return g.conv(prefix + ".conv2d", padded, inner, outer, kernel, stride)

    def normalised(index, prefix, x, inner, outer, kernel, stride=1):
        x = g.instance_norm(f"in{index}", layer(prefix, x, inner, outer, kernel, stride), outer)
        return g.relu(f"relu{index}", x)

    def residual(prefix, x):
        y = g.instance_norm(prefix + ".in1", layer(prefix + ".conv1", x, 128, 128, 3), 128)
        y = layer(prefix + ".conv2", g.relu(prefix + ".relu", y), 128, 128, 3)
        return g.node("Add", prefix + ".add", [g.instance_norm(prefix + ".in2", y, 128), x])

    x = normalised(1, "conv1", "input", 3, 32, 9)
    x = normalised(2, "conv2", x, 32, 64, 3, stride=2)
    x = normalised(3, "conv3", x, 64, 128, 3, stride=2)
    for index in range(1, 6):
        x = residual(f"res{index}", x)
    x = normalised(4, "deconv1", g.upscale("deconv1.upsample", x), 128, 64, 3)
    x = normalised(5, "deconv2", g.upscale("deconv2.upsample", x), 64, 32, 3)
    return g.model(layer("deconv3", x, 32, 3, 9), [1, 3, 224, 224])


def dcgan(name):
    """The generator of DCGAN (Radford et al. 2016) for 64x64 images."""
    g = Graph(name, [16, 100, 1, 1])
    x = g.conv_transpose("main.0", "input", 100, 512, 4, stride=1, pad=0, taps=1)
    x = g.relu("main.2", g.batch_norm("main.1", x, 512))
    for index, inner in [(3, 512), (6, 256), (9, 128)]:
        x = g.conv_transpose(f"main.{index}", x, inner, inner // 2, 4, stride=2, pad=1, taps=4)
        x = g.relu(f"main.{index + 2}", g.batch_norm(f"main.{index + 1}", x, inner // 2))
    x = g.conv_transpose("main.12", x, 64, 3, 4, stride=2, pad=1, taps=4, gain=0.5)  # keeps Tanh off its flat ends
    return g.model(g.node("Tanh", "main.13", [x]), [16, 3, 64, 64])


def inception(name):
    """The module 3a of GoogLeNet (Szegedy et al. 2015): four branches, of which three begin with a 1x1 of the input."""
    g = Graph(name, [1, 192, 28, 28])

    def layer(branch, x, inner, outer, kernel):
        return g.relu(branch + ".relu", g.conv(branch, x, inner, outer, kernel, pad=kernel // 2))

    branches = [
        layer("1x1", "input", 192, 64, 1),
        layer("3x3", layer("3x3_reduce", "input", 192, 96, 1), 96, 128, 3),
        layer("5x5", layer("5x5_reduce", "input", 192, 16, 1), 16, 32, 5),
        layer("pool_proj", g.node("MaxPool", "pool", ["input"], kernel_shape=[3, 3], strides=[1, 1], pads=[1] * 4), 192, 32, 1),
    ]
    return g.model(g.node("Concat", "output", branches, axis=1), [1, 256, 28, 28])


def exported(name):
    """An exporter's graph, with its float constants filled in: kernels and matrices by He, vectors (biases) small."""
    model = onnx.parser.parse_model((EXPORTED / f"{name}.onnxtxt").read_text())
    for tensor in model.graph.initializer:
        if tensor.data_type != TensorProto.FLOAT:
            continue
        shape = list(tensor.dims)
        if len(shape) == 1:
            values = uniform(name, tensor.name, shape, -0.1, 0.1)
        else:
            values = he(name, tensor.name, shape, int(np.prod(shape[1:])))
        tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))
    return model


MODELS = {
    "srcnn": srcnn,
    "resnet18": exported,
    "resnet18_b8": exported,
    "csrnet": lambda name: csrnet(name, 384, 512),
    "csrnet_odd": lambda name: csrnet(name, 200, 264),  # 25 x 33 where the dilated convolutions run
    "fast_style": fast_style,
    "dcgan": dcgan,
    "inception": inception,
}


def build(name, folder):
    """Writes FOLDER/NAME.onnx and returns its path."""
    model = MODELS[name](name)
    onnx.checker.check_model(model, full_check=True)
    path = pathlib.Path(folder) / f"{name}.onnx"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(model.SerializeToString(deterministic=True))
    return path


def main(arguments):
    if not arguments or arguments[0].startswith("-"):
        sys.exit(__doc__.strip() + "\n\nmodels: " + " ".join(MODELS))
    folder, *names = arguments
    unknown = [name for name in names if name not in MODELS]
    if unknown:
        sys.exit(f"build.py: no model named {', '.join(unknown)}; there are {' '.join(MODELS)}")
    for name in names or MODELS:
        print(build(name, folder))


if __name__ == "__main__":
    main(sys.argv[1:])
