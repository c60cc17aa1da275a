"""Types and extents that pet infers (pet-apply --types), against what is true and against ONNX's own inference.

Every node test of the onnx package is run through it in four forms: as it is; with small inputs as initializers; with a symbol
for every extent of its inputs; with a symbol for every value of extents, and sizes as initializers. The declarations of results
are taken out, so that nothing is known but what is inferred. What pet says of a result must be what the test's data have, symbols
evaluated; no test may be a problem. What ONNX's inference knows, and every value of the package's models, pet must know as well.

With PET_TEST_PART=K/N the K-th part of them. `infer.py --signatures` prints applier/infer/signatures.inc, from the onnx package.
"""

import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import onnx
import onnx.defs
import onnx.shape_inference
from onnx import TensorProto, numpy_helper

import _part as part

BIN = pathlib.Path(os.environ.get("PET_BIN", "build/bin"))
SOURCE = pathlib.Path(os.environ.get("PET_SOURCE", "."))
LEAST_RESULTS, LEAST_KNOWN, LEAST_ENTRIES = 14_000, 13_100, 5_700  # that are compared; of which everything is known
# What ONNX's inference knows and pet does not, and why.
LESS_THAN_ONNX = {
    "test_resize_downsample_sizes_nearest_not_smaller/constants": "engines round a half up, down or to even",
    **{f"test_{scan}/{form}": "what a body hands on may be broadcast to another extent each time"
       for scan in ["scan9_sum", "scan9_multi_state", "linear_attention_gated_delta_mqa_expanded"] for form in ["symbols", "both"]},
    **{f"test_affine_grid_{rank}{corners}_expanded/{form}": "a branch for images of another rank, which is never taken, fits no operands"
       for rank in ["2d", "3d"] for corners in ["", "_align_corners"] for form in ["as it is", "constants", "symbols", "both"]},
    **{f"test_scan_sum/{form}": "a Scan of opset 8, over batches" for form in ["as it is", "constants", "symbols", "both"]},
}


# --- Signatures ---

KINDS = {"INT": "i", "FLOAT": "f", "STRING": "s", "INTS": "is", "FLOATS": "fs", "STRINGS": "ss", "TENSOR": "t", "GRAPH": "g",
         "SPARSE_TENSOR": "p", "TYPE_PROTO": "y"}


def slot(schema, parameter):
    """One operand or result, as applier/infer/signatures.h says."""
    allowed = next((list(c.allowed_type_strs) for c in schema.type_constraints if c.type_param_str == parameter.type_str),
                   [parameter.type_str])
    tensors = [t for t in allowed if t.startswith("tensor(")]
    name = allowed[0][len("tensor("):-1] if len(allowed) == 1 and tensors else parameter.type_str
    if not tensors:
        name = "$" + name
    option = int(getattr(parameter.option, "value", parameter.option))
    if option == 2 and not parameter.is_homogeneous:
        name = "_"
    return name + ["", "?", "+" if parameter.min_arity else "*"][option]


def signature(schema):
    attributes = sorted(f"{a.name}:{KINDS[a.type.name]}{'!' if a.required else ''}" for a in schema.attributes.values())
    inputs, outputs = ([slot(schema, p) for p in parameters] for parameters in (schema.inputs, schema.outputs))
    return tuple(" ".join(words) for words in (inputs, outputs, attributes))


def signatures():
    """The table's rows: operators of opset 7 and later, a row where something changes."""
    schemas = collections.defaultdict(list)
    for s in onnx.defs.get_all_schemas_with_history():
        if s.domain == "" and not s.deprecated and s.support_level == onnx.defs.OpSchema.SupportType.COMMON:
            schemas[s.name].append(s)
    for name in sorted(schemas):
        versions = sorted(schemas[name], key=lambda s: s.since_version)
        last = None
        for s in [s for s in versions if s.since_version <= 7][-1:] + [s for s in versions if s.since_version > 7]:
            row = signature(s)
            if row != last:
                yield "{" + f'"{name}", {s.since_version}, ' + ", ".join(f'"{part}"' for part in row) + "},"
            last = row


# --- pet's answer ---

