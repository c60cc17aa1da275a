#!/usr/bin/env python3
"""pet-apply on models that leave sizes open: rules hold for all of them, what is written has none of them in it, and ONNX
Runtime finds the result equal at several. Exit status 0 or 1.

The rules are the hand-written ones of tests/data.
"""

import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import helper

import apply_models
from apply_models import Workshop, conv, expect, failures, floats, run, tensor


def equal(name, model, output, shapes):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 3
    original, rewritten = (onnxruntime.InferenceSession(str(p), options, providers=["CPUExecutionProvider"]) for p in (model, output))
    for shape in shapes:
        feeds = {original.get_inputs()[0].name: floats(*shape)}
        for a, b in zip(original.run(None, feeds), rewritten.run(None, feeds)):
            off = np.abs(a - b).max() / max(np.abs(a).max(), 1e-30) if a.shape == b.shape else np.inf
            expect(f"{name} at {shape}", off < 1e-5, f"differs by {off}, {b.shape} instead of {a.shape}")


def convs(shop, *shape):
    return shop.model("convs", [conv("x", "v", "a", "b"), helper.make_node("Relu", ["a"], ["r"]), conv("r", "w", "y")],
                      [tensor("x", *shape)], [tensor("y", shape[0], 2, *shape[2:])],
                      {"v": floats(5, 3, 3, 3), "w": floats(2, 5, 3, 3), "b": floats(5)})


def opened(shop):
    """Batch, height and width are open: the rule that asks nothing of them fires, and holds for all."""
    model = convs(shop, "batch", 3, "height", "width")
    report = shop.apply(model, shop.pack("conv"), "--all", same=False)
    expect("open", len(report["fired"]) == 2 and report["fired"][0]["shapes"]["N"] == "batch", report["fired"])
    expect("open: sizes", len(report["sizes"]) == 3 and set(report["sizes"][0]) == {"batch", "height", "width"}, report["sizes"])
    expect("open: checks", all(c["possible"] for c in report["checks"]), report["checks"])
    equal("open", model, shop.folder / "out.onnx", [(1, 3, 8, 9), (3, 3, 1, 5), (2, 3, 17, 4)])
    dims = shop.output.graph.input[0].type.tensor_type.shape.dim
    expect("open: names", [d.dim_param for d in dims] == ["batch", "", "height", "width"], dims)
    once = shop.folder / "once.onnx"
    once.write_bytes((shop.folder / "out.onnx").read_bytes())
    again = shop.apply(once, shop.pack("conv"), "--all", same=False)
    expect("open, a second run", not again["fired"] and once.read_bytes() == (shop.folder / "out.onnx").read_bytes(), again["fired"])


def promised(shop):
    """N = 2M asks for an even batch, which is promised, or given."""
    model = convs(shop, "batch", 3, 8, 10)
    report = shop.apply(model, shop.pack("pair"), "--all", same=False)
    expect("not promised", not report["fired"], report["fired"])
    expect("not promised: why", "N is batch, not 2M" in {r["reason"] for r in report["refusals"]}, report["refusals"])
    group = report["refused"][0]
    expect("not promised: way out", (group["kind"], group["option"], group["count"]) == ("open-sizes", "--assume 'batch % 2 == 0'", 2), group)
    expect("not promised: command", report["next"][0].endswith("--all --assume 'batch % 2 == 0'"), report["next"])
    report = shop.apply(model, shop.pack("pair"), "--all", "--assume", "batch % 2 == 0", same=False)
    expect("promised", len(report["fired"]) == 2, report["fired"])
    said = {e.key: e.value for e in shop.output.metadata_props}
    expect("promised: metadata", said.pop("pet.pack") and said.pop("pet.version") and
           said == {"pet.assume": "batch % 2 == 0", "pet.options": "--all, --assume 'batch % 2 == 0'", "pet.rules": "conv/pair"}, said)
    equal("promised", model, shop.folder / "out.onnx", [(2, 3, 8, 10), (6, 3, 8, 10)])
    expect("promised: layouts", shop.types.count("Transpose") == 2, "the layouts between the two did not cancel")
    report = shop.apply(model, shop.pack("pair"), "--all", "--bind", "batch=4", same=False)
    equal("bound", model, shop.folder / "out.onnx", [(4, 3, 8, 10)])
    expect("bound", len(report["fired"]) == 2 and not report["sizes"], report["fired"])
    for value in [shop.output.graph.input[0], shop.output.graph.output[0]]:
        expect(f"bound: {value.name}", value.type.tensor_type.shape.dim[0].dim_value == 4, value)
    model = convs(shop, None, 3, None, None)
    report = shop.apply(model, shop.pack("pair"), "--all", "--shape", "x=2x3x8x12", same=False)
    expect("shape", len(report["fired"]) == 2, report["fired"])
    equal("shape", model, shop.folder / "out.onnx", [(2, 3, 8, 12)])


