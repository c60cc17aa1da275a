"""Networks on images and videos, named and arranged as published. See build.py."""

import numpy as np

from graph import Graph, uniform


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
            x = g.max_pool(f"frontend.{index}", x)
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
        layer("pool_proj", g.max_pool("pool", "input", 3, 1, 1), 192, 32, 1),
    ]
    return g.model(g.node("Concat", "output", branches, axis=1), [1, 256, 28, 28])


def alexnet(name, extent=227, divide=1):
    """AlexNet (Krizhevsky et al. 2012) as Caffe has it, with responses normalised across channels. Its classifier has 58 of its
    61 million weights: the means of all positions and one matrix are its head here."""
    g = Graph(name, [1, 3, extent, extent])
    x, inner = "input", 3
    for block, (outer, kernel, stride, pad, group) in enumerate(
            [(96, 11, 4, 0, 1), (256, 5, 1, 2, 2), (384, 3, 1, 1, 1), (384, 3, 1, 1, 2), (256, 3, 1, 1, 2)], 1):
        outer //= divide
        x = g.relu(f"relu{block}", g.conv(f"conv{block}", x, inner, outer, kernel, stride, pad, group=group))
        if block <= 2:
            x = g.lrn(f"norm{block}", x)
        if block in (1, 2, 5):
            x = g.max_pool(f"pool{block}", x, 3, 2)
        inner = outer
    return g.model(g.classifier("fc8", x, inner, 1000 // divide), [1, 1000 // divide])


# GoogLeNet's modules: 1x1; 3x3 behind a 1x1; 5x5 behind a 1x1; a 1x1 behind a pool. "pool" halves in between.
GOOGLENET = {"3a": (64, 96, 128, 16, 32, 32), "3b": (128, 128, 192, 32, 96, 64), "pool3": None, "4a": (192, 96, 208, 16, 48, 64),
             "4b": (160, 112, 224, 24, 64, 64), "4c": (128, 128, 256, 24, 64, 64), "4d": (112, 144, 288, 32, 64, 64),
             "4e": (256, 160, 320, 32, 128, 128), "pool4": None, "5a": (256, 160, 320, 32, 128, 128), "5b": (384, 192, 384, 48, 128, 128)}


def googlenet(name):
    """GoogLeNet (Szegedy et al. 2015) as Caffe has it, with responses normalised across channels."""
    g = Graph(name, [1, 3, 224, 224])

    def layer(name, x, inner, outer, kernel, stride=1):
        return g.relu(name + ".relu", g.conv(name, x, inner, outer, kernel, stride, kernel // 2))

    x = g.lrn("norm1", g.max_pool("pool1", layer("conv1", "input", 3, 64, 7, 2), 3, 2, 1))
    x = layer("conv2", layer("conv2_reduce", x, 64, 64, 1), 64, 192, 3)
    x, inner = g.max_pool("pool2", g.lrn("norm2", x), 3, 2, 1), 192
    for module, widths in GOOGLENET.items():
        if widths is None:
            x = g.max_pool(module, x, 3, 2, 1)
            continue
        one, before_three, three, before_five, five, pooled = widths
        branches = [layer(module + ".1x1", x, inner, one, 1),
                    layer(module + ".3x3", layer(module + ".3x3_reduce", x, inner, before_three, 1), before_three, three, 3),
                    layer(module + ".5x5", layer(module + ".5x5_reduce", x, inner, before_five, 1), before_five, five, 5),
                    layer(module + ".pool_proj", g.max_pool(module + ".pool", x, 3, 1, 1), inner, pooled, 1)]
        x, inner = g.node("Concat", module, branches, axis=1), one + three + five + pooled
    return g.model(g.classifier("classifier", x, inner, 1000), [1, 1000])


def vgg16(name, full):
    """VGG-16 (Simonyan and Zisserman 2015). Its classifier has 123 of its 138 million weights: `full` is all of it; without, the
    means of all positions and one matrix are its head."""
    g = Graph(name, [1, 3, 224, 224])
    x, inner = "input", 3
    for index, outer in enumerate([64, 64, 0, 128, 128, 0, 256, 256, 256, 0, 512, 512, 512, 0, 512, 512, 512, 0]):
        if not outer:
            x = g.max_pool(f"features.{index}", x)
            continue
        x = g.relu(f"features.{index}.relu", g.conv(f"features.{index}", x, inner, outer, 3, pad=1))
        inner = outer
    if not full:
        return g.model(g.classifier("classifier", x, 512, 1000), [1, 1000])
    x = g.node("Flatten", "flatten", [x], axis=1)
    x = g.relu("classifier.1", g.gemm("classifier.0", x, 512 * 7 * 7, 4096))
    x = g.relu("classifier.4", g.gemm("classifier.3", x, 4096, 4096))
    return g.model(g.gemm("classifier.6", x, 4096, 1000), [1, 1000])


def nin(name, extent, divide=1):
    """Network in Network (Lin et al. 2014) for ImageNet. No function stands between the last 1x1 and the means, as where the
    class scores of a fully convolutional network are averaged."""
    g = Graph(name, [1, 3, extent, extent])
    x, inner = "input", 3
    for block, (outer, kernel, stride, pad) in enumerate([(96, 11, 4, 0), (256, 5, 1, 2), (384, 3, 1, 1), (1024, 3, 1, 1)], 1):
        outer //= divide
        x = g.relu(f"relu{block}", g.conv(f"conv{block}", x, inner, outer, kernel, stride, pad))
        x = g.relu(f"relu{block}.1", g.conv(f"cccp{block}.1", x, outer, outer, 1))
        if block < 4:
            x = g.relu(f"relu{block}.2", g.conv(f"cccp{block}.2", x, outer, outer, 1))
            x = g.max_pool(f"pool{block}", x, 3, 2)
        inner = outer
    x = g.node("GlobalAveragePool", "avgpool", [g.conv("cccp4.2", x, inner, 1000 // divide, 1)])
    return g.model(g.node("Flatten", "flatten", [x], axis=1), [1, 1000 // divide])


def densenet(name, extent, blocks, growth):
    """DenseNet-121 (Huang et al. 2017) with blocks 6, 12, 24, 16 and growth 32. Its normalisations stand behind a Concat, where
    no Conv can take them; the others are folded."""
    g = Graph(name, [1, 3, extent, extent])
    channels = 2 * growth
    x = g.relu("relu0", g.conv("conv0", "input", 3, channels, 7, stride=2, pad=3))
    x = g.max_pool("pool0", x, 3, 2, 1)

    def normalised(prefix, x, index=""):
        return g.relu(f"{prefix}.relu{index}", g.batch_norm(f"{prefix}.norm{index}", x, channels))

    for block, layers in enumerate(blocks, 1):
        for layer in range(1, layers + 1):
            prefix = f"denseblock{block}.denselayer{layer}"
            y = g.conv(prefix + ".conv1", normalised(prefix, x, 1), channels, 4 * growth, 1)
            y = g.conv(prefix + ".conv2", g.relu(prefix + ".relu2", y), 4 * growth, growth, 3, pad=1, bias=False)
            x = g.node("Concat", prefix + ".concat", [x, y], axis=1)
            channels += growth
        if block < len(blocks):
            prefix = f"transition{block}"
            x = g.conv(prefix + ".conv", normalised(prefix, x), channels, channels // 2, 1, bias=False)
            x = g.node("AveragePool", prefix + ".pool", [x], kernel_shape=[2, 2], strides=[2, 2])
            channels //= 2
    return g.model(g.classifier("classifier", normalised("final", x), channels, 1000), [1, 1000])


def mobilenet(name, extent, channels):
    """MobileNet (Howard et al. 2017): depthwise 3x3, pointwise, 13 times, with `channels` 32 at first."""
    g = Graph(name, [1, 3, extent, extent])
    x = g.relu("relu0", g.conv("conv0", "input", 3, channels, 3, stride=2, pad=1))
    inner = channels
    for index, (factor, stride) in enumerate([(2, 1), (4, 2), (4, 1), (8, 2), (8, 1), (16, 2)] + [(16, 1)] * 5 + [(32, 2), (32, 1)], 1):
        outer = factor * channels
        x = g.relu(f"relu{index}.dw", g.conv(f"conv{index}.dw", x, inner, inner, 3, stride, pad=1, group=inner))
        x = g.relu(f"relu{index}.sep", g.conv(f"conv{index}.sep", x, inner, outer, 1))
        inner = outer
    return g.model(g.classifier("fc", x, inner, 1000), [1, 1000])


def unet(name, extent, base):
    """U-Net (Ronneberger et al. 2015) with "same" pads; the decoder scales up by nearest neighbours and a Conv (Odena et al.
    2016)."""
    g = Graph(name, [1, 3, extent, extent])

    def double(prefix, x, inner, outer):
        x = g.relu(prefix + ".relu1", g.conv(prefix + ".conv1", x, inner, outer, 3, pad=1))
        return g.relu(prefix + ".relu2", g.conv(prefix + ".conv2", x, outer, outer, 3, pad=1))

    x, skips = double("down0", "input", 3, base), []
    for level in range(1, 5):
        skips.append(x)
        x = double(f"down{level}", g.max_pool(f"pool{level}", x), base << (level - 1), base << level)
    for level in reversed(range(4)):
        outer = base << level
        x = g.relu(f"up{level}.relu", g.conv(f"up{level}.conv", g.upscale(f"up{level}.upsample", x), 2 * outer, outer, 3, pad=1))
        x = double(f"dec{level}", g.node("Concat", f"up{level}.concat", [skips.pop(), x], axis=1), 2 * outer, outer)
    return g.model(g.conv("head", x, base, 2, 1), [1, 2, extent, extent])


def r3d18(name, extent, width):
    """R3D-18 (Tran et al. 2018), PyTorch's video ResNet: 3x3x3 all through, `width` 64, eight frames."""
    g = Graph(name, [1, 3, 8, extent, extent])

    def layer(prefix, x, inner, outer, stride):
        return g.conv(prefix, x, inner, outer, [3] * 3, [stride] * 3, [1] * 3)

    x = g.relu("stem.relu", g.conv("stem.0", "input", 3, width, [3, 7, 7], [1, 2, 2], [1, 3, 3]))
    inner = width
    for level in range(1, 5):
        outer = width << (level - 1)
        for block in range(2):
            prefix, stride = f"layer{level}.{block}", 2 if level > 1 and block == 0 else 1
            y = layer(prefix + ".conv2", g.relu(prefix + ".relu1", layer(prefix + ".conv1", x, inner, outer, stride)), outer, outer, 1)
            if stride > 1:
                x = g.conv(prefix + ".downsample", x, inner, outer, [1] * 3, [2] * 3, [0] * 3)
            x = g.relu(prefix + ".relu2", g.node("Add", prefix + ".add", [y, x]))
            inner = outer
    return g.model(g.classifier("fc", x, inner, 400), [1, 400])


def lama(name, extent, channels, blocks):
    """The residual blocks of LaMa (Suvorov et al. 2022): a quarter of the channels local, the others with a Fourier unit, whose transforms
    are written as PyTorch's exporter writes rfftn and irfftn."""
    local, far = channels // 4, channels - channels // 4
    g = Graph(name, [1, local, extent, extent])
    root = float(extent)  # of the positions: the transforms are orthonormal

    def convolved(prefix, x, inner, outer, kernel):
        return g.conv(prefix, x, inner, outer, kernel, pad=kernel // 2, gain=0.7)

    def fourier_unit(prefix, x, inner):
        x = g.node("Unsqueeze", prefix + ".real", [x, g.integers(prefix + ".last", [-1])])
        x = g.node("DFT", prefix + ".columns", [x], axis=3, onesided=1)
        x = g.node("Div", prefix + ".scaled", [g.node("DFT", prefix + ".rows", [x], axis=2), g.scalar(prefix + ".root", root)])
        x = g.node("Transpose", prefix + ".parts", [x], perm=[0, 1, 4, 2, 3])
        x = g.reshape(prefix + ".joined", x, [1, 2 * inner, extent, extent // 2 + 1])
        x = g.relu(prefix + ".relu", convolved(prefix + ".conv", x, 2 * inner, 2 * inner, 1))
        x = g.reshape(prefix + ".split", x, [1, inner, 2, extent, extent // 2 + 1])
        x = g.node("Transpose", prefix + ".numbers", [x], perm=[0, 1, 3, 4, 2])
        x = g.node("DFT", prefix + ".rows_back", [x], axis=2, inverse=1)
        x = g.node("DFT", prefix + ".columns_back", [x, g.constant(prefix + ".length", np.array(extent, np.int64))], axis=3, inverse=1)
        x = g.node("Mul", prefix + ".scaled_back", [x, g.scalar(prefix + ".root_back", root)])
        return g.node("Gather", prefix + ".real_part", [x, g.constant(prefix + ".first", np.array(0, np.int64))], axis=-1)

    def spectral(prefix, x):
        x = g.relu(prefix + ".relu", convolved(prefix + ".conv1", x, far, far // 2, 1))
        x = g.node("Add", prefix + ".add", [x, fourier_unit(prefix + ".fu", x, far // 2)])
        return convolved(prefix + ".conv2", x, far // 2, far, 1)

    def layer(prefix, near, wide):
        both = g.node("Add", prefix + ".local", [convolved(prefix + ".l2l", near, local, local, 3),
                                                 convolved(prefix + ".g2l", wide, far, local, 3)])
        other = g.node("Add", prefix + ".global", [convolved(prefix + ".l2g", near, local, far, 3), spectral(prefix + ".g2g", wide)])
        return g.relu(prefix + ".act_l", both), g.relu(prefix + ".act_g", other)

    near, wide = "input", g.input("global", [1, far, extent, extent])
    for block in range(blocks):
        parts = layer(f"{block}.conv2", *layer(f"{block}.conv1", near, wide))
        near, wide = (g.node("Add", f"{block}.residual{i}", [x, y]) for i, (x, y) in enumerate(zip((near, wide), parts)))
    return g.model(g.node("Concat", "concat", [near, wide], axis=1), [1, channels, extent, extent])


def nafnet(name, extent, width, levels):
    """NAFNet (Chen et al. 2022) with one block for each level, its normalisations over channels in the pieces of its LayerNorm2d."""
    g = Graph(name, [1, 3, extent, extent])

    def per_channel(prefix, channels, low, high):
        return g.constant(prefix, uniform(name, prefix, [1, channels, 1, 1], low, high))

    def normalised(prefix, x, channels):
        apart = g.node("Sub", prefix + ".sub", [x, g.node("ReduceMean", prefix + ".mean", [x], axes=[1])])
        square = g.node("Pow", prefix + ".pow", [apart, g.scalar(prefix + ".two", 2.0)])
        variance = g.node("ReduceMean", prefix + ".var", [square], axes=[1])
        deviation = g.node("Sqrt", prefix + ".sqrt", [g.node("Add", prefix + ".eps", [variance, g.scalar(prefix + ".epsilon", 1e-6)])])
        x = g.node("Mul", prefix + ".mul", [g.node("Div", prefix + ".div", [apart, deviation]), per_channel(prefix + ".weight", channels, 0.8, 1.2)])
        return g.node("Add", prefix + ".add", [x, per_channel(prefix + ".bias", channels, -0.1, 0.1)])

    def gated(prefix, x, channels):
        return g.node("Mul", prefix + ".gate", g.halves(prefix, x, channels, axis=1))

    def added(prefix, x, y, channels):
        return g.node("Add", prefix, [x, g.node("Mul", prefix + ".scaled", [y, per_channel(prefix + ".scale", channels, 0.5, 1.0)])])

    def block(prefix, x, c):
        y = g.conv(prefix + ".conv1", normalised(prefix + ".norm1", x, c), c, 2 * c, 1, gain=0.7)
        y = gated(prefix + ".sg", g.conv(prefix + ".conv2", y, 2 * c, 2 * c, 3, pad=1, group=2 * c), c)
        y = g.node("Mul", prefix + ".sca.mul", [y, g.conv(prefix + ".sca", g.node("GlobalAveragePool", prefix + ".pool", [y]), c, c, 1)])
        x = added(prefix + ".beta", x, g.conv(prefix + ".conv3", y, c, c, 1, gain=0.5), c)
        y = g.conv(prefix + ".conv4", normalised(prefix + ".norm2", x, c), c, 2 * c, 1, gain=0.7)
        return added(prefix + ".gamma", x, g.conv(prefix + ".conv5", gated(prefix + ".sg2", y, c), c, c, 1, gain=0.5), c)

    x, skips = g.conv("intro", "input", 3, width, 3, pad=1), []
    for level in range(levels):
        channels = width << level
        skips.append(block(f"encoder{level}", x, channels))
        x = g.conv(f"down{level}", skips[-1], channels, 2 * channels, 2, stride=2)
    x = block("middle", x, width << levels)
    for level in reversed(range(levels)):
        x = g.conv(f"up{level}", x, width << level + 1, width << level + 2, 1, bias=False)
        x = g.node("DepthToSpace", f"up{level}.shuffle", [x], blocksize=2, mode="CRD")
        x = block(f"decoder{level}", g.node("Add", f"skip{level}", [x, skips[level]]), width << level)
    return g.model(g.node("Add", "residual", [g.conv("ending", x, width, 3, 3, pad=1), "input"]), [1, 3, extent, extent])
