#!/usr/bin/env python3
"""pet-tune on the real engine at two tiny points, and with runners that misbehave. Exit status 0 or 1."""

import json
import os
import pathlib
import re
import sqlite3
import subprocess
import sys
import tempfile
import textwrap

import numpy as np
import onnx

SOURCE = pathlib.Path(os.environ.get("PET_SOURCE", pathlib.Path(__file__).parents[2]))
BIN = pathlib.Path(os.environ.get("PET_BIN", SOURCE / "build" / "bin"))
sys.path.insert(0, str(SOURCE / "tests" / "models"))
from timed import samples  # noqa: E402

RUNNER = SOURCE / "runtime" / "ort" / "runner.py"
GRID = {"ties": {"W": "H", "S": "R", "P": "floor((R - 1)/2)", "Q": "P"},
        "patterns": {"conv": {"points": [{"N": 1, "C": 8, "F": 1, "H": 12, "R": 3}, {"N": 2, "C": 8, "F": 8, "H": 7, "R": 3}]}}}
failures = []

# A runner that says hello, then does what its body says for each request of times; `count` is how many came before.
FAKE = """
import json, os, sys, time
def times(models, **more):
    n = len(models)
    return {"samples": [[2.0, 2.0]] * n, "median": [2.0] + [1.0] * (n - 1), "p10": [1.0] * n, "p90": [2.0] * n,
            "max_abs_diff": [0.0] * n, "max_abs": 1.0, **more}
def answer(x):
    print(x if isinstance(x, str) else json.dumps(x), flush=True)
state = sys.argv[0] + ".count"
for line in sys.stdin:
    request = json.loads(line)
    if request["cmd"] == "hello":
        answer({"engine": "fake", "version": "7", "isa": "abacus", "cpu": "beads"})
        continue
    count = int(open(state).read()) if os.path.exists(state) else 0
    open(state, "w").write(str(count + 1))
    models = request["models"]
"""
GOOD = "answer(times(models))"


def expect(name, condition, detail=""):
    if not condition:
        failures.append(f"{name}: {detail}" if detail else name)


def tune(pack, output, *arguments):
    python = [] if "--python" in arguments else ["--python", sys.executable]
    calibration = [] if "--show" in arguments else ["--no-calibrate"]
    command = [BIN / "pet-tune", pack, "-o", output, *python, *calibration, *arguments]
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=250)


def fake(folder, name, body):
    path = folder / f"{name.replace(' ', '-')}.py"
    path.write_text(FAKE + textwrap.indent(body, "    ") + "\n")
    return path


def one_line(name, done, code, *words):
    lines = done.stderr.splitlines()
    expect(name, done.returncode == code, f"exit code {done.returncode} instead of {code}: {done.stderr!r}")
    expect(name, len(lines) == 1 and lines[0].startswith("pet-tune: ") and all(w in lines[0] for w in words), done.stderr)


def check_real(folder, pack, grid):
    """The real engine: samples are stored, a second run keeps them, the subgraphs are what they should be."""
    timings, models = folder / "ort-cpu.jsonl", folder / "models"
    arguments = ["--shapes", grid, "--runner", RUNNER, "--runs", 5, "--seconds", 0.2, "--keep", models]
    done = tune(pack, timings, *arguments)
    expect("real", done.returncode == 0 and "A/A control: " in done.stdout, done.stderr)
    stored = samples(timings)
    expect("real", len(stored) == 2, f"{len(stored)} samples")
    text = timings.read_bytes() if timings.exists() else b""
    for key, value in {"name": "conv/transposed", "device": "ort-cpu", "engine": "onnxruntime", "threads": 1}.items():
        expect("real", all(s.get(key) == value for s in stored), f"{key} is not {value}: {stored}")
    expect("digits", all(float(f"{s['pattern']:.4g}") == s["pattern"] and float(f"{s['spread']:.2g}") == s["spread"] for s in stored), stored)
    check_subgraphs(models)

    again = tune(pack, timings, *arguments)
    expect("again", again.returncode == 0 and "0 timed, 2 known" in again.stdout, again.stdout + again.stderr)
    expect("again", timings.read_bytes() == text, "the file has changed")

    database = folder / "ort-cpu.timings"
    done = tune(pack, database, *arguments, "--no-bare", "--warm")
    expect("SQLite", done.returncode == 0, done.stderr)
    expect("SQLite", sqlite3.connect(database).execute("SELECT count(*) FROM samples").fetchone() == (2,), "rows")


