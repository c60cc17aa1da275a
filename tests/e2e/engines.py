#!/usr/bin/env python3
"""An engine that is missing, crashes, hangs, is of another version or answers wrongly: named, and none of its samples are kept.

The engines are modules of their names (fakes/) that do what the environment says, under the real runners. OpenVINO's in every
part (_part.py), the others in one each. Exit status 0 or 1.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(os.environ.get("PET_SOURCE", pathlib.Path(__file__).parents[2]))
BIN = pathlib.Path(os.environ.get("PET_BIN", SOURCE / "build" / "bin"))
sys.path += [str(SOURCE / "tests" / "e2e"), str(SOURCE / "tests" / "models")]

import onnx  # noqa: E402
import _part as part  # noqa: E402
import graph  # noqa: E402
import runner  # noqa: E402  tests/e2e/runner.py: what every runner must answer
from timed import samples  # noqa: E402

FAKES = SOURCE / "tests" / "e2e" / "fakes"
GRID = {"ties": {"W": "H", "S": "R", "P": "floor((R - 1)/2)", "Q": "P"},
        "patterns": {"conv": {"points": [{"N": 1, "C": 8, "F": 8, "H": 12, "R": 3}]}}}
# device: its runner, the engine's name, the first package that is missed, what its converter says
DEVICES = {
    "openvino-cpu": ("openvino_runner.py", "openvino", "openvino", None),
    "mnn-cpu": ("mnn_runner.py", "mnn", "MNN", "MNN's converter failed with status 1; it said: These Op Not Support: Wish"),
    "ncnn-cpu": ("ncnn_runner.py", "ncnn", "ncnn", "pnnx failed with status 1; it said: These Op Not Support: Wish"),
    "litert-cpu": ("litert_runner.py", "litert", "ai_edge_litert", "onnx2tf failed with status 1; it said: These Op Not Support: Wish"),
    "torch-cpu": ("torch_runner.py", "torch", "onnx2torch", "torch cannot load it: Converter is not implemented (Wish)"),
    "inductor-cpu": ("torch_runner.py", "torch-inductor", "onnx2torch", "torch-inductor cannot load it: Converter is not implemented (Wish)"),
}
failures = []


def expect(name, condition, detail=""):
    if not condition:
        failures.append(f"{name}: {detail}" if detail else name)


class Engine:
    """pet's tools with the fake engine of a device."""

    def __init__(self, folder, device):
        self.folder, self.device = folder, device
        folder.mkdir()
        runner_file, self.name, self.package, self.unconverted = DEVICES[device]
        self.command = [sys.executable, SOURCE / "runtime" / "ort" / runner_file, "--engine", self.name]
        self.pack, self.grid = folder / "conv.db", folder / "grid.json"
        subprocess.run([BIN / "pet-rules", "import", SOURCE / "tests/data/conv.pet", "-o", self.pack], check=True)
        self.grid.write_text(json.dumps(GRID))

    def run(self, tool, *arguments, does="", version="7.0", device=""):
        environment = {**os.environ, "PYTHONPATH": str(FAKES), "PYTHONDONTWRITEBYTECODE": "1", "FAKE_DOES": does, "FAKE_VERSION": version}
        return subprocess.run([str(a) for a in [BIN / tool, *arguments, "--device", device or self.device, "--python", sys.executable]],
                              capture_output=True, text=True, timeout=250, env=environment)

    def tune(self, timings, **how):
        return self.run("pet-tune", self.pack, "-o", timings, "--no-calibrate", "--shapes", self.grid, "--runs", 3, "--seconds", 0.1, "--timeout", 5,
                        "--no-bare", **how)


def protocol(engine):
    """The real runner over the fake engine answers as every runner does."""
    os.environ["PYTHONPATH"] = str(FAKES)
    paths = runner.write_models(engine.folder)
    for failure in runner.failures_of(engine.command, runner.same_cases(paths)):
        expect(f"{engine.name}: protocol", False, failure)
    del os.environ["PYTHONPATH"]


