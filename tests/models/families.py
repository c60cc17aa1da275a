"""Operators at which ONNX Runtime is slow, alone or between convolutions, as exporters write them, with what an equal graph gains.

Made as the zoo's models are (export.py, build.py; the modules are in sources_operators.py), measured by `bench/models.py --families`.
VARIANTS are the same operators as other models have them; tests/e2e/variants.py tries whether rules fire there, too.
"""

import dataclasses

import numpy as np

import zoo


@dataclasses.dataclass(frozen=True)
class Family:
    what: str  # the operator
    gain: float  # of the best equal graph known when the list was made: ONNX Runtime's time over the graph's, one thread, AVX-512
    inputs: tuple  # extents of each
    exporter: str = zoo.DYNAMO
    type: type = np.float32
    positive: bool = False  # it has no value elsewhere
    note: str = ""  # why no rule is the equal graph

    def model(self):
        names = ["input", "other"]
        low, high = (1 / 64, 1.0) if self.positive else (0, 2) if self.type is not np.float32 else (-1.0, 1.0)
        return zoo.Model("sources_operators.py", self.exporter, {n: zoo.Input(shape, self.type, low, high) for n, shape in zip(names, self.inputs)})


def one(what, gain, *extents, **more):
    return Family(what, gain, (extents,), **more)


def two(what, gain, first, second, **more):
    return Family(what, gain, (first, second), **more)


def function(what, gain, **more):
    """Of elements, one megabyte of them."""
    return one(what, gain, 1, 64, 64, 64, **more)


