#!/usr/bin/env python3
"""First tries with pet-apply: what a newcomer sees (tests/e2e/screens/), and that the command which the screen names next works
when it is pasted. Exit status 0 or 1.

    python tests/e2e/first_try.py [--write]      # the screens anew

Times, differences and paths stand in the screens as words. Models are tiny, rules are those of tests/data, and so are gains.
"""

import json
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SOURCE = pathlib.Path(os.environ.get("PET_SOURCE", pathlib.Path(__file__).parents[2]))
BIN = pathlib.Path(os.environ.get("PET_BIN", SOURCE / "build" / "bin"))
sys.path.insert(0, str(SOURCE / "tests" / "models"))
import timed  # noqa: E402

SCREENS = pathlib.Path(__file__).parent / "screens"
NOBODY = 65534
NOT_FOR_DEPLOYERS = re.compile(r"\b(anchor|fate|opaque|mutant)", re.I)
failures = []


def expect(name, condition, detail=""):
    if not condition:
        failures.append(f"{name}: {detail}" if detail else name)


def rows(text):
    """Of a terminal of 80 columns."""
    return sum(max(1, -(-len(line) // 80)) for line in text.splitlines())


# ---- what a newcomer has

def values(*shape):
    return (np.random.default_rng(0).integers(-3, 4, shape) / 4).astype(np.float32)


def model(path, batch=2, element=TensorProto.FLOAT, group=1, table=False):
    """Two convolutions with a Relu between them; a table of more than 1 KB may be added."""
    weights = {"v": values(6, 3, 3, 3), "w": values(2, 6, 3, 3)}
    nodes = [helper.make_node("Conv", ["x", "v"], ["a"], name="conv1", pads=[1] * 4), helper.make_node("Relu", ["a"], ["r"], name="relu1"),
             helper.make_node("Conv", ["r", "w"], ["b" if table else "y"], name="conv2", pads=[1] * 4, group=group)]
    if table:
        weights["t"] = values(2, 2, 8, 10)
        nodes.append(helper.make_node("Add", ["b", "t"], ["y"], name="add1"))
    graph = helper.make_graph(nodes, "first", [helper.make_tensor_value_info("x", element, [batch, 3, 8, 10])],
                              [helper.make_tensor_value_info("y", element, [batch, 2, 8, 10])],
                              [numpy_helper.from_array(v.astype(helper.tensor_dtype_to_np_dtype(element)), k) for k, v in weights.items()])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(made, path)
    return made


class Try:
    """A folder with model.onnx and rules.db, and a share folder with timings of this ratio; it may have the rules as default pack."""

    def __init__(self, folder, name, rules="conv", ratio=None, is_default=False, **more):
        self.name, self.folder = name, folder / name
        self.share = folder / f"{name}-share"
        self.folder.mkdir()
        self.share.mkdir()
        (self.share / "ort").symlink_to(SOURCE / "runtime" / "ort")
        (self.share / "patterns").symlink_to(SOURCE / "rules" / "patterns")
        self.model = model(self.folder / "model.onnx", **more)
        shutil.copy(folder / f"{rules}.db", self.folder / "rules.db")
        if is_default:
            shutil.move(self.folder / "rules.db", self.share / "default.db")
        if ratio:
            (self.share / "ort-cpu.timings.jsonl").write_text(timings(self.folder / "rules.db", ratio))

    def run(self, command, **options):
        environment = os.environ | {"PET_SHARE": str(self.share), "PATH": f"{BIN}:{os.environ['PATH']}", "PET_CACHE": str(self.share / "cache"),
                                    "TMPDIR": str(self.share), "PET_MACHINE": "avx2"}
        environment.pop("NO_COLOR", None)
        return subprocess.run(["bash", "-c", command], cwd=self.folder, env=environment, capture_output=True, text=True, timeout=120, **options)

    def screen(self, command, code, **options):
        """Compares what is seen with the screen of this name."""
        done = self.run(command, **options)
        seen = f"$ {command}\n{done.stdout}{done.stderr}"
        for pattern, word in [(r"in [\d.]+ (s|ms|us)\b", "in TIME"), (r"run of [\d.]+ (s|ms|us)\b", "run of TIME"),
                              (r"is [\d.]+ of what", "is SHARE of what"), (r"[^ ']*/runner\.py", "RUNNER"), (r"\.[0-9a-f]{32}\.data", ".DIGEST.data"), (re.escape(str(self.folder)), "FOLDER")]:
            seen = re.sub(pattern, word, seen)
        expect(self.name, done.returncode == code, f"exit code {done.returncode} instead of {code}: {seen}")
        file = SCREENS / f"{self.name}.txt"
        if "--write" in sys.argv:
            file.write_text(seen)
        expect(self.name, file.is_file() and file.read_text() == seen, f"the screen is\n{seen}")
        expect(self.name, rows(seen) <= 24, f"more than a screen: {rows(seen)} rows")
        expect(self.name, not NOT_FOR_DEPLOYERS.search(seen), f"words of rule authors: {seen}")
        return done

    def follow(self, done, *words, **options):
        """Pastes the commands that the screen names next; the last one says these words."""
        lines = done.stdout.split("Next: ")[-1].splitlines() if "Next: " in done.stdout else []
        commands = lines[:1] + [line.strip() for line in lines[1:] if line.startswith("      ")]
        expect(self.name, commands, f"no command is named: {done.stdout}{done.stderr}")
        for command in commands:
            self.paste(command, *(words if command == commands[-1] else ()), **options)

    def advised(self, done, *words, **options):
        """Pastes the command that stands in the advice of an error."""
        found = re.search(r"(pet-apply [^:].*)\)$", done.stderr.strip())
        expect(self.name, found, f"no command is named: {done.stderr}")
        if found:
            self.paste(found[1], *words, **options)

    def paste(self, command, *words, **options):
        done = self.run(command, **options)
        expect(self.name, done.returncode == 0, f"{command}: exit code {done.returncode}: {done.stdout}{done.stderr}")
        for word in words:
            expect(self.name, word in done.stdout, f"{command}: no '{word}' in {done.stdout}")


def timings(pack, ratio):
    """What each rule gains at the shapes of the model, for some sizes of its batch."""
    listed = subprocess.run([BIN / "pet-rules", "ls", "--json", pack], capture_output=True, text=True, check=True)
    lines = []
    for rule in json.loads(listed.stdout):
        for n in [1, 2, 8, 16, 32]:
            for c, f in [(3, 6), (6, 2)]:
                lines.append({"rule": rule["hash"], "name": rule["name"], "device": "ort-cpu", "engine": "onnxruntime", "version": "1", "isa": "avx2",
                              "shapes": {"N": n, "C": c, "H": 8, "W": 10, "F": f, "R": 3, "S": 3, "P": 1, "Q": 1}, "threads": 1, "date": "2026-11-21",
                              "pattern": 1e-3 * n * ratio, "replacement": 1e-3 * n, "spread": 0.02})
    return "".join(json.dumps(line) + "\n" for line in lines)


# ---- the tries

def metadata(path):
    return {e.key: e.value for e in onnx.load(path).metadata_props}


def faster(folder):
    t = Try(folder, "a_faster_model", ratio=1.4)
    t.follow(t.screen("pet-apply model.onnx rules.db", 0), "WHOLE MODEL")
    said = metadata(t.folder / "model.pet.onnx")
    expect(t.name, said.get("pet.rules") == "conv/transposed" and len(said.get("pet.pack", "")) == 64 and "pet.options" not in said, said)
    t.paste(f"pet-apply model.onnx rules.db --timings {t.share}/ort-cpu.timings.jsonl --trust-pack -o other.onnx", "2 sites rewritten")
    said = metadata(t.folder / "other.onnx").get("pet.options", "")
    expect(f"{t.name}: options", f"--timings {t.share}" in said and "--trust-pack" in said, said)
    takes_its_time(t)


def takes_its_time(t):
    """The time that is said is that of all that was done, here mostly by a slow checker."""
    seconds = 1.5
    checker = t.folder / "slow"
    checker.write_text(f"#!/bin/sh\nsleep {seconds}\nexec {BIN}/pet-rules \"$@\"\n")
    checker.chmod(0o755)
    done = t.run(f"PET_CACHE={t.folder}/fresh pet-apply model.onnx rules.db --checker {checker}")
    said = re.search(r"Written: model.pet.onnx in ([\d.]+) s", done.stdout)
    expect(f"{t.name}: time", said and float(said[1]) >= seconds, done.stdout + done.stderr)


def default_pack(folder):
    """Without PACK, all the way: its rules are tuned, and fire or not."""
    t = Try(folder, "the_default_pack", is_default=True)
    t.follow(t.screen("pet-apply model.onnx", 0), "model.onnx: ")
    tuned = [sample["name"] for sample in timed.samples(t.folder / "model.timings.jsonl")]
    expect(t.name, tuned.count("conv/transposed") >= 2, f"tuned: {tuned}")


def nothing_to_gain(folder):
    t = Try(folder, "nothing_to_gain", ratio=0.93)
    t.follow(t.screen("pet-apply model.onnx rules.db", 0), "conv/transposed", "(0.93)")
    for rule in ["conv/transposed", "'conv/*'"]:
        t.paste(f"pet-apply model.onnx rules.db --explain {rule}", "conv1  conv/transposed", "conv2  conv/transposed", "(0.93)")


def other_cpu(folder):
    """No sample is of the CPU: a small gain is no reason to rewrite, a large one is."""
    t = Try(folder, "a_cpu_that_no_sample_is_of", ratio=1.4)
    t.follow(t.screen("pet-apply model.onnx rules.db --machine neon", 0), "model.onnx: ")
    large = Try(folder, "a_large_gain_on_other_cpus", ratio=3)
    large.follow(large.screen("pet-apply model.onnx rules.db --machine neon", 0), "WHOLE MODEL")


def dynamic_batch(folder):
    t = Try(folder, "a_dynamic_batch", rules="pair", ratio=1.4, batch="batch")
    t.follow(t.screen("pet-apply model.onnx rules.db", 0), "2 sites rewritten")


def wrong_device(folder):
    t = Try(folder, "a_wrong_device", ratio=1.4)
    t.advised(t.screen("pet-apply model.onnx rules.db --device ort-cup", 2), "2 sites rewritten")


def no_timings(folder):
    t = Try(folder, "no_timings")
    t.follow(t.screen("pet-apply model.onnx rules.db", 0), "model.onnx: ")


def other_version(folder):
    t = Try(folder, "a_pack_of_another_version", ratio=1.4)
    (t.share / "patterns").unlink()
    (t.share / "patterns").mkdir()
    shutil.copy(SOURCE / "rules" / "patterns" / "matmul.pet", t.share / "patterns")  # all of them take minutes
    with sqlite3.connect(t.folder / "rules.db") as database:
        database.execute("PRAGMA user_version = 2")
    database.close()
    command = re.search(r"make it again: (.*)\)$", t.screen("pet-apply model.onnx rules.db", 4).stderr, re.M)
    t.paste(command[1])
    t.paste("pet-apply model.onnx rules.db", "model.onnx: ")


def invalid_model(folder):
    t = Try(folder, "an_invalid_model", ratio=1.4, group=4)
    t.advised(t.screen("pet-apply model.onnx rules.db", 3), "1 site rewritten")


def typo(folder):
    t = Try(folder, "a_typo", ratio=1.4)
    t.advised(t.screen("pet-apply model.onnx rules.db --only conv/transposd", 2), "2 sites rewritten")


def no_python(folder):
    t = Try(folder, "no_python", ratio=1.4)
    done = t.screen("pet-apply model.onnx rules.db --measure --python /nowhere/python3", 6)
    expect(t.name, not (t.folder / "model.pet.onnx").exists(), done.stderr)
    t.advised(done, "2 sites rewritten")
    default_python(t)


def default_python(t):
    """Without --python, where there is none beside the tools nor in the PATH."""
    alone = t.share / "alone" / "bin"
    alone.mkdir(parents=True)
    for program in ["pet-apply", "pet-rules"]:
        shutil.copy(BIN / program, alone)
    done = t.run(f"PATH={alone} pet-apply model.onnx rules.db --measure")
    expect(t.name, done.returncode == 6 and "cannot start it" in done.stderr and done.stderr.count("\n") == 1, done.stderr)
    t.advised(done, "2 sites rewritten")


def half(folder):
    t = Try(folder, "half_precision", ratio=1.4, element=TensorProto.FLOAT16)
    t.follow(t.screen("pet-apply model.onnx rules.db", 0), "model.onnx: ")


def external(folder):
    t = Try(folder, "external_data", ratio=1.4, table=True)
    onnx.save(t.model, t.folder / "model.onnx", save_as_external_data=True, location="model.data", size_threshold=0)
    done = t.screen("pet-apply model.onnx rules.db --json report.json", 0)
    t.follow(done, "WHOLE MODEL")
    files = re.search(r"Written: (\S+) with (\S+) in", done.stdout).groups()
    expect(t.name, json.loads((t.folder / "report.json").read_text())["written"] == list(files), files)
    other = folder / "other-folder"
    other.mkdir()
    for file in files:
        shutil.copy(t.folder / file, other)
    onnx.checker.check_model(str(other / "model.pet.onnx"))  # which reads its external data


def read_only(folder):
    """Of a folder that only others may write to."""
    t = Try(folder, "a_read_only_folder", ratio=1.4)
    (t.folder / "model.onnx").chmod(0o644)
    t.folder.chmod(0o555)
    t.share.chmod(0o777)
    away = (lambda: os.setuid(NOBODY)) if os.geteuid() == 0 else None
    t.advised(t.screen("pet-apply model.onnx rules.db", 2, preexec_fn=away), "2 sites rewritten", preexec_fn=away)


def recurrent(folder):
    """A model of which pet knows no operator: there is nothing to search either."""
    t = Try(folder, "operators_that_pet_does_not_know")
    weights = {"w": values(1, 12, 3), "r": values(1, 12, 4)}
    graph = helper.make_graph([helper.make_node("GRU", ["x", "w", "r"], ["y"], name="gru1", hidden_size=4)], "recurrent",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, [5, 2, 3])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [5, 1, 2, 4])],
                              [numpy_helper.from_array(v, k) for k, v in weights.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), t.folder / "model.onnx")
    t.follow(t.screen("pet-apply model.onnx rules.db", 0), "LEFT AS IT IS", "gru1", "GRU")


