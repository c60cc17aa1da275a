#!/usr/bin/env python3
"""Every rule of the pack on a model of its own pattern, at a small shape of its class, where its boxes hold positions if it
has such a shape: pet-apply rewrites the model with that rule alone, and ONNX Runtime finds the result equal. A rule with boxes
is tried once more without its corrections, and without one of them: pet-apply's check refuses it.

With PET_TEST_PART=K/N every N-th rule. Patterns that no model can contain are listed in NEVER; no other rule may fail to fire,
and those that are listed may not fire. Exit status 0 or 1.
"""

import concurrent.futures
import json
import os
import pathlib
import sys
import tempfile

import _part as part
from models import compare, expect, failures
from models_each import PATTERNS, TOLERANCE, damaged, small_packs
from pack import made, tool
from pack_rules import Rules, boxes_of


NEVER = {
    # Of an IndexMap, what reads the fill is no Gather.
    **{f"banded-{kind}-d{d}/phases-{d}": "a map that reads outside of its operand" for kind in ["matrix", "product"] for d in [2, 4]},
    # Patterns are found from one operator to its neighbours; these two Convs are none.
    "two-convs/split(conv(concat))": "does not fire", "two-convs/split(conv-g2(concat))": "does not fire",
}


def problem(rule, pack, folder):
    """What is wrong with a rule on its model; None: nothing."""
    with tempfile.TemporaryDirectory(dir=folder) as name:
        model, output, report = (pathlib.Path(name) / n for n in ("model.onnx", "out.onnx", "report.json"))
        done = tool("pet-rules", "model", pack, rule, "-o", model)
        if done.returncode:
            return f"no model: {done.stderr}"
        # Some round more than the default bound allows; whole-model checks need no bound for each site.
        done = tool("pet-apply", model, pack, "--trust-pack", "--all", "--numerics", "any", "--only", rule, "-o", output, "--verbose", "--json", report,
                    timeout=120)
        if done.returncode:
            return f"exit code {done.returncode}: {done.stderr}"
        report = json.loads(report.read_text())
        if rule not in [f["rule"] for f in report["fired"]]:
            return f"does not fire: {[r['reason'] for r in report['refusals']][:3]}"
        try:
            found = compare.compare(model, output)
        except Exception as error:  # of the checker or of the engine: about this rule
            return str(error)
        return None if found.relative <= TOLERANCE else f"differs by {found.relative:.1e}"


def unrefused(rule, pack, forged, folder):
    """What is wrong with a damaged rule on the model of the true one; None: the check refuses it, and nothing is written."""
    with tempfile.TemporaryDirectory(dir=folder) as name:
        model, output = (pathlib.Path(name) / n for n in ("model.onnx", "out.onnx"))
        done = tool("pet-rules", "model", pack, rule, "-o", model)
        if done.returncode:
            return f"no model: {done.stderr}"
        done = tool("pet-apply", model, forged, "--trust-pack", "--all", "--numerics", "any", "--only", rule, "-o", output, timeout=120)
        return None if done.returncode == 5 and not output.exists() else f"exit code {done.returncode}, {done.stderr or done.stdout}"


def wrong_corrections(rules, packs, folder, pool):
    """Those of models_each.PATTERNS are tried there, at more sites."""
    runs = []
    for rule, text in rules.statements.items():
        if not boxes_of(text) or rule in NEVER or rule.split("/")[0] in PATTERNS:
            continue
        for what, wrong in damaged(text):
            runs.append((rule, what, rules.forge(folder / f"damaged{len(runs)}.db", statements={rule: wrong})))
    for (rule, what, _), problem in zip(runs, pool.map(lambda run: unrefused(run[0], packs[run[0]], run[2], folder), runs)):
        expect(f"{rule}, {what}", problem is None, problem)
    return len(runs)


def main():
    pack = made()
    with tempfile.TemporaryDirectory() as name, concurrent.futures.ThreadPoolExecutor(2) as pool:
        folder = pathlib.Path(name)
        os.environ["PET_SHARE"] = str(folder)  # no timings: --all needs none
        rules = Rules(pack, folder)
        gone = NEVER.keys() - rules.statements.keys()
        expect("NEVER", not gone, f"no rules of the pack: {sorted(gone)}")
        rules.statements = {n: rules.statements[n] for n in part.mine(rules.statements)}
        packs = small_packs(rules, folder)
        for rule, what in zip(packs, pool.map(lambda rule: problem(rule, packs[rule], folder), packs)):
            expect(rule, NEVER[rule] in (what or "") if rule in NEVER else what is None, what or "it is listed in NEVER")
        right = len(packs) - sum(rule in NEVER for rule in packs) - len(failures)
        wrong = wrong_corrections(rules, packs, folder, pool)
    for failure in failures:
        print(f"models_rules: {failure}", file=sys.stderr)
    print(f"{len(packs)} rules, {right} equal on a model of their own; {wrong} wrong replacements of rules with boxes")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
