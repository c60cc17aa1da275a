#!/usr/bin/env python3
"""What only a GPU can show: first what is right, then how fast. Each step is named, and where one fails the others go on. Writes
build/gpu/gpu.json after every step, a page of it (page.py), and timings for pet-apply; what the folder has of other steps, of such a GPU, stays.
Exit status 0 or 1; 77 where there is no GPU.

    make -f Makefile.ci test-gpu
    tests/gpu/run.py [--only STEP,...] [--models NAME,...] [--precisions fp32,tf32,fp16] [--jobs 8] [--seconds 1200] [--hasty] [--out build/gpu]

| step | |
|---|---|
| operators | pet-gpu-tests: every operator, model and rule of the engines' tests, at small shapes, in every precision |
| sanitizer | the same in float under compute-sanitizer's tools |
| right | models of tests/models, original and rewritten, in every precision, against ONNX Runtime on the processor |
| rates | what each engine achieves: products, Convs, copies; which engines are here |
| tuning | pet-tune: the default pack's rules at the shapes of these models (--tune: at others), results compared, and how fast their layouts are beside a copy |
| models | PET's and EinNet's operators and networks, and what GPUs are slow at: original and rewritten by those timings, on every engine |
| operators-of-models | the steps of these models: of each Conv and product the share of the peak, of each layout the share of a copy's rate, where it takes a hundredth of its model's time |
"""

import argparse
import concurrent.futures
import contextlib
import functools
import json
import math
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np
import onnx