def other_shape(folder):
    """Only rules of other shapes: the model's own patterns are searched, and that search is not named twice."""
    t = Try(folder, "rules_of_another_shape", rules="pair", ratio=1.4, batch=1)
    graph = t.model.graph
    del graph.node[1:], graph.initializer[1:]
    graph.node[0].output[0] = "y"
    graph.output[0].type.tensor_type.shape.dim[1].dim_value = 6
    onnx.save(t.model, t.folder / "model.onnx")
    done = t.screen("pet-apply model.onnx rules.db", 0)
    t.follow(done, "model.onnx: ")
    again = t.run("pet-apply model.onnx model.rules.db")
    expect(t.name, again.returncode == 0 and "pet-synth" not in again.stdout, again.stdout)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        for rules in ["conv", "pair"]:
            subprocess.run([BIN / "pet-rules", "import", SOURCE / "tests" / "data" / f"{rules}.pet", "-o", folder / f"{rules}.db"], check=True)
        for each in [faster, default_pack, nothing_to_gain, other_cpu, dynamic_batch, wrong_device, no_timings, other_version, invalid_model, typo,
                     no_python, half, external, read_only, recurrent, other_shape]:
            each(folder)
    helped = subprocess.run([BIN / "pet-apply", "--help"], capture_output=True, text=True, check=True).stdout
    expect("--help", not NOT_FOR_DEPLOYERS.search(helped), helped)
    print("\n".join(failures) or "first tries: each screen as expected, and what it names next works")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
