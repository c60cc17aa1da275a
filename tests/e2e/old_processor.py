#!/usr/bin/env python3
"""pet-apply and the wheel on processors without AVX, emulated by QEMU: the whole check, and the same model as on this one. Exit status 0
or 1; 77 where there is no qemu-x86_64 (Debian's qemu-user), and in another part of the long tests.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import _part as part
from wheel import build_wheel, missing

SOURCE = pathlib.Path(os.environ.get("PET_SOURCE", pathlib.Path(__file__).parents[2]))
BIN = pathlib.Path(os.environ.get("PET_BIN", SOURCE / "build" / "bin"))
PROCESSORS = ["Nehalem", "Haswell"]  # neither AVX nor AVX2; AVX2 and no AVX-512


def model(path):
    """Two convolutions with a Relu between them, and a product: sums by several kernels."""
    random = np.random.default_rng(0)
    weights = {"v": random.normal(size=(8, 4, 3, 3)), "w": random.normal(size=(4, 8, 3, 3)), "m": random.normal(size=(10, 6))}
    nodes = [helper.make_node("Conv", ["x", "v"], ["a"], name="conv1", pads=[1] * 4), helper.make_node("Relu", ["a"], ["r"], name="relu1"),
             helper.make_node("Conv", ["r", "w"], ["b"], name="conv2", pads=[1] * 4), helper.make_node("MatMul", ["b", "m"], ["y"], name="product")]
    graph = helper.make_graph(nodes, "old", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 4, 8, 10])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 4, 8, 6])],
                              [numpy_helper.from_array(v.astype(np.float32), k) for k, v in weights.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def apply(folder, name, *before):
    """The rewritten model's bytes and the report."""
    out, report = folder / f"{name}.onnx", folder / f"{name}.json"
    command = [*before, BIN / "pet-apply", folder / "model.onnx", folder / "rules.db", "--all", "--trust-pack", "-o", out, "--json", report]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=900)
    if done.returncode:
        sys.exit(f"{name}: exit code {done.returncode}: {done.stdout}{done.stderr}")
    return out.read_bytes(), json.loads(report.read_text())


WHEEL = """
import sys, pet
done = pet.apply("model.onnx", "rules.db", all=True, trust_pack=True, output="wheel.onnx")
print(len(done.report["fired"]), sum(c["possible"] for c in done.report["checks"]))
"""


def wheel_on(processor, folder, site):
    """What `import pet; pet.apply(…)` writes; nothing of it is imported that this processor cannot run."""
    command = ["qemu-x86_64", "-cpu", processor, sys.executable, "-c", WHEEL]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, cwd=folder, env={**os.environ, "PYTHONPATH": str(site)})
    if done.returncode:
        sys.exit(f"the wheel on {processor}: exit code {done.returncode}: {done.stdout}{done.stderr}")
    sites, checks = map(int, done.stdout.split())
    if sites != 2 or checks == 0:
        sys.exit(f"the wheel on {processor}: {sites} sites, {checks} comparisons")
    return (folder / "wheel.onnx").read_bytes()


def check_wheel(folder, wanted):
    if missing():
        print(f"the wheel: {', '.join(missing())}: not installed")
        return
    site = folder / "site"
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", site, build_wheel(folder)], check=True)
    if wheel_on(PROCESSORS[0], folder, site) != wanted:
        sys.exit(f"the wheel on {PROCESSORS[0]}: another model")
    print(f"the wheel on {PROCESSORS[0]}: the same model")


def main():
    part.skip_unless_mine("old_processor", part.WHOLE)
    if not shutil.which("qemu-x86_64"):
        print("no qemu-x86_64: install qemu-user")
        return part.SKIPPED
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        model(folder / "model.onnx")
        subprocess.run([BIN / "pet-rules", "import", SOURCE / "tests" / "data" / "conv.pet", "-o", folder / "rules.db"], check=True)
        here, _ = apply(folder, "here")
        for processor in PROCESSORS:
            there, report = apply(folder, processor, "qemu-x86_64", "-cpu", processor)
            checks = [c for c in report["checks"] if c["possible"]]
            if len(report["fired"]) != 2 or not checks or there != here:
                sys.exit(f"{processor}: {len(report['fired'])} sites, {len(checks)} comparisons, {'the same' if there == here else 'another'} model")
            print(f"{processor}: {len(checks)} comparisons, the same model")
        check_wheel(folder, here)
    return 0


if __name__ == "__main__":
    sys.exit(main())
