#!/usr/bin/env python3
"""pet-apply on models that leave sizes open: rules hold for all of them, what is written has none of them in it, and ONNX
Runtime finds the result equal at several. Exit status 0 or 1.

The rules are the hand-written ones of tests/data.
"""

import shlex
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
    whole = [c for c in report["checks"] if c["where"] == "whole model"]
    expect("open: the whole model at the least sizes and at odd ones", len(whole) == 2, report["checks"])
    by_site = [c["where"] for c in report["checks"] if c["scope"] == "in float"]
    expect("open: each site at both", sorted(by_site) == sorted(2 * ["pet/conv/transposed/a", "pet/conv/transposed/y"]), by_site)
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


def timed(shop, pack, name, samples):
    """A file of timings of a rule."""
    hashes = {r["name"]: r["hash"] for r in apply_models.json.loads(run("pet-rules", "ls", "--json", pack).stdout)}
    expect(f"timed: {name}", name in hashes, hashes)
    timing = {"rule": hashes.get(name, ""), "name": name, "device": "ort-cpu", "engine": "onnxruntime", "version": "1", "isa": "avx2",
              "threads": 1, "spread": 0.02, "date": "2026-11-21"}
    file = shop.folder / "gains.timings.jsonl"
    file.write_text("".join(apply_models.json.dumps(timing | sample) + "\n" for sample in samples))
    return file


def gains(shop):
    """Without --all a rule fires where it is known to gain at all sizes that are expected."""
    model, pack = convs(shop, "batch", 3, 8, 10), shop.pack("conv")
    shapes = {"H": 8, "W": 10, "R": 3, "S": 3, "P": 1, "Q": 1}
    file = timed(shop, pack, "conv/transposed", [{"pattern": a, "replacement": b, "shapes": shapes | channels | {"N": n}}
                                                 for channels in [{"C": 3, "F": 5}, {"C": 5, "F": 2}]
                                                 for n, a, b in [(1, 2e-3, 1e-3), (8, 2e-2, 1e-2), (32, 1e-2, 2e-2)]])
    good = shop.apply(model, pack, "--timings", file, "--expect", "batch=1,8", same=False)
    expect("gains", len(good["fired"]) == 2 and good["sizes"] == [{"batch": 1}, {"batch": 8}], good)
    bad = shop.apply(model, pack, "--timings", file, "--expect", "batch=1,8,32", same=False)
    expect("no gain at one", not bad["fired"] and any("at batch=32" in r["reason"] for r in bad["refusals"]), bad["refusals"])
    named = shlex.split(bad["next"][-1])[1:] if bad["next"] else []
    expect("no gain at one: what would do", "--expect" in named and "2 sites rewritten" in run("pet-apply", *named).stdout, bad["next"])


def misspelt(shop):
    """A size that the model does not have is an error that says which was meant."""
    model, pack = convs(shop, "batch", 3, "height", 10), shop.pack("conv")
    for options, words in [(["--assume", "btach % 2 == 0"], "called 'btach' (did you mean 'batch'? it has batch, height)"),
                           (["--expect", "hieght=8"], "called 'hieght' (did you mean 'height'? it has batch, height)"),
                           (["--bind", "batsh=2"], "of the name batsh (did you mean 'batch'? the names are batch, height)"),
                           (["--bind", "frames=2"], "of the name frames (the names are batch, height)")]:
        said = run("pet-apply", model, pack, *options, code=2).stderr
        expect(f"misspelt {options}", words in said and said.count("\n") == 1, said)


