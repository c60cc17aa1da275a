#!/usr/bin/env python3
"""Our own engine on models and on what rules make of them, by pet-runner, against ONNX Runtime on the model as it was.

The small models of tests/models/build.py, as they are and with all rules that fit; and the rules of the pack, with
PET_TEST_PART=K/N every N-th of them, each at one site of the models of models_each.py. Nothing may be left to the reference
evaluation. Exit status 0 or 1; 77 where pet-runner is not built.
"""

import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnxruntime

import _part as part
from models import build, expect, failures
from models_each import PATTERNS, batches, candidates, odd
from pack import made, tool

RUNNER = pathlib.Path(os.environ["PET_BIN"]) / "pet-runner"
LEAST = 700  # rewritten models, in all parts together
TOLERANCE = 1e-5  # of the largest value; without Winograd's algorithm of the engine's


class Engine:
    """A pet-runner process."""

    def __init__(self):
        self.process = subprocess.Popen([str(RUNNER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


BY_REFERENCE = {"CumSum"}  # what our engines have no lowering of


class Model:
    """A model with inputs in files, and what ONNX Runtime computes from them."""

    def __init__(self, path, folder):
        self.path = path
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        self.files, feeds = {}, {}
        for i, value in enumerate(session.get_inputs()):
            feeds[value.name] = np.random.default_rng(i).uniform(-1, 1, value.shape).astype(np.float32)
            self.files[value.name] = str(folder / f"{path.stem}.{i}")
            feeds[value.name].tofile(self.files[value.name])
        self.outputs = session.run(None, feeds)

    def problem(self, path, engine, folder):
        """What is wrong with a rewritten model on our engine; None: nothing."""
        answer = engine.ask({"cmd": "run", "model": str(path), "inputs": self.files, "save": str(folder), "winograd": False})
        left = [node for node in answer.get("reference", []) if node["op"] not in BY_REFERENCE]
        if "error" in answer or left:
            return answer.get("error") or f"left to the reference: {left}"
        for i, expected in enumerate(self.outputs):
            found = np.fromfile(folder / str(i), np.float32).reshape(expected.shape)
            off = np.abs(found - expected).max() / np.abs(expected).max()
            if not off <= TOLERANCE:
                return f"output {i} is off by {off:.1e}"
        return None


def one_site_each(models, pack):
    """(model, rule, site), for each rule the first site of the first model that has one, and of the second."""
    first = {}
    for model in models:
        for rule, site in candidates(model.path, pack):
            if rule.split("/")[0] in PATTERNS:
                first.setdefault((rule, model.path), (model, rule, site))
    mine = set(part.mine({rule for rule, _ in first}))
    return [site for (rule, _), site in first.items() if rule in mine]


def main():
    if not RUNNER.is_file():
        print("pet-runner is not built")
        return 77
    pack, engine = made(), Engine()
    with tempfile.TemporaryDirectory() as name, concurrent.futures.ThreadPoolExecutor(2) as pool:
        folder = pathlib.Path(name)
        models = [Model(batches(folder / "batches.onnx"), folder), Model(odd(folder / "odd.onnx"), folder)]
        for model in models:
            expect(model.path.name, (p := model.problem(model.path, engine, folder)) is None, p)
        for name in build.SMALL:
            build.build(name, folder)
            model, path = Model(folder / f"{name}.onnx", folder), folder / f"{name}.all.onnx"
            expect(name, (p := model.problem(model.path, engine, folder)) is None, p)
            done = tool("pet-apply", model.path, pack, "--trust-pack", "--all", "-o", path, timeout=120)
            p = done.stderr if done.returncode else model.problem(path, engine, folder)
            expect(f"{name}, rewritten", p is None, p)
        todo = one_site_each(models, pack)

        def rewrite(numbered):
            number, (model, rule, site) = numbered
            path = folder / f"{number}.onnx"
            return path, tool("pet-apply", model.path, pack, "--trust-pack", "--all", "--only", rule, "--site", site, "-o", path, timeout=120)

        for (model, rule, site), (path, done) in zip(todo, pool.map(rewrite, enumerate(todo))):
            problem = done.stderr if done.returncode else model.problem(path, engine, folder)
            expect(f"{rule} at {site} of {model.path.name}", problem is None, problem)
        least = LEAST // part.numbers()[1]
        expect("rules apply", len(todo) >= least, f"{len(todo)} of at least {least} rewritten models")
        print(f"{len(todo)} rewritten models")
    for failure in failures:
        print(f"models_engine: {failure}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
