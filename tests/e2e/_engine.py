"""The test of a runner of another engine on the real engine, for the tests of each: the requests of every runner, models of symbolic
extents, integers and several outputs, pet-tune. An engine's environment is made by make -f Makefile.ci engines."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import runner  # tests/e2e/runner.py: what every runner must answer

SOURCE = pathlib.Path(os.environ.get("PET_SOURCE", pathlib.Path(__file__).parents[2]))
BIN = pathlib.Path(os.environ.get("PET_BIN", SOURCE / "build" / "bin"))
sys.path.insert(0, str(SOURCE / "tests" / "models"))
from timed import samples  # noqa: E402

GRID = {"ties": {"W": "H", "S": "R", "P": "floor((R - 1)/2)", "Q": "P"},
        "patterns": {"conv": {"points": [{"N": 1, "C": 8, "F": 8, "H": 12, "R": 3}]}}}


def save(path, nodes, inputs, outputs, **constants):
    """Inputs and outputs are (name, type, extents)."""
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info(*value) for value in inputs],
                              [helper.make_tensor_value_info(*value) for value in outputs],
                              [numpy_helper.from_array(array, name) for name, array in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def drawn(*shape):
    return np.random.default_rng(1).uniform(-1, 1, shape).astype(np.float32)


def write_models(folder):
    """Those of every runner; two inputs and two outputs of different ranks, one a product that leaves Transposed; a table that is read
    by integers."""
    paths = {**runner.write_models(folder), **{name: str(folder / f"{name}.onnx") for name in ["several", "integers"]}}
    save(paths["several"], [helper.make_node("MatMul", ["x", "w"], ["product"]), helper.make_node("Transpose", ["product"], ["y"], perm=[0, 2, 1]),
                            helper.make_node("Add", ["z", "c"], ["sum"]), helper.make_node("Relu", ["sum"], ["s"])],
         [("x", TensorProto.FLOAT, [1, 6, 8]), ("z", TensorProto.FLOAT, [1, 3, 4, 4])],
         [("s", TensorProto.FLOAT, [1, 3, 4, 4]), ("y", TensorProto.FLOAT, [1, 5, 6])], w=drawn(8, 5), c=drawn(3, 1, 1))
    save(paths["integers"], [helper.make_node("Gather", ["table", "rows"], ["y"])], [("rows", TensorProto.INT64, [3])],
         [("y", TensorProto.FLOAT, [3, 8])], table=drawn(4, 8))
    return paths


def cases(m, engine, refused):
    """What it answers besides; the last one shows that it lives on. `refused`: what the engine says of models that it does not take."""
    error = runner.error
    integers = error("integers.onnx", refused["integers"]) if "integers" in refused else lambda a: runner.consistent(a, 1, 4)
    return [
        ("time dynamic", runner.time_of([m["dynamic"]], dims={"N": 2}), lambda a: runner.consistent(a, 1, 4)),
        ("time several", runner.time_of([m["several"]]), lambda a: runner.consistent(a, 1, 4)),
        ("time several, two threads", runner.time_of([m["several"], m["several"]], threads=2), lambda a: runner.consistent(a, 2, 4)),
        ("time integers", runner.time_of([m["integers"]]), integers),
        ("missing file", runner.time_of([m["relu"], m["missing"]]), error("missing.onnx", "no such file")),
        ("dynamic without dims", {"cmd": "run", "model": m["dynamic"]}, error("'N'", "dims")),
        ("hello", {"cmd": "hello"}, lambda a: a["engine"] == engine and a["version"] and a["isa"] and a["threads"] == 1),
    ]


def few_cases(m, engine):
    """Of an engine that takes long to load a model, and shares the script of one that was asked for all."""
    return [("time several", runner.time_of([m["several"], m["several"]]), lambda a: runner.consistent(a, 2, 4)),
            ("hello", {"cmd": "hello"}, lambda a: a["engine"] == engine and a["version"][0].isdigit())]


def same_results(command, paths):
    """The same inputs for the same seed, and the same sums, as on ONNX Runtime."""
    request = {"cmd": "run", "model": paths["half"], "seed": 7}
    ((here,), _), ((there,), _) = (runner.converse(c, [request]) for c in [command, runner.COMMAND])
    if here["outputs"][0]["crc32"] != there["outputs"][0]["crc32"]:
        yield f"run: {here}, on ONNX Runtime {there}"


def tuned(folder, device, engine, python):
    """pet-tune on the device: a sample of it, with the engine and its version."""
    pack, grid, timings = folder / "conv.db", folder / "grid.json", folder / f"{device}.jsonl"
    grid.write_text(json.dumps(GRID))
    subprocess.run([BIN / "pet-rules", "import", SOURCE / "tests/data/conv.pet", "-o", pack], check=True)
    done = subprocess.run([BIN / "pet-tune", pack, "-o", timings, "--device", device, "--shapes", grid, "--python", python,
                           "--runs", "3", "--seconds", "0.1"], capture_output=True, text=True, timeout=250)
    found = samples(timings)
    if done.returncode or [(s["device"], s["engine"], s["threads"]) for s in found] != [(device, engine, 1)] \
            or not found[0]["version"][0].isdigit():
        yield f"pet-tune: {done.returncode} {done.stderr} {found}"


def main(environment, script, engines, refused=None, timeout=280):
    """Exit status: 0 or 1; 77 where the environment is not there. `engines`: devices by the engine that the script names,
    the first of which is asked for all. `refused`: what it says of models that the engine does not take. `timeout`: seconds for all requests to a process."""
    python = SOURCE / ".engines" / environment / "bin" / "python"
    if not python.is_file():
        print(f"{python} is not there: make -f Makefile.ci engines")
        return 77
    failures = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        paths = write_models(folder)
        for position, (engine, device) in enumerate(engines.items()):
            command = [python, SOURCE / "runtime" / "ort" / script, "--engine", engine]
            if position == 0:
                found = [*runner.failures_of(command, runner.same_cases(paths) + cases(paths, engine, refused or {}), timeout),
                         *same_results(command, paths), *tuned(folder, device, engine, python)]
            else:
                found = runner.failures_of(command, few_cases(paths, engine), timeout)
            failures += [f"{engine}: {failure}" for failure in found]
    for failure in failures:
        print(f"{script}: {failure}", file=sys.stderr)
    return 1 if failures else 0
