#!/usr/bin/env python3
"""pet-run: the models of the zoo (tests/models/zoo.py) equal ONNX Runtime at each of the extents that the zoo tries; what it
writes and says; every kind of mistake. Exit status 0 or 1; 77 where pet-run is not built.

With PET_TEST_PART=K/N one of the models, which changes with the commit, and one of each kind that the engine alone cannot run;
else all. `run_tool.py NAME...` tries these models.
"""

import dataclasses
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
from onnx import TensorProto, helper

import _part as part

SOURCE = pathlib.Path(os.environ.get("PET_SOURCE", pathlib.Path(__file__).parents[2]))
RUN = pathlib.Path(os.environ.get("PET_BIN", SOURCE / "build" / "bin")) / "pet-run"
sys.path.insert(0, str(SOURCE / "tests" / "models"))
import build  # noqa: E402
import trial  # noqa: E402
import zoo  # noqa: E402
from compare import runner  # noqa: E402

# Token ids and open extents; recurrent layers; integers that stand for numbers; 16 bits.
ALWAYS = ["decoder_step-dynamo-dynamic", "lstm-script-dynamic", "mobilenet_v2-dynamo-int8", "mobilenet_v2-script-fp16"]
failures = []


def expect(name, condition, detail=""):
    if not condition:
        failures.append(f"{name}: {detail}")


def run(*words):
    return subprocess.run([str(RUN), *map(str, words)], capture_output=True, text=True, timeout=280)


def file_name(value):
    """As the tool names the file of an output."""
    return re.sub(r"[^A-Za-z0-9_.-]|^\.", "_", value) + ".npy"


# ---- the zoo

class Unoptimised(trial.Expected):
    """As the graph says: ONNX Runtime 1.31 makes one MaxPool of a Pad of zeros and a MaxPool, which takes -inf for them."""

    def _open(self, path):
        return runner.open_session(str(path), optimise=False)


def different(name, folder):
    """(what is wrong with a model on the engine, the report of its last run)"""
    expected, report = Unoptimised(name, build.build(name, folder)), {}
    for number, (inputs, outputs) in enumerate(zip(expected.inputs, expected.outputs)):
        words = []
        for i, (key, array) in enumerate(inputs.items()):
            np.save(folder / f"{number}.{i}.npy", array)
            words += ["-i", f"{key}={folder / f'{number}.{i}.npy'}"]
        done = run(expected.path, *words, "-o", folder / f"out{number}", "--json", folder / "report.json", "--no-winograd")
        if done.returncode:
            return done.stderr.strip(), report
        report = json.loads((folder / "report.json").read_text())
        for key, wanted in outputs.items():
            found = np.load(folder / f"out{number}" / file_name(key))
            if (found.shape, found.dtype) != (wanted.shape, wanted.dtype):
                return f"{key} is {found.dtype}{found.shape}, not {wanted.dtype}{wanted.shape}", report
            scale = runner.max_abs({key: wanted})
            off = runner.max_abs_diff({key: wanted}, {key: found}, name) / (scale or 1)
            if not off <= expected.tolerance:
                return f"{key} is off by {off:.1e}", report
    return "", report


def models(names):
    loaded = right = 0
    for name in names:
        begin = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            try:
                wrong, report = different(name, pathlib.Path(folder))
            except (runner.Mistake, subprocess.TimeoutExpired, OSError) as error:
                wrong, report = str(error), {}
        loaded, right = loaded + bool(report), right + (not wrong)
        kinds = sorted({node["op"] for node in report.get("reference", [])})
        print(f"{name}: {wrong or 'equal'}; {len(report.get('reference', []))} nodes one by one ({', '.join(kinds)}), {time.perf_counter() - begin:.1f} s",
              flush=True)
        expect(name, not wrong, wrong)
    print(f"{len(names)} models: {loaded} load, {right} are equal")


# ---- what it says

