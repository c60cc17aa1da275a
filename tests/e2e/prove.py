#!/usr/bin/env python3
"""`pet-synth prove`: verdicts, records, JSON and how it refuses. Exit status 0 or 1."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(os.environ.get("PET_SOURCE", pathlib.Path(__file__).parents[2]))
BIN = pathlib.Path(os.environ.get("PET_BIN", SOURCE / "build" / "bin"))
CASES = {file.stem: file for file in sorted((SOURCE / "tests" / "prove").rglob("*.pet"), key=lambda file: file.name)}
OK, USAGE, TEXT, NOT_PROVED = 0, 2, 4, 5

PATTERN = """pattern p {
  shape N W
  x: [N, W]
  y = Neg(x)
}
"""
EQUAL = """rule equal of p {
  class N W : 1 <= N, 1 <= W
  replacement {
    t = Neg(x)
    u = Neg(t)
    y = Neg(u)
  }
}
"""
WRONG = """rule wrong of p {
  class N W : 1 <= N, 1 <= W
  replacement {
    y = Identity(x)
  }
}
"""

failures = []


def expect(name, condition, detail=""):
    if not condition:
        failures.append(f"{name}: {detail}" if detail else name)


def run(*arguments, tool="pet-synth", command="prove", stdin=""):
    return subprocess.run([str(BIN / tool), command, *map(str, arguments)], capture_output=True, text=True, timeout=120, input=stdin)


def expect_run(name, code, stdout, *words, arguments, **options):
    """The exit code, all of standard output, and one line on standard error that holds the words (none without words)."""
    done = run(*arguments, **options)
    expect(name, done.returncode == code, f"exit code {done.returncode} instead of {code}: {done.stderr}")
    if stdout is not None:
        expect(name, done.stdout == stdout, f"printed {done.stdout!r} instead of {stdout!r}")
    lines = done.stderr.splitlines()
    right = len(lines) == 1 and lines[0].startswith("pet-synth: ") and all(w in lines[0] for w in words) if words else not lines
    expect(name, right, f"on standard error: {done.stderr!r}")
    return done


WRONG_TEXT = """{}: wrong: refuted
  at N = 1, W = 1: y[0, 0] = -1 in the pattern, 1 in the candidate
  x = [[1]]
  the prover: no position is left outside the boxes
