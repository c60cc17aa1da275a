#!/usr/bin/env python3
"""The wheel: built from the installed library, installed into an empty environment, used on files, on models in memory and
with ONNX Runtime; its exceptions, which say what pet-apply says. Exit status 0 or 1; 77 where the build's requirements are missing.
"""

import importlib.util
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time

import _packs
from pack import BIN, SOURCE

sys.path.insert(0, str(SOURCE / "tests" / "models"))
import build  # noqa: E402

USES = '''
import json, pathlib, sys, time
import pet
model = pathlib.Path("model.onnx")
begin = time.monotonic()
path, report = pet.apply(model)
seconds = time.monotonic() - begin
assert seconds < 10, seconds
print(f"{seconds:.1f} s in an empty environment")
assert path == "model.pet.onnx" and report["fired"], (path, report)
assert pathlib.Path(path).read_bytes() == pathlib.Path(sys.argv[1]).read_bytes(), "other bytes than pet-apply's"
assert pet.apply(str(model), dry_run=True, measure=None, all=False).model == "model.onnx"
every = pet.apply(model, all=True, only=["*/f.*", "*/n.*"], output=pathlib.Path("all.onnx"))
assert every.model == "all.onnx", every
for kind, word, arguments, options in [
        (pet.UsageError, "--min-gain", ["model.onnx"], {"min_gain": "much"}), (pet.UsageError, "--no-such", ["model.onnx"], {"no_such": 1}),
        (pet.ModelError, "none.onnx", ["none.onnx"], {}), (pet.PackError, "model.onnx", ["model.onnx", "model.onnx"], {}),
        (ValueError, "none.onnx", ["none.onnx"], {}), (TypeError, "int", [3], {})]:
    try:
        pet.apply(*arguments, **options)
    except kind as e:
        assert word in str(e) and "\\n" not in str(e), e
    else:
        raise AssertionError(f"{arguments} {options}: no {kind.__name__}")
assert "onnx" not in sys.modules and pet.__version__
'''
IN_MEMORY = '''
import onnx, pet
model = onnx.load("model.onnx")
rewritten, report = pet.apply(model)
assert isinstance(rewritten, onnx.ModelProto) and rewritten.SerializeToString() == onnx.load("model.pet.onnx").SerializeToString()
assert report["fired"] and any(n.name.startswith("pet/") for n in rewritten.graph.node)
try:
    pet.apply(onnx.ModelProto())
except pet.ModelError as e:
    print(e)
else:
    raise AssertionError("an empty model is one")


class TooLarge:
    """A message over 2 GB, as protobuf treats it."""

    graph = onnx.GraphProto()

    def SerializeToString(self):
        raise ValueError("Message onnx.ModelProto exceeds maximum protobuf size\\nof 2GB")


outside, inner = onnx.load("model.onnx"), onnx.load("model.onnx")
outside.graph.initializer[0].data_location = onnx.TensorProto.EXTERNAL
inner.graph.node.add(op_type="Loop").attribute.add(name="body", type=onnx.AttributeProto.GRAPH).g.CopyFrom(outside.graph)
for wrong, word in [(outside, "another file"), (inner, "another file"), (TooLarge(), "2GB")]:
    try:
        pet.apply(wrong)
    except pet.ModelError as e:
        assert word in str(e) and "path instead" in str(e) and "\\n" not in str(e) and "/tmp" not in str(e), e
    else:
        raise AssertionError(f"{word}: no ModelError")
'''