def check_add(folder):
    """Files are joined, and those of older forms and of the other one rewritten; the later one's samples count."""
    one, two, joined, database = (folder / name for name in ["one.jsonl", "two.jsonl", "joined.jsonl", "joined.timings"])
    line = {"name": "conv/transposed", "rule": "ab", "device": "cpu", "shapes": {"N": 1}, "pattern": 2e-3, "replacement": 1e-3, "spread": 0.02,
            "engine": "e", "version": "1", "isa": "avx2", "threads": 1, "date": "2026-11-21"}
    one.write_text("".join(json.dumps(line | {"shapes": {"N": n}}) + "\n" for n in [1, 2]))
    two.write_text(json.dumps(line | {"pattern": 3e-3}) + "\n")
    add = lambda target, *files: subprocess.run([BIN / "pet-tune", "-o", target, *(word for file in files for word in ("--add", file))], capture_output=True, text=True)
    done = add(joined, one, two)
    expect("add", done.returncode == 0 and done.stdout == "2 samples, 0 machines\n", done.stdout + done.stderr)
    expect("add", [(s["shapes"]["N"], s["pattern"], s["rule"], s["name"]) for s in samples(joined)]
           == [(1, 3e-3, "ab", "conv/transposed"), (2, 2e-3, "ab", "conv/transposed")], samples(joined))
    expect("add: the rule once", joined.read_text().count("conv/transposed") == 1, joined.read_text())
    text = joined.read_bytes()
    expect("add: itself", add(joined, joined).returncode == 0 and joined.read_bytes() == text, "the file has changed")
    again = folder / "again.jsonl"
    expect("add: SQLite", add(database, joined).returncode == 0 and add(again, database).returncode == 0 and again.read_bytes() == text, "other text")
    bad = folder / "bad.jsonl"
    bad.write_text("".join(line for line in joined.read_text().splitlines(keepends=True) if '"hash"' not in line))
    one_line("add: no such rule", add(joined, bad), 4, "bad.jsonl:2", "no line before it says which rule it is of")
    one_line("add: no output", subprocess.run([BIN / "pet-tune", "--add", one], capture_output=True, text=True), 2, "give -o FILE")
    one_line("add: no such file", add(joined, folder / "none"), 4, "none")
    one_line("add: no such device", subprocess.run([BIN / "pet-tune", "-o", joined, "--add", one, "--device", "nonsense"], capture_output=True, text=True),
             2, "unknown device", "nonsense")
    expect("add: what is refused changes nothing", joined.read_bytes() == text, "the file has changed")


def check_subgraphs(folder):
    """Neighbours on both sides, the pattern's Conv in one and the rule's ConvTranspose in the other, checked by onnx."""
    seen = set()
    for path in sorted(folder.glob("*.onnx")):
        model = onnx.load(path)
        onnx.checker.check_model(model, full_check=True)
        seen.add((path.name.split(".")[1], tuple(n.op_type for n in model.graph.node)))
    for wanted in [("pattern", ("Conv", "Relu", "Conv", "Relu")), ("pattern", ("Conv", "Relu", "Conv", "Relu", "Conv")),
                   ("replacement", ("Conv", "Relu", "ConvTranspose", "Relu")),
                   ("replacement", ("Conv", "Relu", "ConvTranspose", "Relu", "Conv")),
                   ("pattern", ("Conv",)), ("replacement", ("ConvTranspose",))]:
        expect("subgraphs", wanted in seen, f"no {wanted} among {sorted(seen)}")


def check_shapes_from(folder, pack):
    """The shapes of a model's own sites."""
    subprocess.run([sys.executable, SOURCE / "tests/models/build.py", folder, "srcnn"], check=True, capture_output=True)
    timings = folder / "srcnn.jsonl"
    done = tune(pack, timings, "--shapes-from", folder / "srcnn.onnx", "--runner", fake(folder, "srcnn", GOOD), "--no-bare")
    expect("shapes from", done.returncode == 0, done.stderr)
    found = sorted((s["shapes"]["R"], s["shapes"]["F"]) for s in samples(timings))
    expect("shapes from", (5, 1) in found and (9, 64) in found, f"{found}")
    places = {s["shapes"]["R"]: s.get("place") for s in samples(timings)}
    expect("shapes from: beside what is beside a Conv", places == {9: "first", 1: None, 5: "last"}, f"{places}")


