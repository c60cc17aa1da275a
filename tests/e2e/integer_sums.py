#!/usr/bin/env python3
"""MatMulInteger and ConvInteger: before and after pet-apply --all the same on ONNX Runtime, bit for bit. Exit status 0 or 1.

The rules are laws of products and convolutions, made and proved here. The models are the onnx package's node tests of the two
operators, with all operands as inputs and with all but the first as constants, and models of the zoo with the dynamic quantization
of onnxruntime's tools, which computes zero points as the model runs.

`integer_sums.py NAME` tries the models with NAME in their names. In parts (_part.py), each part has its share of the zoo's.
"""

import collections
import os
import pathlib
import sys
import tempfile

import numpy as np
import onnx
from onnx import numpy_helper

import _part as part
from integers import build, compare, law, positive, unoptimised, zoo
from node_tests import Engine, as_array, node_tests, pack_of

SUMS = {"MatMulInteger", "ConvInteger"}
# Model, type of the weights, a scale for each channel; the least number of sums to be rewritten.
QUANTIZED = [("distilbert-script", "QInt8", False, 12), ("distilbert-script", "QUInt8", True, 12),
             ("squeezenet1_1-dynamo", "QUInt8", False, 26)]
# Without VNNI, ONNX Runtime adds pairs of products of unsigned and signed bytes in 16 bits, which saturate: the original is wrong.
if "vnni" not in pathlib.Path("/proc/cpuinfo").read_text():
    QUANTIZED = [entry for entry in QUANTIZED if entry[1] != "QInt8"]
LEAST_NODE_TESTS = 9

# --- Laws ---


def laws():
    yield law("product", positive("MNK"), [("x", "MK"), ("w", "KN")], ["y = MatMul(x, w)"],
              ["a = Transpose(x) perm=[1, 0]", "b = Transpose(w) perm=[1, 0]", "c = MatMul(b, a)", "y = Transpose(c) perm=[1, 0]"])
    yield law("halves", positive("MNK"), [("x", ["M", "2K"]), ("w", ["2K", "N"])], ["y = MatMul(x, w)"],
              ["a, b = Split(x) axis=1 split=[K, K]", "c, d = Split(w) axis=0 split=[K, K]", "e = MatMul(a, c)", "f = MatMul(b, d)",
               "y = Add(e, f)"])
    several = positive("MNKL")
    yield law("products", several, [("x", "MK"), ("u", "KN"), ("w", "KL")],
              ["a = MatMul(x, u)", "b = MatMul(x, w)", "return a, b"],
              ["t = Concat(u, w) axis=1", "y = MatMul(x, t)", "a, b = Split(y) axis=1 split=[N, L]", "return a, b"])
    pads = [f"P{i}" for i in range(4)]
    shape = (f"N C H W F R S {' '.join(pads)} : {', '.join(f'1 <= {s}' for s in 'NCHWFRS')}, {', '.join(f'0 <= {p}' for p in pads)}, "
             "R <= H + P0 + P2, S <= W + P1 + P3")
    images = [("x", "NCHW"), ("w", "FCRS")]
    yield law("padded", shape, images, [f"y = Conv(x, w) pads=[{', '.join(pads)}]"],
              [f"p = Pad(x) pads=[0, 0, {', '.join(pads[:2])}, 0, 0, {', '.join(pads[2:])}]", "y = Conv(p, w) pads=[0, 0, 0, 0]"])
    yield law("pointwise", positive("NCHWF"), [("x", "NCHW"), ("w", ["F", "C", "1", "1"])], ["y = Conv(x, w)"],
              ["a = Layout(x) n c h w -> c (n h w)", "b = Layout(w) f c 1 1 -> f c", "c = MatMul(b, a)",
               "y = Layout(c) f (n h w) -> n f h w"])
    yield law("channels", shape.replace("N C", "N D", 1).replace("1 <= C", "1 <= D"),
              [("x", ["N", "2D", "H", "W"]), ("w", ["F", "2D", "R", "S"])], [f"y = Conv(x, w) pads=[{', '.join(pads)}]"],
              ["a, b = Split(x) axis=1 split=[D, D]", "c, d = Split(w) axis=1 split=[D, D]",
               f"e = Conv(a, c) pads=[{', '.join(pads)}]", f"f = Conv(b, d) pads=[{', '.join(pads)}]", "y = Add(e, f)"])


