#!/usr/bin/env python3
"""What only a GPU can show: first what is right, then how fast. Each step is named, and where one fails the others go on. Writes
build/gpu/gpu.json after every step, a page of it (page.py), and timings for pet-apply; what the folder has of other steps, of such a GPU, stays.
Exit status 0 or 1; 77 where there is no GPU.

    make -f Makefile.ci test-gpu
    tests/gpu/run.py [--only STEP,...] [--models NAME,...] [--precisions fp32,tf32,fp16] [--jobs 8] [--seconds 1200] [--hasty] [--out build/gpu]

| step | |
|---|---|
| operators | pet-gpu-tests: every operator and model of the engines' tests, at small shapes, in every precision; the default pack's rules in each, and in float as whatever is the fastest |
| sanitizer | under compute-sanitizer's tools: the operators in float and in fp16, the depthwise kernels and those with tables, a twelfth of the rules, timed and in fp16 |
| right | models of tests/models, original, rewritten for the processor and for this GPU, in every precision, against ONNX Runtime on the processor |
| rates | what each engine achieves: products, Convs, copies; which engines are here |
| tuning | pet-tune: the default pack's rules at the shapes of these models (--tune: at others), results compared, and how fast their layouts are beside a copy |
| models | PET's and EinNet's operators and networks, and what GPUs are slow at: original and rewritten by those timings, on every engine; a rewritten model makes what the original makes |
| operators-of-models | the steps of these models: of each Conv and product the share of the peak, of each layout the share of a copy's rate, where it takes a hundredth of its model's time |
"""

import argparse
import concurrent.futures
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

from engines import SOURCE, Failure, Missing, call, say  # first: it says where the others are
import build
import models as bench
import page
from steps import STEPS, TOLERANCES


class Run:
    """What was asked for, and what is known so far. `folder`: for models, while it runs."""

    def __init__(self, options, hello, folder):
        self.options = options
        self.folder = folder
        self.building = {}  # name: a lock, so that each model is built once
        self.device = hello["device"]
        self.devices = {p: self.device if p == "fp32" else f"{self.device}:{p}" for p in options.precisions}
        self.missing = {}  # engine: why it is not here
        self.here = set()  # engines
        self.rates = {}  # device: gemm, conv, copy
        self.results = {**bench.provenance("gpu", ["tests/gpu/run.py", *sys.argv[1:]], hello["cpu"], 1), "device": self.device,
                        "gpu": hello["cpu"], "versions": {"pet-cuda": hello["version"]}, "properties": hello.get("properties"), "steps": {}}

    def model(self, name):
        """The model's path. Throws what building it does."""
        path = self.folder / f"{name}.onnx"
        with self.building.setdefault(name, threading.Lock()):
            if not path.is_file():
                words = [sys.executable, SOURCE / "tests" / "models" / "build.py", self.folder, name]
                done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
                if done.returncode:
                    path.unlink(missing_ok=True)
                    raise Failure(f"{name} cannot be built: {done.stderr.strip().splitlines()[-1:]}")
        return path

    def models(self, names):
        """{name: path}, built side by side."""
        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            return dict(zip(names, pool.map(self.model, names)))

    def timings(self, device):
        return self.options.out / f"{device}.timings.jsonl"

    def check_time(self):
        """Throws Failure where the step has taken as long as it may."""
        if self.options.limit and time.monotonic() - self.begun > self.options.limit:
            raise Failure("no time left")

    def resume(self):
        """Steps of an earlier run on such a GPU with the same software that are in the folder stay, with the rates."""
        earlier = self.options.out / "gpu.json"
        try:
            results = json.loads(earlier.read_text()) if earlier.is_file() else {}
        except ValueError as error:
            aside = earlier.with_suffix(".unreadable")
            earlier.replace(aside)
            say(f"{earlier}: {error}; it is {aside} now, and all steps begin anew")
            return
        if any(results.get(key) != self.results[key] for key in ["device", "gpu"]) or results["versions"]["pet-cuda"] != self.results["versions"]["pet-cuda"]:
            return
        self.results["steps"] = {name: step for name, step in results["steps"].items() if name not in self.options.only}
        self.rates = self.results["steps"].get("rates", {}).get("rates", {})
        self.missing = self.results["steps"].get("rates", {}).get("missing", {})
        self.here = set(self.rates)

    def keep(self, **found):
        """What a step has found until now: it stays if the run is ended."""
        self.results["steps"][self.step] = {"state": "unfinished", "took": time.monotonic() - self.begun, **found}
        self.write()

    def write(self):
        """As a whole or not at all, whenever the run is ended."""
        for name, text in [("gpu.json", json.dumps(self.results, indent=1) + "\n"), ("gpu.md", page.text(self.results))]:
            begun = self.options.out / f"{name}.begun"
            begun.write_text(text)
            begun.replace(self.options.out / name)


