#!/usr/bin/env python3
"""pet-apply on models: what it writes passes onnx.checker, and ONNX Runtime finds it equal. Exit status 0 or 1.

The rules are the hand-written ones of tests/data.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SOURCE = pathlib.Path(os.environ.get("PET_SOURCE", pathlib.Path(__file__).parents[2]))
BIN = pathlib.Path(os.environ.get("PET_BIN", SOURCE / "build" / "bin"))
sys.path.insert(0, str(SOURCE / "tests" / "models"))
import build  # noqa: E402
import compare  # noqa: E402

os.environ["PET_MACHINE"] = "avx2"  # that of the timings below
failures = []


def expect(name, condition, detail=""):
    if not condition:
        failures.append(f"{name}: {detail}" if detail else name)


def run(tool, *arguments, code=0, **environment):
    done = subprocess.run([str(BIN / tool), *map(str, arguments)], capture_output=True, text=True, timeout=280,
                          env={**os.environ, "PET_SHARE": str(SOURCE / "tests" / "data"), **environment})
    expect(f"{tool} {' '.join(map(str, arguments))}", done.returncode == code,
           f"exit code {done.returncode} instead of {code}: {done.stdout} {done.stderr}")
    return done


class Workshop:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.packs = {}

    def pack(self, *names):
        if names not in self.packs:
            path = self.folder / ("-".join(names) + ".db")
            run("pet-rules", "import", *(SOURCE / "tests" / "data" / f"{n}.pet" for n in names), "-o", path)
            self.packs[names] = path
        return self.packs[names]

    def model(self, name, nodes, inputs, outputs, constants, opset=17, ir_version=8, **more):
        graph = helper.make_graph(nodes, name, inputs, outputs, [numpy_helper.from_array(v, k) for k, v in constants.items()], **more)
        opsets = [helper.make_opsetid("", opset), helper.make_opsetid("somebody", 1)]
        path = self.folder / f"{name}.onnx"
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=ir_version), path)
        return path

    def apply(self, model, pack, *arguments, same=True):
        """The report; the rewritten model is equal to the original."""
        output, report = self.folder / "out.onnx", self.folder / "report.json"
        output.unlink(missing_ok=True)
        self.table = run("pet-apply", model, pack, "-o", output, "--verbose", "--json", report, *arguments).stdout
        if same:
            found = compare.compare(model, output)
            expect(f"{model.name} {arguments}", found.relative < 1e-5, f"differs by {found.relative}")
        self.output = onnx.load(output)
        self.types = [n.op_type for n in self.output.graph.node]
        return json.loads(report.read_text())


def floats(*shape):
    return np.random.default_rng(sum(shape)).uniform(-1, 1, shape).astype(np.float32)


def tensor(name, *shape, element=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, element, shape)


def conv(x, w, y, *more, pad=1, name=None):
    return helper.make_node("Conv", [x, w, *more], [y], name=name or y, pads=[pad] * 4)


# ---- what is written

def srcnn(shop):
    """Every Conv of a whole SRCNN as a ConvTranspose, the biases where they were."""
    model = build.build("srcnn", shop.folder)
    report = shop.apply(model, shop.pack("conv"), "--all")
    expect("srcnn", shop.types == ["ConvTranspose", "Relu", "ConvTranspose", "Relu", "ConvTranspose"], shop.types)
    expect("srcnn names", [f["site"] for f in report["fired"]] == ["conv1", "conv2", "conv3"], report["fired"])
    expect("srcnn biases", {i.name for i in shop.output.graph.initializer} >= {"conv1.bias", "conv2.bias", "conv3.bias"})
    expect("srcnn weights", not any(i.name == "conv1.weight" for i in shop.output.graph.initializer), "the old kernels stayed")
    expect("srcnn checks", all(c["possible"] for c in report["checks"]), report["checks"])


def pairs(shop):
    """Images side by side, with boxes, on two neighbours of a small model: the layouts between them cancel."""
    model = shop.model("pairs", [conv("x", "v", "a", "b"), helper.make_node("Relu", ["a"], ["r"]), conv("r", "w", "y")],
                       [tensor("x", 4, 3, 8, 10)], [tensor("y", 4, 2, 8, 10)],
                       {"v": floats(5, 3, 3, 3), "w": floats(2, 5, 3, 3), "b": floats(5)})
    report = shop.apply(model, shop.pack("pair"), "--all")
    expect("pairs", len(report["fired"]) == 2, report["fired"])
    expect("pairs layouts", shop.types.count("Transpose") == 2, shop.types)
    expect("pairs functions", "Conv Relu" in " ".join(shop.types), "the Relu is not behind a Conv")
    for site in ["a", "y"]:
        report = shop.apply(model, shop.pack("pair"), "--all", "--site", site)
        expect(f"pairs, {site} alone", [f["site"] for f in report["fired"]] == [site], report["fired"])


def resnet(shop):
    """A real exporter's file (opset 20)."""
    model = build.build("resnet18", shop.folder)
    report = shop.apply(model, shop.pack("conv", "pair"), "--all", "--site", "*_30?,*_32?")
    expect("resnet", len(report["fired"]) >= 4, report["fired"])


