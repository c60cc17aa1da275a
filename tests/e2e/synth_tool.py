#!/usr/bin/env python3
"""The command line of pet-synth: what it writes, what it says, and how it refuses. Exit status 0 or 1."""

import json
import os
import pathlib
import pty
import re
import resource
import signal
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(os.environ.get("PET_SOURCE", pathlib.Path(__file__).parents[2]))
BIN = pathlib.Path(os.environ.get("PET_BIN", SOURCE / "build" / "bin"))
USAGE, TEXT = 2, 4

# Quick to search, and its rules need no more than one page of a pack each.
TINY = """# A batch of matrices times one constant matrix.
pattern tiny {
  shape B M K N : 1 <= B
  x: [B, M, K]
  w: const [K, N]
  y = MatMul(x, w)
}
"""

failures = []


def expect(name, condition, detail=""):
    if not condition:
        failures.append(f"{name}: {detail}" if detail else name)


def run(*arguments, **options):
    """Standard output as bytes, standard error as text."""
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "timeout": 300, **options}
    done = subprocess.run([str(BIN / "pet-synth"), *map(str, arguments)], **options)
    done.stderr = (done.stderr or b"").decode()
    return done


def state(folder):
    """What must not change: names, contents, times."""
    return {p: (p.lstat().st_mtime_ns, p.read_bytes() if p.is_file() else None) for p in folder.iterdir()}


def refuse(name, code, *words, arguments, folder, **options):
    """One line on standard error that holds the words, the exit code, and nothing new or changed in the folder."""
    before = state(folder)
    done = run(*arguments, **options)
    expect(name, done.returncode == code, f"exit code {done.returncode} instead of {code}: {done.stderr}")
    lines = done.stderr.splitlines()
    expect(name, len(lines) == 1 and lines[0].startswith("pet-synth: "), f"not one line: {done.stderr!r}")
    for word in words:
        expect(name, word in done.stderr, f"no '{word}' in {done.stderr!r}")
    expect(name, not done.stdout, "something is on standard output")
    expect(name, state(folder) == before, f"the folder has changed: {sorted(p.name for p in folder.iterdir())}")