def model(path, nodes, inputs, outputs, opset=17, domains=()):
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info(*i) for i in inputs], [helper.make_tensor_value_info(*o) for o in outputs])
    opsets = [helper.make_opsetid("", opset), *[helper.make_opsetid(domain, 1) for domain in domains]]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    return path


@dataclasses.dataclass
class Files:
    """Small models and arrays."""
    folder: pathlib.Path

    def __post_init__(self):
        f, i = TensorProto.FLOAT, TensorProto.INT64
        node = helper.make_node
        self.relu = model(self.folder / "relu.onnx", [node("Relu", ["x"], ["y"])], [("x", f, [2, 3])], [("y", f, [2, 3])])
        self.open = model(self.folder / "open.onnx", [node("Gather", ["table", "ids"], ["rows"]), node("Relu", ["rows"], ["y/rows"])],
                          [("table", f, ["rows", 4]), ("ids", i, ["count"])], [("y/rows", f, ["count", 4])])
        self.unknown = model(self.folder / "unknown.onnx", [node("Relu", ["x"], ["a"]), node("Frobnicate", ["a"], ["y"], name="odd", domain="ai.bar")],
                             [("x", f, [2, 3])], [("y", f, [2, 3])], domains=["ai.bar"])
        self.far = model(self.folder / "far.onnx", [node("Gather", ["table", "ids"], ["y"], name="pick")],
                         [("table", f, [3, 4]), ("ids", i, [2])], [("y", f, [2, 4])])
        self.garbage = self.folder / "garbage.onnx"
        self.garbage.write_bytes(b"this is no model")
        for name, array in {"x": np.arange(6, dtype=np.float32).reshape(2, 3) - 3, "double": np.zeros([2, 3]), "wide": np.zeros([2, 4], np.float32),
                            "columns": np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3) - 3), "table": np.ones([3, 4], np.float32),
                            "ids": np.array([2, 7]), "complex": np.zeros(2, np.complex64), "scalar": np.float32(1)}.items():
            np.save(self.folder / f"{name}.npy", array)
        (self.folder / "short.npy").write_bytes((self.folder / "x.npy").read_bytes()[:-1])

    def __getitem__(self, name):
        return self.folder / f"{name}.npy"


def mistakes(f):
    """(arguments, exit code, words of the line)"""
    return [
        ([f.garbage], 3, ["garbage.onnx"]),
        ([f.folder / "none.onnx"], 3, ["none.onnx"]),
        ([f.unknown], 3, ["unknown.onnx", "'odd'", "Frobnicate", "ai.bar"]),
        ([f.relu, "-i", f["double"]], 2, ["'x'", "float32", "float64"]),
        ([f.relu, "-i", f["wide"]], 2, ["'x'", "[2, 4]", "float32[2, 3]"]),
        ([f.relu, "-i", f["scalar"]], 2, ["'x'", "rank"]),
        ([f.relu, "-i", f"z={f['x']}"], 2, ["no input has this name", "x"]),
        ([f.relu, "-i", f["x"], "-i", f"x={f['x']}"], 2, ["given twice"]),
        ([f.relu, "-i", f["short"]], 2, ["short.npy", "23 bytes"]),
        ([f.relu, "-i", f["complex"]], 2, ["complex.npy", "type"]),
        ([f.relu, "-i", f.garbage], 2, ["garbage.onnx", "no .npy file"]),
        ([f.relu, "-i", f.folder / "none.npy"], 2, ["none.npy"]),
        ([f.relu, "--bind", "batch"], 2, ["--bind", "batch=8"]),
        ([f.relu, "--bind", "batch=2"], 2, ["no input has an extent", "batch"]),
        ([f.relu, "--shape", "z=2x3"], 2, ["no input 'z'"]),
        ([f.relu, "--shape", "x=2xx"], 2, ["--shape"]),
        ([f.relu, "--threads", "0"], 2, ["--threads"]),
        ([f.relu, "-o", f.garbage], 2, ["garbage.onnx"]),
        ([f.relu, "--json", f.relu], 2, ["relu.onnx"]),
        ([f.relu, "--device", "gpu"], 2, ["--device gpu", "cuda:1"]),
        ([f.relu, "--device", "cuda:X"], 2, ["cuda:X: no device"]),
        ([f.relu, "--device", "cuda:900"], 2, ["CUDA"]),
        ([f.relu, "--precision", "fp16"], 2, ["--precision", "fp32"]),
        ([f.relu, "--plan", "h200", "--device", "cuda"], 2, ["--plan runs nothing"]),
        ([f.relu, "--plan", "h200", "--profile"], 2, ["--plan runs nothing", "--profile"]),
        ([f.relu, "--plan", "none"], 2, ["--plan none", "h200"]),
        ([f.relu, "--precision", "fp8"], 2, ["--precision", "tf32"]),
        ([f.open], 2, ["table", "'rows'", "--bind"]),
        ([f.open, "--shape", "table=3x4,ids=2x2"], 2, ["ids", "rank"]),
        ([f.far, "-i", f"table={f['table']}", "-i", f"ids={f['ids']}"], 3, ["'pick'", "index 7"]),
    ]


