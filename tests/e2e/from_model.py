#!/usr/bin/env python3
"""pet-synth --from: patterns of two small models, the rules found for them, and those rules back on the models."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

import onnx

SOURCE = pathlib.Path(os.environ.get("PET_SOURCE", pathlib.Path(__file__).parents[2]))
BIN = pathlib.Path(os.environ.get("PET_BIN", SOURCE / "build" / "bin"))
sys.path.insert(0, str(SOURCE / "tests" / "models"))
import graph  # noqa: E402
import compare  # noqa: E402

failures = []


def expect(name, condition, detail=""):
    if not condition:
        failures.append(f"{name}: {detail}" if detail else name)


def run(tool, *arguments, code=0):
    done = subprocess.run([str(BIN / tool), *map(str, arguments)], capture_output=True, text=True, timeout=120)
    expect(f"{tool} {' '.join(map(str, arguments))}", done.returncode == code,
           f"exit code {done.returncode} instead of {code}: {done.stderr[-2000:]}")
    return done


def branches():
    """An Inception-like block: two pointwise convolutions of the input, a pool, joined."""
    g = graph.Graph("branches", [1, 8, 10, 10])
    a = g.conv("a", "input", 8, 6, 1)
    b = g.conv("b", "input", 8, 4, 1)
    c = g.node("MaxPool", "c", ["input"], kernel_shape=[3, 3], strides=[1, 1], pads=[1] * 4)
    return g.model(g.node("Concat", "joined", [g.relu("ra", a), g.relu("rb", b), c], axis=1), [1, 18, 10, 10])


def residual():
    """A residual block that halves the image, its shortcut a pointwise convolution, and a classifier."""
    g = graph.Graph("residual", [1, 6, 12, 12])
    x = g.conv("c2", g.relu("r", g.conv("c1", "input", 6, 8, 3, stride=2, pad=1)), 8, 8, 3, pad=1)
    x = g.relu("out", g.node("Add", "sum", [x, g.conv("short", "input", 6, 8, 1, stride=2)]))
    x = g.node("Flatten", "flat", [g.node("GlobalAveragePool", "pool", [x])])
    w = g.constant("w", graph.uniform("residual", "w", [8, 5], -1, 1))
    return g.model(g.node("MatMul", "classes", [x, w]), [1, 5])


def save(folder, name, model):
    path = folder / f"{name}.onnx"
    onnx.save(model, path)
    return path


def mined(text):
    """{"subgraphs": …}, of the first line of the report."""
    words = text.splitlines()[0].replace(":", "").replace(",", "").split()
    return {"subgraphs": int(words[0]), "distinct": int(words[words.index("distinct") - 1]),
            "patterns": int(words[words.index("patterns") - 1]), "known": int(words[words.index("known") - 1]),
            "new": int(words[words.index("new") - 1])}


def applies(folder, models):
    """Rules of the models' own patterns fire in them, and what comes out is the same function."""
    pack = folder / "mine.db"
    report = run("pet-synth", *(a for m in models for a in ("--from", m)), "-o", pack).stderr
    counts = mined(report)
    expect("the report's counts", counts["subgraphs"] >= counts["distinct"] >= 20 and counts["new"] >= 20
           and counts["known"] >= 2, counts)
    expect("a line per pattern in the summary", f"{'pattern':<18}" in report)
    run("pet-rules", "verify", pack)
    fired = {}
    for model in models:
        out, told = folder / "out.onnx", folder / "fired.json"
        run("pet-apply", model, pack, "--all", "-o", out, "--json", told)
        fired[model.stem] = [f["rule"] for f in json.loads(told.read_text())["fired"]]
        found = compare.compare(model, out)
        expect(f"{model.stem}: the same function", found.relative < 1e-5, found)
    expect("rules of the models' patterns fire in them", all(fired.values()), fired)
    return pack


