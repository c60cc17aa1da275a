#!/usr/bin/env python3
"""Models of the zoo on an H200 that is not there: cuDNN has a plan for each convolution that pet-run asks for, NVRTC compiles each
kernel without spills, and nothing that a GPU can compute is left to the reference. Exit status 0 or 1; 77 where pet is built without
CUDA.

With PET_TEST_PART=K/N one of the models, else all; `gpu_plan.py NAME...` tries these models.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

import _part as part

SOURCE = pathlib.Path(os.environ.get("PET_SOURCE", pathlib.Path(__file__).parents[2]))
BIN = pathlib.Path(os.environ.get("PET_BIN", SOURCE / "build" / "bin"))
sys.path.insert(0, str(SOURCE / "tests" / "models"))
import build  # noqa: E402
import zoo  # noqa: E402

# What no lowering takes, and the session's nodes between programs, which the processor computes.
BY_REFERENCE = {"Not", "Select"}
failures = []


def planned(path, *options):
    words = [BIN / "pet-run", path, "--plan", "h200", "--json", "-", *options]
    return subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=900)


def shapes_of(model):
    """The extents of the inputs of a model of the zoo that has open ones."""
    dims = model.tries[0]
    return [f"{name}={'x'.join(map(str, array.shape))}" for name, array in model.arrays(dims).items()] if dims else []


def check(name, folder):
    model = zoo.MODELS[name]
    path = build.build(name, folder)
    shapes = shapes_of(model)
    for precision in ["fp32", "tf32", "fp16"] if part.given() else ["fp32"]:
        done = planned(path, "--precision", precision, *(["--shape", ",".join(shapes)] if shapes else []))
        if done.returncode:
            failures.append(f"{name}, {precision}: {done.stderr.strip()}")
            continue
        report = json.loads(done.stdout)
        programs = [n for n in report["nodes"] if n["how"] and not n["how"].startswith("not in a program")]
        libraries = sum(n["how"].startswith(("cuDNN", "cuBLAS")) for n in programs)
        left = sorted({f"{n['op']} ({n['how']})" for n in programs if n["reference"] and n["how"].startswith("reference: ") and n["op"] not in BY_REFERENCE})
        spills = [k["kernel"] for k in report["kernels"] if k["spilled_bytes"]]
        print(f"{name}, {precision}: {libraries} by libraries, {len(report['kernels'])} kernels, left: {left or 'none'}", flush=True)
        if left or spills:
            failures.append(f"{name}, {precision}: left {left}, spills {spills}")


def main():
    if not (BIN / "libpet_cuda.so").exists():
        print("pet is built without CUDA")
        return part.SKIPPED
    names = sys.argv[1:] or ([part.one(set(zoo.MODELS) - set(zoo.SLOW))] if part.given() else list(zoo.MODELS))
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            check(name, pathlib.Path(folder))
    print("\n".join(failures) if failures else f"{len(names)} models: planned for an H200")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
