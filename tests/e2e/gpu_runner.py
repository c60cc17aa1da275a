#!/usr/bin/env python3
"""Our engine on a GPU as a device of the tools: pet-runner's requests, pet-tune, pet-bench and pet-apply, on a GPU that this processor
stands for (tests/gpu/fake_gpu.cc); without a driver, and with names of GPUs that are not there. Exit status 0 or 1; 77 where the
fake is not built.
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

import _kill  # noqa: E402
import onnx  # noqa: E402
import graph  # noqa: E402
import runner  # noqa: E402  tests/e2e/runner.py: what every runner must answer
import timed  # noqa: E402

FAKE = BIN / "libpet_fake_gpu.so"
HAS_GPU = pathlib.Path("/dev/nvidia0").exists()
GRID = {"ties": {"W": "H", "S": "R", "P": "floor((R - 1)/2)", "Q": "P"},
        "patterns": {"conv": {"points": [{"N": 1, "C": 2, "F": 2, "H": 6, "R": 3}]}}}
failures = []


def expect(name, condition, detail=""):
    if not condition:
        failures.append(f"{name}: {detail}")


def environment(**more):
    return {**os.environ, "PET_CUDA_LIBRARY": str(FAKE), **more}


def run(tool, *arguments, **more):
    return subprocess.run([str(word) for word in [BIN / tool, *arguments]], capture_output=True, text=True, timeout=250, env=environment(**more))


# ---- pet-runner

def cases(m):
    """What it answers besides; the last one shows that it lives on."""
    return [
        ("all of it", {"cmd": "run", "model": m["half"]}, lambda a: a["reference"] == []),
        ("notes", {"cmd": "notes", "model": m["relu"]}, lambda a: [n["op"] for n in a["nodes"]] == ["Relu"] and a["nodes"][0]["how"] == "a kernel of our own"),
        ("profile", {"cmd": "profile", "model": m["relu"]}, lambda a: [s["op"] for s in a["steps"]] == ["Relu"] and a["steps"][0]["seconds"] > 0
         and a["steps"][0]["how"].startswith("pet_point") and a["steps"][0]["bytes"] > 0),
        ("time dynamic", runner.time_of([m["dynamic"]], dims={"N": 2}), lambda a: runner.consistent(a, 1, 4)),
        ("hello", {"cmd": "hello"}, lambda a: a["engine"] == "pet-cuda" and a["version"] == "cuDNN 9.0.0, driver 0.0, fp32" and a["device"] == "cuda:h200"
         and (a["isa"], a["cpu"], a["vendor"], a["family"], a["model"]) == ("sm_90", "NVIDIA H200", "NVIDIA", 9, 0) and a["caches"] == [0, 1 << 20, 0] and a["properties"] == {"deviceName": "NVIDIA H200"}),
    ]


def protocol(folder):
    paths = runner.write_models(folder)
    os.environ["PET_CUDA_LIBRARY"] = str(FAKE)
    for failure in runner.failures_of([BIN / "pet-runner", "--device", "cuda"], runner.same_cases(paths) + cases(paths)):
        expect("protocol", False, failure)
    del os.environ["PET_CUDA_LIBRARY"]


def device_of(*arguments, gpus="NVIDIA L40S,NVIDIA H200,NVIDIA TITAN V"):
    """(the device that pet-runner says it is, what it says on standard error)"""
    done = subprocess.run([BIN / "pet-runner", *arguments], input='{"cmd": "hello"}\n', capture_output=True, text=True, timeout=60,
                          env=environment(FAKE_GPUS=gpus))
    return (json.loads(done.stdout)["device"] if done.stdout else None, done.stderr.strip(), done.returncode)


def names():
    """Which of several GPUs is meant, and what it is called."""
    for arguments, device in [(["cuda"], "cuda:l40s"), (["cuda:1"], "cuda:h200"), (["cuda:2"], "cuda:titan-v"), (["cuda:h200"], "cuda:h200"),
                              (["cuda:titan-v:tf32"], "cuda:titan-v:tf32"), (["cuda:h200", "--precision", "tf32"], "cuda:h200:tf32"),
                              (["cuda:1:tf32"], "cuda:h200:tf32"), (["cuda:h200:tf32", "--precision", "tf32"], "cuda:h200:tf32"), (["cpu"], "onednn-cpu")]:
        found = device_of("--device", *arguments)
        expect(f"name {arguments}", found == (device, "", 0), found)
    for arguments, words in [(["cuda:l4"], "cuda:l4: there is none of this name, but NVIDIA L40S, NVIDIA H200, NVIDIA TITAN V (--device cuda:l40s)"),
                             (["cuda:7"], "CUDA: there is no such device"), (["cuda:99999999999999999999"], "CUDA: there is no such device"),
                             (["cuda:h200:fp8"], "fp8: unknown precision"), (["cuda:"], "cuda:: no device"), (["cuda:H200"], "cuda:H200: no device"),
                             (["cuda:h200:tf32:1"], "no device"), (["gpu"], "--device gpu: there are cpu, cuda, cuda:1 and cuda:h200"),
                             (["cuda:h200:tf32", "--precision", "bf16"], "--device cuda:h200:tf32 computes in no bf16"),
                             (["cpu", "--precision", "fp16"], "processors compute in fp32 here")]:
        found = device_of("--device", *arguments)
        expect(f"no device {arguments}", found[0] is None and found[2] == 2 and words in found[1], found)


def without_a_gpu():
    """The real library, or none: what is missing is named, and exit codes are those of a runner and of its client."""
    for library, words in [("", "CUDA: " if (BIN / "libpet_cuda.so").exists() else "libpet_cuda.so is not there"), ("/none.so", "it cannot be loaded: ")]:
        if HAS_GPU and not library:
            continue
        variables = {**os.environ, **({"PET_CUDA_LIBRARY": library} if library else {})}
        for code, command in [(2, ["pet-runner", "--device", "cuda:h200"]), (6, ["pet-tune", "--calibrate", "--device", "cuda:h200:tf32"]),
                              (2, ["pet-run", SOURCE / "README.md", "--device", "cuda:h200"])]:
            done = subprocess.run([str(word) for word in [BIN / command[0], *command[1:]]], input="", capture_output=True, text=True, timeout=60, env=variables)
            expect(f"no GPU, {command}", done.returncode == code and words in done.stderr and len(done.stderr.splitlines()) == 1, (done.returncode, done.stderr))


# ---- the tools

class Tuned:
    """A pack of one rule, and timings of it."""

    def __init__(self, folder):
        self.folder, self.pack, self.grid, self.timings = folder, folder / "conv.db", folder / "grid.json", folder / "gpu.jsonl"
        subprocess.run([BIN / "pet-rules", "import", SOURCE / "tests/data/conv.pet", "-o", self.pack], check=True)
        self.grid.write_text(json.dumps(GRID))

    def tune(self, device, timings, **more):
        return run("pet-tune", self.pack, "-o", timings, "--device", device, "--shapes", self.grid, "--runs", 3, "--seconds", 0.1, "--no-bare",
                   "--no-calibrate", **more)


def tuning(t):
    """Samples say the device with its precision, cuDNN, the driver, and the GPU."""
    for device in ["cuda", "cuda:h200:tf32", "cuda:0"]:
        done = t.tune(device, t.timings)
        known = "0 timed, 1 known" if device == "cuda:0" else "1 timed, 0 known"
        expect(f"tune {device}", done.returncode == 0 and "cuDNN 9.0.0, driver 0.0" in done.stdout and known in done.stdout, done.stdout + done.stderr)
    samples = timed.samples(t.timings)
    expect("samples", [(s["device"], s["engine"], s["version"], s["isa"], s["machine"]) for s in samples] ==
           [(f"cuda:h200{suffix}", "pet-cuda", f"cuDNN 9.0.0, driver 0.0, {precision}", "sm_90", "NVIDIA-9-sm.90")
            for suffix, precision in [("", "fp32"), (":tf32", "tf32")]], samples)
    machines = timed.machines(t.timings)
    expect("machines", [(m["machine"], m["cpu"]) for m in machines] == [("NVIDIA-9-sm.90", "NVIDIA H200")], machines)
    done = t.tune("cuda:l4", t.folder / "none.jsonl")
    expect("another GPU", done.returncode == 6 and "cuda:l4: there is none of this name, but NVIDIA H200" in done.stderr
           and not (t.folder / "none.jsonl").exists(), done.stderr)
    done = t.tune("cuda", t.folder / "none.jsonl", FAKE_GPU_DOES="memory")
    expect("no memory", done.returncode == 0 and "no memory on NVIDIA H200" in done.stdout, done.stdout + done.stderr)
    shown = run("pet-tune", t.pack, "--show", t.timings, "--device", "cuda:h200", "--machine", "NVIDIA-9-sm.90")
    expect("show", shown.returncode == 0 and "conv/transposed" in shown.stdout, shown.stdout + shown.stderr)


def killed(t):
    """Whenever pet-tune or the runner that it asks is killed: what is in the file can be read, and the next one has the rest timed."""
    hook = _kill.hook(t.folder)
    at, kills = 1, 0
    while at < 1000:
        timings = t.folder / f"killed{at}.jsonl"
        done = t.tune("cuda", timings, FAKE_GPU_DOES="times", LD_PRELOAD=str(hook), PET_KILL_AT=str(at))
        if done.returncode == 0:
            break
        kills += 1
        known = len(timed.samples(timings)) if timings.exists() else 0
        again = t.tune("cuda", timings, FAKE_GPU_DOES="times")
        expect(f"killed at {at}", again.returncode == 0 and f"{1 - known} timed, {known} known" in again.stdout, (done.returncode, again.stdout, again.stderr))
        expect(f"killed at {at}", len(timed.samples(timings)) == 1, timings.read_text())
        at *= 2
    expect("killed", kills >= 3 and done.returncode == 0, (kills, done.stderr))


def applying(t):
    """Rules fire by timings of the very device: the kind of GPU and the precision. The machine is the GPU."""
    g = graph.Graph("model", [1, 2, 6, 6])
    model, rewritten = t.folder / "model.onnx", t.folder / "rewritten.onnx"
    onnx.save(g.model(g.relu("r", g.conv("c", "input", 2, 2, 3, pad=1)), [1, 2, 6, 6]), model)
    faster = t.folder / "faster.jsonl"
    samples = [{**s, "pattern": 3e-3, "replacement": 1e-3, "spread": 0.01} for s in timed.samples(t.timings) if s["device"] != "cuda:h200:tf32"]
    faster.write_text("".join(json.dumps(line) + "\n" for line in timed.machines(t.timings) + samples))
    for device, fires in [("cuda:h200", True), ("cuda:h200:fp32", True), ("cuda:h200:tf32", False), ("ort-cpu", False)]:
        done = run("pet-apply", model, t.pack, "-o", rewritten, "--timings", faster, "--trust-pack", "--device", device, "--json", "-")
        report = json.loads(done.stdout) if done.returncode == 0 else {}
        expect(f"apply {device}", bool(report.get("fired")) == fires, done.stdout + done.stderr)
        if fires:
            expect("its machine", report["machine"]["name"] == "NVIDIA-9-sm.90" and report["machine"]["timed"] and report["fired"][0]["margin"] == 1,
                   report["machine"])
            expect("metadata", report["metadata"]["pet.device"] == ["cuda:h200"], report["metadata"])
    done = run("pet-apply", model, t.pack, "-o", rewritten, "--device", "cuda:h200000", "--dry-run")
    expect("apply, no device", done.returncode == 2 and "cuda:h200000: unknown device (did you mean 'cuda:h200'?" in done.stderr, done.stderr)
    done = run("pet-apply", model, t.pack, "-o", rewritten, "--timings", faster, "--trust-pack", "--device", "cuda:h200", "--measure", "--cache",
               t.folder / "cache.db", "-q", "--json", t.folder / "measured.json")
    expect("measure", done.returncode == 0 and json.loads((t.folder / "measured.json").read_text())["measured"], done.stderr)
    run("pet-apply", model, t.pack, "-o", rewritten, "--timings", faster, "--trust-pack", "--device", "cuda:h200", "-q")
    done = run("pet-bench", model, rewritten, "--device", "cuda", "--runs", 3, "--budget", 1)
    expect("bench", done.returncode == 0 and done.stdout.startswith("pet-cuda cuDNN 9.0.0, driver 0.0, fp32 on NVIDIA H200 (sm_90)")
           and "were chosen by timings of" not in done.stdout, done.stdout + done.stderr)


def main():
    if not FAKE.exists():
        print("libpet_fake_gpu.so is not built")
        return 77
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        protocol(folder)
        names()
        without_a_gpu()
        tuned = Tuned(folder)
        tuning(tuned)
        killed(tuned)
        applying(tuned)
    for failure in failures:
        print(f"gpu_runner: {failure}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
