#!/usr/bin/env python3
"""No long unit test falls between release and the sanitizers: the preset release builds the file of each suite that
tests/CMakeLists.txt calls long or leaves to release alone, and Makefile.ci knows as many parts of them as there are tests unit.long.N.
Exit status 0 or 1.
"""

import fnmatch
import json
import os
import pathlib
import re
import sys

SOURCE = pathlib.Path(os.environ.get("PET_SOURCE", pathlib.Path(__file__).parents[2]))


def read(path):
    return (SOURCE / path).read_text()


def found(pattern, text, what):
    match = re.search(pattern, text, re.MULTILINE)
    assert match, f"no {what}"
    return match[1]


cmake = read("tests/CMakeLists.txt")
suites = found(r"^set\(PET_LONG_SUITES\s+([^)]*)\)", cmake, "PET_LONG_SUITES").replace(";", " ").split()
presets = json.loads(read("CMakePresets.json"))["configurePresets"]
globs = next(p for p in presets if p["name"] == "release")["cacheVariables"]["PET_UNIT_TESTS"].split(";")

holders = {}  # suite -> files that define it
for file in sorted((SOURCE / "tests" / "unit").glob("*.cc")):
    for suite in re.findall(r"^(?:TEST|TEST_P|TEST_F|TYPED_TEST|RC_GTEST_PROP)\((\w+),", file.read_text(), re.MULTILINE):
        holders.setdefault(suite, set()).add(file.stem)

wrong = []
# Those that the sanitizers leave out altogether, and those that they have in test-all alone: filters of suites and of single tests.
apart = [found(rf'^ *set\({name} "([^"]*)"\)', cmake, what) for name, what in [("elsewhere", "tests that run in release only"), ("slow", "tests that are slow here")]]
for suite in suites + [name.split(".")[0] for names in apart for name in names.split(":")]:
    files = holders.get(suite.split("/")[-1], set())
    if not files:
        wrong.append(f"{suite}: no such suite in tests/unit")
    for file in sorted(files):
        if not any(fnmatch.fnmatch(file, glob) for glob in globs):
            wrong.append(f"{suite}: the preset release does not build tests/unit/{file}.cc")
parts = found(r"^unit_parts := (\d+)$", read("Makefile.ci"), "unit_parts in Makefile.ci")
tests = found(r"add_unit_shards\(unit\.long (\d+) ", cmake, "unit.long in tests/CMakeLists.txt")
if parts != tests:
    wrong.append(f"Makefile.ci runs one of {parts} parts of the long unit tests; there are {tests}")
print("\n".join(wrong) or f"{len(suites)} long suites, {parts} parts")
sys.exit(bool(wrong))
