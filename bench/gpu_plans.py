#!/usr/bin/env python3
"""What is planned for a GPU that need not be there: of models of the zoo, the plans that libraries have and the kernels that are compiled, by
kind. Prints the table of docs/speed.md as Markdown.

    .venv/bin/python bench/gpu_plans.py [NAME...] [--device h200] [--precision fp16] [--jobs 2]
"""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(os.environ.get("PET_SOURCE", pathlib.Path(__file__).resolve().parents[1]))
BIN = pathlib.Path(os.environ.get("PET_BIN", SOURCE / "build" / "bin"))
sys.path.insert(0, str(SOURCE / "tests" / "models"))
import build  # noqa: E402
import zoo  # noqa: E402

# The first that a node's `how` begins with, or that is in it.
PLANS = [("cuDNN dgrad", "transposed Conv, cuDNN's"), ("cuDNN attention", "attention, cuDNN's"), ("cuDNN pool", "pool, cuDNN's"),
         ("cuDNN norm", "normalisation, cuDNN's"), ("cuDNN", "Conv, cuDNN's"), ("cuBLASLt", "product, cuBLASLt's"),
         ("a kernel of our own, tiles", "depthwise Conv, ours"), ("reference", "left to the reference")]
KERNELS = {"point": "moves, functions, sums", "rows": "rows: normalisations, reductions", "window": "pools", "depthwise": "depthwise Convs",
           "table": "products with tables of numbers"}


def planned(name, options):
    """pet-run's report; a text where it refuses."""
    with tempfile.TemporaryDirectory() as folder:
        path = build.build(name, folder)
        model = zoo.MODELS[name]
        shapes = [f"{key}={'x'.join(map(str, array.shape))}" for key, array in model.arrays(model.tries[0]).items()] if model.tries[0] else []
        words = [BIN / "pet-run", path, "--plan", options.device, "--precision", options.precision, "--json", "-", *(["--shape", ",".join(shapes)] if shapes else [])]
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
        return json.loads(done.stdout) if done.returncode == 0 else done.stderr.strip()


def table(heading, rows):
    return "\n".join("| " + " | ".join(str(cell) for cell in row) + " |" for row in [heading, ["---"] * len(heading), *rows])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=list(zoo.MODELS))
    parser.add_argument("--device", default="h200")
    parser.add_argument("--precision", default="fp16")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    plans, kernels, models, refused = collections.Counter(), collections.defaultdict(dict), collections.defaultdict(set), {}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for name, report in zip(options.names, pool.map(lambda name: planned(name, options), options.names)):
            if isinstance(report, str):
                refused[name] = report
                continue
            for node in report["nodes"]:
                kind = next((kind for begin, kind in PLANS if node["how"].startswith(begin)), None)
                if kind:
                    plans[kind] += 1
                    models[kind].add(name)
            for kernel in report["kernels"]:
                kind = KERNELS[re.match(r"pet_([a-z]+)_", kernel["kernel"])[1]]
                kernels[kind][kernel["kernel"]] = kernel
                models[kind].add(name)
    rows = [[kind, len(models[kind]), plans[kind]] for _, kind in PLANS if plans[kind]]
    print(f"{len(options.names) - len(refused)} models of the zoo on {options.device} in {options.precision}\n")
    print(table(["nodes", "in models", "how many"], rows) + "\n")
    rows = [[kind, len(models[kind]), len(of), round(statistics.median(k["registers"] for k in of.values())), max(k["registers"] for k in of.values()),
             sum(k["spilled_bytes"] for k in of.values()), max(k["shared_bytes"] for k in of.values())] for kind, of in ((kind, kernels[kind]) for kind in KERNELS.values()) if of]
    print(table(["kernels", "in models", "different ones", "registers, median", "most", "bytes spilled", "shared bytes, most"], rows))
    for name, why in refused.items():
        print(f"{name}: {why}")
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