# what the engine does: exit code, words that say so
WRONG = {
    "shape": (0, ["{} 7.0 is wrong", "is float32[", "ONNX Runtime's float32[1, "]),
    "type": (0, ["{} 7.0 is wrong", "float64[", "ONNX Runtime's float32["]),
    "values": (0, ["{} 7.0 is wrong", "differs from ONNX Runtime's by"]),
    "nan": (0, ["{} 7.0 is wrong", "is not finite where ONNX Runtime's is"]),
    "crash": (6, ["ended with status 3"]),
    "hang": (6, ["no answer in", "check --python and --runner"]),
}


def wrong(engine, cases):
    for does in cases:
        code, words = (0, [engine.unconverted]) if does == "convert" else WRONG[does]
        timings = engine.folder / f"{does}.jsonl"
        done = engine.tune(timings, does=does)
        said = done.stdout + done.stderr
        name = f"{engine.name}: {does}"
        expect(name, done.returncode == code and all(w.format(engine.name) in said for w in words), (done.returncode, said))
        expect(name, not samples(timings), samples(timings))


def versions(engine):
    """Samples of two versions stand side by side; those of one are not taken again."""
    timings = engine.folder / "versions.jsonl"
    for version, counted in [("7.0", "1 timed, 0 known"), ("8.0", "1 timed, 0 known"), ("7.0", "0 timed, 1 known")]:
        done = engine.tune(timings, version=version)
        expect("versions", done.returncode == 0 and counted in done.stdout, done.stdout + done.stderr)
    expect("versions", sorted((s["engine"], s["version"]) for s in samples(timings)) == [(engine.name, "7.0"), (engine.name, "8.0")],
           samples(timings))


def processor_time(engine):
    """What an engine computes in a thread of its own counts. Of its version the release is kept."""
    timings = engine.folder / "thread.jsonl"
    done = engine.run("pet-tune", engine.pack, "-o", timings, "--no-calibrate", "--shapes", engine.grid, "--runs", 3, "--seconds", 0.1, "--no-bare",
                      "--processor-time", does="thread", version="7.0-22982-releases/7")
    kept = [(s["version"], s["pattern"] > 0.015, s["replacement"] > 0.015) for s in samples(timings)]
    expect("processor time", done.returncode == 0 and kept == [("7.0", True, True)], (done.stdout, done.stderr, samples(timings)))


def missing(engine):
    """A Python without the engine: what is missing, and how to get it."""
    done = subprocess.run([BIN / "pet-tune", engine.pack, "-o", engine.folder / "none.jsonl", "--shapes", engine.grid, "--device",
                           engine.device, "--python", sys.executable], capture_output=True, text=True, timeout=60)
    lines = done.stderr.splitlines()
    expect(f"{engine.name}: missing", done.returncode == 6 and len(lines) == 1 and f"has no {engine.package}" in lines[0]
           and "make -f Makefile.ci engines" in lines[0], done.stderr)


def tools(engine):
    """pet-bench and pet-apply --measure ask the device."""
    model, out = small_model(engine.folder), engine.folder / "out.onnx"
    done = engine.run("pet-bench", model, "--runs", 3, "--budget", 1)
    expect("pet-bench", done.returncode == 0 and done.stdout.startswith(f"{engine.name} 7.0 on"), done.stdout + done.stderr)
    timings = engine.folder / "apply.jsonl"
    rule = json.loads(subprocess.run([BIN / "pet-rules", "ls", "--json", engine.pack], capture_output=True, text=True, check=True).stdout)[0]
    shapes = {"C": 8, "F": 8, "H": 12, "N": 1, "P": 1, "Q": 1, "R": 3, "S": 3, "W": 12}
    timings.write_text(json.dumps({
        "name": rule["name"], "rule": rule["hash"], "device": engine.device, "shapes": shapes, "pattern": 3e-3, "replacement": 1e-3,
        "opening": 0, "closing": 0, "moved": 0, "spread": 0.01, "engine": engine.name, "version": "7.0", "isa": "avx2", "threads": 1,
        "date": "2026-01-01", "weights": "cold"}) + "\n")
    done = engine.run("pet-apply", model, engine.pack, "-o", out, "--timings", timings, "--measure", "--cache", engine.folder / "cache.db",
                      "--trust-pack", "--json", engine.folder / "report.json")
    expect("pet-apply", done.returncode == 0 and (engine.folder / "cache.db").exists(), done.stdout + done.stderr)