def says(f):
    done = run(f.relu, "-i", f["x"], "-o", f.folder / "out", "--runs", 3)
    expect("a table", done.returncode == 0 and "float32" in done.stdout and "median of 2" in done.stdout and not done.stderr, (done.stdout, done.stderr))
    expect("what it computes", np.array_equal(np.load(f.folder / "out" / "y.npy"), [[0, 0, 0], [0, 1, 2]]), "")
    for name in ["columns"]:
        run(f.relu, "-i", f"x={f[name]}", "-o", f.folder / name)
        expect(name, np.array_equal(np.load(f.folder / name / "y.npy"), [[0, 0, 0], [0, 1, 2]]), "")
    reports = [json.loads(run(f.open, "--bind", "rows=5,count=7", "--seed", seed, "-o", f.folder / f"s{seed}", "--json", "-").stdout) for seed in [1, 1, 2]]
    expect("drawn", [i["drawn"] for i in reports[0]["inputs"]] == [True, True] and reports[0]["outputs"][0]["shape"] == [7, 4], reports[0])
    expect("nodes one by one", [n["op"] for n in reports[0]["reference"]] == ["Gather"], reports[0]["reference"])
    profiled = json.loads(run(f.open, "--bind", "rows=5,count=7", "--seed", 1, "--profile", "--json", "-").stdout)
    expect("steps", [(s["node"], s["op"]) for s in profiled["steps"]] == [("rows", "Gather"), ("y/rows", "Relu")]
           and all(s["seconds"] > 0 for s in profiled["steps"]), profiled.get("steps"))
    table = run(f.relu, "-i", f["x"], "--profile").stdout
    expect("a table of steps", "Relu" in table and "steps: 1" in table and "float32" in table, table)
    figures = [[o["min"], o["max"], o["mean"]] for r in reports for o in r["outputs"]]
    expect("a function of the seed", figures[0] == figures[1] != figures[2], figures)
    expect("files", reports[0]["outputs"][0]["file"].endswith("y_rows.npy"), reports[0]["outputs"])
    expect("timings", len(reports[0]["run_seconds"]) == 1 and reports[0]["load_seconds"] > 0 and reports[0]["peak_bytes"] > 0, reports[0])
    for arguments, code, words in mistakes(f):
        done = run(*arguments)
        lines = done.stderr.splitlines()
        expect(" ".join(map(str, arguments)), done.returncode == code and not done.stdout and len(lines) == 1 and all(w in lines[0] for w in words),
               (done.returncode, done.stdout, done.stderr))


def chosen():
    if len(sys.argv) > 1:
        return sys.argv[1:]
    if not part.given():
        return list(zoo.MODELS)
    fast = [name for name in zoo.MODELS if name not in zoo.SLOW]
    return sorted({*ALWAYS, part.one(fast)})


def main():
    if not RUN.is_file():
        print("pet-run is not built")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        says(Files(pathlib.Path(folder)))
    models(chosen())
    for failure in failures:
        print(f"run_tool: {failure}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
