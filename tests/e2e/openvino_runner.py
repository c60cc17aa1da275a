#!/usr/bin/env python3
"""runtime/ort/openvino_runner.py on the real engine: the requests of every runner, models of symbolic extents, pet-tune.

Exit status 0 or 1; 77 where the engine's environment is not there (make -f Makefile.ci engines).
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(os.environ.get("PET_SOURCE", pathlib.Path(__file__).parents[2]))
BIN = pathlib.Path(os.environ.get("PET_BIN", SOURCE / "build" / "bin"))
PYTHON = SOURCE / ".engines" / "openvino" / "bin" / "python"
sys.path.append(str(SOURCE / "tests" / "e2e"))

import runner  # noqa: E402  tests/e2e/runner.py: what every runner must answer

GRID = {"ties": {"W": "H", "S": "R", "P": "floor((R - 1)/2)", "Q": "P"},
        "patterns": {"conv": {"points": [{"N": 1, "C": 8, "F": 8, "H": 12, "R": 3}]}}}


def cases(m):
    """What it answers besides; the last one shows that it lives on."""
    error = runner.error
    return [
        ("time dynamic", runner.time_of([m["dynamic"]], dims={"N": 2}), lambda a: runner.consistent(a, 1, 4)),
        ("missing file", runner.time_of([m["relu"], m["missing"]]), error("missing.onnx", "no such file")),
        ("dynamic without dims", {"cmd": "run", "model": m["dynamic"]}, error("'N'", "dims")),
        ("hello", {"cmd": "hello"}, lambda a: a["engine"] == "openvino" and a["version"] and a["isa"] and a["threads"] == 1),
    ]


def same_results(command, paths):
    """The same inputs for the same seed, and the same sums, as on ONNX Runtime."""
    request = {"cmd": "run", "model": paths["half"], "seed": 7}
    ((here,), _), ((there,), _) = (runner.converse(c, [request]) for c in [command, runner.COMMAND])
    if here["outputs"][0]["crc32"] != there["outputs"][0]["crc32"]:
        yield f"run: {here}, on ONNX Runtime {there}"


def tuned(folder):
    """pet-tune --device openvino-cpu: samples of the device, with the engine's version."""
    pack, grid, timings = folder / "conv.db", folder / "grid.json", folder / "openvino.jsonl"
    grid.write_text(json.dumps(GRID))
    subprocess.run([BIN / "pet-rules", "import", SOURCE / "tests/data/conv.pet", "-o", pack], check=True)
    done = subprocess.run([BIN / "pet-tune", pack, "-o", timings, "--device", "openvino-cpu", "--shapes", grid, "--python", PYTHON,
                           "--runs", "3", "--seconds", "0.1"], capture_output=True, text=True, timeout=250)
    samples = [json.loads(line) for line in timings.read_text().splitlines()] if timings.exists() else []
    if done.returncode or [(s["device"], s["engine"], s["threads"]) for s in samples] != [("openvino-cpu", "openvino", 1)] \
            or not samples[0]["version"].startswith("20"):
        yield f"pet-tune: {done.returncode} {done.stderr} {samples}"


def main():
    if not PYTHON.is_file():
        print(f"{PYTHON} is not there: make -f Makefile.ci engines")
        return 77
    command = [PYTHON, SOURCE / "runtime" / "ort" / "openvino_runner.py"]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        paths = runner.write_models(folder)
        failures = list(runner.failures_of(command, runner.same_cases(paths) + cases(paths)))
        failures += list(same_results(command, paths)) + list(tuned(folder))
    for failure in failures:
        print(f"openvino_runner: {failure}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
