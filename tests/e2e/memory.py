#!/usr/bin/env python3
"""Tools whose memory runs out (tests/memory.cc): one line, a documented exit code, and nothing written; or the bytes that there are with
enough memory. Exit status 0 or 1.

    memory.py [--tries N] [TOOL...]
"""

import argparse
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(os.environ.get("PET_SOURCE", pathlib.Path(__file__).parents[2]))
BIN = pathlib.Path(os.environ.get("PET_BIN", SOURCE / "build" / "bin"))
sys.path.insert(0, str(SOURCE / "tests" / "models"))
import build  # noqa: E402

OUTPUT = "output"
ALONE = {"dry", "export"}  # one allocation may fail: z3 and oneDNN would go through a null pointer


def commands(folder):
    """{name: words}"""
    model, pack = folder / "model.onnx", folder / "rules.db"
    build.build("srcnn", folder).rename(model)
    subprocess.run([BIN / "pet-rules", "import", SOURCE / "tests" / "data" / "conv.pet", "-o", pack], check=True)
    output = folder / OUTPUT
    return {"apply": ["pet-apply", model, "-q", "-o", output],
            "checked": ["pet-apply", model, pack, "--all", "--trust-pack", "-q", "-o", output],
            "dry": ["pet-apply", model, pack, "--all", "--dry-run", "--report", output],
            "verify": ["pet-rules", "verify", pack],
            "export": ["pet-rules", "export", pack, "-o", output],
            "synth": ["pet-synth", SOURCE / "rules" / "patterns" / "matmul.pet", "-j1", "-q", "-o", output],
            "run": ["pet-run", model, "-o", output]}


def run(words, **limits):
    environment = {"LD_PRELOAD": str(BIN / "libpet_memory.so"), "PATH": os.environ["PATH"], **{f"PET_{k.upper()}": str(v) for k, v in limits.items()}}
    return subprocess.run([BIN / words[0], *map(str, words[1:])], capture_output=True, text=True, timeout=280, env=environment)


def tried(name, peak, allocations, tries):
    """Little memory, where a tool begins, and then any."""
    numbers = random.Random(20261126)
    limits = [{"memory": n} for n in [*range(0, 32000, 64000 // tries), *(numbers.randint(1, peak) for _ in range(tries // 2))]]
    if name in ALONE:
        limits += [{"allocation": n} for n in [*range(1, 9), *(numbers.randint(1, allocations) for _ in range(tries // 2))]]
        # Where a report is written, whose destructors take memory.
        limits += [{"allocation": n} for n in range(allocations * 9945 // 10000, allocations, max(1, allocations // 8000))]
    return limits


def take(output):
    """Takes away what was written: a file's bytes, or those of a folder's files."""
    if output.is_dir():
        content = b"".join(p.read_bytes() for p in sorted(output.iterdir()))
        shutil.rmtree(output)
        return content
    content = output.read_bytes() if output.exists() else b""
    output.unlink(missing_ok=True)
    return re.sub(rb"\d+\.\d+ s", b"", content)  # of a report, how long it took


def problem(done, tool, folder, inputs, right):
    """What is wrong with a run; None: nothing."""
    content = take(folder / OUTPUT)
    left = [p.name for p in folder.iterdir() if p.name not in inputs]
    for name in left:
        (folder / name).unlink()
    if left:
        return f"left {left}"
    if done.returncode == 0:
        return None if content == right else "another result"
    if content:
        return "a failure that wrote something"
    if not 1 <= done.returncode <= 6:
        return f"exit code {done.returncode}"
    ours = [line for line in done.stderr.splitlines() if line.startswith(f"{tool}: ")]  # GMP says something of its own
    return None if len(ours) == 1 else "not one line"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tries", type=int, default=20)
    parser.add_argument("names", nargs="*")
    asked = parser.parse_args()
    failures, said = [], []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for name, words in commands(folder).items():
            if asked.names and name not in asked.names:
                continue
            inputs = {p.name for p in folder.iterdir()}
            with tempfile.NamedTemporaryFile() as used:
                done = run(words, used=used.name)
                peak, allocations = map(int, used.read().split())
            right = take(folder / OUTPUT)
            if done.returncode or allocations < 1000:
                failures.append(f"{name}: exit code {done.returncode}, {allocations} allocations: {done.stderr}")
                continue
            ended = 0
            for limits in tried(name, peak, allocations, asked.tries):
                done = run(words, **limits)
                ended += done.returncode != 0
                wrong = problem(done, words[0], folder, inputs, right)
                if wrong:
                    failures.append(f"{name} with {limits} of {peak}, {allocations}: {wrong}: {done.returncode} {done.stderr[-300:]!r}")
            if not ended:
                failures.append(f"{name}: memory never ran out")
            said.append(f"{name}: {peak} bytes, {allocations} allocations")
    print("\n".join(failures or said))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