# What is raised for each of the calls in a file.
RAISES = '''
import json, sys
import pet
raised = []
for kind, arguments, options in json.load(open(sys.argv[1])):
    try:
        pet.apply(*arguments, **options)
    except pet.Error as e:
        raised.append([type(e).__name__, e.code, str(e)])
    else:
        raised.append(["nothing", 0, ""])
print(json.dumps(raised))
'''
# An engine that leaves word which Python runs it.
ENGINE = '''
import json, pathlib, sys
pathlib.Path(__file__).with_name("python.txt").write_text(sys.executable)
for line in sys.stdin:
    request = json.loads(line)
    if request["cmd"] == "hello":
        print(json.dumps({"engine": "fake", "version": "7", "isa": "abacus", "cpu": "beads"}), flush=True)
        continue
    n = len(request["models"])
    seconds = [3.0] + [1.0] * (n - 1)
    print(json.dumps({"samples": [[s] * 5 for s in seconds], "median": seconds, "p10": seconds, "p90": seconds, "max_abs_diff": [0.0] * n,
                      "max_abs": 1.0}), flush=True)
'''
MEASURES = '''
import pathlib, sys
import pet
_, report = pet.apply("model.onnx", measure=True, runner="engine.py", cache="measured.db", output="measured.onnx")
assert report["measured"] and report["fired"], report
assert pathlib.Path("python.txt").read_text() == sys.executable, "another Python than this one"
'''
# With ever more memory: as long as it is too little, that is an exception like any other.
NO_MEMORY = '''
import ctypes
import pet
limit = ctypes.CDLL(None).petLimitMemory
limit.argtypes, limit.restype = [ctypes.c_int64, ctypes.c_int64], None
pet.apply("model.onnx", dry_run=True)
raised = 0
def without(memory, call):
    global raised
    limit(memory, -1)
    try:
        call()
    except pet.InternalError as e:
        limit(-1, -1)
        assert str(e) == "out of memory" and e.code == 1, e
        raised += 1
    except (pet.Error, MemoryError):
        raised += 1
    finally:
        limit(-1, -1)
limits = [*range(0, 8192, 32), *range(8192, 8 << 20, 100003)]
for memory in limits:
    without(memory, lambda: pet.apply("model.onnx", dry_run=True))
    if memory % 7 == 0:
        without(memory, lambda: pet.Session("model.onnx"))
assert raised > 200, raised
pet.apply("model.onnx", dry_run=True)
'''


# A session, on a path and on bytes, with what is wrong with its inputs.
SESSION = '''
import threading
import numpy as np, onnx, onnxruntime, pet
model = onnx.load("model.onnx")
reference = onnxruntime.InferenceSession("model.onnx", providers=["CPUExecutionProvider"])
(given,) = reference.get_inputs()
xs = [np.random.default_rng(seed).uniform(-1, 1, given.shape).astype(np.float32) for seed in range(4)]
x, wanted = xs[0], [reference.run(None, {given.name: each})[0] for each in xs]
sessions = [pet.Session("model.onnx", winograd=False), pet.Session(model, threads=2, plans=1, winograd=False)]
found = [[], [], [], []]
# Both at once, each of them from two threads, with other inputs at each turn.
threads = [threading.Thread(target=lambda i=i: found[i].extend(sessions[i % 2].run({given.name: xs[(i + turn) % 4]}) for turn in range(12)))
           for i in range(4)]
[t.start() for t in threads], [t.join() for t in threads]
for i, turns in enumerate(found):
    assert len(turns) == 12, turns
    for turn, outputs in enumerate(turns):
        (y,), right = outputs.values(), wanted[(i + turn) % 4]
        assert y.dtype == right.dtype and y.shape == right.shape and np.abs(y - right).max() <= 1e-4 * np.abs(right).max(), (i, turn)
        y[...] = 0  # it is the caller's
for session in sessions:
    assert session.inputs == [pet.TensorType(given.name, "float32", tuple(given.shape))], session.inputs
    assert session.arena_bytes > 0
for word, feeds in [("no value for the input", {}), ("no input 'z'", {given.name: x, "z": x}), ("float64", {given.name: x.astype(np.float64)}),
                    ("extents", {given.name: x[..., 1:]}), ("complex", {given.name: x.astype(np.complex64)})]:
    try:
        sessions[0].run(feeds)
    except pet.UsageError as e:
        assert word in str(e) and "\\n" not in str(e), e
    else:
        raise AssertionError(f"{word}: nothing is raised")
elsewhere = onnx.load("model.onnx")
elsewhere.graph.initializer[0].data_location = onnx.TensorProto.EXTERNAL
for kind, word, call in [(pet.ModelError, "none.onnx", lambda: pet.Session("none.onnx")),
                         (pet.ModelError, "pass the model's path instead", lambda: pet.Session(elsewhere)), (pet.UsageError, "threads", lambda: pet.Session(model, threads=0))]:
    try:
        call()
    except kind as e:
        assert word in str(e), e
    else:
        raise AssertionError(f"{word}: nothing is raised")
'''


def must(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=280, **options)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))[:200]}: {done.stdout[-2000:]}{done.stderr[-4000:]}")
    return done.stdout


def build_wheel(folder):
    """From the installed library, so that nothing of pet but the module itself is compiled."""
    must("cmake", "--install", BIN.parent, "--prefix", folder / "prefix", "--component", "library", "--strip")
    environment = {**os.environ, "CMAKE_PREFIX_PATH": str(folder / "prefix")}
    if shutil.which("ccache"):
        environment["CMAKE_CXX_COMPILER_LAUNCHER"] = "ccache"
    must(sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "--no-index", "-w", folder / "wheels",
         "--config-settings", f"build-dir={folder / 'wheel-build'}", SOURCE / "python", env=environment)
    return next((folder / "wheels").glob("*.whl"))


