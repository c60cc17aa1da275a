#!/usr/bin/env python3
"""What only moves values, on tensors of integers and truth values: before and after pet-apply --all the same on ONNX Runtime, bit
for bit. Exit status 0 or 1.

The rules are laws of operators that move values, made and proved here. The models are the onnx package's node tests of such
operators, in each type, with the extents, pads and indices that they take as constants; and models of the zoo, quantized by
onnxruntime's tools, with operators on integers and with pairs of QuantizeLinear and DequantizeLinear.

`integers.py NAME` tries the models with NAME in their names. In parts (_part.py), each part has its share of both.
"""

import itertools
import os
import pathlib
import sys
import tempfile

import numpy as np
import onnx
from onnx import numpy_helper

import _part as part
from node_tests import Engine, apply, as_array, node_tests, pack_of
from pack import SOURCE

sys.path.insert(0, str(SOURCE / "tests" / "models"))
import build  # noqa: E402
import zoo  # noqa: E402
from compare import runner  # noqa: E402

TYPES = [np.int8, np.uint8, np.int16, np.int32, np.int64, np.uint64, np.bool_]
MOVES = {"Concat", "DepthToSpace", "Expand", "Flatten", "Gather", "Identity", "Pad", "Reshape", "Slice", "SpaceToDepth", "Split",
         "Squeeze", "Tile", "Transpose", "Unsqueeze", "Where"}
QUANTIZED = ["shufflenet_v2_x1_0-dynamo", "espcn-dynamo", "squeezenet1_1-dynamo"]
LEAST_REWRITTEN = 280  # node tests
LEAST_SITES = {("shufflenet_v2_x1_0-dynamo", "QOperator"): 25}  # on integers; the others move none

# --- Laws ---


def law(name, shape, inputs, pattern, replacement):
    declared = "".join(f"  {n}: [{', '.join(map(str, extents))}]\n" for n, extents in inputs)
    return (f"pattern {name} {{\n  shape {shape}\n{declared}" + "".join(f"  {line}\n" for line in pattern) + "}\n\n"
            f"rule {name}/law of {name} {{\n  class {shape}\n  replacement {{\n" + "".join(f"    {line}\n" for line in replacement) +
            "  }\n}\n\n")


def positive(symbols):
    return f"{' '.join(symbols)} : {', '.join(f'1 <= {s}' for s in symbols)}" if symbols else ""


def padded(pattern, first, rank):
    """`y = …` as a row more, which is left out again."""
    return [pattern.replace("y =", "t =", 1), f"p = Pad(t) pads=[{', '.join(['1'] + (2 * rank - 1) * ['0'])}]",
            f"y = Slice(p) axes=[0] starts=[1] ends=[{first} + 1]"]


def transposes(extents):
    rank = len(extents)
    for perm in itertools.permutations(range(rank)):
        if rank < 5 and perm != tuple(range(rank)) or perm == (0, 2, 1, 3, 4):
            pattern = f"y = Transpose(x) perm={list(perm)}"
            yield law(f"transpose-{'-'.join(map(str, perm))}", positive(extents), [("x", extents)], [pattern],
                      padded(pattern, extents[perm[0]], rank))


def groupings(extents):
    """Merges of neighbouring dimensions, the operand turned around first; and what undoes them."""
    rank = len(extents)
    names = [e.lower() for e in extents]
    back = f"a = Transpose(x) perm={list(reversed(range(rank)))}"
    for cuts in itertools.product([False, True], repeat=rank - 1):
        groups = [[names[0]]]
        for name, cut in zip(names[1:], cuts):
            groups.append([name]) if cut else groups[-1].append(name)
        if len(groups) == rank:
            continue
        right = " ".join(g[0] if len(g) == 1 else f"({' '.join(g)})" for g in groups)
        yield law(f"merge-{rank}-{''.join('01'[c] for c in cuts)}", positive(extents), [("x", extents)],
                  [f"y = Layout(x) {' '.join(names)} -> {right}"], [back, f"y = Layout(a) {' '.join(reversed(names))} -> {right}"])
    for at in range(rank + 1):
        right = " ".join(names[:at] + ["1"] + names[at:])
        yield law(f"unsqueeze-{rank}-{at}", positive(extents), [("x", extents)],
                  [f"y = Layout(x) {' '.join(names)} -> {right}"], [back, f"y = Layout(a) {' '.join(reversed(names))} -> {right}"])


