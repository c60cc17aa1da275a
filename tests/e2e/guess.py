#!/usr/bin/env python3
"""pet-apply for a GPU that nothing was timed on: it is untuned and nothing fires, unless a guess is asked for; what was guessed is
marked in the summary, the report and the model, and what was timed is not guessed. Exit status 0 or 1."""

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
# Two products of one value are one, of the sum of their weights.
RULE = """
pattern pair {
  shape M K N
  x: [M, K]
  v: const [K, N]
  w: const [K, N]
  a = MatMul(x, v)
  b = MatMul(x, w)
  y = Add(a, b)
}
rule pair/one of pair {
  family one
  depth 1
  class M K N : 1 <= M, 1 <= K, 1 <= N
  replacement {
    s = Add(v, w)
    y = MatMul(x, s)
  }
}
"""
failures = []


def expect(name, condition, detail=""):
    if not condition:
        failures.append(f"{name}: {detail}")


def run(tool, *arguments):
    return subprocess.run([str(word) for word in [BIN / tool, *arguments]], capture_output=True, text=True, timeout=120)


def model(path, extents):
    """A pair of products for each of these extents, one behind the other."""
    nodes, constants, value = [], [], "x"
    for i, (inner, outer) in enumerate(zip(extents, extents[1:])):
        weights = np.random.default_rng(i).uniform(-0.1, 0.1, [2, inner, outer]).astype(np.float32)
        constants += [numpy_helper.from_array(weights[k], f"w{i}{k}") for k in range(2)]
        nodes += [helper.make_node("MatMul", [value, f"w{i}{k}"], [f"p{i}{k}"], name=f"product{i}{k}") for k in range(2)]
        value = f"y{i}"
        nodes += [helper.make_node("Add", [f"p{i}0", f"p{i}1"], [value], name=f"sum{i}")]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [32, extents[0]])],
                              [helper.make_tensor_value_info(value, TensorProto.FLOAT, [32, extents[-1]])], constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def what_rounds_too_much(folder):
    """A rule whose terms cancel is one where the device's precision bears it: Winograd's F(4, 3) in float, F(2, 3) where factors have 11 bits."""
    path, report = folder / "conv.onnx", folder / "conv.json"
    weight = np.random.default_rng(0).uniform(-0.1, 0.1, [32, 32, 3, 3]).astype(np.float32)
    graph = helper.make_graph([helper.make_node("Conv", ["x", "w"], ["y"], name="conv", pads=[1] * 4)], "g",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 32, 24, 24])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 32, 24, 24])], [numpy_helper.from_array(weight, "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    for device, rule, fires in [("cuda:h100", "conv/winograd-4-3", True), ("cuda:h100:tf32", "conv/winograd-4-3", False), ("cuda:h100:tf32", "conv/winograd-2-3", True),
                                ("cuda:h100:fp16", "conv/winograd-4-3", False), ("cuda:h100:bf16", "conv/winograd-2-3", False)]:
        done = run("pet-apply", path, "-o", folder / "out.onnx", "--device", device, "--all", "--only", rule, "--verbose", "--json", report)
        told = json.loads(report.read_text())
        reasons = [refused["reason"] for refused in told.get("refusals", [])]
        expect(f"{rule} on {device}", bool(told["fired"]) == fires and (fires or any("its relative error may reach" in str(r) for r in told["refusals"])),
               (done.stdout, done.stderr, reasons))


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        path, pack, out, report = folder / "model.onnx", folder / "pair.db", folder / "out.onnx", folder / "report.json"
        model(path, [64, 48])
        (folder / "pair.pet").write_text(RULE)
        proved = run("pet-synth", "prove", folder / "pair.pet", "-o", folder / "proved.pet")
        imported = run("pet-rules", "import", folder / "proved.pet", "-o", pack)
        expect("the rule", imported.returncode == 0 and pack.exists(), proved.stdout + proved.stderr + imported.stderr)
        if not pack.exists():
            print(failures[0], file=sys.stderr)
            return 1
        command = [path, pack, "-o", out, "--trust-pack", "--json", report]

        done = run("pet-apply", *command, "--device", "cuda:a100")
        told = json.loads(report.read_text())
        expect("untuned", done.returncode == 0 and "nothing rewritten: rules fit at 1 site, but cuda:a100 is untuned: nothing was timed on it" in done.stdout,
               done.stdout + done.stderr)
        expect("untuned, next", "pet-tune" in done.stdout and "--device cuda:a100" in done.stdout and "--guess" in done.stdout, done.stdout)
        expect("untuned, report", not told["fired"] and not told["tuned"] and not told["machine"]["timed"] and told["machine"]["name"] == "NVIDIA-8-sm.80"
               and any(each.endswith("--guess") for each in told["next"]), told)

        for device in ["cuda:a100", "cuda:rtx5090:fp16"]:
            done = run("pet-apply", *command, "--device", device, "--guess")
            told = json.loads(report.read_text())
            expect(f"guess on {device}", done.returncode == 0 and "1 site rewritten, guessed to be" in done.stdout and ", a guess" in done.stdout
                   and "Gains at 1 site are guesses, by the peak that is published of NVIDIA" in done.stdout and "it is untuned" in done.stdout
                   and "expected" not in done.stdout, done.stdout + done.stderr)
            expect("guess, report", [f["guessed"] for f in told["fired"]] == [True] and 1.5 < told["fired"][0]["gain"] <= 2.5, told["fired"])
            metadata = {entry.key: entry.value for entry in onnx.load(out).metadata_props}
            expect("guess, model", metadata.get("pet.guessed") == "pair/one" and metadata["pet.device"] == device and "--guess" in metadata["pet.options"],
                   metadata)
        explained = run("pet-apply", path, pack, "--device", "cuda:a100", "--guess", "--explain", "pair/one")
        expect("explain", "guessed to be" in explained.stdout, explained.stdout + explained.stderr)

        # Where it was timed, nothing is guessed: here it loses.
        rule = json.loads(run("pet-rules", "ls", "--json", pack).stdout)[0]
        sample = {"name": rule["name"], "rule": rule["hash"], "device": "cuda:h200", "shapes": {"K": 64, "M": 32, "N": 48}, "pattern": 1e-5,
                  "replacement": 2e-5, "opening": 0, "closing": 0, "moved": 0, "spread": 0.01, "engine": "pet-cuda", "version": "1", "isa": "sm_90",
                  "threads": 1, "date": "2026-01-01", "weights": "cold"}
        (folder / "timed.jsonl").write_text(json.dumps(sample) + "\n")
        done = run("pet-apply", *command, "--device", "cuda:h200", "--guess", "--timings", folder / "timed.jsonl")
        told = json.loads(report.read_text())
        expect("timed", done.returncode == 0 and not told["fired"] and told["tuned"] and "guessed" not in done.stdout and "a guess" not in done.stdout, done.stdout + done.stderr)

        what_rounds_too_much(folder)
        for arguments, words in [(["--guess"], "--guess: nothing is published of ort-cpu (--device cuda:NAME with one of a100, b200, h100, h200, l4, rtx5090)"),
                                 (["--device", "cuda:h2000"], "cuda:h2000: unknown device (did you mean 'cuda:h200'?"),
                                 (["--device", "cuda:h200:fp8"], "fp8: unknown precision (known: fp32, tf32, fp16, bf16)"),
                                 (["--device", "cuda::"], "no device")]:
            done = run("pet-apply", *command, *arguments)
            expect(f"mistake {arguments}", done.returncode == 2 and words in done.stderr, done.stderr)
    for failure in failures:
        print(f"guess: {failure}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
