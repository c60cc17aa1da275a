#!/usr/bin/env python3
"""pet-rules import --taso on small files, written here byte by byte: true rules, false ones, and no files of TASO's.

Exit status 0 or 1.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

from _taso_facts import message, numbers

SOURCE = pathlib.Path(os.environ.get("PET_SOURCE", pathlib.Path(__file__).parents[2]))
TOOL = pathlib.Path(os.environ.get("PET_BIN", SOURCE / "build" / "bin")) / "pet-rules"
failures = []


def expect(name, condition, detail=""):
    if not condition:
        failures.append(f"{name}: {detail}" if detail else name)


def run(*arguments, tool=TOOL):
    return subprocess.run([str(tool), *map(str, arguments)], capture_output=True, text=True, timeout=120)


def op(kind, *inputs, **parameters):
    keys = {"kh": 4, "kw": 5, "sh": 6, "sw": 7, "pad": 8, "act": 9, "rank": 10, "axis": 11}
    body = numbers(kind)
    for at in inputs:
        body += message(2, numbers(*(at if isinstance(at, tuple) else (at, 0))))
    for key, value in parameters.items():
        body += message(3, numbers(keys[key], value))
    return body


def rule(source, target, outputs):
    body = b"".join(message(1, o) for o in source) + b"".join(message(2, o) for o in target)
    return message(1, body + b"".join(message(3, numbers(s, t, so, to)) for s, t, so, to in outputs))


def conv(x, w):
    return op(3, x, w, kh=3, kw=3, sh=1, sw=1, pad=0, act=0)


def conv_relu(x, w):
    return op(3, x, w, kh=3, kw=3, sh=1, sw=1, pad=0, act=2)


def maximum(x):
    return op(6, x, kh=3, kw=3, sh=1, sw=1, pad=0, act=0)


def concat(axis, rank, *inputs):
    return op(12, *inputs, axis=axis, rank=rank)


def matmul(a, b):
    return op(18, a, b, act=0)


RULES = [
    # (a b) c = a (b c)
    (rule([matmul(-1, -2), matmul(0, -3)], [matmul(-2, -3), matmul(-1, 0)], [(1, 1, 0, 0)]),
     r"proved  taso-000 - M K N N2 : 1 <= K, 1 <= M, 1 <= N, 1 <= N2"),
    # Two products with one matrix as one product and a split: two outputs
    (rule([matmul(-1, -3), matmul(-2, -3)], [concat(0, 2, -1, -2), matmul(0, -3), op(13, 1, axis=0)], [(0, 2, 0, 0), (1, 2, 0, 1)]),
     r"proved  taso-001 - M K N M2 : 1 <= K, 1 <= M, 1 <= M2, 1 <= N"),
    # Two convolutions side by side are one with two groups, of as many filters
    (rule([conv(-1, -2), conv(-3, -4), concat(1, 4, 0, 1)], [concat(1, 4, -1, -3), concat(0, 4, -2, -4), conv(0, 1)], [(2, 2, 0, 0)]),
     r"proved  taso-002 - N C H W F P Q : .*; with F2 = F; else at .*F2 = .*: c\[0, \d, 0, 0\] = -?\d+, not -?\d+"),
    # a b = b a
    (rule([matmul(-1, -2)], [matmul(-2, -1)], [(0, 0, 0, 0)]),
     r"refuted taso-003 - at M = 2: a\[\d, \d\] = -?\d+, not -?\d+"),
    # Relu(x + z) = Relu(x) + Relu(z)
    (rule([op(16, -1, -2), op(8, 0)], [op(8, -1), op(8, -2), op(16, 0, 1)], [(1, 2, 0, 0)]),
     r"refuted taso-004 - at M = \d, N = \d: b\[\d, \d\] = -?\d+, not -?\d+"),
    # Dropout has no translation
    (rule([op(4, -1)], [op(8, -1)], [(0, 0, 0, 0)]),
     r"unknown taso-005 - TASO's operator 4 has no translation"),
]


def good_file(folder):
    file, text, pack = folder / "rules.pb", folder / "rules.pet", folder / "rules.db"
    file.write_bytes(b"".join(bytes_ for bytes_, _ in RULES))
    done = run("import", "--taso", file, "-o", text)
    expect("exit code", done.returncode == 0 and not done.stderr, (done.returncode, done.stderr))
    lines = done.stdout.splitlines()
    expect("a line each and a summary", len(lines) == len(RULES) + 1, done.stdout)
    for line, (_, pattern) in zip(lines, RULES):
        expect(pattern, re.fullmatch(pattern, line), line)
    expect("summary", lines[-1] == "3 proved, 2 refuted, 1 unknown", lines[-1])
    for threads in ["1", "3"]:
        again = run("import", "--taso", file, "-j", threads)
        expect(f"the same with {threads} threads", again.stdout == done.stdout, again.stdout)

    # The text holds the proved rules with their records, which the checker takes.
    written = text.read_text()
    expect("proved rules only", re.findall(r"^pattern (\S+)", written, re.M) == ["taso-000", "taso-001", "taso-002"], written)
    expect("both outputs", "return a, b" in written, written)
    expect("a proof of each", re.findall(r"^  proof (?:(\w+) )?{", written, re.M) == ["", "a", "b", ""], written)
    done = run("import", text, "-o", pack)
    expect("the text is a pack's", done.returncode == 0, done.stderr)
    done = run("evaluate", pack)
    expect("and true", done.returncode == 0 and "3 equal, 0 not" in done.stdout, done.stdout + done.stderr)


def mean(x=None):
    """The mean kernel; the average of a feature map."""
    return op(25, kh=3, kw=3) if x is None else op(7, x, kh=3, kw=3, sh=1, sw=1, pad=0, act=0)


def ones():
    return op(24, rank=2)


MORE = [
    # A convolution by the mean kernel is the average, of any number of channels
    (rule([mean(), conv(-1, 0)], [mean(-1)], [(1, 0, 0, 0)]),
     r"proved  taso-000 - N C H W : 1 <= C, 1 <= H, 1 <= N, 1 <= W; convolutions: depthwise"),
    # Two mean kernels, one behind the other: the groups are not the channels
    (rule([mean(), concat(0, 4, 0, 0), conv(-1, 1)], [mean(-1), mean(-1), concat(1, 4, 0, 1)], [(2, 2, 0, 0)]),
     r"refuted taso-001 - at C = 2, .*: c\[0, \d, \d, \d\] = .*"),
    # A convolution, in any number of groups
    (rule([op(16, -1, -2), conv(0, -3)], [conv(-1, -3), conv(-2, -3), op(16, 0, 1)], [(1, 2, 0, 0)]),
     r"proved  taso-002 - N H W C P Q G F : .*; convolutions: G groups"),
    # Of a product with ones what is summed over is a number: K = N
    (rule([ones(), concat(0, 2, -1, 0), ones(), matmul(1, 2)], [ones(), matmul(-1, 0), ones(), ones(), matmul(2, 3), concat(0, 2, 1, 4)],
          [(3, 5, 0, 0)]),
     r"proved  taso-003 - M K M2 N : .*; with N2 = K; else at .*: d\[1, 0\] = 1, not 2"),
    # I + s I = Relu(I + s I) but for s < -1
    (rule([op(22), op(19, 0, -1), op(16, 0, 1), op(8, 2)], [op(22), op(19, 0, -1), op(16, 0, 1)], [(3, 2, 0, 0)]),
     r"refuted taso-004 - at M = 1: d\[0, 0\] = 0, not -\d"),
    # Relu(maximum(x) * I) = Relu(maximum(x)), and what it follows from
    (rule([op(23), maximum(-1), conv_relu(1, 0)], [maximum(-1), op(8, 0)], [(2, 1, 0, 0)]),
     r"unknown taso-005 - .*; but it follows from taso-006/target"),
    (rule([op(23), conv(-1, 0), op(8, 1)], [op(8, -1)], [(2, 0, 0, 0)]),
     r"proved  taso-006 - N C H W P Q : .*; convolutions: 1 group"),
    # Relu(Relu(x) * I) = Relu(Relu(x))
    (rule([op(23), op(8, -1), conv_relu(1, 0)], [op(8, -1), op(8, 0)], [(2, 1, 0, 0)]),
     r"proved  taso-007 - .*"),
]


def classes(folder):
    """What a line says of the class: groups, and what it was narrowed by."""
    file, text, pack = folder / "more.pb", folder / "more.pet", folder / "more.db"
    file.write_bytes(b"".join(bytes_ for bytes_, _ in MORE))
    lines = run("import", "--taso", file, "-o", text).stdout.splitlines()
    for line, (_, pattern) in zip(lines, MORE):
        expect(pattern, re.fullmatch(pattern, line), line)
    expect("summary", lines[-1] == "5 proved, 2 refuted, 1 unknown", lines[-1])
    done = run("import", text, "-o", pack)
    expect("the checker takes them", done.returncode == 0, done.stderr)
    done = run("covers", pack, "--taso", file)
    expect("what is unknown as a whole is covered step by step", "covered taso-005 - in 1 step: taso-006/target\n" in done.stdout, done.stdout)


def bad_files(folder):
    file, target = folder / "rules.pb", folder / "none.pet"
    good = file.read_bytes()
    cases = [
        ("no file", None, 4, ["No such file"]),
        ("empty", b"", 4, ["no rule"]),
        ("cut off", good[:-1], 4, ["byte", "damaged"]),
        ("text", b"pattern conv {\n", 4, ["byte 2", "damaged"]),
        ("zeros", bytes(64), 4, ["byte 0", "damaged"]),
        ("noise", bytes(i * 167 % 256 for i in range(4096)), 4, ["byte", "damaged"]),
        ("a pack", b"SQLite format 3\0" + bytes(100), 4, ["byte", "damaged"]),
    ]
    bad = folder / "bad.pb"
    for name, content, code, words in cases:
        if content is None:
            bad.unlink(missing_ok=True)
        else:
            bad.write_bytes(content)
        done = run("import", "--taso", bad, "-o", target)
        lines = done.stderr.splitlines()
        expect(name, done.returncode == code and not done.stdout, (done.returncode, done.stdout))
        expect(name, len(lines) == 1 and lines[0].startswith("pet-rules: ") and all(w in lines[0] for w in words), done.stderr)
        expect(f"{name}: nothing is written", not target.exists())
    for name, arguments in [("both", ["import", "--taso", file, file]), ("its input", ["import", "--taso", file, "-o", file]),
                            ("nothing", ["import"]), ("no folder", ["import", "--taso", file, "-o", folder / "none" / "x"])]:
        done = run(*arguments)
        expect(name, done.returncode == 2 and len(done.stderr.splitlines()) == 1, (done.returncode, done.stderr))
    expect("the input is as it was", file.read_bytes() == good)


def main():
    with tempfile.TemporaryDirectory() as name:
        good_file(pathlib.Path(name))
        if not os.environ.get("PET_SANITIZED"):
            classes(pathlib.Path(name))
        bad_files(pathlib.Path(name))
    for failure in failures:
        print(f"taso: {failure}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