def parts(extents):
    rank = len(extents)
    for axis, extent in enumerate(extents):
        other = [*extents[:axis], "Z", *extents[axis + 1:]]
        yield law(f"concat-{rank}-{axis}", positive([*extents, "Z"]), [("x", extents), ("z", other)],
                  [f"y = Concat(x, z) axis={axis}"],
                  [f"c = Concat(z, x) axis={axis}", f"p = Slice(c) axes=[{axis}] starts=[Z] ends=[Z + {extent}]",
                   f"q = Slice(c) axes=[{axis}] starts=[0] ends=[Z]", f"y = Concat(p, q) axis={axis}"])
        rest = [e for e in extents if e != extent]
        yield law(f"slice-{rank}-{axis}", f"{' '.join(extents)} S E : {', '.join(f'1 <= {s}' for s in rest + ['E - S'])}, 0 <= S, E <= {extent}",
                  [("x", extents)], [f"y = Slice(x) axes=[{axis}] starts=[S] ends=[E] steps=[1]"],
                  [f"p = Slice(x) axes=[{axis}] starts=[S] ends=[{extent}]", f"y = Slice(p) axes=[{axis}] starts=[0] ends=[E - S]"])
        whole = [*extents[:axis], "Y + Z", *extents[axis + 1:]]
        yield law(f"split-{rank}-{axis}", positive(["Y", "Z", *rest]), [("x", whole)],
                  [f"y, z = Split(x) axis={axis} split=[Y, Z]", "return y, z"],
                  [f"y = Slice(x) axes=[{axis}] starts=[0] ends=[Y]", f"z = Slice(x) axes=[{axis}] starts=[Y] ends=[Y + Z]", "return y, z"])


def others():
    pads = [f"P{i}" for i in range(8)]
    zeros = ["0"] * 4
    for value in (0, 1):
        yield law(f"pad-{value}", f"N C H W {' '.join(pads)} : {', '.join(f'1 <= {s}' for s in 'NCHW')}, {', '.join(f'0 <= {p}' for p in pads)}",
                  [("x", "NCHW")], [f"y = Pad(x) pads=[{', '.join(pads)}] value={value}"],
                  [f"p = Pad(x) pads=[{', '.join(pads[:4] + zeros)}] value={value}", f"y = Pad(p) pads=[{', '.join(zeros + pads[4:])}] value={value}"])
    for size in (2, 3):
        for mode, order in (("DCR", "(p q c)"), ("CRD", "(c p q)")):
            yield law(f"depth-to-space-{size}-{mode}", positive("NCHW"), [("x", ["N", f"{size * size}C", "H", "W"])],
                      [f"y = DepthToSpace(x) blocksize={size} mode={mode}"],
                      [f"y = Layout(x) n {order.replace('p', str(size)).replace('q', str(size))} h w -> n c (h {size}) (w {size})"])
    for pattern, first, extents in [("y = Tile(x) repeats=[2, 2]", "2A", ["A", "B"]), ("y = Expand(x) shape=[3, 4]", "3", [3, 1])]:
        yield law(pattern[4:8].lower(), positive([e for e in extents if isinstance(e, str)]), [("x", extents)], [pattern],
                  padded(pattern, first, 2))
    for axis in (0, 1):
        pattern = f"y = Gather(x) axis={axis} indices=[0, 1, 3]"
        extents = ["A", "B", "C", "D"]
        yield law(f"gather-{axis}", f"A B C D : 1 <= A, 1 <= B, 1 <= C, 1 <= D, 4 <= {extents[axis]}", [("x", extents)], [pattern],
                  padded(pattern, "3" if axis == 0 else "A", 4))


def laws():
    symbols = ["A", "B", "C", "D", "F"]
    for rank in range(1, 6):
        extents = symbols[:rank]
        yield from transposes(extents)
        if rank < 5:
            yield from groupings(extents)
            yield from parts(extents)
    yield law("halves", positive("NCHW"), [("x", ["N", "2C", "H", "W"])], ["y = Layout(x) n (2 c) h w -> n 2 c h w"],
              ["a = Layout(x) n (2 c) h w -> c h w n 2", "y = Layout(a) c h w n 2 -> n 2 c h w"])
    yield law("joined", positive("NACHW"), [("x", list("NACHW"))], ["y = Layout(x) n a c h w -> n (a c) h w"],
              ["b = Layout(x) n a c h w -> c h w n a", "y = Layout(b) c h w n a -> n (a c) h w"])
    yield from others()


# --- Models ---


def retyped(case, dtype):
    """A node test in another type, with its integer operands as constants, and what is left to give; None: it has no floats."""
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    values = {i.name: as_array(v) for i, v in zip(model.graph.input, case.data_sets[0][0])}
    if any(not isinstance(v, np.ndarray) for v in values.values()) or all(v.dtype != np.float32 for v in values.values()):
        return None
    element = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    given = {}
    for i in list(model.graph.input):
        value = values[i.name]
        if value.dtype == np.float32 and value.ndim > 0:
            given[i.name] = (value * 50).astype(dtype)
            i.type.tensor_type.elem_type = element
            continue
        value = value.astype(dtype) if value.dtype == np.float32 else value
        model.graph.initializer.append(numpy_helper.from_array(value, i.name))
        model.graph.input.remove(i)
    for o in model.graph.output:
        o.type.tensor_type.elem_type = element
    return (model, given) if given else None


