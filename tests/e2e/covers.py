#!/usr/bin/env python3
"""pet-rules covers and pet-rules minimal: a few of TASO's rules and tests/cover/laws.pet.

Exit status 0 or 1.
"""

import json
import pathlib
import re
import sys
import tempfile

from taso import SOURCE, TOOL, concat, conv, expect, failures, matmul, op, rule, run

LAWS = SOURCE / "tests" / "cover" / "laws.pet"

RULES = [
    # (a b) c = a (b c)
    (rule([matmul(-1, -2), matmul(0, -3)], [matmul(-2, -3), matmul(-1, 0)], [(1, 1, 0, 0)]),
     r"covered taso-000 - an instance: matmul-associates/law"),
    # (a b) (c d) = (a (b c)) d
    (rule([matmul(-1, -2), matmul(-3, -4), matmul(0, 1)], [matmul(-2, -3), matmul(-1, 0), matmul(1, -4)], [(2, 2, 0, 0)]),
     r"covered taso-001 - in 2 steps: matmul-associates/law( backwards)?, then matmul-associates/law( backwards)?"),
    # Two products with one matrix as one product and a split
    (rule([matmul(-1, -3), matmul(-2, -3)], [concat(0, 2, -1, -2), matmul(0, -3), op(13, 1, axis=0)], [(0, 2, 0, 0), (1, 2, 0, 1)]),
     r"covered taso-002 - in 1 step: matmul-of-rows/law backwards"),
    # x + z = z + x, as a convolution's input
    (rule([op(16, -1, -2), conv(0, -3)], [op(16, -2, -1), conv(0, -3)], [(1, 1, 0, 0)]),
     r"covered taso-003 - one program on both sides"),
    # Relu of images of rank 4 by a law for matrices
    (rule([concat(1, 4, -1, -2), op(8, 0), conv(1, -3)], [op(8, -1), op(8, -2), concat(1, 4, 0, 1), conv(2, -3)], [(2, 3, 0, 0)]),
     r"covered taso-004 - in 1 step: relu-of-columns/law"),
    # a b = b a
    (rule([matmul(-1, -2)], [matmul(-2, -1)], [(0, 0, 0, 0)]),
     r"false   taso-005 - it does not hold"),
    # Tanh of a Concat: true, and no law speaks of Tanh
    (rule([concat(0, 2, -1, -2), op(10, 0)], [op(10, -1), op(10, -2), concat(0, 2, 0, 1)], [(1, 2, 0, 0)]),
     r"MISSING taso-006 - the rules do not lead from one side to the other"),
    # Dropout has no translation
    (rule([op(4, -1)], [op(8, -1)], [(0, 0, 0, 0)]),
     r"MISSING taso-007 - it is not proved: TASO's operator 4 has no translation"),
]
SUMMARY = "5 covered (1 one program on both sides, 1 an instance, 2 in 1 step, 1 in 2 steps), 2 not covered: taso-006, taso-007; 1 false"


def pack_of(text, pack):
    """A pack of proved candidates."""
    proved = pack.with_suffix(".proved.pet")
    for tool, arguments in [("pet-synth", ["prove", text, "-o", proved]), ("pet-rules", ["import", proved, "-o", pack])]:
        done = run(*arguments, tool=TOOL.parent / tool)
        expect(f"{tool} on {text.name}", done.returncode == 0, done.stdout + done.stderr)


def covered(folder):
    pack, file = folder / "laws.db", folder / "rules.pb"
    pack_of(LAWS, pack)
    file.write_bytes(b"".join(bytes_ for bytes_, _ in RULES))
    done = run("covers", pack, "--taso", file)
    expect("not all are covered", done.returncode == 5 and "2 of 8 rules are not covered" in done.stderr, (done.returncode, done.stderr))
    lines = done.stdout.splitlines()
    expect("a line each and a summary", len(lines) == len(RULES) + 1, done.stdout)
    for line, (_, pattern) in zip(lines, RULES):
        expect(pattern, re.fullmatch(pattern, line), line)
    expect("summary", lines[-1] == SUMMARY, lines[-1])
    for threads in ["1", "3"]:
        again = run("covers", pack, "--taso", file, "-j", threads)
        expect(f"the same with {threads} threads", again.stdout == done.stdout, again.stdout)

    file.write_bytes(b"".join(bytes_ for bytes_, _ in RULES[:6]))
    done = run("covers", pack, "--taso", file)
    expect("what is false need not follow", done.returncode == 0 and not done.stderr, (done.returncode, done.stderr))
    done = run("covers", pack, "--taso", file, "--steps", "1")
    expect("one step", done.returncode == 5 and "MISSING taso-001 - there is no chain of so few rewrites" in done.stdout, done.stdout)
    done = run("covers", pack, "--taso", file, "--programs", "1", "--steps", "2")
    expect("one program", done.returncode == 5 and "MISSING taso-001 - no chain was found among so many programs" in done.stdout, done.stdout)


