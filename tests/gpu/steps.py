"""The steps of run.py: each a function of what is known so far, which returns what it found, or throws Missing or Failure."""

import concurrent.futures
import functools
import json
import math
import pathlib
import shutil
import statistics
import subprocess
import tempfile

import numpy as np
import onnx

from engines import BIN, OTHERS, RUNS, SEARCH, Engine, Failure, Missing, call, hasty_runner, is_here, say, timed_on  # first: it says where the others are
import build
import compare
import timed
import trial
import zoo
from compare import runner

# Of the largest value. The zoo's own tolerances are for float; the others follow from the units of what memory and factors hold.
TOLERANCES = {"fp32": 1e-4, "tf32": 2e-2, "fp16": 3e-2, "bf16": 1e-1}
OF_OTHERS = "tf32"  # what other engines may compute in, unless they are told otherwise
SANITIZERS = ["memcheck", "racecheck", "synccheck", "initcheck"]
PRODUCTS = {"Conv", "ConvTranspose", "MatMul", "Gemm"}
LAYOUTS = {"Transpose", "Pad", "Slice", "Concat", "Split", "Gather", "DepthToSpace", "SpaceToDepth", "Expand", "Tile", "Resize"}
OURS = "pet_point"  # kernels that move or map elements
LARGE = 0.01  # of a model's time: steps that take less are not listed
PAYS = 1.05
# What runs under compute-sanitizer: the operators in float and in 16 bits, the depthwise kernels, those with tables, a part of the rules.
SANITIZED = ["Gpu.ComputesInFloat", "Gpu.KernelsOfEachChannelAreTheLibrarys", "Gpu.KernelsWithTablesAreTheLibrarys", "Gpu.ComputesInHalfPrecision", "Parts/GpuRules.BothSidesAreTheReference/0_fp32_timed", "Parts/GpuRules.BothSidesAreTheReference/0_fp16"]


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
            count, failed, status = gtest(tool, "--tool", kind, "--error-exitcode", "9", "--log-file", log, filter=":".join(SANITIZED))
        except Failure as failure:
            count, failed, status = 0, {SANITIZED[0]: [str(failure)]}, -1
        reports = complaints(log.read_text() if log.is_file() else "")
    say(f"  {kind}: status {status}, {len(reports)} reports" + (f", first: {reports[0]}" if reports else ""))
    return {"tests": count, "status": status, "reports": len(reports), "first": reports[:5], "failed": failed}


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
    """A line for each precision, of the original and of what pet-apply makes of it for the processor and, where rules fire by its
    timings, for the GPU."""
    run.check_time()
    path = run.model(name)
    inputs, outputs, tolerance = expected(name, path)
    rewritten = folder / "rewritten.onnx"
    call("pet-apply", path, "-o", rewritten, "-q")
    for precision, device in run.devices.items():
        for form in ["original", "rewritten", "rewritten for it"]:
            line = {"model": name, "form": form, "precision": precision}
            (folder / form).mkdir(exist_ok=True)
            try:
                model = {"original": path, "rewritten": rewritten}.get(form) or rewritten_for(run, path, folder, device)[0]
                if not model:
                    continue
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
        models = run.options.models or list(dict.fromkeys([*zoo.MODELS, *build.ON_GPUS]))
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


def tuned(run, device):
    """What pet-tune found on a device, and what it says is wrong."""
    file = run.timings(device)
    words = [*run.options.pack, "-o", file, "--device", device, "--budget", run.options.seconds, *(["--no-calibrate", "--runner", hasty_runner(run)] if run.options.hasty else [])]
    for path in [] if "--shapes" in run.options.tune else run.models(run.options.models or build.ON_GPUS).values():
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


def rewritten_for(run, path, folder, device):
    """(what pet-apply makes of a model for a device, by this run's timings or, without such, by those that come with the tools; None where no
    rule fires; the rules)"""
    timings = run.timings(device)
    if not timings.is_file() and not (BIN.parent / "share" / "pet" / timings.name).is_file():
        return None, []
    model, report = folder / f"{path.stem} {device}.onnx", folder / f"{path.stem} {device}.json"
    call("pet-apply", path, *run.options.pack, "-o", model, "--device", device, *(["--timings", timings] if timings.is_file() else []), "--json", report, "-q")
    rules = [fired["rule"] for fired in json.loads(report.read_text())["fired"]]
    return (model if rules else None), sorted(set(rules))


def said_of(line):
    wrong = f", wrong: off by {line['off']:.1e}" if line.get("wrong") else ""
    return line.get("error") or f"{1e3 * line['seconds']:.3f} ms, ratio {line.get('ratio', 1):.2f}{wrong}"


def networks(run):
    """How fast; what a rewritten model makes is compared with what the original makes on the same engine."""
    names = run.options.models or build.ON_GPUS
    paths, made, lines = run.models(names), {}, []
    precisions = {device: precision for precision, device in run.devices.items()}
    for device in [*precisions, *(other for other in OTHERS if is_here(run, other))]:
        engine = Engine(run, device)
        for name in names:
            rules_of = device if device in precisions else run.device
            line = {"model": name, "device": device}
            try:
                run.check_time()
                if (name, rules_of) not in made:
                    made[name, rules_of] = rewritten_for(run, paths[name], run.folder, rules_of)
                model, line["rules"] = made[name, rules_of]
                line |= timed_on(run, engine, [paths[name], model] if model else [paths[name]])
                if "off" in line:
                    line["wrong"] = not line["off"] <= TOLERANCES[precisions.get(device, OF_OTHERS)]
            except (Failure, ValueError, KeyError) as failure:
                line["error"] = str(failure)
                engine = engine.again()
            lines.append(line)
            run.keep(lines=lines)
            say(f"  {name} on {device}: {said_of(line)}")
        engine.close()
    bad = [line for line in lines if "error" in line or line.get("wrong")]
    others = {other: run.missing[other] for other in OTHERS if other in run.missing}
    if bad:
        raise Failure(f"{len(bad)} of {len(lines)} runs failed or are wrong, the first of {bad[0]['model']} on {bad[0]['device']}: {said_of(bad[0])}",
                      lines=lines, missing=others)
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
    names, found, wrong = run.options.models or build.ON_GPUS, {}, []
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
