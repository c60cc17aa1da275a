#!/usr/bin/env python3
"""pet-apply on packs of strangers: what fires is proved by its record, or nothing is written. Exit status 0 or 1.

Rules are altered: so that they differ from their patterns far outside of what models compute, which the check by execution
sees, and in what it cannot see, their records and claims. Hashes are computed anew, and timings are forged that make them
fire by default.
"""

import json
import os
import pathlib
import sqlite3
import stat
import subprocess
import sys
import tempfile

import onnx
from onnx import TensorProto, helper

from _packs import forge, rule_hash

SOURCE = pathlib.Path(os.environ.get("PET_SOURCE", pathlib.Path(__file__).parents[2]))
BIN = pathlib.Path(os.environ.get("PET_BIN", SOURCE / "build" / "bin"))
OK, USAGE, CHECK = 0, 2, 5

RULES = """pattern relu {
  shape N W
  x: [N, W]
  y = Relu(x)
}
rule relu/twice of relu {
  class N W : 1 <= N, 1 <= W
  replacement {
    t = Relu(x)
    y = Relu(t)
  }
}
pattern sum {
  shape N W
  x: [N, W]
  b: [N, W]
  y = Add(x, b)
}
rule sum/negated of sum {
  class N W : 1 <= N, 1 <= W
  replacement {
    t = Neg(b)
    y = Sub(x, t)
  }
}
"""

# The altered rule; the text before and after, and where it stands; what the checker says, or "differs": the execution does.
ALTERED = [
    ("relu/twice", "y = Relu(t)", "y = Clip(t) min=0 max=100000", "statement", "differs"),
    ("sum/negated", "t = Neg(b)", "t = Neg(b)\n    u = Clip(t) min=-10000 max=10000", "statement", None),
    ("sum/negated", "y = Sub(x, t)", "u = Clip(x) min=-10000 max=10000\n    y = Sub(u, t)", "statement", "differs"),
    ("sum/negated", "y = Sub(x, t)", "c = Constant() value=1000\n    u = Add(x, c)\n    r = Sqrt(u)\n    s = Add(x, r)\n    d = Sub(s, r)\n"
     "    y = Sub(d, t)", "statement", "differs"),
    ("sum/negated", "numerics same-terms", "numerics bit-equal", "statement", "refuted"),
    ("relu/twice", "u_1 = u_3, u_2 = u_4", "u_1 = u_3", "proof", "refuted"),
    ("sum/negated", "    backward 1 -> 1 []\n", "", "proof", "refuted"),
]
os.environ["PET_MACHINE"] = "avx512"  # that of the timings below
failures = []


def expect(name, condition, detail=""):
    if not condition:
        failures.append(f"{name}: {detail}" if detail else name)


def tool(name, *arguments, **environment):
    return subprocess.run([str(BIN / name), *map(str, arguments)], capture_output=True, text=True, timeout=120,
                          env=os.environ | environment)


def model(path):
    shape = [2, 3]
    nodes = [helper.make_node("Relu", ["a"], ["r"], name="the-relu"), helper.make_node("Add", ["r", "b"], ["y"], name="the-sum")]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n in "ab"],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)


def hash_of(pack, name):
    db = sqlite3.connect(pack)
    digest = rule_hash(db, name)
    db.close()
    return digest


def timings(path, pack, name):
    """One line: this rule is ten times as fast at the model's shapes."""
    path.write_text(json.dumps({
        "name": name, "rule": hash_of(pack, name), "device": "ort-cpu", "shapes": {"N": 2, "W": 3}, "pattern": 1e-3, "replacement": 1e-4,
        "spread": 0.01, "engine": "onnxruntime", "version": "1", "isa": "avx512", "threads": 1, "date": "2026-01-01"}) + "\n")


class Folder:
    def __init__(self, path):
        self.path, self.model, self.pack, self.output = path, path / "m.onnx", path / "rules.db", path / "out.onnx"
        self.cache, self.log = path / "cache", path / "calls"
        model(self.model)
        text, proved = path / "rules.pet", path / "proved.pet"
        text.write_text(RULES)
        for done in [tool("pet-synth", "prove", text, "-o", proved), tool("pet-rules", "import", proved, "-o", self.pack)]:
            assert done.returncode == 0, done.stdout + done.stderr
        self.checker = self.script("checker", f'echo called >> {self.log}\nexec {BIN / "pet-rules"} "$@"\n')

    def script(self, name, text):
        path = self.path / name
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    def calls(self):
        return len(self.log.read_text().splitlines()) if self.log.exists() else 0

    def apply(self, pack, *arguments, **environment):
        self.output.unlink(missing_ok=True)
        return tool("pet-apply", self.model, pack, "-o", self.output, *arguments, **({"PET_CACHE": str(self.cache)} | environment))

    def refused(self, name, code, *words, pack, arguments=(), **environment):
        done = self.apply(pack, *arguments, **environment)
        lines = done.stderr.splitlines()
        expect(name, done.returncode == code, f"exit code {done.returncode} instead of {code}: {done.stderr!r}")
        expect(name, len(lines) == 1 and lines[0].startswith("pet-apply: ") and all(w in lines[0] for w in words), done.stderr)
        expect(name, not self.output.exists() and not done.stdout, f"something was written: {done.stdout}")

    def applied(self, name, *arguments, pack, **environment):
        done = self.apply(pack, *arguments, **environment)
        expect(name, done.returncode == OK and self.output.exists() and not done.stderr, (done.returncode, done.stderr))
        return done