def merged(shop):
    """Branches of one input as one Conv and a Split: pairs of three, in two rounds, and the biases with them."""
    model = build.build("inception", shop.folder)
    pack = shop.pack("biased", "branches")
    report = shop.apply(model, pack, "--all")
    expect("merged --all", [f["site"] for f in report["fired"]] == ["1x1"] and shop.types.count("Split") == 1, report["fired"])
    hashes = {r["name"]: r["hash"] for r in json.loads(run("pet-rules", "ls", "--json", pack).stdout)}
    name = "convs-with-biases/merged"
    timing = {"rule": hashes[name], "name": name, "device": "ort-cpu", "engine": "onnxruntime", "version": "1", "isa": "avx2",
              "threads": 1, "pattern": 2e-3, "replacement": 1e-3, "spread": 0.02, "date": "2026-11-21"}
    shapes = {"N": 1, "C": 192, "H": 28, "W": 28, "R": 1, "S": 1, "P": 0, "Q": 0}
    file = shop.folder / "merged.timings.jsonl"
    file.write_text("".join(json.dumps(timing | {"shapes": shapes | more}) + "\n" for more in
                            [{"F": 64, "G": 96}, {"F": 64, "G": 16}, {"F": 80, "G": 96}, {"F": 160, "G": 16}]))
    report = shop.apply(model, pack, "--timings", file)
    expect("merged", [f["rule"] for f in report["fired"]] == [name] * 2, report["fired"])
    expect("merged: operators", (shop.types.count("Conv"), shop.types.count("Split"), shop.types.count("Add")) == (4, 1, 0), shop.types)
    expect("merged: checks", all(c["possible"] for c in report["checks"]), report["checks"])
    once = shop.folder / "once.onnx"
    once.write_bytes((shop.folder / "out.onnx").read_bytes())
    report = shop.apply(once, pack, "--timings", file)
    expect("merged, a second run", not report["fired"] and once.read_bytes() == (shop.folder / "out.onnx").read_bytes(), report["fired"])


def dilated(shop):
    model = shop.model("dilated", [helper.make_node("Conv", ["x", "w"], ["y"], name="y", dilations=[2, 2], pads=[2, 2, 2, 2])],
                       [tensor("x", 1, 3, 8, 12)], [tensor("y", 1, 4, 8, 12)], {"w": floats(4, 3, 3, 3)})
    shop.apply(model, shop.pack("phases"), "--all")
    expect("dilated", shop.types == ["Reshape", "Transpose", "Reshape", "Conv", "Reshape", "Transpose", "Reshape"], shop.types)


# ---- what is left alone

