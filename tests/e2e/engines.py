#!/usr/bin/env python3
"""An engine that is missing, crashes, hangs, is of another version or answers wrongly: named, and none of its samples are kept.

The engine is a module named openvino that does what the environment says, under the real runner. Exit status 0 or 1.
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
import graph  # noqa: E402
import runner  # noqa: E402  tests/e2e/runner.py: what every runner must answer

RUNNER = SOURCE / "runtime" / "ort" / "openvino_runner.py"
GRID = {"ties": {"W": "H", "S": "R", "P": "floor((R - 1)/2)", "Q": "P"},
        "patterns": {"conv": {"points": [{"N": 1, "C": 8, "F": 8, "H": 12, "R": 3}]}}}
failures = []

# As much of OpenVINO as its runner uses, on ONNX Runtime, and what goes wrong.
ENGINE = '''
import os, time
import numpy as np, onnxruntime
__version__ = os.environ.get("FAKE_VERSION", "7.0")
does = os.environ.get("FAKE_DOES", "")

class Type:
    def get_type_name(self): return "f32"

class Port:
    element_type = Type()
    def __init__(self, value): self.name, self.shape = value.name, value.shape
    def get_any_name(self): return self.name

class Model:
    def __init__(self, path):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        try:
            self.session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        except Exception as error:
            raise RuntimeError(str(error))
        self.inputs, self.outputs = map(lambda values: list(map(Port, values)), [self.session.get_inputs(), self.session.get_outputs()])
    def is_dynamic(self): return False
    def create_infer_request(self): return Request(self)

class Tensor:
    def __init__(self, data, shared_memory=False): self.data = data

class Request:
    def __init__(self, model): self.model, self.feeds = model, {}
    def set_input_tensor(self, position, tensor): self.feeds[self.model.inputs[position].name] = tensor.data
    def infer(self):
        if does == "crash": os._exit(3)
        if does == "hang": time.sleep(60)
        self.results = self.model.session.run(None, self.feeds)
    def get_output_tensor(self, position):
        data = self.results[position]
        if does == "shape": data = data.reshape(-1)
        if does == "type": data = data.astype(np.float64)
        if does == "values": data = data * 1.01
        if does == "nan": data = np.where(data == data.max(), np.nan, data).astype(data.dtype)
        return Tensor(data)

class Core:
    def read_model(self, path): return Model(path)
    def compile_model(self, model, device, config):
        assert device == "CPU" and config["INFERENCE_PRECISION_HINT"] == "f32"
        return model
'''


def expect(name, condition, detail=""):
    if not condition:
        failures.append(f"{name}: {detail}" if detail else name)


class Engine:
    """pet's tools with the fake engine."""

    def __init__(self, folder):
        self.folder = folder
        module = folder / "modules" / "openvino"
        module.mkdir(parents=True)
        (module / "__init__.py").write_text(ENGINE)
        self.pack, self.grid = folder / "conv.db", folder / "grid.json"
        subprocess.run([BIN / "pet-rules", "import", SOURCE / "tests/data/conv.pet", "-o", self.pack], check=True)
        self.grid.write_text(json.dumps(GRID))

    def run(self, tool, *arguments, does="", version="7.0"):
        environment = {**os.environ, "PYTHONPATH": str(self.folder / "modules"), "FAKE_DOES": does, "FAKE_VERSION": version}
        return subprocess.run([str(a) for a in [BIN / tool, *arguments, "--device", "openvino-cpu", "--python", sys.executable]],
                              capture_output=True, text=True, timeout=250, env=environment)

    def tune(self, timings, **how):
        return self.run("pet-tune", self.pack, "-o", timings, "--no-calibrate", "--shapes", self.grid, "--runs", 3, "--seconds", 0.1, "--timeout", 5,
                        "--no-bare", **how)


def samples(path):
    """The samples of a file of timings, without the machines before them."""
    lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return [line for line in lines if "rule" in line]


def protocol(engine):
    """The real runner over the fake engine answers as every runner does."""
    os.environ["PYTHONPATH"] = str(engine.folder / "modules")
    paths = runner.write_models(engine.folder)
    for failure in runner.failures_of([sys.executable, RUNNER], runner.same_cases(paths)):
        expect("protocol", False, failure)
    del os.environ["PYTHONPATH"]


