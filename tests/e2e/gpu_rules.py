#!/usr/bin/env python3
"""The pack's rules that the default pack does not have, on the GPU's engine, as the unit tests have the others: both sides of each are what
the reference computes, on this processor, and libraries and NVRTC take what is planned for a GPU that is not there. Long: one part of the
rules for each commit. Exit status 0 or 1.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

import _part as part

BIN = pathlib.Path(os.environ["PET_BIN"])
SOURCE = pathlib.Path(os.environ["PET_SOURCE"])
PACK = BIN.parent / "testdata" / "rules.db"
TESTS = "CudaRules.BothSidesAreTheReference:CudaPlans.AreBuiltForBothSidesOfAllRules"


def blocks(text):
    """{name: text} of the patterns, and of the rules, as texts of rules have them."""
    found = {"pattern": {}, "rule": {}}
    for match in re.finditer(r"^(pattern|rule) (\S+).*?^}\n", text, re.DOTALL | re.MULTILINE):
        found[match[1]][match[2]] = match[0]
    return found["pattern"], found["rule"]


def main():
    exported = subprocess.run([BIN / "pet-rules", "export", PACK], capture_output=True, text=True, check=True).stdout
    patterns, rules = blocks(exported)
    _, gained = blocks((SOURCE / "packs" / "default.pet").read_text())
    others = part.mine(set(rules) - set(gained))
    if not others or not set(gained) <= set(rules):
        print(f"{len(rules)} rules in {PACK}, {len(gained)} in the default pack, {len(others)} others: no such pack")
        return 1
    of = {re.match(r"rule \S+ of (\S+) ", rules[name])[1] for name in others}
    with tempfile.TemporaryDirectory() as folder:
        text = pathlib.Path(folder) / "others.pet"
        text.write_text("\n".join([patterns[name] for name in sorted(of)] + [rules[name] for name in others]))
        done = subprocess.run([BIN / "pet-unit-tests", f"--gtest_filter={TESTS}", "--gtest_brief=1"], env=os.environ | {"PET_RULES": str(text)},
                              capture_output=True, text=True)
    print(f"{len(others)} of {len(rules)} rules: exit status {done.returncode}")
    if done.returncode:
        print(done.stdout[-6000:], done.stderr[-2000:])
    return 1 if done.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
