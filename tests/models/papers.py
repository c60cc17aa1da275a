"""What PET (OSDI'21) and EinNet (OSDI'23) measured, and networks whose operators GPUs are slow at; for tests/gpu/. See build.py.

G2BMM of EinNet's Table 3 is no operator of ONNX: the block of Longformer stands for it.
"""

import numpy as np

from graph import Graph, he


def with_batch(model, batch):
    """The same model, with so many in the first dimension of all that it takes and gives. For models that name no batch inside."""
    for value in [*model.graph.input, *model.graph.output]:
        value.type.tensor_type.shape.dim[0].dim_value = batch
    del model.graph.value_info[:]
    return model


# ---- operators

def conv(name, shape, outer, kernel, pad, dilation=1):
    g = Graph(name, shape)
    extent = [e + 2 * pad - dilation * (kernel - 1) for e in shape[2:]]
    return g.model(g.conv("conv", "input", shape[1], outer, kernel, pad=pad, dilation=dilation), [shape[0], outer, *extent])


def convolutions_of_one(name):
    """Four branches of Inception-v3 that begin with a 1x1 of one value: PET's "group conv"."""
    g = Graph(name, [1, 768, 18, 18])
    branches = [g.conv(f"conv{i}", "input", 768, outer, 1) for i, outer in enumerate([192, 192, 160, 160])]
    return g.model(g.node("Concat", "concat", branches, axis=1), [1, 704, 18, 18])


def products_of_one(name):
    """Queries, keys and values of one value: PET's "batch matmul"."""
    g = Graph(name, [512, 768])
    products = [g.node("MatMul", f"matmul{i}", ["input", g.constant(f"weight{i}", he(name, f"weight{i}", [768, 768], 768))]) for i in range(3)]
    return g.model(g.node("Concat", "concat", products, axis=1), [512, 3 * 768])


def upsampling(name):
    """A ConvTranspose of InfoGAN."""
    g = Graph(name, [16, 448, 2, 2])
    return g.model(g.conv_transpose("convtranspose", "input", 448, 256, 4, 2, 1, taps=4), [16, 256, 4, 4])


# ---- networks

