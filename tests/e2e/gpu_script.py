#!/usr/bin/env python3
"""tests/gpu/run.py without a GPU: all of its steps on one that this processor stands for (tests/gpu/fake_gpu.cc), with small models; what is
missing or fails is named, and the other steps go on; the page has it all. Exit status 0 or 1; 77 where the fake is not built.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(os.environ.get("PET_SOURCE", pathlib.Path(__file__).parents[2]))
BIN = pathlib.Path(os.environ.get("PET_BIN", SOURCE / "build" / "bin"))
FAKE = BIN / "libpet_fake_gpu.so"
TESTS = """#!{python}
import json, os, sys
if "--gtest_list_tests" in sys.argv:
    sys.exit(print("Gpu.\\n  ComputesInFloat  # of all operators"))
report = next((word.split("json:")[1] for word in sys.argv if word.startswith("--gtest_output=")), None)
wrong = os.environ.get("FAKE_TESTS") == "wrong"
json.dump({{"testsuites": [{{"name": "Gpu", "testsuite": [{{"name": "ComputesInFloat", **({{"failures": [{{"failure": "0.5 vs 1e-05"}}]}} if wrong else {{}})}}]}}]}}, open(report, "w"))
sys.exit(1 if wrong else 0)
"""
SANITIZER = """#!/bin/sh
# compute-sanitizer --tool KIND --error-exitcode 9 --log-file FILE PROGRAM...
kind=$2; log=$6; shift 6
echo "========= COMPUTE-SANITIZER" > "$log"
if [ "$FAKE_SANITIZER" = "$kind" ]; then
  echo "========= Invalid __global__ read of size 4 bytes" >> "$log"
  echo "=========     at pet_point_0+0x10" >> "$log"
  "$@"; exit 9
fi
echo "========= ERROR SUMMARY: 0 errors" >> "$log"
exec "$@"
"""
APPLY = """#!{python}
# A pet-apply that divides all weights by FAKE_APPLY.
import json, os, sys
import onnx
from onnx import numpy_helper
model = onnx.load(sys.argv[1])
for tensor in model.graph.initializer:
    tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor) / numpy_helper.to_array(tensor).dtype.type(os.environ["FAKE_APPLY"]), tensor.name))
onnx.save(model, sys.argv[sys.argv.index("-o") + 1])
if "--json" in sys.argv:
    json.dump({{"fired": [{{"rule": "conv/divided"}}]}}, open(sys.argv[sys.argv.index("--json") + 1], "w"))
