#!/usr/bin/env python3
"""Options that pet-apply names where nothing fired, as they are printed: pasted, they let the rule fire. Exit status 0 or 1."""

import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from apply_errors import ROOT
from pack import BIN, SOURCE

DEFAULT = BIN.parent / "share" / "pet" / "default.db"
failures = []


def expect(name, condition, detail=""):
    if not condition:
        failures.append(f"{name}: {detail}")


def run(*command, folder):
    return subprocess.run(["bash", "-c", " ".join(map(str, command))], cwd=folder, capture_output=True, text=True, timeout=120,
                          env={"PATH": f"{BIN}:/usr/bin:/bin", "PET_CACHE": str(folder / "cache"), "PET_MACHINE": "avx2"})


def unlocks(name, folder, option, *command):
    """Nothing fires; the command that is named has this option, and rewrites a site."""
    done = run("pet-apply", *command, "--json", "report.json", folder=folder)
    report = json.loads((folder / "report.json").read_text()) if done.returncode == 0 else {"fired": [], "next": [], "refused": []}
    expect(name, done.returncode == 0 and not report["fired"] and report["next"], (done.stdout, done.stderr))
    named = report["next"][-1] if report["next"] else ""
    expect(name, option in named and named in done.stdout, (named, report["refused"]))
    again = run(named, folder=folder)
    expect(f"{name}: pasted", again.returncode == 0 and "1 site rewritten" in again.stdout, (named, again.stdout, again.stderr))


def save(path, nodes, x, y, weights, free=()):
    """`free`: weights that a caller may replace."""
    tensors = [numpy_helper.from_array(value, name) for name, value in weights.items()]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, x)]
    inputs += [helper.make_tensor_value_info(name, TensorProto.FLOAT, weights[name].shape) for name in free]
    graph = helper.make_graph(nodes, "g", inputs, [helper.make_tensor_value_info("y", TensorProto.FLOAT, y)], tensors)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def conv(folder, name, channels, **more):
    weight = np.random.default_rng(0).uniform(-1, 1, [*channels, 3, 3]).astype(np.float32) / channels[1]
    save(folder / f"{name}.onnx", [helper.make_node("Conv", ["x", "w"], ["y"], name="conv1", pads=[1] * 4)], [1, channels[1], 12, 12],
         [1, channels[0], 12, 12], {"w": weight}, **more)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "root.pet").write_text(ROOT)
        for command in ["pet-synth prove root.pet -o proved.pet", "pet-rules import proved.pet -o root.db",
                        f"pet-rules import {SOURCE}/tests/data/conv.pet -o conv.db"]:
            expect(command, run(command, folder=folder).returncode == 0)
        winograd = [DEFAULT, "--all", "--only", "conv/winograd-6-3"]
        conv(folder, "rounds", [8, 64])
        unlocks("rounding", folder, "--max-rel-error ", "rounds.onnx", *winograd, "--max-rel-error", "9e-5")
        conv(folder, "grows", [128, 64])
        unlocks("growth", folder, "--max-growth ", "grows.onnx", *winograd, "--max-growth", "1")
        conv(folder, "free", [2, 3], free=["w"])
        unlocks("weights that a caller may replace", folder, "--freeze-inputs", "free.onnx", "conv.db", "--all")
        save(folder / "root.onnx", [helper.make_node("Sigmoid", ["x"], ["s"]), helper.make_node("Sub", ["s", "s"], ["d"]),
                                    helper.make_node("Sqrt", ["d"], ["y"], name="root")], [3, 4], [3, 4], {})
        unlocks("no bound", folder, "--numerics any", "root.onnx", "root.db", "--all")
    print("\n".join(failures) or "options that are named unlock the rules")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
