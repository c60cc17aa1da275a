"""Long tests in parts: with PET_TEST_PART=K/N a test does the K-th of N parts of what it has to do, else all of it.

The parts are disjoint, and together they are the whole. `make -f Makefile.ci test` runs the part that the commit's hash
names, `test-all` the whole.
"""

import os
import re
import sys

SKIPPED = 77
#: Tests that are long as a whole; pack_repeat does something shorter in the other parts.
WHOLE = ["applier_alone", "old_processor", "pack_repeat", "wheel_source"]


def given():
    return bool(os.environ.get("PET_TEST_PART"))


def numbers():
    """(index, count)"""
    text = os.environ.get("PET_TEST_PART") or "1/1"
    match = re.fullmatch(r"(\d+)/(\d+)", text)
    if not match or not 1 <= int(match[1]) <= int(match[2]):
        sys.exit(f"PET_TEST_PART={text}: not K/N with 1 <= K <= N")
    return int(match[1]) - 1, int(match[2])


def mine(items):
    """Those of the items, in their order, that are in this part."""
    index, count = numbers()
    return [item for i, item in enumerate(sorted(items)) if i % count == index]


def one(items):
    """One of the items, by the commit's hash (PET_TEST_COMMIT) where that is given, else by the part."""
    items = sorted(items)
    commit = os.environ.get("PET_TEST_COMMIT")
    return items[(int(commit, 16) if commit else numbers()[0]) % len(items)]


def of(name, names):
    """The part that `name`, one of the names of long tests, is of."""
    index, count = numbers()
    return names.index(name) % count if name in names else index


def skip_unless_mine(name, names):
    """Ends the test where `name`, one of the names of long tests, is of another part."""
    index, count = numbers()
    if of(name, names) != index:
        print(f"{name} is of part {of(name, names) + 1} of {count}")
        sys.exit(SKIPPED)
