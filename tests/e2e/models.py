#!/usr/bin/env python3
"""pet-apply on a whole model with the pack of all canonical patterns. Exit status 0 or 1.

    python tests/e2e/models.py NAME...        models of tests/models/build.py; `small`: all those that are only for tests

Those that take long are each of one part of PET_TEST_PART=K/N, and skipped (77) in others.

Under --all, with the default options, and with timings by which every rule that fired under --all pays: what is written
passes onnx.checker and ONNX Runtime finds it equal. A second run changes nothing, except under --all, which rewrites what
it finds. On the models in BOXED, rules fire that have boxes with positions in them; on those in PAYING, a rule pays by the
timings that come with the tool; on those in FITTING, rules of these patterns fit somewhere.
"""

import json
import os
import pathlib
import sys
import tempfile

import onnx

import _part as part
from pack import SOURCE, made, tool

sys.path.insert(0, str(SOURCE / "tests" / "models"))
import build  # noqa: E402
import compare  # noqa: E402

TOLERANCE = 1e-4
BOXED = ["srcnn", "resnet18", "resnet18_b8", "csrnet", "csrnet_odd"]  # dcgan: no such rule; fast_style: no pads, so empty boxes
PAYING = ["srcnn", "fast_style", "dcgan"]
LONG = ["csrnet", "csrnet_odd", "resnet18_b8", "fast_style"]
LARGE = ["csrnet", "csrnet_odd", "resnet18_b8"]  # no timings for these, since their checks take long
FITTING = {  # what these structures are known for
    "alexnet_small": ["lrn"],
    "nin_small": ["conv-1x1", "conv-1x1-bias-gap"],
    "densenet_small": ["conv-1x1", "conv-1x1-pool"],
    "mobilenet_small": ["conv-1x1", "conv-grouped"],
    "unet_small": ["conv-of-concat", "resize-conv"],
    "lama_small": ["dft-inverse", "dft-real", "dft-rows", "dft-rows-inverse"],
    "nafnet_small": ["mean-channels", "conv-1x1"],
    "r3d18_small": ["conv3d", "conv3d-s1x2x2", "conv3d-s2"],
    "window_attention_small": ["attention-banded-heads", "matmul"],
    "window_attention_early": ["attention-banded-heads-plain", "matmul"],
    "encoder_layer_small": ["matmul"],
    "conformer_small": ["conv1d", "conv1d-depthwise"],
}
# What Softmax and LRN give is no integer: sites of these patterns are compared within the running bounds only. A matrix across
# channels has none where channels differ by 1e30.
NO_INTEGERS = {"window_attention_small": "attention", "window_attention_early": "attention", "alexnet_small": "lrn", "lama_small": "dft",
                "nafnet_small": "pow", "encoder_layer_small": "sum-layernorm"}
failures = []


def expect(name, condition, detail=""):
    if not condition:
        failures.append(f"{name}: {detail}" if detail else name)


def apply(model, pack, output, *arguments):
    """pet-apply's report; the model in `output` is equal to `model`."""
    report = output.with_suffix(".json")
    name = f"{model.stem} {' '.join(str(a) for a in arguments if not isinstance(a, pathlib.Path)) or 'default'}"
    done = tool("pet-apply", model, pack, "-o", output, "--json", report, "--verbose", *arguments, timeout=560)
    if done.returncode:
        sys.exit(f"{name}: exit code {done.returncode}: {done.stderr}")
    try:
        found = compare.compare(model, output)
        expect(name, found.relative <= TOLERANCE, f"differs by {found.relative:.1e} of the largest value")
    except (compare.runner.Mistake, onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        sys.exit(f"{name}: {error}")
    report = json.loads(report.read_text())
    unchecked = [c["where"] for c in report["checks"] if not c["possible"] and not has_no_integers(model, c)]
    expect(name, not unchecked, f"not checked: {unchecked}")
    fired = report["fired"]
    print(f"{name}: {len(fired)} sites, {len({f['rule'] for f in fired})} rules, {report['nodes'][0]} nodes to {report['nodes'][1]}, "
          f"{found.relative:.1e}, rewriting {report['seconds']['rewrite']:.2f} s, checking {report['seconds']['check']:.2f} s")
    return report


def has_no_integers(model, check):
    reasons = ("no integers", "not exact on integers", "no finite bound in the replacement")
    return NO_INTEGERS.get(model.stem, "no pattern") in check["where"] and check["reason"].endswith(reasons)


def fitting(report):
    """The patterns of which a rule fired, or was refused only because of another."""
    patterns = {f["rule"].split("/")[0] for f in report["fired"]}
    return patterns | {r["pattern"] for r in report["refusals"] if r["reason"] == "another rule was preferred"}


def settled(model, pack, output, *arguments):
    """A second run, on the output of the first, fires nothing and writes the same bytes."""
    again = output.with_name("again.onnx")
    done = tool("pet-apply", output, pack, "-o", again, *arguments, timeout=560)
    expect(f"{model.stem}, second run", done.returncode == 0 and again.read_bytes() == output.read_bytes(), done.stdout + done.stderr)


def paying(report, hashes, path):
    """A file of timings by which each rule that fired pays, where it fired."""
    lines = [{"rule": hashes[f["rule"]], "name": f["rule"], "device": "ort-cpu", "shapes": f["shapes"], "engine": "none", "version": "0",
              "isa": "avx512", "threads": 1, "pattern": 1.5e-3, "replacement": 1e-3, "spread": 0.02, "date": "2026-01-01"}
             for f in report["fired"]]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def check(name, pack, hashes, folder):
    model = build.build(name, folder)
    output = folder / "out.onnx"
    everything = apply(model, pack, output, "--all")
    expect(name, everything["fired"], "nothing fires")
    boxed = [f["rule"] for f in everything["fired"] if f["boxes"]]
    print(f"{name}: {len(boxed)} sites with boxes: {', '.join(boxed)}")
    expect(name, boxed or name not in BOXED, "no rule with boxes fires")
    missing = set(FITTING.get(name, [])) - fitting(everything)
    expect(name, not missing, f"no rule fits of {', '.join(sorted(missing))}")

    report = apply(model, pack, output)
    expect(name, report["fired"] or name not in PAYING, "by the timings that come with the tool no rule pays; are they of this pack?")
    settled(model, pack, output)

    if name in LARGE:
        return
    timings = paying(everything, hashes, folder / "timings.jsonl")
    own = ("--timings", timings, "--machine", "avx512")
    report = apply(model, pack, output, *own, "--check", "sites")
    expect(name, report["fired"], "nothing fires by the timings")
    settled(model, pack, output, *own)


def main():
    os.environ |= {"PET_SHARE": str(SOURCE / "packs"), "PET_MACHINE": "AuthenticAMD-25-avx512"}  # the timings of which test what pays
    for group in sys.argv[1:]:
        part.skip_unless_mine(group, LONG)
    pack = made()
    hashes = {r["name"]: r["hash"] for r in json.loads(tool("pet-rules", "ls", "--json", pack).stdout)}
    names = [name for group in sys.argv[1:] for name in (build.SMALL if group == "small" else [group])]
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            check(name, pack, hashes, pathlib.Path(folder))
    for failure in failures:
        print(f"models: {failure}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
