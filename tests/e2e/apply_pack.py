#!/usr/bin/env python3
"""pet-apply reads of a pack what a model needs: a large pack costs and gives what a small one does, and a damaged one or one that
lies is refused in one line as soon as that part is read, with nothing written. Exit status 0 or 1.
"""

import json
import os
import pathlib
import random
import sqlite3
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from _packs import blake, enlarge, rows, seal

SOURCE = pathlib.Path(os.environ.get("PET_SOURCE", pathlib.Path(__file__).parents[2]))
BIN = pathlib.Path(os.environ.get("PET_BIN", SOURCE / "build" / "bin"))
DATA = SOURCE / "tests" / "data"
OK, PACK = 0, 4
RULES = 3000
failures = []


def expect(name, condition, detail=""):
    if not condition:
        failures.append(f"{name}: {detail}" if detail else name)


def tool(name, *arguments):
    return subprocess.run([str(BIN / name), *map(str, arguments)], capture_output=True, text=True, timeout=120)


def model(path):
    """Two convolutions, and nothing behind them that an altered rule would match."""
    weights = np.random.default_rng(1).standard_normal((4, 4, 3, 3)).astype(np.float32)
    nodes = [helper.make_node("Conv", ["x", "w"], ["t"], name="first", pads=[1, 1, 1, 1]),
             helper.make_node("Conv", ["t", "w"], ["y"], name="second", pads=[1, 1, 1, 1])]
    shape = [2, 4, 8, 8]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)], [numpy_helper.from_array(weights, "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def rehash(db):
    joined = "SELECT r.pattern, r.name, p.text, r.statement FROM rules r JOIN patterns p ON p.name = r.pattern"
    for pattern, name, text, statement in db.execute(joined).fetchall():
        db.execute("UPDATE rules SET hash = ? WHERE pattern = ? AND name = ?", [blake(["pet rule 1", text, statement]), pattern, name])


class Folder:
    def __init__(self, path):
        self.path, self.model, self.pack, self.large, self.output = path, path / "m.onnx", path / "small.db", path / "large.db", path / "out.onnx"
        model(self.model)
        pair = path / "pair.pet"
        text = (DATA / "pair.pet").read_text()
        pair.write_text(text[text.index("\nrule "):])
        done = tool("pet-rules", "import", DATA / "conv.pet", pair, DATA / "square.pet", DATA / "branches.pet", "-o", self.pack)
        assert done.returncode == 0, done.stderr
        self.count = enlarge(self.pack, self.large, RULES)

    def apply(self, pack, *arguments):
        """Exit code, report, bytes of the output and of the error."""
        report = self.path / "report.json"
        for stale in [self.output, report]:
            stale.unlink(missing_ok=True)
        done = tool("pet-apply", self.model, pack, "-o", self.output, "--json", report, "--verbose", "--all", *arguments)
        found = json.loads(report.read_text()) if report.exists() else None
        return done, found, self.output.read_bytes() if self.output.exists() else None

    def refused(self, name, pack, *words, code=PACK, arguments=()):
        done, report, written = self.apply(pack, *arguments)
        lines = done.stderr.splitlines()
        expect(name, done.returncode == code, f"exit code {done.returncode} instead of {code}: {done.stderr!r}")
        expect(name, len(lines) == 1 and lines[0].startswith(f"pet-apply: {pack}: ") and all(w in lines[0] for w in words), done.stderr)
        expect(name, written is None and report is None and not done.stdout, "something was written")

    def altered(self, pack, *statements, sealed=True):
        """A copy of a pack after these statements, with its hashes and digests in order."""
        other = self.path / "altered.db"
        other.write_bytes(pack.read_bytes())
        db = sqlite3.connect(other)
        for statement, arguments in statements:
            db.execute(statement, arguments)
        if sealed:
            rehash(db)
            seal(db)
        db.commit()
        db.close()
        return other


def large_pack(folder):
    """What matches is the same, and so is the result; the rest costs next to nothing."""
    begin = time.perf_counter()
    small, small_report, small_bytes = folder.apply(folder.pack)
    between = time.perf_counter()
    large, large_report, large_bytes = folder.apply(folder.large)
    end = time.perf_counter()
    expect("large pack", folder.count == RULES and small.returncode == large.returncode == OK, small.stderr + large.stderr)
    expect("large pack: the output", small_bytes is not None and without_pack(small_bytes) == without_pack(large_bytes))
    fired = [[(f["site"], f["rule"]) for f in report["fired"]] for report in [small_report, large_report]]
    expect("large pack: what fires", fired[0] == fired[1] and fired[0], fired)
    expect("large pack: what is refused", small_report["refusals"] == large_report["refusals"])
    expect("large pack: seconds", end - between < 10 * (between - begin) + 1, (between - begin, end - between))
    listed = json.loads(tool("pet-rules", "ls", "--json", folder.large).stdout)
    expect("large pack: as a whole", len(listed) == RULES, len(listed))


def without_pack(data):
    """A rewritten model, but for the digest of the pack that it names."""
    model = onnx.load_from_string(data)
    digests = [entry for entry in model.metadata_props if entry.key == "pet.pack"]
    assert len(digests) == 1 and len(digests[0].value) == 64, digests
    model.metadata_props.remove(digests[0])
    return model


def lies(folder):
    """Digests are in order, the rest is not."""
    pack, large = folder.pack, folder.large
    move = "UPDATE rules SET {0} = {0} || {1}, {1} = '' WHERE name = 'conv/transposed'".format("statement", "proof")
    table = [
        ("an anchor that is none", [("UPDATE patterns SET anchor = 'Conv' WHERE name = 'square'", [])],
         ["pattern square: its columns do not agree with its text"] if anchor(pack, "square") != "Conv" else None),
        ("another pattern's text", [("UPDATE patterns SET text = (SELECT text FROM patterns WHERE name = 'square') WHERE name = 'conv'", [])],
         ["pattern conv: its columns do not agree with its text"]),
        ("a pattern that is no text", [("UPDATE patterns SET text = 'pattern conv {' WHERE name = 'conv'", [])], ["pattern conv:1:"]),
        ("a rule that is no text", [("UPDATE rules SET statement = 'rule x' WHERE name = 'conv/transposed'", [])], ["rule conv/transposed: "]),
        ("a family that differs", [("UPDATE rules SET family = 'x' WHERE name = 'conv/transposed'", [])], ["its columns do not agree with its text"]),
        ("no statement but a proof", [(move, [])], ["rule conv/transposed: "]),
        ("two rules in one", [("UPDATE rules SET statement = statement || '}\n' || statement WHERE name = 'conv/transposed'", [])],
         ["rule conv/transposed: "]),
        ("an escape", [("UPDATE rules SET family = '\x1b[2J' WHERE name = 'conv/transposed'", [])], ["a row of rules is not plain text"]),
        ("an escape in the metadata", [("INSERT INTO metadata VALUES ('k', '\x1b[2J')", [])], ["a row of metadata is not plain text"]),
    ]
    for name, statements, words in table:
        if words:
            folder.refused(name, folder.altered(pack, *statements), *words)
    proof = [("UPDATE rules SET proof = 'nothing' WHERE name = 'conv/transposed'", [])]
    only = ["--only", "conv/transposed"]
    folder.refused("a proof that is none", folder.altered(pack, *proof), "rule conv/transposed: ", arguments=only)
    done, _, written = folder.apply(folder.altered(pack, *proof), "--only", "conv/pair")
    expect("a proof that nobody asks for", done.returncode == OK and written, done.stderr)

    # One name of two rules, of patterns that both match.
    db = sqlite3.connect(pack)
    text, = db.execute("SELECT text FROM patterns WHERE name = 'conv'").fetchone()
    rule = next(r for r in rows(db, "rules") if r[1] == "conv/transposed")
    db.close()
    other = folder.altered(
        pack, ("INSERT INTO patterns VALUES ('conw', 'Conv', '', ?)", [text.replace("pattern conv ", "pattern conw ")]),
        ("INSERT INTO rules VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", ["conw", *rule[1:7], rule[7].replace(" of conv {", " of conw {"), rule[8]]))
    folder.refused("two rules of one name", other, "two rules are named conv/transposed")
    for command in ["ls", "verify"]:
        done = tool("pet-rules", command, other)
        expect(f"two rules of one name, {command}", done.returncode == PACK and "two rules are named conv/transposed" in done.stderr, done.stderr)

    # What pet-apply does not look at, other commands refuse.
    orphan = folder.altered(pack, ("DELETE FROM patterns WHERE name = 'square'", []))
    done = tool("pet-rules", "ls", orphan)
    expect("a rule without its pattern", done.returncode == PACK and "has no pattern square" in done.stderr, done.stderr)
    not_sealed = folder.altered(large, ("UPDATE patterns SET anchor = 'Erf' WHERE name = 'conv'", []), sealed=False)
    folder.refused("a digest that is not computed anew", not_sealed, "its content does not have the stored digest")
    not_sealed = folder.altered(pack, ("UPDATE rules SET proof = proof || ' ' WHERE name = 'conv/pair'", []), sealed=False)
    folder.refused("a digest of rules that is not computed anew", not_sealed, "the rules of conv do not have the stored digest")


def anchor(pack, pattern):
    db = sqlite3.connect(pack)
    found, = db.execute("SELECT anchor FROM patterns WHERE name = ?", [pattern]).fetchone()
    db.close()
    return found


def damage(folder):
    """Bytes of the file changed, in the tree above all: the same result, or one line and nothing written."""
    whole = folder.large.read_bytes()
    _, report, expected = folder.apply(folder.large, "--check", "sites", "--trust-pack")
    bad = folder.path / "bad.db"
    db = sqlite3.connect(folder.large)
    roots = [page for page, in db.execute("SELECT rootpage FROM sqlite_schema WHERE rootpage > 0")]
    db.close()
    cases = []
    for page in roots:
        at = (page - 1) * 4096
        for child in [page, 1, len(whole) // 4096, 0]:  # a tree that comes back to itself, another tree, the last page
            cases.append(whole[:at + 8] + child.to_bytes(4, "big") + whole[at + 12:])
        cases.append(whole[:at + 3] + b"\xff\xff" + whole[at + 5:])
        cases.append(whole[:at] + whole[:4096] + whole[at + 4096:])
    source = random.Random(1)
    for _ in range(24):
        at = source.choice(roots) * 4096 - 4096 + source.randrange(4096) if source.random() < 0.5 else source.randrange(len(whole))
        cases.append(whole[:at] + bytes([whole[at] ^ (1 << source.randrange(8))]) + whole[at + 1:])
    refused = 0
    for i, content in enumerate(cases):
        bad.write_bytes(content)
        done, _, written = folder.apply(bad, "--check", "sites", "--trust-pack")
        if done.returncode == OK:
            expect(f"damage {i}", written == expected, "another result")
            continue
        refused += 1
        lines = done.stderr.splitlines()
        expect(f"damage {i}", done.returncode == PACK and len(lines) == 1 and str(bad) in lines[0] and not written, (done.returncode, done.stderr))
    expect("damage", refused >= len(roots) * 2, f"only {refused} of {len(cases)} were refused")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Folder(pathlib.Path(name))
        for part in [large_pack, lies, damage]:
            part(folder)
    print("\n".join(failures) or "what a model needs of a pack is read and checked, and nothing else")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
