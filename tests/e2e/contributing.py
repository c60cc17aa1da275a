#!/usr/bin/env python3
"""docs/contributing.md, "An operator": the table names every file that has a line per operator, and each file has them.

Exit status 0 or 1.
"""

import os
import pathlib
import re
import sys

SOURCE = pathlib.Path(os.environ["PET_SOURCE"])
CODE = ["ir", "rules", "synth", "applier", "runtime", "tools"]
PROBE = "Erf"
PROBE_SOURCES = {"ir/ops/function.cc", "ir/ops/functions.h", "rules/check/meaning/function.cc"}
# What else may speak of it: Gelu is defined by it and is it in pieces, engines compute it, and it is one of ONNX's operators,
# all of which have a row about their extents.
PROBE_ELSEWHERE = {"ir/ops/definition.cc", "rules/check/meaning/definitions.cc", "rules/rewrite/idioms.cc",
                   "runtime/onednn/lower_elements.cc", "runtime/onednn/element_program.cc", "runtime/cuda/lower_points.cc",
                   "applier/infer/elementwise.cc"}


def text(paths):
    return "\n".join(p.read_text() for p in paths)


def mentions(name, code):
    return re.search(rf"\b{name}\b", code) is not None


def main():
    failures = []
    section = (SOURCE / "docs" / "contributing.md").read_text().split("## An operator")[1].split("\n## ")[0]
    table = dict(re.findall(r"^\| `([^`]+)` \| ([^|]+?) \|", section, re.M))
    operators = set(re.findall(r'\.name =\s*"(\w+)"', text((SOURCE / "ir" / "ops").glob("*.cc")))) | \
        set(re.findall(r'regroupingRow\("(\w+)"', (SOURCE / "ir" / "ops" / "reshape.cc").read_text()))
    operators.discard("Input")
    if len(operators) < 50 or PROBE not in operators or len(table) < 10:
        failures.append(f"{len(operators)} operators and {len(table)} files were found")

    for path, which in table.items():
        files = sorted(SOURCE.glob(path))
        if not files:
            failures.append(f"{path} does not exist")
        elif which == "all":
            code = text(files)
            lacking = sorted(o for o in operators if not mentions(o, code))
            failures += [f"{path} has no line for {', '.join(lacking)}"] if lacking else []

    for test in sorted((SOURCE / "tests" / "unit").glob("*.cc")):
        name = str(test.relative_to(SOURCE))
        if "operatorTable()" in test.read_text() and name not in table:
            failures.append(f"{name} looks at every operator, and is not in the table")

    found = {str(p.relative_to(SOURCE)) for folder in CODE for p in (SOURCE / folder).rglob("*")
             if p.suffix in {".cc", ".h"} and mentions(PROBE, re.sub(r"//.*", "", p.read_text()))}
    if found - PROBE_ELSEWHERE != PROBE_SOURCES:
        failures.append(f"{PROBE} is in {', '.join(sorted(found))}")

    print("\n".join(failures) or f"{len(operators)} operators, {len(table)} files: each has its lines")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