FAMILIES = {
    # Linear along an axis
    "resize_cubic_positions": one("Resize cubic, to 16 x 16", 124.7, 1, 768, 14, 14),
    "resize_cubic_x2": one("Resize cubic, x 2", 127.5, 1, 64, 32, 32),
    "resize_cubic_x4": one("Resize cubic, x 4", 71.2, 1, 3, 64, 64),
    "resize_cubic_down": one("Resize cubic, to 224 x 224", 21.7, 1, 3, 512, 512),
    "resize_nearest_3d": one("Resize nearest of video, x 2", 28.0, 1, 32, 8, 32, 32),
    "resize_nearest_3d_between": one("... between 1x1x1 Convs", 37.8, 1, 32, 8, 32, 32),
    "resize_linear_psp": one("Resize linear, to 60 x 60", 8.87, 1, 512, 6, 6),
    "resize_linear_x8": one("Resize linear, x 8", 6.47, 1, 256, 16, 16),
    "resize_linear_tokens": one("MatMul, then Resize linear, x 4", 4.39, 1, 256, 64),
    "resize_linear_deeplab": one("1x1 Conv to 21, then Resize linear, to 257 x 257", 2.70, 1, 256, 33, 33),
    "resize_linear_from_one": one("Resize linear of one pixel", 7.55, 1, 256, 1, 1),
    "resize_linear_3d": one("Resize linear of video, x 2", 4.17, 1, 32, 8, 32, 32),
    "resize_linear_3d_between": one("... between 1x1x1 Convs", 2.9, 1, 32, 8, 32, 32),
    "averagepool_13": one("AveragePool 13", 2.56, 1, 16, 128, 128),
    "averagepool_31": one("AveragePool 31", 1.72, 1, 3, 128, 128),
    "upscaling_dense": one("dense ConvTranspose that interpolates", 11.0, 1, 21, 33, 33),
    "upscaling_depthwise": one("depthwise ConvTranspose that interpolates, x 8", 3.93, 1, 21, 33, 33),
    "upscaling_depthwise_x2": one("... x 2", 3.16, 1, 64, 32, 32),
    "dft_400": one("DFT of 400", 22.2, 1, 200, 400),
    "dft_64": one("DFT of 64", 11.6, 1, 4096, 64),
    "stft_400": one("STFT of 400, hop 160", 12.4, 1, 16240),
    "stft_512": one("STFT of 512, hop 128", 2.70, 1, 13184),
    "cumsum": one("CumSum of 64", 3.12, 1, 1024, 64),
    "cumsum_long": one("CumSum of 8192", 3.51, 1, 8, 8192),
    "lrn": one("LRN", 10.3, 1, 96, 55, 55),
    # Expanding, broadcasting
    "upsample_expand": one("Reshape, Expand of both axes, Reshape", 48.7, 1, 128, 26, 26),
    "repeat_last": one("Expand of a new last axis", 13.8, 1, 256, 1024),
    "distances": two("ReduceSum of squares of differences of rows", 53.3, (512, 64), (512, 64)),
    "distances_to_codes": one("... to those of a weight, repeated first", 25.3, 1, 1024, 512),
    "products_of_rows": two("ReduceSum of products of rows", 42.9, (256, 128), (256, 128)),
    "distances_of_boxes": two("ReduceSum of Abs of differences of rows of 4", 6.90, (300, 4), (100, 4)),
    "pair_features": one("MatMul of a Concat of Expands", 7.33, 1, 96, 64),
    "weighted_maps": two("ReduceSum of weighted maps", 8.57, (1, 4, 64, 56, 56), (1, 4, 1, 1, 1)),
    "weighted_tokens": two("ReduceSum of weighted tokens", 5.62, (1, 512, 768), (1, 512, 1)),
    "correlation": two("ReduceMean of products, at 25 shifts", 5.49, (1, 64, 32, 32), (1, 64, 32, 32)),
    "expanded_scale": two("Expand, then Mul", 2.12, (1, 256, 56, 56), (1, 256, 1, 1)),
    # Reductions, normalisation
    "mean_tokens": one("ReduceMean over tokens", 16.1, 1, 196, 768),
    "mean_channels": one("ReduceMean over channels", 17.7, 1, 128, 32, 32),
    "sum_channels": one("ReduceSum over channels", 19.5, 1, 128, 32, 32),
    "max_channels": one("ReduceMax over channels", 4.31, 1, 128, 32, 32),
    "l2_channels": one("ReduceL2 over channels", 10.4, 1, 128, 32, 32),
    "mean_pixels_last": one("ReduceMean over pixels, channels last", 17.2, 1, 28, 28, 256),
    "mean_channels_large": one("ReduceMean over channels", 10.9, 1, 256, 56, 56),
    "mean_channels_between": one("... between 1x1 Convs", 1.12, 1, 256, 56, 56),
    "softmax_channels_150": one("Softmax over channels", 6.37, 1, 150, 64, 64),
    "softmax_channels_21": one("Softmax over channels", 6.20, 1, 21, 128, 128),
    "softmax_channels_large": one("Softmax over channels", 6.42, 1, 21, 256, 256),
    "softmax_channels_behind": one("... behind a 1x1 Conv", 3.6, 1, 21, 256, 256),
    "softmax_channels_batch": one("Softmax over channels", 12.9, 8, 21, 64, 64),
    "log_softmax_channels": one("LogSoftmax over channels", 6.70, 1, 19, 128, 256),
    "softmax_box_head": one("Softmax over axis 1 of 4", 8.09, 1, 16, 4, 8400),
    "softmax_two": one("Softmax over two channels", 30.1, 1, 2, 256, 256),
    "argmax_two": one("ArgMax over two channels", 4.53, 1, 2, 256, 256),
    "channel_norm_sam": one("LayerNorm over channels, in pieces", 5.67, 1, 256, 64, 64),
    "channel_norm_sam_between": one("... between 1x1 Convs", 2.0, 1, 256, 64, 64),
    "channel_norm_nafnet": one("LayerNorm over channels, in pieces", 4.49, 1, 48, 128, 128),
    "channel_norm_convnext": one("LayerNorm over channels, in pieces", 2.41, 1, 96, 56, 56),
    "channel_norm_convnext_between": one("... between 1x1 Convs", 1.5, 1, 96, 56, 56),
    "channel_norm_convnext_last": one("LayerNorm over channels, in pieces", 3.16, 1, 768, 7, 7),
    # Convolutions
    "patches_3d": one("Conv 3-d whose kernel covers the map", 5.03, 256, 3, 2, 14, 14),
    "patches": one("Conv whose kernel covers the map", 4.51, 196, 3, 16, 16),
    "kernel_covers": one("Conv 7x7 on 7x7", 4.43, 16, 64, 7, 7),
    "maps_of_one": one("1x1 Conv on 1x1", 3.48, 64, 256, 1, 1),
    "electrodes": one("Conv 1x64, then depthwise Conv over all rows", 13.9, 1, 1, 22, 512),
    "conv_one_output": one("Conv 5x5 to 1", 11.3, 1, 32, 128, 128),
    "conv_one_output_depth": one("Conv 3x3 to 1", 7.17, 1, 32, 96, 320),
    "conv_one_output_depth_between": one("... between 1x1 Convs", 2.8, 1, 32, 96, 320),
    "conv_one_output_cbam": one("Conv 7x7 to 1", 4.84, 1, 2, 56, 56),
    "conv_three_outputs_srgan": one("Conv 9x9 to 3", 4.23, 1, 64, 96, 96),
    "conv_three_outputs": one("Conv 3x3 to 3", 1.82, 1, 64, 128, 128),
    "conv1d_one_output": one("Conv 1-d of 7 to 1", 3.43, 1, 32, 16384),
    "conv3d_one_output": one("Conv 3-d to 1", 7.21, 1, 32, 24, 48, 48),
    "conv_1x1_one_output": one("1x1 Conv to 1", 7.15, 1, 64, 128, 128),
    "conv3d_depthwise_5": one("depthwise Conv 5x5x5", 10.1, 1, 64, 8, 14, 14),
    "conv3d_depthwise_3": one("depthwise Conv 3x3x3", 3.83, 1, 108, 8, 20, 20),
    "conv3d_depthwise_s2": one("... with stride 2 within a frame", 2.07, 1, 108, 8, 20, 20),
    "conv1d_depthwise_31": one("depthwise Conv 1-d of 31", 5.08, 1, 512, 200),
    "conv1d_depthwise_31_between": one("... between Convs of 1", 1.7, 1, 512, 200),
    "conv1d_depthwise_7": one("depthwise Conv 1-d of 7", 2.77, 1, 512, 200),
    "conv1d_depthwise_causal": one("depthwise Conv 1-d of 4, causal", 1.60, 1, 1536, 256),
    "conv1d_mamba": one("... as Mamba has it", 1.97, 1, 1536, 256),
    "conv3d_stem": one("Conv 3x7x7 of 3 channels", 1.43, 1, 3, 8, 112, 112),
    "conv3d_frames": one("Conv 3x1x1", 1.46, 1, 576, 4, 14, 14),
    "conv_rate_beyond": one("Conv 3x3, dilation 36", 1.55, 1, 960, 33, 33),
    "conv_rate_large": one("Conv 3x3, dilation 24", 1.34, 1, 960, 33, 33,
                           note="every tap sees a part; nine Convs of parts gain 1.02 to 1.08 on an Intel Xeon, since ONNX Runtime skips padding"),
    "conv1d_positions": one("Conv 1-d of 128 on 49", 1.33, 1, 768, 49),
    "focus": one("Focus, then Conv 3x3", 1.37, 1, 3, 320, 320),
    "transposed_stride_1": one("ConvTranspose, stride 1", 1.34, 1, 64, 56, 56),
    "transposed_stride_2": one("ConvTranspose of 4, stride 2", 1.32, 1, 256, 32, 32),
    "istft_4096": one("ConvTranspose 1-d of 4096 to 1, stride 1024", 2.25, 1, 1026, 87),
    "istft_1024": one("ConvTranspose 1-d of 1024 to 1, stride 256", 1.94, 1, 514, 188),
    "pyramid_pools": one("MaxPool 5, 9, 13 side by side", 3.53, 1, 256, 20, 20),
    "maxpool_13": one("MaxPool 13", 5.91, 1, 256, 20, 20),
    # Movements
    "unfold": one("Unfold 3x3", 7.69, 1, 64, 56, 56),
    "unfold_s2": one("... of every other pixel", 1.7, 1, 192, 28, 28),
    "windows": one("Windows of 400 of a signal, 160 apart", 15.2, 1, 16000),
    "unpatchify": one("Transpose of 6 axes: unpatchify", 7.19, 1, 196, 768),
    "pixel_unshuffle": one("Transpose of 6 axes: PixelUnshuffle", 7.38, 1, 64, 64, 64),
    "pixel_shuffle": one("DepthToSpace", 2.56, 1, 256, 64, 64),
    "gather_elements": one("GatherElements of neighbouring columns", 18.1, 1, 4096, 96),
    "gather_rows": one("Gather of neighbouring rows", 5.41, 1, 1024, 512),
    "scatter_inside": two("ScatterND of all but the border", 16.4, (1, 64, 64, 64), (1, 64, 62, 62)),
    "shifted_windows": one("Roll, then windows", 2.32, 1, 56, 56, 96, note="measured before there were rules for it"),
    "merged_patches": one("merging of patches", 1.26, 1, 56, 56, 96),
    "channel_shuffle": one("channel shuffle", 1.84, 1, 240, 28, 28),
    "rotary_pairs": one("rotary embedding of neighbours", 1.86, 1, 32, 128, 128),
    # Products
    "einsum_scores": two("Einsum bsnh,btnh->bnts", 5.65, (1, 128, 12, 64), (1, 128, 12, 64), exporter=zoo.SCRIPT),
    "einsum_linear_attention": two("Einsum bhnd,bhne->bhde", 5.52, (1, 8, 1024, 32), (1, 8, 1024, 32), exporter=zoo.SCRIPT),
    "einsum_state_rows": two("Einsum bshd,bshe->bhde", 4.94, (1, 1024, 8, 32), (1, 1024, 8, 32), exporter=zoo.SCRIPT),
    "einsum_of_state_rows": two("Einsum bshd,bhde->bshe", 4.89, (1, 1024, 8, 32), (1, 8, 32, 32), exporter=zoo.SCRIPT),
    "einsum_graph": one("Einsum nkctv,kvw->nctw", 5.16, 1, 3, 64, 75, 25, exporter=zoo.SCRIPT),
    "einsum_channels": one("Einsum nchw,cd->ndhw", 4.86, 1, 64, 56, 56, exporter=zoo.SCRIPT),
    "einsum_rows": two("Einsum bd,bd->b", 8.52, (1024, 256), (1024, 256), exporter=zoo.SCRIPT),
    "einsum_tokens": one("Einsum bnd,mn->bmd", 2.56, 1, 196, 256, exporter=zoo.SCRIPT),
    "matmul_one_column": one("MatMul with one column", 3.58, 1, 1024, 768),
    "dot_of_rows": two("MatMul of rows and columns", 10.8, (1024, 1, 64), (1024, 64, 1)),
    "skinning": two("MatMul of 4 x 4 and columns", 2.50, (6890, 4, 4), (6890, 4, 1)),
    "onehot_table": one("OneHot, then MatMul", 55.0, 1, 128, type=np.int64),
    "matmul_diagonal": one("MatMul by a diagonal matrix", 18.9, 1, 1024, 256),
    "mixer": one("Transpose, MatMul, Transpose", 1.39, 8, 196, 384),
    "linear_tokens": one("... with a bias", 1.13, 8, 196, 384),
    "linear_heads": one("... across heads", 1.24, 1, 8, 196, 196),
    # Functions of elements
    "prelu": function("PRelu", 15.9),
    "prelu_between": function("... between 1x1 Convs", 1.36),
    "prelu_shared": function("PRelu of one slope", 22.7),
    "prelu_shared_between": function("... between 1x1 Convs", 1.46),
    "mish": function("Mish", 12.8),
    "mish_between": function("... between 1x1 Convs", 1.84),
    "softplus": function("Softplus", 4.96, note="torch's exporter chooses x above 20, which is no equality, and stays"),
    "pow_half": function("Pow(x, 0.5)", 11.3, positive=True),
    "pow_minus_one": function("Pow(x, -1)", 19.5, positive=True),
    "pow_minus_half": function("Pow(x, -0.5)", 7.15, positive=True),
    "pow_four": function("Pow(x, 4)", 19.4),
    "pow_three_quarters": function("Pow(x, 0.75)", 4.56, positive=True),
    "pow_of_base": function("Pow(1.5, x)", 18.9),
    "pow_tensor": function("Pow(x, [2, ...])", 2.95),
    "pow_two": function("Pow(x, 2)", 2.89),
    "pow_three": function("Pow(x, 3)", 1.47, note="it had no rule then: its products are no faster on ONNX Runtime behind another operator"),
    "mod_one": function("Mod(x, 1)", 14.8, note="listed for x >= 0, by one Floor"),
    "where_positive": function("Where(x > 0, x, 0)", 4.86),
    "sign": function("Sign", 4.42, note="listed as Clip(1e30 x), which is no equality; by two comparisons 0.83 to 1.2 on an Intel Xeon, and another value of NaN"),
    "elu": function("Elu", 2.98),
    "elu_between": function("... between 1x1 Convs", 1.08),
    "selu": function("Selu", 2.21),
    "layer_norm_in_pieces": one("LayerNorm in pieces, as TensorFlow writes it", 2.21, 1, 784, 192),
    "hardswish_pieces": function("x Clip(x + 3, 0, 6) / 6", 1.95),
    "hardswish_pieces_between": function("... between 1x1 Convs", 1.25),
    "number_scale_bias_between": function("Relu(x) times a number, and one added, between 1x1 Convs", 1.13),
    "scale_bias_between": function("... with a number for each channel", 1.13),
    "gelu_tanh": function("Gelu by Tanh", 1.48, note="the operator is faster than a Sigmoid on an Intel Xeon (0.36)"),
    "gelu_tanh_pieces": function("... in pieces, as GPT-2 writes it", 1.48),
    "div_power_of_two": function("Div(x, 8)", 1.90, note="a product is no faster behind another operator"),
    "where_mask": function("Where(mask, x, -1e9)", 2.12, note="equal only in front of a Softmax"),
    "min_constant": function("Min(x, c)", 1.45, note="it is read as a Clip, which no rule writes: 1.09 on an Intel Xeon"),
}
MODELS = {name: family.model() for name, family in FAMILIES.items()}
# Those whose weights have values with a meaning: they interpolate.
MEANT = {name for name in FAMILIES if name.startswith("upscaling_")}


