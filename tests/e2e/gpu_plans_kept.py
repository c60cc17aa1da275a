#!/usr/bin/env python3
"""What pet-run keeps of a GPU's plans, on GPUs that are not there: a second start plans and compiles nothing; another device, another
precision and another cuDNN take nothing of it and leave it as it is; a file that is damaged or of somebody else is named; a process
that is killed leaves a file that the next one can use. And what is wrong with the machine is named. Exit status 0 or 1; 77 where pet
is built without CUDA.
"""

import json
import os
import pathlib
import signal
import sqlite3
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import _kill
from _gpu import BIN, SOURCE, with_times

USAGE, MODEL, SKIPPED = 2, 3, 77
# What the driver and the libraries would say of a machine, and what pet-run says then.
MACHINES = {
    "a driver that is too old": ("int cudaDriverGetVersion(int* v) { *v = 12040; return 0; }\n"
                                 "int cudaGetDeviceCount(int* n) { *n = 0; return 35; }",
                                 "the driver is for CUDA 12.4, and 13.0 is needed"),
    "a driver without a device": ("int cudaDriverGetVersion(int* v) { *v = 13000; return 0; }\n"
                                  "int cudaGetDeviceCount(int* n) { *n = 0; return 0; }", "there is no device"),
    "another cuDNN": ("unsigned long cudnnGetVersion(void) { return 80907; }", "cuDNN 8.9.7 is installed, and 9 is needed"),
    "a cuDNN for another CUDA": ("unsigned long cudnnGetCudartVersion(void) { return 12090; }", "cuDNN is for CUDA 12, and this is built for CUDA 13"),
}
failures = []


def expect(name, condition, detail=""):
    if not condition:
        failures.append(f"{name}: {detail}")


def write_model(path):
    kernel = numpy_helper.from_array(np.ones((8, 3, 3, 3), np.float32), "w")
    nodes = [helper.make_node("Conv", ["x", "w"], ["t"]), helper.make_node("Sigmoid", ["t"], ["u"]), helper.make_node("Softmax", ["u"], ["y"])]
    tensor = [helper.make_tensor_value_info(n, TensorProto.FLOAT, d) for n, d in [("x", [1, 3, 9, 9]), ("y", [1, 8, 7, 7])]]
    graph = helper.make_graph(nodes, "small", tensor[:1], tensor[1:], [kernel])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def run(*words, **environment):
    return subprocess.run([str(w) for w in [BIN / "pet-run", *words]], capture_output=True, text=True, timeout=280, env={**os.environ, **environment})


def counts(done):
    """What was made, and what was kept."""
    if done.returncode:
        return done.stderr
    plans = json.loads(done.stdout)["plans"]
    return {"made": plans["chosen"] + plans["compiled"], "kept": plans["restored"] + plans["loaded"]}


def planned(model, cache, device="h200", precision="fp32", **environment):
    return run(model, "--plan", device, "--precision", precision, "--cache", cache, "--json", "-", **environment)


def library(folder, name, code):
    """A library that is loaded before others."""
    path = folder / f"{name}.so"
    subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-x", "c", "-", "-o", path], input=code, text=True, check=True)
    return str(path)


def starts(model, folder):
    cache = folder / "made" / "plans.db"  # with its folder
    first = {"made": 2, "kept": 0}
    again = {"made": 0, "kept": 2}
    expect("the first start", (found := counts(planned(model, cache))) == first, found)
    expect("the second start", (found := counts(planned(model, cache))) == again, found)
    expect("another device", (found := counts(planned(model, cache, device="a100"))) == first, found)
    expect("another precision", (found := counts(planned(model, cache, precision="fp16"))) == first, found)
    other = library(folder, "newer", "unsigned long cudnnGetVersion(void) { return 91901; }")
    # Kernels of ours do not depend on cuDNN.
    expect("another cuDNN", (found := counts(planned(model, cache, LD_PRELOAD=other))) == {"made": 1, "kept": 1}, found)
    expect("the first device again", (found := counts(planned(model, cache))) == again, found)
    expect("without a cache", (found := counts(run(model, "--plan", "h200", "--json", "-"))) == first, found)


