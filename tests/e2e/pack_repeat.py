#!/usr/bin/env python3
"""pet-synth gives the same bytes for any number of threads and any order of files, to a file and to standard output.

Of all patterns, against the pack that pack.py made: the whole takes one of the parts of the long tests; the others do it with a
part of the patterns that do not take long. Exit status 0 or 1.
"""

import pathlib
import subprocess
import sys
import tempfile

import _part as part
from pack import BIN, PATTERNS, made

LONG = ["conv", "conv-d2", "conv-grouped", "convtranspose", "convtranspose-s2", "pad-conv"]  # 20 to 70 s each by one thread


def synthesise(*arguments):
    done = subprocess.run([str(BIN / "pet-synth"), "--depth", "4", "-q", *map(str, arguments)], capture_output=True, timeout=590)
    if done.returncode or done.stderr:
        sys.exit(f"pet-synth {' '.join(map(str, arguments))}: exit code {done.returncode}: {done.stderr.decode()}")
    return done.stdout


def main():
    whole = part.of("pack_repeat", part.WHOLE) == part.numbers()[0]
    files = sorted(PATTERNS.glob("*.pet"), reverse=True) if whole else part.mine(p for p in PATTERNS.glob("*.pet") if p.stem not in LONG)
    with tempfile.TemporaryDirectory() as folder:
        pack = pathlib.Path(folder) / "rules.db"
        said = synthesise("-j1", "-o", pack, *files)
        written = made().read_bytes() if whole else synthesise("-j2", *reversed(files))
        left = [p.name for p in pathlib.Path(folder).iterdir() if p != pack]
        wrong = [what for what, bad in [
            ("with -o, something is on standard output", said), ("-j2 gives other bytes than -j1", written != pack.read_bytes()),
            ("the pack is empty", len(written) < 8192), (f"left behind: {left}", left)] if bad]
    print("\n".join(wrong) or f"{len(files)} patterns{', all' * whole}: the same {len(written)} bytes for -j1 -o FILE and for -j2")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
