#!/usr/bin/env python3
"""pet-tune --cliffs, on an engine whose times are known and on the real one. Exit status 0 or 1."""

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
failures = []

# An engine that computes at 200 GFLOP/s and moves 100 GB/s. A Softmax takes 50 times as long, a Hardmax 20 times, a Neg
# behind a Neg nothing; it refuses Tanh, and Sqrt unless its input is positive. Each model that it times is noted.
ENGINE = '''
import json, sys
import numpy as np, onnx
LOG = sys.argv[0] + ".log"
SLOW = {"Softmax": 50, "Hardmax": 20}
def seconds(path, request):
    model = onnx.shape_inference.infer_shapes(onnx.load(path))
    values = [*model.graph.input, *model.graph.output, *model.graph.value_info]
    extents = {v.name: [d.dim_value for d in v.type.tensor_type.shape.dim] for v in values}
    extents |= {i.name: list(i.dims) for i in model.graph.initializer}
    total = 1e-6
    for node in model.graph.node:
        if node.op_type == "Tanh": raise ValueError("no Tanh here")
        if node.op_type == "Sqrt" and not request["positive"]: raise ValueError("not finite")
        sizes = [np.prod(extents[n], dtype=float) for n in [*node.input, *node.output]]
        flops = 2 * sizes[-1] * extents[node.input[0]][-1] if node.op_type == "MatMul" else 0
        if node.op_type == "Conv": flops = 2 * sizes[-1] * sizes[1] / extents[node.input[1]][0]
        if node.op_type == "Constant": continue
        total += SLOW.get(node.op_type, 1) * max(4 * sum(sizes) / 100e9, flops / 200e9)
    with open(LOG, "a") as log: log.write(" ".join(n.op_type for n in model.graph.node) + "\\n")
    return total
for line in sys.stdin:
    request = json.loads(line)
    if request["cmd"] == "hello":
        print(json.dumps({"engine": "fake", "version": "7", "isa": "abacus", "cpu": "beads"}), flush=True)
        continue
    BODY
    try:
        each = [seconds(path, request) for path in request["models"]]
        answer = {"samples": [[s, s] for s in each], "median": each, "p10": each, "p90": each, "max_abs_diff": [0.0] * len(each), "max_abs": 1.0}
    except ValueError as error:
        answer = {"error": str(error)}
    print(json.dumps(answer), flush=True)
'''


def expect(name, condition, detail=""):
    if not condition:
        failures.append(f"{name}: {detail}" if detail else name)


def save(path, nodes, inputs, outputs, constants=None):
    values = [[helper.make_tensor_value_info(n, TensorProto.FLOAT, e) for n, e in part.items()] for part in (inputs, outputs)]
    initializers = [numpy_helper.from_array(np.asarray(c), n) for n, c in (constants or {}).items()]
    graph = helper.make_graph([helper.make_node(op, reads, [gives], **more) for op, reads, gives, more in nodes], path.stem, *values, initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, path)
    return path


def models(folder):
    """`heads`: two equal Softmaxes of maps, what the engine refuses, what needs positive numbers. `pairs`: a product that is
    broadcast and summed up, each operator as fast as can be, and one of the Softmaxes."""
    big = [1, 64, 128, 128]
    heads = save(folder / "heads.onnx", [
        ("Softmax", ["x"], "a", {"axis": 1}), ("Neg", ["a"], "b", {}), ("Softmax", ["b"], "c", {"axis": 1}), ("Tanh", ["c"], "d", {}),
        ("Sqrt", ["d"], "e", {}), ("Hardmax", ["e"], "y", {"axis": 1})], {"x": big}, {"y": big})
    pairs = save(folder / "pairs.onnx", [
        ("Unsqueeze", ["u", "one"], "u1", {}), ("Unsqueeze", ["v", "none"], "v1", {}), ("Mul", ["u1", "v1"], "p", {}),
        ("ReduceSum", ["p", "two"], "s", {"keepdims": 0}), ("Relu", ["s"], "y", {}), ("Softmax", ["x"], "z", {"axis": 1})],
        {"u": [512, 256], "v": [512, 256], "x": big}, {"y": [512, 512], "z": big},
        {"one": np.array([1]), "none": np.array([0]), "two": np.array([2])})
    return heads, pairs


