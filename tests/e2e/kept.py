#!/usr/bin/env python3
"""What pet-apply does not rewrite is written back as it was: a model with everything that ONNX has a place for, in which a rule
fires. Exit status 0 or 1.
"""

import copy
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import apply_models
from apply_models import Workshop, conv, expect, failures, floats, run, tensor

IMAGE = [1, 2, 6, 6]


def sparse(name, *extents):
    """Two values of many."""
    values = numpy_helper.from_array(np.array([0.5, -2.0], np.float32), name)
    return helper.make_sparse_tensor(values, numpy_helper.from_array(np.array([1, 7], np.int64), f"{name}_indices" if name else ""), extents)


CONSTANTS = {  # each form: the node's attribute, and the type of its value
    "value": (numpy_helper.from_array(floats(3)), TensorProto.FLOAT, [3]),
    "sparse_value": (sparse("", 3, 4), TensorProto.FLOAT, [3, 4]),
    "value_float": (1.5, TensorProto.FLOAT, []),
    "value_floats": ([1.5, 2.5], TensorProto.FLOAT, [2]),
    "value_int": (7, TensorProto.INT64, []),
    "value_ints": ([7, 8, 9], TensorProto.INT64, [3]),
    "value_string": ("text", TensorProto.STRING, []),
    "value_strings": (["two", "texts"], TensorProto.STRING, [2]),
}


def said(proto, text):
    """With a doc string and, where there is a place, metadata."""
    proto.doc_string = f"about {text}"
    if hasattr(proto, "metadata_props"):
        proto.metadata_props.add(key="somebody.says", value=text)
    return proto


def nodes():
    """Two nodes of one name, nodes without one, operands and results that are left out."""
    yield conv("x", "v", "a", name="same")
    yield said(helper.make_node("Relu", ["a"], ["r"], name="same"), "Relu")
    yield conv("r", "w", "b", name="")
    yield helper.make_node("Clip", ["b", "", "limit"], ["c"], name="")
    yield helper.make_node("Dropout", ["c"], ["d", ""])
    yield helper.make_node("Add", ["d", "thin"], ["y"])
    for form, (value, _, _) in CONSTANTS.items():
        yield said(helper.make_node("Constant", [], [form], name=f"the {form}", **{form: value}), form)


def annotation(name):
    made = onnx.TensorAnnotation(tensor_name=name)
    made.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="limit")
    return made


def training():
    """A step that adds the gradient of nothing."""
    step = helper.make_graph([helper.make_node("Add", ["w", "w"], ["w_next"])], "step", [], [tensor("w_next", 2, 2, 3, 3)])
    info = onnx.TrainingInfoProto(algorithm=step)
    info.update_binding.add(key="w", value="w_next")
    return info


def everything():
    outputs = [tensor("y", *IMAGE)] + [helper.make_tensor_value_info(form, element, extents) for form, (_, element, extents) in CONSTANTS.items()]
    constants = [numpy_helper.from_array(v, k) for k, v in {"v": floats(2, 2, 3, 3), "w": floats(2, 2, 3, 3), "limit": np.float32(6)}.items()]
    graph = helper.make_graph(list(nodes()), "everything", [said(tensor("x", *IMAGE), "the image")], outputs, [said(c, c.name) for c in constants])
    graph.sparse_initializer.append(sparse("thin", *IMAGE))
    graph.value_info.extend([said(tensor("r", *IMAGE), "what is positive"), said(tensor("gone", *IMAGE), "of a value that is not there")])
    graph.quantization_annotation.extend([annotation("x"), annotation("r"), annotation("gone")])
    model = helper.make_model(said(graph, "the graph"), opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("somebody", 3)], ir_version=10,
                              producer_name="tests", producer_version="7", domain="com.somebody", model_version=12)
    model.training_info.append(training())
    return said(model, "the model")


def shape_of_the_rest(model, gone):
    """The model without what a rule may change: these nodes and weights, those of pet's, and pet's metadata."""
    rest = copy.deepcopy(model)
    for field, ours in [(rest.graph.node, lambda n: n.op_type in gone or n.name.startswith("pet/")),
                        (rest.graph.initializer, lambda t: t.name in gone or t.name.startswith("pet/")),
                        (rest.metadata_props, lambda m: m.key.startswith("pet."))]:
        kept = [item for item in field if not ours(item)]
        del field[:]
        field.extend(kept)
    return rest


