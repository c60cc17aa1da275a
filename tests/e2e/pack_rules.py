#!/usr/bin/env python3
"""Every rule of the pack is proved again from its record, and evaluated at small shapes; damaged ones are found.

pet-rules verify, evaluate and import on the pack of all canonical patterns; with PET_TEST_PART=K/N on every N-th rule.
Exit status 0 or 1.
"""

import json
import pathlib
import re
import sqlite3
import sys
import tempfile

import _part as part
from _packs import rule_hash, seal
from pack import made, tool

failures = []


def expect(name, condition, detail=""):
    if not condition:
        failures.append(f"{name}: {detail}" if detail else name)


# ---- as it is

def verified(pack, names):
    done = tool("pet-rules", "verify", pack, *names)
    summary = done.stdout.splitlines()[-1]
    expect("verify", done.returncode == 0 and summary == f"{len(names)} rules: {len(names)} proved, 0 refuted, 0 unknown", done.stdout)
    return "verify: " + summary


def has_one_symbol(pack, name):
    """Such a class has no more small shapes than there are small extents."""
    (symbols,) = re.findall(r"^  class ([^:]*) :", tool("pet-rules", "show", pack, name).stdout, re.MULTILINE)
    return len(symbols.split()) == 1


def evaluated(pack, names):
    """All equal; says how many positions of each rule's boxes really differ."""
    done = tool("pet-rules", "evaluate", "--json", pack, *names)
    rules = json.loads(done.stdout)
    wrong = [r["name"] for r in rules if not r["equal"]]
    expect("evaluate", done.returncode == 0 and not wrong, f"{wrong} {done.stderr}")
    few = [r["name"] for r in rules if r["shapes"] < 20 and not (r["shapes"] >= 6 and has_one_symbol(pack, r["name"]))]
    expect("evaluate", not few, f"hardly any shapes for {few}")
    expect("evaluate", sorted(r["name"] for r in rules) == names, "not the rules asked for")
    boxed = [r for r in rules if r["box_positions"]]
    idle = [r["name"] for r in boxed if not r["different_positions"]]
    expect("evaluate", not idle, f"boxes where nothing differs: {idle}")
    lines = [f"evaluate: {len(rules)} rules at {sum(r['shapes'] for r in rules)} shapes, all equal" if not wrong else "evaluate: WRONG"]
    for r in boxed:
        share = r["different_positions"] / r["box_positions"]
        lines.append(f"  {r['name']}: {share:.0%} of {r['box_positions']} box positions differ")
    return "\n".join(lines)


# ---- damaged

class Rules:
    """The rules of a pack as text, read with the second reader of _packs.py."""

    def __init__(self, pack, folder):
        self.pack, self.folder = pack, folder
        db = sqlite3.connect(f"file:{pack}?mode=ro", uri=True)
        self.statements = dict(db.execute("SELECT name, statement FROM rules ORDER BY name"))
        self.proofs = dict(db.execute("SELECT name, proof FROM rules"))
        db.close()
        self.damageable = self.statements

    def forge(self, path, statements=(), proofs=()):
        """A pack of only the rules that are given, in the words that are given, every hash and the digest in order."""
        statements, proofs = dict(statements), dict(proofs)
        path.write_bytes(self.pack.read_bytes())
        db = sqlite3.connect(path)
        for name, in db.execute("SELECT name FROM rules").fetchall():
            if name not in statements and name not in proofs:
                db.execute("DELETE FROM rules WHERE name = ?", [name])
                db.execute("DELETE FROM evidence WHERE rule = ?", [name])
        for name, text in statements.items():
            db.execute("UPDATE rules SET statement = ?, boxes = ? WHERE name = ?", [text, text.count("\n  box "), name])
            db.execute("UPDATE rules SET hash = ? WHERE name = ?", [rule_hash(db, name), name])
        for name, text in proofs.items():
            db.execute("UPDATE rules SET proof = ? WHERE name = ?", [text, name])
        seal(db)
        db.commit()
        db.close()
        return path


def substituted(texts, pattern, replacement, which=lambda text: True, count=1):
    """{name: damaged text} of all texts that the regular expression changes."""
    damaged = {name: re.sub(pattern, replacement, text, count=count) for name, text in texts.items() if which(text)}
    return {name: text for name, text in damaged.items() if text != texts[name]}


def boxes_of(statement):
    return [line for line in statement.splitlines(keepends=True) if line.startswith("  box ")]


def emptied_boxes(rules):
    """Each box of each rule made empty in turn: {(name, index): statement}."""
    return {(name, i): text.replace(box, re.sub(r"\[[^,\]]*", "[0:0", box), 1)
            for name, text in rules.damageable.items() for i, box in enumerate(boxes_of(text))}


def shorter_boxes(rules):
    """The last box of each rule loses its last column."""
    return {name: text.replace(boxes_of(text)[-1], re.sub(r"(:\d+)?\]\n", r" - 1\1]\n", boxes_of(text)[-1]), 1)
            for name, text in rules.damageable.items() if boxes_of(text)}


