#!/usr/bin/env python3
"""The rules for several operators on ONNX models: each fires, and ONNX Runtime finds the same values. Exit status 0 or 1.

The pack is the one of pack.py. A model is a line: nodes, inputs, outputs, and the rule that must fire.
"""

import os
import pathlib
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SOURCE = pathlib.Path(os.environ.get("PET_SOURCE", pathlib.Path(__file__).parents[2]))
sys.path.insert(0, str(SOURCE / "tests" / "models"))
import compare  # noqa: E402
from pack import made, tool  # noqa: E402

node = helper.make_node
random = np.random.default_rng(0)


def weights(*shape):
    return (random.standard_normal(shape) / np.sqrt(max(1, np.prod(shape[1:])))).astype(np.float32)


def positive(*shape):
    return np.abs(weights(*shape)) + np.float32(0.5)


def replaced(axis, at):
    """Where what is at `at` along an axis of x is replaced, as torch's exporter writes it."""
    y = f"y{axis}_{at[0]}"
    perm = {2: [2, 1, 0, 3], 3: [3, 1, 2, 0]}[axis]
    return [node("Transpose", ["x"], [f"s{y}"], perm=perm), node("Transpose", [f"u{axis}"], [f"t{y}"], perm=perm),
            node("ScatterND", [f"s{y}", f"at{at[0]}", f"t{y}"], [f"a{y}"]), node("Transpose", [f"a{y}"], [y], perm=perm)]


TWICE = np.array([1, 1, 2, 2], np.float32)
NEAREST = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}