def flattened(shop):
    """A classifier's end: a Reshape with -1 behind a Conv."""
    model = shop.model("flat", [conv("x", "w", "a"), helper.make_node("Reshape", ["a", "to"], ["f"]),
                                helper.make_node("MatMul", ["f", "m"], ["y"])],
                       [tensor("x", "n", 3, 4, 4)], [tensor("y", "n", 7)],
                       {"w": floats(2, 3, 3, 3), "to": np.array([-1, 32]), "m": floats(32, 7)})
    report = shop.apply(model, shop.pack("conv"), "--all", same=False)
    expect("flat", len(report["fired"]) == 1, report["fired"])
    expect("flat: the whole model is checked", report["checks"][-1]["possible"], report["checks"])
    equal("flat", model, shop.folder / "out.onnx", [(1, 3, 4, 4), (5, 3, 4, 4)])


def gains(shop):
    """Without --all a rule fires where it is known to gain at all sizes that are expected."""
    model, pack = convs(shop, "batch", 3, 8, 10), shop.pack("conv")
    rules = apply_models.json.loads(run("pet-rules", "ls", "--json", pack).stdout)
    hashes = {r["name"]: r["hash"] for r in rules}
    name = "conv/transposed"
    expect("gains: the rule", name in hashes, hashes)
    timing = {"rule": hashes.get(name, ""), "name": name, "device": "ort-cpu", "engine": "onnxruntime", "version": "1", "isa": "avx2",
              "threads": 1, "spread": 0.02, "date": "2026-11-21"}
    shapes = {"H": 8, "W": 10, "R": 3, "S": 3, "P": 1, "Q": 1}
    file = shop.folder / "gains.timings.jsonl"
    file.write_text("".join(apply_models.json.dumps(timing | {"pattern": a, "replacement": b, "shapes": shapes | channels | {"N": n}}) + "\n"
                            for channels in [{"C": 3, "F": 5}, {"C": 5, "F": 2}]
                            for n, a, b in [(1, 2e-3, 1e-3), (8, 2e-2, 1e-2), (32, 1e-2, 2e-2)]))
    good = shop.apply(model, pack, "--timings", file, "--expect", "batch=1,8", same=False)
    expect("gains", len(good["fired"]) == 2 and good["sizes"] == [{"batch": 1}, {"batch": 8}], good)
    bad = shop.apply(model, pack, "--timings", file, "--expect", "batch=1,8,32", same=False)
    expect("no gain at one", not bad["fired"] and any("at batch=32" in r["reason"] for r in bad["refusals"]), bad["refusals"])


def refused(shop):
    """Mistakes are errors, with what could have been meant."""
    model, pack = convs(shop, "batch", 3, 8, 10), shop.pack("conv")
    for arguments, text in [(["--bind", "bach=8"], "the names are batch"), (["--bind", "batch=0"], "batch=8"), (["--bind", "batch"], "batch=8"),
                            (["--shape", "y=1x3"], "the inputs are x"), (["--shape", "x=1x3"], "4 dimensions, not 2"),
                            (["--shape", "x=1x4x8x10"], "is 3, not 4"), (["--expect", "batch=1..x"], "128..512"),
                            (["--expect", "seq=1"], "it has batch"), (["--assume", "batch ~ 3"], "seq <= 4096"),
                            (["--assume", "length <= 3"], "called 'length'")]:
        done = run("pet-apply", model, pack, *arguments, code=2)
        expect(f"refused {arguments}", text in done.stderr and done.stderr.count("\n") == 1, done.stderr)


def main():
    with tempfile.TemporaryDirectory() as folder:
        shop = Workshop(folder)
        for test in [opened, promised, flattened, gains, refused]:
            test(shop)
    print("\n".join(failures) if failures else "models with open sizes: all as expected")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