def check_opsets(folder, pack):
    """Each point of the grid in each of its opsets; a model's site in the nearest of them that is not later."""
    grid, timings, models = folder / "opsets.json", folder / "opsets.jsonl", folder / "opset-models"
    conv = {"opsets": [13, 19], "points": [{"N": 1, "C": 8, "F": 1, "H": 12, "R": 3}]}
    grid.write_text(json.dumps({**GRID, "patterns": {"conv": conv}}))
    fine = ["--shapes", grid, "--runner", fake(folder, "opsets", GOOD), "--no-bare"]
    done = tune(pack, timings, *fine, "--keep", models)
    expect("opsets", done.returncode == 0 and "from opset 19 on: " in done.stdout, done.stdout + done.stderr)
    expect("opsets", sorted(s.get("opset", 17) for s in samples(timings)) == [13, 19], samples(timings))
    imported = {onnx.load(path).opset_import[0].version for path in models.glob("*.onnx")}
    expect("opsets", imported == {13, 19}, imported)
    done = tune(pack, timings, *fine)
    expect("opsets", "0 timed, 2 known" in done.stdout, done.stdout)
    graph = onnx.parser.parse_graph("g (float[1, 8, 9, 9] x) => (float[1, 1, 9, 9] y) { y = Conv<pads = [1, 1, 1, 1]>(x, w) }")
    graph.initializer.append(onnx.numpy_helper.from_array(np.ones((1, 8, 3, 3), np.float32), "w"))
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=8), folder / "18.onnx")
    done = tune(pack, timings, *fine, "--shapes-from", folder / "18.onnx")
    expect("opsets", [s.get("opset", 17) for s in samples(timings) if s["shapes"]["H"] == 9] == [13], samples(timings))
    graph = onnx.parser.parse_graph("g (float[1, 8, 64, 64] x) => (float[1, 8, 52, 52] y) { y = AveragePool<kernel_shape = [13, 13]>(x) }")
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 21)], ir_version=10), folder / "21.onnx")
    timings = folder / "shipped-grid.jsonl"
    done = subprocess.run([BIN / "pet-tune", "-o", timings, "--rules", "averagepool/*", "--shapes-from", folder / "21.onnx",
                           "--runner", fake(folder, "shipped-grid", GOOD), "--no-bare"], capture_output=True, text=True)
    expect("the shipped grid's opsets", {s.get("opset", 17) for s in samples(timings)} == {19}, done.stdout + done.stderr)


def check_lists(folder, pack):
    """An option that takes a list takes one argument, not the pack that follows; lists that are given twice add up."""
    timings, runner = folder / "lists.jsonl", fake(folder, "lists", GOOD)
    subprocess.run([sys.executable, SOURCE / "tests/models/build.py", folder, "resnet18"], check=True, capture_output=True)
    command = [BIN / "pet-tune", "--rules", "conv/t*,conv/*", "--rules", "*/transposed", "--shapes-from", folder / "srcnn.onnx",
               "--shapes-from", folder / "resnet18.onnx", pack, "-o", timings, "--python", sys.executable, "--runner", runner, "--no-bare"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=250)
    expect("lists", done.returncode == 0, done.stderr)
    kernels = {s["shapes"]["R"] for s in samples(timings)}
    expect("lists", 9 in kernels and 3 in kernels, f"{kernels}")


# (what the fake runner does at a request of times, exit code, words of the message, samples that are kept)
FAKES = [
    ("good", GOOD, 0, [], 2),
    ("dies", "sys.exit(9)", 6, ["runner", "dies.py", "ended with status 9"], 0),
    ("dies with words", "print('out of luck', file=sys.stderr); sys.exit(1)", 6, ["out of luck"], 0),
    ("is killed", "os.kill(os.getpid(), 11)", 6, ["signal 11"], 0),
    ("hangs", "time.sleep(60)", 6, ["no answer in"], 0),
    ("talks", "answer('fine, thank you')", 6, ["no JSON object", "fine, thank you"], 0),
    ("no times", "answer({})", 6, ["times are none"], 0),
    ("other times", "answer(times(models + models))", 6, ["times are none"], 0),
    ("negative times", "answer(times(models, median=[-1.0] * len(models)))", 6, ["times are none"], 0),
    ("late death", f"if count > 2: sys.exit(1)\n{GOOD}", 6, ["ended with status 1"], 1),
    ("late hang", f"if count > 2: time.sleep(60)\n{GOOD}", 6, ["no answer in"], 1),
    ("dies once", f"if count == 1: sys.exit(1)\n{GOOD}", 0, [], 1),
    ("loses", "answer(times(models, median=[1.0, 2.0][:len(models)]))", 0, [], 2),
    ("refuses", "answer({'error': 'not this one'})", 0, [], 0),
    ("differs", "answer(times(models, max_abs_diff=[0.0, 0.5]))", 5, ["computes something different"], 0),
]