def every_step(folder):
    pack, file = folder / "laws.db", folder / "rules.pb"
    text = run("covers", pack, "--taso", file, "--verbose").stdout
    expect("the programs of a chain", re.search(
        r"covered taso-002 .*\n    x1: .*\n(    .*\n)*    return a, b\n  matmul-of-rows/law backwards\n    .*Concat.*\n", text), text)
    found = json.loads(run("covers", pack, "--taso", file, "--json").stdout)
    expect("an object each", [r["name"] for r in found] == [f"taso-{i:03}" for i in range(6)], found)
    expect("covered", [r["covered"] for r in found] == [True] * 5 + [False], found)
    expect("false", [r["true"] for r in found] == [True] * 5 + [False], found)
    expect("instances", [r["instance"] for r in found[:5]] == [True, False, False, False, False], found)
    expect("steps", [len(r["steps"]) for r in found[:5]] == [1, 2, 1, 0, 1], found)
    expect("the last program", "MatMul" in found[1]["steps"][1]["program"], found[1])
    expect("a direction", {s["direction"] for r in found[:5] for s in r["steps"]} == {"forwards", "backwards"}, found)


def without_a_law(folder):
    """What follows from one law alone is not covered without it, and neither from a law that looks like it."""
    text, pack, file = folder / "fewer.pet", folder / "fewer.db", folder / "rules.pb"
    laws = LAWS.read_text()
    fewer = re.sub(r"pattern matmul-associates \{.*?\n\}\n\nrule matmul-associates/law .*?\n\}\n\n", "", laws, flags=re.S)
    expect("the law is left out", "matmul-associates" in laws and "matmul-associates" not in fewer)
    text.write_text(fewer)
    pack_of(text, pack)
    done = run("covers", pack, "--taso", file)
    missing = re.findall(r"^MISSING (\S+)", done.stdout, re.M)
    expect("nothing else associates", done.returncode == 5 and missing == ["taso-000", "taso-001"], done.stdout)


def minimal(folder):
    text, pack, target = folder / "six.pet", folder / "six.db", folder / "small.db"
    done = run("import", "--taso", folder / "rules.pb", "-o", text)
    done = run("import", text, "-o", pack)
    expect("a pack of TASO's", done.returncode == 0, done.stderr)
    done = run("minimal", pack, "-o", target)
    lines = done.stdout.splitlines()
    expect("dropped by reason", lines == ["dropped taso-003/target - one program on both sides",
                                          "4 rules kept, 1 dropped (1 one program on both sides)"], done.stdout)
    done = run("minimal", pack, "--steps", "2")
    expect("chains", "dropped taso-001/target - chain: taso-000/target\n" in done.stdout, done.stdout)
    found = json.loads(run("minimal", pack, "--steps", "2", "--one-way", "--json").stdout)
    expect("as JSON", [d["name"] for d in found["dropped"]] == ["taso-003/target"] and len(found["kept"]) == 4, found)
    expect("the rest is a pack", len(json.loads(run("ls", "--json", target).stdout)) == 4)
    done = run("verify", target)
    expect("of proved rules", done.returncode == 0, done.stdout)
    done = run("covers", target, "--taso", folder / "rules.pb")
    expect("from which all follow", done.returncode == 0, done.stdout)


def errors(folder):
    pack, file, text = folder / "laws.db", folder / "rules.pb", folder / "six.pet"
    nothing = folder / "none"
    cases = [
        (["covers", nothing, "--taso", file], 4), (["covers", text, "--taso", file], 4), (["covers", file, "--taso", file], 4),
        (["covers", pack, "--taso", nothing], 4), (["covers", pack, "--taso", text], 4), (["covers", pack, "--taso", pack], 4),
        (["covers", pack], 2), (["covers", "--taso", file], 2), (["covers", pack, "--taso", file, "--steps", "many"], 2),
        (["covers", pack, "--taso", file, "--steps", "-1"], 2), (["covers", pack, "--taso", file, "--programs", "0"], 2),
        (["minimal", nothing], 4), (["minimal", text], 4), (["minimal", pack, "-o", pack], 2), (["minimal"], 2),
        (["minimal", pack, "-o", nothing / "x.db"], 2),
    ]
    before = pack.read_bytes()
    for arguments, code in cases:
        done = run(*arguments)
        name = " ".join(map(str, arguments))
        expect(name, done.returncode == code and not done.stdout, (done.returncode, done.stdout))
        expect(name, len(done.stderr.splitlines()) == 1 and done.stderr.startswith("pet-rules: "), done.stderr)
    expect("the pack is as it was", pack.read_bytes() == before)


def main():
    with tempfile.TemporaryDirectory() as name:
        for test in [covered, every_step, without_a_law, minimal, errors]:
            test(pathlib.Path(name))
    for failure in failures:
        print(f"covers: {failure}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
