#!/usr/bin/env python3
"""pet-synth at scale: one hash for any number of threads, for shards merged, killed and resumed, under mpirun; what is said
where that is not possible. Exit status 0 or 1.
"""

import hashlib
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(os.environ.get("PET_SOURCE", pathlib.Path(__file__).parents[2]))
BIN = pathlib.Path(os.environ.get("PET_BIN", SOURCE / "build" / "bin"))
PATTERNS = SOURCE / "rules" / "patterns"
QUICK = [PATTERNS / "matmul.pet", PATTERNS / "conv-1x1.pet"]  # a fraction of a second
LONGER = PATTERNS / "conv-1x1-s2.pet"  # a second: there is time to kill it
USAGE, BAD_PACK, CHECK_FAILED = 2, 4, 5
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe"]

failures = []


def expect(name, condition, detail=""):
    if not condition:
        failures.append(f"{name}: {detail}" if detail else name)


def run(tool, *arguments, before=(), **options):
    options = {"capture_output": True, "text": True, "timeout": 120, **options}
    return subprocess.run([*before, str(BIN / tool), *map(str, arguments)], **options)


def synth(*arguments, **options):
    return run("pet-synth", *arguments, **options)


def right(name, *arguments, **options):
    """A run that says nothing and ends well."""
    done = synth(*arguments, "-q", **options)
    expect(name, done.returncode == 0 and not done.stderr, f"exit code {done.returncode}: {done.stderr[-500:]}")


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else f"no {path.name}"


def refuse(name, code, words, tool, *arguments, **options):
    """One line on standard error that holds the words, the exit code, no pack."""
    done = run(tool, *arguments, **options)
    expect(name, done.returncode == code, f"exit code {done.returncode} instead of {code}: {done.stderr}")
    lines = done.stderr.splitlines()
    expect(name, len(lines) == 1 and lines[0].startswith(f"{tool}: ") and words in lines[0], f"no '{words}': {done.stderr!r}")


class Folder:
    """Files of one test, and the pack that every way must give."""

    def __init__(self, path, patterns):
        self.path, self.patterns = path, patterns
        path.mkdir()
        right("-j1", *patterns, "-j1", "-o", path / "one.db")
        self.hash = digest(path / "one.db")

    def __truediv__(self, name):
        return self.path / name

    def same(self, name, pack):
        expect(name, digest(self / pack) == self.hash, f"{pack} is not what -j1 gives")
        left = [p.name for p in self.path.iterdir() if p.name.startswith(".")]
        expect(name, not left, f"left behind: {left}")


# ---- the same bytes

def threads(f):
    for n in (2, 5):
        right(f"-j{n}", *f.patterns, f"-j{n}", "-o", f / "j.db")
        f.same(f"-j{n}", "j.db")