def wrong_pads(rules):
    """The first convolution of the replacement pads one row more above and one less below."""
    def shift(match):
        top, left, bottom, right = match.group(2).split(", ")
        return f"{match.group(1)}pads=[{top} + 1, {left}, {bottom} - 1, {right}]"
    return substituted(rules.damageable, r"(replacement \{(?:.|\n)*?= Conv\([^\n]*?)pads=\[([^,\]]*, [^,\]]*, [^,\]]*, [^,\]]*)\]",
                       shift, lambda text: "pads" in text)


def dropped_constraints(rules):
    """Any number of rows and columns for a rule that needs them in pairs: N = 2N2 stays, a constraint beyond the pattern's goes."""
    return substituted(rules.damageable, r"(\n  class [^:]*: .*?), (?:2P \+ 1 <= R|2Q \+ 1 <= S|R <= H \+ 1|S <= W \+ 1)(?=[,\n])", r"\1")


def wrong_bijections(rules):
    """The first forward map reads its first component one off."""
    return substituted({n: rules.proofs[n] for n in rules.damageable}, r"(forward \d+ -> \d+ \[)([^,\]]+)", r"\1\2 + 1")


MOST = 120  # rules that are damaged in one way


def spread(damaged):
    """At most MOST of them, from all over the pack."""
    names = sorted(damaged)
    return {name: damaged[name] for name in names[::-(-len(names) // MOST) or 1]}


def judged(rules, name, damaged):
    """verify proves none of the damaged rules, and says why; import refuses one of them."""
    expect(name, len(damaged) >= 2 or part.given(), f"only {len(damaged)} rules to damage")
    if not damaged:
        return f"{name}: no such rule in this part"
    damaged = spread(damaged)
    forged = rules.folder / "forged.db"
    column = "proofs" if name == "a wrong bijection" else "statements"
    rules.forge(forged, **{column: damaged})
    done = tool("pet-rules", "verify", "--json", forged)
    reports = json.loads(done.stdout) if done.stdout else []
    expect(name, done.returncode == 5, f"exit code {done.returncode}: {done.stderr}")
    passed = [r["name"] for r in reports if r["verdict"] == "proved" or not r["reason"]]
    expect(name, len(reports) == len(damaged) and not passed, f"still proved: {passed}")
    text, target = rules.folder / "forged.pet", rules.folder / "target.db"
    tool("pet-rules", "export", forged, "-o", text)
    done = tool("pet-rules", "import", text, "-o", target)
    expect(f"import of {name}", done.returncode == 5 and "only proved rules" in done.stderr and not target.exists(), done.stderr)
    refuted = sum(r["verdict"] == "refuted" for r in reports)
    return f"{name}: {len(damaged)} rules, {refuted} refuted, {len(reports) - refuted - len(passed)} unknown"


def each_box(rules):
    """With any one of its boxes empty, no rule is proved, and evaluation finds where it is wrong."""
    forged = rules.folder / "forged.db"
    refuted, needless, unseen = 0, [], []
    missing = emptied_boxes(rules)
    rounds = max((i for _, i in missing), default=-1) + 1
    for i in range(rounds):
        rules.forge(forged, statements={name: text for (name, j), text in missing.items() if j == i})
        reports = json.loads(tool("pet-rules", "verify", "--json", forged).stdout)
        refuted += sum(r["verdict"] == "refuted" for r in reports)
        needless += [f"{r['name']} box {i + 1}" for r in reports if r["verdict"] == "proved" or not r["reason"]]
        # What the checker does not know may be true all the same; a difference that evaluation finds is one.
        evaluated = json.loads(tool("pet-rules", "evaluate", "--json", forged).stdout)
        unseen += [f"{r['name']} box {i + 1}" for r in evaluated if r["equal"]]
    expect("each box matters", missing or part.given(), "no boxes")
    expect("each box matters", not needless, f"proved without: {needless}")
    expect("each box matters", not unseen, f"nothing is wrong without: {unseen}")
    return f"each box matters: {len(missing)} boxes emptied one at a time, {refuted} times refuted, all seen by evaluation"


def main():
    pack = made()
    with tempfile.TemporaryDirectory() as folder:
        rules = Rules(pack, pathlib.Path(folder))
        names = part.mine(rules.statements)
        rules.damageable = {name: rules.statements[name] for name in names}
        print(verified(pack, names))
        print(evaluated(pack, names))
        for name, damage in [("a box one column short", shorter_boxes), ("a wrong pad", wrong_pads),
                             ("a dropped constraint", dropped_constraints), ("a wrong bijection", wrong_bijections)]:
            print(judged(rules, name, damage(rules)))
        print(each_box(rules))
    for failure in failures:
        print(f"pack_rules: {failure}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
