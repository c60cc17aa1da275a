#!/usr/bin/env python3
"""pet-apply --measure: on the real engine, from the cache, and with runners that misbehave. Exit status 0 or 1."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SOURCE = pathlib.Path(os.environ.get("PET_SOURCE", pathlib.Path(__file__).parents[2]))
BIN = pathlib.Path(os.environ.get("PET_BIN", SOURCE / "build" / "bin"))
USAGE, RUNNER = 2, 6
SHAPES = {"N": 1, "C": 8, "F": 4, "H": 9, "W": 9, "R": 3, "S": 3, "P": 1, "Q": 1}

# A runner that says hello, logs each request of times beside itself, and then does what its body says.
FAKE = """
import json, os, sys, time
def times(*seconds):
    n = len(request["models"])
    print(json.dumps({"samples": [[s] * 5 for s in seconds[:n]], "median": seconds[:n], "p10": seconds[:n],
                      "p90": seconds[:n], "max_abs_diff": [0.0] * n, "max_abs": 1.0}), flush=True)
for line in sys.stdin:
    request = json.loads(line)
    if request["cmd"] == "hello":
        print(json.dumps({"engine": "fake", "version": "7", "isa": "abacus", "cpu": "beads"}), flush=True)
        continue
    open(sys.argv[0] + ".log", "a").write(line)