# name: (nodes, inputs, outputs, constants, rules)
MODELS = {
    "repvgg": (
        [node("Conv", ["x", "v"], ["a"], pads=[1, 1, 1, 1]), node("Conv", ["x", "w"], ["b"]), node("Add", ["a", "b"], ["c"]),
         node("Add", ["c", "x"], ["y"])],
        {"x": [1, 16, 14, 14]}, ["y"], {"v": weights(16, 16, 3, 3), "w": weights(16, 16, 1, 1)}, ["repvgg/conv(x)"]),
    "what LCNet learns": (  # the number first, as PaddlePaddle writes it
        [node("Conv", ["x", "w", "b"], ["c"], pads=[1, 1, 1, 1]), node("Mul", ["two", "c"], ["m"]), node("Add", ["m", "half"], ["a"]),
         node("Relu", ["a"], ["r"]), node("Mul", ["third", "r"], ["s"]), node("Add", ["s", "one"], ["t"]),
         node("Conv", ["t", "d", "b"], ["e"], group=16, pads=[1, 1, 1, 1]), node("Mul", ["two", "e"], ["f"]), node("Add", ["f", "half"], ["g"]),
         node("Relu", ["g"], ["h"]), node("Mul", ["third", "h"], ["k"]), node("Add", ["k", "one"], ["l"]), node("Conv", ["l", "v"], ["y"])],
        {"x": [1, 3, 14, 14]}, ["y"],
        {"w": weights(16, 3, 3, 3), "b": weights(16), "d": weights(16, 1, 3, 3), "v": weights(8, 16, 1, 1), "two": np.float32([2]),
         "half": np.float32(0.5), "third": np.float32([0.3]), "one": np.float32([1])},
        ["conv-bias-number-scale-bias/conv(x)+bias", "conv-depthwise-bias-number-scale-bias/conv-gC(x)+bias",
         "number-scale-bias-conv-1x1/conv(x)+bias"]),
    "a number times, and one added": (
        [node("Mul", ["two", "x"], ["m"]), node("Add", ["half", "m"], ["a"]), node("Relu", ["a"], ["y"])],
        {"x": [2, 16, 7, 9]}, ["y"], {"two": np.float32([2]), "half": np.float32(0.5)}, ["number-scale-bias/conv-gC(x)+bias"]),
    "a normalisation in pieces": (
        [node("Mul", ["x", "s"], ["m"]), node("Add", ["m", "b"], ["a"]), node("Relu", ["a"], ["y"])],
        {"x": [2, 16, 7, 9]}, ["y"], {"s": weights(1, 16, 1, 1), "b": weights(16, 1, 1)}, ["scale-bias/conv-gC(x)+bias"]),
    "branches": (
        [node("Conv", ["x", "w", "d"], ["a"]), node("Conv", ["x", "v", "b"], ["c"], pads=[1, 1, 1, 1]), node("Add", ["a", "c"], ["y"])],
        {"x": [1, 16, 14, 14]}, ["y"], {"v": weights(24, 16, 3, 3), "w": weights(24, 16, 1, 1), "b": weights(24), "d": weights(24)},
        ["branches/conv(x)+bias"]),
    "branches of stride 2": (
        [node("Conv", ["x", "v", "b"], ["a"], pads=[2, 2, 2, 2], strides=[2, 2]),
         node("Conv", ["x", "w", "d"], ["c"], pads=[1, 1, 1, 1], strides=[2, 2]), node("Add", ["a", "c"], ["y"])],
        {"x": [2, 16, 15, 14]}, ["y"], {"v": weights(24, 16, 5, 5), "w": weights(24, 16, 3, 3), "b": weights(24), "d": weights(24)},
        ["branches-s2/conv-s2(x)+bias"]),
    "branches of each channel": (
        [node("Conv", ["x", "v", "b"], ["a"], group=16, pads=[1, 1, 1, 1]), node("Conv", ["x", "w", "d"], ["c"], group=16),
         node("Add", ["a", "c"], ["y"])],
        {"x": [2, 16, 15, 14]}, ["y"], {"v": weights(16, 1, 3, 3), "w": weights(16, 1, 1, 1), "b": weights(16), "d": weights(16)},
        ["branches-grouped/conv-gG(x)+bias", "branches-grouped/conv(x)+bias"]),
    "branches in groups of stride 2": (
        [node("Conv", ["x", "v", "b"], ["a"], group=4, pads=[1, 1, 1, 1], strides=[2, 2]),
         node("Conv", ["x", "w", "d"], ["c"], group=4, strides=[2, 2]), node("Add", ["a", "c"], ["y"])],
        {"x": [2, 16, 15, 14]}, ["y"], {"v": weights(24, 4, 3, 3), "w": weights(24, 4, 1, 1), "b": weights(24), "d": weights(24)},
        ["branches-grouped-s2/conv-s2-gG(x)+bias", "branches-grouped-s2/conv-s2(x)+bias"]),
    "branches, one without a Conv": (
        [node("Conv", ["x", "w", "d"], ["a"], pads=[1, 1, 1, 1]), node("BatchNormalization", ["x", "s", "b", "m", "v"], ["c"]),
         node("Add", ["a", "c"], ["y"])],
        {"x": [2, 16, 15, 14]}, ["y"],
        {"w": weights(16, 16, 3, 3), "d": weights(16), "s": weights(16), "b": weights(16), "m": weights(16), "v": positive(16)},
        ["branches-bn/conv(x)+bias"]),
    "branches of each channel, one without a Conv": (
        [node("Conv", ["x", "w", "d"], ["a"], group=16, pads=[1, 1, 1, 1]), node("BatchNormalization", ["x", "s", "b", "m", "v"], ["c"]),
         node("Add", ["c", "a"], ["y"])],
        {"x": [2, 16, 15, 14]}, ["y"],
        {"w": weights(16, 1, 3, 3), "d": weights(16), "s": weights(16), "b": weights(16), "m": weights(16), "v": positive(16)},
        ["branches-bn-depthwise/conv-gC(x)+bias", "branches-bn-depthwise/conv(x)+bias"]),
    "pooled": (
        [node("Conv", ["x", "w", "b"], ["a"]), node("GlobalAveragePool", ["a"], ["y"])],
        {"x": [2, 16, 7, 7]}, ["y"], {"w": weights(10, 16, 1, 1), "b": weights(10)},
        ["conv-1x1-bias-gap/Add(Conv(GlobalAveragePool(x)))"]),
    "transition": (
        [node("Conv", ["x", "w"], ["a"]), node("AveragePool", ["a"], ["y"], kernel_shape=[2, 2], strides=[2, 2])],
        {"x": [2, 16, 8, 8]}, ["y"], {"w": weights(10, 16, 1, 1)}, ["conv-1x1-pool/Conv(AveragePool(x))"]),
    "upscaled head": (
        [node("Resize", ["x", "", "twice"], ["a"], **NEAREST), node("Conv", ["a", "w", "b"], ["c"]), node("Relu", ["c"], ["y"])],
        {"x": [1, 8, 7, 9]}, ["y"], {"twice": TWICE, "w": weights(4, 8, 1, 1), "b": weights(4)}, ["resize-conv-1x1/Resize(Conv(x))"]),
    "upscaled": (
        [node("Resize", ["x", "", "twice"], ["a"], **NEAREST), node("Conv", ["a", "w", "b"], ["y"], pads=[1, 1, 1, 1])],
        {"x": [1, 8, 7, 9]}, ["y"], {"twice": TWICE, "w": weights(4, 8, 3, 3), "b": weights(4)},
        ["resize-conv/convtranspose-s2(x)", "resize-conv/d2s(conv(x))", "resize-conv/d2s(conv(phases(x)))"]),
    "upscaled_5x5": (
        [node("Resize", ["x", "", "twice"], ["a"], **NEAREST), node("Conv", ["a", "w"], ["y"], pads=[2, 2, 2, 2])],
        {"x": [2, 8, 5, 3]}, ["y"], {"twice": TWICE, "w": weights(4, 8, 5, 5)}, ["resize-conv-5x5/d2s(conv(phases(x)))"]),
    "mirrored": (
        [node("Resize", ["x", "", "twice"], ["a"], **NEAREST), node("Pad", ["a", "around"], ["b"], mode="reflect"),
         node("Conv", ["b", "w", "c"], ["y"])],
        {"x": [2, 8, 5, 1]}, ["y"],
        {"twice": TWICE, "around": np.array([0, 0, 1, 1, 0, 0, 1, 1]), "w": weights(4, 8, 3, 3), "c": weights(4)},
        ["resize-reflect-conv/d2s(edge-conv(x))", "resize-reflect-conv/d2s(edge-conv(phases(x)))"]),
    "transposed": (
        [node("ConvTranspose", ["x", "w", "b"], ["y"], strides=[2, 2], pads=[1, 1, 1, 1])],
        {"x": [2, 8, 7, 9]}, ["y"], {"w": weights(8, 6, 4, 3), "b": weights(6)},
        ["convtranspose-s2/d2s(conv(phases(x)))"]),
    "transposed, output_padding": (
        [node("ConvTranspose", ["x", "w", "b"], ["y"], strides=[2, 2], pads=[1, 1, 1, 1], output_padding=[1, 0])],
        {"x": [2, 8, 7, 9]}, ["y"], {"w": weights(8, 6, 3, 3), "b": weights(6)}, ["convtranspose-s2/d2s(conv(phases(x)))"]),
    "transposed, same": (
        [node("ConvTranspose", ["x", "w"], ["y"], strides=[2, 2], pads=[1, 2, 2, 2])],
        {"x": [2, 8, 4, 5]}, ["y"], {"w": weights(8, 6, 5, 5)}, ["convtranspose-s2/d2s(conv(phases(x)))"]),
    **{f"windows of {window}, {step} apart, of {extents}": (
        [node("Gather", ["x", "i"], ["y"], axis=axis)],
        {"x": extents}, ["y"], {"i": np.arange(count)[:, None] * step + np.arange(window)}, [f"windows-{step}/{rule}" for rule in rules])
       for window, step, count, axis, extents, rules in [
           (12, 8, 3, 1, [2, 32], ["blocks", "padded-blocks"]), (12, 8, 3, 1, [2, 30, 5], ["padded-blocks"]),
           (40, 16, 4, -1, [3, 2, 96], ["blocks", "padded-blocks"]), (9, 8, 4, 0, [41, 2, 3], ["blocks", "padded-blocks"]),
           (400, 128, 3, 1, [1, 800, 1], ["blocks"])]},
    "frames": (
        [node("Conv", ["x", "w", "b"], ["y"], pads=[1] * 6)],
        {"x": [1, 4, 5, 8, 8]}, ["y"], {"w": weights(6, 4, 3, 3, 3), "b": weights(6)},
        ["conv3d/sum(conv(frames(x)))", "conv3d/frames(conv(stacked(x)))"]),
    "one frame": (
        [node("Conv", ["x", "w", "b"], ["y"], pads=[1, 1, 0] * 2)],
        {"x": [2, 4, 1, 8, 7]}, ["y"], {"w": weights(6, 4, 3, 3, 1), "b": weights(6)}, ["conv3d-frame/sum(conv(frames(x)))"]),
    "strided frames": (
        [node("Conv", ["x", "w", "b"], ["y"], pads=[1] * 6, strides=[2, 2, 2])],
        {"x": [1, 4, 6, 9, 8]}, ["y"], {"w": weights(6, 4, 3, 3, 3), "b": weights(6)},
        ["conv3d-s2/sum(conv-s2(frames(x)))", "conv3d-s2/frames(conv-s2(stacked(x)))"]),
    "stem": (
        [node("Conv", ["x", "w", "b"], ["y"], pads=[1, 3, 3] * 2, strides=[1, 2, 2])],
        {"x": [1, 3, 4, 12, 11]}, ["y"], {"w": weights(4, 3, 3, 7, 7), "b": weights(4)},
        ["conv3d-s1x2x2/sum(conv-s2(frames(x)))", "conv3d-s1x2x2/frames(conv-s2(stacked(x)))"]),
    "stem of many frames": (  # SlowFast's
        [node("Conv", ["x", "w", "b"], ["y"], pads=[2, 3, 3] * 2, strides=[1, 2, 2])],
        {"x": [1, 3, 6, 12, 11]}, ["y"], {"w": weights(4, 3, 5, 7, 7), "b": weights(4)},
        ["conv3d-s1x2x2-5/sum(conv-s2(frames(x)))", "conv3d-s1x2x2-5/frames(conv-s2(stacked(x)))"]),
    "causal frames": (  # of a video's autoencoder: the first frame is repeated in front, and pixels around
        [node("Pad", ["x", "around"], ["t"], mode="edge"), node("Conv", ["t", "w", "b"], ["y"])],
        {"x": [1, 4, 5, 8, 8]}, ["y"],
        {"around": np.array([0, 0, 2, 1, 1, 0, 0, 0, 1, 1]), "w": weights(6, 4, 3, 3, 3), "b": weights(6)},
        ["conv3d-valid/sum(conv(frames(x)))", "conv3d-valid/frames(conv(stacked(x)))"]),
    "rows": (
        [node("Conv", ["x", "w"], ["y"], pads=[2, 2], group=8)],
        {"x": [1, 8, 30]}, ["y"], {"w": weights(8, 1, 5)}, ["conv1d-depthwise/row(conv-gC(x))"]),
    "causal rows": (  # as Mamba and TCNs: padded at both ends, then cropped
        [node("Conv", ["x", "w", "b"], ["t"], pads=[3, 3], group=8), node("Slice", ["t", "begin", "end", "axis"], ["y"])],
        {"x": [2, 8, 30]}, ["y"],
        {"w": weights(8, 1, 4), "b": weights(8), "begin": np.array([0]), "end": np.array([30]), "axis": np.array([2])},
        ["conv1d-depthwise-causal/row(conv-gC(x)+bias)"]),
    "wave": (  # the last layer of a vocoder
        [node("Conv", ["x", "w", "b"], ["t"], pads=[3, 3]), node("Tanh", ["t"], ["y"])],
        {"x": [1, 8, 40]}, ["y"], {"w": weights(1, 8, 7), "b": weights(1)}, ["conv1d/convtranspose(x)"]),
    "disparities": (
        [node("Conv", ["x", "w"], ["y"], pads=[1] * 6)],
        {"x": [1, 8, 4, 9, 7]}, ["y"], {"w": weights(1, 8, 3, 3, 3)}, ["conv3d/convtranspose(x)"]),
    "local_attention": (
        [node("Conv", ["x", "w", "b"], ["y"], pads=[2] * 6, group=8)],
        {"x": [2, 8, 5, 9, 7]}, ["y"], {"w": weights(8, 1, 5, 5, 5), "b": weights(8)},
        ["conv3d-depthwise-5/sum(conv-gC(frames(x)))"]),
    "pooled queries": (  # MViT's; windows leave some of the last columns unread
        [node("Conv", ["x", "w"], ["y"], pads=[1] * 6, strides=[1, 2, 2], group=8)],
        {"x": [2, 8, 4, 9, 12]}, ["y"], {"w": weights(8, 1, 3, 3, 3)}, ["conv3d-depthwise-s1x2x2/sum(conv-s2-gC(frames(x)))"]),
    "electrodes": (  # EEGNet's first two layers
        [node("Conv", ["x", "v", "a"], ["t"], pads=[0, 8, 0, 8]), node("Conv", ["t", "w", "b"], ["u"], group=4), node("Elu", ["u"], ["y"])],
        {"x": [2, 1, 11, 40]}, ["y"],
        {"v": weights(4, 1, 1, 16), "a": weights(4), "w": weights(8, 1, 11, 1), "b": weights(8)},
        ["conv-rows-after-columns/conv-g2M(own-conv(x))+bias"]),
    "spectra": (  # torch.stft as its exporter writes it, and the power
        [node("STFT", ["x", "step", "w"], ["t"], onesided=1), node("Transpose", ["t"], ["u"], perm=[0, 2, 1, 3]),
         node("Mul", ["u", "u"], ["v"]), node("ReduceSum", ["v", "last"], ["y"], keepdims=0)],
        {"x": [2, 900, 1]}, ["y"], {"step": np.array(160), "w": np.hanning(40).astype(np.float32), "last": np.array([-1])},
        ["stft-160/conv"]),
    "waves": (  # torch.fft.rfft2 of images, and the complex numbers back along their rows
        [node("Unsqueeze", ["x", "last"], ["s"]), node("DFT", ["s"], ["t"], axis=3, onesided=1), node("DFT", ["t"], ["u"], axis=2),
         node("Mul", ["u", "u"], ["v"]), node("DFT", ["v"], ["w"], axis=2, inverse=1), node("DFT", ["w", "whole"], ["y"], axis=3, inverse=1)],
        {"x": [2, 3, 9, 10]}, ["y"], {"last": np.array([-1]), "whole": np.array(10)},
        ["dft-real/matrix-1", "dft-rows/matrix-1_last", "dft-rows-inverse/matrix-1_last", "dft-inverse/matrix-1"]),
    "normalised": (
        [node("BatchNormalization", ["x", "s", "b", "m", "v"], ["a"], epsilon=1e-3),
         node("Conv", ["a", "w"], ["y"], pads=[1, 1, 1, 1])],
        {"x": [1, 8, 9, 9]}, ["y"],
        {"s": weights(8), "b": weights(8), "m": weights(8), "v": positive(8), "w": weights(4, 8, 3, 3)},
        ["bn-conv-padded/conv(x)+map"]),
    "joined": (
        [node("Concat", ["x", "z"], ["a"], axis=1), node("Conv", ["a", "w"], ["y"], pads=[1, 1, 1, 1])],
        {"x": [1, 4, 9, 9], "z": [1, 6, 9, 9]}, ["y"], {"w": weights(8, 10, 3, 3)}, ["conv-of-concat/sum(conv(a:b))"]),
    # As transformers writes SegFormer's decoder: the finest map is resized to its own size.
    "pyramid": (
        [*(node("Resize", [x, "", "", f"sizes_{x}"], [f"r{x}"], mode="linear") for x in "zvus"),
         node("Concat", ["rz", "rv", "ru", "rs"], ["t"], axis=1), node("Conv", ["t", "w"], ["y"])],
        {"z": [2, 4, 3, 2], "v": [2, 3, 6, 4], "u": [2, 5, 12, 9], "s": [2, 4, 12, 16]}, ["y"],
        {"w": weights(6, 16, 1, 1), **{f"sizes_{x}": np.array([2, channels, 12, 16]) for x, channels in zip("zvus", [4, 3, 5, 4])}},
        ["pyramid-conv-1x1/sum-Resize(pointwise(x:z:v:u))"]),
    "columns": (
        [node("ConvTranspose", ["x", "w"], ["y"], strides=[2, 2], pads=[1, 1, 1, 1])],
        {"x": [4, 8, 5, 5]}, ["y"], {"w": weights(8, 6, 4, 4)},
        ["convtranspose-s2/col2im(matmul(x))", "convtranspose-s2/col2im(matmul(batch(x)))"]),
    "layers": (
        [node("LayerNormalization", ["x", "s", "a"], ["t"], axis=1, epsilon=1e-12), node("MatMul", ["t", "w"], ["u"]),
         node("Add", ["u", "b"], ["y"])],
        {"x": [5, 16]}, ["y"], {"s": weights(16), "a": weights(16), "w": weights(16, 12), "b": weights(12)},
        ["layernorm-matmul/matmul(t')+bias"]),
    "parallel": (
        [node("Conv", ["x", "v"], ["a"], pads=[1, 1, 1, 1]), node("Conv", ["x", "w"], ["b"]), node("Relu", ["a"], ["y"]),
         node("Relu", ["b"], ["z"])],
        {"x": [1, 8, 9, 9]}, ["y", "z"], {"v": weights(6, 8, 3, 3), "w": weights(4, 8, 1, 1)},
        ["parallel-conv/split(conv(x))"]),
    "linear_attention": (
        [node("Transpose", ["k"], ["l"], perm=[0, 2, 1]), node("MatMul", ["q", "l"], ["s"]), node("MatMul", ["s", "v"], ["y"])],
        {"q": [2, 64, 8], "k": [2, 64, 8], "v": [2, 64, 8]}, ["y"], {},
        ["attention-linear-heads/MatMul(q:MatMul(Transpose(k):v))"]),
    # One axis at a time, as exporters write the operator.
    "positions": (
        [node("Resize", ["x", "", "", "to"], ["y"], mode="cubic", coordinate_transformation_mode="pytorch_half_pixel")],
        {"x": [1, 12, 14, 14]}, ["y"], {"to": np.array([1, 12, 16, 17])},
        ["resize-cubic/matrix-2_matrix-3", "resize-cubic/itself-2_itself-3", "resize-cubic/itself-3_matrix-2"]),
    "head": (
        [node("Resize", ["x", "", "to"], ["y"], mode="linear", coordinate_transformation_mode="pytorch_half_pixel")],
        {"x": [2, 5, 9, 7]}, ["y"], {"to": np.array([1, 1, 4, 4], np.float32)},
        ["resize-linear/matrix-2_matrix-3", "resize-linear/matrix-3_matrix-2"]),
    "corners": (
        [node("Resize", ["x", "", "", "to"], ["y"], mode="linear", coordinate_transformation_mode="align_corners")],
        {"x": [1, 5, 9, 7]}, ["y"], {"to": np.array([1, 5, 33, 65])}, ["resize-linear-corners/matrix-3_matrix-2"]),
    "more frames": (
        [node("Resize", ["x", "", "twice"], ["y"], mode="nearest", coordinate_transformation_mode="half_pixel")],
        {"x": [1, 4, 3, 6, 5]}, ["y"], {"twice": np.array([1, 1, 2, 2, 2], np.float32)},
        ["resize-nearest-3d/itself-2_itself-3-4_merged", "resize-nearest-3d/matrix-2_itself-3-4_merged"]),
    "volume": (
        [node("Resize", ["x", "", "", "to"], ["y"], mode="linear", coordinate_transformation_mode="half_pixel")],
        {"x": [1, 4, 3, 6, 5]}, ["y"], {"to": np.array([1, 4, 6, 9, 10])}, ["resize-linear-3d/matrix-4_matrix-3_matrix-2"]),
    "volume with corners": (
        [node("Resize", ["x", "", "", "to"], ["y"], mode="linear", coordinate_transformation_mode="align_corners")],
        {"x": [1, 4, 3, 6, 5]}, ["y"], {"to": np.array([1, 4, 6, 9, 10])}, ["resize-linear-3d-corners/matrix-4_matrix-3_matrix-2"]),
    "volume head": (
        [node("Resize", ["x", "", "", "to"], ["t"], mode="linear", coordinate_transformation_mode="half_pixel"), node("Conv", ["t", "w", "b"], ["y"])],
        {"x": [1, 4, 3, 6, 5]}, ["y"], {"to": np.array([1, 4, 6, 9, 10]), "w": weights(2, 4, 1, 1, 1), "b": weights(2)},
        ["resize-linear-3d-conv-1x1/conv_matrix-4_matrix-3_matrix-2"]),
    "large pool": (
        [node("MaxPool", ["x"], ["y"], kernel_shape=[13, 13], pads=[6, 6, 6, 6], strides=[1, 1])],
        {"x": [1, 8, 20, 18]}, ["y"], {}, ["maxpool/itself-2_itself-3", "maxpool/itself-3_itself-2_merged"]),
    # As YOLO has them, from the largest on.
    "pools side by side": (
        [*(node("MaxPool", ["x"], [y], kernel_shape=[2 * pad + 1] * 2, pads=[pad] * 4, strides=[1, 1]) for y, pad in zip("cba", [6, 4, 2])),
         node("Concat", ["c", "b", "a", "x"], ["y"], axis=1)],
        {"x": [2, 8, 20, 18]}, ["y"], {}, ["maxpools/larger-of-smaller", "maxpools-3/larger-of-smaller_2-3", "maxpools-3/larger-of-smaller_3-2"]),
    "box_filter": (
        [node("AveragePool", ["x"], ["y"], kernel_shape=[9, 7], pads=[4, 3, 4, 3], count_include_pad=1)],
        {"x": [2, 3, 20, 18]}, ["y"], {}, ["averagepool/matrix-3_matrix-2", "averagepool/itself-2_itself-3"]),
    "spatial_attention": (
        [node("ReduceMean", ["x", "axes"], ["y"], keepdims=1), node("ReduceMax", ["x", "axes"], ["z"], keepdims=1)],
        {"x": [1, 32, 9, 7]}, ["y", "z"], {"axes": np.array([1])},
        ["mean-channels/matrix-1", "mean-channels/single_itself-1_merged", "max-channels/single_itself-1_last"]),
    "tokens": (
        [node("ReduceMean", ["x", "axes"], ["y"], keepdims=0)],
        {"x": [1, 49, 32]}, ["y"], {"axes": np.array([1])}, ["mean-rows/matrix-1", "mean-rows/single_itself-1_last"]),
    # Operators in pieces.
    "alexnet": (
        [node("LRN", ["x"], ["y"], size=5, alpha=2e-2, beta=0.75, bias=2.0)],
        {"x": [1, 12, 9, 7]}, ["y"], {}, ["lrn/by-definition", "lrn/matrix-2"]),
    "powers": (
        [node("Relu", ["x"], ["p"]), node("Add", ["p", "one"], ["q"]), node("Pow", ["q", "a"], ["r"]), node("Pow", ["r", "b"], ["s"]),
         node("Pow", ["s", "c"], ["t"]), node("Pow", ["t", "d"], ["y"])],
        {"x": [2, 3, 12, 8]}, ["y"], {"one": np.float32(1), "a": np.float32(0.75), "b": np.float32(-0.5), "c": np.float32(4), "d": np.float32(3)},
        ["pow-three-quarters/by-definition", "pow-inverse-root/by-definition", "pow-fourth/by-definition", "pow-third/by-definition"]),
    "descriptors": (
        [node("ReduceL2", ["x", "axis"], ["l"]), node("Clip", ["l", "least"], ["c"]), node("Shape", ["x"], ["s"]),
         node("Expand", ["c", "s"], ["e"]), node("Div", ["x", "e"], ["y"])],
        {"x": [1, 32, 9, 7]}, ["y"], {"axis": np.array([1]), "least": np.float32(1e-12)},
        ["l2-channels/matrix-1", "l2-channels/single_itself-1_merged", "expand-div-channels/Div(x:s)"]),
    "embeddings": (
        [node("ReduceL2", ["x", "axis"], ["l"]), node("Expand", ["l", "s"], ["e"]), node("Div", ["x", "e"], ["y"])],
        {"x": [12, 8]}, ["y"], {"axis": np.array([-1]), "s": np.array([12, 8])}, ["l2-rows/itself-1_merged", "expand-div/Div(x:s)"]),
    "queries": (  # of windows, each of length 1
        [node("ReduceL2", ["x", "axis"], ["l"]), node("Expand", ["l", "s"], ["e"]), node("Div", ["x", "e"], ["y"])],
        {"x": [4, 3, 12, 8]}, ["y"], {"axis": np.array([-1]), "s": np.array([4, 3, 12, 8])}, ["expand-div/Div(x:s)"]),
    "responses": (  # channels last, as ConvNeXt-V2 has them
        [node("ReduceL2", ["x", "axes"], ["y"])], {"x": [1, 9, 7, 32]}, ["y"], {"axes": np.array([1, 2])},
        ["l2-pixels-last/matrix-1_matrix-2", "l2-pixels-last/single_itself-1-2_merged"]),
    "residual": (
        [node("MatMul", ["x", "w"], ["u"]), node("Add", ["u", "x"], ["t"]),
         node("LayerNormalization", ["t", "s", "a"], ["y"], axis=-1, epsilon=1e-12)],
        {"x": [1, 9, 16]}, ["y"], {"w": weights(16, 16), "s": positive(16), "a": weights(16)}, ["sum-layernorm/difference"]),
    "magnitudes": (
        [node("ReduceL2", ["x", "axis"], ["y"], keepdims=0)], {"x": [12, 7, 2]}, ["y"], {"axis": np.array([-1])}, ["l2-rows/parts-2"]),
    "hifigan": (
        [node("Conv", ["x", "w"], ["t"], dilations=[3], pads=[9, 9]), node("Conv", ["t", "v"], ["y"], dilations=[5], pads=[5, 5])],
        {"x": [1, 8, 40]}, ["y"], {"w": weights(8, 8, 7), "v": weights(8, 8, 3)},
        ["conv1d-d3/row(conv-d3(x))", "conv1d-d5/row(conv-d5(x))"]),
    "heads": (  # of attention over channels, and of maps
        [node("Transpose", ["x"], ["y"], perm=[2, 0, 3, 4, 1]), node("Transpose", ["x"], ["z"], perm=[1, 0, 2, 4, 3]),
         node("Reshape", ["x", "images"], ["s"]), node("Transpose", ["s"], ["t"], perm=[0, 3, 2, 1])],
        {"x": [2, 9, 3, 4, 5]}, ["y", "z", "t"], {"images": np.array([2, 9, 12, 5])},
        ["tokens-last/1-2-5_0-1-2", "transposed-parts/3-4-5_0-1-2", "ends-exchanged/2-3-4_1-2-4"]),
    "tiles": (  # as images
        [node("Transpose", ["x"], ["y"], perm=[2, 0, 3, 1])], {"x": [4, 4, 15, 3]}, ["y"], {},
        ["interleaved-pairs/2-3-5_1-2-3", "interleaved-pairs/1-2-4_1-2-5"]),
    "relative_rows": (
        [node("Transpose", ["x"], ["y"], perm=[0, 3, 1, 4, 2])], {"x": [2, 4, 6, 5, 3]}, ["y"], {}, ["interleaved-pairs/2-3-5_1-2-3"]),
    "class_token": (  # scores[:, :, 1:, 1:] += u as torch's exporter writes it
        [node("Slice", ["x", "one", "end", "two"], ["rows"]), node("Slice", ["rows", "one", "end", "three"], ["part"]),
         node("Add", ["part", "u"], ["new"]), node("Transpose", ["new"], ["t"], perm=[3, 1, 2, 0]),
         node("Transpose", ["rows"], ["s"], perm=[3, 1, 2, 0]), node("ScatterND", ["s", "columns_at", "t"], ["a"]),
         node("Transpose", ["a"], ["b"], perm=[2, 1, 3, 0]), node("Transpose", ["x"], ["c"], perm=[2, 1, 0, 3]),
         node("ScatterND", ["c", "rows_at", "b"], ["d"]), node("Transpose", ["d"], ["y"], perm=[2, 1, 0, 3])],
        {"x": [1, 2, 7, 6], "u": [1, 2, 6, 5]}, ["y"],
        {"one": np.array([1]), "two": np.array([2]), "three": np.array([3]), "end": np.array([2**63 - 1]),
         "rows_at": np.arange(1, 7)[:, None], "columns_at": np.arange(1, 6)[:, None]}, ["rest-replaced/slices"]),
    "replaced": (
        [n for axis in (2, 3) for at in ([0, 1, 2], [2, 3, 4], [4, 5, 6]) for n in replaced(axis, at)],
        {"x": [1, 2, 7, 7], "u2": [1, 2, 3, 7], "u3": [1, 2, 7, 3]}, [f"y{axis}_{at}" for axis in (2, 3) for at in (0, 2, 4)],
        {f"at{at}": np.arange(at, at + 3)[:, None] for at in (0, 2, 4)},
        [f"{what}-replaced{where}/slices" for what in ("columns", "rows") for where in ("", "-in-front", "-behind")]),
    "kernels": (  # MixNet's, of few channels each
        [node("Conv", ["x", "v"], ["t"], pads=[1, 1, 1, 1], strides=[2, 2], group=6), node("Conv", ["t", "w", "b"], ["u"], pads=[4, 4, 4, 4], group=6),
         node("Relu", ["u"], ["y"]), node("Conv", ["z", "p"], ["a"], pads=[2, 2, 2, 2], group=7),
         node("Conv", ["q", "r"], ["c"], pads=[0, 0, 1, 1], strides=[2, 2], group=5)],
        {"x": [2, 6, 19, 17], "z": [1, 7, 9, 8], "q": [1, 5, 8, 9]}, ["y", "a", "c"],
        {"v": weights(6, 1, 3, 3), "w": weights(6, 1, 9, 9), "b": weights(6), "p": weights(7, 1, 5, 5), "r": weights(5, 1, 3, 3)},
        ["conv-depthwise/channels-and-1", "conv-depthwise/channels-and-2", "conv-depthwise-s2/channels-and-2", "conv-depthwise-s2/channels-and-3"]),
    "squeeze_excitation": (
        [node("GlobalAveragePool", ["x"], ["p"]), node("Sigmoid", ["p"], ["g"]), node("Expand", ["g", "s"], ["e"]), node("Mul", ["x", "e"], ["y"])],
        {"x": [1, 16, 9, 7]}, ["y"], {"s": np.array([1, 16, 9, 7])}, ["expand-mul/Mul(x:s)"]),
    "bifpn": (
        [node("Unsqueeze", ["x", "last"], ["s"]), node("Unsqueeze", ["z", "last"], ["t"]), node("Unsqueeze", ["v", "last"], ["r"]),
         node("Concat", ["s", "t", "r"], ["u"], axis=-1), node("ReduceSum", ["u", "last"], ["y"], keepdims=0)],
        {"x": [2, 8, 9, 7], "z": [2, 8, 9, 7], "v": [2, 8, 9, 7]}, ["y"], {"last": np.array([-1])}, ["stack-sum-3/Add(v:Add(x:z))"]),
    "upsampling": (
        [node("Reshape", ["x", "r"], ["s"]), node("Expand", ["s", "e"], ["t"]), node("Reshape", ["t", "o"], ["y"])],
        {"x": [3, 8, 9, 7]}, ["y"],
        {"r": np.array([3, 8, 9, 1, 7, 1]), "e": np.array([3, 8, 9, 2, 7, 2]), "o": np.array([3, 8, 18, 14])},
        ["upsample-expand/Resize(x)", "upsample-expand/convtranspose-s2-gC(x)"]),
    "pairs": (
        [node("MatMul", ["x", "z"], ["y"])],
        {"x": [12, 1, 8], "z": [12, 8, 1]}, ["y"], {}, ["row-products/ReduceSum(Mul(x:Transpose(z)))"]),
    # Products of activations that are summed.
    "matching": (
        [node("Unsqueeze", ["x", "one"], ["s"]), node("Unsqueeze", ["z", "zero"], ["t"]), node("Mul", ["s", "t"], ["u"]),
         node("ReduceSum", ["u", "last"], ["y"], keepdims=0)],
        {"x": [12, 8], "z": [10, 8]}, ["y"], {"one": np.array([1]), "zero": np.array([0]), "last": np.array([-1])},
        ["products-of-rows/MatMul(x:Transpose(z))"]),
    "mixing": (
        [node("Transpose", ["x"], ["t"], perm=[0, 2, 1]), node("MatMul", ["t", "w"], ["u"]), node("Transpose", ["u"], ["y"], perm=[0, 2, 1])],
        {"x": [2, 12, 8]}, ["y"], {"w": weights(12, 6)}, ["matmul-of-columns/n.to1_matmul-left"]),
    "attention_pooling": (
        [node("Mul", ["x", "a"], ["t"]), node("ReduceSum", ["t", "rows"], ["y"], keepdims=0)],
        {"x": [2, 12, 8], "a": [2, 12, 1]}, ["y"], {"rows": np.array([1])}, ["weighted-rows/Squeeze(MatMul(Transpose(a):x))"]),
    "segmentation": (
        [node("Softmax", ["x"], ["y"], axis=1)],
        {"x": [2, 21, 9, 7]}, ["y"], {}, ["softmax-channels/itself-1_last"]),
}

