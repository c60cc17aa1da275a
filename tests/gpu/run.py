#!/usr/bin/env python3
"""What only a GPU can show, in this order: every operator and model of the engines' tests in every precision, once more under
compute-sanitizer where it is installed; the zoo (tests/models/zoo.py) against ONNX Runtime on the processor, original and
rewritten, and its times. Writes build/gpu.json. Exit status 0 or 1; 77 where there is no GPU.

    make -f Makefile.ci test-gpu
    tests/gpu/run.py [NAME...]     these models of the zoo
"""

import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

import numpy as np

SOURCE = pathlib.Path(os.environ.get("PET_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
BIN = pathlib.Path(os.environ.get("PET_BIN", SOURCE / "build" / "bin"))
sys.path[:0] = [str(SOURCE / "tests" / "models"), str(SOURCE / "tests" / "e2e")]
import build  # noqa: E402
import trial  # noqa: E402
import zoo  # noqa: E402
from compare import runner  # noqa: E402

# Of the largest value. The zoo's own tolerances are for float; the others follow from the units of what memory and factors hold.
TOLERANCES = {"fp32": 0.0, "tf32": 2e-2, "fp16": 3e-2}
RUNS = 30


def say(text):
    print(text, flush=True)


def tests():
    """(what ran, what failed)"""
    binary = BIN / "pet-gpu-tests"
    results = {"tests": subprocess.run([binary, "--gtest_brief=1"]).returncode}
    sanitizer = shutil.which("compute-sanitizer") or shutil.which("/usr/local/cuda/bin/compute-sanitizer")
    if sanitizer:
        words = [sanitizer, "--error-exitcode", "9", binary, "--gtest_brief=1", "--gtest_filter=Gpu.ComputesInFloat"]
        results["compute-sanitizer"] = subprocess.run(words).returncode
    else:
        say("compute-sanitizer is not installed: left out")
    return results


def on_gpu(model, inputs, folder, precision):
    """(pet-run's report, its outputs); an error's text in place of the report."""
    words = [BIN / "pet-run", model, "--device", "cuda", "--precision", precision, "--runs", RUNS, "-o", folder, "--json", folder / "report.json"]
    for i, (key, array) in enumerate(inputs.items()):
        np.save(folder / f"{i}.npy", array)
        words += ["-i", f"{key}={folder / f'{i}.npy'}"]
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True)
    if done.returncode:
        return done.stderr.strip(), {}
    report = json.loads((folder / "report.json").read_text())
    return report, {o["name"]: np.load(o["file"]) for o in report["outputs"]}


def off_by(wanted, found, name):
    return runner.max_abs_diff(wanted, found, name) / (runner.max_abs(wanted) or 1)


def of_model(name, folder):
    """A line for each precision, of the original and of what pet-apply makes of it."""
    expected = trial.Expected(name, build.build(name, folder))
    rewritten = folder / "rewritten.onnx"
    done = subprocess.run([BIN / "pet-apply", expected.path, "-o", rewritten, "-q"], capture_output=True, text=True)
    models = {"original": expected.path} | ({"rewritten": rewritten} if done.returncode == 0 and rewritten.exists() else {})
    lines = []
    for precision, least in TOLERANCES.items():
        for form, path in models.items():
            (folder / form).mkdir(exist_ok=True)
            report, outputs = on_gpu(path, expected.inputs[0], folder / form, precision)
            line = {"model": name, "form": form, "precision": precision}
            if isinstance(report, str):
                lines.append(line | {"error": report})
                continue
            off = off_by(expected.outputs[0], outputs, name)
            seconds = statistics.median(report["run_seconds"][2:])
            lines.append(line | {"off": off, "wrong": not off <= max(least, expected.tolerance), "seconds": seconds,
                                 "reference": [n["op"] for n in report["reference"]], "device": report["version"]})
    return lines


def main():
    probe = subprocess.run([BIN / "pet-run", SOURCE / "README.md", "--device", "cuda"], capture_output=True, text=True)
    if "CUDA:" in probe.stderr:
        say(f"no GPU: {probe.stderr.strip()}")
        return 77
    results = {"commit": os.environ.get("PET_TEST_COMMIT", ""), "checks": tests(), "models": []}
    for name in sys.argv[1:] or zoo.MODELS:
        with tempfile.TemporaryDirectory() as folder:
            for line in of_model(name, pathlib.Path(folder)):
                results["models"].append(line)
                say(json.dumps(line))
    (SOURCE / "build" / "gpu.json").write_text(json.dumps(results, indent=1) + "\n")
    bad = [m for m in results["models"] if m.get("wrong") or "error" in m]
    say(f"{len(results['models'])} runs, {len(bad)} wrong or refused; build/gpu.json")
    return 1 if bad or any(results["checks"].values()) else 0


sys.exit(main())
