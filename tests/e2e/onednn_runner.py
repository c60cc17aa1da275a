#!/usr/bin/env python3
"""pet-runner against ONNX Runtime: the same requests as runtime/ort/runner.py, the test models' outputs, every kind of mistake.

Exit status 0 or 1; 77 where pet-runner is not built.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnxruntime

SOURCE = pathlib.Path(os.environ.get("PET_SOURCE", pathlib.Path(__file__).parents[2]))
RUNNER = pathlib.Path(os.environ.get("PET_BIN", SOURCE / "build" / "bin")) / "pet-runner"
sys.path += [str(SOURCE / "tests" / "models"), str(SOURCE / "tests" / "e2e")]

import build  # noqa: E402  tests/models/build.py
import runner  # noqa: E402  tests/e2e/runner.py: its models of one operator

# model -> largest difference from ONNX Runtime, of the largest output; without and with Winograd's algorithm
MODELS = {"resnet18": (2e-6, 1e-4), "srcnn": (2e-6, 1e-4), "inception": (2e-6, 1e-4), "dcgan": (2e-5, 1e-4)}


def converse(requests):
    """Sends the requests to a fresh process; its answers and its exit status."""
    lines = "".join((r if isinstance(r, str) else json.dumps(r)) + "\n" for r in requests)
    done = subprocess.run([str(RUNNER)], input=lines, capture_output=True, text=True, timeout=280)
    return [json.loads(line) for line in done.stdout.splitlines()], done.returncode


def error(*words):
    return lambda answer: all(word in answer["error"] for word in words)


def cases(m):
    """(name, request, what the answer must satisfy), in the order they are sent to one process."""
    time_of, consistent, counts = runner.time_of, runner.consistent, runner.counts
    return [
        ("hello", {"cmd": "hello"},
         lambda a: a["engine"] == "pet-onednn" and a["version"] and a["isa"] and a["threads"] == 1),
        ("time one", time_of([m["relu"]]), lambda a: consistent(a, 1, 4) and 0.9 < a["max_abs"] < 1),
        ("time three", time_of([m["half"], m["same"], m["tiny"]]),
         lambda a: consistent(a, 3, 4) and a["max_abs_diff"][1] == 0
         and 0 < a["max_abs_diff"][2] <= 2**-20 and a["max_abs"] < 0.5),
        ("time different models", time_of([m["half"], m["relu"]]), lambda a: 0.4 < a["max_abs_diff"][1] <= 0.5),
        ("time cold", time_of([m["relu"], m["relu"]], cold=True), lambda a: consistent(a, 2, 4)),
        ("time with threads", time_of([m["relu"]], threads=2), lambda a: consistent(a, 1, 4)),
        ("time without warm-up", time_of([m["relu"]], warmup=0), lambda a: consistent(a, 1, 4)),
        ("time without budget", time_of([m["relu"], m["half"]], runs=1000, budget_s=0), lambda a: counts(a) == [3, 3]),
        ("time a few, no budget", time_of([m["relu"]], runs=2, budget_s=0), lambda a: counts(a) == [2]),
        ("run", {"cmd": "run", "model": m["half"], "seed": 7},
         lambda a: a["outputs"][0]["name"] == "y" and a["outputs"][0]["shape"] == [1, 4, 8, 8]
         and a["outputs"][0]["type"] == "float32" and a["reference"] == []
         and -0.5 <= a["outputs"][0]["min"] < 0 < a["outputs"][0]["max"] <= 0.5),
        ("run with nan", {"cmd": "run", "model": m["nan"]}, lambda a: a["outputs"][0]["mean"] is None),
        ("notes", {"cmd": "notes", "model": m["relu"]},
         lambda a: [n["op"] for n in a["nodes"]] == ["Relu"] and a["reference"] == []),
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
        ("missing file", time_of([m["relu"], m["missing"]]), error("missing.onnx", "cannot load")),
        ("garbage file", time_of([m["garbage"]]), error("garbage.onnx", "cannot load")),
        ("other input names", time_of([m["relu"], m["input"]]), error("input.onnx", "inputs")),
        ("other output shape", time_of([m["relu"], m["shape"]]), error("shape.onnx", "output y")),
        ("reference not finite", time_of([m["nan"], m["relu"]]), error("nan.onnx", "nothing can be compared")),
        ("second not finite", time_of([m["relu"], m["nan"]]), error("nan.onnx", "where the first model's are")),
        ("dynamic", {"cmd": "run", "model": m["dynamic"]}, error("dynamic", "dims")),
        ("run without model", {"cmd": "run"}, error('"model"')),
        ("an input that is none", {"cmd": "run", "model": m["relu"], "inputs": {"q": m["garbage"]}}, error("no input q")),
        ("an input too short", {"cmd": "run", "model": m["relu"], "inputs": {"x": m["garbage"]}}, error("1024 bytes")),
        ("alive after all that", {"cmd": "hello"}, lambda a: a["engine"] == "pet-onednn"),
    ]


def protocol(folder):
    table = cases(runner.write_models(folder))
    answers, status = converse([request for _, request, _ in table] + [""])
    if len(answers) != len(table) or status != 0:
        yield f"{len(answers)} answers to {len(table)} requests, exit status {status}"
    for (name, _, holds), answer in zip(table, answers):
        try:
            held = holds(answer)
        except KeyError:  # an error in place of figures, or the reverse
            held = False
        if not held:
            yield f"{name}: {answer}"
    if converse([{"cmd": "quit"}, {"cmd": "hello"}]) != ([], 0):
        yield "quit: answered or went on"


def models(folder):
    """The same numbers in, nearly the same out; nothing left to the reference evaluation."""
    for name, bounds in MODELS.items():
        build.build(name, folder)
        path = str(folder / f"{name}.onnx")
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        feeds = {i.name: np.random.default_rng(3).uniform(-1, 1, i.shape).astype(np.float32) for i in session.get_inputs()}
        expected = session.run(None, feeds)
        files = {}
        for position, (key, array) in enumerate(feeds.items()):
            files[key] = str(folder / f"input{position}")
            array.tofile(files[key])
        for winograd, bound in zip([False, True], bounds):
            (answer,), _ = converse([{"cmd": "run", "model": path, "inputs": files, "save": str(folder), "winograd": winograd}])
            if answer.get("reference") != []:
                yield f"{name}: {answer}"
                continue
            for position, array in enumerate(expected):
                found = np.fromfile(folder / str(position), np.float32).reshape(array.shape)
                distance = np.abs(found - array).max() / np.abs(array).max()
                print(f"{name}{', winograd' if winograd else ''}: off by {distance:.2g}")
                if not distance <= bound:
                    yield f"{name}: off by {distance}, more than {bound}"


def main():
    if not RUNNER.is_file():
        print("pet-runner is not built")
        return 77
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        failures = list(protocol(folder)) + list(models(folder))
    for failure in failures:
        print(f"onednn_runner: {failure}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