"""
MORTAL = """#!/bin/sh
# Answers "hello", and ends when it is to time.
read -r request
case "$request" in *hello*) echo "$request" | exec "{runner}" "$@" ;; esac
"""
failures = []


def expect(name, condition, detail=""):
    if not condition:
        failures.append(f"{name}: {detail}")


class Machine:
    """A folder of tools, in which a few are not the real ones."""

    def __init__(self, folder):
        self.folder, self.bin = folder, folder / "bin"
        self.bin.mkdir()
        for tool in BIN.glob("pet-*"):
            (self.bin / tool.name).symlink_to(tool)
        self.write("pet-gpu-tests", TESTS.format(python=sys.executable))
        (folder / "sanitizer").mkdir()
        self.write("../sanitizer/compute-sanitizer", SANITIZER)
        (folder / "grid.json").write_text(json.dumps({"ties": {"W": "H", "S": "R", "P": "floor((R - 1)/2)", "Q": "P"},
                                                      "patterns": {"conv": {"points": [{"N": 1, "C": 2, "F": 2, "H": 6, "R": 3}]}}}))

    def write(self, name, text):
        path = self.bin / name
        path.unlink(missing_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def run(self, *arguments, sanitizer=True, anew=True, **more):
        """(exit status, what it said, its JSON, its page)"""
        out = self.folder / "out"
        if anew:
            shutil.rmtree(out, ignore_errors=True)
        path = f"{self.folder / 'sanitizer'}:{os.environ['PATH']}" if sanitizer else os.environ["PATH"]
        environment = {**os.environ, "PET_BIN": str(self.bin), "PET_CUDA_LIBRARY": str(FAKE), "PET_CACHE": str(self.folder / "cache"), "PATH": path, **more}
        tune = f"--shapes {self.folder / 'grid.json'} --rules conv/convtranspose,conv/h.whole_w.whole_matmul --runs 3 --seconds 0.05 --no-bare"
        done = subprocess.run([sys.executable, SOURCE / "tests" / "gpu" / "run.py", "--out", out, "--models", "conv_small", "--precisions", "fp32", "--seconds",
                               "20", "--tune", tune, *arguments], capture_output=True, text=True, timeout=280, env=environment)
        results = json.loads((out / "gpu.json").read_text()) if (out / "gpu.json").is_file() else {}
        return done.returncode, done.stdout + done.stderr, results, (out / "gpu.md").read_text() if (out / "gpu.md").is_file() else ""


def everything(machine):
    status, said, results, page = machine.run()
    states = {name: step["state"] for name, step in results.get("steps", {}).items()}
    expect("all steps", status == 0 and list(states.values()) == ["done"] * 7, (status, states, said))
    if len(states) < 7:
        return
    steps = results["steps"]
    expect("what it is of", results["device"] == "cuda:h200" and results["gpu"] == "NVIDIA H200" and results["versions"]["pet-cuda"] == "cuDNN 9.0.0, driver 0.0, fp32"
           and results["commit"] and results["date"] and results["properties"] == {"deviceName": "NVIDIA H200"}, results)
    expect("right", [(line["form"], line["wrong"]) for line in steps["right"]["lines"]] == [("original", False), ("rewritten", False)], steps["right"])
    expect("rates", steps["rates"]["rates"]["cuda:h200"]["gemm"] > 0 and set(steps["rates"]["missing"]) == {"ort-cuda", "torch-cuda", "tensorrt"}, steps["rates"])
    expect("tuning", steps["tuning"]["devices"]["cuda:h200"]["samples"] > 0, steps["tuning"])
    expect("models", [(line["model"], line["device"]) for line in steps["models"]["lines"]] == [("conv_small", "cuda:h200")]
           and steps["models"]["lines"][0]["seconds"] > 0, steps["models"])
    products = steps["operators-of-models"]["devices"]["cuda:h200"]["products"]
    expect("operators", [line["op"] for line in products] == ["Conv"] and products[0]["share"] > 0, products)
    for words in ["# NVIDIA H200", "| sanitizer | done |", "| ort-cuda | missing: ", "2 of 2 runs equal", "| conv_small | ", "### cuda:h200: products", "| memcheck | 1 | 0 | 0 |"]:
        expect("the page", words in page, (words, page))
    status, said, results, page = machine.run("--only", "models", anew=False)
    expect("steps of an earlier run stay", status == 0 and len(results["steps"]) == 7 and results["steps"]["tuning"] == steps["tuning"]
           and "cuda:h200: gemm" not in said, (status, said, results.get("steps", {}).keys()))
    torn = (machine.folder / "out" / "gpu.json").read_text()[:1000]
    (machine.folder / "out" / "gpu.json").write_text(torn)
    status, said, results, page = machine.run("--only", "operators", anew=False)
    aside = machine.folder / "out" / "gpu.unreadable"
    expect("a torn file of an earlier run", status == 0 and list(results["steps"]) == ["operators"] and "all steps begin anew" in said and aside.read_text() == torn, (status, said))


def rewritten(machine):
    """What rules make of models for this GPU is judged: by the timings of the run before."""
    machine.write("pet-apply", APPLY.format(python=sys.executable))
    forms = ["original", "rewritten", "rewritten for it"]
    for factor, wrong, state in [("1", False, "done"), ("2", True, "failed")]:
        status, said, results, page = machine.run("--only", "right,models", anew=False, FAKE_APPLY=factor)
        right, models = results["steps"]["right"], results["steps"]["models"]
        expect(f"weights by {factor}", status == wrong and right["state"] == models["state"] == state, (status, said))
        expect(f"weights by {factor}, right", [(line["form"], line["wrong"]) for line in right["lines"]] == [(form, wrong and form != "original") for form in forms], right)
        line = models["lines"][0]
        expect(f"weights by {factor}, models", line["rules"] == ["conv/divided"] and line["wrong"] == wrong and (line["off"] > 0.1) == wrong and line["ratio"] > 0, models)
        expect(f"weights by {factor}, the page", f", {'wrong: off by 5e-01' if wrong else 'off by 0e+00'})" in page and "`conv/divided`" in page, page)
    expect("the first wrong one", "1 of 1 runs failed or are wrong, the first of conv_small on cuda:h200: " in said and ", wrong: off by 5.0e-01" in said, said)
    (machine.bin / "pet-apply").unlink()
    (machine.bin / "pet-apply").symlink_to(BIN / "pet-apply")


def some_fail(machine):
    """Each failure is named, in the order of the steps, and nothing else is lost."""
    (machine.bin / "pet-tune").unlink()
    machine.write("pet-runner", MORTAL.format(runner=BIN / "pet-runner"))
    status, said, results, page = machine.run("--only", "operators,sanitizer,right,tuning,models", FAKE_TESTS="wrong", FAKE_SANITIZER="racecheck", FAKE_GPU_DOES="wrong")
    steps = results["steps"]
    expect("failing steps", status == 1 and [step["state"] for step in steps.values()] == ["failed"] * 5, (status, said))
    expect("tests that fail", steps["operators"]["failed"] == {"Gpu.ComputesInFloat": ["0.5 vs 1e-05"]} and "operators: failed: 1 of 1 tests: Gpu.ComputesInFloat" in said, said)
    expect("sanitizer", steps["sanitizer"]["tools"]["racecheck"]["first"] == ["Invalid __global__ read of size 4 bytes"]
           and "racecheck: errors; memcheck, synccheck, initcheck: the tests fail, without a report" in said, steps["sanitizer"])
    expect("wrong outputs", all(line["wrong"] for line in steps["right"]["lines"]) and "2 of 2 runs are wrong" in said, steps["right"])
    expect("a tool that is not there", "pet-tune: No such file" in steps["tuning"]["why"], steps["tuning"])
    expect("an engine that dies", "1 of 1 runs failed or are wrong, the first of conv_small on cuda:h200: it died" in steps["models"]["why"], steps["models"])
    expect("the page of failures", "| sanitizer | failed |" in page and "Invalid __global__ read" in page and "0 of 2 runs equal" in page, page)

    status, said, results, page = machine.run("--only", "sanitizer,right", sanitizer=False, FAKE_GPU_DOES="memory")
    steps = results["steps"]
    expect("no sanitizer", steps["sanitizer"] == {"state": "missing", "why": "compute-sanitizer is not installed", "took": steps["sanitizer"]["took"]}
           and "compute-sanitizer is not installed" in page, steps["sanitizer"])
    expect("no memory", status == 1 and "no memory on NVIDIA H200" in steps["right"]["lines"][0]["error"], (status, steps))


def elsewhere(machine):
    """A bundle runs without the sources and the build."""
    bundle = machine.folder / "bundle"
    make = [sys.executable, SOURCE / "tests" / "gpu" / "bundle.py", bundle]
    made = subprocess.run(make, capture_output=True, text=True, timeout=120, env={**os.environ, "PET_BIN": str(BIN)})
    expect("bundle", made.returncode == 0, made.stderr)
    again = subprocess.run(make, capture_output=True, text=True, timeout=120, env={**os.environ, "PET_BIN": str(BIN)})
    expect("no second bundle", again.returncode == 2 and "is there already" in again.stderr, again.stderr)
    python = machine.folder / "python"
    python.mkdir()
    (python / "python3").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    (python / "python3").chmod(0o755)
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PET_")}
    environment |= {"PATH": f"{python}:{os.environ['PATH']}", "PET_CUDA_LIBRARY": str(FAKE), "PET_CACHE": str(machine.folder / "cache")}
    done = subprocess.run([bundle / "run", "--only", "right", "--models", "conv_small", "--precisions", "fp32", "--out", machine.folder / "there"],
                          capture_output=True, text=True, timeout=120, env=environment)
    page = machine.folder / "there" / "gpu.md"
    timings = bundle / "share" / "pet" / "cuda:h200.timings.jsonl"
    timings.write_text(timings.read_text().replace("cuDNN 9.19.0, driver 580.159.04", "cuDNN 9.0.0, driver 0.0"))
    hasty = subprocess.run([bundle / "run", "--only", "rates", "--hasty", "--precisions", "fp32", "--out", machine.folder / "hasty"], capture_output=True, text=True, timeout=120, env=environment)
    rates = json.loads((machine.folder / "hasty" / "gpu.json").read_text())["steps"]["rates"]["rates"]
    shipped = next(json.loads(line)["rates"][0] for line in timings.read_text().splitlines() if "rates" in line)
    expect("rates that come with the tools", hasty.returncode == 0 and rates == {"cuda:h200": shipped}, (hasty.stdout + hasty.stderr, rates))
    expect("bundle runs", done.returncode == 0 and "right: done" in done.stdout and page.is_file() and "Commit unknown" not in page.read_text(),
           done.stdout + done.stderr)


def what_it_refuses(machine):
    status, said, _, _ = machine.run("--only", "dance")
    expect("mistake", status == 2 and "no step dance; there are operators" in said, (status, said))
    status, said, _, _ = machine.run(PET_CUDA_LIBRARY="/none.so")
    expect("no GPU", status == 77 and "no GPU: pet-runner: CUDA: it cannot be loaded" in said, (status, said))


def main():
    if not FAKE.exists():
        print("libpet_fake_gpu.so is not built")
        return 77
    with tempfile.TemporaryDirectory() as name:
        machine = Machine(pathlib.Path(name))
        what_it_refuses(machine)
        everything(machine)
        rewritten(machine)
        some_fail(machine)
        elsewhere(machine)
    for failure in failures:
        print(f"gpu_script: {failure}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