# What a rewritten model consists of: weights are folded, and a bias is one of the operators that compute.
PHASES = ["Conv"] * 4 + ["Concat", "DepthToSpace"]
OPERATORS = {
    "conv3d-frame/sum(conv(frames(x)))": ["Reshape", "Conv", "Reshape"],  # two thirds of the kernel are gone
    "resize-conv-1x1/Resize(Conv(x))": ["Conv", "Relu", "Resize"],  # bias and activation come along
    "resize-conv/d2s(conv(phases(x)))": PHASES,
    "resize-conv-5x5/d2s(conv(phases(x)))": PHASES,
    "resize-reflect-conv/d2s(edge-conv(phases(x)))": ["Pad", "Conv"] * 4 + ["Concat", "DepthToSpace"],
    "convtranspose-s2/d2s(conv(phases(x)))": PHASES + ["Slice"],  # an odd number of columns
}


def write(name, folder):
    nodes, inputs, outputs, constants, _ = MODELS[name]
    graph = helper.make_graph(
        nodes, name, [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in inputs.items()],
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in outputs],
        [numpy_helper.from_array(v, k) for k, v in constants.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    path = folder / f"{name}.onnx"
    onnx.save(onnx.shape_inference.infer_shapes(model), path)
    return path


def check(name, rule, path, pack, folder):
    """What is wrong, or nothing."""
    out = folder / "out.onnx"
    done = tool("pet-apply", path, pack, "--all", "--only", rule, "-o", out)
    if done.returncode != 0:
        return f"exit code {done.returncode}: {done.stdout} {done.stderr}"
    if "1 site rewritten" not in done.stdout:
        return f"did not fire once: {done.stdout}"
    operators = [n.op_type for n in onnx.load(out).graph.node]
    if operators != OPERATORS.get(rule, operators):
        return f"the model consists of {operators}"
    difference = compare.compare(path, out).relative
    return "" if difference <= 1e-5 else f"ONNX Runtime: {difference} relative"


def main():
    pack, failures = made(), []
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        for name, (_, _, _, _, rules) in MODELS.items():
            path = write(name, folder)
            for rule in rules:
                why = check(name, rule, path, pack, folder)
                if why:
                    failures.append(f"{name}, {rule}: {why}")
    print("\n".join(failures) or f"{len(MODELS)} models of several operators rewritten, equal on ONNX Runtime")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