"""
os.environ["PET_MACHINE"] = "avx512"  # that of the timings below
failures = []


def expect(name, condition, detail=""):
    if not condition:
        failures.append(f"{name}: {detail}" if detail else name)


def fake(folder, name, body):
    path = folder / f"{name}.py"
    path.write_text(FAKE + "".join(f"    {line}\n" for line in body.splitlines()))
    return path


def asked(runner):
    log = pathlib.Path(f"{runner}.log")
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


class Shop:
    """A model with one site, a pack with a rule for it, and timings by which that pays."""

    def __init__(self, folder):
        self.folder, self.pack = folder, folder / "rules.db"
        self.model, self.timings = folder / "model.onnx", folder / "ort-cpu.timings.jsonl"
        self.open = folder / "open.onnx"
        weights = np.random.default_rng(0).normal(size=(4, 8, 3, 3)).astype(np.float32)
        for path, batch in [(self.model, 1), (self.open, "batch")]:
            graph = helper.make_graph(
                [helper.make_node("Conv", ["x", "w"], ["t"], name="conv", pads=[1, 1, 1, 1]), helper.make_node("Relu", ["t"], ["y"])],
                "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, 8, 9, 9])],
                [helper.make_tensor_value_info("y", TensorProto.FLOAT, [batch, 4, 9, 9])], [numpy_helper.from_array(weights, "w")])
            onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
        conv = SOURCE / "tests" / "data" / "conv.pet"
        subprocess.run([str(BIN / "pet-rules"), "import", str(conv), "-o", str(self.pack)], check=True)
        listed = subprocess.run([str(BIN / "pet-rules"), "ls", "--json", str(self.pack)], check=True, capture_output=True)
        self.timings.write_text("".join(json.dumps({
            "name": rule["name"], "rule": rule["hash"], "device": "ort-cpu", "shapes": SHAPES | {"N": n}, "pattern": 3e-3,
            "replacement": 1e-3, "spread": 0.01, "engine": "onnxruntime", "version": "1", "isa": "avx512", "threads": 1,
            "date": "2026-11-21"}) + "\n" for rule in json.loads(listed.stdout) for n in [1, 8, 16]))

    def apply(self, cache, *more, model=None, tool=BIN / "pet-apply"):
        output, report = self.folder / "out.onnx", self.folder / "report.json"
        for path in (output, report):
            path.unlink(missing_ok=True)
        done = subprocess.run(
            [str(word) for word in [tool, model or self.model, self.pack, *([] if "--timings" in more else ["--timings", self.timings]), "--measure", "--cache",
                                    self.folder / cache, "-o", output, "--verbose", "--json", report,
                                    *([] if "--python" in more else ["--python", sys.executable]), *more]],
            capture_output=True, text=True, timeout=250)
        return done, json.loads(report.read_text()) if report.exists() else None


def real(shop):
    done, report = shop.apply("real.db")
    expect("real", done.returncode == 0, done.stderr)
    measured = report["measured"] if report else []
    expect("real", measured and "conv/transposed at conv" in measured[0]["what"], measured)
    expect("real", all(m["p10"] <= m["ratio"] <= m["p90"] for m in measured), measured)
    fired = bool(report and report["fired"])
    expect("real: what pays fires", fired == (bool(measured) and all(m["pays"] for m in measured)), report)
    _, again = shop.apply("real.db")
    expect("the cache", again and again["measured"] == measured and bool(again["fired"]) == fired, again)


def verdicts(shop):
    """The engine says that it pays, that it loses, that it loses in the whole model; the cache is asked first."""
    for name, body, fires in [("pays", "times(2.0, 1.0)", True), ("loses", "times(1.0, 2.0)", False), ("noise", "times(1.02, 1.0)", False),
                              ("whole", 'times(*((2.0, 1.0) if request["cold"] else (1.0, 2.0)))', False)]:
        runner = fake(shop.folder, name, body)
        done, report = shop.apply(f"{name}.db", "--runner", runner)
        expect(name, done.returncode == 0 and report and bool(report["fired"]) == fires, (done.stderr, report))
        requests = asked(runner)
        expect(name, len(requests) == (2 if name in ("pays", "whole") else 1), f"{len(requests)} requests")
        expect(name, requests[0]["threads"] == 1 and requests[0]["cold"] is True and len(requests[0]["models"]) == 2, requests[0])
        expect(name, all(r["processor_time"] for r in requests), "other work on the machine counts")
        expect(name, not any(pathlib.Path(m).exists() for r in requests for m in r["models"]), "models are left behind")
        shop.apply(f"{name}.db", "--runner", runner)
        expect(f"{name}: cached", len(asked(runner)) == len(requests), "asked again")
    runner = fake(shop.folder, "threads", "times(2.0, 1.0)")
    shop.apply("pays.db", "--runner", runner, "--min-gain", 2.5)
    expect("min gain", "2.00" in str(shop.apply("pays.db", "--runner", runner, "--min-gain", 2.5)[1]["refusals"]))


# What a model is timed at.
BATCH = "import onnx; n = onnx.load(request['models'][1]).graph.input[0].type.tensor_type.shape.dim[0].dim_value\n"


def open_sizes(shop):
    """Where the batch is open, the least, the typical and the largest size count, at the site and of the whole model."""
    said = lambda report: [r["reason"] for r in report["refusals"] if r["rule"] == "conv/transposed"]
    for name, body, batches, reason in [
            ("at all sizes", "times(2.0, 1.0)", [1, 8, 16, 1, 8, 16], None),
            ("not at the least", "times(*((1.0, 2.0) if n == 1 else (2.0, 1.0)))", [1], "timed here: 0.50 (0.50 - 0.50), at batch=1"),
            ("not at the largest", "times(*((1.0, 2.0) if n == 16 else (2.0, 1.0)))", [1, 8, 16], "timed here: 0.50 (0.50 - 0.50), at batch=16"),
            ("whole, not at the typical", "times(*((1.0, 2.0) if n == 8 and not request['cold'] else (2.0, 1.0)))", [1, 8, 16, 1, 8, 16], "")]:
        runner = fake(shop.folder, name.replace(" ", "-"), BATCH + "open(sys.argv[0] + '.sizes', 'a').write(f'{n} ')\n" + body)
        done, report = shop.apply(f"{name}.db", "--runner", runner, model=shop.open)
        expect(name, done.returncode == 0 and report and bool(report["fired"]) == (reason is None), (done.stderr, report))
        sizes = [int(n) for n in pathlib.Path(f"{runner}.sizes").read_text().split()]
        expect(f"{name}: sizes", sizes == batches, sizes)
        expect(f"{name}: reason", not reason or said(report) == [reason], said(report))
    done, report = shop.apply("open.db", model=shop.open)
    measured = [m["what"] for m in report["measured"]] if report else []
    expect("open, really", done.returncode == 0 and measured and measured[0].endswith("at conv, at batch=1"), (done.stderr, measured))


def untuned(shop):
    """Rules that nobody timed at such sizes are timed first, and that is kept; within a budget, and where pet-tune is there."""
    none = shop.folder / "none.timings.jsonl"
    none.write_text(shop.timings.read_text().splitlines()[0].replace(json.loads(shop.timings.read_text().splitlines()[0])["rule"], 64 * "0") + "\n")
    gains, loses = fake(shop.folder, "gains", "times(2.0, 1.0)"), fake(shop.folder, "loses-untuned", "times(1.0, 2.0)")
    wrong = fake(shop.folder, "wrong", 'print(json.dumps({"samples": [[1.0] * 5] * 2, "median": [1.0, 1.0], "p10": [1.0, 1.0], "p90": [1.0, 1.0], '
                                       '"max_abs_diff": [0.0, 9.0], "max_abs": 1.0} if len(request["models"]) == 2 else {"error": "no"}), flush=True)')

    def run(name, *more, **kinds):
        folder = shop.folder / name
        folder.mkdir(exist_ok=True)
        done, report = shop.apply(f"{name}/measured.db", "--timings", none, *more, **kinds)
        expect(f"untuned, {name}", done.returncode == 0 and report, done.stderr)
        own = folder / "own.timings.jsonl"
        return done, report or {}, own.read_text() if own.exists() else ""

    _, report, own = run("no-budget", "--runner", gains, "--budget", 0)
    expect("no budget", not report["fired"] and report["untuned"] is None and not own and not asked(gains), report)
    for model, points in [(shop.model, 1), (shop.open, 3)]:
        name = f"gains-{points}"
        done, report, own = run(name, "--runner", gains, model=model)
        expect(name, report["fired"] and report["untuned"] == {"points": points, "timed": points, "problem": "",
                                                               "file": str(shop.folder / name / "own.timings.jsonl")}, report)
        expect(name, f"Timed here: {points} of {points} point" in done.stdout and "own.timings.jsonl (--more-timings)" in done.stdout, done.stdout)
        expect(f"{name}: kept", '"engine":"fake"' in own and "conv/transposed" in own, own)
        _, report, again = run(name, "--runner", gains, model=model)
        expect(f"{name}: known", report["fired"] and report["untuned"] is None and again == own, report)
    _, report = shop.apply("gains-1/other.db", "--timings", none, "--runner", loses, "--budget", 0)
    expect("known, and the engine has the last word", not report["fired"] and "timed here: 0.50" in str(report["refusals"]), report["refusals"])
    _, report, own = run("loses", "--runner", loses)
    expect("loses", not report["fired"] and report["untuned"]["timed"] == 1 and "0.50, no gain" in str(report["refusals"]), report)
    _, report, own = run("wrong", "--runner", wrong)
    expect("wrong", not report["fired"] and report["untuned"]["timed"] == 0 and "pet-tune: " in report["untuned"]["problem"], report)
    (shop.folder / "gains-1" / "own.timings.jsonl").write_text("nonsense\n")
    done, report = shop.apply("gains-1/measured.db", "--runner", gains)
    expect("own timings that are none", done.returncode == 4 and "own.timings.jsonl:1" in done.stderr and report is None, done.stderr)
    alone = shop.folder / "alone" / "pet-apply"
    alone.parent.mkdir()
    shutil.copy(BIN / "pet-apply", alone)
    _, report, own = run("without-pet-tune", "--runner", gains, tool=alone)
    expect("without pet-tune", not report["fired"] and "pet-tune is not installed" in report["untuned"]["problem"], report)


def versions(shop):
    """Which version of the engine the timings are of is said, and if another one measures."""
    lines = [json.loads(line) for line in shop.timings.read_text().splitlines()]
    fakes = shop.folder / "fake.timings.jsonl"
    for version, warned in [("7", False), ("6", True)]:
        fakes.write_text("".join(json.dumps(line | {"engine": "fake", "version": version}) + "\n" for line in lines))
        done, report = shop.apply(f"version-{version}.db", "--timings", fakes, "--runner", fake(shop.folder, f"version-{version}", "times(2.0, 1.0)"))
        expect(f"version {version}", report and report["expected"]["versions"] == [version] and f"on ort-cpu {version} with 1 thread" in done.stdout, done.stdout)
        said = f"this is fake 7, and the timings that rules are chosen by are of {version}"
        expect(f"version {version}: warning", any(said in w for w in report["warnings"]) == warned, report["warnings"])


def trouble(shop):
    """A site that cannot be timed does not pay; an engine that cannot be started is an error."""
    for name, body in [("dies", "sys.exit(3)"), ("nonsense", "print('nonsense', flush=True)"), ("negative", "times(-1.0, 1.0)"),
                       ("refuses", "print(json.dumps({'error': 'no such operator'}), flush=True)")]:
        done, report = shop.apply(f"{name}.db", "--runner", fake(shop.folder, name, body))
        reasons = [r["reason"] for r in report["refusals"] if r["rule"] == "conv/transposed"] if report else []
        expect(name, done.returncode == 0 and not report["fired"], (done.stderr, report))
        expect(name, any(r.startswith("could not be timed: ") for r in reasons), reasons)
    for name, code, more in [("no Python", RUNNER, ["--python", shop.folder / "none"]), ("no runner", RUNNER, ["--runner", shop.folder / "none.py"]),
                             ("no gain", USAGE, ["--min-gain", "0.5"]), ("no growth", USAGE, ["--max-growth", "x"]), ("no threads", USAGE, ["--threads", 0])]:
        done, report = shop.apply("trouble.db", *more)
        lines = done.stderr.splitlines()
        expect(name, done.returncode == code, f"exit code {done.returncode}: {done.stderr}")
        expect(name, len(lines) == 1 and lines[0].startswith("pet-apply: "), done.stderr)
        expect(name, report is None and not (shop.folder / "out.onnx").exists(), "something was written")
    for name, content in [("foreign", b"no database at all" * 100), ("timings", shop.pack.read_bytes())]:
        (shop.folder / name).write_bytes(content)
        done, _ = shop.apply(name)
        expect(f"cache: {name}", done.returncode == USAGE and name in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr)
        expect(f"cache: {name}", (shop.folder / name).read_bytes() == content, "it was changed")


def main():
    with tempfile.TemporaryDirectory() as folder:
        shop = Shop(pathlib.Path(folder))
        for part in (real, verdicts, open_sizes, untuned, versions, trouble):
            part(shop)
    print("\n".join(failures) or "--measure has the last word")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