def infer(model, folder, *options):
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    done = subprocess.run([BIN / "pet-apply", path, "--types", *options], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def evaluated(extent, symbols):
    """The value of an extent as pet prints it; None where a symbol is not known."""
    if isinstance(extent, int):
        return extent
    text = extent.replace("floor((", "FLOOR((")
    tokens = re.findall(r"FLOOR|[A-Za-z_][\w']*|\d+|[-+/(){}]", text)
    code, last = "", ""
    for t in tokens:
        value = re.match(r"[\w({]", t)
        if last and value and re.match(r"[\w)}]", last[-1]) and last != "FLOOR":
            code += "*"
        if re.match(r"[A-Za-z_]", t) and t != "FLOOR":
            if t not in symbols:
                return None
            code += str(symbols[t])
        else:
            code += {"FLOOR": "", "/": "//", "{": "(", "}": ")"}.get(t, t)
        last = t
    return eval(code)  # digits and operators only


# --- Forms of a test ---

def without_declarations(model):
    bare = onnx.ModelProto()
    bare.CopyFrom(model)
    del bare.graph.value_info[:]
    for o in bare.graph.output:
        if o.type.HasField("tensor_type"):
            o.type.Clear()
    return bare


def as_tensor(value):
    return value if isinstance(value, TensorProto) else numpy_helper.from_array(np.asarray(value))


def is_size(value):
    """A tensor of sizes, axes, scales or the like."""
    return isinstance(value, (np.ndarray, np.generic)) and np.asarray(value).size <= 64 and \
        np.asarray(value).dtype in (np.int64, np.int32, np.bool_, np.float32)


def with_constants(model, inputs):
    """Small inputs as initializers."""
    form = without_declarations(model)
    kept = []
    for i, value in zip(list(form.graph.input), inputs):
        if value is not None and i.type.HasField("tensor_type") and is_size(value):
            tensor = as_tensor(value)
            tensor.name = i.name
            form.graph.initializer.append(tensor)
        else:
            kept.append(i)
    del form.graph.input[:]
    form.graph.input.extend(kept)
    form.ir_version = max(form.ir_version, 4)
    return form


def with_symbols(model, inputs, constants=False):
    """A symbol for each extent of the inputs; with constants, one for each value of extents, and sizes as initializers.
    Returns the model and the symbols' values."""
    form = with_constants(model, [v if is_size(v) and np.asarray(v).dtype != np.float32 else None for v in inputs]) \
        if constants else without_declarations(model)
    values = {}
    for n, i in enumerate(form.graph.input):
        if not i.type.HasField("tensor_type"):
            continue
        for d, dim in enumerate(i.type.tensor_type.shape.dim):
            if dim.dim_value < 1:
                continue  # symbols are of 1 or more
            symbol = f"e{dim.dim_value}" if constants else f"s{n}_{d}"
            values[symbol] = dim.dim_value
            dim.dim_param = symbol
    return form, values


# --- Comparison ---

def looks_into(model):
    """pet has rules for all nodes: no other domains but the model's functions, no inputs that are not tensors."""
    functions = {(f.domain, f.name) for f in model.functions}
    return all(n.domain in ("", "ai.onnx") and n.op_type != "SequenceMap" or (n.domain, n.op_type) in functions for n in model.graph.node) \
        and all(i.type.HasField("tensor_type") for i in model.graph.input)


def declared(graph, path=""):
    """All values of known type, by name; those of subgraphs behind the paths of their nodes."""
    for value in list(graph.output) + list(graph.value_info):
        yield path + value.name, value
    for n in graph.node:
        for a in n.attribute:
            yield from declared(a.g, f"{path}{n.name or n.output[0]}/{a.name}/")


class Tally:
    def __init__(self):
        self.wrong, self.problems, self.less, self.not_looked_into, self.open = [], [], [], [], collections.Counter()
        self.results, self.whole, self.entries = 0, 0, 0

    def compare(self, where, said, actual, symbols):
        """`actual`: element type, extents and values of a result; no extents where the data do not say."""
        element, extents, values = actual
        self.results += 1
        if said["code"] not in (0, element):
            self.wrong.append(f"{where}: element type {said['element']}, actually {element}")
        known = said["code"] == element and "extents" in said
        if "extents" in said and extents is not None:
            if len(said["extents"]) != len(extents):
                self.wrong.append(f"{where}: extents {said['extents']}, actually {extents}")
                return
            for s, a in zip(said["extents"], extents):
                value = evaluated(s, symbols)
                known = known and value is not None
                if value is not None and value != a:
                    self.wrong.append(f"{where}: extents {said['extents']}, actually {extents}")
        for entry, value in zip(said.get("entries", []), values):
            entry = evaluated(entry, symbols) if isinstance(entry, str) else entry
            self.entries += entry is not None
            if entry is not None and not np.isclose(float(entry), float(value), rtol=1e-6):
                self.wrong.append(f"{where}: entries {said['entries']}, actually {values}")
                break
        self.whole += known
        if not known:
            self.open[where] += 1

    def compare_with_onnx(self, where, model, said, actual):
        less = self.less if looks_into(model) else self.not_looked_into
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                other = onnx.shape_inference.infer_shapes(model, data_prop=True)
        except Exception:  # it refuses some of its own tests
            return
        for name, o in declared(other.graph):
            if not o.type.HasField("tensor_type") or name not in said:
                continue
            ours, theirs = said[name], o.type.tensor_type
            if theirs.elem_type and not ours["code"]:
                less.append(f"{where}: element type of {o.name}")
            if not theirs.HasField("shape"):
                continue
            if "extents" not in ours:
                less.append(f"{where}: rank of {o.name} ({len(theirs.shape.dim)})")
                continue
            for i, d in enumerate(theirs.shape.dim):
                if not d.dim_value or (o.name in actual and d.dim_value != actual[o.name][1][i]):
                    continue  # it is wrong: it takes an extent that it does not know for 0, for one
                mine = ours["extents"][i] if i < len(ours["extents"]) else None
                if mine != d.dim_value:
                    kind = less if isinstance(mine, str) else self.wrong
                    kind.append(f"{where}: extent {i} of {o.name}: {d.dim_value}, pet: {mine}")


def actual_results(case):
    """By name: element type, extents and values of the tensors that the test's data hold."""
    results = {}
    for inputs, outputs in case.data_sets:
        for o, value in zip(case.model.graph.output, outputs):
            if not o.type.HasField("tensor_type"):
                continue
            extents = list(value.dims) if isinstance(value, TensorProto) else list(np.shape(value))
            values = [] if isinstance(value, TensorProto) else np.asarray(value).reshape(-1)
            results[o.name] = (o.type.tensor_type.elem_type, extents, values)
    return results


def compare_case(case, folder, tally):
    inputs = case.data_sets[0][0]
    actual = actual_results(case)
    forms = [("as it is", without_declarations(case.model), {}), ("constants", with_constants(case.model, inputs), {}),
             ("symbols", *with_symbols(case.model, inputs)), ("both", *with_symbols(case.model, inputs, True))]
    seen = set()
    for name, model, symbols in forms:
        text = model.SerializeToString(deterministic=True)
        if text in seen:
            continue
        seen.add(text)
        said = infer(model, folder)
        where = f"{case.name}/{name}"
        tally.problems += [f"{where}: {p['what']}" for p in said["problems"]]
        for result, value in actual.items():
            if result in said["values"]:
                tally.compare(f"{where}/{result}", said["values"][result], value, symbols)
        tally.compare_with_onnx(where, model, said["values"], actual)


def node_tests():
    import onnx.backend.test.case.node as node
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return node.collect_testcases()


def model_tests():
    """Whole models that the package has, by name."""
    data = pathlib.Path(onnx.__file__).parent / "backend" / "test" / "data"
    for path in sorted(data.glob("*/*/model.onnx")) + sorted(data.glob("light/*.onnx")):
        model = onnx.load(path)
        if opset_of(model) >= 7:
            yield path.parent.name if path.name == "model.onnx" else path.stem, model


def opset_of(model):
    return max([o.version for o in model.opset_import if o.domain in ("", "ai.onnx")], default=0)


def compare_model(name, model, folder, tally):
    """Every value against ONNX's inference, with what the file declares taken out."""
    bare = without_declarations(model)
    said = infer(bare, folder, "--freeze-inputs")
    tally.problems += [f"{name}: {p['what']}" for p in said["problems"]]
    tally.compare_with_onnx(name, bare, said["values"], {})
    tally.results += len(said["values"])
    tally.whole += sum(v["code"] > 0 and "extents" in v and all(isinstance(e, int) for e in v["extents"])
                       for v in said["values"].values())


def check_signatures():
    text = (SOURCE / "applier" / "infer" / "signatures.inc").read_text().splitlines()
    wanted = list(signatures())
    assert [line for line in text if line.startswith("{")] == wanted, "signatures.inc is not of this onnx package (--signatures)"
    newest = re.search(r"kNewestOpset = (\d+)", (SOURCE / "applier" / "onnx" / "graph.h").read_text())
    assert int(newest[1]) == onnx.defs.onnx_opset_version()
    print(f"{len(wanted)} signatures")


def compare_all(only):
    tally = Tally()
    with tempfile.TemporaryDirectory() as folder:
        cases = {case.name: case for case in node_tests() if only in case.name}
        for case in [cases[name] for name in part.mine(cases)]:
            compare_case(case, pathlib.Path(folder), tally)
        models = dict(model_tests())
        for name in part.mine(name for name in models if only in name):
            compare_model(name, models[name], pathlib.Path(folder), tally)
    return tally


def main():
    if sys.argv[1:] == ["--signatures"]:
        print("\n".join(signatures()))
        return 0
    check_signatures()
    only = sys.argv[1] if len(sys.argv) > 1 else ""  # part of a test's name
    tally = compare_all(only)
    less = [line for line in tally.less if line.split(":")[0] not in LESS_THAN_ONNX]
    for what, lines in [("wrong", tally.wrong), ("a problem", tally.problems), ("less than ONNX", less)]:
        for line in lines:
            print(f"{what}: {line}")
    if only:
        print("\n".join(f"open: {where}" for where in tally.open))
    print(f"{tally.entries} entries")
    print(f"{tally.results} results, of {tally.whole} everything is known; {len(tally.open)} of the tests' depend on data or on "
          f"what pet does not look into (other domains, sequences as inputs: {len(tally.not_looked_into)} of ONNX's facts)")
    parts = 2 * part.numbers()[1]  # of unequal size
    least = [(tally.results, LEAST_RESULTS), (tally.whole, LEAST_KNOWN), (tally.entries, LEAST_ENTRIES)]
    enough = only or all(found >= (wanted if not part.given() else wanted // parts) for found, wanted in least)
    return 1 if tally.wrong or tally.problems or less or not enough else 0


if __name__ == "__main__":
    sys.exit(main())
