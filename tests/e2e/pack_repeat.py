#!/usr/bin/env python3
"""pet-synth gives the same bytes twice, for any number of threads, to a file and to standard output. Exit status 0 or 1.

On the patterns that are quick; the bytes do not depend on how the files are named on the command line.
"""

import pathlib
import subprocess
import sys
import tempfile

from pack import BIN, PATTERNS

QUICK = ["conv-1x1-s2", "conv-d2", "convtranspose-s2", "matmul"]


def synthesise(*arguments):
    done = subprocess.run([str(BIN / "pet-synth"), "--depth", "4", "-q", *map(str, arguments)], capture_output=True, timeout=290)
    if done.returncode or done.stderr:
        sys.exit(f"pet-synth {' '.join(map(str, arguments))}: exit code {done.returncode}: {done.stderr.decode()}")
    return done.stdout


def main():
    files = [PATTERNS / f"{name}.pet" for name in QUICK]
    with tempfile.TemporaryDirectory() as folder:
        pack = pathlib.Path(folder) / "rules.db"
        said = synthesise("-j1", "-o", pack, *files)
        written = synthesise("-j2", *reversed(files))
        left = [p.name for p in pathlib.Path(folder).iterdir() if p != pack]
        wrong = [what for what, bad in [
            ("with -o, something is on standard output", said), ("-j2 gives other bytes than -j1", written != pack.read_bytes()),
            ("the pack is empty", len(written) < 8192), (f"left behind: {left}", left)] if bad]
    print("\n".join(wrong) or f"{len(QUICK)} patterns: the same {len(written)} bytes for -j1 -o FILE and for -j2 to standard output")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