def shards(f):
    parts = [f / f"part{i}.pets" for i in range(1, 5)]
    for i, part in enumerate(parts, 1):
        right(f"--shard {i}/4", *reversed(f.patterns), "--shard", f"{i}/4", "-o", part, "-j", 1 + i % 2)
    merged = run("pet-rules", "merge", "-o", f / "merged.db", *reversed(parts))
    expect("merge", merged.returncode == 0 and not merged.stderr, merged.stderr)
    f.same("4 shards", "merged.db")
    again = synth(*f.patterns, "--shard", "1/4", "-q", stdout=subprocess.PIPE, stderr=subprocess.PIPE, capture_output=False)
    expect("a part's bytes", again.stdout.encode() == parts[0].read_bytes())

    other = f / "other.pets"
    right("a part of another depth", *f.patterns, "--depth", 3, "--shard", "2/4", "-o", other)
    text = parts[1].read_text()
    cut, bad = f / "cut.pets", f / "bad.pets"
    cut.write_text(text[: len(text) // 2])
    bad.write_text(text.replace("convtranspose", "convtransposf", 1))
    outcomes = f / "checkpoint"
    right("a checkpoint", *f.patterns, "--shard", "2/4", "--checkpoint", outcomes, "-o", f / "unused")
    kept = digest(f / "merged.db")
    for name, code, words, files in [
            ("a part is missing", USAGE, "1 of 4 parts are missing: 2/4", [parts[0], parts[2], parts[3]]),
            ("a part comes twice", USAGE, "part 2/4 comes twice, also as", [*parts, parts[1]]),
            ("a part of another search", USAGE, "other.pets: of another search than", [parts[0], other, *parts[2:]]),
            ("a part that was cut off", USAGE, "cut.pets: a checkpoint, or a part that was cut off", [parts[0], cut, *parts[2:]]),
            ("a checkpoint as a part", USAGE, "checkpoint: a checkpoint, or", [parts[0], outcomes, *parts[2:]]),
            ("a damaged part", BAD_PACK, "bad.pets: damaged at line", [parts[0], bad, *parts[2:]]),
            ("a pack among parts", USAGE, "one.db: not a part of a search", [*parts, f / "one.db"]),
            ("no such part", BAD_PACK, "none: cannot read", [*parts[:3], f / "none"])]:
        refuse(name, code, words, "pet-rules", "merge", "-o", f / "merged.db", *files)
    expect("refused merges change nothing", digest(f / "merged.db") == kept)
    refuse("a part is no pack", BAD_PACK, "not a pack", "pet-rules", "ls", parts[0])


def killed(f):
    """SIGKILL at random moments, as often as it takes; no unit is run twice, and none is lost."""
    checkpoint, pack = f / "killed", f / "killed.db"
    begin = time.monotonic()
    right("with a checkpoint", *f.patterns, "-j2", "-o", f / "whole.db", "--checkpoint", f / "whole")
    took = time.monotonic() - begin
    f.same("with a checkpoint", "whole.db")
    units = len((f / "whole").read_text().splitlines()) - 2
    moments = random.Random(20261121)
    kills, lines = 0, []
    for _ in range(25):
        process = subprocess.Popen([str(BIN / "pet-synth"), *map(str, f.patterns), "-q", "-j2", "-o", str(pack), "--checkpoint", str(checkpoint), "--resume"])
        try:
            process.wait(moments.uniform(0.02, 0.2 * took))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            kills += 1
            expect("a killed run leaves no pack", not pack.exists())
        now = checkpoint.read_text().splitlines()[2:] if checkpoint.exists() else []
        whole = [x for x in now if x.endswith("}")]
        expect("what was done stays", [x for x in lines if x not in set(now)] == [], "outcomes are gone")
        lines = whole
        if process.returncode == 0:
            break
    else:
        right("the last run", *f.patterns, "-o", pack, "--checkpoint", checkpoint, "--resume")
    expect("killed", kills >= 2, f"only {kills} times in {took:.1f} s")
    f.same("killed and resumed", "killed.db")
    numbers = [json.loads(x.split(" ", 1)[1])["unit"] for x in checkpoint.read_text().splitlines()[2:]]
    expect("every unit once", sorted(numbers) == list(range(units)), f"{len(numbers)} lines, {units} units")

    pack.unlink()
    told = f / "told.json"
    done = synth(*f.patterns, "-o", pack, "--checkpoint", checkpoint, "--resume", "--report", told)
    expect("resumed when all is done", f"{units} of {units} units were in {checkpoint}" in done.stderr, done.stderr[-200:])
    f.same("resumed when all is done", "killed.db")
    expect("report: resumed", json.loads(told.read_text())["units"] == {"all": units, "missing": 0, "resumed": units})
    return checkpoint


def ranks(f):
    if not shutil.which("mpirun") or not (BIN / "pet-synth-mpi").exists():
        print("without Open MPI: mpirun is not tested")
        return
    right("mpirun -n 3", *f.patterns, "-o", f / "ranks.db", before=[*MPIRUN, "-n", "3"])
    f.same("mpirun -n 3", "ranks.db")
    right("mpirun -n 1", *f.patterns, "-o", f / "ranks1.db", before=[*MPIRUN, "-n", "1"])
    f.same("mpirun -n 1", "ranks1.db")
    linked = subprocess.run(["ldd", str(BIN / "pet-synth")], capture_output=True, text=True).stdout
    expect("pet-synth does not need MPI", "libmpi" not in linked)
    done = synth(*f.patterns, "--depth", 9, before=[*MPIRUN, "-n", "3"])
    said = [x for x in done.stderr.splitlines() if x.startswith("pet-synth")]
    expect("a usage error is said once", done.returncode == USAGE and len(said) == 1 and "--depth" in said[0], done.stderr)
    done = synth("none.pet", "-o", f / "x.db", before=[*MPIRUN, "-n", "3"])
    said = [x for x in done.stderr.splitlines() if x.startswith("pet-synth")]
    expect("an error is said once", done.returncode == BAD_PACK and len(said) == 1 and "cannot read" in said[0], done.stderr)
    done = synth(*f.patterns, "-o", f / "x.db", "--checkpoint", f / "one.db", "--resume", before=[*MPIRUN, "-n", "3"])
    said = [x for x in done.stderr.splitlines() if x.startswith("pet-synth")]
    expect("rank 0 ends before any unit", done.returncode == BAD_PACK and len(said) == 1 and "neither a checkpoint" in said[0], done.stderr)
    done = synth(PATTERNS / "conv-s2.pet", "-q", "-o", f / "x.db", "--budget", "1s", before=[*MPIRUN, "-n", "2"])
    expect("a budget under mpirun", done.returncode == 0 and re.fullmatch(r"partial: \d+ of \d+ units .*\n", done.stderr), done.stderr)
    one_rank_dies(f)


def children(pid):
    """All processes below one."""
    found = []
    for task in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        for child in task.read_text().split():
            found += [int(child), *children(int(child))]
    return found


def environment(pid):
    try:
        pairs = pathlib.Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return {}
    return dict(p.split("=", 1) for p in pairs if "=" in p)


def one_rank_dies(f):
    """It ends the run with one message, ours if there is time for it; what was done is kept, and goes on without MPI."""
    checkpoint, pack = f / "ranks", f / "died.db"
    command = [*MPIRUN, "-n", "3", str(BIN / "pet-synth"), *map(str, f.patterns), "-q", "-o", str(pack), "--checkpoint", str(checkpoint)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    for _ in range(2000):
        if checkpoint.exists() and len(checkpoint.read_bytes().splitlines()) > 50:
            break
        time.sleep(0.005)
    victims = [p for p in children(process.pid) if environment(p).get("OMPI_COMM_WORLD_RANK") == "2"]
    expect("a rank to kill", len(victims) == 1, victims)
    for victim in victims:
        os.kill(victim, signal.SIGKILL)
    _, said = process.communicate(timeout=60)
    ours = [x for x in said.splitlines() if x.startswith("pet-synth")]
    told = len(ours) == 1 and "a rank has died" in ours[0] and "--resume" in ours[0]
    ended = not ours and "exited on signal 9" in said  # mpirun has ended the others before they saw it
    expect("a rank dies", process.returncode != 0 and (told or ended), said)
    expect("a rank dies: no pack", not pack.exists())
    right("after a rank has died", *f.patterns, "-o", pack, "--checkpoint", checkpoint, "--resume")
    f.same("after a rank has died", "died.db")


# ---- what ends a run before its time

def budget(f):
    """Partial, and said so; the rest comes with the checkpoint."""
    slow, pack, checkpoint, report = PATTERNS / "conv-s2.pet", f / "partial.db", f / "budget", f / "budget.json"
    done = synth(slow, "-j1", "-o", pack, "--budget", "1s", "--checkpoint", checkpoint, "--report", report)
    last = done.stderr.splitlines()[-1] if done.stderr else ""
    match = re.fullmatch(r"partial: (\d+) of (\d+) units are missing, the budget is spent", last)
    expect("--budget", done.returncode == 0 and match, done.stderr[-300:])
    if not match:
        return
    missing, units = map(int, match.groups())
    told = json.loads(report.read_text())
    expect("--budget: report", told["partial"] and told["units"] == {"all": units, "missing": missing, "resumed": 0}, told["units"])
    noted = subprocess.run(["sqlite3", pack, "SELECT value FROM metadata WHERE key = 'partial'"], capture_output=True, text=True) if shutil.which("sqlite3") else None
    expect("--budget: metadata", not noted or noted.stdout == f"{missing} of {units} units are missing\n", noted)
    expect("--budget: metadata", f"{missing} of {units} units are missing".encode() in pack.read_bytes())
    verified = run("pet-rules", "verify", pack)
    expect("--budget: the rules are rules", verified.returncode == 0, verified.stderr)
    expect("--budget: the checkpoint", len(checkpoint.read_text().splitlines()) == 2 + units - missing)
    done = synth(*f.patterns, "-o", f / "all.db", "--budget", "1h", "-q")
    expect("a budget that suffices", done.returncode == 0 and not done.stderr, done.stderr)
    f.same("a budget that suffices", "all.db")


def memory(f):
    """One line and exit code 1, wherever memory ends (tests/memory.cc); then on from the checkpoint."""
    out = 0
    checkpoint, pack = f / "memory", f / "memory.db"
    for limit in range(100_000, 40_000_000, 1_300_000):
        environment = {**os.environ, "LD_PRELOAD": str(BIN / "libpet_memory.so"), "PET_MEMORY": str(limit)}
        done = synth(*f.patterns, "-j1", "-q", "-o", pack, "--checkpoint", checkpoint, "--resume", env=environment)
        if done.returncode == 0:
            break
        lines = [x for x in done.stderr.splitlines() if x.startswith("pet-synth: ")]
        expect("no memory", done.returncode == 1 and len(lines) == 1 and "memory" in lines[0], (done.returncode, done.stderr))
        expect("no memory: no pack", not pack.exists())
        out += done.returncode == 1
    expect("no memory", out > 5, f"it was too little {out} times only")
    right("no memory, and then enough", *f.patterns, "-o", pack, "--checkpoint", checkpoint, "--resume")
    f.same("no memory, and then enough", "memory.db")


def wrong(f, checkpoint):
    out = f / "wrong.db"
    for name, arguments, words in [
            ("no such part", ["--shard", "5/4"], "no such part"), ("parts begin with 1", ["--shard", "0/4"], "counted from 1"),
            ("no part", ["--shard", "half"], "not of the form I/N"), ("too many parts", ["--shard", "1/100001"], "1 to 100000 parts"),
            ("no budget", ["--budget", "0s"], "out of range"), ("a negative budget", ["--budget", "-1m"], "--budget"),
            ("a huge budget", ["--budget", "10001h"], "out of range"), ("a budget beyond numbers", ["--budget", "99999999999999999999h"], "out of range"),
            ("a budget without a unit", ["--budget", "10"], "90s, 10m or 2h"), ("a budget of another unit", ["--budget", "10d"], "90s, 10m or 2h"),
            ("a part of a unit", ["--budget", "1.5h"], "90s, 10m or 2h"), ("--resume without a checkpoint", ["--resume"], "--checkpoint"),
            ("a checkpoint that is there", ["--checkpoint", checkpoint], "exists already (--resume goes on"),
            ("a checkpoint of another search", ["--depth", 3, "--checkpoint", checkpoint, "--resume"], "of another search: depth 4, not 3"),
            ("a checkpoint of another part", ["--shard", "1/2", "--checkpoint", checkpoint, "--resume"], "of another search: part 1/1, not 1/2"),
            ("a checkpoint in no folder", ["--checkpoint", f / "none" / "x"], "No such file"),
            ("a folder as checkpoint", ["--checkpoint", f.path], "Is a directory"),
            ("the checkpoint is the pack", ["--checkpoint", out], "two outputs")]:
        before = digest(checkpoint)
        refuse(name, USAGE, words, "pet-synth", *f.patterns, "-o", out, *arguments)
        expect(name, not out.exists() and digest(checkpoint) == before, "something was written")
    damaged = f / "damaged"
    lines = checkpoint.read_text().splitlines(keepends=True)
    lines[5] = lines[5].replace("unit", "uniT", 1)
    damaged.write_text("".join(lines))
    refuse("a damaged checkpoint", BAD_PACK, "damaged at line 6", "pet-synth", *f.patterns, "-o", out, "--checkpoint", damaged, "--resume")
    refuse("no checkpoint", BAD_PACK, "neither a checkpoint nor a part", "pet-synth", *f.patterns, "-o", out, "--checkpoint", f / "one.db", "--resume")
    newer = f / "newer"
    newer.write_text("pet outcomes 3\n")
    refuse("a newer checkpoint", BAD_PACK, "a format that this version does not know", "pet-synth", *f.patterns, "-o", out, "--checkpoint", newer, "--resume")


# ---- packs

def packs(f):
    """Rules of several packs; what is different."""
    for name, pattern in (("a", "matmul"), ("b", "conv-1x1")):
        right(name, PATTERNS / f"{pattern}.pet", "-o", f / f"{name}.db")
    merged = run("pet-rules", "merge", f / "b.db", f / "a.db", f / "a.db", "-o", f / "ab.db")
    expect("merge packs", merged.returncode == 0 and not merged.stderr, merged.stderr)
    same = run("pet-rules", "diff", f / "ab.db", f / "one.db")
    expect("diff of equal packs", same.returncode == 0 and not same.stdout, same.stdout)
    expect("merged packs", digest(f / "ab.db") == f.hash)
    other = run("pet-rules", "diff", f / "a.db", f / "one.db")
    lines = other.stdout.splitlines()
    expect("diff", other.returncode == CHECK_FAILED and lines[0] == "+ pattern conv-1x1" and "+ rule conv-1x1/h.keep_conv" in lines, other.stdout)
    changed = f / "changed.pet"
    changed.write_text((PATTERNS / "matmul.pet").read_text().replace("1 <= B", "2 <= B"))
    right("another pattern of that name", changed, "-o", f / "c.db")
    refuse("names that do not agree", USAGE, "c.db: pattern matmul is not the one of", "pet-rules", "merge", f / "a.db", f / "c.db", "-o", f / "x.db")


def main():
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        quick, longer = (Folder(pathlib.Path(name) / n, p) for n, p in (("quick", QUICK), ("longer", [LONGER])))
        for test in (threads, shards, packs, budget, memory):
            test(quick)
        wrong(longer, killed(longer))
        ranks(longer)
    print("\n".join(failures) or f"one hash for threads, shards, kills, ranks; {time.monotonic() - begin:.0f} s")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