def missing():
    """Of what builds a wheel."""
    return [name for name in ["nanobind", "scikit_build_core"] if not importlib.util.find_spec(name)]


def of_another_version(pack, altered):
    """A pack whose header says another version of the format."""
    for version in [2, 4]:
        shutil.copy(pack, altered[version])
        with sqlite3.connect(altered[version]) as database:
            database.execute(f"PRAGMA user_version = {version}")
        database.close()


def said_alike(folder, python, environment):
    """Exceptions have the line that pet-apply says, without its name in front."""
    (folder / "cases.json").write_text(json.dumps(wrong_calls(folder), default=str))
    cases = json.loads((folder / "cases.json").read_text())
    raised = json.loads(must(python, "-c", RAISES, "cases.json", cwd=folder, env=environment))
    for (kind, arguments, options), (found, code, message) in zip(cases, raised, strict=True):
        words = [f"--{name.replace('_', '-')}" + ("" if value is True else f"={value}") for name, value in options.items()]
        done = subprocess.run([BIN / "pet-apply", *arguments, *words], capture_output=True, text=True, timeout=280, cwd=folder, env=environment)
        if (found, code, f"pet-apply: {message}\n") != (kind, done.returncode, done.stderr):
            sys.exit(f"{arguments} {options}: {found} {code} {message!r}, but pet-apply says {done.returncode} {done.stderr!r}")


def wrong_calls(folder):
    """(exception, model and pack, options)"""
    model, old, new, lying = (folder / name for name in ["model.onnx", "old.db", "new.db", "lying.db"])
    pack = folder / "rules.db"
    must(BIN / "pet-rules", "import", SOURCE / "tests" / "data" / "conv.pet", "-o", pack)
    of_another_version(pack, {2: old, 4: new})
    _packs.forge(pack, lying, "backward 0 -> 0", "backward 0 -> 1", "proof")
    return [("UsageError", [model], {"min_gain": "much"}), ("UsageError", [model], {"min_gian": "1.1"}), ("UsageError", [model], {"quite": True}),
            ("UsageError", [model], {"only": "conv/none"}), ("UsageError", [model], {"device": "ort-cup"}),
            ("UsageError", [model], {"output": "/proc/none/x.onnx"}), ("ModelError", [folder / "none.onnx"], {}), ("PackError", [model, model], {}),
            ("PackError", [model, old], {}), ("PackError", [model, new], {}), ("CheckError", [model, lying], {"all": True, "checker": BIN / "pet-rules"}),
            ("RunnerError", [model], {"measure": True, "python": "/nowhere/python3", "runner": folder / "engine.py", "cache": folder / "none.db"})]


def main():
    if missing():
        print(f"{', '.join(missing())}: not installed")
        return 77
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        begin = time.monotonic()
        wheel = build_wheel(folder)
        print(f"{wheel.name}: {wheel.stat().st_size} bytes in {time.monotonic() - begin:.0f} s")
        build.build("srcnn", folder).rename(folder / "model.onnx")
        must(BIN / "pet-apply", folder / "model.onnx", "-q", "-o", folder / "tool.onnx", env={})
        must(sys.executable, "-m", "venv", folder / "empty")
        python = folder / "empty" / "bin" / "python"
        must(python, "-m", "pip", "install", "--no-deps", "--no-index", wheel)
        alone = {"PATH": "/proc/nonexistent", "HOME": "/proc/nonexistent"}
        print(must(python, "-c", USES, folder / "tool.onnx", cwd=folder, env=alone), end="")
        (folder / "engine.py").write_text(ENGINE)
        must(python, "-c", MEASURES, cwd=folder, env=alone)
        must(python, "-c", NO_MEMORY, cwd=folder, env={**alone, "LD_PRELOAD": BIN / "libpet_memory.so"})
        said_alike(folder, python, alone)
        packages = os.pathsep.join(path for path in sys.path if path.endswith("-packages"))
        must(python, "-c", IN_MEMORY, cwd=folder, env={**alone, "PYTHONPATH": packages})
        must(python, "-c", SESSION, cwd=folder, env={**alone, "PYTHONPATH": packages})
        print(must(python, SOURCE / "examples" / "run_on_onnxruntime.py", "model.onnx", cwd=folder, env={**alone, "PYTHONPATH": packages}), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