def limit_file_size():
    """As a full disk: only so many bytes fit."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))


# ---- what is right

def help_and_version(_):
    done = run("--help")
    text = done.stdout.decode()
    expect("--help", done.returncode == 0 and not done.stderr and "Exit codes: 0 ok" in text, text)
    expect("--help names its defaults", "--depth INT:INT in [1 - 5]=4" in text, text)
    done = run("--version")
    expect("--version", done.returncode == 0 and re.fullmatch(rb"pet-synth \d+\.\d+\n", done.stdout), done.stdout)


def pack(folder):
    """To a file and to standard output, the same; written beside and renamed, so that who reads the old file keeps it."""
    tiny, out = folder / "tiny.pet", folder / "rules.db"
    out.write_bytes(b"old")
    out.chmod(0o640)
    link = folder / "link.db"
    link.symlink_to(out.name)
    with open(out, "rb") as old:
        done = run(tiny, "-o", link, "-q")
        expect("-o", done.returncode == 0 and not done.stdout and not done.stderr, done.stderr)
        expect("the old file is replaced, not written over", old.read() == b"old")
    expect("a symbolic link is followed", link.is_symlink() and out.read_bytes().startswith(b"SQLite format 3"))
    expect("permissions are kept", out.stat().st_mode & 0o777 == 0o640, oct(out.stat().st_mode))
    written = run(tiny, "-q")
    expect("standard output", written.returncode == 0 and written.stdout == out.read_bytes() and not written.stderr)
    patterns = folder / "patterns"
    patterns.mkdir()
    (patterns / "tiny.pet").write_text(TINY)
    (patterns / "notes.txt").write_text("no pattern")
    expect("--patterns", run("--patterns", patterns, "-q").stdout == written.stdout)
    expect("--depth 1", run(tiny, "--depth", 1, "-q").stdout not in (b"", written.stdout))
    left = [p.name for p in folder.iterdir() if p.name.startswith(".")]
    expect("files left behind", not left, left)


def unchecked(folder):
    """--no-check finds the same rules, and the pack says that nobody checked them."""
    verdicts = {}
    for name, options in (("checked", []), ("unchecked", ["--no-check"])):
        out = folder / f"{name}.db"
        expect(name, run(folder / "tiny.pet", "-o", out, "-q", *options).returncode == 0)
        listed = json.loads(subprocess.run([str(BIN / "pet-rules"), "ls", "--json", str(out)], capture_output=True, check=True).stdout)
        verdicts[name] = {(r["name"], r["hash"], r["verdict"]) for r in listed}
    expect("--check is the default", {v for _, _, v in verdicts["checked"]} == {"proved, checked"}, verdicts["checked"])
    expect("--no-check is told", verdicts["unchecked"] == {(n, h, "proved, not checked") for n, h, _ in verdicts["checked"]})


def summary(folder):
    """What is said agrees with the report and with the pack."""
    tiny, out, report = folder / "tiny.pet", folder / "rules.db", folder / "report.json"
    done = run(tiny, "-o", out, "--report", report, "--explain", "tiny")
    lines = done.stderr.splitlines()
    expect("summary", lines[0].split() == ["pattern", "space", "voted", "filtered", "proved", "unknown", "kept"], lines[0])
    expect("no progress off a terminal", "\r" not in done.stderr and "%" not in done.stderr, done.stderr)
    name, *numbers = lines[1].split()
    space, voted, filtered, proved, unknown, kept = map(int, numbers)
    expect("summary: the pattern's line", name == "tiny" and space >= voted >= filtered >= proved >= kept > 0, lines[1])
    expect("summary: the sums", lines[2].split() == ["all", *numbers], lines[2])

    told = json.loads(report.read_text())
    of_tiny = told["patterns"][0]
    expect("report", (of_tiny["pattern"], of_tiny["space"], len(of_tiny["candidates"])) == ("tiny", space, space), of_tiny["pattern"])
    expect("report: verdicts", sum(of_tiny["verdicts"].values()) == space and of_tiny["verdicts"]["kept"] == kept == told["rules"])
    fates = {}
    for candidate in of_tiny["candidates"]:
        fates[candidate["verdict"]] = fates.get(candidate["verdict"], 0) + 1
    expect("report: candidates", fates == of_tiny["verdicts"], fates)
    expect("report: totals", told["space"] == space and told["verdicts"] == fates and told["stages"] == of_tiny["seconds"], told["verdicts"])
    expect("report: the run", not told["partial"] and told["options"]["depth"] == 4 and told["options"]["shard"] == "1/1"
           and told["units"]["missing"] == told["units"]["resumed"] == 0 < told["units"]["all"] <= space, told["options"])
    expect("report: versions", told["version"] and re.fullmatch("[0-9a-f]{64}", told["code"]) and told["poly"].startswith("isl"), told["poly"])

    said = dict(re.findall(r"([a-z ]+?) (\d+)(?:, |$)", lines[3].removeprefix("dropped: ")))
    dropped = {fate: str(n) for fate, n in fates.items() if fate != "kept"}
    expect("summary: what was dropped", lines[3].startswith("dropped: ") and said == dropped, lines[3])
    expect("summary: the last line", re.match(rf"{kept} rules, \d+ with boxes; [\d.]+ s \(build", lines[4]), lines[4])
    listed = subprocess.run([str(BIN / "pet-rules"), "ls", "--json", str(out)], capture_output=True, check=True)
    names = [r["name"] for r in json.loads(listed.stdout)]
    expect("the pack has what is said to be kept", sorted(names) == sorted(
        f"tiny/{p['name']}" for p in of_tiny["candidates"] if p["verdict"] == "kept"))

    explained = lines[5:]
    head = re.fullmatch(rf"tiny: {space} candidates, {kept} kept; dropped: (.*)", explained[0])
    expect("--explain", head and f"dropped: {head[1]}" == lines[3], explained[0])
    groups, group = {}, None
    for line in explained[1:]:
        if line.startswith("  tiny/"):
            groups[group].append(line)
        else:
            group, count, _ = re.fullmatch(r"([a-z ]+) (\d+): (\S.+)", line).groups()
            expect("--explain: counts", int(count) == fates.get(group), line)
            groups[group] = []
    expect("--explain: reasons", fates == {fate: len(lines) for fate, lines in groups.items()}, list(groups))
    redundant = groups.get("composition", [])
    expect("--explain: composition", redundant and all(re.fullmatch(r"  tiny/\S+: of \S+", x) for x in redundant), redundant[:3])


def folded(folder):
    """Of many patterns the summary has those with the most rules, and of those without plans some; with --verbose all."""
    many, out = folder / "many.pet", folder / "many.db"
    many.write_text("".join(TINY.replace("pattern tiny", f"pattern tiny{i:02}").replace("x: [B,", "x: [2B," if i > 14 else "x: [B,") for i in range(17))
                    + "".join(VOLUMES.replace("pattern volumes", f"pattern volumes{i}") for i in range(4)))
    for options, lines, without in [([], 15, 3), (["--verbose"], 21, 4)]:
        said = run(many, "--depth", 1, "--no-check", "-o", out, *options).stderr.splitlines()
        listed = [line for line in said if re.match(r"(tiny|volumes)\d+ +\d", line)]
        expect("folded", len(listed) == lines and (f"and {21 - lines} more (--verbose)" in said) == (lines < 21), said)
        kept = [int(line.split()[-1]) for line in listed]
        expect("folded: the most rules first", lines == 21 or kept == sorted(kept, reverse=True) and kept[0] > 0, said)
        expect("folded: no plans", sum("no plans" in line for line in said) == without and len(said) <= 24 + len(options) * 12, said)
    for path in (many, out):
        path.unlink()


VOLUMES = """pattern volumes {
  shape N C T D H W F : 1 <= N
  x: [N, C, T, D, H, W]
  w: const [F, C, 3, 3, 3, 3]
  y = Conv(x, w)
}
"""


def no_plans(folder):
    """A pattern outside the declared space is named with the reason, in the summary and in the report; others are not."""
    volumes, out, report = folder / "volumes.pet", folder / "volumes.db", folder / "volumes.json"
    volumes.write_text(VOLUMES)
    done = run(folder / "tiny.pet", volumes, "-o", out, "--report", report, "--explain", "volumes")
    named = [x for x in done.stderr.splitlines() if "no plans" in x]
    expect("no plans", done.returncode == 0 and len(named) == 2, done.stderr)  # in the summary and by --explain
    expect("no plans", all(re.match(r"volumes: no plans: .*\b4 dimensions", x) for x in named), named)
    told = {p["pattern"]: (p["space"], p["no_plans"]) for p in json.loads(report.read_text())["patterns"]}
    expect("no plans: report", "4 dimensions" in told["volumes"][1], told)
    expect("no plans: report", told["tiny"][0] > 0 and told["tiny"][1] == "", told)
    for path in (volumes, out, report):
        path.unlink()


def terminal(folder):
    tiny = folder / "tiny.pet"
    master, slave = pty.openpty()
    refuse("a terminal as standard output", USAGE, "terminal", "-o FILE", arguments=[tiny], folder=folder, stdout=slave)
    done = run(tiny, "-o", folder / "rules.db", stderr=slave)
    os.close(slave)
    shown = os.read(master, 1 << 16).decode()
    os.close(master)
    expect("progress on a terminal", done.returncode == 0 and re.search(r"\r\x1b\[Ksearching, \d+ %: \d+ of \d+ units", shown), shown)
    expect("progress vanishes", "100.0 %" not in shown.rsplit("\x1b[K", 1)[1] and "pattern" in shown.rsplit("\x1b[K", 1)[1], shown)


# ---- what is wrong

BAD_TEXTS = [
    ("an operand that is not there", "pattern p {\n  shape N\n  y = Conv(x)\n}\n", "bad.pet:3:12: 'x' is not defined"),
    ("half a pattern", TINY[: len(TINY) // 2], "bad.pet:3:8: "),
    ("another text", "import torch\n", "bad.pet:1:1: "),
    ("a pack", "SQLite format 3\0" + "\0" * 99, "bad.pet:1:1: "),
    ("an unknown operator", TINY.replace("MatMul", "Matmul"), "bad.pet:6:7: "),
    ("shapes that do not fit", TINY.replace("w: const [K, N]", "w: const [N, K]"), "bad.pet:6:"),
    ("a number that is too large", TINY.replace("1 <= B", "1 <= 99999999999999999999B"), "bad.pet:3:"),
    ("the same pattern twice", TINY + TINY, "bad.pet:9:"),
]

# Right as texts; what comes of them is proved, if anything.
ODD_PATTERNS = [
    ("a huge stride", "Conv(x, w) strides=[4611686018427387904, 1]"), ("a huge dilation", "Conv(x, w) dilations=[1152921504606846976, 1]"),
    ("a negative pad", "Conv(x, w) pads=[-1, 0, 0, 0]"), ("pads that cancel the input", "Conv(x, w) pads=[0, 0, 0, 0 - W]"),
]
ODD = "pattern odd {{\n  shape N C H W F\n  x: [N, C, H, W]\n  w: const [F, C, 3, 3]\n  y = {}\n}}\n"

BAD_OPTIONS = [
    ("--depth 0", ["--depth", "0"], "--depth"), ("a negative depth", ["--depth", "-1"], "--depth"),
    ("--depth 6", ["--depth", "6"], "1 to 5"), ("--depth x", ["--depth", "x"], "--depth"),
    ("-j 0", ["-j", "0"], "--threads"), ("-j -1", ["-j", "-1"], "--threads"), ("-j 1.5", ["-j", "1.5"], "--threads"),
    ("an unknown option", ["--fast"], "--fast"), ("-o without a file", ["-o"], "--output"),
    ("an unknown pattern to explain", ["--explain", "none"], "no pattern 'none'"),
    ("files and a folder", ["--patterns", "."], "--patterns"),
]


def bad_input(folder):
    out, bad = folder / "rules.db", folder / "bad.pet"
    for name, text, words in BAD_TEXTS:
        bad.write_text(text)
        refuse(name, TEXT, words, arguments=[bad, "-o", out], folder=folder)
    bad.write_bytes(b"\xff\xfe pattern")
    refuse("not text", TEXT, "bad.pet:1:1: ", arguments=[bad], folder=folder)
    bad.write_text("")
    refuse("an empty file", USAGE, str(bad), "no patterns", arguments=[bad], folder=folder)
    bad.write_text("pattern scaled { shape N A B\n x: [N, (A B)]\n s: const [(A B)]\n y = LayerNormalization(x, s) axis=1 }")
    refuse("a pattern that nothing takes", USAGE, "pattern scaled", "product dimension", arguments=[bad, "-o", out],
           folder=folder)
    bad.write_text(TINY.replace("1 <= B", "B <= 0"))
    done = run(bad, "-o", out)
    expect("a pattern of no shape", done.returncode == 0 and re.search(r"^tiny +\d+ .* 0$", done.stderr, re.M), done.stderr)
    out.unlink(missing_ok=True)

    refuse("no such file", TEXT, "none.pet: cannot read: No such file or directory", arguments=[folder / "none.pet"], folder=folder)
    refuse("a folder as a file", TEXT, "Is a directory", arguments=[folder], folder=folder)
    dangling = folder / "dangling.pet"
    dangling.symlink_to("nowhere")
    refuse("a link to nowhere", TEXT, "dangling.pet: cannot read: No such file", arguments=[dangling], folder=folder)
    refuse("no such folder", USAGE, "none: cannot read the patterns: No such file", arguments=["--patterns", folder / "none"], folder=folder)
    refuse("a file as a folder", USAGE, "Not a directory", arguments=["--patterns", bad], folder=folder)
    empty = folder / "empty"
    empty.mkdir()
    refuse("a folder without patterns", USAGE, f"{empty}: no patterns", arguments=["--patterns", empty], folder=folder)
    refuse("one name, two patterns", USAGE, "two patterns are named tiny", arguments=[folder / "tiny.pet", folder / "patterns" / "tiny.pet"],
           folder=folder)


def odd_patterns(folder):
    odd, out = folder / "odd.pet", folder / "odd.db"
    for name, statement in ODD_PATTERNS:
        odd.write_text(ODD.format(statement))
        done = run(odd, "-o", out)
        expect(name, done.returncode == 0, done.stderr)
        checked = subprocess.run([str(BIN / "pet-rules"), "verify", str(out)], capture_output=True, text=True, timeout=120)
        expect(f"{name}: verify", checked.returncode == 0, checked.stderr)
        out.unlink(missing_ok=True)
    odd.write_text(ODD.format("Conv(x, w) strides=[0, 0]"))
    refuse("a stride of 0", TEXT, "odd.pet:5:7: ", arguments=[odd, "-o", out], folder=folder)
    for name, statement in [("pads that overflow", "Conv(x, w) pads=[9223372036854775807, 0, 9223372036854775807, 0]"),
                            ("a dilation that overflows", "Conv(x, w) dilations=[4611686018427387904, 1]")]:
        odd.write_text(ODD.format(statement))
        refuse(name, TEXT, "odd.pet:6:1: integer overflow", arguments=[odd, "-o", out], folder=folder)
    odd.unlink()


def bad_options(folder):
    for name, arguments, words in BAD_OPTIONS:
        refuse(name, USAGE, words, arguments=[folder / "tiny.pet", *arguments], folder=folder, cwd=folder)


def bad_outputs(folder):
    """Known before the search, or after it: nothing is written, what was there stays."""
    tiny, out, report = folder / "tiny.pet", folder / "kept.db", folder / "report.json"
    out.write_bytes(b"what was there before")
    report.unlink(missing_ok=True)
    full = "No space left on device"
    with open("/dev/full", "wb") as device:
        refuse("standard output on a full disk", USAGE, "standard output: cannot write", full, arguments=[tiny, "-q"], folder=folder, stdout=device)
    refuse("-o on a full disk", USAGE, "/dev/full: cannot write", full, arguments=[tiny, "-o", "/dev/full"], folder=folder)
    refuse("--report on a full disk", USAGE, "/dev/full: cannot write", full, arguments=[tiny, "-o", out, "--report", "/dev/full"], folder=folder)
    refuse("no room for the pack", USAGE, "kept.db: cannot write: File too large (nothing was written)", arguments=[tiny, "-o", out],
           folder=folder, preexec_fn=limit_file_size)
    refuse("no room for the report", USAGE, "report.json: cannot write: File too large", arguments=[tiny, "-o", out, "--report", report],
           folder=folder, preexec_fn=limit_file_size)
    refuse("no room for the pack after the report", USAGE, "/dev/full: cannot write", arguments=[tiny, "-o", "/dev/full", "--report", report],
           folder=folder)
    refuse("a folder as output", USAGE, "Is a directory", arguments=[tiny, "-o", folder], folder=folder)
    refuse("output in no folder", USAGE, "No such file", arguments=[tiny, "-o", folder / "none" / "x.db"], folder=folder)
    refuse("report in no folder", USAGE, "No such file", arguments=[tiny, "-o", out, "--report", folder / "none" / "x"], folder=folder)
    refuse("output in a file", USAGE, "Not a directory", arguments=[tiny, "-o", tiny / "x.db"], folder=folder)
    refuse("output over the input", USAGE, "would be overwritten", arguments=[tiny, "-o", tiny], folder=folder)
    refuse("report over the input", USAGE, "would be overwritten", arguments=[tiny, "-o", out, "--report", folder / "." / "tiny.pet"], folder=folder)
    refuse("pack and report in one", USAGE, "two outputs", arguments=[tiny, "-o", folder / "x", "--report", folder / "x"], folder=folder)
    refuse("standard output is closed", USAGE, "standard output: cannot write", arguments=[tiny, "-q"], folder=folder,
           preexec_fn=lambda: os.close(1))


def streams(folder):
    """Who reads may go away; what is said may get lost. Neither is a crash."""
    tiny = folder / "tiny.pet"
    whole = run(tiny, "-q").stdout

    def into_closed_pipe(**options):
        read, write = os.pipe()
        os.close(read)
        done = run(tiny, "-q", stdout=write, **options)
        os.close(write)
        return done

    done = into_closed_pipe()
    expect("a closed pipe", done.returncode == -signal.SIGPIPE and not done.stderr, (done.returncode, done.stderr))
    done = into_closed_pipe(restore_signals=False, preexec_fn=lambda: signal.signal(signal.SIGPIPE, signal.SIG_IGN))
    expect("a closed pipe, ignored", done.returncode == USAGE and "Broken pipe" in done.stderr, (done.returncode, done.stderr))
    with open("/dev/full", "wb") as device:
        done = run(tiny, stderr=device)
        expect("standard error on a full disk", done.returncode == 0 and done.stdout == whole, done.returncode)
        done = run(folder / "none.pet", stderr=device)
        expect("an error on a full disk", done.returncode == TEXT, done.returncode)
    out = folder / "rules.db"
    done = run(tiny, "-o", out, preexec_fn=lambda: os.close(2))
    expect("standard error is closed", done.returncode == 0 and out.read_bytes() == whole, done.returncode)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "tiny.pet").write_text(TINY)
        right = [unchecked, summary, folded, no_plans, terminal]
        wrong = [bad_input, odd_patterns, bad_options, bad_outputs, streams]
        for test in [help_and_version, pack, *([] if os.environ.get("PET_SANITIZED") else right), *wrong]:
            test(folder)
    print("\n".join(failures) or "pet-synth writes whole packs or nothing, and says why")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