def damaged(model, folder):
    cache = folder / "plans.db"
    planned(model, cache)
    whole = cache.read_bytes()
    for name, content, says in [("text", b"these are no plans\n" * 100, "file is not a database"),
                                ("torn", whole[:len(whole) // 2], "malformed"),
                                ("torn early", whole[:50], "malformed")]:
        path = folder / f"{name}.db"
        path.write_bytes(content)
        done = planned(model, path)
        expect(name, done.returncode == USAGE and says in done.stderr and "delete it, or give another place with --cache" in done.stderr, (done.returncode, done.stderr))
        expect(name, path.read_bytes() == content, "it was changed")
    other = folder / "other.db"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE plans(a)")
    content = other.read_bytes()
    done = planned(model, other)
    expect("a database of somebody else", done.returncode == USAGE and "is no cache of pet's" in done.stderr, done.stderr)
    expect("a database of somebody else", other.read_bytes() == content, "it was changed")
    done = run(model, "--cache", cache)
    expect("on a processor", done.returncode == USAGE and "--cache" in done.stderr, done.stderr)
    with sqlite3.connect(cache) as connection:  # what is no plan
        connection.execute("UPDATE results SET value = substr(value, 1, length(value) / 2)")
    expect("torn plans", (found := counts(planned(model, cache))) == {"made": 2, "kept": 0}, found)
    expect("torn plans", (found := counts(planned(model, cache))) == {"made": 0, "kept": 2}, found)


def killed(model, folder):
    """At changes of files, more and more seldom; also where plans are timed before one is kept."""
    hook = _kill.hook(folder, "-DDATABASES")
    for device in ["h200", with_times(folder)]:
        planned(model, folder / "whole.db", device)
        whole = counts(planned(model, folder / "whole.db", device))
        expect(f"{device}, all is kept", whole["made"] == 0 and whole["kept"] >= 2, whole)
        at, kills = 1, 0
        while at < 1000:
            cache = folder / f"{pathlib.Path(device).stem}{at}.db"
            done = planned(model, cache, device, LD_PRELOAD=str(hook), PET_KILL_AT=str(at))
            if done.returncode == 0:
                break
            expect(f"{device}, killed at {at}", done.returncode == -signal.SIGKILL, (done.returncode, done.stderr))
            kills += 1
            expect(f"{device}, killed at {at}", (found := planned(model, cache, device)).returncode == 0, found.stderr)
            expect(f"{device}, killed at {at}", (found := counts(planned(model, cache, device))) == whole, found)
            at *= 2
        expect(f"{device}, killed", kills >= 5 and done.returncode == 0, kills)
        print(f"{device}: killed at {kills} changes of files")


def machines(model, folder):
    for i, (name, (code, says)) in enumerate(MACHINES.items()):
        done = run(model, "--device", "cuda", "--cache", folder / "plans.db", LD_PRELOAD=library(folder, f"machine{i}", code))
        expect(name, done.returncode == USAGE and f"CUDA: {says}" in done.stderr, (done.returncode, done.stderr))
    small = json.loads((SOURCE / "runtime" / "cuda" / "devices" / "h200.json").read_text()) | {"totalGlobalMem": 2000}
    (folder / "small.json").write_text(json.dumps(small))
    done = run(model, "--plan", folder / "small.json")
    expect("too little memory", done.returncode == MODEL and "no memory for" in done.stderr and "H200" in done.stderr, (done.returncode, done.stderr))


def main():
    if not (BIN / "libpet_cuda.so").exists():
        print("pet is built without CUDA")
        return SKIPPED
    for test in [starts, damaged, killed, machines]:
        with tempfile.TemporaryDirectory() as folder:
            model = pathlib.Path(folder) / "small.onnx"
            write_model(model)
            test(model, pathlib.Path(folder))
    print("\n".join(failures) if failures else "plans are kept")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
