#!/usr/bin/env python3
"""pet-apply on models as exporters write them (tests/models/zoo.py). Exit status 0 or 1.

With PET_TEST_PART=K/N the K-th part of those that do not take long, else the whole zoo. Under --all pet-apply refuses none of
them, and ONNX Runtime finds what it writes equal at each of the extents that the zoo tries. Sliding windows are found as each
exporter writes them.
"""

import os
import pathlib
import sys
import tempfile
import time

import onnx

import _part as part
from pack import BIN, SOURCE, made

sys.path.insert(0, str(SOURCE / "tests" / "models"))
import build  # noqa: E402
import trial  # noqa: E402
import zoo  # noqa: E402
from compare import runner  # noqa: E402

MISTAKES = (runner.Mistake, onnx.checker.ValidationError, onnx.shape_inference.InferenceError)


FIRES = {name: "attention-banded" for name in ["window_attention-dynamo", "window_attention-script", "window_fused-dynamo",
                                               "window_fused-script", "mistral-dynamo"]}


def chosen():
    names = [name for name in zoo.MODELS if not (part.given() and name in zoo.SLOW)]
    return part.mine(names)


def check(name, pack, folder):
    """What is wrong with a model; empty if nothing is."""
    begin = time.perf_counter()
    model, output = build.build(name, folder), folder / "out.onnx"
    run = trial.apply(BIN, model, pack, output, "--all", "--check", "sites", limit=280)
    if run.code:
        return f"exit code {run.code}: {run.said}"
    if name in FIRES and not any(rule.startswith(FIRES[name]) for rule in run.rules()):
        return f"no rule of {FIRES[name]} fires: {', '.join(run.rules())}"
    try:
        expected = trial.Expected(name, model)
        difference = expected.difference(output)
    except MISTAKES as error:
        return str(error)
    print(f"{name}: {len(run.rules())} sites, {run.report['nodes'][0]} nodes to {run.report['nodes'][1]}, {difference:.1e}, "
          f"{time.perf_counter() - begin:.1f} s")
    return "" if difference <= expected.tolerance else f"differs by {difference:.1e} of an output's largest value"


def main():
    pack = made()
    names = chosen()
    print(f"{len(names)} of {len(zoo.MODELS)} models: {', '.join(names)}")
    failures = []
    with tempfile.TemporaryDirectory() as share:
        os.environ["PET_SHARE"] = share  # no timings: --all needs none
        for name in names:
            with tempfile.TemporaryDirectory() as folder:
                wrong = check(name, pack, pathlib.Path(folder))
            failures += [f"{name}: {wrong}"] if wrong else []
    for failure in failures:
        print(f"zoo: {failure}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
