#!/usr/bin/env python3
"""pet-searches on its quick cases: what is published is found, or missing as known, and the exit code says so. Exit status 0
or 1.
"""

import re
import subprocess
import sys
import tempfile

from pack import BIN, PATTERNS

WANTED = {"conv 1x1 to MatMul": "EinNet ms                    matmul", "transposed conv 4x4 s2 to MatMul + Col2Im": "col2im(matmul(x))"}
SOON = {"conv 1x1 to MatMul": 10, "transposed conv 4x4 s2 to MatMul + Col2Im": 10}  # in so many units
failures = []


def searches(*arguments):
    return subprocess.run([str(BIN / "pet-searches"), *map(str, arguments)], capture_output=True, text=True, timeout=280)


def expect(name, done, code, *texts):
    missing = [text for text in texts if text not in done.stdout + done.stderr]
    if done.returncode != code or missing:
        failures.append(f"{name}: exit code {done.returncode}, without {missing}: {done.stdout}{done.stderr}")


def main():
    for case, most in SOON.items():
        done = searches(PATTERNS, case)
        expect(case, done, 0, WANTED[case])
        found = re.search(rf"^{re.escape(case)} +[\d.]+ +[\d.]+ +(\d+) ", done.stdout, re.M)
        if not found or int(found[1]) > most:
            failures.append(f"{case}: found after {found and found[1]} units, not {most}")
    expect("zeros for the smaller group", searches(PATTERNS, "192 and 160"), 0, "slices(conv-g2(concat))", "split(conv(concat))")
    expect("missing as known", searches(PATTERNS, "5x5 on 4 x 4 tiles, corrected"), 0, "none, as known: H is 38, not 4H4")
    expect("missing as known", searches(PATTERNS, "the same of 40 x 40"), 0, "none, as known: right at 49% of the positions")
    expect("no such case", searches(PATTERNS, "conv 2x2"), 2, 'no case has "conv 2x2"')
    with tempfile.TemporaryDirectory() as folder:
        expect("no such folder", searches(folder, "conv 1x1"), 4, "conv-1x1.pet")
        # The published case is asked of another pattern: not found.
        with open(f"{folder}/conv-1x1.pet", "w") as file:
            file.write("pattern p { shape N C\n x: [N, C]\n y = Relu(x) }")
        expect("not found", searches(folder, "conv 1x1"), 1, "not found")
    print("\n".join(failures) or "found, missing as known, not found: each with its exit code")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