def guards(shop):
    """Around the site: an operator of somebody else, a subgraph that reads an inner value, dead nodes, doc strings."""
    inside = helper.make_graph([helper.make_node("Neg", ["a"], ["inner"])], "then", [], [tensor("inner", 1, 2, 6, 6)])
    other = helper.make_graph([helper.make_node("Identity", ["x"], ["outer"])], "else", [], [tensor("outer", 1, 2, 6, 6)])
    nodes = [conv("x", "w", "a"), helper.make_node("Relu", ["a"], ["r"], name="relu", doc_string="kept"),
             helper.make_node("If", ["flag"], ["c"], name="if", then_branch=inside, else_branch=other),
             helper.make_node("Add", ["c", "r"], ["y"], name="add"), helper.make_node("Exp", ["r"], ["unused"], name="dead")]
    model = shop.model("guards", nodes, [tensor("x", 1, 2, 6, 6), tensor("flag", element=TensorProto.BOOL)], [tensor("y", 1, 2, 6, 6)],
                       {"w": floats(2, 2, 3, 3)}, doc_string="a graph")
    report = shop.apply(model, shop.pack("conv"), "--all")
    expect("guards", shop.types == ["ConvTranspose", "Relu", "If", "Add", "Exp"], shop.types)
    expect("guards: names", [o for n in shop.output.graph.node for o in n.output] == ["a", "r", "c", "y", "unused"])
    expect("guards: verbatim", shop.output.graph.doc_string == "a graph" and shop.output.graph.node[1].doc_string == "kept")
    expect("guards: checked around the If", report["checks"][-1]["possible"], report["checks"][-1])


def row_guards(shop):
    """Where(IsNaN(p), 0, p) goes where every row has a key, although no rule fires; it stays where somebody says so."""
    nodes = [helper.make_node("Add", ["s", "m"], ["t"]), helper.make_node("Softmax", ["t"], ["p"], axis=-1),
             helper.make_node("IsNaN", ["p"], ["n"]), helper.make_node("Where", ["n", "zero", "p"], ["g"], name="guard"),
             helper.make_node("MatMul", ["g", "v"], ["y"])]
    masks = {"rows": [[0, -np.inf, -np.inf], [0, 0, -np.inf], [0, 0, 0]], "hidden": [[-np.inf] * 3, [0, 0, 0], [0, 0, 0]]}
    for name, mask in masks.items():
        model = shop.model(name, nodes, [tensor("s", 2, 3, 3), tensor("v", 2, 3, 4)], [tensor("y", 2, 3, 4)],
                           {"m": np.float32(mask), "zero": np.float32(0)})
        report = shop.apply(model, shop.pack("conv"))
        needless = name == "rows"
        expect(f"row guards: {name}", ("Where" not in shop.types) == ("IsNaN" not in shop.types) == needless, shop.types)
        expect(f"row guards: {name}: told", report["left_out"] == ["guard"] * needless and not report["fired"], report["left_out"])
        expect(f"row guards: {name}: checked", [c["possible"] for c in report["checks"]] == [True] * needless, report["checks"])
        expect(f"row guards: {name}: constants", len(shop.output.graph.initializer) == 2 - needless)
        expect(f"row guards: {name}: summary", ("1 needless guard left out" in shop.table) == needless == ("a copy" not in shop.table), shop.table)
        for option in (["--skip", "row-guards"], ["--site", "guard"]):
            report = shop.apply(model, shop.pack("conv"), *option)
            expect(f"row guards: {name} {option}", "Where" in shop.types and not report["left_out"], shop.types)


def shared(shop):
    """One kernel for two convolutions stays one; a third use that is not rewritten keeps the old one."""
    nodes = [conv("x", "w", "a"), conv("a", "w", "b"), helper.make_node("Conv", ["b", "w"], ["y"], name="y", strides=[2, 2])]
    model = shop.model("shared", nodes, [tensor("x", 1, 3, 9, 9)], [tensor("y", 1, 3, 4, 4)], {"w": floats(3, 3, 3, 3)})
    report = shop.apply(model, shop.pack("conv"), "--all")
    expect("shared", shop.types == ["ConvTranspose", "ConvTranspose", "Conv"], shop.types)
    expect("shared: kernels", len(shop.output.graph.initializer) == 2, [i.name for i in shop.output.graph.initializer])
    expect("shared: growth", report["constant_bytes"][1] - report["constant_bytes"][0] == 81 * 4, report["constant_bytes"])