def layouts_gain(shop):
    """A rule that moves activations, which neighbours might spare it, has to gain at all sizes as well."""
    model = shop.model("dilated", [helper.make_node("Conv", ["x", "w"], ["y"], name="y", pads=[2] * 4, dilations=[2, 2])],
                       [tensor("x", "batch", 3, 8, 8)], [tensor("y", "batch", 4, 8, 8)], {"w": floats(4, 3, 3, 3)})
    pack, shapes = shop.pack("phases"), {"C": 3, "F": 4, "H": 8, "W": 8, "R": 3, "S": 3, "P": 2, "Q": 2}
    file = timed(shop, pack, "d2/phases", [{"pattern": a, "replacement": b, "opening": 0.45 * b, "closing": 0.45 * b, "moved": 10_000,
                                            "shapes": shapes | {"N": n}} for n, a, b in [(1, 0.8e-3, 1e-3), (8, 1.5e-2, 1e-2)]])
    bad = shop.apply(model, pack, "--timings", file, "--expect", "batch=1,8", same=False)
    reasons = [r["reason"] for r in bad["refusals"] if r["rule"] == "d2/phases"]
    expect("layouts: loses at one", not bad["fired"] and reasons == ["measured 0.80, no gain, at batch=1"], (bad["fired"], reasons))
    expect("layouts: way out", bad["next"] and bad["next"][0].endswith("--expect batch=8"), bad["next"])
    good = shop.apply(model, pack, "--timings", file, "--expect", "batch=8", same=False)
    expect("layouts: gains at the other", [f["gain"] for f in good["fired"]] == [1.5], good["fired"])


def computed_sizes(shop):
    """Sizes that are computed when the model runs are part of what a rule costs, a quarter of a microsecond each step."""
    model = shop.model("phases", [helper.make_node("Conv", ["x", "w"], ["y"], name="y", pads=[2] * 4, dilations=[2, 2])],
                       [tensor("x", "batch", 3, "height", "width")], [tensor("y", "batch", 4, "height", "width")], {"w": floats(4, 3, 3, 3)})
    pack, shapes = shop.pack("phases"), {"N": 1, "C": 3, "F": 4, "H": 16, "W": 16, "R": 3, "S": 3, "P": 2, "Q": 2}
    sizes = ["--expect", "batch=1", "height=16", "width=16", "--assume", "height % 2 == 0, width % 2 == 0", "--check", "sites"]
    for seconds, fires in [(1e-3, True), (1e-6, False)]:
        file = timed(shop, pack, "d2/phases", [{"pattern": 1.5 * seconds, "replacement": seconds, "shapes": shapes}])
        report = shop.apply(model, pack, "--timings", file, *sizes, same=False)
        steps = sum(n.name.startswith("pet/size/") for n in shop.output.graph.node)
        expect("computed sizes: fires", bool(report["fired"]) == fires == (steps > 3), (seconds, steps, report["refusals"]))
        gain = 1.5 * seconds / (seconds + 0.25e-6 * steps)
        expect("computed sizes: the gain", all(abs(f["gain"] - gain) < 1e-9 for f in report["fired"]), (gain, report["fired"]))


def quotients(shop):
    """Where promises divide extents, Reshapes are given every extent: the model that is written can be read again, and checked."""
    model = shop.model("phases", [helper.make_node("Conv", ["x", "w"], ["y"], name="y", pads=[2] * 4, dilations=[2, 2])],
                       [tensor("x", "batch", 3, "height", "width")], [tensor("y", "batch", 4, "height", "width")], {"w": floats(4, 3, 3, 3)})
    report = shop.apply(model, shop.pack("phases"), "--all", "--assume", "height % 2 == 0, width % 2 == 0", same=False)
    equal("quotients", model, shop.folder / "out.onnx", [(1, 3, 8, 10), (3, 3, 2, 6)])
    expect("quotients: fires", [f["rule"] for f in report["fired"]] == ["d2/phases"], (report["fired"], report["refusals"]))
    open_targets = [t for i in shop.output.graph.initializer if i.name.startswith("pet/") and i.data_type == 7 for t in [onnx.numpy_helper.to_array(i)]
                    if t.ndim == 1 and -1 in t]
    expect("quotients: none is left to be found", not open_targets, open_targets)


def resized(shop, name, operand, sizes_of, before, after, constants, spatial, coordinates="half_pixel"):
    """A model that resizes `operand` to the height and width of `sizes_of`."""
    cut = [helper.make_node("Shape", [sizes_of], ["extents"]), helper.make_node("Slice", ["extents", "two", "four"], ["map"]),
           helper.make_node("Concat", ["front", "map"], ["sizes"], axis=0),
           helper.make_node("Resize", [operand, "", "", "sizes"], ["resized"], name="resized", mode="cubic", coordinate_transformation_mode=coordinates)]
    whole = {"two": np.array([2]), "four": np.array([4]), "front": np.array([1, 6])}
    return shop.model(name, [*before, *cut, *after], [tensor("x", 1, 3, "height", "width")], [tensor("y", 1, 6, *spatial)],
                      {**constants, **whole})


