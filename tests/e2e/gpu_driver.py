#!/usr/bin/env python3
"""The device at hand (runtime/cuda/gpu/real_device.cc) without one: CUDA, cuDNN and cuBLASLt are the real ones but for the calls that need a
driver (idle_gpu.c), so what it computes means nothing. Plans that were kept are not those of another driver, though it is for the same
CUDA, and what fails while it is recorded leaves a stream that can be used. Exit status 0 or 1; 77 where pet is built without CUDA.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SOURCE = pathlib.Path(os.environ.get("PET_SOURCE", pathlib.Path(__file__).parents[2]))
BIN = pathlib.Path(os.environ.get("PET_BIN", SOURCE / "build" / "bin"))
SKIPPED = 77
failures = []


def expect(name, condition, detail=""):
    if not condition:
        failures.append(f"{name}: {detail}")


def make_library(folder):
    headers = [p for p in [pathlib.Path(os.environ.get("CUDA_HOME") or "/usr/local/cuda") / "include"] if (p / "cublasLt.h").is_file()]
    subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-w", *(f"-I{p}" for p in headers), pathlib.Path(__file__).with_name("idle_gpu.c"), "-o",
                    folder / "idle_gpu.so", "-ldl"], check=True)


def run(folder, driver, tool, *words):
    (folder / "version").write_text(driver + "\n")
    environment = {**os.environ, "LD_PRELOAD": str(folder / "idle_gpu.so"), "IDLE_GPU_DRIVER": str(folder / "version")}
    return subprocess.run([str(w) for w in [BIN / tool, *words]], capture_output=True, text=True, timeout=120, env=environment)


def drivers(folder):
    """A product's plan is of one driver; a kernel of ours depends on its code alone."""
    model = folder / "product.onnx"
    tensor = [helper.make_tensor_value_info(n, TensorProto.FLOAT, d) for n, d in [("x", [16, 32]), ("y", [16, 8])]]
    nodes = [helper.make_node("MatMul", ["x", "w"], ["t"]), helper.make_node("Sigmoid", ["t"], ["y"])]
    graph = helper.make_graph(nodes, "product", tensor[:1], tensor[1:], [numpy_helper.from_array(np.ones((32, 8), np.float32), "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), model)
    for driver, made, kept in [("580.65.06", 2, 0), ("580.65.06", 0, 2), ("580.159.04", 1, 1), ("580.159.04", 0, 2), ("580.65.06", 0, 2)]:
        done = run(folder, driver, "pet-run", model, "--device", "cuda", "--runs", 3, "--cache", folder / "plans.db", "--json", "-")
        expect(f"driver {driver}", done.returncode == 0, done.stderr)
        report = json.loads(done.stdout) if done.returncode == 0 else {"version": "", "plans": {}}
        plans = report["plans"]
        found = (plans.get("chosen", 0) + plans.get("compiled", 0), plans.get("restored", 0) + plans.get("loaded", 0))
        expect(f"driver {driver}", found == (made, kept), plans)


def recordings(folder):
    name = "Gpu.ARecordingThatFailsIsOver"
    done = run(folder, "580.65.06", "pet-gpu-tests", f"--gtest_filter={name}")
    expect("a recording that fails", done.returncode == 0 and f"[       OK ] {name}" in done.stdout, done.stdout + done.stderr)


def main():
    if not (BIN / "libpet_cuda.so").exists():
        print("pet is built without CUDA")
        return SKIPPED
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        make_library(folder)
        drivers(folder)
        recordings(folder)
    print("\n".join(failures) if failures else "the device at hand is asked as it should be")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
