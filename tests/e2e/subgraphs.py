#!/usr/bin/env python3
"""pet-apply inside subgraphs of If, Loop and Scan, and inside functions that a model defines: what is written passes
onnx.checker, ONNX Runtime finds it equal, the sites are where they are expected, and a second run changes nothing.

The rule is the hand-written one of tests/data/conv.pet: a Conv becomes a ConvTranspose.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import helper, numpy_helper, parser

SOURCE = pathlib.Path(os.environ.get("PET_SOURCE", pathlib.Path(__file__).parents[2]))
BIN = pathlib.Path(os.environ.get("PET_BIN", SOURCE / "build" / "bin"))
sys.path.insert(0, str(SOURCE / "tests" / "models"))
import compare  # noqa: E402

failures = []
HEADER = '<ir_version: 8, opset_import: ["" : 17, "mine" : 1]>\n'
CONV = "Conv<pads = [1, 1, 1, 1]>"
IMAGE = "float[1, 2, 6, 6]"


def expect(name, condition, detail=""):
    if not condition:
        failures.append(f"{name}: {detail}" if detail else name)


def run(tool, *arguments, code=0):
    done = subprocess.run([str(BIN / tool), *map(str, arguments)], capture_output=True, text=True, timeout=280,
                          env={**os.environ, "PET_SHARE": str(SOURCE / "tests" / "data")})
    expect(f"{tool} {' '.join(map(str, arguments))}", done.returncode == code,
           f"exit code {done.returncode} instead of {code}: {done.stdout} {done.stderr}")
    return done


def floats(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).uniform(-1, 1, shape).astype(np.float32)


WEIGHTS = {"w": floats(2, 2, 3, 3), "v": floats(2, 2, 3, 3, seed=1), "k": floats(2, 2, 3, 3, seed=2), "bias": floats(2)}


def model_of(text, weights=("w", "v"), opset=17, ir_version=8):
    """The text with WEIGHTS as initializers of the main graph."""
    model = parser.parse_model(HEADER.replace("17", str(opset)).replace("8", str(ir_version), 1) + text)
    model.graph.initializer.extend(numpy_helper.from_array(WEIGHTS[name], name) for name in weights)
    return model


def node_named(graph, name):
    return next(n for n in graph.node if name in n.output or n.name == name)


def subgraph(graph, node, attribute):
    return next(a.g for a in node_named(graph, node).attribute if a.name == attribute)


def all_types(model):
    """Types of all nodes: of the main graph, of subgraphs, of functions."""
    def walk(nodes):
        for n in nodes:
            yield n.op_type
            for a in n.attribute:
                yield from walk(a.g.node)
    found = list(walk(model.graph.node))
    for f in model.functions:
        found += walk(f.node)
    return found


class Shop:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.pack = self.folder / "conv.db"
        run("pet-rules", "import", SOURCE / "tests" / "data" / "conv.pet", "-o", self.pack)

    def write(self, name, model, full=True):
        onnx.checker.check_model(model, full_check=full)
        path = self.folder / f"{name}.onnx"
        onnx.save(model, path)
        return path

    def apply(self, name, model, sites, *arguments, dims=None):
        """The rewritten model; the rule fires at these sites, and nowhere when it is applied again."""
        path, output, report = self.write(name, model), self.folder / f"{name}.out.onnx", self.folder / "report.json"
        run("pet-apply", path, self.pack, "--all", "-o", output, "--json", report, *arguments)
        found = json.loads(report.read_text())
        expect(f"{name}: sites", sorted(f["site"] for f in found["fired"]) == sorted(sites), found["fired"])
        expect(f"{name}: checks", all(c["possible"] for c in found["checks"]), found["checks"])
        reference = compare.Reference(path, dims=dims)
        error = reference.compare(output).relative
        expect(f"{name}: equal", error < 1e-5, f"differs by {error}")
        expect(f"{name}: not all zero", reference.scale > 0)
        again = self.folder / f"{name}.again.onnx"
        run("pet-apply", output, self.pack, "--all", "-o", again, *arguments)
        expect(f"{name}: twice", again.read_bytes() == output.read_bytes(), "the second run changed something")
        self.report = found
        return onnx.load(output)

    def refused(self, name, model, what, full=True):
        path = self.folder / f"{name}.onnx"
        onnx.save(model, path)
        done = run("pet-apply", path, self.pack, "--all", "-o", self.folder / "none.onnx", code=3)
        expect(f"{name}: message", what in done.stderr, done.stderr)


# ---- subgraphs

def branches(shop):
    """Weights of the main graph, of one branch only; a branch without a site goes out as it came in."""
    model = model_of(f"""g ({IMAGE} x, bool c) => ({IMAGE} y) {{
      a = {CONV}(x, v)
      y = If (c) <then_branch = t () => ({IMAGE} p) {{ q = {CONV}(a, w)  p = Relu(q) }},
                  else_branch = e () => ({IMAGE} n) {{ n = Neg(a) }}>
    }}""")
    out = shop.apply("branches", model, ["a", "y/then_branch/q"])
    then = subgraph(out.graph, "y", "then_branch")
    expect("branches: then", [n.op_type for n in then.node] == ["ConvTranspose", "Relu"], then.node)
    expect("branches: weights", len(then.initializer) == 1 and {i.name for i in out.graph.initializer}.isdisjoint("wv"))
    expect("branches: else", subgraph(out.graph, "y", "else_branch") == subgraph(model.graph, "y", "else_branch"))
    expect("branches: whole", any(c["where"] == "y/then_branch/ as a whole" for c in shop.report["checks"]), shop.report["checks"])
    out = shop.apply("one site", model, ["y/then_branch/q"], "--site", "y/*")
    expect("branches: main", node_named(out.graph, "a") == node_named(model.graph, "a"), "the main graph's Conv is another")


def kept(shop):
    """What else stands in a rewritten subgraph: documentation, metadata, declarations of values that are still there."""
    model = model_of(f"""g ({IMAGE} x, bool c) => ({IMAGE} y) {{
      y = If (c) <then_branch = t () => ({IMAGE} p) {{ q = {CONV}(x, w)  r = Relu(q)  p = Softplus(r) }},
                  else_branch = e () => ({IMAGE} n) {{ n = Neg(x) }}>
    }}""", ["w"])
    then = subgraph(model.graph, "y", "then_branch")
    then.doc_string, then.node[1].doc_string = "of the branch", "of the node"
    then.value_info.extend([helper.make_tensor_value_info(name, 1, [1, 2, 6, 6]) for name in "qr"])
    node_named(model.graph, "y").doc_string = "of the If"
    out = shop.apply("kept", model, ["y/then_branch/q"])
    after = subgraph(out.graph, "y", "then_branch")
    expect("kept: documentation", (after.doc_string, after.node[1].doc_string) == ("of the branch", "of the node"), after)
    expect("kept: of the If", node_named(out.graph, "y").doc_string == "of the If")
    expect("kept: declarations", list(after.value_info) == list(then.value_info), after.value_info)


def own_weights(shop):
    """Initializers and Constant nodes of the subgraph; names that both branches use; IR version 3 has no initializers there."""
    model = model_of(f"""g ({IMAGE} x, bool c) => ({IMAGE} y) {{
      y = If (c) <then_branch = t () => ({IMAGE} p) {{ p = {CONV}(x, mine) }},
                  else_branch = e () => ({IMAGE} p) {{ p = {CONV}(x, mine) }}>
    }}""", [])
    subgraph(model.graph, "y", "then_branch").initializer.append(numpy_helper.from_array(WEIGHTS["w"], "mine"))
    constant = helper.make_node("Constant", [], ["mine"], value=numpy_helper.from_array(WEIGHTS["v"]))
    subgraph(model.graph, "y", "else_branch").node.insert(0, constant)
    sites = ["y/then_branch/p", "y/else_branch/p"]
    shop.apply("own weights", model, sites)
    old = model_of(f"""g ({IMAGE} x, bool c, float[2, 2, 3, 3] w) => ({IMAGE} y) {{
      y = If (c) <then_branch = t () => ({IMAGE} p) {{ p = {CONV}(x, w) }}, else_branch = e () => ({IMAGE} n) {{ n = Neg(x) }}>
    }}""", ["w"], opset=9, ir_version=3)
    shop.apply("old version", old, ["y/then_branch/p"], "--freeze-inputs")
    shop.apply("overridable", old, [])


def loops(shop):
    """A Loop and a Scan, with weights from outside, and values that they carry."""
    body = f"body (int64 i, bool go, {IMAGE} s) => (bool on, {IMAGE} t, {IMAGE} u) {{ on = Identity(go)  a = {CONV}(s, w)  t = Tanh(a)  u = Neg(t) }}"
    model = model_of(f"""g ({IMAGE} x) => ({IMAGE} y, float[3, 1, 2, 6, 6] z) {{
      n = Constant<value = int64 {{3}}>()
      go = Constant<value = bool {{1}}>()
      y, z = Loop (n, go, x) <body = {body}>
    }}""", ["w"])
    out = shop.apply("loop", model, ["y/body/a"])
    expect("loop: where its weights are", len(subgraph(out.graph, "y", "body").initializer) == 1)
    scan = f"body ({IMAGE} s, {IMAGE} e) => ({IMAGE} t, {IMAGE} u) {{ a = {CONV}(e, w)  t = Add(s, a)  u = {CONV}(t, v) }}"
    model = model_of(f"""g ({IMAGE} x, float[1, 4, 2, 6, 6] many) => ({IMAGE} y, float[1, 2, 4, 6, 6] z) {{
      y, z = Scan (x, many) <num_scan_inputs = 1, scan_input_axes = [1], scan_output_axes = [2], body = {scan}>
    }}""")
    shop.apply("scan", model, ["y/body/a", "y/body/u"])


def growing(shop):
    """A Loop that hands on an image that grows with each execution: its extents are not known inside, and those that stay
    are."""
    body = """body (int64 i, bool go, float[1, 2, N, 6] s) => (bool on, float[1, 2, N, 6] t) {
      on = Identity(go)  a = Conv<pads = [1, 1, 1, 1]>(s, w)  t = Concat<axis = 2>(s, a) }"""
    model = model_of(f"""g ({IMAGE} x) => (float[1, 2, M, 6] y) {{
      n = Constant<value = int64 {{3}}>()
      y = Loop (n, , x) <body = {body}>
    }}""", ["w"])
    shop.apply("growing", model, ["y/body/a"], "--assume", "d1 >= 1")
    shop.apply("growing, nothing promised", model, [])


def nested(shop):
    """Two deep, the weights outside of all; one captured weight in two graphs."""
    inner = f"If (c) <then_branch = t () => ({IMAGE} p) {{ p = {CONV}(s, w) }}, else_branch = e () => ({IMAGE} m) {{ m = {CONV}(x, w) }}>"
    body = f"body (int64 i, bool go, {IMAGE} s) => (bool on, {IMAGE} t) {{ on = Identity(go)  r = {inner}  t = Tanh(r) }}"
    model = model_of(f"""g ({IMAGE} x, bool c) => ({IMAGE} y) {{
      n = Constant<value = int64 {{2}}>()
      y = Loop (n, , x) <body = {body}>
    }}""", ["w"])
    out = shop.apply("nested", model, ["y/body/r/then_branch/p", "y/body/r/else_branch/m"])
    expect("nested: dropped", not out.graph.initializer, "the old weights stayed")
    names = [i.name for branch in ("then_branch", "else_branch") for i in subgraph(subgraph(out.graph, "y", "body"), "r", branch).initializer]
    expect("nested: names", len(set(names)) == 2, names)


def captured(shop):
    """What a subgraph alone read goes with it; what it reads stays where it was."""
    model = model_of(f"""g ({IMAGE} x, bool c) => ({IMAGE} y) {{
      a = Relu(x)
      b = {CONV}(a, v)
      y = If (c) <then_branch = t () => ({IMAGE} p) {{ p = {CONV}(b, k) }}, else_branch = e () => ({IMAGE} n) {{ n = Neg(a) }}>
    }}""", ["v", "k"])
    shop.apply("captured", model, ["b", "y/then_branch/p"])


def sizes(shop):
    """`batch` inside is `batch` outside."""
    image = "float[batch, 2, 6, 6]"
    model = model_of(f"""g ({image} x, bool c) => ({image} y) {{
      a = Relu(x)
      b = If (c) <then_branch = t () => ({image} p) {{ p = {CONV}(a, w) }}, else_branch = e () => ({image} n) {{ n = Neg(a) }}>
      y = {CONV}(b, v)
    }}""")
    model.graph.ClearField("value_info")
    shop.apply("sizes", model, ["b/then_branch/p", "y"], dims={"batch": 3})
    types = json.loads(run("pet-apply", shop.folder / "sizes.onnx", "--types").stdout)["values"]
    expect("sizes: of the result", types["b"]["extents"] == ["batch", 2, 6, 6], types["b"])
    expect("sizes: within", types["b/then_branch/p"]["extents"] == ["batch", 2, 6, 6], types.get("b/then_branch/p"))


# ---- functions

BLOCK = f"""
<domain: "mine", opset_import: ["" : 17]>
Block (x, w) => (y) {{ a = {CONV}(x, w)  y = Relu(a) }}
"""


def agreeing(shop):
    """Calls that agree: the body is rewritten for all."""
    model = model_of(f"""g ({IMAGE} x) => ({IMAGE} y) {{ a = mine.Block(x, w)  b = mine.Block(a, w)  y = Neg(b) }}{BLOCK}""", ["w"])
    out = shop.apply("agreeing", model, ["mine.Block/a"])
    expect("agreeing: calls", [n.op_type for n in out.graph.node] == ["Block", "Block", "Neg"], out.graph.node)
    expect("agreeing: body", [n.op_type for n in out.functions[0].node] == ["Constant", "ConvTranspose", "Relu"], out.functions)


def differing(shop):
    """Calls with other weights are inlined, calls in which nothing fires stay."""
    model = model_of(f"""g ({IMAGE} x, float[2, 2, 3, 3] u) => ({IMAGE} y) {{
      a = mine.Block(x, w)  b = mine.Block(a, v)  y = mine.Block(b, u)
    }}{BLOCK}""")
    out = shop.apply("differing", model, ["a/a", "b/a"])
    expect("differing", [n.op_type for n in out.graph.node] == ["ConvTranspose", "Relu"] * 2 + ["Block"], out.graph.node)
    expect("differing: the function stays", len(out.functions) == 1)
    model = model_of(f"g ({IMAGE} x) => ({IMAGE} y) {{ a = mine.Block(x, w)  y = mine.Block(a, v) }}{BLOCK}")
    out = shop.apply("all inlined", model, ["a/a", "y/a"])
    expect("all inlined", not out.functions, "the function that nobody calls stayed")
    model = model_of(f"""g ({IMAGE} x, float[1, 2, 4, 4] z) => ({IMAGE} y, float[1, 2, 4, 4] n) {{ y = mine.Act(x)  n = mine.Act(z) }}
      <domain: "mine", opset_import: ["" : 17]> Act (x) => (y) {{ a = Neg(x)  y = Relu(a) }}""", [])
    out = shop.apply("nothing to do", model, [])
    expect("nothing to do", out == model, "a model in which nothing fired was changed")


def attributes(shop):
    """Attributes of a call, with defaults, within a subgraph of the function as well, whose names the caller uses for others."""
    function = """
    <domain: "mine", opset_import: ["" : 17]>
    Padded <pads, alpha: float = 0.5> (x, w, c) => (y) {
      q = Conv<pads: ints = @pads>(x, w)
      y = If (c) <then_branch = t () => (float[] p) { p = LeakyRelu<alpha: float = @alpha>(q) },
                  else_branch = e () => (float[] n) { a = Conv<pads: ints = @pads>(q, w)  n = Neg(a) }>
    }"""
    text = """g (float[1, 2, 6, 6] x, bool c) => (float[1, 2, H, W] y) {{
      a = mine.Padded<pads = [{0}]>(x, w, c)  y = mine.Padded<pads = [{1}]>(a, w, c) }}"""
    same = model_of(text.format("1, 1, 1, 1", "1, 1, 1, 1") + function, ["w"])
    out = shop.apply("same attributes", same, ["mine.Padded/q", "mine.Padded/y/else_branch/a"])
    body = out.functions[0]
    expect("same attributes: kept", body.attribute == same.functions[0].attribute and len(out.graph.node) == 2, body)
    other = model_of(text.format("1, 1, 1, 1", "2, 2, 2, 2") + function, ["w"])
    out = shop.apply("other attributes", other, ["a/q", "a/else_branch/a/a", "y/q", "y/else_branch/y/a"])
    expect("other attributes: inlined", not out.functions and "ref_attr_name" not in str(out))


def calls_of_calls(shop):
    """Functions that call functions, from subgraphs as well."""
    outer = """
    <domain: "mine", opset_import: ["" : 17, "mine" : 1]>
    Twice (x, w) => (y) { a = mine.Block(x, w)  y = mine.Block(a, w) }"""
    model = model_of(f"""g ({IMAGE} x, bool c) => ({IMAGE} y) {{
      a = mine.Twice(x, w)
      y = If (c) <then_branch = t () => ({IMAGE} p) {{ p = mine.Twice(a, w) }}, else_branch = e () => ({IMAGE} n) {{ n = mine.Block(a, w) }}>
    }}{outer}{BLOCK}""", ["w"])
    shop.apply("calls of calls", model, ["mine.Block/a"])
    model = model_of(f"""g ({IMAGE} x, bool c) => ({IMAGE} y) {{
      a = mine.Twice(x, w)
      y = If (c) <then_branch = t () => ({IMAGE} p) {{ p = mine.Twice(a, v) }}, else_branch = e () => ({IMAGE} n) {{ n = Neg(a) }}>
    }}{outer}{BLOCK}""")
    out = shop.apply("differing calls of calls", model,
                     ["a/a/a", "a/a_2", "y/then_branch/p/a/a", "y/then_branch/p/a_2"])
    expect("differing calls of calls", not out.functions and len(all_types(out)) == 10, all_types(out))


def overriding(shop):
    """A function of an operator's name stands for it; one of another opset is left alone when calls differ; operands that
    are left out."""
    model = model_of(f"""g ({IMAGE} x) => ({IMAGE} y) {{ y = Conv(x, w) }}
      <domain: "", opset_import: ["" : 17]> Conv (x, w) => (y) {{ y = Neg(x) }}""", ["w"])
    path = shop.folder / "override.onnx"
    onnx.save(model, path)
    run("pet-apply", path, shop.pack, "--all", "-o", shop.folder / "override.out.onnx")
    expect("override", onnx.load(shop.folder / "override.out.onnx") == model, "a function was taken for the operator of its name")
    text = f"g ({IMAGE} x) => ({IMAGE} y) {{ a = mine.Block(x, w)  y = mine.Block(a, v) }}"
    model = model_of(text + BLOCK.replace("17", "16"))
    out = shop.apply("another opset", model, [])
    expect("another opset", out == model)
    expect("another opset: reason", {u["reason"] for u in shop.report["untouched"]} ==
           {"a function of opset 16, which is not the model's"}, shop.report["untouched"])
    model = model_of(f"""g ({IMAGE} x) => ({IMAGE} y) {{ a, b = mine.Maybe(x, w, bias)  c, d = mine.Maybe(b, v)  y = Add(c, d) }}
      <domain: "mine", opset_import: ["" : 17]> Maybe (x, w, b) => (y, z) {{ y = {CONV}(x, w, b)  z = Neg(x) }}""", ["w", "v", "bias"])
    shop.apply("left out", model, ["a", "c"])


# ---- bad input

def chain(depth, recursive):
    """Functions each of which calls the next."""
    functions = [f'<domain: "mine", opset_import: ["" : 17, "mine" : 1]> F{i} (x) => (y) {{ y = mine.F{i + 1}(x) }}' for i in range(depth)]
    last = f"y = mine.F{depth - 3}(x)" if recursive else "y = Neg(x)"
    functions.append(f'<domain: "mine", opset_import: ["" : 17, "mine" : 1]> F{depth} (x) => (y) {{ {last} }}')
    return model_of(f"g ({IMAGE} x) => ({IMAGE} y) {{ y = mine.F0(x) }}" + "\n".join(functions), [])


def bad(shop):
    for depth in [30, 10_000]:
        graph = helper.make_graph([helper.make_node("Neg", ["x"], ["p"])], "g", [], [helper.make_tensor_value_info("p", 1, [2])])
        parts = graph.SerializeToString()
        for _ in range(depth):  # by hand: protobuf writes no such depth
            def field(number, data):
                size, out = len(data), bytes([number << 3 | 2])
                while size > 127:
                    out, size = out + bytes([size & 127 | 128]), size >> 7
                return out + bytes([size]) + data
            attribute = field(1, b"then_branch") + b"\xa0\x01\x05" + field(6, parts)
            node = field(1, b"c") + field(2, b"p") + field(4, b"If") + field(5, attribute)
            parts = field(1, node) + field(2, b"g") + field(12, field(1, b"p"))
        path = shop.folder / "deep.onnx"
        path.write_bytes(b"\x08\x08" + field(7, parts) + field(8, b"\x10\x11"))
        done = run("pet-apply", path, shop.pack, "--all", "-o", shop.folder / "none.onnx", code=3)
        expect(f"{depth} deep", "nested" in done.stderr, done.stderr)
    shop.refused("recursion", chain(8, True), "calls itself")
    shop.refused("direct recursion", chain(3, True), "calls itself")
    model = chain(2_000, False)
    path = shop.folder / "chain.onnx"
    onnx.save(model, path)
    run("pet-apply", path, shop.pack, "--all", "-o", shop.folder / "chain.out.onnx")
    expect("chain", onnx.load(shop.folder / "chain.out.onnx") == model)
    doublings = 10 if os.environ.get("PET_SANITIZED") else 20  # of calls
    many = [f'<domain: "mine", opset_import: ["" : 17, "mine" : 1]> F{i} (x) => (y) {{ a = mine.F{i + 1}(x)  b = mine.F{i + 1}(a)  y = Relu(b) }}'
            for i in range(doublings)]
    many.append(f'<domain: "mine", opset_import: ["" : 17]> F{doublings} (x) => (y) {{ y = Neg(x) }}')
    laughs = model_of(f"g ({IMAGE} x, float[7] z) => ({IMAGE} y, float[7] u) {{ y = mine.F0(x)  u = mine.F0(z) }}" + "\n".join(many), [])
    path = shop.folder / "laughs.onnx"
    onnx.save(laughs, path)
    run("pet-apply", path, shop.pack, "--all", "-o", shop.folder / "laughs.out.onnx")
    expect("calls that double", onnx.load(shop.folder / "laughs.out.onnx") == laughs)
    model = model_of(f"""g ({IMAGE} x, bool c) => ({IMAGE} y) {{
      y = If (c) <then_branch = t () => ({IMAGE} p) {{ p = Neg(nothing) }}, else_branch = e () => ({IMAGE} n) {{ n = Neg(x) }}>
    }}""", [])
    shop.refused("undefined", model, "'nothing'")
    then = subgraph(model.graph, "y", "then_branch")
    then.node[0].input[:] = ["p"]
    shop.refused("cycle", model, "cycle")
    then.node[0].input[:] = ["x", "x"]
    shop.refused("invalid node", model, "has 2 operands, not 1")
    model = model_of(f"g ({IMAGE} x) => ({IMAGE} y) {{ y = mine.F(x) }}"
                     '<domain: "mine", opset_import: ["" : 17]> F (x) => (y) { y = Neg(z) }', [])
    shop.refused("undefined in a function", model, "'z'")


def main():
    with tempfile.TemporaryDirectory() as folder:
        shop = Shop(folder)
        for test in [branches, kept, own_weights, loops, growing, nested, captured, sizes, agreeing, differing, attributes,
                     calls_of_calls, overriding, bad]:
            test(shop)
    print("\n".join(failures) if failures else "subgraphs and functions: all as expected")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