def engine(folder, name="engine", body="pass"):
    path = folder / f"{name}.py"
    path.write_text(ENGINE.replace("BODY", body))
    return path


def cliffs(*arguments, python=sys.executable):
    return subprocess.run([str(a) for a in [BIN / "pet-tune", "--cliffs", *arguments, "--python", python]], capture_output=True, text=True,
                          timeout=250)


def names(cliff):
    return [op.split("(")[0] for op in cliff["operators"]]


def check_found(folder, heads, pairs):
    """What is slow comes first, with how slow it is and where; equal operators are timed once; the rest is not listed."""
    runner, report = engine(folder), folder / "report.json"
    done = cliffs(heads, pairs, "--runner", runner, "--json", report, "--write", folder / "found")
    expect("found", done.returncode == 0 and not done.stderr, done.stderr)
    told = json.loads(report.read_text())
    expect("peaks", abs(told["peaks"]["flops"] / 200e9 - 1) < 0.05 and all(abs(c["rate"] / 100e9 - 1) < 0.2 for c in told["peaks"]["copies"]),
           told["peaks"])
    found = told["cliffs"]
    expect("found", [names(c) for c in found if len(names(c)) == 1] == [["Softmax"], ["Hardmax"]] and len(found) == 3,
           [(names(c), c["times"]) for c in found])
    softmax = found[0]
    expect("softmax", abs(softmax["times"] - 50) < 3 and softmax["bound"] == "bytes" and abs(softmax["achieved"] / 2e9 - 1) < 0.1, softmax)
    counts = {pathlib.Path(m["model"]).stem: m["count"] for m in softmax["models"]}
    expect("softmax", counts == {"heads": 2, "pairs": 1}, counts)
    shares = {pathlib.Path(m["model"]).stem: m["share"] for m in softmax["models"]}
    expect("shares", 0.7 < shares["heads"] < 0.9 and 0.3 < shares["pairs"] < 0.6, shares)
    groups = [c for c in found if "Mul" in names(c)]
    expect("a group", len(groups) == 1 and "ReduceSum" in names(groups[0]) and groups[0]["times"] > 3, groups)
    timed = runner.with_name(runner.name + ".log").read_text().splitlines()
    expect("timed once", timed.count("Softmax") == 1, timed)
    expect("no listing of what is fast", not any(names(c) in (["Relu"], ["Neg"], ["Mul"], ["ReduceSum"]) for c in found), [names(c) for c in found])
    refused = [r for r in told["refused"] if names(r) == ["Tanh"]]
    expect("refused", len(refused) == 1 and "no Tanh here" in refused[0]["refusal"] and "no Tanh here" in done.stdout, told["refused"])
    expect("positive", not any(names(r) == ["Sqrt"] for r in told["refused"]), told["refused"])
    expect("the table", "Softmax(axis=1)" in done.stdout and "[1,64,128,128] -> [1,64,128,128]" in done.stdout and "(x2)" in done.stdout, done.stdout)
    check_written(folder / "found", found)


def check_written(folder, found):
    """Each file is a model; what pet knows an operator of is a source of patterns, the rest is apart."""
    for cliff in found:
        model = onnx.load(cliff["file"])
        onnx.checker.check_model(model, full_check=True)
        expect("written", sorted(n.op_type for n in model.graph.node if n.op_type != "Constant") == sorted(names(cliff)), cliff)
    hardmax = [c["file"] for c in found if names(c) == ["Hardmax"]]
    expect("unknown", [pathlib.Path(f).parent.name for f in hardmax] == ["unknown"], hardmax)
    patterns = folder.parent / "patterns"
    done = subprocess.run([BIN / "pet-synth", "--from", folder, "--from-size", "4", "--from-patterns", patterns], capture_output=True, text=True,
                          timeout=120)
    written = "".join(p.read_text() for p in patterns.glob("*.pet"))
    expect("patterns", done.returncode == 0 and "Mul" in written and "ReduceSum" in written and "softmax-channels" in done.stderr,
           done.stderr + written)


