#!/usr/bin/env python3
"""pet-synth free: what it finds over small vocabularies, that nothing depends on threads or passes, how it refuses.

Exit status 0 or 1.
"""

import json
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(os.environ.get("PET_SOURCE", pathlib.Path(__file__).parents[2]))
BIN = pathlib.Path(os.environ.get("PET_BIN", SOURCE / "build" / "bin"))
USAGE, TEXT = 2, 4

MATRICES = """# Three matrices.
inputs x y z: [2, 2]
operator MatMul
operator Add
operator Transpose
operator Concat axis={0, 1}
distinct operands
"""

failures = []


def expect(name, condition, detail=""):
    if not condition:
        failures.append(f"{name}: {detail}" if detail else name)


def run(tool, *arguments, **options):
    return subprocess.run([str(BIN / tool), *map(str, arguments)], capture_output=True, text=True, timeout=240, **options)


def free(*arguments, **options):
    return run("pet-synth", "free", *arguments, **options)


def refuse(name, code, *words, arguments, folder, **options):
    """One line on standard error with the words, the exit code, and no file."""
    before = sorted(folder.iterdir())
    done = free(*arguments, **options)
    lines = done.stderr.splitlines()
    expect(name, done.returncode == code, f"exit code {done.returncode} instead of {code}: {done.stderr}")
    expect(name, len(lines) == 1 and lines[0].startswith("pet-synth: "), f"not one line: {done.stderr!r}")
    for word in words:
        expect(name, word in done.stderr, f"no {word!r} in {done.stderr!r}")
    expect(name, sorted(folder.iterdir()) == before and not done.stdout, "something was written")


def matrices(folder):
    """The laws of matrices, as a pack whose proofs the checker takes; the same bytes however they were found."""
    vocabulary, pack, report = folder / "matrices.vocab", folder / "matrices.db", folder / "matrices.json"
    vocabulary.write_text(MATRICES)
    done = free("--vocab", vocabulary, "--depth", 3, "-o", pack, "--report", report)
    expect("exit code", done.returncode == 0 and not done.stdout, done.stderr)
    told = json.loads(report.read_text())
    for law in ["MatMul(m0, MatMul(m1, m2)) = MatMul(MatMul(m0, m1), m2)", "m0 = Transpose(Transpose(m0))"]:
        expect(law, law in told["kept"], told["kept"])
    e = told["equalities"]
    expect("every equality has a fate", e["distinct"] == sum(e["dropped"].values()) + e["proved"] + e["refuted"] + e["unknown"], e)
    expect("rules", told["rules"] == e["proved"] == len(told["kept"]) and len(told["open"]) == e["refuted"] + e["unknown"], e)
    expect("levels", [level["operators"] for level in told["levels"]] == [1, 2, 3], told["levels"])
    expect("graphs", told["graphs"]["one_sink"] == sum(level["graphs"] for level in told["levels"]), told["graphs"])
    expect("summary", f"{told['rules']} rules" in done.stderr, done.stderr)
    expect("the checker", "0 refuted, 0 unknown" in run("pet-rules", "verify", pack).stdout.splitlines()[-1])
    expect("small shapes", f"{told['rules']} equal, 0 not" in run("pet-rules", "evaluate", pack).stdout.splitlines()[-1])
    for name, arguments in [("-j1", ["-j", 1]), ("-j3", ["-j", 3]), ("passes", ["--memory", "1M"])]:
        again, other = folder / "again.db", folder / "again.json"
        done = free("--vocab", vocabulary, "--depth", 3, "-o", again, "--report", other, "-q", *arguments)
        expect(name, done.returncode == 0 and not done.stderr and again.read_bytes() == pack.read_bytes(), done.stderr)
        expect(name, json.loads(other.read_text())["kept"] == told["kept"])
    raw = 0
    for k in range(1, 4):
        done = free("--vocab", vocabulary, "--depth", 3, "--report", other, "--pass", f"{k}/3", "-q")
        part = json.loads(other.read_text())
        expect("a part says so", done.returncode == 0 and part["partial"], done.stderr)
        raw += part["equalities"]["raw"]
    expect("parts make the whole", raw == e["raw"], raw)


