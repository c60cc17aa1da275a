#!/usr/bin/env python3
"""pet-runner against ONNX Runtime: the same requests as runtime/ort/runner.py, the test models' outputs, every kind of mistake.

Exit status 0 or 1; 77 where pet-runner is not built.
"""

import os
import pathlib
import sys
import tempfile

import numpy as np
import onnxruntime

SOURCE = pathlib.Path(os.environ.get("PET_SOURCE", pathlib.Path(__file__).parents[2]))
RUNNER = pathlib.Path(os.environ.get("PET_BIN", SOURCE / "build" / "bin")) / "pet-runner"
sys.path += [str(SOURCE / "tests" / "models"), str(SOURCE / "tests" / "e2e")]

import build  # noqa: E402  tests/models/build.py
import runner  # noqa: E402  tests/e2e/runner.py: what every runner must answer

# model -> largest difference from ONNX Runtime, of the largest output; without and with Winograd's algorithm
MODELS = {"resnet18": (2e-6, 1e-4), "srcnn": (2e-6, 1e-4), "inception": (2e-6, 1e-4), "dcgan": (2e-5, 1e-4)}


def cases(m):
    """What pet-runner answers besides; the last one shows that it lives on."""
    error = runner.error
    return [
        ("run, all of it", {"cmd": "run", "model": m["half"]}, lambda a: a["reference"] == []),
        ("notes", {"cmd": "notes", "model": m["relu"]},
         lambda a: [n["op"] for n in a["nodes"]] == ["Relu"] and a["reference"] == []),
        ("profile", {"cmd": "profile", "model": m["relu"]}, lambda a: [s["op"] for s in a["steps"]] == ["Relu"] and a["steps"][0]["seconds"] > 0),
        ("missing file", runner.time_of([m["relu"], m["missing"]]), error("missing.onnx", "cannot load")),
        ("dynamic", {"cmd": "run", "model": m["dynamic"]}, error("dynamic", "'N'")),
        ("time dynamic", runner.time_of([m["dynamic"]], dims={"N": 2}), lambda a: runner.consistent(a, 1, 4)),
        ("dims of another name", runner.time_of([m["dynamic"]], dims={"M": 2}), error("'M'")),
        ("an input that is none", {"cmd": "run", "model": m["relu"], "inputs": {"q": m["garbage"]}}, error("no input q")),
        ("an input too short", {"cmd": "run", "model": m["relu"], "inputs": {"x": m["garbage"]}}, error("1024 bytes")),
        ("hello", {"cmd": "hello"},
         lambda a: a["engine"] == "pet-onednn" and a["version"] and a["isa"] and a["threads"] == 1 and a["vendor"] and a["family"] > 0 and len(a["caches"]) == 3),
    ]


def protocol(folder):
    paths = runner.write_models(folder)
    return runner.failures_of([RUNNER], runner.same_cases(paths) + cases(paths))


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
            request = {"cmd": "run", "model": path, "inputs": files, "save": str(folder), "winograd": winograd}
            (answer,), _ = runner.converse([RUNNER], [request])
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
