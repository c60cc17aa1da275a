#!/usr/bin/env python3
"""Winograd and attention in blocks, applied to models: ONNX Runtime finds what pet-apply writes equal. Exit status 0 or 1."""

import json
import os
import pathlib
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from pack import SOURCE, made, tool

sys.path.insert(0, str(SOURCE / "tests" / "models"))
import compare  # noqa: E402

failures = []


def expect(name, condition, detail=""):
    if not condition:
        failures.append(f"{name}: {detail}" if detail else name)


def floats(*shape, scale=1.0):
    return (np.random.default_rng(sum(shape)).uniform(-1, 1, shape) * scale).astype(np.float32)


def tensor(name, shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


class Shop:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)

    def model(self, name, nodes, inputs, outputs, constants):
        graph = helper.make_graph(nodes, name, [tensor(*i) for i in inputs.items()], [tensor(*o) for o in outputs.items()],
                                  [numpy_helper.from_array(v, k) for k, v in constants.items()])
        path = self.folder / f"{name}.onnx"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
        return path

    def apply(self, model, rule, code=0, *more):
        """The report, and the types of the nodes of the rewritten model."""
        output, report = self.folder / "out.onnx", self.folder / "report.json"
        done = tool("pet-apply", model, made(), "-o", output, "--json", report, "--verbose", "--all", "--only", rule, *more)
        expect(f"{model.name} {rule}", done.returncode == code, f"exit code {done.returncode}: {done.stdout}{done.stderr}")
        return (json.loads(report.read_text()), [n.op_type for n in onnx.load(output).graph.node]) if done.returncode == 0 else None

    def same(self, model, rule, bound, *more):
        """Applied once, ONNX Runtime's results differ by less than the bound; all checks were possible."""
        applied = self.apply(model, rule, 0, *more)
        if not applied:
            return [], []
        report, types = applied
        expect(f"{model.name} {rule}", [f["rule"] for f in report["fired"]] == [rule], report["refusals"][:3])
        found = compare.compare(model, self.folder / "out.onnx")
        expect(f"{model.name} {rule}", found.relative < bound, f"differs by {found.relative}")
        return report, types


# ---- Winograd

def conv(shop, name, x, w, **attributes):
    y = [x[0], w[0], *x[2:]]
    return shop.model(name, [helper.make_node("Conv", ["x", "w"], ["y"], name="y", **attributes)], {"x": x}, {"y": y},
                      {"w": floats(*w, scale=1 / np.sqrt(np.prod(w[1:])))})


def winograd(shop):
    """Sizes that are no multiples of a tile; every size of tile; dilated; over frames; along rows only."""
    plain = conv(shop, "plain", [2, 5, 13, 18], [6, 5, 3, 3], pads=[1] * 4)
    for size in ["2-3", "4-3", "6-3"]:
        report, types = shop.same(plain, f"conv/winograd-{size}", 1e-4)
        expect(size, types.count("MatMul") == 2 and types.count("Conv") == 1, types)
        expect(size, report and all(c["possible"] for c in report["checks"]), report)
    shop.same(conv(shop, "fives", [1, 4, 9, 11], [3, 4, 5, 5], pads=[2] * 4), "conv/winograd-4-5", 1e-4)
    shop.same(conv(shop, "dilated", [2, 4, 11, 14], [5, 4, 3, 3], pads=[2] * 4, dilations=[2, 2]), "conv-d2/winograd-4-3", 1e-4)
    shop.same(conv(shop, "frames", [2, 3, 4, 9, 10], [5, 3, 3, 3, 3], pads=[1] * 6), "conv3d/winograd-4-3", 1e-4)
    shop.same(conv(shop, "row", [2, 3, 19], [5, 3, 3], pads=[1] * 2), "conv1d/winograd-2-3", 1e-4)


