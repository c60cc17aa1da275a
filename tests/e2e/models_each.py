#!/usr/bin/env python3
"""Each rule of the pack alone, at each site where it applies; rules with boxes without their corrections. Exit status 0 or 1.

The sites are the nodes of two small models with batches and with small extents. For every (rule, site), what pet-apply
writes passes onnx.checker and ONNX Runtime finds it equal. Every rule must apply somewhere. Then packs, written past
pet-rules, whose replacements are wrong in one place: pet-apply's check refuses each, with exit code 5, and writes nothing.
"""

import collections
import concurrent.futures
import json
import pathlib
import re
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from models import compare
from pack import made, tool
from pack_rules import Rules

TOLERANCE = 1e-5
failures = []


def expect(name, condition, detail=""):
    if not condition:
        failures.append(f"{name}: {detail}" if detail else name)


# ---- the models

class Net:
    """Nodes side by side on a few inputs, each with an output of its own: so each site is alone, and all are one model."""

    def __init__(self):
        self.inputs, self.nodes, self.constants, self.outputs = {}, [], [], []

    def site(self, op, name, x, weight, bias=0, **attributes):
        source = "x" + "_".join(map(str, x))
        self.inputs[source] = x
        stream = np.random.default_rng(len(self.nodes))
        operands = [source, self.constant(f"{name}.w", stream.uniform(-1, 1, weight))]
        if bias:
            operands.append(self.constant(f"{name}.b", stream.uniform(-1, 1, [bias])))
        self.nodes.append(helper.make_node(op, operands, [f"{name}.y"], name=name, **attributes))
        self.nodes.append(helper.make_node("Relu", [f"{name}.y"], [f"{name}.out"], name=f"{name}.relu"))
        self.outputs.append(f"{name}.out")

    def constant(self, name, values):
        self.constants.append(numpy_helper.from_array(values.astype(np.float32), name))
        return name

    def save(self, path):
        inputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in self.inputs.items()]
        outputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in self.outputs]
        graph = helper.make_graph(self.nodes, path.stem, inputs, outputs, self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        model = onnx.shape_inference.infer_shapes(model, strict_mode=True)
        onnx.checker.check_model(model, full_check=True)
        onnx.save(model, path)
        return path


def batches(path):
    """Four or two images at a time, even extents, "same" pads."""
    net = Net()
    for name, n, c, f, h, w, r, s in [("same", 4, 3, 5, 8, 8, 3, 3), ("tall", 2, 2, 3, 12, 8, 5, 3)]:
        p, q = r // 2, s // 2
        net.site("Conv", f"conv.{name}", [n, c, h, w], [f, c, r, s], bias=f, pads=[p, q, p, q])
        net.site("Conv", f"stride.{name}", [n, c, h, w], [f, c, r, s], strides=[2, 2], pads=[p, q, p, q])
        net.site("Conv", f"dilated.{name}", [n, c, h, w], [f, c, r, s], dilations=[2, 2], pads=[2 * p, 2 * q, 2 * p, 2 * q])
        net.site("Conv", f"grouped.{name}", [n, 4 * c, h, w], [4 * f, c, r, s], group=4, pads=[p, q, p, q])
        net.site("ConvTranspose", f"transposed.{name}", [n, c, h, w], [c, f, r, s], bias=f, pads=[p, q, p, q])
        net.site("ConvTranspose", f"upscale.{name}", [n, c, h, w], [c, f, r + 1, s + 1], strides=[2, 2], pads=[p, q, p, q])
        net.site("Conv", f"pointwise.{name}", [n, c, h, w], [f, c, 1, 1], bias=f)
        net.site("Conv", f"shortcut.{name}", [n, c, h, w], [f, c, 1, 1], strides=[2, 2])
        net.site("MatMul", f"matmul.{name}", [n, h, w], [w, f])
    return net.save(path)


def odd(path):
    """Odd extents, one image or three, no pads or too many, kernels that are even or as large as the picture."""
    net = Net()
    for name, n, c, f, h, w, r, s, p, q in [("bare", 1, 3, 2, 7, 9, 3, 4, 0, 0), ("wide", 3, 2, 3, 5, 7, 2, 3, 1, 2),
                                            ("whole", 2, 1, 2, 5, 5, 5, 5, 2, 2)]:
        pads = [p, q, p, q]
        net.site("Conv", f"conv.{name}", [n, c, h, w], [f, c, r, s], pads=pads)
        net.site("Conv", f"stride.{name}", [n, c, h, w], [f, c, r, s], bias=f, strides=[2, 2], pads=pads)
        net.site("Conv", f"dilated.{name}", [n, c, h + 4, w + 4], [f, c, r, s], dilations=[2, 2], pads=pads)
        net.site("Conv", f"grouped.{name}", [n, 2 * c, h, w], [2 * f, c, r, s], group=2, pads=pads)
        net.site("ConvTranspose", f"transposed.{name}", [n, c, h, w], [c, f, r, s], pads=[0, 1, 0, 1])
        net.site("ConvTranspose", f"upscale.{name}", [n, c, h, w], [c, f, r, s], strides=[2, 2], pads=[0, 0, 0, 0])
        net.site("Conv", f"pointwise.{name}", [n, c, h, w], [f, c, 1, 1])
        net.site("Conv", f"shortcut.{name}", [n, c, h, w], [f, c, 1, 1], bias=f, strides=[2, 2])
        net.site("MatMul", f"matmul.{name}", [n, h, w], [w, f])
    return net.save(path)


# ---- each rule, each site

def candidates(model, pack):
    """Every (rule, site) that matches: what a dry run of --all chose there, or refused only because of another choice."""
    report = model.with_suffix(".candidates.json")
    done = tool("pet-apply", model, pack, "--all", "--dry-run", "--json", report)
    if done.returncode:
        sys.exit(f"{model.name}: exit code {done.returncode}: {done.stderr}")
    report = json.loads(report.read_text())
    found = [(f["rule"], f["site"]) for f in report["fired"]]
    return sorted(found + [(r["rule"], r["site"]) for r in report["refused"] if r["reason"] == "another rule was preferred"])


def alone(model, pack, rule, site, output):
    """None, or what is wrong."""
    report = output.with_suffix(".json")
    try:
        done = tool("pet-apply", model, pack, "--all", "--only", rule, "--site", site, "-o", output, "--json", report, timeout=120)
        if done.returncode:
            return f"exit code {done.returncode}: {done.stderr}"
        report_ = json.loads(report.read_text())
        if [(f["rule"], f["site"]) for f in report_["fired"]] != [(rule, site)]:
            return f"fired {report_['fired']}, refused {[r['reason'] for r in report_['refused']][:3]}"
        found = compare.compare(model, output)
        return None if found.relative <= TOLERANCE else f"differs by {found.relative:.1e}"
    except Exception as error:  # of the checker or of the engine: about this rule at this site
        return str(error)
    finally:
        report.unlink(missing_ok=True)
        output.unlink(missing_ok=True)


def every_rule(models, pack, folder, pool):
    todo = [(model, rule, site) for model in models for rule, site in candidates(model, pack)]
    outputs = [folder / f"{i}.onnx" for i in range(len(todo))]
    problems = list(pool.map(lambda t, out: alone(t[0], pack, t[1], t[2], out), todo, outputs))
    for (model, rule, site), problem in zip(todo, problems):
        expect(f"{rule} at {site} of {model.name}", problem is None, problem)
    sites = collections.Counter(rule for _, rule, _ in todo)
    names = [r["name"] for r in json.loads(tool("pet-rules", "ls", "--json", pack).stdout)]
    idle = [n for n in names if n not in sites]
    expect("every rule applies somewhere", not idle, f"not: {', '.join(idle)}")
    return f"{len(todo)} times one rule at one site, {len(sites)} of {len(names)} rules, {sum(p is None for p in problems)} equal"


# ---- wrong replacements

def wrong(statement):
    """Statements whose replacement is wrong: the mutant, without any correction; then one correction at a time doubled."""
    head, tail = statement.split("  replacement {\n")
    yield head + "  replacement {\n" + head.split("  mutant {\n")[1]
    lines = tail.splitlines(keepends=True)
    for i, line in enumerate(lines):
        if found := re.match(r"    (c\d+) = \w+\(c\d+, \w+\)", line):
            name = found.group(1)
            rest = re.sub(rf"\b{name}\b", name + "x", "".join(lines[i + 1:]))
            yield head + "  replacement {\n" + "".join(lines[:i + 1]) + f"    {name}x = Add({name}, {name})\n" + rest


def wrong_replacements(models, rules, folder, pool):
    """Each rule with boxes, wrong in every way of `wrong`, at the first site where it applies."""
    sites = {}
    for model in models:
        for rule, site in candidates(model, rules.pack):
            sites.setdefault(rule, (model, site))
    boxed = {name: text for name, text in rules.statements.items() if "\n  box " in text}
    damaged = [(name, text) for name, statement in boxed.items() for text in wrong(statement)]
    expect("wrong replacements", len(damaged) >= 2 * len(boxed) > 0, "some rules with boxes have no correction to damage")

    def refused(index):
        name, text = damaged[index]
        pack, output = folder / f"wrong{index}.db", folder / f"wrong{index}.onnx"
        rules.forge(pack, statements={name: text})
        model, site = sites[name]
        done = tool("pet-apply", model, pack, "--all", "--site", site, "-o", output, timeout=120)
        left = [p.name for p in folder.iterdir() if p.name.startswith(f"wrong{index}.onnx")]
        return None if done.returncode == 5 and not left else f"exit code {done.returncode}, {left}: {done.stdout}{done.stderr}"

    for (name, _), problem in zip(damaged, pool.map(refused, range(len(damaged)))):
        expect(f"{name} with a wrong replacement", problem is None, problem)
    return f"{len(damaged)} wrong replacements of {len(boxed)} rules with boxes"


def main():
    pack = made()
    with tempfile.TemporaryDirectory() as name, concurrent.futures.ThreadPoolExecutor(2) as pool:
        folder = pathlib.Path(name)
        models = [batches(folder / "batches.onnx"), odd(folder / "odd.onnx")]
        print(every_rule(models, pack, folder, pool))
        print(wrong_replacements(models, Rules(pack, folder), folder, pool))
    for failure in failures:
        print(f"models_each: {failure}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