def matrices(shop):
    """Matrices of interpolation to or from extents that the model leaves open are computed in each run: for a constant, as position
    embeddings are, of an identity that is stored, and else of one that is made."""
    only = ["--all", "--only", "resize-cubic/matrix-3_matrix-2"]
    patches = helper.make_node("Conv", ["x", "w"], ["p"], kernel_shape=[4, 4], strides=[4, 4])
    weights = {"w": floats(6, 3, 4, 4)}
    embedded = ([patches], [helper.make_node("Add", ["p", "resized"], ["y"])], {**weights, "places": floats(1, 6, 5, 7)}, ["h", "w"])
    places = resized(shop, "places", "places", "p", *embedded)
    report = shop.apply(places, shop.pack("resize"), *only, same=False)
    expect("matrices for a constant", shop.types.count("MatMul") == 2 and "EyeLike" not in shop.types, (shop.types, report["refusals"]))
    equal("matrices for a constant", places, shop.folder / "out.onnx", [(1, 3, 4, 4), (1, 3, 20, 28), (1, 3, 36, 9)])

    head = resized(shop, "head", "p", "x", [patches], [helper.make_node("Relu", ["resized"], ["y"])], weights, ["height", "width"])
    report = shop.apply(head, shop.pack("resize"), *only, same=False)
    expect("matrices", (shop.types.count("MatMul"), shop.types.count("EyeLike")) == (2, 2), (shop.types, report["refusals"]))
    equal("matrices", head, shop.folder / "out.onnx", [(1, 3, 4, 4), (1, 3, 20, 28), (1, 3, 36, 9)])
    written = shop.folder / "written.onnx"
    written.write_bytes((shop.folder / "out.onnx").read_bytes())
    again = shop.apply(written, shop.pack("resize"), *only, same=False)
    expect("matrices: read again", not again["fired"] and written.read_bytes() == (shop.folder / "out.onnx").read_bytes(), again["fired"])

    # PyTorch's coordinates are others where one position is made, which sizes that are left open can be.
    other = resized(shop, "other", "places", "p", *embedded, coordinates="pytorch_half_pixel")
    report = shop.apply(other, shop.pack("resize"), *only, same=False)
    expect("other coordinates", not report["fired"], report["fired"])
    report = shop.apply(other, shop.pack("resize"), *only, "--assume", "height >= 8, width >= 8", same=False)
    expect("other coordinates of several positions", len(report["fired"]) == 1, report["refusals"])
    equal("other coordinates of several positions", other, shop.folder / "out.onnx", [(1, 3, 8, 8), (1, 3, 20, 28), (1, 3, 36, 9)])


def made_matrices_cost(shop):
    """What is computed in each run costs what the operator that is replaced takes for as many elements."""
    model = resized(shop, "places", "places", "x", [], [helper.make_node("Relu", ["resized"], ["y"])], {"places": floats(1, 6, 5, 7)},
                    ["height", "width"])
    pack, sizes = shop.pack("resize"), ["--expect", "height=10", "width=20", "--check", "sites"]
    shapes = {"N": 1, "C": 6, "H": 5, "W": 7, "U": 10, "V": 20}
    for pattern, fires in [(2.5e-3, True), (1.25e-3, False)]:
        file = timed(shop, pack, "resize-cubic/matrix-3_matrix-2", [{"pattern": pattern, "replacement": 1e-3, "shapes": shapes}])
        report = shop.apply(model, pack, "--timings", file, *sizes, same=False)
        # 5 x 10 and 7 x 20, and the first transposed, beside 6 x 10 x 20
        made, steps = (50 + 50 + 140) / 1200, sum(n.name.startswith("pet/size/") for n in shop.output.graph.node)
        gain = pattern / (1e-3 + made * pattern + 0.25e-6 * steps)
        expect("made matrices: fires", bool(report["fired"]) == fires, (pattern, report["refusals"]))
        expect("made matrices: the gain", all(abs(f["gain"] - gain) < 1e-3 for f in report["fired"]), (gain, report["fired"]))