# what the engine does: exit code, words that say so
WRONG = {
    "shape": (0, ["openvino 7.0 is wrong", "is float32[", "ONNX Runtime's float32[1, "]),
    "type": (0, ["openvino 7.0 is wrong", "float64[", "ONNX Runtime's float32["]),
    "values": (0, ["openvino 7.0 is wrong", "differs from ONNX Runtime's by"]),
    "nan": (0, ["openvino 7.0 is wrong", "is not finite where ONNX Runtime's is"]),
    "crash": (6, ["ended with status 3"]),
    "hang": (6, ["no answer in"]),
}


def wrong(engine):
    for does, (code, words) in WRONG.items():
        timings = engine.folder / f"{does}.jsonl"
        done = engine.tune(timings, does=does)
        said = done.stdout + done.stderr
        expect(does, done.returncode == code and all(w in said for w in words), (done.returncode, said))
        expect(does, not samples(timings), samples(timings))


def versions(engine):
    """Samples of two versions stand side by side; those of one are not taken again."""
    timings = engine.folder / "versions.jsonl"
    for version, counted in [("7.0", "1 timed, 0 known"), ("8.0", "1 timed, 0 known"), ("7.0", "0 timed, 1 known")]:
        done = engine.tune(timings, version=version)
        expect("versions", done.returncode == 0 and counted in done.stdout, done.stdout + done.stderr)
    expect("versions", sorted((s["engine"], s["version"]) for s in samples(timings)) == [("openvino", "7.0"), ("openvino", "8.0")],
           samples(timings))


def missing(engine):
    """A Python without the engine: what is missing, and how to get it."""
    done = subprocess.run([BIN / "pet-tune", engine.pack, "-o", engine.folder / "none.jsonl", "--shapes", engine.grid, "--device",
                           "openvino-cpu", "--python", sys.executable], capture_output=True, text=True, timeout=60)
    lines = done.stderr.splitlines()
    expect("missing", done.returncode == 6 and len(lines) == 1 and "has no openvino" in lines[0] and "make -f Makefile.ci engines" in lines[0],
           done.stderr)


def tools(engine):
    """pet-bench and pet-apply --measure ask the device; an unknown one is an error everywhere, with what was meant."""
    g = graph.Graph("model", [1, 8, 12, 12])
    model, out = engine.folder / "model.onnx", engine.folder / "out.onnx"
    onnx.save(g.model(g.relu("r", g.conv("c", "input", 8, 8, 3, pad=1)), [1, 8, 12, 12]), model)
    done = engine.run("pet-bench", model, "--runs", 3, "--budget", 1)
    expect("pet-bench", done.returncode == 0 and done.stdout.startswith("openvino 7.0 on"), done.stdout + done.stderr)
    timings = engine.folder / "apply.jsonl"
    rule = json.loads(subprocess.run([BIN / "pet-rules", "ls", "--json", engine.pack], capture_output=True, text=True, check=True).stdout)[0]
    shapes = {"C": 8, "F": 8, "H": 12, "N": 1, "P": 1, "Q": 1, "R": 3, "S": 3, "W": 12}
    timings.write_text(json.dumps({
        "name": rule["name"], "rule": rule["hash"], "device": "openvino-cpu", "shapes": shapes, "pattern": 3e-3, "replacement": 1e-3,
        "opening": 0, "closing": 0, "moved": 0, "spread": 0.01, "engine": "openvino", "version": "7.0", "isa": "avx2", "threads": 1,
        "date": "2026-01-01", "weights": "cold"}) + "\n")
    done = engine.run("pet-apply", model, engine.pack, "-o", out, "--timings", timings, "--measure", "--cache", engine.folder / "cache.db",
                      "--trust-pack", "--json", engine.folder / "report.json")
    expect("pet-apply", done.returncode == 0 and (engine.folder / "cache.db").exists(), done.stdout + done.stderr)
    for command in [["pet-tune", engine.pack, "-o", out], ["pet-bench", model], ["pet-tune", "--cliffs", model],
                    ["pet-apply", model, engine.pack, "-o", out, "--timings", timings]]:
        done = subprocess.run([BIN / command[0], *command[1:], "--device", "openvnio-cpu"], capture_output=True, text=True, timeout=60)
        expect("unknown", done.returncode == 2 and "openvnio-cpu: unknown device (did you mean 'openvino-cpu'?" in done.stderr,
               (command, done.stderr))


def main():
    with tempfile.TemporaryDirectory() as name:
        engine = Engine(pathlib.Path(name))
        protocol(engine)
        wrong(engine)
        versions(engine)
        missing(engine)
        tools(engine)
    for failure in failures:
        print(f"engines: {failure}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