"""


def verdicts(folder):
    both = folder / "both.pet"
    both.write_text(PATTERN + EQUAL + WRONG)
    expect_run("two candidates", NOT_PROVED, f"{both}: equal: proved\n" + WRONG_TEXT.format(both), "1 of 2 candidates are not proved",
               arguments=[both])
    expect_run("standard input", OK, "standard input: equal: proved\n", arguments=["-"], stdin=PATTERN + EQUAL)
    pattern, candidate = folder / "pattern.pet", folder / "candidate.pet"
    pattern.write_text(PATTERN)
    candidate.write_text(WRONG)
    expect_run("a pattern of an earlier file", NOT_PROVED, WRONG_TEXT.format(candidate), "1 of 1", arguments=[pattern, candidate])
    boxes = CASES["pair-side-by-side"]
    done = expect_run("boxes", NOT_PROVED, None, "1 of 1", arguments=[boxes])
    expect("boxes", done.stdout.splitlines()[:3] == [
        f"{boxes}: candidate: proved outside boxes", "  box [0:2M:2, 0:F, 0:H + 2P - R + 1, W - Q:W]",
        "  box [1:2M:2, 0:F, 0:H + 2P - R + 1, 0:Q]"], done.stdout)
    done = run("--help")
    expect("--help", done.returncode == OK and "Exit codes: 0 ok" in done.stdout and "--json" in done.stdout, done.stdout)


def vocabulary(folder):
    """An operator that is not there is unknown, with its place; what else there is to decide is decided."""
    foreign, both = folder / "foreign.pet", folder / "both.pet"
    foreign.write_text(PATTERN + EQUAL.replace("u = Neg(t)", "u = Frobnicate(t)"))
    expect_run("an unknown operator", NOT_PROVED,
               f"{foreign}: unknown\n  {foreign}:10:9: unknown operator 'Frobnicate'\n{both}: equal: proved\n" + WRONG_TEXT.format(both),
               "2 of 3", arguments=[foreign, both])
    told = json.loads(run("--json", foreign).stdout)
    expect("an unknown operator, --json", told == [{"file": str(foreign), "verdict": "unknown",
                                                    "reason": f"{foreign}:10:9: unknown operator 'Frobnicate'"}], told)


def records(folder):
    """What is written is proved again by other code, from its text alone."""
    out, pack = folder / "out.pet", folder / "out.db"
    proved = []
    for file in CASES.values():
        if "\n# expect: proved" in file.read_text() and len(proved) < 12:
            proved.append(folder / file.name)
            text = file.read_text().replace("rule candidate of ", f"rule {file.stem} of ")
            name = text.split("pattern ")[1].split()[0]  # several files have patterns of one name
            text = text.replace(f"pattern {name} ", f"pattern {name}_{len(proved)} ").replace(f" of {name} ", f" of {name}_{len(proved)} ")
            proved[-1].write_text(text)
    expect_run("-o", OK, None, arguments=[*proved, "-o", out])
    done = run(out, "-o", pack, tool="pet-rules", command="import")
    expect("import", done.returncode == OK, done.stderr)
    done = run(pack, tool="pet-rules", command="verify")
    expect("verify", f"{len(proved)} rules: {len(proved)} proved" in done.stdout and len(proved) == 12, done.stdout)
    first = out.read_bytes()
    expect_run("-o once more", OK, None, arguments=[*proved, "-o", out])
    expect("the same bytes", out.read_bytes() == first)

    both = folder / "both.pet"
    expect_run("-o of what is not proved", NOT_PROVED, None, "nothing was written", arguments=[both, "-o", out])
    expect("-o of what is not proved", out.read_bytes() == first)
    expect_run("-o over an input", USAGE, "", "is an input", arguments=[both, "-o", both])
    expect_run("-o into no folder", USAGE, "", "No such file", arguments=[both, "-o", folder / "none" / "out.pet"])
    again = folder / "again.pet"
    again.write_text(both.read_text())
    expect_run("-o, one name twice", TEXT, "", "rule 'equal' stands in two files", arguments=[both, again, "-o", out])
    told = json.loads(run("--json", both).stdout)
    record = folder / "record.pet"
    record.write_text(PATTERN + told[0]["record"])
    expect("the record in JSON", run(record, "-o", pack, tool="pet-rules", command="import").returncode == OK)


def as_json(folder):
    told = json.loads(run("--json", folder / "both.pet", CASES["bias-before-a-pad"], CASES["conv-to-convtranspose-negative-pad"],
                          CASES["enlarged-kernel-wrong-pads"]).stdout)
    expect("--json: verdicts", [t["verdict"] for t in told] == ["proved", "refuted", "proved outside boxes", "unknown", "refuted"], told)
    expect("--json: proved", set(told[0]) == {"file", "rule", "pattern", "verdict", "record"}, told[0])
    expect("--json: witness", told[1]["witness"] == {
        "symbols": {"N": 1, "W": 1}, "output": "y", "position": [0, 0], "pattern": "-1", "candidate": "1",
        "inputs": {"x": {"extents": [1, 1], "values": [1]}}}, told[1])
    expect("--json: boxes", told[2]["boxes"] == ["[0:C, 0:P]", "[0:C, P + W:2P + W]"] and "witness" in told[2], told[2])
    expect("--json: obligation", "P + 1 <= R" in told[3]["reason"] and told[3]["symbols"]["P"] >= told[3]["symbols"]["R"], told[3])
    witness = told[4]["witness"]
    expect("--json: extents", "pattern_extents" in witness and witness["pattern_extents"] != witness["candidate_extents"], witness)


BAD_TEXTS = [  # text, place and words
    ("import torch\n", "1:1: expected 'pattern' or 'rule'"),
    (PATTERN[:20], "2:9: a program needs at least one statement"),
    (PATTERN + EQUAL[:-3], "12:4: expected a clause of the rule, found the end"),
    (PATTERN + EQUAL.replace("of p", "of q"), "6:6: rule 'equal' is of an unknown pattern 'q'"),
    (PATTERN + EQUAL.replace("Neg(u)", "Neg(v)"), "11:13: 'v' is not defined"),
    (PATTERN + EQUAL.replace("1 <= W", "1 <= 99999999999999999999W"), "7:28: expected a 64-bit integer"),
    (PATTERN + EQUAL.replace("Neg(t)", "MatMul(t, t)"), "10:9: MatMul of [N, W] and [N, W]"),
    (PATTERN + EQUAL.replace("class N W", "where N = \n class N W"), "8:8: "),
    (PATTERN + EQUAL.replace("  class", "  where N = 9223372036854775807M + 9223372036854775807M\n  class"), "8:3: integer overflow"),
    (PATTERN + EQUAL.replace("class N W", "class N N W"), "7:11: the symbol 'N' is declared twice"),
    (PATTERN + EQUAL.replace("t = Neg(x)", "t = Neg(x)\n" + "".join(f"    t{i} = Identity(x)\n" for i in range(100000))),
     "1008:5: a program of more than 1000 inputs and operators"),
    (PATTERN, "no rule to prove"),
    ("", "no rule to prove"),
]


def bad_input(folder):
    bad = folder / "bad.pet"
    for text, words in BAD_TEXTS:
        bad.write_text(text)
        place = f"bad.pet:{words}" if words[0].isdigit() else words
        expect_run(f"malformed: {words}", TEXT, "", place, arguments=[bad])
        expect_run(f"malformed, standard input: {words}", TEXT, "", place.replace("bad.pet", "standard input"), arguments=["-"], stdin=text)
    bad.write_bytes(b"\xff\xfe\0 pattern")
    expect_run("not text", TEXT, "", "bad.pet:1:1: ", arguments=[bad])
    bad.write_text("import torch\n")
    expect_run("nothing is decided before all is read", TEXT, "", "bad.pet:1:1", arguments=[folder / "both.pet", bad])
    expect_run("no such file", TEXT, "", "none.pet: cannot read: No such file", arguments=[folder / "none.pet"])
    expect_run("a folder", TEXT, "", "Is a directory", arguments=[folder])
    expect_run("no file", USAGE, "", "FILE is required", arguments=[])
    expect_run("an unknown option", USAGE, "", "--fast", arguments=["--fast", bad])
    done = subprocess.run([str(BIN / "pet-synth"), "-q", "prove", str(bad)], capture_output=True, text=True)
    expect("options before the command", done.returncode == USAGE and "before 'prove'" in done.stderr, done.stderr)


ODD = [  # numbers that leave 64 bits, names that nobody declared: a verdict, no crash
    PATTERN + EQUAL.replace("1 <= W", "9223372036854775807 <= W"),
    PATTERN + EQUAL.replace("class N W :", "where N = 4611686018427387904M\n  class M W : 1 <= M,").replace("1 <= N, ", ""),
    PATTERN + EQUAL.replace("class N W : 1 <= N, 1 <= W", ""),
    PATTERN + EQUAL.replace("t = Neg(x)", "s = Pad(x) pads=[9223372036854775807, 0, 0 - 9223372036854775807, 0]\n t = Neg(s)"),
    PATTERN + EQUAL.replace("t = Neg(x)", "s0 = Mul(x, x)\n" + "".join(f"    s{i} = Mul(s{i - 1}, s{i - 1})\n" for i in range(1, 30)) + "    t = Neg(s29)"),
    PATTERN + EQUAL.replace("t = Neg(x)", "s = Tile(x) repeats=[1000, 1000]\n t = Neg(s)"),
    PATTERN + EQUAL.replace("t = Neg(x)", "s = Slice(x) axes=[1] starts=[0] ends=[K]\n t = Neg(s)"),
    PATTERN + EQUAL.replace("y = Neg(u)", "a, b = Split(u) axis=0 split=[N, 0]\n y = Neg(a)\n return y, u"),
]


def odd_candidates(_):
    for text in ODD:
        done = run("-", stdin=text)
        expect(f"odd: {text[60:]!r}", done.returncode in (OK, NOT_PROVED) and ": equal: " in done.stdout and "internal" not in done.stderr,
               f"{done.returncode} {done.stdout} {done.stderr}")


def numerics(folder):
    """What a record says of rounding; `import` derives it where nothing is said, and refuses what says more."""
    for case in ["winograd-4-3-one-axis", "cancelling-large-numbers", "cancelling-exponentials", "relu-through-transpose"]:
        file = CASES[case]
        derived = next(x for x in file.read_text().splitlines() if x.startswith("# numerics: ")).removeprefix("# numerics: ")
        proved, pack = folder / "proved.pet", folder / "proved.db"
        run(file, "-o", proved)
        line = f"  numerics {derived}\n"
        expect(case, line in proved.read_text(), proved.read_text())
        text = proved.read_text()
        proved.write_text(text.replace(line, ""))
        done = run(proved, "-o", pack, tool="pet-rules", command="import")
        expect(case, done.returncode == OK, done.stderr)
        listed = json.loads(run(pack, "--json", tool="pet-rules", command="ls").stdout)
        expect(case, [r["numerics"] for r in listed] == [derived], listed)
        pack.unlink()
        if derived == "bit-equal":
            continue
        proved.write_text(text.replace(line, "  numerics same-terms\n"))
        done = run(proved, "-o", pack, tool="pet-rules", command="import")
        reason = f"refuted: numerics same-terms: derived from the programs: {derived}"
        expect(case, done.returncode == NOT_PROVED and reason in done.stderr and not pack.exists(), done.stderr)


def main():
    if not (BIN / "pet-synth").is_file():
        print("pet-synth is not built")
        return 77
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for part in [verdicts, vocabulary, records, as_json, bad_input, odd_candidates, numerics]:
            part(folder)
    print("\n".join(failures) or "pet-synth prove is as documented")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