def expected(shop):
    """What is expected of several sizes is crossed; a range is its ends and the middle. Words without an option go on."""
    model, pack = convs(shop, "batch", 3, "height", 10), shop.pack("conv")
    crossed = [{"batch": b, "height": h} for b in [1, 8] for h in [128, 256, 512]]
    report = shop.apply(model, pack, "--all", "--expect", "batch=1,8", "height=128..512", same=False)
    key = lambda sizes: sorted(sizes.items())
    expect("expected", sorted(report["sizes"], key=key) == sorted(crossed, key=key), report["sizes"])
    same = shop.apply(model, pack, "--all", "--expect=batch=8,1", "--expect", "height=128,256,512", same=False)
    expect("expected, by two options", same["sizes"] == report["sizes"], same["sizes"])
    done = run("pet-apply", "--expect", "batch=1,8", "height=8", model, pack, "--all", "--dry-run")
    expect("expected, before the model", "rewritten" in done.stdout, done.stdout)
    report = shop.apply(model, pack, "--all", "--assume", "height >= 5000", same=False)
    expect("above the usual sizes", [s["height"] for s in report["sizes"]] == [5000, 10000, 20000], report["sizes"])
    report = shop.apply(model, pack, "--all", "--assume", "batch % 2 == 0, batch % 3 == 0", "--expect", "batch=12", same=False)
    expect("two multiples", {s["batch_per_6"] for s in report["sizes"]} == {2}, report["sizes"])


def refused(shop):
    """Mistakes are errors, with what could have been meant."""
    model, pack = convs(shop, "batch", 3, 8, 10), shop.pack("conv")
    for arguments, text in [(["--bind", "bach=8"], "the names are batch"), (["--bind", "batch=0"], "batch=8"), (["--bind", "batch"], "batch=8"),
                            (["--shape", "y=1x3"], "the inputs are x"), (["--shape", "x=1x3"], "4 dimensions, not 2"),
                            (["--shape", "x=1x4x8x10"], "is 3, not 4"), (["--expect", "batch=1..x"], "128..512"),
                            (["--expect", "seq=1"], "it has batch"), (["--assume", "batch ~ 3"], "seq <= 4096"),
                            (["--assume", "length <= 3"], "called 'length'"), (["--expect", "batch=8..1"], "128..512"),
                            (["--expect", "batch=1,2", "seq=1"], "it has batch"),
                            (["--expect", f"batch={','.join(map(str, range(1, 66)))}"], "65 combinations of sizes, more than 64"),
                            (["--assume", "batch >= 300, batch <= 200"], "no size 'batch' is at least 300, at most 200"),
                            (["--assume", "batch % 16 == 0, batch <= 8"], "at least 1, at most 8 and a multiple of 16"),
                            (["--assume", "batch = 3, batch % 2 == 0"], "at least 3, at most 3 and a multiple of 2"),
                            (["--assume", "batch < batch"], "this holds for no sizes"), (["--assume", "3 <= 2"], "this holds for no sizes"),
                            (["--assume", "batch % 4611686018427387904 == 0, batch % 3 == 0"], "beyond 64 bits")]:
        done = run("pet-apply", model, pack, *arguments, code=2)
        expect(f"refused {arguments}", text in done.stderr and done.stderr.count("\n") == 1, done.stderr)


def contradictory(shop):
    """Two sizes that are to be less than each other."""
    model = convs(shop, "batch", 3, "height", "width")
    done = run("pet-apply", model, shop.pack("conv"), "--assume", "height <= width - 1, width <= height", code=2)
    expect("contradictory", "this holds for no sizes" in done.stderr and done.stderr.count("\n") == 1, done.stderr)
    run("pet-apply", model, shop.pack("conv"), "--assume", "height <= width, width <= height", "--dry-run")


def main():
    with tempfile.TemporaryDirectory() as folder:
        shop = Workshop(folder)
        for test in [opened, promised, flattened, gains, layouts_gain, computed_sizes, quotients, matrices, made_matrices_cost,
                     expected, misspelt, refused, contradictory]:
            test(shop)
    print("\n".join(failures) if failures else "models with open sizes: all as expected")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