SOURCE = pathlib.Path(os.environ.get("PET_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
BIN = pathlib.Path(os.environ.get("PET_BIN", SOURCE / "build" / "bin"))
sys.path[:0] = [str(SOURCE / folder) for folder in ["tests/models", "bench", "tests/gpu"]]
import build  # noqa: E402
import compare  # noqa: E402
import models as bench  # noqa: E402
import page  # noqa: E402
import timed  # noqa: E402
import trial  # noqa: E402
import zoo  # noqa: E402
from compare import runner  # noqa: E402

# Of the largest value. The zoo's own tolerances are for float; the others follow from the units of what memory and factors hold.
TOLERANCES = {"fp32": 1e-4, "tf32": 2e-2, "fp16": 3e-2, "bf16": 1e-1}
# Engines beside ours: where `make -f Makefile.ci engines` installs each, and how its process is asked for.
OTHERS = {"ort-cuda": (".engines/cuda", "accelerator_runner.py", "onnxruntime-cuda"), "torch-cuda": (".engines/torch", "torch_runner.py", "torch-cuda"),
          "tensorrt": (".engines/cuda", "accelerator_runner.py", "onnxruntime-tensorrt")}
SANITIZERS = ["memcheck", "racecheck", "synccheck", "initcheck"]
PRODUCTS = {"Conv", "ConvTranspose", "MatMul", "Gemm"}
LAYOUTS = {"Transpose", "Pad", "Slice", "Concat", "Split", "Gather", "DepthToSpace", "SpaceToDepth", "Expand", "Tile", "Resize"}
RUNS = 30
OURS = "pet_point"  # kernels that move or map elements
SEARCH = 0.2  # seconds for the plans of a call, where they are timed beside other work
LARGE = 0.01  # of a model's time: steps that take less are not listed
PAYS = 1.05


class Missing(Exception):
    """Something that this machine does not have: said, and no failure."""


class Failure(Exception):
    """What a step found wrong, or could not do. What it found until then is in `found`."""

    def __init__(self, why, **found):
        super().__init__(why)
        self.found = found


def say(text):
    print(text, flush=True)


def call(tool, *arguments, accept=(0,), seconds=3600, **more):
    """Runs a tool of ours. A Failure where it ends with another status, is not there or does not end."""
    words = [str(word) for word in [BIN / tool, *arguments]]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=seconds, **more)
    except OSError as error:
        raise Failure(f"{tool}: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        raise Failure(f"{tool}: no end after {seconds:.0f} s") from error
    if done.returncode not in accept:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise Failure(said[-1] if said else f"{tool} ended with status {done.returncode}")
    return done


class Run:
    """What was asked for, and what is known so far. `folder`: for models, while it runs."""

    def __init__(self, options, hello, folder):
        self.options = options
        self.folder = folder
        self.building = {}  # name: a lock, so that each model is built once
        self.device = hello["device"]
        self.devices = {p: self.device if p == "fp32" else f"{self.device}:{p}" for p in options.precisions}
        self.missing = {}  # engine: why it is not here
        self.rates = {}  # device: gemm, conv, copy
        self.results = {**bench.provenance("gpu", ["tests/gpu/run.py", *sys.argv[1:]], hello["cpu"], 1), "device": self.device,
                        "gpu": hello["cpu"], "versions": {"pet-cuda": hello["version"]}, "steps": {}}

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
        results = json.loads(earlier.read_text()) if earlier.is_file() else {}
        if any(results.get(key) != self.results[key] for key in ["device", "gpu"]) or results["versions"]["pet-cuda"] != self.results["versions"]["pet-cuda"]:
            return
        self.results["steps"] = {name: step for name, step in results["steps"].items() if name not in self.options.only}
        self.rates = self.results["steps"].get("rates", {}).get("rates", {})
        self.missing = self.results["steps"].get("rates", {}).get("missing", {})

    def keep(self, **found):
        """What a step has found until now: it stays if the run is ended."""
        self.results["steps"][self.step] = {"state": "unfinished", "took": time.monotonic() - self.begun, **found}
        self.write()

    def write(self):
        (self.options.out / "gpu.json").write_text(json.dumps(self.results, indent=1) + "\n")
        (self.options.out / "gpu.md").write_text(page.text(self.results))


# ---- what is right

def gtest(*before, filter="*", seconds=3600):
    """(how many tests ran, {a failed one's name: what it says}, the exit status)"""
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "tests.json"
        words = [*before, BIN / "pet-gpu-tests", "--gtest_brief=1", f"--gtest_filter={filter}", f"--gtest_output=json:{report}"]
        try:
            done = subprocess.run([str(word) for word in words], timeout=seconds, capture_output=True, text=True)
        except OSError as error:
            raise Failure(f"{words[0]}: {error.strerror}") from error
        except subprocess.TimeoutExpired as error:
            raise Failure(f"{filter}: no end after {seconds:.0f} s") from error
        suites = json.loads(report.read_text())["testsuites"] if report.is_file() else []
    tests = [(f"{suite['name']}.{test['name']}", [f["failure"] for f in test.get("failures", [])]) for suite in suites for test in suite["testsuite"]]
    failed = {name: said[:20] for name, said in tests if said}
    if done.returncode and not tests:
        failed[filter] = [(done.stdout + done.stderr)[-4000:]]
    return len(tests), failed, done.returncode


def tests_there_are():
    names, suite = [], ""
    for line in call("pet-gpu-tests", "--gtest_list_tests").stdout.splitlines():
        line = line.split("#")[0].rstrip()
        if line.startswith(" "):
            names.append(suite + line.strip())
        elif line.endswith("."):
            suite = line
    return names


def operators(run):
    """Each test in a process of its own, so that all are tried whatever becomes of one."""
    with concurrent.futures.ThreadPoolExecutor(run.options.jobs) as pool:
        done = list(pool.map(lambda name: gtest(filter=name), tests_there_are()))
    count, failed = sum(ran for ran, _, _ in done), {name: said for _, names, _ in done for name, said in names.items()}
    if failed or not count:
        raise Failure(f"{len(failed)} of {count} tests: {', '.join(failed)}", tests=count, failed=failed)
    return {"tests": count, "failed": {}}


def complaints(log):
    """What a tool of compute-sanitizer says is wrong: the first line of each of its first reports."""
    lines = [line.removeprefix("=========").strip() for line in log.splitlines() if line.startswith("========= ")]
    return [line for line in lines if line and not line.startswith(("COMPUTE-SANITIZER", "ERROR SUMMARY", "RACECHECK SUMMARY", "Saved", "at ", "by ", "Host", "in "))]


def sanitized(tool, kind):
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder) / "log"
        try:
            _, failed, status = gtest(tool, "--tool", kind, "--error-exitcode", "9", "--log-file", log, filter="Gpu.ComputesInFloat")
        except Failure as failure:
            failed, status = {"Gpu.ComputesInFloat": [str(failure)]}, -1
        reports = complaints(log.read_text() if log.is_file() else "")
    say(f"  {kind}: status {status}, {len(reports)} reports" + (f", first: {reports[0]}" if reports else ""))
    return {"status": status, "reports": len(reports), "first": reports[:5], "failed": failed}


def sanitizer(run):
    tool = shutil.which("compute-sanitizer") or shutil.which("/usr/local/cuda/bin/compute-sanitizer")
    if not tool:
        raise Missing("compute-sanitizer is not installed")
    with concurrent.futures.ThreadPoolExecutor(run.options.jobs) as pool:
        found = dict(zip(SANITIZERS, pool.map(lambda kind: sanitized(tool, kind), SANITIZERS)))
    reporting = [kind for kind, one in found.items() if one["reports"]]
    failing = [kind for kind, one in found.items() if one["status"] and not one["reports"]]
    why = [f"{', '.join(reporting)}: errors"] * bool(reporting) + [f"{', '.join(failing)}: the tests fail, without a report"] * bool(failing)
    if why:
        raise Failure("; ".join(why), tools=found)
    return {"tools": found}


def on_gpu(run, model, inputs, folder, device):
    """(pet-run's report, its outputs). Plans that are timed beside other work are kept for those who measure only in haste."""
    words = [model, "--device", device, "--runs", RUNS, "-o", folder, "--json", folder / "report.json", "--search", SEARCH]
    if not run.options.hasty:
        words += ["--cache", folder.parent / "plans.db"]
    for i, (key, array) in enumerate(inputs.items()):
        np.save(folder / f"{i}.npy", array)
        words += ["-i", f"{key}={folder / f'{i}.npy'}"]
    call("pet-run", *words)
    report = json.loads((folder / "report.json").read_text())
    return report, {o["name"]: np.load(o["file"]) for o in report["outputs"]}


def expected(name, path):
    """(inputs, outputs on ONNX Runtime, how far they may be off)"""
    if name in zoo.MODELS:
        known = trial.Expected(name, path)
        return known.inputs[0], known.outputs[0], known.tolerance
    reference = compare.Reference(path)
    return reference.inputs, reference.outputs, TOLERANCES["fp32"]


def right_of(run, name, folder):
    """A line for each precision, of the original and of what pet-apply makes of it."""
    run.check_time()
    path = run.model(name)
    inputs, outputs, tolerance = expected(name, path)
    rewritten = folder / "rewritten.onnx"
    call("pet-apply", path, "-o", rewritten, "-q")
    for precision, device in run.devices.items():
        for form, model in {"original": path, "rewritten": rewritten}.items():
            line = {"model": name, "form": form, "precision": precision}
            (folder / form).mkdir(exist_ok=True)
            try:
                report, found = on_gpu(run, model, inputs, folder / form, device)
                off = runner.max_abs_diff(outputs, found, name) / (runner.max_abs(outputs) or 1)
                line |= {"off": off, "wrong": not off <= max(TOLERANCES[precision], tolerance),
                         "seconds": statistics.median(report["run_seconds"][2:]), "load_seconds": report["load_seconds"], "plans": report["plans"], "reference": sorted({n["op"] for n in report["reference"]})}
            except (Failure, runner.Mistake) as failure:
                line["error"] = str(failure)
            yield line


def all_right_of(run, name):
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        try:
            for line in right_of(run, name, pathlib.Path(folder)):
                lines.append(line)
        except Exception as failure:  # of a model, of ours or a library's: the other models go on
            lines.append({"model": name, "error": f"{type(failure).__name__}: {failure}"})
    say(f"  {name}: " + "; ".join(line.get("error") or f"{line['form']} {line['precision']} off by {line['off']:.1e}" for line in lines))
    return lines


def right(run):
    with concurrent.futures.ThreadPoolExecutor(run.options.jobs) as pool:
        models = run.options.models or [*zoo.MODELS, *build.PAPERS]
        lines = []
        for done in concurrent.futures.as_completed([pool.submit(all_right_of, run, name) for name in models]):
            lines += done.result()
            run.keep(lines=lines)
    lines.sort(key=lambda line: models.index(line["model"]))
    bad = [line for line in lines if line.get("wrong") or "error" in line]
    if bad:
        raise Failure(f"{len(bad)} of {len(lines)} runs are wrong or refused, the first of {bad[0]['model']}", lines=lines)
    return {"lines": lines}


# ---- how fast

def calibrated(device):
    machine = json.loads(call("pet-tune", "--calibrate", "--device", device).stdout)
    return next(rates for rates in machine["rates"] if rates["device"] == device)


def is_here(run, device):
    """Whether an engine can be asked; the first time it is calibrated."""
    if device not in run.rates and device not in run.missing:
        try:
            run.rates[device] = calibrated(device)
            run.results["versions"][device] = f"{run.rates[device]['engine']} {run.rates[device]['version']}"
            say(f"  {device}: " + ", ".join(f"{what} {1e-12 * run.rates[device][what]:.3g}e12" for what in ["gemm", "conv", "copy"]))
        except (Failure, StopIteration) as failure:
            run.missing[device] = str(failure)
            say(f"  {device}: missing: {failure}")
    return device in run.rates


def rates(run):
    for device in [*run.devices.values(), *OTHERS]:
        is_here(run, device)
    ours = [device for device in run.devices.values() if device in run.missing]
    if ours:
        raise Failure(f"{ours[0]}: {run.missing[ours[0]]}", rates=run.rates, missing=run.missing)
    return {"rates": run.rates, "missing": run.missing}


def layout_shares(samples, copy):
    """Of the chains of layouts that begin or end replacements: the share of a copy's rate, the slowest first."""
    shares = [(2 * s["moved"] / (s["opening"] + s["closing"]) / copy, s["name"], s["shapes"]) for s in samples
              if s["moved"] and s["opening"] + s["closing"] > 0] if copy else []
    return [{"share": share, "rule": rule, "shapes": shapes} for share, rule, shapes in sorted(shares, key=lambda each: each[0])]


def hasty_runner(run):
    """A program for pet-tune --runner that times few plans."""
    script = run.folder / "hasty-runner"
    script.write_text(f'#!/bin/sh\nexec "{BIN / "pet-runner"}" --search {SEARCH} "$@"\n')
    script.chmod(0o755)
    return script


def tuned(run, device):
    """What pet-tune found on a device, and what it says is wrong."""
    file = run.timings(device)
    words = [*run.options.pack, "-o", file, "--device", device, "--budget", run.options.seconds, *(["--no-calibrate", "--runner", hasty_runner(run)] if run.options.hasty else [])]
    for path in [] if "--shapes" in run.options.tune else run.models(run.options.models or build.PAPERS).values():
        words += ["--shapes-from", path]
    done = call("pet-tune", *words, *run.options.tune, accept=(0, 5), seconds=run.options.seconds + 600)
    samples = [s for s in timed.samples(file) if s["device"] == device]
    best = {}
    for s in samples:
        best[s["name"]] = max(best.get(s["name"], 0), s["pattern"] / s["replacement"])
    return {"samples": len(samples), "rules": len(best), "pay": {name: ratio for name, ratio in sorted(best.items(), key=lambda each: -each[1]) if ratio >= PAYS},
            "layouts": layout_shares(samples, run.rates.get(device, {}).get("copy")), "wrong": "; ".join(line.strip() for line in done.stdout.splitlines() if "outputs differ" in line) or done.stderr.strip() if done.returncode else ""}


def tuning(run):
    """In haste the precisions side by side: most of the time goes to preparing, and medians bear what little is timed at once."""
    def one(device):
        try:
            found = tuned(run, device)
            say(f"  {device}: {found['samples']} samples of {found['rules']} rules, {len(found['pay'])} pay")
            return found
        except (Failure, ValueError) as failure:
            return {"wrong": str(failure)}

    with concurrent.futures.ThreadPoolExecutor(len(run.devices) if run.options.hasty else 1) as pool:
        found = dict(zip(run.devices.values(), pool.map(one, run.devices.values())))
    bad = [device for device, each in found.items() if each["wrong"]]
    if bad:
        raise Failure(f"{bad[0]}: {found[bad[0]]['wrong']}", devices=found)
    return {"devices": found}


def rewritten_for(run, name, path, folder, device):
    """(the rewritten model, or None where no rule fires by this run's timings; the rules)"""
    timings = run.timings(device)
    if not timings.is_file():
        return None, []
    model, report = folder / f"{device}.onnx", folder / f"{device}.json"
    call("pet-apply", path, *run.options.pack, "-o", model, "--device", device, "--timings", timings, "--json", report, "-q")
    rules = [fired["rule"] for fired in json.loads(report.read_text())["fired"]]
    return (model if rules else None), sorted(set(rules))


class Engine:
    """A process that times models on a device, and is asked again and again."""

    def __init__(self, run, device):
        self.run, self.device = run, device
        self.seconds = 30 + 5 * run.options.model_seconds  # a question that takes longer has no answer
        if device in OTHERS:
            environment, script, engine = OTHERS[device]
            python = SOURCE / environment / "bin" / "python"
            words = [python if python.is_file() else "python3", SOURCE / "runtime" / "ort" / script, "--engine", engine]
        else:
            words = [BIN / "pet-runner", "--device", device, *(["--search", SEARCH] if run.options.hasty else [])]
        self.runner = bench.Runner(*words)

    def ask(self, request):
        watch = threading.Timer(self.seconds, self.runner.process.kill)
        watch.start()
        try:
            answer = self.runner.ask(request)
        except OSError as error:
            raise Failure(f"the engine is gone: {error.strerror}") from error
        finally:
            watch.cancel()
        if "error" in answer:
            raise Failure(answer["error"])
        return answer

    def again(self):
        """Itself; another one where its process has ended."""
        if self.runner.process.poll() is None:
            return self
        self.close()
        return Engine(self.run, self.device)

    def close(self):
        with contextlib.suppress(OSError):
            self.runner.close()


def timed_on(run, engine, models):
    """Figures of a model, and of its rewritten form where there is one, with the model itself as a control."""
    paths = [str(path) for path in (models if len(models) == 1 else [*models, models[0]])]
    answer = engine.ask({"cmd": "time", "models": paths, "runs": RUNS, "budget_s": run.options.model_seconds})
    first, *others = answer["median"]
    line = {"seconds": first, "p10": answer["p10"][0], "p90": answer["p90"][0]}
    if others:
        line |= {"rewritten": others[0], "ratio": first / others[0], "control": first / others[1], "off": answer["max_abs_diff"][1] / (answer["max_abs"] or 1)}
    return line


def networks(run):
    names = run.options.models or build.PAPERS
    paths, made, lines = run.models(names), {}, []
    own = run.devices.values()
    for device in [*own, *(other for other in OTHERS if is_here(run, other))]:
        engine = Engine(run, device)
        for name in names:
            rules_of = device if device in own else run.device
            line = {"model": name, "device": device}
            try:
                run.check_time()
                if (name, rules_of) not in made:
                    made[name, rules_of] = rewritten_for(run, name, paths[name], run.folder, rules_of)
                model, line["rules"] = made[name, rules_of]
                line |= timed_on(run, engine, [paths[name], model] if model else [paths[name]])
            except (Failure, ValueError, KeyError) as failure:
                line["error"] = str(failure)
                engine = engine.again()
            lines.append(line)
            run.keep(lines=lines)
            say(f"  {name} on {device}: " + (line.get("error") or f"{1e3 * line['seconds']:.3f} ms, ratio {line.get('ratio', 1):.2f}"))
        engine.close()
    bad = [line for line in lines if "error" in line]
    others = {other: run.missing[other] for other in OTHERS if other in run.missing}
    if bad:
        raise Failure(f"{len(bad)} of {len(lines)} runs failed, the first of {bad[0]['model']} on {bad[0]['device']}: {bad[0]['error']}", lines=lines,
                      missing=others)
    return {"lines": lines, "missing": others}


@functools.cache
def work_of(path):
    """{an output: the floating-point operations of the Conv or product that computes it}"""
    graph = onnx.shape_inference.infer_shapes(onnx.load(path)).graph
    shapes = {tensor.name: list(tensor.dims) for tensor in graph.initializer}
    shapes |= {value.name: [d.dim_value for d in value.type.tensor_type.shape.dim] for value in [*graph.input, *graph.value_info, *graph.output]}
    work = {}
    for node in graph.node:
        if node.op_type not in PRODUCTS or not all(name in shapes for name in [*node.input[:2], node.output[0]]):
            continue
        left, right, result = (math.prod(shapes[name]) for name in [*node.input[:2], node.output[0]])
        if node.op_type == "Conv":  # each result: the taps of one filter
            work[node.output[0]] = 2 * result * right // shapes[node.input[1]][0]
        elif node.op_type == "ConvTranspose":  # each element: all taps of its channel
            work[node.output[0]] = 2 * left * right // shapes[node.input[1]][0]
        else:
            transposed = any(a.name == "transA" and a.i for a in node.attribute)
            work[node.output[0]] = 2 * result * shapes[node.input[0]][0 if transposed else -1]
    return work


def steps_of(run, engine, device, name):
    """Of a model's large steps what each takes, and the share of what the device can do."""
    run.check_time()
    path = run.model(name)
    steps, work, rates = engine.ask({"cmd": "profile", "model": str(path)})["steps"], work_of(path), run.rates[device]
    whole = sum(step["seconds"] for step in steps)
    copy = rates["copy"] / (2 if device.endswith("16") else 1)  # rates count four bytes for each number
    for step in steps:
        if step["seconds"] < LARGE * whole:
            continue
        line = {"model": name, **step, "of_model": step["seconds"] / whole}
        if step["op"] in PRODUCTS and step["node"] in work and not step["how"].startswith(OURS):
            peak = max(rates["conv"], rates["gemm"])
            yield line | {"kind": "products", "share": work[step["node"]] / step["seconds"] / peak}
            continue
        is_layout = step["op"] in LAYOUTS | PRODUCTS | {""}  # beside a product: its operands are brought to another order
        yield line | {"kind": "layouts" if is_layout else "others", "share": 2 * step["bytes"] / step["seconds"] / copy}


def by_kind(lines):
    lines = sorted(lines, key=lambda line: line["share"])
    return {kind: [line for line in lines if line["kind"] == kind] for kind in ["products", "layouts", "others"]}


def operators_of_models(run):
    names, found, wrong = run.options.models or build.PAPERS, {}, []
    run.models(names)
    for device in run.devices.values():
        if not is_here(run, device):
            raise Failure(f"{device}: {run.missing[device]}")
        lines, engine = [], Engine(run, device)
        for name in names:
            try:
                lines += steps_of(run, engine, device, name)
                run.keep(devices=found | {device: by_kind(lines)})
            except Failure as failure:
                wrong.append(f"{name} on {device}: {failure}")
                engine = engine.again()
        engine.close()
        found[device] = by_kind(lines)
        say(f"  {device}: {', '.join(f'{len(of)} {kind}' for kind, of in found[device].items())}")
    if wrong:
        raise Failure(wrong[0], devices=found)
    return {"devices": found}


STEPS = {"operators": operators, "sanitizer": sanitizer, "right": right, "rates": rates, "tuning": tuning, "models": networks,
         "operators-of-models": operators_of_models}


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
    parser.add_argument("--hasty", action="store_true", help="on a machine that is lent by the minute: plans that are timed beside other work are kept, and few are timed")
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