def other_device(engine):
    """Timings of another device than the one that is named: the report warns, and names what would do; what is expected is of a device."""
    model, report = small_model(engine.folder), engine.folder / "report.json"
    command = [BIN / "pet-apply", model, engine.pack, "--timings", engine.folder / "apply.jsonl", "--trust-pack", "--dry-run", "--machine", "avx2"]
    for device, warned in [("ort-cpu", True), (engine.device, False)]:
        done = subprocess.run([str(a) for a in [*command, "--device", device]], capture_output=True, text=True, timeout=60)
        warning = f"has timings of {engine.device}, none of {device}, and what gains on one engine may lose on another"
        expect("other device", done.returncode == 0 and (f"Warning: {engine.folder}" in done.stdout and warning in done.stdout) == warned,
               done.stdout + done.stderr)
        expect("other device", warned or f"times as fast on {device}" in done.stdout, done.stdout)
        subprocess.run([str(a) for a in [*command, "--device", device, "--json", report]], capture_output=True, timeout=60, check=True)
        told = json.loads(report.read_text())
        expect("other device", told["expected"]["device"] == device and told["expected"]["threads"] == 1, told["expected"])
        expect("other device", any(warning in w and f"--device {engine.device}" in w for w in told["warnings"]) == warned, told["warnings"])
    beside = [word if word != "--timings" else "--more-timings" for word in command]
    for device, warned in [("ort-cpu", True), (engine.device, False)]:
        done = subprocess.run([str(a) for a in [*beside, "--device", device]], capture_output=True, text=True, timeout=60)
        expect("other device, besides those that ship", done.returncode == 0 and ("what gains on one engine may lose on another" in done.stdout) == warned,
               done.stdout + done.stderr)
    rewritten = engine.folder / "rewritten.onnx"
    done = subprocess.run([str(a) for a in [*command[:-3], "--machine", "avx2", "--device", engine.device, "-o", rewritten]],
                          capture_output=True, text=True, timeout=60)
    expect("other device", done.returncode == 0 and rewritten.exists(), done.stdout + done.stderr)
    for device, warned in [("ort-cpu", True), (engine.device, False)]:
        done = engine.run("pet-bench", model, rewritten, "--runs", 3, "--budget", 1, device=device)
        warning = f"The rules of {rewritten} were chosen by timings of {engine.device} and may lose on {device}: "
        expect("pet-bench", done.returncode == 0 and (warning in done.stdout) == warned, done.stdout + done.stderr)
    done = subprocess.run([str(a) for a in [*command, "--all", "--device", "ort-cpu"]], capture_output=True, text=True, timeout=60)
    expect("other device", done.returncode == 0 and "Warning" not in done.stdout, done.stdout + done.stderr)


def small_model(folder):
    g = graph.Graph("model", [1, 8, 12, 12])
    onnx.save(g.model(g.relu("r", g.conv("c", "input", 8, 8, 3, pad=1)), [1, 8, 12, 12]), folder / "model.onnx")
    return folder / "model.onnx"


def unknown(engine):
    """An unknown device is an error everywhere, with what there is and what was meant."""
    model, out = small_model(engine.folder), engine.folder / "out.onnx"
    for command in [["pet-tune", engine.pack, "-o", out], ["pet-tune", "--calibrate"], ["pet-tune", engine.pack, "--show", "none.jsonl"],
                    ["pet-tune", "--cliffs", model], ["pet-bench", model], ["pet-apply", model, engine.pack, "-o", out],
                    ["pet-apply", model, engine.pack, "-o", out, "--all"]]:
        done = subprocess.run([BIN / command[0], *command[1:], "--device", "openvnio-cpu"], capture_output=True, text=True, timeout=60)
        expect("unknown", done.returncode == 2 and "openvnio-cpu: unknown device (did you mean 'openvino-cpu'? known: " in done.stderr
               and all(device in done.stderr for device in [*DEVICES, "ort-cpu", "onednn-cpu"]), (command, done.stderr))
        told = subprocess.run([BIN / command[0], "--help"], capture_output=True, text=True, timeout=60).stdout
        expect("help", all(device in told for device in DEVICES), (command[0], [device for device in DEVICES if device not in told]))
    done = subprocess.run([BIN / "pet-tune", engine.pack, "-o", out, "--device", "ort"], capture_output=True, text=True, timeout=60)
    expect("short", done.returncode == 2 and "ort: unknown device (known: " in done.stderr, done.stderr)


