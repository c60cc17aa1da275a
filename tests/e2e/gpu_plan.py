#!/usr/bin/env python3
"""Models on an H200 that is not there: cuDNN has a plan for each convolution that pet-run asks for, NVRTC compiles each kernel without
spills, and nothing that a GPU can compute is left to the reference. Without times, as a described GPU has none; and with times that are made
up, by which all is asked for that depends on them. Exit status 0 or 1; 77 where pet is built without CUDA.

The zoo without times, in one precision of four with PET_TEST_PART=K/N, else in each. With times in one precision each, small ones rewritten as
well: with a part one model of the zoo and some others of tests/models, else all. `gpu_plan.py NAME...` tries these models in all ways.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import _part as part
from _gpu import BIN, SOURCE, rewritten, with_times

sys.path.insert(0, str(SOURCE / "tests" / "models"))
import build  # noqa: E402
import zoo  # noqa: E402

# What no lowering takes, and the session's nodes between programs, which the processor computes.
BY_REFERENCE = {"ArgMax", "CumSum"}
PRECISIONS = ["fp32", "tf32", "fp16", "bf16"]
REWRITTEN = set(build.SMALL) | set(build.OPERATORS_EXPORTED)  # planned rewritten as well
APART = 39  # in the list of those others: one of so many for a part
SEARCH = 0.1  # seconds to build a call's plans in
failures = []


def planned(path, *options, device="h200"):
    words = [BIN / "pet-run", path, "--plan", device, "--json", "-", *options]
    return subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=900)


def shapes_of(model):
    """The extents of the inputs of a model of the zoo that has open ones."""
    dims = model.tries[0]
    return [f"{name}={'x'.join(map(str, array.shape))}" for name, array in model.arrays(dims).items()] if dims else []


def check(name, path, folder, precision, has_times):
    shapes = shapes_of(zoo.MODELS[name]) if name in zoo.MODELS else []
    what = f"{name}{', rewritten' if path.stem == 'rewritten' else ''}, {precision}" + (", with times" if has_times else "")
    done = planned(path, "--precision", precision, *(["--shape", ",".join(shapes)] if shapes else []), "--search", SEARCH,
                   device=with_times(folder) if has_times else "h200")
    if done.returncode:
        failures.append(f"{what}: {done.stderr.strip()}")
        return
    report = json.loads(done.stdout)
    programs = [n for n in report["nodes"] if n["how"] and not n["how"].startswith("not in a program")]
    libraries = sum(n["how"].startswith(("cuDNN", "cuBLAS")) for n in programs)
    left = sorted({f"{n['op']} ({n['how']})" for n in programs if n["reference"] and n["how"].startswith("reference: ") and n["op"] not in BY_REFERENCE})
    spills = [k["kernel"] for k in report["kernels"] if k["spilled_bytes"]]
    timed = f", {report['plans']['timed']} plans timed for {report['plans']['chosen']} calls" if has_times else ""
    print(f"{what}: {libraries} by libraries, {len(report['kernels'])} kernels{timed}, left: {left or 'none'}", flush=True)
    if left or spills:
        failures.append(f"{what}: left {left}, spills {spills}")
    if has_times != (report["plans"]["timed"] > 0) and libraries:
        failures.append(f"{what}: {report['plans']['timed']} plans timed")


def ways(names):
    """{model: [(precision, whether with times)]}"""
    if names:
        return {name: [(precision, has_times) for precision in PRECISIONS for has_times in [False, True]] for name in names}
    others = sorted(set(build.EVERY) - set(zoo.MODELS) - set(build.HUGE))
    precisions, timed = PRECISIONS, [*zoo.MODELS, *others]
    if part.given():
        precisions = [PRECISIONS[part.numbers()[0] % len(PRECISIONS)]]
        timed = [part.one(set(zoo.MODELS) - set(zoo.SLOW)), *others[part.one(range(APART))::APART]]
    tried = {name: [(precision, False) for precision in precisions] for name in set(zoo.MODELS) - set(zoo.LARGE if part.given() else [])}
    for i, name in enumerate([*zoo.MODELS, *others]):
        if name in timed:
            tried.setdefault(name, []).append((PRECISIONS[i % len(PRECISIONS)], True))
    return dict(sorted(tried.items()))


def main():
    if not (BIN / "libpet_cuda.so").exists():
        print("pet is built without CUDA")
        return part.SKIPPED
    models = ways(sys.argv[1:])
    for name, them in models.items():
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            path = build.build(name, folder)
            other = rewritten(path, folder, failures) if name in REWRITTEN else None
            for precision, has_times in them:
                check(name, path, folder, precision, has_times)
                if other:
                    check(name, other, folder, precision, has_times)
    print("\n".join(failures) if failures else f"{len(models)} models: planned for an H200")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