def check_real(folder, pairs):
    """The real engine: figures are sane."""
    report = folder / "real.json"
    done = cliffs(pairs, "--runs", 5, "--seconds", 0.2, "--json", "-")
    expect("real", done.returncode == 0, done.stderr)
    told = json.loads(done.stdout) if done.returncode == 0 else {"peaks": {"flops": 1e9, "copies": []}, "cliffs": []}
    expect("real", 1e9 < told["peaks"]["flops"] < 1e14, told["peaks"])
    expect("real", all(c["times"] >= 2 and c["seconds"] > 0 for c in told["cliffs"]) and not report.exists(), told["cliffs"])


def check_options(folder, heads, pairs):
    runner = engine(folder, "options")
    told = json.loads(cliffs(heads, pairs, "--runner", runner, "--json", "-", "--most", 1).stdout)
    expect("--most", [names(c) for c in told["cliffs"]] == [["Softmax"]], told["cliffs"])
    told = json.loads(cliffs(pairs, "--runner", runner, "--json", "-", "--size", 1).stdout)
    expect("--size", [names(c) for c in told["cliffs"]] == [["Softmax"]], told["cliffs"])
    told = json.loads(cliffs(heads, "--runner", runner, "--json", "-", "--min-times", 30).stdout)
    expect("--min-times", [names(c) for c in told["cliffs"]] == [["Softmax"]], told["cliffs"])
    done = cliffs(heads, "--runner", runner, "--budget", 1e-9)
    expect("--budget", done.returncode == 0 and "operators are left: the budget is spent" in done.stdout, done.stdout + done.stderr)
    first, again = (cliffs(heads, pairs, "--runner", runner, "--json", "-").stdout for _ in range(2))
    expect("the same again", first == again and first)


def check_errors(folder, heads, pairs):
    runner, garbage = engine(folder, "errors"), folder / "garbage.onnx"
    garbage.write_bytes(b"this is no model")
    dies = 'import os; os.path.exists(LOG) and len(open(LOG).readlines()) > 12 and sys.exit(9)'
    for name, code, words, done in [
        ("no model", 3, ["missing.onnx"], cliffs(folder / "missing.onnx", "--runner", runner)),
        ("a broken model", 3, ["garbage.onnx"], cliffs(heads, garbage, "--runner", runner)),
        ("no device", 2, ["ort-cup", "did you mean 'ort-cpu'?"], cliffs(heads, "--device", "ort-cup")),
        ("no folder", 2, ["/dev/null/found"], cliffs(heads, "--runner", runner, "--write", "/dev/null/found")),
        ("no report", 2, ["nowhere"], cliffs(heads, "--runner", runner, "--json", folder / "nowhere" / "r.json")),
        ("over the model", 2, ["heads.onnx"], cliffs(heads, "--runner", runner, "--json", heads)),
        ("no python", 6, ["cannot start"], cliffs(heads, python="/no/such/python")),
        ("dies", 6, ["ended with status 9"], cliffs(heads, pairs, "--runner", engine(folder, "dies", dies))),
        ("neither", 2, ["no file to store the timings in"], subprocess.run([BIN / "pet-tune"], capture_output=True, text=True, timeout=60)),
        ("a folder for what", 2, ["--cliffs"], subprocess.run([BIN / "pet-tune", "p.db", "--write", "x"], capture_output=True, text=True, timeout=60)),
    ]:
        lines = done.stderr.splitlines()
        expect(name, done.returncode == code and len(lines) == 1 and all(w in lines[0] for w in words), (done.returncode, done.stderr))
        if name == "dies":
            expect(name, "MODEL" in done.stdout, done.stdout)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        heads, pairs = models(folder)
        check_found(folder, heads, pairs)
        check_options(folder, heads, pairs)
        check_errors(folder, heads, pairs)
        check_real(folder, pairs)
    for failure in failures:
        print(f"cliffs: {failure}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
