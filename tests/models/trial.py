"""Does pet-apply leave a model of the zoo what it was? Runs the tool, and both models on ONNX Runtime.

For bench/zoo.py and tests/e2e/zoo.py.
"""

import dataclasses
import hashlib
import json
import mmap
import os
import pathlib
import re
import subprocess
import tempfile
import time

import numpy as np
import onnx
from onnx import TensorProto

from compare import runner
import weights
import zoo

TOLERANCES = {"fp32": 1e-4, "fp16": 2e-2, "int8": 5e-2}  # of an output, relative to its largest value


def tolerance(model):
    """How far an output of this model of the zoo may be off."""
    return TOLERANCES[model.precision] + model.engine_error


@dataclasses.dataclass
class Run:
    """One run of pet-apply."""
    code: int
    seconds: float
    megabytes: float  # at its peak
    said: str  # on standard error
    report: dict  # its own; empty where it wrote none

    def rules(self):
        return [fired["rule"] for fired in self.report.get("fired", [])]

    def sites(self):
        """(node, pattern) where a pattern matched, whether a rule fired or none."""
        matched = {(r["site"], r["pattern"]) for r in self.report.get("refusals", []) if r["rule"]}
        return matched | {(f["site"], f["rule"].split("/")[0]) for f in self.report.get("fired", [])}


def apply(tools, model, pack, output, *options, limit=600, environment=None):
    """Runs pet-apply; after `limit` seconds it is killed (code -9). `environment`: variables besides this process's."""
    report = output.with_suffix(".json")
    for stale in (report, output):
        stale.unlink(missing_ok=True)
    command = [str(word) for word in [tools / "pet-apply", model, pack, "-o", output, "--json", report, "--verbose", *options]]
    begin = time.perf_counter()
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=said, env={**os.environ, **(environment or {})})
        peak = 0.0
        while process.poll() is None:
            peak = max(peak, megabytes(process.pid))
            if time.perf_counter() - begin > limit:
                process.kill()
            time.sleep(0.01)
        seconds = time.perf_counter() - begin
        said.seek(0)
        return Run(process.returncode, seconds, peak, said.read().strip(), json.loads(report.read_text()) if report.is_file() else {})


def megabytes(process):
    """The peak so far; what the kernel reports at the end counts this process's own memory, too."""
    try:
        found = re.search(r"VmHWM:\s+(\d+) kB", pathlib.Path(f"/proc/{process}/status").read_text())
    except OSError:
        return 0.0
    return int(found[1]) / 1024 if found else 0.0


def values_of(tensor, folder):
    """The digest of a tensor's values, in the model or in a file beside it."""
    if tensor.data_location != TensorProto.EXTERNAL:
        return hashlib.sha256(tensor.raw_data).digest()
    place = {entry.key: entry.value for entry in tensor.external_data}
    begin, length = int(place.get("offset", 0)), int(place["length"])
    with open(folder / place["location"], "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        with memoryview(data) as whole, whole[begin:begin + length] as values:
            return hashlib.sha256(values).digest()


def contents(path):
    """A model's bytes; where it has external data, with digests in place of values, so that it does not matter where they lie."""
    model = onnx.load(path, load_external_data=False)
    if all(tensor.data_location != TensorProto.EXTERNAL for _, tensor in weights.tensors(model)):
        return path.read_bytes()
    for _, tensor in weights.tensors(model):
        digest = values_of(tensor, path.parent)
        tensor.ClearField("external_data")
        tensor.ClearField("data_location")
        tensor.raw_data = digest
    return model.SerializeToString(deterministic=True)


class Expected:
    """What the original computes, at each of the extents that the zoo tries. Raises runner.Mistake."""

    def __init__(self, name, path):
        self.model, self.path = zoo.MODELS[name], path
        session = self._open(path)
        self.inputs = [self.model.arrays(dims) for dims in self.model.tries]
        self.outputs = [runner.run(session, given, str(path)) for given in self.inputs]
        for outputs in self.outputs:
            if not np.isfinite(runner.max_abs(outputs)):
                raise runner.Mistake(f"{path}: its outputs are not finite")

    def _open(self, path):
        # At its highest level ONNX Runtime 1.31 crashes on MatMuls of float16 with a constant at the left.
        return runner.open_session(str(path), optimise=self.model.precision != "fp16")

    @property
    def tolerance(self):
        return tolerance(self.model)

    def difference(self, path):
        """The largest of any output, relative to that output's largest value. Raises runner.Mistake, ValidationError."""
        if contents(pathlib.Path(path)) == contents(self.path):
            return 0.0
        onnx.checker.check_model(str(path), full_check=True)
        session = self._open(path)
        worst = 0.0
        for inputs, outputs in zip(self.inputs, self.outputs):
            found = runner.run(session, inputs, str(path))
            for name, expected in outputs.items():
                scale = runner.max_abs({name: expected})
                error = runner.max_abs_diff({name: expected}, {name: found[name]}, str(path))
                worst = max(worst, error / scale if scale else error)
        return worst
