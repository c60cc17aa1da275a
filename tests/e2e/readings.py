#!/usr/bin/env python3
"""Operators that views read away, Einsum and Pow: the reading is written where a rule is known to pay, and only there; it is checked,
and read as itself. Exit status 0 or 1.
"""

import sys
import tempfile

import numpy as np
from onnx import helper

from apply_dynamic import equal, timed
from apply_models import Workshop, expect, failures, floats, run, tensor

GRAPH = {"N": 2, "K": 3, "C": 4, "T": 5, "V": 6, "W": 6}
POWER = {"M": 40, "K": 6}
RULES = {"einsum-graph/by-definition": GRAPH, "pow-square/by-definition": POWER}


def einsum(equation, *operands, name="product"):
    return helper.make_node("Einsum", operands, [name], name=name, equation=equation)


def model(shop, name, equation="nkctv,kvw->nctw", exponent=2.0):
    """A graph convolution and the squares of its results."""
    nodes = [einsum(equation, "x", "a"), helper.make_node("Pow", ["product", "e"], ["y"], name="power")]
    return shop.model(name, nodes, [tensor("x", 2, 3, 4, 5, 6)], [tensor("y", 2, 4, 5, 6)],
                      {"a": floats(3, 6, 6), "e": np.float32(exponent)})


def gains(shop, pack, ratio):
    """Timings of both rules at the model's sizes."""
    lines = [timed(shop, pack, rule, [{"pattern": ratio * 1e-3, "replacement": 1e-3, "shapes": shapes}]).read_text()
             for rule, shapes in RULES.items()]
    file = shop.folder / f"{ratio}.timings.jsonl"
    file.write_text("".join(lines))
    return file


def written(shop, pack):
    file = gains(shop, pack, 2)
    report = shop.apply(model(shop, "graph"), pack, "--timings", file)
    expect("written", {(f["site"], f["rule"]) for f in report["fired"]} == set(zip(["product", "power"], RULES)), report["fired"])
    expect("written: operators", not {"Einsum", "Pow"} & set(shop.types) and {"MatMul", "Mul"} <= set(shop.types), shop.types)
    checked = {c["where"] for c in report["checks"] if c["possible"]}
    expect("written: checked", checked == {"whole model"} | {f"pet/{f['rule']}/{f['site']}" for f in report["fired"]}, report["checks"])
    once = (shop.folder / "out.onnx").read_bytes()
    shop.apply(model(shop, "graph"), pack, "--timings", file)
    expect("the same bytes", (shop.folder / "out.onnx").read_bytes() == once)
    again = shop.folder / "again.onnx"
    again.write_bytes(once)
    report = shop.apply(again, pack, "--timings", file)
    expect("applied twice", not report["fired"] and (shop.folder / "out.onnx").read_bytes() == once, report["fired"])


def kept(shop, pack):
    """Of what is not known to gain, every node stays."""
    for what, arguments, reason in [("not timed", [], "not tuned for this device"),
                                    ("no gain", ["--timings", gains(shop, pack, 0.5)], "measured 0.50, no gain")]:
        report = shop.apply(model(shop, "graph"), pack, *arguments)
        expect(f"{what}: nothing fires", not report["fired"] and shop.types == ["Einsum", "Pow"], report["fired"])
        reasons = {r["rule"]: r["reason"] for r in report["refusals"] if r["rule"]}
        expect(f"{what}: why", reasons == dict.fromkeys(RULES, reason), report["refusals"])


def others(shop, pack):
    """Another exponent or equation is no site, nor is what an exporter writes as a product."""
    report = shop.apply(model(shop, "others", "nkctv,kwv->nctw", 3.0), pack, "--all")
    expect("others", not report["fired"] and not report["refusals"], report)
    nodes = [helper.make_node("Transpose", ["x"], ["t"], perm=[0, 2, 3, 1, 4]), helper.make_node("Reshape", ["t", "merged"], ["u"]),
             helper.make_node("MatMul", ["u", "w"], ["v"]), helper.make_node("Mul", ["v", "v"], ["y"])]
    product = shop.model("product", nodes, [tensor("x", 2, 3, 4, 5, 6)], [tensor("y", 2, 4, 5, 6)],
                         {"merged": np.array([2, 4, 5, 18]), "w": floats(18, 6)})
    report = shop.apply(product, pack, "--all")
    expect("product", not report["fired"] and not report["refusals"], report)


def spellings(shop, pack):
    """Letters do not matter, nor dimensions that are dots, nor the order of the operands."""
    for number, equation in enumerate(["abcde,bef->acdf", "...kctv,kvw->...ctw", "nkctv, kvw -> nctw"]):
        report = shop.apply(model(shop, f"spelling{number}", equation), pack, "--all", "--only", "einsum-graph/*")
        expect(f"spelling {equation}", [f["site"] for f in report["fired"]] == ["product"], report)
    exchanged = shop.model("exchanged", [einsum("kvw,nkctv->nctw", "a", "x")], [tensor("x", 2, 3, 4, 5, 6)], [tensor("product", 2, 4, 5, 6)],
                           {"a": floats(3, 6, 6)})
    report = shop.apply(exchanged, pack, "--all")
    expect("exchanged", [f["site"] for f in report["fired"]] == ["product"], report)


def scaled(shop):
    """Scores that a number scales: it goes to the queries, and the rest is what the Einsum of those is."""
    nodes = [einsum("bhid,bhjd->bhij", "q", "k"), helper.make_node("Mul", ["product", "scale"], ["scores"], name="scaled"),
             helper.make_node("Softmax", ["scores"], ["y"], axis=-1)]
    sizes = {"q": [2, 3, 7, 4], "k": [2, 3, 5, 4], "y": [2, 3, 7, 5]}
    for name, outputs, sites in [("scaled", ["y"], ["scaled"]), ("scaled-and-read", ["y", "product"], [])]:
        graph = shop.model(name, nodes, [tensor(v, *sizes[v]) for v in "qk"],
                           [tensor(v, *sizes["y"]) for v in outputs], {"scale": np.float32(0.5)})
        report = shop.apply(graph, shop.pack("einsum-scores"), "--all")
        expect(name, [f["site"] for f in report["fired"]] == sites and ("Einsum" in shop.types) != bool(sites), report)


def explained(shop, pack):
    said = run("pet-apply", model(shop, "graph"), pack, "--explain", "product").stdout
    expect("explained", "einsum-graph/by-definition" in said and "not tuned" in said, said)


def open_sizes(shop, pack):
    """Sizes that the model leaves open stay open."""
    nodes = [einsum("nkctv,kvw->nctw", "x", "a")]
    graph = shop.model("open", nodes, [tensor("x", "batch", 3, 4, "frames", 6)], [tensor("product", "batch", 4, "frames", 6)],
                       {"a": floats(3, 6, 6)})
    report = shop.apply(graph, pack, "--all", same=False)
    expect("open", [f["site"] for f in report["fired"]] == ["product"] and "MatMul" in shop.types, report)
    equal("open", graph, shop.folder / "out.onnx", [(1, 3, 4, 1, 6), (3, 3, 4, 7, 6)])


def main():
    with tempfile.TemporaryDirectory() as folder:
        shop = Workshop(folder)
        pack = shop.pack("readings")
        shown = run("pet-rules", "show", pack, "einsum-graph/by-definition").stdout
        expect("shown", 'equation="nkctv,kvw->nctw"' in shown and "MatMul" in shown, shown)
        for case in [written, kept, others, spellings, explained, open_sizes]:
            case(shop, pack)
        scaled(shop)
    print("\n".join(failures) or "readings are written where they pay")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
