#!/usr/bin/env python3
"""Writes what fuzzing starts from: FOLDER/TARGET/* for each target, and FOLDER/text.dict, the words of the text form.

All comes from files of the repository: patterns, rules and proofs as text, timings, and the models of one node each that
tests/e2e/apply_operators.py makes. usage: seeds.py FOLDER
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper, parser

SOURCE = pathlib.Path(__file__).parents[2]
BIN = pathlib.Path(os.environ.get("PET_BIN", SOURCE / "build" / "asan" / "bin"))
sys.path[:0] = [str(SOURCE / "tests" / "e2e"), str(SOURCE / "tests" / "models")]
import apply_operators  # noqa: E402
import taso  # noqa: E402
import timed  # noqa: E402

TARGETS = ["program", "rules", "pack", "timings", "outcomes", "model", "vocabulary", "taso"]


def texts():
    return sorted([*SOURCE.glob("rules/patterns/*.pet"), *SOURCE.glob("tests/data/*.pet"), *SOURCE.glob("tests/prove/**/*.pet")])


def write_programs(folder):
    """What stands in the braces of a pattern, without its class; and the candidates of tests/prove."""
    for path in texts():
        text = path.read_text()
        for i, body in enumerate(re.findall(r"^pattern[^{]*{\n(.*?)^}", text, re.M | re.S)):
            lines = body.splitlines()
            first = next(k for k, line in enumerate(lines) if re.match(r"\s*\w+: ", line))
            inputs = [line for line in lines if re.match(r"\s*\w+: ", line)]
            (folder / f"{path.stem}-{i}").write_text("\n".join(lines[first:]) + "\n")
            for k, other in enumerate(re.findall(r"^  (?:replacement|mutant|candidate) {\n(.*?)^  }", text, re.M | re.S)):
                (folder / f"{path.stem}-{i}-{k}").write_text("\n".join(inputs) + "\n" + other)


def write_rules(folder):
    for path in texts():
        (folder / path.stem).write_text(path.read_text())


def write_dictionary(path):
    words = set()
    for text in texts():
        lines = re.sub(r"#.*", "", text.read_text())
        words |= set(re.findall(r"[A-Za-z_]{2,}[(=]?|->|<=|>=|[%:,*/-]| [+-] |\[|\]|{|}|\(|\)", lines))
    words |= {"inputs ", "weights ", "constant ", "operator ", "distinct operands", "fold constants", "floor(", "9223372036854775807", "inf", "1e308", "# "}
    path.write_text("".join(f'"{word}"\n' for word in sorted(words)))


def write_packs(folder):
    for name in ["conv", "square", "branches"]:
        subprocess.run([str(BIN / "pet-rules"), "import", str(SOURCE / "tests" / "data" / f"{name}.pet"), "-o", str(folder / name)], check=True)
    whole = (folder / "conv").read_bytes()
    (folder / "cut").write_bytes(whole[:len(whole) // 2])
    (folder / "one-page").write_bytes(whole[:28] + b"\0\0\0\1" + whole[32:4096])


def write_timings(folder):
    import sqlite3
    lines = (SOURCE / "packs" / "ort-cpu.timings.jsonl").read_text().splitlines(keepends=True)
    machines = [line for line in lines if line.startswith('{"machine"')]
    settings = [line for line in lines if line.startswith('{"setting"')]
    rules = [line for line in lines if line.startswith('{"hash"')]
    samples = lines[len(machines) + len(settings) + len(rules):]
    named = [line for line, key in [*zip(settings, ["setting"] * len(settings)), *zip(rules, ["rule"] * len(rules))] if json.loads(line)[key] in samples[0]]
    (folder / "text").write_text("".join(machines + settings + rules[:3] + samples[:3]))
    (folder / "names").write_text("".join(named) + samples[0])
    older = timed.samples(SOURCE / "packs" / "ort-cpu.timings.jsonl")[0]
    (folder / "line").write_text(json.dumps(older, separators=(",", ":")) + "\n")
    (folder / "machine").write_text(machines[0])
    # docs/pack-format.md says how timings are kept.
    page = (SOURCE / "docs" / "pack-format.md").read_text()
    schemas = re.findall(r"^ +(CREATE TABLE samples.*)$", page, re.M)  # of this version, then of older ones
    row = "'ab', 'conv/a', 'cpu', '{\"N\":1}', 'e', '1', 'avx', "
    weights = "1, 'warm'"
    times = "0.5, 0.25, 0.1, 0"
    for name, version, schema, rest in [("database", 6, schemas[0], f"'', {weights}, 'last', 19, {times}, 64, 0.1, '2026-11-21'"),
                                        ("database-5", 5, schemas[1], f"'', {weights}, 'last', {times}, 64, 0.1, '2026-11-21'"),
                                        ("database-4", 4, schemas[2], f"'', {weights}, {times}, 64, 0.1, '2026-11-21'"),
                                        ("database-3", 3, schemas[3], f"{weights}, {times}, 64, 0.1, '2026-11-21'"),
                                        ("database-2", 2, schemas[4], f"{weights}, {times}, 0.1, '2026-11-21'"),
                                        ("database-1", 1, schemas[5], "1, 0.5, 0.25, 0.1, '2026-11-21'")]:
        db = sqlite3.connect(folder / name)
        db.execute("PRAGMA application_id = 0x70657474")
        db.execute(f"PRAGMA user_version = {version}")
        if version >= 4:
            db.execute(re.search(r"^ +(CREATE TABLE machines.*)$", page, re.M)[1])
            db.execute("INSERT INTO machines VALUES (?, ?)", (json.loads(machines[0])["machine"], machines[0].strip()))
        db.execute(schema)
        db.execute(f"INSERT INTO samples VALUES ({row}{rest})")
        db.commit()
        db.close()


def write_outcomes(folder):
    """The lines of a part without their digests: the whole part, and its head with each other line."""
    part = folder / "part"
    pattern = SOURCE / "rules" / "patterns" / "matmul.pet"
    subprocess.run([str(BIN / "pet-synth"), str(pattern), "--shard", "1/4", "-q", "-o", str(part)], check=True)
    head, *lines = [line.split(" ", 1)[1] for line in part.read_text().splitlines()[1:]]
    part.write_text("\n".join([head, *lines]))
    for i, line in enumerate(lines):
        (folder / f"line-{i}").write_text(f"{head}\n{line}")


def tensor(name, *shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def small_models():
    """Graphs of several nodes: convolutions that rules match, sizes that are computed, what pet does not look into."""
    def of(nodes, *arrays, opset=17, inputs=(("x", 1, 2, 6, 6),)):
        initializers = [numpy_helper.from_array(array, name) for name, array in arrays]
        graph = helper.make_graph(nodes, "g", [tensor(*i) for i in inputs], [helper.make_empty_tensor_value_info("y")], initializers)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)

    weights = ("w", np.ones((2, 2, 3, 3), np.float32))
    conv = helper.make_node("Conv", ["x", "w"], ["a"], name="c", pads=[1, 1, 1, 1])
    yield of([conv, helper.make_node("Relu", ["a"], ["y"])], weights)
    yield of([conv, helper.make_node("Conv", ["a", "w"], ["b"], pads=[1, 1, 1, 1]), helper.make_node("Add", ["a", "b"], ["y"])], weights)
    yield of([conv, helper.make_node("Shape", ["a"], ["s"]), helper.make_node("Gather", ["s", "i"], ["n"], axis=0),
              helper.make_node("Unsqueeze", ["n", "zero"], ["n1"]), helper.make_node("Concat", ["n1", "rest"], ["t"], axis=0),
              helper.make_node("Reshape", ["a", "t"], ["y"])],
             weights, ("i", np.array(0)), ("zero", np.array([0])), ("rest", np.array([-1])))
    then = helper.make_graph([helper.make_node("Neg", ["a"], ["t"])], "then", [], [tensor("t", 1, 2, 6, 6)])
    yield of([conv, helper.make_node("If", ["c"], ["y"], then_branch=then, else_branch=then)], weights, ("c", np.array(True)))
    own = helper.make_graph([helper.make_node("Conv", ["a", "v"], ["t"], pads=[1, 1, 1, 1])], "own", [], [tensor("t", 1, 2, 6, 6)],
                            [numpy_helper.from_array(weights[1], "v")])
    yield of([conv, helper.make_node("If", ["c"], ["y"], then_branch=own, else_branch=then)], weights, ("c", np.array(True)))
    constant = helper.make_node("Constant", [], ["w"], value=numpy_helper.from_array(weights[1]))
    called = of([helper.make_node("F", ["x"], ["y"], domain="m")])
    called.functions.append(helper.make_function("m", "F", ["x"], ["a"], [constant, conv], [helper.make_opsetid("", 17)]))
    called.opset_import.append(helper.make_opsetid("m", 1))
    yield called
    beside = helper.make_node("Conv", ["x", "w"], ["b"], pads=[1, 1, 1, 1])
    yield of([conv, beside, helper.make_node("Add", ["a", "b"], ["y"])], weights)
    yield of([conv, beside, helper.make_node("Fancy", ["a", "x"], ["f"], domain="mine"), helper.make_node("Conv", ["f", "w"], ["d"]),
              helper.make_node("Concat", ["b", "d"], ["y"], axis=1)], weights)
    yield of([conv, helper.make_node("Fancy", ["a"], ["y"], domain="mine")], weights)
    yield of([helper.make_node("ConstantOfShape", ["s"], ["z"]), helper.make_node("Expand", ["x", "s"], ["e"]),
              helper.make_node("Add", ["e", "z"], ["y"])], ("s", np.array([2, 2, 6, 6])))
    yield of([helper.make_node("Range", ["zero", "n", "one"], ["r"]), helper.make_node("Cast", ["r"], ["f"], to=TensorProto.FLOAT),
              helper.make_node("Mul", ["x", "f"], ["y"])], ("zero", np.array(0)), ("n", np.array(6)), ("one", np.array(1)))


def large_model():
    """With weights that are not copied when they are read, and that go to a data file."""
    nodes = [helper.make_node("MatMul", ["x", "v"], ["t"]), helper.make_node("MatMul", ["t", "w"], ["y"])]
    arrays = [numpy_helper.from_array(np.ones((4, n), np.float32), name) for n, name in [(300, "v"), (300, "w")]]
    arrays[1].dims[:] = [300, 4]
    graph = helper.make_graph(nodes, "g", [tensor("x", 1, 4)], [tensor("y", 1, 4)], arrays)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def nested_models():
    """Subgraphs within subgraphs, captured weights, and functions with attributes that call each other."""
    image, conv = "float[1, 2, 6, 6]", "Conv<pads = [1, 1, 1, 1]>"
    header = '<ir_version: 8, opset_import: ["" : 17, "m" : 1]>\n'
    function = '<domain: "m", opset_import: ["" : 17, "m" : 1]>'
    inner = f"If (c) <then_branch = t () => ({image} p) {{ p = {conv}(s, w) }}, else_branch = e () => ({image} q) {{ q = Neg(x) }}>"
    body = f"b (int64 i, bool g, {image} s) => (bool on, {image} o, {image} u) {{ on = Identity(g)  o = {inner}  u = Relu(o) }}"
    block = f"{function} B (x, w) => (y) {{ a = {conv}(x, w)  y = Relu(a) }}"
    padded = f"{function} P <pads, alpha: float = 0.5> (x, w) => (y) {{ a = Conv<pads: ints = @pads>(x, w)  b = m.B(a, w)  y = LeakyRelu<alpha: float = @alpha>(b) }}"
    for text in [
            f"g ({image} x, bool c, int64 n) => ({image} y, float[k, 1, 2, 6, 6] z) {{ y, z = Loop (n, , x) <body = {body}> }}",
            f"g ({image} x, float[N, 2, 6, 6] v) => ({image} y, float[N, 2, 6, 6] z) {{ y, z = Scan (x, v) <num_scan_inputs = 1, "
            f"body = b ({image} s, float[2, 6, 6] e) => ({image} t, float[2, 6, 6] u) {{ t = {conv}(s, w)  u = Neg(e) }}> }}",
            f"g ({image} x) => ({image} y) {{ a = m.B(x, w)  y = m.B(a, w) }} {block}",
            f"g ({image} x, float[2, 2, 3, 3] v) => ({image} y) {{ a = m.B(x, w)  y = m.B(a, v) }} {block}",
            f"g ({image} x) => ({image} y) {{ a = m.P<pads = [1, 1, 1, 1]>(x, w)  y = m.P<pads = [0, 0, 2, 2], alpha = 0.1>(a, w) }} {padded} {block}",
            f"g ({image} x) => ({image} y) {{ y = m.B(x) }} {function} B (x, w) => (y) {{ y = m.B(x, w) }}"]:
        model = parser.parse_model(header + text)
        model.graph.initializer.append(numpy_helper.from_array(np.ones((2, 2, 3, 3), np.float32), "w"))
        yield model


def tensors_of(nodes, initializers=()):
    """Of a graph or a function: those of its nodes and of its subgraphs, too."""
    yield from initializers
    for attribute in (a for node in nodes for a in node.attribute):
        if attribute.type == onnx.AttributeProto.TENSOR:
            yield attribute.t
        if attribute.type == onnx.AttributeProto.GRAPH:
            yield from tensors_of(attribute.g.node, attribute.g.initializer)


def write_models(folder):
    for cases in ["conv", "matmul", "layout", "function", "pool", "resize"]:
        getattr(apply_operators, f"{cases}_cases")()
    for i, case in enumerate(apply_operators.CASES):
        try:
            model = apply_operators.model_of(*case)
        except Exception:  # a form that ONNX's own shape inference refuses is none to start from
            continue
        data = model.SerializeToString()
        if len(data) <= 2048:
            (folder / f"{i:03}-{case[0]}").write_bytes(data)
    for i, model in enumerate([*small_models(), large_model(), *nested_models()]):
        (folder / f"small-{i}").write_bytes(model.SerializeToString())
        offset = 0
        tensors = [*tensors_of(model.graph.node, model.graph.initializer), *(t for f in model.functions for t in tensors_of(f.node))]
        for t in tensors:  # in the file that the target makes
            for key, value in [("location", "w.bin"), ("offset", offset), ("length", len(t.raw_data))]:
                t.external_data.add(key=key, value=str(value))
            offset += len(t.raw_data)
            t.ClearField("raw_data")
            t.data_location = TensorProto.EXTERNAL
        (folder / f"external-{i}").write_bytes(model.SerializeToString())


def write_vocabularies(folder):
    for path in SOURCE.glob("rules/vocab/*.vocab"):
        lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
        (folder / path.stem).write_text(path.read_text())
        for kind in ["inputs", "weights", "constant", "operator"]:
            some = [line for line in lines if line.startswith(kind)]
            rest = [line for line in lines if line.startswith(("inputs i", "operator Add"))]
            (folder / f"{path.stem}-{kind}").write_text("\n".join(dict.fromkeys(sorted(some + rest, key=lines.index))) + "\n")


def write_substitutions(folder):
    for i, (substitution, _) in enumerate(taso.RULES):
        (folder / str(i)).write_bytes(substitution)
    (folder / "all").write_bytes(b"".join(substitution for substitution, _ in taso.RULES))


def main():
    root = pathlib.Path(sys.argv[1])
    shutil.rmtree(root, ignore_errors=True)
    for target in TARGETS:
        (root / target).mkdir(parents=True)
    write_dictionary(root / "text.dict")
    for target, write in zip(TARGETS, [write_programs, write_rules, write_packs, write_timings, write_outcomes, write_models, write_vocabularies,
                                        write_substitutions]):
        write(root / target)
        print(f"{target}: {len(list((root / target).iterdir()))} inputs to start from")


if __name__ == "__main__":
    sys.exit(main())