def check_fakes(folder, pack, grid):
    for name, body, code, words, kept in FAKES:
        timings = folder / f"{name.replace(' ', '-')}.jsonl"
        done = tune(pack, timings, "--shapes", grid, "--runner", fake(folder, name, body), "--timeout", 0.5, "--seconds", 0.1)
        if code:
            one_line(name, done, code, *words)
        else:
            expect(name, done.returncode == 0 and not done.stderr, done.stderr)
        expect(name, len(samples(timings)) == kept, f"{len(samples(timings))} samples instead of {kept}")
        if name == "refuses":
            expect(name, done.stdout.count("not this one") >= 2, done.stdout)


def check_deadly(folder):
    """A pattern that the runner did not survive is not tried again with another rule; those of other patterns are timed."""
    text, pack, grid, timings = folder / "deadly.pet", folder / "deadly.db", folder / "deadly.json", folder / "deadly.jsonl"
    row = (SOURCE / "tests/data/row.pet").read_text()
    text.write_text((SOURCE / "tests/data/conv.pet").read_text() + row[row.index("\nrule "):] + (SOURCE / "tests/data/phases.pet").read_text())
    subprocess.run([BIN / "pet-rules", "import", text, "-o", pack], check=True)
    points = [{"N": 1, "C": 4, "F": 4, "H": 8, "R": 3}]
    grid.write_text(json.dumps({**GRID, "patterns": {"conv": {"points": points}, "conv-d2": {"ties": {"P": "R - 1"}, "points": points}}}))
    done = tune(pack, timings, "--shapes", grid, "--runner", fake(folder, "deadly", f"if count == 1: sys.exit(1)\n{GOOD}"), "--no-bare")
    expect("deadly", done.returncode == 0 and done.stdout.count("the runner failed at this pattern before") == 1, done.stdout + done.stderr)
    expect("deadly", [s["name"] for s in samples(timings)] == ["d2/phases"], samples(timings))


def check_hopeless(folder, pack):
    """A rule that loses at its first points is timed at no more, unless asked; the sooner, the more it loses."""
    grid = folder / "long.json"
    points = [{"N": 1, "C": c, "F": 1, "H": 8, "R": 3} for c in range(1, 11)]
    grid.write_text(json.dumps({**GRID, "patterns": {"conv": {"points": points}}}))
    for name, ratio, timed in [("loser", 0.6, 6), ("sore loser", 0.4, 3), ("near", 0.9, 10)]:
        runner, timings = fake(folder, name, f"answer(times(models, median=[{ratio}, 1.0][:len(models)]))"), folder / f"{name}.jsonl"
        for more, counted in [([], f"{timed} timed, 0 known, 0 failed, {10 - timed} left out"),
                              (["--exhaustive"], f"{10 - timed} timed, {timed} known, 0 failed, 0 left out")]:
            done = tune(pack, timings, "--shapes", grid, "--runner", runner, *more)
            expect("hopeless", done.returncode == 0 and counted in done.stdout, name + done.stdout + done.stderr)


# At these shapes both rules of `both` can be timed; only the one of dilated Convs has layouts, at either end.
def both(folder, heights):
    """A pack with two rules, and a grid for them."""
    text, pack, grid = folder / "both.pet", folder / "both.db", folder / "both.json"
    text.write_text((SOURCE / "tests/data/conv.pet").read_text() + (SOURCE / "tests/data/phases.pet").read_text())
    subprocess.run([BIN / "pet-rules", "import", text, "-o", pack], check=True)
    points = [{"N": 1, "C": 4, "F": 4, "H": h, "R": 3} for h in heights]
    grid.write_text(json.dumps({**GRID, "patterns": {"conv": {"points": points}, "conv-d2": {"ties": {"P": "R - 1"}, "points": points}}}))
    return pack, grid


