#!/usr/bin/env python3
"""pet-rules covers with all rules of the pack: TASO's rules are looked through with little memory. Exit status 0 or 1."""

import pathlib
import re
import resource
import subprocess
import sys
import tempfile

from _taso_facts import bytes_of
from pack import BIN, SOURCE, made

LIMIT = 1 << 30  # of address space, and so of memory: 600 rules once took 7.2 GB


def limited():
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))


def main():
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "rules.pb"
        file.write_bytes(bytes_of((SOURCE / "tests" / "data" / "taso.txt").read_text()))
        done = subprocess.run([str(BIN / "pet-rules"), "covers", str(made()), "--taso", str(file)], capture_output=True, text=True, timeout=550,
                              preexec_fn=limited)
    used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10
    lines = re.findall(r"^(covered|MISSING|false) ", done.stdout, re.M)
    if done.returncode not in (0, 5) or len(lines) != 133:
        print(f"exit code {done.returncode}, {len(lines)} of 133 rules: {done.stderr}")
        return 1
    print(f"133 rules, {lines.count('covered')} covered, {used} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