def take(run, name):
    """One step: what it found, or why it did not; never an exception."""
    say(f"{name} ...")
    begin = run.begun = time.monotonic()
    run.step = name
    try:
        found = {"state": "done", **STEPS[name](run)}
    except Missing as missing:
        found = {"state": "missing", "why": str(missing)}
    except Failure as failure:
        found = {"state": "failed", "why": str(failure), **failure.found}
    except Exception as error:  # ours or a library's: the other steps go on
        found = {"state": "failed", "why": f"{type(error).__name__}: {error}"}
    run.results["steps"][name] = found | {"took": time.monotonic() - begin}
    say(f"{name}: {found['state']}" + (f": {found['why']}" if "why" in found else ""))
    run.write()


def parse():
    parser = argparse.ArgumentParser(description="Checks and measures pet on the GPU at hand.")
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(STEPS), help=f"steps: {', '.join(STEPS)}")
    parser.add_argument("--models", type=lambda text: text.split(","), help="instead of all, names of tests/models/build.py")
    parser.add_argument("--precisions", type=lambda text: text.split(","), default=["fp32", "tf32", "fp16"])
    parser.add_argument("--device", default="cuda", help="of several GPUs: cuda:1, cuda:h200")
    parser.add_argument("--jobs", type=int, default=min(8, os.cpu_count() or 1), help="so many at once, of what is right and not timed")
    parser.add_argument("--seconds", type=int, default=1200, help="to tune the rules for, in each precision")
    parser.add_argument("--model-seconds", type=float, default=20, help="to time a model for, on each engine")
    parser.add_argument("--pack", type=lambda text: [text], default=[], help="of rules, instead of the one that comes with the tools")
    parser.add_argument("--tune", type=lambda text: text.split(), default=[], help="options of pet-tune")
    parser.add_argument("--hasty", action="store_true", help="on a machine that is lent by the minute: plans that are timed beside other work are kept, and few are timed; rates that come with the tools are taken, others' are not asked for")
    parser.add_argument("--limit", type=float, help="seconds after which a step begins with no other model")
    parser.add_argument("--built", type=pathlib.Path, help="the folder that models are built in, where they stay; those that are there are taken as they are")
    parser.add_argument("--out", type=pathlib.Path, default=SOURCE / "build" / "gpu")
    options = parser.parse_args()
    for what, given, known in [("step", options.only, STEPS), ("model", options.models or [], build.EVERY), ("precision", options.precisions, TOLERANCES)]:
        unknown = [name for name in given if name not in known]
        if unknown:
            parser.error(f"no {what} {', '.join(unknown)}; there are {', '.join(known)}")
    return options


def main():
    options = parse()
    try:
        hello = json.loads(call("pet-runner", "--device", options.device, input='{"cmd": "hello"}\n').stdout)
    except Failure as failure:
        say(f"no GPU: {failure}")
        return 77
    for folder in [options.out, options.built or options.out]:
        folder.mkdir(parents=True, exist_ok=True)
    with contextlib.nullcontext(options.built) if options.built else tempfile.TemporaryDirectory() as folder:
        run = Run(options, hello, pathlib.Path(folder))
        run.resume()
        say(f"{run.device}: {hello['cpu']}, {hello['version']}")
        for name in STEPS:
            if name in options.only:
                take(run, name)
    run.write()
    states = {name: step["state"] for name, step in run.results["steps"].items()}
    say(f"{', '.join(f'{name} {state}' for name, state in states.items())}; {options.out / 'gpu.md'}")
    return 1 if "failed" in states.values() else 0


if __name__ == "__main__":
    sys.exit(main())