def check_layouts(folder):
    """What opens and closes a replacement is timed alone and stored; a rule without layouts has none."""
    timings, models = folder / "layouts.jsonl", folder / "layout-models"
    pack, grid = both(folder, [8])
    body = "one = len(models) == 1\nanswer(times(models, median=[0.25] if one else [2.0, 1.0]))"
    done = tune(pack, timings, "--shapes", grid, "--runner", fake(folder, "layouts", body), "--no-bare", "--keep", models)
    expect("layouts", done.returncode == 0, done.stderr)
    found = {s["name"]: (s["opening"], s["closing"], s["moved"] > 0, s["weights"]) for s in samples(timings)}
    expect("layouts", found == {"conv/transposed": (0, 0, False, "cold"), "d2/phases": (0.25, 0.25, True, "cold")}, f"{found}")
    chains = sorted(tuple(n.op_type for n in onnx.load(p).graph.node) for p in models.glob("*ing-1.onnx"))
    expect("layouts", len(chains) == 2 and all("Transpose" in c and "Conv" not in c for c in chains), f"{chains}")

    # Weights from the caches are another setting.
    done = tune(pack, timings, "--shapes", grid, "--runner", fake(folder, "layouts", body), "--no-bare", "--warm")
    expect("layouts", done.returncode == 0 and "2 timed, 0 known" in done.stdout, done.stdout + done.stderr)
    expect("layouts", sorted(s["weights"] for s in samples(timings)) == ["cold", "cold", "warm", "warm"], "settings")


def check_caches(folder):
    """The caches are overwritten where constants are more than a little of what is read: activations come from the operator in front."""
    timings = folder / "caches.jsonl"
    pack, grid = both(folder, [8, 32])
    body = "one = len(models) == 1\nanswer(times(models, median=[0.25] if one else [3.0 if request['cold'] else 2.0, 1.0]))"
    done = tune(pack, timings, "--shapes", grid, "--runner", fake(folder, "caches", body), "--no-bare")
    expect("caches", done.returncode == 0, done.stderr)
    found = {(s["name"], s["shapes"]["H"]): s["pattern"] for s in samples(timings)}
    expect("caches", found == {(name, h): seconds for name in ["conv/transposed", "d2/phases"] for h, seconds in [(8, 3.0), (32, 2.0)]}, f"{found}")


def check_outliers(folder, pack, grid):
    """A run far from the others is counted, and kept; how sure a ratio is does not depend on it."""
    runs = "[[2.0] * 11 + [9.0]] * len(models)"
    body = f"answer(times(models, samples={runs}, median=[2.0] * len(models), p10=[2.0] * len(models), p90=[2.1] * len(models)))"
    done = tune(pack, folder / "outliers.jsonl", "--shapes", grid, "--runner", fake(folder, "outliers", body), "--no-bare")
    expect("outliers", "median spread 0.00; 4 of 48 runs more than three spreads" in done.stdout, done.stdout)


def check_retake(folder, pack, grid):
    """What is unsure is timed longer at once, and, where that did not help, again when it is asked for."""
    timings, asked = folder / "retake.jsonl", folder / "asked"
    body = """
open({asked!r}, "a").write(f"{{request['runs']}} ")
noisy = [1.5, 1.0, 1.3, 1.1, 0.9, 1.4]
sure = {sure} or len(models) == 1 or b"Conv" not in open(models[0], "rb").read()
answer(times(models, samples=[[1.2] * 6 if sure else noisy, [1.0] * 6][:len(models)], median=[1.2, 1.0][:len(models)]))
"""
    def again(sure, *more):
        asked.write_text("")
        runner = fake(folder, "retake", body.format(asked=str(asked), sure=sure))
        done = tune(pack, timings, "--runner", runner, "--no-bare", "--runs", 5, *more)
        expect("retake", done.returncode == 0, done.stdout + done.stderr)
        return done.stdout, asked.read_text().split()

    uneven = "answer(times(models, samples=[[1.2] * 6, [1.0] * 4][:len(models)], median=[1.2, 1.0][:len(models)]))"
    done = tune(pack, folder / "uneven.jsonl", "--shapes", grid, "--runner", fake(folder, "uneven", uneven), "--no-bare")
    expect("uneven", done.returncode == 0 and [s["spread"] for s in samples(folder / "uneven.jsonl")] == [0, 0], done.stdout + done.stderr)

    said, runs = again(False, "--shapes", grid)
    expect("unsure", "2 timed, 0 known" in said and runs.count("20") >= 2, f"{said} {runs}")
    spreads = [s["spread"] for s in samples(timings)]
    expect("unsure", len(spreads) == 2 and min(spreads) > 0.4, spreads)
    said, _ = again(True, "--retake")
    expect("retake", "2 points" in said and "2 timed, 0 known" in said, said)
    expect("retake", [s["spread"] for s in samples(timings)] == [0, 0], samples(timings))
    said, runs = again(True, "--retake")
    expect("retake", "0 points" in said and not runs, f"{said} {runs}")
    said, _ = again(True, "--retake", "--shapes", grid)
    expect("retake all", "2 timed, 0 known" in said, said)