def rounding(shop):
    """Rules fire where their error is within the limit, and the check holds them to it."""
    model = conv(shop, "rounding", [1, 64, 12, 12], [8, 64, 3, 3], pads=[1] * 4)
    shop.same(model, "conv/winograd-4-3", 1e-4)
    report, _ = shop.apply(model, "conv/winograd-6-3", 0, "--max-rel-error", "9e-5")
    reasons = [r["reason"] for r in report["refusals"] if r["rule"]]
    expect("rounding", not report["fired"] and reasons == ["its relative error may reach 9.3e-05 (--max-rel-error)"], report)
    # The difference of two equal convolutions is 0, and what one of them rounds otherwise is all that is left of it.
    weights = floats(8, 64, 3, 3)
    nodes = [helper.make_node("Conv", ["x", w], [y], name=y, pads=[1] * 4) for w, y in (("v", "a"), ("w", "b"))]
    model = shop.model("cancelling", [*nodes, helper.make_node("Sub", ["a", "b"], ["y"])], {"x": [1, 64, 12, 12]}, {"y": [1, 8, 12, 12]},
                       {"v": weights, "w": weights})
    report, _ = shop.apply(model, "conv/winograd-4-3", 0, "--site", "a")
    reasons = [r["reason"] for r in report["refusals"] if r["rule"]]
    expect("a model that rounding ruins", not report["fired"] and len(reasons) == 1 and reasons[0].startswith(
        "with such rules the rewritten model differs: y:0: off by"), report)
    written = onnx.load(shop.folder / "out.onnx")
    expect("a model that rounding ruins is not written", [n.name for n in written.graph.node] == [n.name for n in onnx.load(model).graph.node], written)


# ---- attention

def attention(shop, name, length, lower, upper, *, mask_rank=4, form="Add", outside=-np.inf):
    b, h, d = 2, 3, 8
    distance = np.arange(length)[None, :] - np.arange(length)[:, None]
    inside = (-lower <= distance) & (distance <= upper)
    shape = [1] * (mask_rank - 2) + [length, length]
    nodes = [helper.make_node("MatMul", ["q", "k"], ["p"], name="scores")]
    constants = {"c": np.array(np.sqrt(d) if form == "Add" else 1 / np.sqrt(d), np.float32)}
    if form == "Add":
        constants["mask"] = np.where(inside, 0, outside).astype(np.float32).reshape(shape)
        nodes += [helper.make_node("Div", ["p", "c"], ["s"]), helper.make_node("Add", ["s", "mask"], ["t"])]
    else:
        constants |= {"mask": inside.reshape(shape), "low": np.array(outside, np.float32)}
        nodes += [helper.make_node("Mul", ["p", "c"], ["s"]), helper.make_node("Where", ["mask", "s", "low"], ["t"])]
    nodes += [helper.make_node("Softmax", ["t"], ["a"], axis=-1), helper.make_node("MatMul", ["a", "v"], ["y"], name="y")]
    return shop.model(name, nodes, {"q": [b, h, length, d], "k": [b, h, d, length], "v": [b, h, length, d]},
                      {"y": [b, h, length, d]}, constants)


def windows(shop):
    """Masks of initializers: the width comes from their values; lengths that are no multiple of a block, also shorter ones."""
    for length, lower, upper in [(64, 3, 5), (50, 16, 16), (49, 0, 7), (17, 2, 2), (9, 2, 2), (1, 0, 0)]:
        model = attention(shop, f"window-{length}-{lower}-{upper}", length, lower, upper)
        report, _ = shop.same(model, "attention-banded-heads/blocks-16", 1e-5)
        shapes = report["fired"][0]["shapes"] if report and report["fired"] else {}
        wanted = {"S": length, "L": min(lower, length - 1), "U": min(upper, length - 1)}
        expect(model.name, wanted.items() <= shapes.items(), shapes)
    causal = attention(shop, "causal", 50, 10, 0, mask_rank=2)
    shop.same(causal, "attention-banded-heads/blocks-16-below", 1e-5)
    shop.same(attention(shop, "where", 40, 4, 4, form="Where"), "attention-banded-where/blocks-32", 1e-5)


def refused(shop):
    """Wider than a block, a finite mask, a mask with a hole, one that is not below the diagonal."""
    for name, rule, model in [
            ("wide", "blocks-16", attention(shop, "wide", 50, 17, 2)),
            ("finite", "blocks-16", attention(shop, "finite", 50, 3, 3, outside=-1e4)),
            ("above", "blocks-16-below", attention(shop, "above", 50, 3, 1))]:
        applied = shop.apply(model, f"attention-banded-heads/{rule}")
        expect(name, applied and not applied[0]["fired"], applied)
    model = attention(shop, "hole", 50, 3, 3)
    damaged = onnx.load(model)
    mask = next(i for i in damaged.graph.initializer if i.name == "mask")
    values = numpy_helper.to_array(mask).copy()
    values[0, 0, 20, 21] = -np.inf
    mask.CopyFrom(numpy_helper.from_array(values, "mask"))
    onnx.save(damaged, model)
    applied = shop.apply(model, "attention-banded-heads/blocks-16")
    expect("hole", applied and not applied[0]["fired"], applied)
    expect("hole", applied and any("other values" in r["reason"] for r in applied[0]["refusals"]), applied)


def main():
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        for test in [winograd, rounding, windows, refused]:
            test(Shop(folder))
    print("\n".join(failures) or "all equal")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
