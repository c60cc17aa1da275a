#!/usr/bin/env python3
"""Every node test of the onnx package before and after pet-apply --all: equal on ONNX Runtime. Exit status 0 or 1.

Node tests are mostly single operators, which the canonical patterns leave alone. So a pack of laws of small patterns is made
here, which match wherever their operators are. Tests with weights, as initializers, are tried with the pack of all canonical
patterns as well. A second run, on the result, is compared as well. Where nothing fires, the model keeps its bytes.

With PET_TEST_PART=K/N the K-th part of them. `node_tests.py NAME` tries the tests with NAME in their names.
"""

import concurrent.futures
import concurrent.futures.process
import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

import _part as part
from pack import BIN, SOURCE, made

# Of a whole run. As many tests ONNX Runtime has to run, in as many a pattern has to match and a rule to fire.
LEAST_RUN, LEAST_SITES, LEAST_REWRITTEN, LEAST_CANONICAL = 1300, 280, 280, 15
TOLERANCES = {"float16": 2e-2, "bfloat16": 1e-1}  # relative to the largest value; of other floats 1e-4
WEIGHED = {"Conv", "ConvTranspose", "MatMul", "Gemm"}
MOST_RANK = 5

# --- Laws ---

# Of one operand: y by x.
UNARY = {
    "relu": ("y = Relu(x)", ["n = Neg(x)", "r = Relu(n)", "y = Add(x, r)"]),
    "tanh": ("y = Tanh(x)", ["n = Neg(x)", "t = Tanh(n)", "y = Neg(t)"]),
    "erf": ("y = Erf(x)", ["n = Neg(x)", "t = Erf(n)", "y = Neg(t)"]),
    "sin": ("y = Sin(x)", ["n = Neg(x)", "t = Sin(n)", "y = Neg(t)"]),
    "sigmoid": ("y = Sigmoid(x)", ["one = Constant() value=1", "n = Neg(x)", "e = Exp(n)", "s = Add(e, one)", "y = Reciprocal(s)"]),
    "hard-sigmoid": ("y = HardSigmoid(x) alpha=0.5 beta=0.6", ["a = Constant() value=0.5", "b = Constant() value=0.6",
                     "s = Mul(x, a)", "l = Add(s, b)", "y = Clip(l) min=0 max=1"]),
    "hard-swish": ("y = HardSwish(x)", ["a = Constant() value=3", "b = Constant() value=6", "s = Add(x, a)",
                   "g = Clip(s) min=0 max=6", "t = Mul(x, g)", "y = Div(t, b)"]),
    "leaky-relu": ("y = LeakyRelu(x) alpha=0.1", ["a = Constant() value=0.1", "n = Neg(x)", "p = Relu(x)", "q = Relu(n)",
                   "t = Mul(q, a)", "y = Sub(p, t)"]),
    "gelu": ("y = Gelu(x)", ["two = Constant() value=2", "one = Constant() value=1", "half = Constant() value=0.5",
             "r = Sqrt(two)", "d = Div(x, r)", "e = Erf(d)", "s = Add(e, one)", "m = Mul(x, s)", "y = Mul(m, half)"]),
    "neg": ("y = Neg(x)", ["m = Constant() value=-1", "y = Mul(x, m)"]),
    "sqrt": ("y = Sqrt(x)", ["r = Sqrt(x)", "n = Neg(r)", "y = Neg(n)"]),
    "reciprocal": ("y = Reciprocal(x)", ["n = Neg(x)", "r = Reciprocal(n)", "y = Neg(r)"]),
}
# Of two operands, of equal extents or where the other is a row.
BINARY = {
    "add": ("y = Add(x, z)", ["n = Neg(z)", "y = Sub(x, n)"]),
    "sub": ("y = Sub(x, z)", ["n = Neg(z)", "y = Add(x, n)"]),
    "mul": ("y = Mul(x, z)", ["n = Neg(x)", "m = Mul(n, z)", "y = Neg(m)"]),
    "div": ("y = Div(x, z)", ["n = Neg(x)", "m = Div(n, z)", "y = Neg(m)"]),
}