def check_uncertain(folder):
    """After the first points of each rule, time goes where the ratio is near the least gain: the runner dies before the rest."""
    timings = folder / "doubt.jsonl"
    pack, grid = both(folder, range(20, 40, 2))
    body = """
if len(models) == 1:
    open(state, "w").write(str(count))
    answer(times(models))
    continue
if count > 9:
    sys.exit(1)
clear = b"ConvTranspose" in open(models[1], "rb").read()
near = 1.05 + 0.05 * (count % 3 - 1)
answer(times(models, median=[5.0 if clear else near, 1.0]))
"""
    done = tune(pack, timings, "--shapes", grid, "--runner", fake(folder, "doubt", body), "--no-bare")
    names = [s["name"] for s in samples(timings)]
    expect("uncertain", done.returncode == 6, done.stderr)
    expect("uncertain", (names.count("conv/transposed"), names.count("d2/phases")) == (3, 6), f"{names}")


def check_show(folder, pack, grid):
    """What timings say, in words, without timing; files of older formats are read, and are of the documented schema."""
    hashes = json.loads(subprocess.run([BIN / "pet-rules", "ls", "--json", pack], capture_output=True, text=True, check=True).stdout)
    rule = next(r["hash"] for r in hashes if r["name"] == "conv/transposed")
    page = (SOURCE / "docs" / "pack-format.md").read_text()
    machines = re.search(r"^ +(CREATE TABLE machines.*)$", page, re.M)[1]
    schemas = re.findall(r"^ +(CREATE TABLE samples.*)$", page, re.M)
    for version, schema in zip([6, 5, 4, 3, 2, 1], schemas):
        path = folder / f"version-{version}.timings"
        database = sqlite3.connect(path)
        database.execute("PRAGMA application_id = 0x70657474")
        database.execute(f"PRAGMA user_version = {version}")
        for statement in [machines, schema] if version >= 4 else [schema]:
            database.execute(statement)
        for filters in [1, 2, 4, 64, 128, 256]:
            for height in [14, 28, 56]:
                shapes = {"C": 64, "F": filters, "H": height, "N": 1, "P": 1, "Q": 1, "R": 3, "S": 3, "W": height}
                row = {"rule": rule, "name": "old name", "device": "ort-cpu", "shapes": json.dumps(shapes, separators=(",", ":")), "engine": "e",
                       "version": "1", "isa": "avx2", "threads": 1, "pattern": 0.003 if filters < 10 else 0.001, "replacement": 0.0015,
                       "spread": 0.05, "date": "2026-11-21"}
                row |= {"weights": "cold", "opening": 0, "closing": 0} if version >= 2 else {}
                row |= {"moved": 0} if version >= 3 else {}
                row |= {"machine": ""} if version >= 4 else {}
                row |= {"place": "between"} if version >= 5 else {}
                row |= {"opset": 17} if version >= 6 else {}
                database.execute(f"INSERT INTO samples({','.join(row)}) VALUES ({','.join('?' * len(row))})", list(row.values()))
        database.commit()
        database.close()
        before = path.read_bytes()
        done = subprocess.run([BIN / "pet-tune", pack, "--show", path, "--python", "/none", "--machine", "avx2"], capture_output=True, text=True, timeout=60)
        wanted = "F <= 16: 2.00 (2.00 - 2.00, 9 samples); else 0.67 (0.67 - 0.67, 9 samples)"
        expect("show", done.returncode == 0 and wanted in done.stdout and "18/18" in done.stdout, done.stdout + done.stderr)
        expect("show", path.read_bytes() == before, "the file has changed")
        done = tune(pack, path, "--shapes", grid, "--runner", fake(folder, "old", GOOD))
        expect("show", done.returncode == 0, done.stderr)
        kept = sqlite3.connect(path)
        expect("show", kept.execute("PRAGMA user_version").fetchone() == (6,), f"not written in the newest format: {done.stdout}")
        expect("show", kept.execute("SELECT * FROM samples").fetchall()[18:], "old samples are lost")
    check_worth(folder, pack, path)
    done = subprocess.run([BIN / "pet-tune", pack, "--show", path, "--device", "onednn-cpu"], capture_output=True, text=True, timeout=60)
    expect("show", done.returncode == 0 and "no rule is tuned for onednn-cpu" in done.stdout, done.stdout + done.stderr)