def fsrcnn(name, extent=224):
    """FSRCNN (56, 12, 4) (Dong et al. 2016), twice the extents."""
    g = Graph(name, [1, 1, extent, extent])

    def layer(prefix, x, inner, outer, kernel):
        x = g.conv(prefix, x, inner, outer, kernel, pad=kernel // 2)
        slope = g.constant(prefix + ".slope", np.full([outer, 1, 1], 0.25, np.float32))
        return g.node("PRelu", prefix + ".prelu", [x, slope])

    x = layer("shrink", layer("feature", "input", 1, 56, 5), 56, 12, 1)
    for index in range(4):
        x = layer(f"map{index}", x, 12, 12, 3)
    x = layer("expand", x, 12, 56, 1)
    weight = g.constant("deconv.weight", he(name, "deconv.weight", [56, 1, 9, 9], 56 * 81 // 4))
    x = g.node("ConvTranspose", "deconv", [x, weight], kernel_shape=[9, 9], strides=[2, 2], pads=[4] * 4, output_padding=[1, 1])
    return g.model(x, [1, 1, 2 * extent, 2 * extent])


def gcn(name, extent=128, classes=21):
    """The head of Global Convolutional Network (Peng et al. 2017) on the features of a ResNet-50: large separable kernels, boundary
    refinement, and transposed convolutions from level to level."""
    g = Graph(name, [1, 256, extent, extent])

    def separable(prefix, x, inner, kernel=7):
        shapes = [[kernel, 1], [1, kernel]]
        sides = []
        for side, (first, second) in zip(["left", "right"], [shapes, shapes[::-1]]):
            y = g.conv(f"{prefix}.{side}0", x, inner, classes, first, pad=[k // 2 for k in first])
            sides.append(g.conv(f"{prefix}.{side}1", y, classes, classes, second, pad=[k // 2 for k in second]))
        return g.node("Add", prefix + ".add", sides)

    def refined(prefix, x):
        y = g.relu(prefix + ".relu", g.conv(prefix + ".conv0", x, classes, classes, 3, pad=1))
        return g.node("Add", prefix + ".add", [x, g.conv(prefix + ".conv1", y, classes, classes, 3, pad=1, gain=0.5)])

    features = ["input"] + [g.input(f"features{level}", [1, 256 << level, extent >> level, extent >> level]) for level in range(1, 4)]
    x = None
    for level in reversed(range(4)):
        y = refined(f"level{level}.refine", separable(f"level{level}.gcn", features[level], 256 << level))
        if x is not None:
            y = refined(f"level{level}.merge", g.node("Add", f"level{level}.sum", [y, x]))
        x = g.conv_transpose(f"level{level}.up", y, classes, classes, 4, 2, 1, taps=4)
    return g.model(x, [1, classes, 2 * extent, 2 * extent])


def video_vae_block(name, frames=8, extent=64, channels=128):
    """A residual block of a video VAE's decoder with causal convolutions (as Wan's and CogVideoX's: two frames in front, none behind),
    and an upsampling in space."""
    g = Graph(name, [1, channels, frames, extent, extent])

    def causal(prefix, x):
        pads = g.constant(prefix + ".pads", np.array([0, 0, 2, 0, 0, 0, 0, 0, 0, 0], np.int64))
        return g.conv(prefix, g.node("Pad", prefix + ".pad", [x, pads]), channels, channels, [3] * 3, 1, [0, 1, 1], gain=0.7)

    def normalised(prefix, x):
        """A group normalisation of 32 groups, as exporters write it."""
        grouped = g.instance_norm(prefix + ".norm", g.reshape(prefix + ".split", x, [0, 32, -1]), 32)
        x = g.node("Reshape", prefix + ".join", [grouped, g.node("Shape", prefix + ".shape", [x])])
        scale, shift = (g.constant(f"{prefix}.{each}", np.full([channels, 1, 1, 1], value, np.float32)) for each, value in [("scale", 0.9), ("shift", 0.05)])
        return g.swish(prefix + ".swish", g.node("Add", prefix + ".add", [g.node("Mul", prefix + ".mul", [x, scale]), shift]))

    y = causal("conv1", normalised("norm1", "input"))
    x = g.node("Add", "residual", [causal("conv2", normalised("norm2", y)), "input"])
    scales = g.constant("upsample.scales", np.array([1, 1, 1, 2, 2], np.float32))
    x = g.node("Resize", "upsample", [x, "", scales], mode="nearest", nearest_mode="floor", coordinate_transformation_mode="asymmetric")
    return g.model(causal("conv3", x), [1, channels, frames, 2 * extent, 2 * extent])


def large_kernel_block(name, extent=56, channels=128, kernel=31):
    """A block of RepLKNet-31B (Ding et al. 2022): a depthwise 31 x 31 between two 1 x 1."""
    g = Graph(name, [1, channels, extent, extent])
    x = g.relu("pw1.relu", g.conv("pw1", "input", channels, channels, 1))
    x = g.relu("large.relu", g.conv("large", x, channels, channels, kernel, pad=kernel // 2, group=channels))
    return g.model(g.node("Add", "add", [g.conv("pw2", x, channels, channels, 1, gain=0.5), "input"]), [1, channels, extent, extent])


def vocoder(name, frames=32, channels=512):
    """The generator of HiFi-GAN V1 (Kong et al. 2020): 256 samples for each frame of a mel spectrogram."""
    g = Graph(name, [1, 80, frames])

    def leaky(prefix, x):
        return g.node("LeakyRelu", prefix, [x], alpha=0.1)

    x, inner = g.conv("conv_pre", "input", 80, channels, [7], pad=3), channels
    for stage, (factor, kernel) in enumerate([(8, 16), (8, 16), (2, 4), (2, 4)]):
        outer = inner // 2
        weight = g.constant(f"ups.{stage}.weight", he(name, f"ups.{stage}.weight", [inner, outer, kernel], 2 * inner))
        x = g.node("ConvTranspose", f"ups.{stage}", [leaky(f"ups.{stage}.relu", x), weight], kernel_shape=[kernel], strides=[factor],
                   pads=[(kernel - factor) // 2] * 2)
        branches = []
        for size in [3, 7, 11]:
            y = x
            for dilation in [1, 3, 5]:
                prefix = f"resblocks.{stage}.{size}.{dilation}"
                z = g.conv(prefix + ".conv1", leaky(prefix + ".relu1", y), outer, outer, [size], 1, dilation * (size // 2), dilation, gain=0.5)
                z = g.conv(prefix + ".conv2", leaky(prefix + ".relu2", z), outer, outer, [size], 1, size // 2, gain=0.5)
                y = g.node("Add", prefix + ".add", [y, z])
            branches.append(y)
        x = g.node("Sum", f"resblocks.{stage}.sum", branches)
        x = g.node("Div", f"resblocks.{stage}.mean", [x, g.scalar(f"resblocks.{stage}.count", 3.0)])
        inner = outer
    x = g.conv("conv_post", leaky("post.relu", x), inner, 1, [7], pad=3, gain=0.5)
    return g.model(g.node("Tanh", "tanh", [x]), [1, 1, 256 * frames])
