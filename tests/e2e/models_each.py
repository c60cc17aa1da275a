#!/usr/bin/env python3
"""Each rule of the pack alone, at each site where it applies; rules with boxes without one of their corrections.

The sites are the nodes of two small models, one with batches and even extents, one with odd extents. For every (rule,
site), what pet-apply writes passes onnx.checker and ONNX Runtime finds it equal. Every rule for one of these nodes must
apply somewhere; with PET_TEST_PART=K/N every N-th of them. Then packs, written past pet-rules, whose rules with boxes lack a correction: for each there is a site where
pet-apply's check refuses it, with exit code 5 and nothing written; where it is not refused, the result is equal. Exit status 0
or 1.
"""

import collections
import concurrent.futures
import functools
import itertools
import json
import os
import pathlib
import re
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import _part as part
from models import compare, expect, failures
from pack import made, tool
from pack_rules import Rules, boxes_of

TOLERANCE = 1e-5
# Of what the models' nodes are; the rules of other patterns are applied in pack_graphs.py and pack_forms.py.
PATTERNS = ["conv", "conv-1x1", "conv-1x1-s2", "conv-s2", "conv-d2", "conv-grouped", "convtranspose", "convtranspose-s2", "matmul"]
# Corrections that are doubled: the text does not say which values of the mutant stand there.
DOUBLED = [
    "conv-d2/h.in2-outer0_w.in2-outer1_conv, c9 doubled",
    "conv-d2/h.out2-outer1-d2_conv, c8 doubled",
    "conv-d2/h.out2-outer1_conv, c8 doubled",
    "conv-d2/w.out2-outer0-d2_conv, c7 doubled",
    "conv-d2/w.out2-outer0-d2_conv, c10 doubled",
    "conv-d2/w.out2-outer0_conv, c7 doubled",
    "conv-d2/w.out2-outer0_conv, c10 doubled",
    "conv/h.out2-outer1_conv, c8 doubled",
    "conv/w.out2-outer0_conv, c11 doubled",
    "conv/w.out2-outer0_conv, c14 doubled",
]
PACK_SIZE = 10  # rules of a small pack; reading the whole one would take most of the time

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
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
        model = onnx.shape_inference.infer_shapes(model, strict_mode=True)
        onnx.checker.check_model(model, full_check=True)
        onnx.save(model, path)
        return path


def batches(path):
    """Four or two images at a time, extents that are multiples of 4, "same" pads."""
    net = Net()
    for name, n, c, f, h, w, r, s in [("same", 4, 3, 5, 12, 12, 3, 3), ("tall", 2, 2, 3, 12, 8, 5, 3)]:
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
    net.site("Conv", "conv.even", [2, 3, 9, 9], [4, 3, 4, 2], pads=[1, 0, 1, 0])  # a kernel in halves
    # Quarters of the feature map that are longer than what a dilated kernel reads.
    net.site("Conv", "dilated.long", [4, 2, 24, 24], [2, 2, 3, 3], dilations=[2, 2], pads=[2, 2, 2, 2])
    return net.save(path)


def odd(path):
    """Odd extents, one image or three, no pads, too many or more at one end, kernels that are even or as large as the
    image."""
    net = Net()
    for name, n, c, f, h, w, r, s, pads in [("bare", 1, 3, 2, 7, 9, 3, 4, [0, 0, 0, 0]), ("wide", 3, 2, 3, 5, 7, 2, 3, [1, 2, 1, 2]),
                                            ("low", 2, 1, 2, 8, 6, 3, 3, [1, 0, 2, 0]), ("right", 2, 2, 1, 6, 8, 3, 3, [0, 1, 0, 2]),
                                            ("whole", 2, 1, 2, 5, 5, 5, 5, [2, 2, 2, 2])]:
        net.site("Conv", f"conv.{name}", [n, c, h, w], [f, c, r, s], pads=pads)
        net.site("Conv", f"stride.{name}", [n, c, h, w], [f, c, r, s], bias=f, strides=[2, 2], pads=pads)
        net.site("Conv", f"dilated.{name}", [n, c, h + 4, w + 4], [f, c, r, s], dilations=[2, 2], pads=pads)
        net.site("Conv", f"grouped.{name}", [n, 2 * c, h, w], [2 * f, c, r, s], group=2, pads=pads)
        if pads[:2] != pads[2:]:
            continue  # the others have no such pads
        net.site("ConvTranspose", f"transposed.{name}", [n, c, h, w], [c, f, r, s], pads=[0, 1, 0, 1])
        net.site("ConvTranspose", f"upscale.{name}", [n, c, h, w], [c, f, r, s], strides=[2, 2], pads=[0, 0, 0, 0])
        net.site("Conv", f"pointwise.{name}", [n, c, h, w], [f, c, 1, 1])
        net.site("Conv", f"shortcut.{name}", [n, c, h, w], [f, c, 1, 1], bias=f, strides=[2, 2])
        net.site("MatMul", f"matmul.{name}", [n, h, w], [w, f])
    # As long as the feature map, and only so along one axis.
    net.site("Conv", "conv.long", [1, 1, 12, 5], [1, 1, 12, 3], pads=[1, 1, 1, 1])
    net.site("Conv", "conv.broad", [1, 1, 5, 12], [1, 1, 3, 12], pads=[1, 1, 1, 1])
    return net.save(path)