def law(name, operands, pattern, replacement):
    symbols = sorted({s for _, extents in operands for s in extents})
    inputs = "".join(f"  {n}: [{', '.join(extents)}]\n" for n, extents in operands)
    return (f"pattern {name} {{\n  shape {' '.join(symbols)}\n{inputs}  {pattern}\n}}\n\n"
            f"rule {name}/law of {name} {{\n  class {' '.join(symbols)} : {', '.join(f'1 <= {s}' for s in symbols)}\n"
            "  replacement {\n" + "".join(f"    {line}\n" for line in replacement) + "  }\n}\n\n")


def laws():
    for rank in range(1, MOST_RANK + 1):
        x = [f"X{i}" for i in range(rank)]
        for name, (pattern, replacement) in UNARY.items():
            yield law(f"{name}-{rank}", [("x", x)], pattern, replacement)
        for name, (pattern, replacement) in BINARY.items():
            yield law(f"{name}-{rank}", [("x", x), ("z", x)], pattern, replacement)
            if rank > 1:
                yield law(f"{name}-row-{rank}", [("x", x), ("z", x[-1:])], pattern, replacement)
    for batch in [[], ["B"], ["A", "B"]]:
        back = f"perm=[{', '.join(map(str, [*range(len(batch)), len(batch) + 1, len(batch)]))}]"
        yield law(f"matmul-{len(batch) + 2}", [("x", [*batch, "M", "K"]), ("z", [*batch, "K", "N"])], "y = MatMul(x, z)",
                  [f"a = Transpose(x) {back}", f"b = Transpose(z) {back}", "c = MatMul(b, a)", f"y = Transpose(c) {back}"])


def tool(name, *arguments):
    return subprocess.run([str(BIN / name), *map(str, arguments)], capture_output=True, text=True, timeout=300)


def pack_of(folder, texts, *files):
    """A pack of these laws and of what stands in the files, proved."""
    text, proved, pack = folder / "laws.pet", folder / "proved.pet", folder / "laws.db"
    text.write_text("".join(texts))
    for done in [tool("pet-synth", "prove", text, *files, "-o", proved), tool("pet-rules", "import", proved, "-o", pack)]:
        if done.returncode:
            sys.exit(f"the laws: {done.stdout}{done.stderr}")
    return pack


# --- ONNX Runtime, in a process of its own, since some models crash it ---

def computed(path, inputs):
    """A list of outputs, or what the engine says against the model."""
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        return session.run(None, inputs)
    except Exception as error:  # the engine's exceptions have no common base of their own
        return str(error)


class Engine:
    def __init__(self):
        self.pool = None

    def run(self, path, inputs):
        self.pool = self.pool or concurrent.futures.ProcessPoolExecutor(1)
        try:
            return self.pool.submit(computed, str(path), inputs).result(timeout=120)
        except concurrent.futures.process.BrokenProcessPool:
            self.pool.shutdown()
            self.pool = None
            return "the engine died"

    def close(self):
        if self.pool:
            self.pool.shutdown()


def difference(expected, found):
    """Why two outputs are not equal; empty if they are."""
    if isinstance(expected, list) or expected is None:
        if type(expected) is not type(found) or len(expected or []) != len(found or []):
            return f"{expected!r}, then {found!r}"
        return next(filter(None, map(difference, expected or [], found or [])), "")
    expected, found = np.asarray(expected), np.asarray(found)
    if (expected.dtype, expected.shape) != (found.dtype, found.shape):
        return f"{expected.dtype}{list(expected.shape)}, then {found.dtype}{list(found.shape)}"
    if expected.dtype.kind not in "fc" and expected.dtype.name != "bfloat16":
        return "" if np.array_equal(expected, found) else "other values"
    a, b = (v.astype(complex if v.dtype.kind == "c" else float) for v in (expected, found))
    largest = float(np.abs(a[np.isfinite(a)]).max(initial=0.0))
    limit = TOLERANCES.get(expected.dtype.name, 1e-4) * largest
    return "" if np.allclose(a, b, rtol=0, atol=limit, equal_nan=True) else f"differs by more than {limit:.1e}"


# --- The tests ---

@dataclasses.dataclass
class Tally:
    models: int = 0
    run: int = 0
    sites: int = 0
    rewritten: int = 0
    canonical: int = 0  # rewritten with a canonical rule
    wrong: list = dataclasses.field(default_factory=list)


def as_array(value):
    return numpy_helper.to_array(value) if isinstance(value, TensorProto) else value


