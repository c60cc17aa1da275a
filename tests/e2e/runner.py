#!/usr/bin/env python3
"""Talks to runtime/ort/runner.py as pet-tune does: every request, every kind of mistake. Exit status 0 or 1.

What every runner must answer is used by the other runners' tests, too.
"""

import importlib.util
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
COMMAND = [sys.executable, SOURCE / "runtime" / "ort" / "runner.py"]


def model(path, op, x="x", shape=(1, 4, 8, 8), constant=None, out_shape=None):
    """One operator on one input, and a constant as its second operand where given."""
    initializers = [] if constant is None else [numpy_helper.from_array(np.array(constant, np.float32), "c")]
    node = helper.make_node(op, [x] + [c.name for c in initializers], ["y"])
    graph = helper.make_graph(
        [node], "g", [helper.make_tensor_value_info(x, TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, out_shape or shape)], initializers)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def write_models(folder):
    paths = {name: str(folder / f"{name}.onnx") for name in
             ["relu", "half", "same", "tiny", "nan", "input", "shape", "dynamic", "garbage", "missing", "bad_run"]}
    model(paths["relu"], "Relu")
    model(paths["half"], "Mul", constant=0.5)
    model(paths["same"], "Mul", constant=[0.5])
    model(paths["tiny"], "Mul", constant=0.5 + 2**-20)
    model(paths["nan"], "Sqrt")  # of negative inputs
    model(paths["input"], "Relu", x="z")
    model(paths["shape"], "GlobalAveragePool", out_shape=(1, 4, 1, 1))
    model(paths["dynamic"], "Relu", shape=("N", 4, 8, 8))
    model(paths["bad_run"], "Add", shape=("N", 4, 8, 8), constant=np.zeros([3, 4, 8, 8]))
    pathlib.Path(paths["garbage"]).write_bytes(b"this is no model")
    return paths


def time_of(models, **more):
    return {"cmd": "time", "models": models, "runs": 4, "warmup": 1, "budget_s": 30, **more}


def counts(answer):
    return [len(samples) for samples in answer["samples"]]


def consistent(answer, models, runs):
    """The figures of a `time` answer agree with one another."""
    return (counts(answer) == [runs] * models
            and all(0 < low <= mid <= high for low, mid, high in zip(answer["p10"], answer["median"], answer["p90"]))
            and all(np.isclose(np.median(s), m) for s, m in zip(answer["samples"], answer["median"]))
            and len(answer["max_abs_diff"]) == models and answer["max_abs_diff"][0] == 0)


def error(*words):
    return lambda answer: all(word in answer["error"] for word in words)


def same_cases(m):
    """What every runner must answer: (name, request, what the answer must satisfy)."""
    return [
        ("time one", time_of([m["relu"]]), lambda a: consistent(a, 1, 4) and 0.9 < a["max_abs"] < 1),
        ("time three", time_of([m["half"], m["same"], m["tiny"]]),
         lambda a: consistent(a, 3, 4) and a["max_abs_diff"][1] == 0
         and 0 < a["max_abs_diff"][2] <= 2**-20 and a["max_abs"] < 0.5),
        ("time different models", time_of([m["half"], m["relu"]]), lambda a: 0.4 < a["max_abs_diff"][1] <= 0.5),
        ("time cold", time_of([m["relu"], m["relu"]], cold=True), lambda a: consistent(a, 2, 4)),
        ("time on the processor", time_of([m["relu"], m["half"]], processor_time=True), lambda a: consistent(a, 2, 4)),
        ("time of two on the processor", time_of([m["relu"]], processor_time=True, threads=2), error('"processor_time"')),
        ("time with threads", time_of([m["relu"]], threads=2), lambda a: consistent(a, 1, 4)),
        ("time without warm-up", time_of([m["relu"]], warmup=0), lambda a: consistent(a, 1, 4)),
        ("time without budget", time_of([m["relu"], m["half"]], runs=1000, budget_s=0), lambda a: counts(a) == [3, 3]),
        ("time positive", time_of([m["nan"]], positive=True), lambda a: consistent(a, 1, 4) and a["max_abs"] < 1),
        ("time a few, no budget", time_of([m["relu"]], runs=2, budget_s=0), lambda a: counts(a) == [2]),
        ("run", {"cmd": "run", "model": m["half"], "seed": 7},
         lambda a: a["outputs"][0]["name"] == "y" and a["outputs"][0]["shape"] == [1, 4, 8, 8]
         and a["outputs"][0]["type"] == "float32"
         and -0.5 <= a["outputs"][0]["min"] < 0 < a["outputs"][0]["max"] <= 0.5),
        ("run with nan", {"cmd": "run", "model": m["nan"]}, lambda a: a["outputs"][0]["mean"] is None),
        ("not json", "{", error("not a JSON line")),
        ("not an object", "[1]", error('"cmd"')),
        ("no cmd", {}, error('"cmd"')),
        ("unknown cmd", {"cmd": "dance"}, error("dance", "hello")),
        ("time nothing", time_of([]), error('"models"')),
        ("time a number", time_of([1]), error('"models"')),
        ("time no models", {"cmd": "time"}, error('"models"')),
        ("wrong type", time_of([m["relu"]], cold=1), error('"cold"')),
        ("negative", time_of([m["relu"]], budget_s=-1), error('"budget_s"')),
        ("no runs", time_of([m["relu"]], runs=0), error('"runs"')),
        ("garbage file", time_of([m["garbage"]]), error("garbage.onnx", "cannot load")),
        ("other input names", time_of([m["relu"], m["input"]]), error("input.onnx", "inputs")),
        ("other output shape", time_of([m["relu"], m["shape"]]), error("shape.onnx", "output y")),
        ("reference not finite", time_of([m["nan"], m["relu"]]), error("nan.onnx", "nothing can be compared")),
        ("second not finite", time_of([m["relu"], m["nan"]]), error("nan.onnx", "where the first model's are")),
        ("run without model", {"cmd": "run"}, error('"model"')),
    ]