def candidates(model, pack):
    """Every (rule, site) that matches: what a dry run of --all chose there, or refused only because of another choice."""
    report = model.with_suffix(".candidates.json")
    done = tool("pet-apply", model, pack, "--all", "--dry-run", "--verbose", "--json", report)
    if done.returncode:
        sys.exit(f"{model.name}: exit code {done.returncode}: {done.stderr}")
    report = json.loads(report.read_text())
    found = [(f["rule"], f["site"]) for f in report["fired"]]
    return sorted(found + [(r["rule"], r["site"]) for r in report["refusals"] if r["reason"] == "another rule was preferred"])


@functools.cache
def reference(model):
    return compare.Reference(model)


def applied(model, pack, rule, site, folder):
    """(exit code, None or what is wrong) of one rule at one site; what is written must be equal."""
    with tempfile.TemporaryDirectory(dir=folder) as name:
        output, report = pathlib.Path(name) / "out.onnx", pathlib.Path(name) / "report.json"
        done = tool("pet-apply", model, pack, "--trust-pack", "--all", "--only", rule, "--site", site, "-o", output, "--verbose", "--json", report, timeout=120)
        if done.returncode:
            left = [p.name for p in pathlib.Path(name).iterdir()]
            return done.returncode, f"exit code {done.returncode}, left {left}: {done.stderr}" if left else None
        report = json.loads(report.read_text())
        if [(f["rule"], f["site"]) for f in report["fired"]] != [(rule, site)]:
            return 0, f"fired {report['fired']}, refused {[r['reason'] for r in report['refusals']][:3]}"
        try:
            found = reference(model).compare(output)
        except Exception as error:  # of the checker or of the engine: about this rule at this site
            return 0, str(error)
        return 0, None if found.relative <= TOLERANCE else f"differs by {found.relative:.1e}"


# ---- each rule, each site

def small_packs(rules, folder):
    """{rule: a pack that holds it and few others}"""
    packs = {}
    names = iter(rules.statements)
    while chunk := list(itertools.islice(names, PACK_SIZE)):
        pack = rules.forge(folder / f"small{len(packs)}.db", statements={n: rules.statements[n] for n in chunk})
        packs |= dict.fromkeys(chunk, pack)
    return packs


def every_rule(todo, rules, folder, pool):
    packs = small_packs(rules, folder)
    results = pool.map(lambda t: applied(t[0], packs[t[1]], t[1], t[2], folder), todo)
    equal = 0
    for (model, rule, site), (code, problem) in zip(todo, results):
        expect(f"{rule} at {site} of {model.name}", code == 0 and problem is None, problem or f"exit code {code}")
        equal += code == 0 and problem is None
    idle = sorted(set(rules.statements) - {rule for _, rule, _ in todo})
    expect("every rule of these patterns applies somewhere", not idle, f"not: {', '.join(idle)}")
    return f"{len(todo)} times one rule at one site, {len(rules.statements) - len(idle)} of {len(rules.statements)} rules, {equal} equal"


# ---- a correction is missing

STEP = re.compile(r"    (\w+) = (\w+)\((.*?)\)(.*)\n")
SPAN = re.compile(r" axes=\[(\d+)\] starts=\[(.*)\] ends=\[(.*)\]")


def left_out(statement, parts, k, steps, axis):
    """The mutant's own values at the place of the k-th of the parts that Concat joins: (value, start, end). None where
    the text does not say which those are."""
    spans = {i: SPAN.fullmatch(steps[p][4]) for i, p in enumerate(parts) if steps[p][2] == "Slice"}
    before, after = spans.get(k - 1), spans.get(k + 1)
    kept = {steps[parts[i]][3] for i in (k - 1, k + 1) if spans.get(i)}
    if len(kept) != 1 or (k > 0 and not before):
        return None
    start = before[3] if before else "0"
    if after:
        return kept.pop(), start, after[2]
    if k + 1 < len(parts):
        return None
    # The last part ends where a box ends.
    ranges = [box.strip()[5:-1].split(", ") for box in boxes_of(statement)]
    ends = {r[axis].split(":")[1] for r in ranges if axis < len(r) and r[axis].split(":")[0] == start}
    return (kept.pop(), start, ends.pop()) if len(ends) == 1 else None