def altered_rules(folder):
    forged, lies = folder.path / "forged.db", folder.path / "lies.jsonl"
    for rule, old, new, column, verdict in ALTERED:
        name = f"{rule} with {new.strip() or 'nothing for ' + old.strip()}"
        forge(folder.pack, forged, old, new, column)
        timings(lies, forged, rule)
        arguments = ["--timings", lies]
        dry = folder.apply(forged, "--dry-run", *arguments)
        expect(name, dry.returncode == OK and rule in dry.stdout and "nothing was checked" in dry.stdout, dry.stdout + dry.stderr)
        if verdict == "differs":  # the check by execution sees it, too
            for trust in [[], ["--trust-pack"]]:
                folder.refused(f"{name} {trust}", CHECK, rule, "the rewritten site differs", pack=forged, arguments=arguments + trust)
            continue
        if verdict is None:  # a value that nothing reads: true, if odd
            folder.applied(name, *arguments, pack=forged)
            continue
        folder.refused(name, CHECK, str(forged), f"rule {rule} is not proved by its record: {verdict}", pack=forged, arguments=arguments)
        folder.refused(f"{name}, --all", CHECK, rule, pack=forged, arguments=["--all"])
        folder.applied(f"{name}, trusted", *arguments, "--trust-pack", pack=forged)
        only = "sum/negated" if rule == "relu/twice" else "relu/twice"
        folder.applied(f"{name}, another rule fires", "--all", "--only", only, pack=forged)


def cache(folder):
    """A rule is checked once; what is kept says nothing of another rule, and need not be kept."""
    arguments = ["--all", "--checker", folder.checker]
    folder.applied("first", *arguments, pack=folder.pack)
    expect("the first time both rules are checked in one process", folder.calls() == 1, folder.calls())
    kept = sorted(p.name for p in (folder.cache / "proved").iterdir())
    folder.applied("second", *arguments, pack=folder.pack)
    expect("the second time none is", folder.calls() == 1, folder.calls())
    expect("nothing else is kept", sorted(p.name for p in (folder.cache / "proved").iterdir()) == kept)
    for place in [{"PET_CACHE": "/dev/null/none"}, {"PET_CACHE": "", "XDG_CACHE_HOME": "/proc/none"}, {"PET_CACHE": "", "XDG_CACHE_HOME": "", "HOME": ""}]:
        before = folder.calls()
        folder.applied(f"no cache: {place}", *arguments, pack=folder.pack, **place)
        expect(f"no cache: {place}", folder.calls() == before + 1, folder.calls())
    elsewhere = folder.path / "elsewhere"
    folder.applied("another cache", *arguments, pack=folder.pack, PET_CACHE="", XDG_CACHE_HOME=str(elsewhere))
    expect("another cache", len(list((elsewhere / "pet" / "proved").iterdir())) == 2)
    before = folder.calls()
    folder.checker.write_text(folder.checker.read_text() + "# another build\n")
    folder.applied("another checker", *arguments, pack=folder.pack)
    expect("another checker asks again", folder.calls() == before + 1, folder.calls())
    dry = folder.apply(folder.pack, "--dry-run", *arguments, PET_CACHE="/dev/null/none")
    expect("a dry run asks nothing", dry.returncode == OK and folder.calls() == before + 1, dry.stderr)


def checkers(folder):
    """No checker, and such that fail."""
    none = folder.path / "no-such-file"
    empty = {"PET_CACHE": str(folder.path / "empty")}
    folder.refused("no checker", USAGE, str(none), "there is no checker", "--trust-pack", pack=folder.pack, arguments=["--all", "--checker", none], **empty)
    folder.refused("no checker by name", USAGE, str(none), pack=folder.pack, arguments=["--all"], PET_CHECKER=str(none), **empty)
    folder.refused("a folder", USAGE, "there is no checker", pack=folder.pack, arguments=["--all", "--checker", folder.path], **empty)
    folder.applied("no checker, trusted", "--all", "--trust-pack", "--checker", none, pack=folder.pack, **empty)
    folder.applied("no checker, nothing fires", "--skip", "*", "--checker", none, pack=folder.pack, **empty)
    table = [
        ("one that dies", "kill -9 $$\n", "died of signal 9"),
        ("one that says nothing", "exit 0\n", "no verdicts"),
        ("one that talks", "echo hello\n", "no verdicts"),
        ("one that knows no rule", "echo '[]'\n", "says nothing about it"),
        ("one that speaks of something else", """echo '[{"name": "relu/twice", "hash": "0", "verdict": "proved"}]'\n""", "says nothing about it"),
        ("one that confuses kinds", "echo '[{\"name\": 1}]'\n", "malformed verdicts"),
        ("one that lists numbers", "echo '[1, 2]'\n", "malformed verdicts"),
    ]
    for name, text, words in table:
        script = folder.script("bad-checker", text)
        folder.refused(name, CHECK, words, pack=folder.pack, arguments=["--all", "--checker", script], **empty)


def said(folder):
    """The report says what was done about proofs, to people and in JSON; nothing fired, nothing was checked."""
    table = [
        (["--all"], "checked"),
        (["--all", "--trust-pack"], "not-checked"),
        (["--skip", "*"], "not-checked"),
    ]
    for arguments, word in table:
        report = folder.path / "report.json"
        done = folder.applied(f"said {arguments}", *arguments, "--json", report, pack=folder.pack)
        expect(f"said {arguments}", json.loads(report.read_text())["proofs"] == word, report.read_text())
        expect(f"said {arguments}", ("the proof of every rule that fired" in done.stdout) == (word == "checked"), done.stdout)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Folder(pathlib.Path(name))
        for part in [altered_rules, cache, checkers, said]:
            part(folder)
    for failure in failures:
        print(f"apply_trust: {failure}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