def quantize(name, form, folder):
    """A model of the zoo with operators on integers ("QOperator"), or with pairs around those on floats ("QDQ")."""
    from onnxruntime import quantization as q

    class Samples(q.CalibrationDataReader):
        def __init__(self):
            self.left = [zoo.MODELS[name].arrays(zoo.MODELS[name].tries[0], seed=0)]

        def get_next(self):
            return self.left.pop() if self.left else None

    path, prepared = folder / "quantized.onnx", folder / "prepared.onnx"
    q.shape_inference.quant_pre_process(str(build.build(name, folder)), str(prepared), skip_symbolic_shape=True)
    q.quantize_static(str(prepared), str(path), Samples(), quant_format=q.QuantFormat[form], activation_type=q.QuantType.QUInt8,
                      weight_type=q.QuantType.QInt8)
    return onnx.load(path), zoo.MODELS[name].arrays(zoo.MODELS[name].tries[0])


def on_integers(model):
    """The nodes that move integers."""
    integers, nodes = set(), set()
    for node in model.graph.node:
        if node.op_type in MOVES and node.input[0] in integers:
            nodes.add(node.name or node.output[0])
            integers.update(node.output)
        elif node.op_type == "QuantizeLinear" or node.op_type.startswith("QLinear"):
            integers.update(node.output)
    return nodes


# --- Comparison ---


def exactly_equal(expected, found):
    return len(expected) == len(found) and all(
        (a.dtype, a.shape) == (b.dtype, b.shape) and np.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in zip(expected, found))


def compare(model, inputs, pack, folder, run):
    """What is wrong with a model, empty if nothing is, None where the engine does not run it; and the report."""
    original, rewritten = folder / "original.onnx", folder / "rewritten.onnx"
    onnx.save(model, original)
    report = apply(original, pack, rewritten, [])
    if isinstance(report, str):
        return report, {}
    expected = run(original, inputs)
    if isinstance(expected, str):
        return None, report
    onnx.checker.check_model(str(rewritten))
    found = run(rewritten, inputs)
    if isinstance(found, str):
        return f"by {sorted({f['rule'] for f in report['fired']})}: {found}", report
    return "" if exactly_equal(expected, found) else f"by {sorted({f['rule'] for f in report['fired']})}: other values", report


def unoptimised(path, inputs):
    return list(runner.run(runner.open_session(str(path), optimise=False), inputs, str(path)).values())


def try_node_tests(only, pack, folder, wrong):
    engine, rewritten, run, missing = Engine(), 0, 0, set()
    cases = {c.name: c for c in node_tests() if only in c.name and {n.op_type for n in c.model.graph.node} <= MOVES}
    for name, dtype in part.mine(itertools.product(cases, [np.dtype(t).name for t in TYPES])):
        case = cases[name]
        form = retyped(case, np.dtype(dtype))
        if not form:
            continue
        said, report = compare(*form, pack, folder, engine.run)
        run += said is not None
        rewritten += bool(report.get("fired")) and said is not None
        wrong += [f"{case.name} of {dtype}: {said}"] if said else []
        if said == "" and not report["fired"]:
            missing.add(case.name)
    engine.close()
    print(f"node tests: {run} run by ONNX Runtime, {rewritten} rewritten; no rule for {', '.join(sorted(missing)) or 'none'}")
    return rewritten


def try_quantized(only, pack, folder, wrong):
    for name, form in part.mine(itertools.product(QUANTIZED, ["QOperator", "QDQ"])):
        if only not in name:
            continue
        model, inputs = quantize(name, form, folder)
        said, report = compare(model, inputs, pack, folder, unoptimised)
        wrong += [f"{name} {form}: {said}"] if said else []
        integers = on_integers(model)
        here = sum(f["site"] in integers for f in report.get("fired", []))
        wrong += [f"{name} {form}: too few sites"] if here < LEAST_SITES.get((name, form), 0) else []
        print(f"{name} {form}: {len(report.get('fired', []))} sites, {here} of {len(integers)} nodes that move integers")


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
    least = LEAST_REWRITTEN / part.numbers()[1]  # the parts are alike, nearly
    return 1 if wrong or not only and rewritten < 0.8 * least else 0


if __name__ == "__main__":
    sys.exit(main())