def damaged(statement):
    """{what: statement} with wrong replacements: the mutant as it is; then one correction at a time left out, so that the
    mutant's values stay there, or twice what it should be where the text does not say which values those are."""
    head, tail = statement.split("  replacement {\n")
    mutant = head.split("  mutant {\n")[1]
    yield "all corrections left out", f"{head}  replacement {{\n{mutant}"
    inner = {m[1] for m in STEP.finditer(mutant)}
    steps = {m[1]: m for m in STEP.finditer(tail)}
    for name, step in steps.items():
        if step[2] != "Concat" or name in inner:
            continue
        parts, axis = step[3].split(", "), int(re.search(r"axis=(\d+)", step[4])[1])
        for k, piece in enumerate(parts):
            if steps[piece][2] == "Concat" or (steps[piece][2] == "Slice" and steps[piece][3] in inner):
                continue
            if own := left_out(statement, parts, k, steps, axis):
                what, value = "left out", f"Slice({own[0]}) axes=[{axis}] starts=[{own[1]}] ends=[{own[2]}]"
            else:
                what, value = "doubled", f"Add({piece}, {piece})"
            joined = f"    {piece}x = {value}\n" + step[0].replace(step[3], ", ".join(parts[:k] + [piece + "x"] + parts[k + 1:]))
            yield f"{piece} {what}", f"{head}  replacement {{\n{tail.replace(step[0], joined)}"


def refused(sites, pack, rule, folder):
    """(whether the check refuses the rule at one of the sites, sites where the result was equal all the same, problems)"""
    equal, problems = [], []
    for model, site in sites:
        code, problem = applied(model, pack, rule, site, folder)
        if code not in (0, 5) or problem:
            problems.append(f"{site}: {problem or f'exit code {code}'}")
        elif code == 5:
            return True, equal, problems
        equal.append(site)
    return False, equal, problems


def missing_corrections(todo, rules, folder, pool):
    sites = collections.defaultdict(list)
    for model, rule, site in todo:
        sites[rule].append((model, site))
    variants = {name: list(damaged(text)) for name, text in rules.statements.items() if boxes_of(text)}
    for name, texts in variants.items():
        expect(f"{name}: a correction for each box", len(texts) > len(boxes_of(rules.statements[name])), [what for what, _ in texts])
    runs = []
    for i in range(max(map(len, variants.values()), default=0)):
        pack = rules.forge(folder / f"damaged{i}.db", statements={n: texts[i][1] for n, texts in variants.items() if i < len(texts)})
        runs += [(name, texts[i][0], pack) for name, texts in variants.items() if i < len(texts)]
    found = list(pool.map(lambda run: refused(sites[run[0]], run[2], run[0], folder), runs))
    for (name, what, _), (matters, equal, problems) in zip(runs, found):
        expect(f"{name}, {what}", not problems, "; ".join(problems))
        expect(f"{name}, {what}", matters, f"not refused at {equal}")
    doubled = [f"{name}, {what}" for name, what, _ in runs if what.endswith("doubled")]
    known = [d for d in DOUBLED if d.split(",")[0] in variants]
    expect("corrections that are not left out but doubled", sorted(doubled) == sorted(known), f"{doubled}, known: {known}")
    return (f"{len(runs)} wrong replacements of {len(variants)} rules with boxes, {sum(matters for matters, _, _ in found)} refused, "
            f"at {sum(len(equal) for _, equal, _ in found)} sites without effect; not left out: {', '.join(doubled) or 'none'}")


def main():
    pack = made()
    with tempfile.TemporaryDirectory() as name, concurrent.futures.ThreadPoolExecutor(2) as pool:
        folder = pathlib.Path(name)
        os.environ["PET_SHARE"] = str(folder)  # no timings: --all needs none, and they take as long to read as a case
        todo = [(model, rule, site) for model in [batches(folder / "batches.onnx"), odd(folder / "odd.onnx")]
                for rule, site in candidates(model, pack)]
        rules = Rules(pack, folder)
        rules.statements = {n: rules.statements[n] for n in part.mine(n for n in rules.statements if n.split("/")[0] in PATTERNS)}
        todo = [t for t in todo if t[1] in rules.statements]
        print(every_rule(todo, rules, folder, pool))
        print(missing_corrections(todo, rules, folder, pool))
    for failure in failures:
        print(f"models_each: {failure}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