def frozen(shop):
    """Initializers that are graph inputs too are constants only if the user says so; an old IR version wants all of them there."""
    for ir_version, opset in [(3, 8), (8, 17)]:
        model = shop.model("frozen", [conv("x", "w", "y")], [tensor("x", 1, 2, 6, 6), tensor("w", 3, 2, 3, 3)],
                           [tensor("y", 1, 3, 6, 6)], {"w": floats(3, 2, 3, 3)}, opset=opset, ir_version=ir_version)
        report = shop.apply(model, shop.pack("conv"), "--all")
        expect("not frozen", not report["fired"] and report["refusals"][0]["reason"] == "w is not a constant: a caller may replace it", report)
        expect("not frozen: hint", "--freeze-inputs" in shop.table, shop.table)
        report = shop.apply(model, shop.pack("conv"), "--all", "--freeze-inputs")
        expect("frozen", len(report["fired"]) == 1 and shop.types == ["ConvTranspose"], report)
    model = shop.model("frozen-computed", [helper.make_node("Transpose", ["w"], ["v"], perm=[1, 0, 2, 3]), conv("x", "v", "y")],
                       [tensor("x", 1, 2, 6, 6), tensor("w", 2, 3, 3, 3)], [tensor("y", 1, 3, 6, 6)], {"w": floats(2, 3, 3, 3)})
    report = shop.apply(model, shop.pack("conv"), "--all")
    expect("computed from what may be replaced", not report["fired"] and report["refusals"][0]["kind"] == "replaceable", report)


def doubles(shop):
    model = shop.model("doubles", [conv("x", "w", "y")], [tensor("x", 1, 2, 6, 6, element=TensorProto.DOUBLE)],
                       [tensor("y", 1, 3, 6, 6, element=TensorProto.DOUBLE)], {"w": floats(3, 2, 3, 3).astype(np.float64)})
    shop.apply(model, shop.pack("conv"), "--all", same=False)  # ONNX Runtime has no ConvTranspose of doubles
    expect("doubles", [i.data_type for i in shop.output.graph.initializer] == [TensorProto.DOUBLE], "the kernel is not of double")
    onnx.checker.check_model(shop.output, full_check=True)


def behind(shop):
    """Rules fire behind operators that pet does not know, where their extents follow from the operands."""
    sizes = [helper.make_node("Shape", ["a"], ["size"]), helper.make_node("ConstantOfShape", ["size"], ["zero"])]
    nodes = [conv("x", "v", "a"), *sizes, helper.make_node("Pow", ["a", "two"], ["p"]),
             helper.make_node("Where", ["mask", "p", "zero"], ["q"]), conv("q", "w", "y")]
    mask = np.arange(8 * 10).reshape(1, 1, 8, 10) % 3 > 0
    model = shop.model("behind", nodes, [tensor("x", 2, 3, 8, 10)], [tensor("y", 2, 2, 8, 10)],
                       {"v": floats(5, 3, 3, 3), "w": floats(2, 5, 3, 3), "two": np.float32(2), "mask": mask})
    report = shop.apply(model, shop.pack("conv"), "--all")
    expect("behind", sorted(f["site"] for f in report["fired"]) == ["a", "y"], report["fired"])
    values = json.loads(run("pet-apply", model, "--types").stdout)["values"]
    expect("types", values["q"]["extents"] == [2, 5, 8, 10] and values["size"]["entries"] == [2, 5, 8, 10], values)


# ---- what is chosen

