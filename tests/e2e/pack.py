#!/usr/bin/env python3
"""The pack of all canonical patterns, made by pet-synth for the tests that need one. Exit status 0 or 1.

It lies in testdata/rules.db beside the folder of the tools, and is made again where pet-synth or a pattern is newer. A
pack that PET_PACK names is taken as it is.
"""

import os
import pathlib
import subprocess
import sys
import time

SOURCE = pathlib.Path(os.environ.get("PET_SOURCE", pathlib.Path(__file__).parents[2]))
BIN = pathlib.Path(os.environ.get("PET_BIN", SOURCE / "build" / "bin"))
PATTERNS = SOURCE / "rules" / "patterns"
PACK = pathlib.Path(os.environ.get("PET_PACK", BIN.parent / "testdata" / "rules.db"))


def tool(name, *arguments, timeout=1180):
    return subprocess.run([str(BIN / name), *map(str, arguments)], capture_output=True, text=True, timeout=timeout)


def made():
    """The pack's path; exits where the pack is missing."""
    if not PACK.is_file():
        sys.exit(f"{PACK}: no pack; make it with tests/e2e/pack.py")
    return PACK


def up_to_date():
    if "PET_PACK" in os.environ:
        return True
    sources = [BIN / "pet-synth", *PATTERNS.glob("*.pet")]
    return PACK.is_file() and all(s.stat().st_mtime < PACK.stat().st_mtime for s in sources)


def synthesise():
    PACK.parent.mkdir(parents=True, exist_ok=True)
    done = tool("pet-synth", "--depth", 4, "-j", 2, "-o", PACK)  # pack_repeat.py makes it with one thread
    print(done.stderr, end="")
    return done.returncode


def main():
    if up_to_date():
        print(f"{PACK} is up to date")
        return 0
    begin = time.monotonic()
    code = synthesise()
    print(f"pet-synth: exit code {code}" if code else f"{time.monotonic() - begin:.0f} s, {PACK.stat().st_size} bytes")
    return 1 if code else 0


if __name__ == "__main__":
    sys.exit(main())
