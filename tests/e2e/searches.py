#!/usr/bin/env python3
"""pet-searches on its quick cases: what is published is found, or missing as known, and the exit code says so. Exit status 0
or 1.
"""

import subprocess
import sys
import tempfile

from pack import BIN, PATTERNS

failures = []


def searches(*arguments):
    return subprocess.run([str(BIN / "pet-searches"), *map(str, arguments)], capture_output=True, text=True, timeout=280)


def expect(name, done, code, *texts):
    missing = [text for text in texts if text not in done.stdout + done.stderr]
    if done.returncode != code or missing:
        failures.append(f"{name}: exit code {done.returncode}, without {missing}: {done.stdout}{done.stderr}")


def main():
    expect("found", searches(PATTERNS, "conv 1x1 to MatMul"), 0, "EinNet ms                    matmul")
    expect("found, missing as known", searches(PATTERNS, "192 and 160"), 0, "none, as known: no move adds filters", "split(conv(concat))")
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