def no_compiler(engine):
    """Inductor needs a C++ compiler."""
    environment = {**os.environ, "PYTHONPATH": str(FAKES), "PATH": str(engine.folder)}
    done = subprocess.run([BIN / "pet-tune", "--calibrate", "--device", engine.device, "--python", sys.executable], capture_output=True,
                          text=True, timeout=60, env=environment)
    expect("no compiler", done.returncode == 6 and "needs a C++ compiler (install g++, or use the device torch-cpu)" in done.stderr, done.stderr)


ON_THE_CPU = """
import sys
sys.path.insert(0, sys.argv[1])
import accelerator_runner, numpy as np, runner
class Here(accelerator_runner.Cuda):
    chosen = ["CPUExecutionProvider"]
accelerator_runner.Session.device = "cpu"
engine, path = Here(), sys.argv[2]
session = engine.open(path, 1, True, {})
inputs = runner.seeded_inputs(session)
engine.check(path, inputs, runner.run(session, inputs, path), {})
times = runner.time_in_turns([session], inputs, 3, 1, 1)
print(len(times[0]), engine.machine())
class Elsewhere(Here):
    chosen = ["AzureExecutionProvider", "CPUExecutionProvider"]
    def __init__(self): pass
runner.onnxruntime.InferenceSession = lambda path, options, providers: session.session
try:
    Elsewhere().open(path, 1, True, {})
except runner.Mistake as mistake:
    print(mistake)
"""


