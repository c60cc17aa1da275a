"""What tests of the engine for GPUs on whole models share."""

import json
import os
import pathlib
import subprocess

SOURCE = pathlib.Path(os.environ.get("PET_SOURCE", pathlib.Path(__file__).parents[2]))
BIN = pathlib.Path(os.environ.get("PET_BIN", SOURCE / "build" / "bin"))


def with_times(folder):
    """A file of the properties of an H200 whose plans have times, which mean nothing."""
    path = folder / "h200-timed.json"
    path.write_text(json.dumps(json.loads((SOURCE / "runtime" / "cuda" / "devices" / "h200.json").read_text()) | {"times": "made up"}))
    return path


def rewritten(path, folder, failures, *options):
    """What pet-apply makes of a model for the processor, for which more rules fire; None: as it is, or a failure was added."""
    other, report = folder / "rewritten.onnx", folder / "report.json"
    words = [BIN / "pet-apply", path, "-o", other, "--trust-pack", "--check", "sites", "-q", "--json", report, *options]
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=900)
    if done.returncode:
        failures.append(f"{path.stem}, rewritten: {done.stderr.strip()}")
    return other if done.returncode == 0 and json.loads(report.read_text())["fired"] else None
