"""Writes equal graphs, and compares them: see equal_graphs."""

import pathlib
import sys

import onnx

import build
import compare
import families

from . import EQUAL, equal


TOLERANCE = 1e-4  # of an output, relative to its largest value


def main():
    folder, names = pathlib.Path(sys.argv[1]), sys.argv[2:] or list(EQUAL)
    folder.mkdir(parents=True, exist_ok=True)
    worst = 0
    for name in names:
        path, other = build.build(name, folder), folder / f"{name}.equal.onnx"
        onnx.save(equal(name, onnx.load(path)), other)
        off = compare.Reference(path, positive=families.FAMILIES[name].positive).compare(other).relative
        print(f"{name}: {off:.1e}")
        worst = max(worst, off)
    return 1 if worst > TOLERANCE else 0


sys.exit(main())