def timings(shop, pack, place="between", milliseconds=1, isa="avx2", **ratio):
    """A timings file that says how much each rule gains at the shapes of `pairs`, also of pairs of images side by side; their replacements
    take so many milliseconds. On a machine of its ISA, the samples are of that machine."""
    path = shop.folder / "ort-cpu.timings.jsonl"
    rules = {r["name"]: r["hash"] for r in json.loads(run("pet-rules", "ls", "--json", pack).stdout)}
    shapes = [{"N": n, "C": c, "H": 8, "W": w, "F": f, "R": 3, "S": 3, "P": 1, "Q": 1}
              for n, w in [(4, 10), (2, 20)] for c, f in [(3, 5), (5, 2)]]
    lines = []
    for name, gain, shape in ((n, g, s) for n, g in ratio.items() for s in shapes):
        name = "conv/" + name
        lines.append({"rule": rules[name], "name": name, "device": "ort-cpu", "shapes": shape, "engine": "onnxruntime",
                      "version": "1", "isa": isa, "threads": 1, "pattern": 1e-3 * milliseconds * gain, "replacement": 1e-3 * milliseconds, "spread": 0.02,
                      "date": "2026-11-21", "place": place})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def gains(shop):
    """Without --all, what was measured to pay fires, and a second run changes nothing."""
    pack = shop.pack("conv", "pair")
    model = shop.folder / "pairs.onnx"
    report = shop.apply(model, pack)
    expect("no timings", not report["fired"] and {r["reason"] for r in report["refusals"]} == {"not tuned for this device"}, report)
    file = timings(shop, pack, transposed=1.2, pair=1.4)
    report = shop.apply(model, pack, "--timings", file)
    # The larger gain first; in a second round the other rule fires on what the first one made.
    expect("gains", [f["rule"] for f in report["fired"]] == ["conv/pair"] * 2 + ["conv/transposed"] * 2, report["fired"])
    once = shop.folder / "once.onnx"
    once.write_bytes((shop.folder / "out.onnx").read_bytes())
    report = shop.apply(once, pack, "--timings", file)
    expect("a second run", not report["fired"] and once.read_bytes() == (shop.folder / "out.onnx").read_bytes(), report["fired"])
    file = timings(shop, pack, transposed=1.2, pair=0.9)
    run("pet-apply", model, pack, PET_SHARE=str(shop.folder))  # timings from the share folder, output beside the model
    written = onnx.load(shop.folder / "pairs.pet.onnx")
    expect("two arguments", [n.op_type for n in written.graph.node] == ["ConvTranspose", "Relu", "ConvTranspose"])
    (shop.folder / "pairs.pet.onnx").unlink()
    done = run("pet-apply", model, pack, "--all", "--dry-run")
    expect("dry run", "nothing was checked or written" in done.stdout and not (shop.folder / "pairs.pet.onnx").exists(), done.stdout)


def places(shop):
    """What was timed beside what a site is beside counts there: of two Convs the one is the first, the other the last, and behind a
    transposed Conv, whose layout is plain, the first as well."""
    pack, model = shop.pack("conv"), shop.folder / "pairs.onnx"
    for place, channels in [("between", [3, 5]), ("first", [3, 5]), ("last", [5]), ("alone", [])]:
        report = shop.apply(model, pack, "--timings", timings(shop, pack, place, transposed=1.4))
        expect(f"places: {place}", sorted(f["shapes"]["C"] for f in report["fired"]) == channels, report["fired"])


def one_time(shop):
    """A pattern takes one time at a site, wherever its rules were timed: the larger ratio counts, and is all that is promised."""
    pack, model = shop.pack("conv", "pair"), shop.folder / "pairs.onnx"
    file = timings(shop, pack, "last", 100, transposed=1.2)
    lines = file.read_text() + timings(shop, pack, pair=1.4).read_text()
    file.write_text(lines)
    report = shop.apply(model, pack, "--timings", file, "--site", "y")
    expect("one time", [f["rule"] for f in report["fired"]][:1] == ["conv/pair"], report["fired"])
    report = shop.apply(model, pack, "--timings", file, "--only", "conv/transposed")
    expect("one time: the run", 1.15 < report["expected"]["ratio"] < 1.25, report["expected"])


def places_elsewhere(shop):
    """What this CPU took between neighbours counts beside what another one took where the model ends: what is surer of a gain. What this
    CPU took there counts alone."""
    pack, model = shop.pack("conv"), shop.folder / "pairs.onnx"
    for isa, between, last, gains in [("avx512", 1.4, 0.9, [1.4, 1.4]), ("avx512", 0.9, 3, [3]), ("avx512", 2.5, 3, [2.5, 2.5]), ("avx2", 1.4, 0.9, [1.4])]:
        lines = timings(shop, pack, transposed=between).read_text() + timings(shop, pack, "last", isa=isa, transposed=last).read_text()
        file = shop.folder / "ort-cpu.timings.jsonl"
        file.write_text(lines)
        report = shop.apply(model, pack, "--timings", file, "--machine", "avx2")
        found = [round(f["gain"], 3) for f in report["fired"]]
        expect(f"places elsewhere: {isa}, {between} between, {last} at the end", found == gains, found)


def main():
    with tempfile.TemporaryDirectory() as folder:
        shop = Workshop(folder)
        tests = [srcnn, pairs, resnet, merged, dilated, guards, row_guards, shared, frozen, doubles, behind, gains, places, one_time, places_elsewhere]
        for test in tests:
            test(shop)
    print("\n".join(failures) or f"{len(tests)} groups of checks pass")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