def accelerators(folder):
    """Without a GPU: what is missing; with the CPU in its place, what is bound is computed right; a provider that is not there is no result."""
    for device, provider in [("ort-cuda", "CUDAExecutionProvider"), ("tensorrt", "TensorrtExecutionProvider")]:
        done = subprocess.run([BIN / "pet-tune", "--calibrate", "--device", device, "--python", sys.executable], capture_output=True, text=True,
                              timeout=60)
        expect(device, done.returncode == 6 and f"this onnxruntime has no {provider}" in done.stderr and "or use the device ort-cpu" in done.stderr,
               done.stderr)
    fakes = {**os.environ, "PYTHONPATH": str(FAKES), "PYTHONDONTWRITEBYTECODE": "1", "PATH": f"{folder}:{os.environ['PATH']}"}
    torch = [sys.executable, SOURCE / "runtime" / "ort" / "torch_runner.py", "--engine", "torch-cuda"]
    done = subprocess.run(torch, capture_output=True, text=True, timeout=60, env=fakes)
    expect("torch-cuda", done.returncode == 1 and "torch finds no GPU (use the device torch-cpu)" in done.stderr, done.stderr)
    query = folder / "nvidia-smi"
    query.write_text("#!/bin/sh\necho 'NVIDIA H100 80GB HBM3, 9.0'\n")
    query.chmod(0o755)
    done = subprocess.run([sys.executable, "-c", ON_THE_CPU, SOURCE / "runtime" / "ort", small_model(folder)], capture_output=True, text=True,
                          timeout=60, env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"})
    requests = [{"cmd": "hello"}, runner.time_of([str(folder / "model.onnx")])]
    hello, times = (json.loads(line) for line in subprocess.run(torch, input="".join(json.dumps(r) + "\n" for r in requests), capture_output=True, text=True,
                                                                timeout=60, env={**fakes, "FAKE_GPU": "1"}, check=True).stdout.splitlines())
    expect("torch-cuda", (hello["engine"], hello["isa"], hello["cpu"]) == ("torch-cuda", "sm_90", "NVIDIA H100 80GB HBM3") and runner.consistent(times, 1, 4)
           and set(times["samples"][0]) == {2e-3}, (hello, times))
    for words in ["3 {'isa': 'sm_90', 'cpu': 'NVIDIA H100 80GB HBM3', 'vendor': 'NVIDIA', 'family': 9, 'model': 0", "falls back to CPUExecutionProvider"]:
        expect("accelerators", words in done.stdout, done.stdout + done.stderr)


# dtype, what ONNX Runtime computes, what the engine does, words that say what is wrong
OUTPUTS = [("float32", [1.0, 2.0], [1.0, 2.0001], ""), ("float32", [1.0, 2.0], [1.0, 2.1], "by 0.1 of 2"), ("float32", [9e-41, 2e-45], [0.0, 0.0], ""),
           ("float32", [9e-38, 0.0], [0.0, 0.0], "by 9e-38 of 9e-38"), ("float16", [6e-5, 0.0], [0.0, 0.0], ""), ("int64", [0, 1], [0, 0], "by 1 of 1"),
           ("float32", [float("inf"), 1.0], [1.0, 1.0], "is not finite")]


def comparison():
    """Rounding and subnormals made zero are no mistakes, more is."""
    code = """
import json, sys
import numpy as np
sys.path.insert(0, sys.argv[1])
import compared
for dtype, expected, found, _ in json.loads(sys.argv[2]):
    print(compared.whats_wrong(np.array(expected, dtype), np.array(found, dtype), 1e-3) or "")
"""
    done = subprocess.run([sys.executable, "-c", code, SOURCE / "runtime" / "ort", json.dumps(OUTPUTS)], capture_output=True, text=True, timeout=60, check=True)
    for row, said in zip(OUTPUTS, done.stdout.split("\n")):
        expect("comparison", row[-1] in said and bool(row[-1]) == bool(said), (row, said))


def converter(folder):
    """A converter in a process of its own: what it does is named, and nothing hangs."""
    script = folder / "converter.py"
    script.write_text("import os, sys, time; print('a'); print('last words'); sys.stdout.flush(); exec(sys.argv[1])\n")
    code = f"""
import os, sys
sys.path.insert(0, {str(SOURCE / "runtime" / "ort")!r})
import compared, runner
compared.CONVERTER_SECONDS = 2
try:
    compared.convert("it", sys.argv[1:], "model.onnx", os.path.abspath("product"))
except runner.Mistake as mistake:
    print(mistake)
"""
    for does, words in [("os.kill(os.getpid(), 11)", "failed with status -11; it said: a; last words"), ("sys.exit(4)", "failed with status 4"),
                        ("pass", "failed with status 0"), ("time.sleep(60)", "does not end: 2 s"), ("open('product', 'w')", "")]:
        done = subprocess.run([sys.executable, "-c", code, sys.executable, script, does], capture_output=True, text=True, cwd=folder, timeout=60)
        expect("converter", done.returncode == 0 and words in done.stdout and (words or not done.stdout), (does, done.stdout, done.stderr))
    done = subprocess.run([sys.executable, "-c", code, folder / "none", "-x"], capture_output=True, text=True, cwd=folder, timeout=60)
    expect("converter", "it does not start: No such file" in done.stdout, done.stdout + done.stderr)


def main():
    with tempfile.TemporaryDirectory() as name:
        engines = {device: Engine(pathlib.Path(name) / device, device) for device in DEVICES}
        first = engines["openvino-cpu"]
        for engine in dict.fromkeys([first, *(engines[device] for device in part.mine(DEVICES))]):
            protocol(engine)
            missing(engine)
            wrong(engine, WRONG if engine is first else ["shape", "convert", "crash"])
        versions(first)
        processor_time(first)
        tools(first)
        other_device(first)
        unknown(first)
        no_compiler(engines["inductor-cpu"])
        accelerators(pathlib.Path(name))
        comparison()
        converter(pathlib.Path(name))
    for failure in failures:
        print(f"engines: {failure}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