def repeats(folder, models, pack):
    """The same bytes in any order of models and for any number of threads, and from the written patterns."""
    again = folder / "again.db"
    run("pet-synth", "--from", models[1], "--from", models[0], "-j", 1, "-q", "-o", again)
    expect("same bytes", again.read_bytes() == pack.read_bytes())
    patterns = folder / "patterns"
    done = run("pet-synth", *(a for m in models for a in ("--from", m)), "--from-patterns", patterns)
    expect("as many files as new patterns", len(list(patterns.glob("*.pet"))) == mined(done.stderr)["new"])
    run("pet-synth", "--patterns", patterns, "-q", "-o", again)
    expect("the written patterns give the same pack", again.read_bytes() == pack.read_bytes())
    done = run("pet-synth", "--from", models[0], "--patterns", patterns, "--from-patterns", folder / "none")
    expect("what is given is known", mined(done.stderr)["new"] == 0, done.stderr)


def bounds(folder, models):
    done = run("pet-synth", "--from", models[0], "--from-size", 1, "--from-patterns", folder / "one")
    expect("one operator", all(len([line for line in p.read_text().splitlines() if " = " in line]) == 1
                               for p in (folder / "one").iterdir()))
    done = run("pet-synth", "--from", models[0], "--from-most", 2, "--from-patterns", folder / "two")
    expect("so many and no more", len(list((folder / "two").iterdir())) == 2 and "more are left out" in done.stderr)


def folders(folder, models):
    """A folder stands for the models in it."""
    found = []
    (folder / "models").mkdir()
    for model in models:
        (folder / "models" / model.name).write_bytes(model.read_bytes())
    for n, sources in enumerate([models, [folder / "models"]]):
        run("pet-synth", *(a for m in sources for a in ("--from", m)), "--from-patterns", folder / f"folders{n}")
        found.append({p.name for p in (folder / f"folders{n}").iterdir()})
    expect("a folder", len(found[0]) >= 20 and found[0] == found[1], found)


def opened(folder, models):
    """A model whose batch is left open has the patterns of the same model with a number there."""
    model = onnx.load(models[0])
    for value in [*model.graph.input, *model.graph.output]:
        value.type.tensor_type.shape.dim[0].dim_param = "batch"
    del model.graph.value_info[:]
    path = save(folder, "opened", model)
    found = []
    for n, source in enumerate([models[0], path]):
        patterns = folder / f"opened{n}"
        run("pet-synth", "--from", source, "--from-patterns", patterns)
        found.append({p.name for p in patterns.iterdir()})
    expect("an open batch", len(found[0]) >= 5 and found[0] == found[1], found)


def errors(folder, models):
    def refused(name, code, *words, arguments):
        before = sorted(folder.iterdir())
        done = run("pet-synth", *arguments, code=code)
        lines = done.stderr.splitlines()
        expect(name, len(lines) == 1 and all(w in lines[0] for w in words), done.stderr)
        expect(name, sorted(folder.iterdir()) == before, "something was written")

    out = ["-o", folder / "no.db"]
    garbage, cut, strange = folder / "garbage.onnx", folder / "cut.onnx", folder / "strange.onnx"
    garbage.write_bytes(b"this is no model")
    cut.write_bytes(models[0].read_bytes()[:-100])
    g = graph.Graph("strange", [1, 4])
    onnx.save(g.model(g.node("NonZero", "n", ["input"]), [2, 4]), strange)
    refused("no file", 3, "missing.onnx", arguments=["--from", folder / "missing.onnx", *out])
    (folder / "empty").mkdir()
    refused("a folder without models", 3, "empty", "no .onnx file", arguments=["--from", folder / "empty", *out])
    refused("no model", 3, "garbage.onnx", arguments=["--from", garbage, *out])
    refused("a broken model", 3, "cut.onnx", arguments=["--from", cut, *out])
    refused("nothing that is known", 3, "strange.onnx", "none of its operators", arguments=["--from", strange, *out])
    for size in (0, 6, "x"):
        refused(f"size {size}", 2, "--from-size", arguments=["--from", models[0], "--from-size", size, *out])
    refused("no --from", 2, "--from", arguments=["--from-size", 2, *out])
    refused("patterns or a pack", 2, "--from-patterns", arguments=["--from", models[0], "--from-patterns", folder / "p", *out])
    refused("over the model", 2, "branches.onnx", arguments=["--from", models[0], "-o", models[0]])


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        models = [save(folder, "branches", branches()), save(folder, "residual", residual())]
        errors(folder, models)
        pack = applies(folder, models)
        repeats(folder, models, pack)
        bounds(folder, models)
        opened(folder, models)
        folders(folder, models)
    print("\n".join(failures) or "the models' own patterns are found, searched, and their rules apply")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