def check_worth(folder, pack, timings):
    """What predictions are worth, with the samples of a model left out: here of one Conv."""
    worth = folder / "worth.json"
    graph = onnx.parser.parse_graph("g (float[1, 64, 28, 28] x, float[64, 64, 3, 3] w) => (float[1, 64, 28, 28] y) { y = Conv<pads = [1, 1, 1, 1]>(x, w) }")
    weights = onnx.numpy_helper.from_array(np.ones((64, 64, 3, 3), np.float32), "w")
    del graph.input[1]
    graph.initializer.append(weights)
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), folder / "one.onnx")
    command = [BIN / "pet-tune", pack, "--show", timings, "--machine", "avx2", "--shapes-from", folder / "one.onnx"]
    done = subprocess.run([*command, "--json", worth], capture_output=True, text=True, timeout=60)
    expect("worth", done.returncode == 0 and "each model by the others: 1 samples left out in turn: 100 % decided right" in done.stdout, done.stdout + done.stderr)
    said = json.loads(worth.read_text())
    expect("worth", said["models"] == 1 and said["left_out"]["model"]["samples"] == 1 and said["left_out"]["sample"]["samples"] >= 18, said)
    expect("worth", 0.3 < said["left_out"]["model"]["median"] < 3, said)
    only = subprocess.run([*command, "--json", "-"], capture_output=True, text=True, timeout=60)
    expect("worth", json.loads(only.stdout) == said, only.stdout)
    one_line("JSON of what", tune(pack, folder / "none.jsonl", "--json", worth), 2, "--json is for --cliffs and --show")


def check_devices(folder, pack, grid):
    """onednn-cpu's runner is a program, and its samples are of that device."""
    runner, timings = fake(folder, "program", GOOD), folder / "program.jsonl"
    runner.write_text(f"#!{sys.executable}\n" + runner.read_text())
    runner.chmod(0o755)
    done = tune(pack, timings, "--shapes", grid, "--runner", runner, "--device", "onednn-cpu", "--no-bare")
    expect("devices", done.returncode == 0 and {s["device"] for s in samples(timings)} == {"onednn-cpu"}, done.stderr)


def check_calibration(folder, pack, grid):
    """A machine is calibrated once for each version of an engine; that is kept, and a cache that cannot be read is as good as none."""
    cache = folder / "calibrated"
    runner = fake(folder, "calibrated", GOOD)
    count = lambda: int(pathlib.Path(f"{runner}.count").read_text())
    environment = os.environ | {"PET_CACHE": str(cache)}
    run = lambda *words: subprocess.run([str(word) for word in [BIN / "pet-tune", *words, "--runner", runner, "--python", sys.executable]],
                                        capture_output=True, text=True, env=environment, timeout=100)
    first = run("--calibrate")
    asked = count()
    rates = json.loads(first.stdout)["rates"]
    expect("calibration", first.returncode == 0 and asked > 0 and [r["version"] for r in rates] == ["7"] and rates[0]["gemm"] > 0, first.stdout + first.stderr)
    expect("calibration: kept", run("--calibrate").stdout == first.stdout and count() == asked, f"{count()} requests, not {asked}")
    timed = run(pack, "-o", folder / "calibrated.jsonl", "--shapes", grid, "--no-bare", "--runs", 3)
    machine = json.loads((folder / "calibrated.jsonl").read_text().splitlines()[0])
    expect("calibration: of a run", timed.returncode == 0 and machine["rates"] == rates and not timed.stderr, timed.stdout + timed.stderr)
    runner.write_text(runner.read_text().replace('"version": "7"', '"version": "8"'))
    other = json.loads(run("--calibrate").stdout)["rates"]
    expect("calibration: of another version", [r["version"] for r in other] == ["7", "8"], other)
    (cache / "machines.db").write_bytes(b"no database" * 100)
    asked = count()
    expect("calibration: a cache that is none", run("--calibrate").returncode == 0 and count() > asked)