def apply(model, pack, output, options):
    """The report; or what is wrong."""
    report = output.with_suffix(".json")
    output.unlink(missing_ok=True)
    done = tool("pet-apply", model, pack, "--all", "-o", output, "--verbose", "--json", report, *options)
    return json.loads(report.read_text()) if not done.returncode else f"exit code {done.returncode}: {done.stderr.strip()}"


def with_weights(case):
    """The model with its float inputs behind the first as initializers, and the inputs that are left; None where it has no such."""
    inputs = case.data_sets[0][0]
    if not any(n.op_type in WEIGHED for n in case.model.graph.node):
        return None
    form = onnx.ModelProto()
    form.CopyFrom(case.model)
    form.ir_version = max(form.ir_version, 4)
    weights = [(i, v) for i, v in list(zip(form.graph.input, inputs))[1:] if isinstance(v, np.ndarray) and v.dtype == np.float32]
    for i, value in weights:
        form.graph.initializer.append(numpy_helper.from_array(value, i.name))
        form.graph.input.remove(i)
    names = {i.name for i in form.graph.input}
    kept = {i.name: as_array(v) for i, v in zip(case.model.graph.input, inputs) if i.name in names}
    return (form, kept) if weights else None


def compare(model, inputs, pack, options, folder, engine, tally):
    """What is wrong with a model, empty if nothing is; and the report of the first run."""
    paths = original, *_ = [folder / f"{n}.onnx" for n in ["original", "once", "twice"]]
    original.write_bytes(model.SerializeToString())
    expected, first = engine.run(original, inputs), None
    tally.run += not isinstance(expected, str)
    for path, result in zip(paths, paths[1:]):
        report = apply(path, pack, result, options)
        if isinstance(report, str):
            return report, {}
        first = first or report
        same = path.read_bytes() == result.read_bytes()
        if same and report["fired"] or not same and not report["fired"]:
            return f"{len(report['fired'])} sites, and the bytes are {'equal' if same else 'others'}", report
        if same or isinstance(expected, str):
            break
        found = engine.run(result, inputs)
        wrong = found if isinstance(found, str) else difference(expected, found)
        if wrong:
            return f"{result.stem}, by {sorted({f['rule'] for f in report['fired']})}: {wrong}", report
    return "", first


def matched(report):
    return bool(report["fired"]) or any(r["rule"] for r in report["refusals"])


def try_case(case, packs, folder, engine, tally):
    small, canonical = packs
    inputs = {i.name: as_array(v) for i, v in zip(case.model.graph.input, case.data_sets[0][0])}
    wrong, report = compare(case.model, inputs, small, ["--numerics", "any"], folder, engine, tally)
    tally.models += 1
    tally.sites += bool(report) and matched(report)
    tally.rewritten += bool(report) and bool(report["fired"])
    tally.wrong += [f"{case.name}: {wrong}"] if wrong else []
    weighed = with_weights(case)
    if weighed:
        wrong, report = compare(*weighed, canonical, [], folder, engine, Tally())
        tally.canonical += bool(report) and bool(report["fired"])
        tally.wrong += [f"{case.name} with weights: {wrong}"] if wrong else []


def node_tests():
    import onnx.backend.test.case.node as node
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return node.collect_testcases()


def main():
    only = sys.argv[1] if len(sys.argv) > 1 else ""
    engine, tally = Engine(), Tally()
    cases = {case.name: case for case in node_tests() if only in case.name}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        os.environ["PET_SHARE"] = name  # no timings: --all needs none
        packs = pack_of(folder, laws(), SOURCE / "tests" / "cover" / "laws.pet"), made()
        for name in part.mine(cases):
            try_case(cases[name], packs, folder, engine, tally)
        engine.close()
    for line in tally.wrong:
        print(f"wrong: {line}", file=sys.stderr)
    print(f"{tally.models} models, {tally.run} run by ONNX Runtime, {tally.sites} with a site, {tally.rewritten} rewritten, "
          f"{tally.canonical} with weights by a canonical rule, wrong {len(tally.wrong)}")
    least = [(tally.run, LEAST_RUN), (tally.sites, LEAST_SITES), (tally.rewritten, LEAST_REWRITTEN), (tally.canonical, LEAST_CANONICAL)]
    parts = 2 * part.numbers()[1] if part.given() else 1  # of unequal size
    return 1 if tally.wrong or not only and any(found < wanted // parts for found, wanted in least) else 0


if __name__ == "__main__":
    sys.exit(main())