# --- Models ---


def with_constants(case, kept):
    """A node test with all but the first `kept` operands as initializers, and what is left to give. In an opset that has Pad of
    bytes, and with one zero point for all filters, for ONNX Runtime has no other."""
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    del model.opset_import[:]
    model.opset_import.append(onnx.helper.make_opsetid("", 13))
    values = {i.name: np.asarray(as_array(v)) for i, v in zip(model.graph.input, case.data_sets[0][0])}
    filters = {n.input[3] for n in model.graph.node if n.op_type == "ConvInteger" and len(n.input) > 3}
    for i in list(model.graph.input):
        if i.name in filters:
            values[i.name] = values[i.name][-1:]
            i.type.tensor_type.shape.dim[0].dim_value = 1
    for i in list(model.graph.input)[kept:]:
        model.graph.initializer.append(numpy_helper.from_array(values.pop(i.name), i.name))
        model.graph.input.remove(i)
    return model, values


def quantize(name, weights, each, folder):
    from onnxruntime import quantization as q

    path, prepared = folder / "quantized.onnx", folder / "prepared.onnx"
    q.shape_inference.quant_pre_process(str(build.build(name, folder)), str(prepared), skip_symbolic_shape=True)
    q.quantize_dynamic(str(prepared), str(path), weight_type=q.QuantType[weights], per_channel=each,
                       extra_options={"WeightSymmetric": weights == "QInt8"})
    return onnx.load(path), zoo.MODELS[name].arrays(zoo.MODELS[name].tries[0])


# --- Comparison ---


def try_node_tests(only, pack, folder, wrong):
    engine, rewritten, run = Engine(), 0, 0
    for case in node_tests():
        if only not in case.name or not {n.op_type for n in case.model.graph.node} <= SUMS:
            continue
        for kept in (1, 2, len(case.model.graph.input)):
            said, report = compare(*with_constants(case, kept), pack, folder, engine.run)
            run += said is not None
            rewritten += bool(report.get("fired")) and said == ""
            wrong += [f"{case.name} with {kept} inputs: {said}"] if said else []
    engine.close()
    print(f"node tests: {rewritten} of {run} rewritten")
    return rewritten


def try_quantized(only, pack, folder, wrong):
    for name, weights, each, least in part.mine(QUANTIZED):
        if only not in name:
            continue
        model, inputs = quantize(name, weights, each, folder)
        said, report = compare(model, inputs, pack, folder, unoptimised)
        label = f"{name} {weights}{' by channel' if each else ''}"
        wrong += [f"{label}: {said}"] if said else []
        sums = {n.name for n in model.graph.node if n.op_type in SUMS}
        fired = [f["rule"] for f in report.get("fired", []) if f["site"] in sums]
        print(f"{label}: {len(fired)} sites of {len(sums)} sums, {dict(collections.Counter(fired))}")
        if len(sums) < least or len(fired) < least / 2:
            wrong.append(f"{label}: too few sites")


def main():
    only = sys.argv[1] if len(sys.argv) > 1 else ""
    wrong = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        os.environ["PET_SHARE"] = name  # no timings: --all needs none
        pack = pack_of(folder, laws())
        rewritten = try_node_tests(only, pack, folder, wrong)
        try_quantized(only, pack, folder, wrong)
    for line in wrong:
        print(f"wrong: {line}", file=sys.stderr)
    return 1 if wrong or not only and rewritten < LEAST_NODE_TESTS else 0


if __name__ == "__main__":
    sys.exit(main())