def check_usage(folder, pack, grid):
    fine = ["--shapes", grid, "--runner", fake(folder, "usage", GOOD)]
    bad, foreign = folder / "bad.json", folder / "foreign.timings"
    bad.write_text("{")
    foreign.write_bytes(b"SQLite format 3\0 but not really")
    timings = folder / "usage.jsonl"
    for name, code, words, arguments in [
        ("no pack", 4, ["missing.db"], [folder / "missing.db", timings, *fine]),
        ("a grid for a pack", 4, ["grid.json"], [grid, timings, *fine]),
        ("no such rule", 2, ["--rules nothing*: the pack has no rule of that name"], [pack, timings, *fine, "--rules", "nothing*"]),
        ("no such device", 2, ["abacus", "ort-cpu"], [pack, timings, *fine, "--device", "abacus"]),
        ("a bad grid", 2, ["bad.json", "JSON"], [pack, timings, "--shapes", bad]),
        ("no grid", 2, ["missing.json"], [pack, timings, "--shapes", folder / "missing.json"]),
        ("no such model", 3, ["missing.onnx"], [pack, timings, *fine, "--shapes-from", folder / "missing.onnx"]),
        ("foreign timings", 4, ["foreign.timings"], [pack, foreign, *fine]),
        ("no folder for timings, before the engine is asked", 2, ["timings.jsonl"], [pack, folder / "nowhere" / "timings.jsonl", "--shapes", grid,
                                                                                      "--runner", folder / "missing.py"]),
        ("no folder for timings", 2, ["timings.jsonl"], [pack, folder / "nowhere" / "timings.jsonl", *fine]),
        ("no folder for models", 2, ["nowhere"], [pack, timings, *fine, "--keep", "/dev/null/nowhere"]),
        ("no python", 6, ["/no/such/python", "cannot start"], [pack, timings, *fine, "--python", "/no/such/python"]),
        ("no script", 6, ["missing.py", "No such file"], [pack, timings, "--shapes", grid, "--runner", folder / "missing.py"]),
        ("timings to show that are none", 4, ["bad.json"], [pack, timings, "--show", bad]),
        ("a bad option", 2, ["--runs"], [pack, timings, *fine, "--runs", "1"]),
    ]:
        one_line(name, tune(*arguments), code, *words)
        expect(name, not timings.exists(), "timings were written")
    done = subprocess.run([BIN / "pet-tune", pack], capture_output=True, text=True, timeout=60)
    one_line("no output", done, 2, "-o FILE")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        pack, grid = folder / "conv.db", folder / "grid.json"
        subprocess.run([BIN / "pet-rules", "import", SOURCE / "tests/data/conv.pet", "-o", pack], check=True)
        grid.write_text(json.dumps(GRID))
        check_real(folder, pack, grid)
        check_add(folder)
        check_shapes_from(folder, pack)
        check_opsets(folder, pack)
        check_lists(folder, pack)
        check_fakes(folder, pack, grid)
        check_calibration(folder, pack, grid)
        check_usage(folder, pack, grid)
        check_deadly(folder)
        check_hopeless(folder, pack)
        check_layouts(folder)
        check_caches(folder)
        check_outliers(folder, pack, grid)
        check_retake(folder, pack, grid)
        check_uncertain(folder)
        check_show(folder, pack, grid)
        check_devices(folder, pack, grid)
        budget = tune(pack, folder / "none.jsonl", "--shapes", grid, "--runner", fake(folder, "budget", GOOD), "--budget", 1e-9)
        expect("budget", budget.returncode == 0 and "2 not timed" in budget.stdout, budget.stdout + budget.stderr)
    for failure in failures:
        print(f"tune: {failure}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