# ---- the same operators as other models have them


def reshaped(model, change, **more):
    """The model with other extents: `change` makes them of an input's."""
    inputs = {name: dataclasses.replace(i, shape=tuple(change(list(i.shape)))) for name, i in model.inputs.items()}
    return dataclasses.replace(model, inputs=inputs, **more)


def batched(model):
    """Four times as many in the first dimension."""
    yield reshaped(model, lambda shape: [4 * shape[0], *shape[1:]])


def opened(model):
    """The first dimension is left open; inputs that have it in common share it."""
    names = dict(zip(dict.fromkeys(i.shape[0] for i in model.inputs.values()), ["batch", "other"]))
    tries = {name: max(extent, 2) for extent, name in names.items()}  # an exporter takes an extent of 1 for a constant
    yield reshaped(model, lambda shape: [names[shape[0]], *shape[1:]], tries=(tries,))


def odd(model):
    """Less of one or two inner dimensions, by an odd number or by twice one: the first of these that the module takes."""
    for pick in [lambda rank: range(rank - 2, rank) if rank > 3 else [rank - 1], lambda rank: [rank - 1], lambda rank: [rank - 2], lambda rank: [1]]:
        for less in [(1, 3), (2, 6)]:
            def change(shape, pick=pick, less=less):
                for axis, by in zip(pick(len(shape)), less):
                    shape[axis] -= by if shape[axis] > by + 1 else 0
                return shape
            other = reshaped(model, change)
            if other != model:
                yield other


def half(model):
    """TorchScript's exporter has the model in float, which is then converted, but for what it takes and gives."""
    inputs = {name: dataclasses.replace(i, dtype=np.float16) if i.dtype is np.float32 and model.exporter == zoo.DYNAMO else i
              for name, i in model.inputs.items()}
    yield dataclasses.replace(model, precision="fp16", inputs=inputs)


def older(model):
    """As TorchScript's exporter has it."""
    yield dataclasses.replace(model, exporter=zoo.SCRIPT, opset=13)


# What export.py makes of a family's model, in the order in which it tries; each in a folder of its own in exported/families/.
VARIANTS = {"batch": batched, "open": opened, "odd": odd, "fp16": half, "opset13": older}