def checkpoint(folder):
    """Kept after each pass, gone on with, refused where it is another search's."""
    vocabulary, kept, pack, other = (folder / n for n in ["c.vocab", "c.run", "c.db", "c2.db"])
    vocabulary.write_text(MATRICES)
    arguments = ["--vocab", vocabulary, "--depth", 3, "--memory", "1M", "--checkpoint", kept, "-q"]
    done = free(*arguments, "-o", pack)
    expect("checkpoint", done.returncode == 0 and kept.read_text().endswith("\nend\n"), done.stderr)
    refuse("a checkpoint that exists", USAGE, "c.run: exists", "--resume", arguments=arguments, folder=folder)
    done = free(*arguments, "--resume", "-o", other)
    expect("resumed", done.returncode == 0 and other.read_bytes() == pack.read_bytes(), done.stderr)
    refuse("of another search", USAGE, "another search", arguments=["2M" if a == "1M" else a for a in arguments] + ["--resume"], folder=folder)
    whole = kept.read_bytes()
    for damaged in [whole[:-1], whole[:len(whole) // 2], b"", b"x" + whole]:
        kept.write_bytes(damaged)
        refuse("a damaged checkpoint", TEXT, "c.run", "damaged", arguments=[*arguments, "--resume"], folder=folder)
    refuse("--resume alone", USAGE, "--resume", arguments=["--vocab", vocabulary, "--resume"], folder=folder)


def taso(folder):
    """The vocabulary that comes with the tool, two operators deep."""
    pack, report = folder / "taso.db", folder / "taso.json"
    done = free("--vocab", SOURCE / "rules" / "vocab" / "taso.vocab", "--depth", 2, "-o", pack, "--report", report, "-q")
    expect("taso", done.returncode == 0 and not done.stderr, done.stderr)
    kept = json.loads(report.read_text())["kept"]
    for law in ["Conv(x0, MeanKernel) = AveragePool(x0)", "x0 = Conv(x0, IdentityKernel)", "Conv(x0, k1) = Conv(x0, Pad(k1))"]:
        expect(law, law in kept, kept)
    text = run("pet-rules", "export", pack).stdout
    means = [p for p in re.split(r"^(?=pattern )", text, flags=re.M) if "Constant() value=1 shape=[" in p and "Conv(" in p]
    one = [p for p in means if re.search(r"^  x\d+: \[\w+, 1, H", p, re.M)]
    expect("mean kernels of any number of channels", means and not one, one)
    expect("the checker", "0 refuted, 0 unknown" in run("pet-rules", "verify", pack).stdout.splitlines()[-1])


def bad_input(folder):
    vocabulary, missing = folder / "v.vocab", folder / "none.vocab"
    vocabulary.write_text(MATRICES)
    good = ["--vocab", vocabulary, "--depth", 2]
    bad = folder / "bad.vocab"
    for text, place in [("inputs x: [2, 2]\noperator Matmul\n", "bad.vocab:2:10: no operator 'Matmul'; expected one of Add,"),
                        ("inputs x: [2, 2]\nconstant e = Eye [2, 3]\noperator Add\n", "bad.vocab:2:18: the identity matrix is square"),
                        ("inputs x: [2, 2]\noperator Concat axis=2\n", "bad.vocab:2:22: no input has an axis 2"),
                        ("", "bad.vocab:1:1: expected 'inputs'"), ("\0\xff", "bad.vocab:1:1: ")]:
        bad.write_text(text)
        refuse(f"vocabulary: {place}", TEXT, place, arguments=["--vocab", bad, "--depth", 2], folder=folder)
    refuse("no such file", TEXT, "none.vocab", "No such file", arguments=["--vocab", missing], folder=folder)
    refuse("no vocabulary", USAGE, "--vocab is required", arguments=["--depth", 2], folder=folder)
    for name, arguments in [("depth 0", ["--depth", 0]), ("depth 6", ["--depth", 6]), ("depth", ["--depth", "x"]), ("threads", ["--threads", 0])]:
        refuse(name, USAGE, arguments[0], arguments=["--vocab", vocabulary, *arguments], folder=folder)
    for memory in ["0", "1K", "x", "3T", "-1", "99999999999999999999", "G"]:
        refuse(f"memory {memory}", USAGE, "is not an amount of memory", arguments=[*good, f"--memory={memory}"], folder=folder)
    for part in ["0/3", "4/3", "1", "1/", "/3", "1/4097", "a/b"]:
        refuse(f"pass {part}", USAGE, "is not a part", arguments=[*good, f"--pass={part}"], folder=folder)
    refuse("its own vocabulary", USAGE, "is an input", arguments=[*good, "-o", vocabulary], folder=folder)
    refuse("no folder", USAGE, "none", arguments=[*good, "-o", folder / "none" / "x.db"], folder=folder)
    refuse("one file twice", USAGE, "x", arguments=[*good, "-o", folder / "x", "--report", folder / "x"], folder=folder)
    done = run("pet-synth", "-q", "free", *good)
    expect("options before the command", done.returncode == USAGE and "before 'free'" in done.stderr, done.stderr)


def no_memory(folder):
    """The address space of depth 2, at depth 4. A binary with sanitizers does not even start in it."""
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (200 << 20, 200 << 20))

    if run("pet-synth", "--version", preexec_fn=limit).returncode:
        return
    refuse("no memory left", USAGE, "out of memory", "--memory", folder=folder, preexec_fn=limit,
           arguments=["--vocab", SOURCE / "rules" / "vocab" / "taso.vocab", "--depth", 4, "-j", 1, "-o", folder / "x.db"])


def main():
    if not (BIN / "pet-synth").is_file():
        print("pet-synth is not built")
        return 77
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for part in [*([] if os.environ.get("PET_SANITIZED") else [matrices]), checkpoint, taso, bad_input, no_memory]:
            part(folder)
    print("\n".join(failures) or "pet-synth free is as documented")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
