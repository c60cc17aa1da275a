#!/usr/bin/env python3
"""pet-apply --types on models as exporters write them (tests/models/zoo.py), against what ONNX Runtime computes.

With PET_TEST_PART=K/N the K-th part of those that do not take long, else the whole zoo. Every value of the main graph is made
an output: its element type, rank and extents, at each of the extents that the zoo tries, are those that were inferred, wherever
something was. Of a static model without control flow everything is. Exit status 0 or 1.
"""

import collections
import fractions
import json
import math
import pathlib
import re
import sys
import tempfile

import onnx

import _part as part
from pack import SOURCE, tool

sys.path.insert(0, str(SOURCE / "tests" / "models"))
import build  # noqa: E402
import zoo  # noqa: E402
from compare import runner  # noqa: E402


class Extents:
    """Evaluates extents such as `floor((height + 7)/8)`, `12batch`, `(batch length)`, with the names of the inputs' extents."""

    def __init__(self, types, arrays):
        self.names = {"floor": math.floor}
        for name, array in arrays.items():
            self.names |= {n: fractions.Fraction(e) for n, e in zip(types[name]["extents"], array.shape) if isinstance(n, str)}

    def value(self, extent):
        """None where it depends on what only the values decide."""
        if not isinstance(extent, str):
            return extent
        text = re.sub(r"(?<!\w)(\d+)(?=[A-Za-z_(])", r"\1*", extent)
        text = re.sub(r"(?<=[\w)]) (?=[\w(])", "*", text)
        try:
            return eval(text, {"__builtins__": {}}, self.names)
        except NameError:
            return None


def with_every_value(path):
    """The model, with each value of the main graph as an output; their names."""
    model = onnx.load(path, load_external_data=False)  # which lies where it lay: the result is in the same folder
    names = [name for node in model.graph.node for name in node.output if name]
    outputs = {output.name for output in model.graph.output}
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names if name not in outputs)
    whole = path.with_name("whole.onnx")
    onnx.save(model, whole)
    return whole, names


def disagreement(inferred, array, extents):
    """What was inferred wrongly of a value; empty if nothing. None: an extent is not known."""
    if inferred["code"] != onnx.helper.np_dtype_to_tensor_dtype(array.dtype):
        return f"{inferred['element']}, not {array.dtype}"
    if len(inferred["extents"]) != array.ndim:
        return f"{inferred['extents']}, not {list(array.shape)}"
    values = [extents.value(extent) for extent in inferred["extents"]]
    if any(value not in (None, extent) for value, extent in zip(values, array.shape)):
        return f"{inferred['extents']}, not {list(array.shape)}"
    return None if None in values else ""


def check(name, folder):
    """Yields what is wrong with a model."""
    path, about = build.build(name, folder), zoo.MODELS[name]
    done = tool("pet-apply", "--types", path)
    if done.returncode:
        yield f"exit code {done.returncode}: {done.stderr}"
        return
    types = json.loads(done.stdout)["values"]
    whole, names = with_every_value(path)
    session = runner.open_session(str(whole), optimise=False)
    count = collections.Counter()
    for dims in about.tries:
        arrays = about.arrays(dims)
        found, extents = runner.run(session, arrays, str(whole)), Extents(types, arrays)
        for value in names:
            inferred = types.get(value, {})
            known = inferred.get("kind") == "tensor" and "extents" in inferred
            wrong = disagreement(inferred, found[value], extents) if known else None
            count["unknown" if wrong is None else "known"] += 1
            if wrong:
                yield f"{value}: {wrong}"
    print(f"{name}: {count['known']} types known, {count['unknown']} not")
    if about.shapes == "static" and not about.data_dependent and count["unknown"]:
        yield f"{count['unknown']} types are not known"


def main():
    names = part.mine(name for name in zoo.MODELS if not (part.given() and name in zoo.SLOW))
    print(f"{len(names)} of {len(zoo.MODELS)} models: {', '.join(names)}")
    failures = []
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            failures += [f"{name}: {wrong}" for wrong in check(name, pathlib.Path(folder))]
    for failure in failures:
        print(f"zoo_types: {failure}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