def kept(shop):
    original, path = everything(), shop.folder / "everything.onnx"
    onnx.save(original, path)
    report = shop.apply(path, shop.pack("conv"), "--all", same=False)
    expect("a rule fires", [f["rule"] for f in report["fired"]] == ["conv/transposed"] * 2, report["fired"])
    gone = {"Conv", "ConvTranspose", "v", "w"}
    before, after = (shape_of_the_rest(m, gone) for m in (original, shop.output))
    for field, _ in before.ListFields():
        if field.name != "graph":
            expect(f"the model's {field.name}", getattr(before, field.name) == getattr(after, field.name), getattr(after, field.name))
    for field, _ in before.graph.ListFields():
        expect(f"the graph's {field.name}", getattr(before.graph, field.name) == getattr(after.graph, field.name), getattr(after.graph, field.name))
    expect("all", before == after)
    said_of_rules = {m.key: m.value for m in shop.output.metadata_props}
    expect("what others say", said_of_rules["somebody.says"] == "the model" and said_of_rules["pet.rules"] == "conv/transposed", said_of_rules)


def results(model):
    """What ONNX Runtime computes, which takes no two nodes of one name and gives sparse values in a form of its own."""
    model = copy.deepcopy(model)
    for i, node in enumerate(model.graph.node):
        node.name = f"node {i}"
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run([o.name for o in model.graph.output if o.name != "sparse_value"], {"x": floats(*IMAGE)})


def equal(shop):
    """ONNX Runtime computes the same, of all outputs."""
    computed = [results(model) for model in (everything(), shop.output)]
    for form, a, b in zip(["y", *(form for form in CONSTANTS if form != "sparse_value")], *computed):
        same = np.allclose(a, b, rtol=1e-5, atol=1e-5) if np.issubdtype(np.asarray(a).dtype, np.floating) else np.array_equal(a, b)
        expect(f"the result {form}", same, (a, b))


def inferred(shop):
    """Every form of a constant has a type."""
    values = apply_models.json.loads(run("pet-apply", shop.folder / "everything.onnx", "--types").stdout)["values"]
    for form, (_, element, extents) in CONSTANTS.items():
        expect(f"the type of {form}", (values[form]["code"], values[form].get("extents")) == (element, extents), values[form])
    expect("the type of a sparse initializer", values["thin"].get("extents") == IMAGE, values.get("thin"))


def versions(shop):
    """Each version of the format, and the next one. Before version 4 every initializer is an input as well."""
    for version in range(3, onnx.IR_VERSION + 2):
        old = version < 4
        inputs = [tensor("x", 1, 2, 6, 6)] + ([tensor("w", 3, 2, 3, 3)] if old else [])
        model = shop.model("version", [conv("x", "w", "y")], inputs, [tensor("y", 1, 3, 6, 6)], {"w": floats(3, 2, 3, 3)}, opset=8, ir_version=version)
        report = shop.apply(model, shop.pack("conv"), "--all", *(["--freeze-inputs"] if old else []), same=False)
        expect(f"version {version}", len(report["fired"]) == 1 and shop.output.ir_version == version, report)
        if version <= onnx.IR_VERSION:
            onnx.checker.check_model(shop.output, full_check=True)


def branching(shop):
    """A Conv in each branch of an If, in front of it one of open extents."""
    branches = {f"{name}_branch": helper.make_graph([conv("a", "w", name)], name, [], [tensor(name, "n", 2, "h", 6)]) for name in ["then", "else"]}
    nodes = [conv("x", "v", "a"), helper.make_node("If", ["c"], ["y"], **branches)]
    return shop.model("branching", nodes, [tensor("x", "n", 2, "h", 6), tensor("c", element=TensorProto.BOOL)], [tensor("y", "n", 2, "h", 6)],
                      {"v": floats(2, 2, 3, 3), "w": floats(2, 2, 3, 3)})


def repeated(shop):
    """The same model gives the same bytes."""
    for model in [shop.folder / "everything.onnx", branching(shop)]:
        written = []
        for _ in range(2):
            report = shop.apply(model, shop.pack("conv"), "--all", same=False)
            written.append((shop.folder / "out.onnx").read_bytes())
        expect(f"{model.name} twice", len(report["fired"]) > 1 and written[0] == written[1], report["fired"])


def main():
    with tempfile.TemporaryDirectory() as folder:
        shop = Workshop(folder)
        for test in [kept, equal, inferred, repeated, versions]:
            test(shop)
    print("\n".join(failures) if failures else "what is not rewritten is kept")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