def cases(m):
    """What ONNX Runtime's runner answers besides; the last one shows that it lives on."""
    return [
        ("time several in a row", time_of([m["relu"], m["half"]], repeat=3), lambda a: consistent(a, 2, 4)),
        ("none in a row", time_of([m["relu"]], repeat=0), error('"repeat"')),
        ("time unoptimised", time_of([m["relu"]], optimise=False), lambda a: consistent(a, 1, 4)),
        ("time dynamic", time_of([m["dynamic"]], dims={"N": 2}), lambda a: consistent(a, 1, 4)),
        ("missing file", time_of([m["relu"], m["missing"]]), error("missing.onnx", "no such file")),
        ("dynamic without dims", {"cmd": "run", "model": m["dynamic"]}, error("'N'", "dims")),
        ("fails while running", {"cmd": "run", "model": m["bad_run"], "dims": {"N": 2}},
         error("bad_run.onnx", "cannot run")),
        ("hello", {"cmd": "hello"},
         lambda a: a["engine"] == "onnxruntime" and "CPUExecutionProvider" in a["providers"] and a["version"]
         and a["isa"] and a["threads"] == 1 and a["vendor"] and a["family"] > 0 and len(a["caches"]) == 3),
    ]


def converse(command, requests, timeout=280):
    """Sends the requests, one per line, to a fresh process; its answers and its exit status. `timeout`: seconds for all of it."""
    sent = "".join((r if isinstance(r, str) else json.dumps(r)) + "\n" for r in requests)
    done = subprocess.run([str(word) for word in command], input=sent, capture_output=True, text=True, timeout=timeout)
    return [json.loads(line, parse_constant=refuse_constant) for line in done.stdout.splitlines()], done.returncode


def refuse_constant(text):
    raise ValueError(f"{text} is no JSON")


def failures_of(command, table, timeout=280):
    """What is wrong with the answers of one process to the table's requests, and with how it ends."""
    answers, status = converse(command, [request for _, request, _ in table] + [""], timeout)
    if len(answers) != len(table) or status != 0:
        yield f"{len(answers)} answers to {len(table)} requests, exit status {status}"
    for (name, _, holds), answer in zip(table, answers):
        try:
            held = holds(answer)
        except KeyError:  # an error in place of figures, or the reverse
            held = False
        if not held:
            yield f"{name}: {answer}"
    if converse(command, [{"cmd": "quit"}, {"cmd": "hello"}]) != ([], 0):
        yield "quit: answered or went on"


class Input:
    """Of a session, as ONNX Runtime describes it."""

    name, type = "x", "tensor(float)"

    def __init__(self, shape):
        self.shape = shape


class Session:
    def __init__(self, shape):
        self.shape = shape

    def get_inputs(self):
        return [Input(self.shape)]


def failures_of_alike():
    """Inputs of which neighbours are alike have other values than those that are drawn one by one, the same bounds, and fewer changes of sign."""
    script = importlib.util.spec_from_file_location("ort_runner", COMMAND[1])  # this file has the script's name
    runner = importlib.util.module_from_spec(script)
    script.loader.exec_module(runner)
    found = []
    for shape in [[], [5], [3, 1], [3, 21], [2, 3, 40], [2, 3, 17, 19], [1, 2, 3, 9, 12]]:
        for low, positive in [(-1, False), (1 / 64, True)]:
            (x,) = runner.seeded_inputs(Session(shape), positive=positive, alike=True).values()
            again = runner.seeded_inputs(Session(shape), positive=positive, alike=True)["x"]
            if list(x.shape) != shape or x.dtype != np.float32 or x.min() < low or x.max() > 1 or (x != again).any():
                found.append(f"alike: {shape} from {low}: {x}")
            if len(np.unique(x)) != x.size:
                found.append(f"alike: {shape}: values are the same")
    for shape, axes in [([200, 200], [1]), ([40, 40, 40], [2]), ([2, 4, 60, 60], [2, 3])]:
        white, alike = (runner.seeded_inputs(Session(shape), alike=alike)["x"] for alike in [False, True])
        for axis in range(len(shape)):
            changes = [float(np.mean(np.diff(np.sign(x), axis=axis) != 0)) for x in [white, alike]]
            if not 0.4 < changes[0] < 0.6 or (changes[1] < 0.3) != (axis in axes):
                found.append(f"alike: {shape}, axis {axis}: {changes} of the signs change")
    return found


def main():
    with tempfile.TemporaryDirectory() as folder:
        paths = write_models(pathlib.Path(folder))
        failures = list(failures_of(COMMAND, same_cases(paths) + cases(paths)))
        first, second, other = (
            converse(COMMAND, [{"cmd": "run", "model": paths["half"], "seed": seed}])[0] for seed in [7, 7, 8])
        if first != second or first == other:
            failures.append("run: not a function of the seed")
    failures += failures_of_alike()
    for failure in failures:
        print(f"runner: {failure}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
