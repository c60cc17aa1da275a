#!/usr/bin/env python3
"""pet-apply on models with external data and above 2 GB: what is read, what is refused, what is written, and what is there
after a kill or on a full disk. Exit status 0 or 1.
"""

import copy
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import _kill

SOURCE = pathlib.Path(os.environ.get("PET_SOURCE", pathlib.Path(__file__).parents[2]))
BIN = pathlib.Path(os.environ.get("PET_BIN", SOURCE / "build" / "bin"))
USAGE, MODEL = 2, 3

failures = []


def expect(name, condition, detail=""):
    if not condition:
        failures.append(f"{name}: {detail}" if detail else name)


def apply(*arguments, **options):
    command = [str(BIN / "pet-apply"), *map(str, arguments), "--trust-pack"]
    return subprocess.run(command, capture_output=True, text=True, timeout=280, **options)


def contents(folder):
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


# --- Models ---


def tensor(name, *shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def small_model():
    """Convolutions that the rule matches; values in initializers, a Constant, a subgraph and a function."""
    rng = np.random.default_rng(7)

    def values(name, *shape):
        return numpy_helper.from_array(rng.standard_normal(shape).astype(np.float32), name)

    branches = [helper.make_graph([helper.make_node("Add", ["c", name], [f"{name}_added"])], name, [], [tensor(f"{name}_added", 1, 8, 6, 6)],
                                  [values(name, 1, 8, 6, 6)]) for name in ["then_values", "else_values"]]
    add = helper.make_function("mine", "Shift", ["a"], ["b"], [
        helper.make_node("Constant", [], ["k"], value=values("shift", 1, 8, 6, 6)), helper.make_node("Add", ["a", "k"], ["b"])],
        [helper.make_opsetid("", 17)])
    nodes = [
        helper.make_node("Conv", ["x", "v"], ["a"], name="conv_a", pads=[1, 1, 1, 1]),
        helper.make_node("Conv", ["a", "w"], ["b"], name="conv_b", pads=[1, 1, 1, 1]),
        helper.make_node("Constant", [], ["k"], name="constant", value=values("k", 1, 8, 6, 6)),
        helper.make_node("Add", ["b", "k"], ["s"]),
        helper.make_node("Mul", ["s", "tiny"], ["c"]),
        helper.make_node("If", ["yes"], ["d"], then_branch=branches[0], else_branch=branches[1]),
        helper.make_node("Shift", ["d"], ["y"], domain="mine"),
    ]
    constants = [values("v", 8, 8, 3, 3), values("w", 8, 8, 3, 3), values("tiny", 1, 8, 1, 1), numpy_helper.from_array(np.array(True), "yes")]
    graph = helper.make_graph(nodes, "small", [tensor("x", 1, 8, 6, 6)], [tensor("y", 1, 8, 6, 6)], constants)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("mine", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8, functions=[add])


def tensors_of(model):
    """Every tensor of a model, in the order in which pet writes them: initializers, then nodes; then functions."""
    def of_graph(graph):
        yield from graph.initializer
        yield from of_nodes(graph.node)

    def of_nodes(nodes):
        for node in nodes:
            for a in node.attribute:
                if a.HasField("t"):
                    yield a.t
                if a.HasField("g"):
                    yield from of_graph(a.g)

    yield from of_graph(model.graph)
    for f in model.functions:
        yield from of_nodes(f.node)


def refer(t, **entries):
    """The tensor's values, which it keeps elsewhere from now on."""
    raw = t.raw_data
    t.ClearField("raw_data")
    t.data_location = TensorProto.EXTERNAL
    del t.external_data[:]
    for key, value in entries.items():
        t.external_data.add(key=key, value=str(value))
    return raw


def entries(t):
    return {e.key: e.value for e in t.external_data}


def put_outside(model, folder, way):
    """Moves all values to files, and writes the model as folder/model.onnx."""
    model = copy.deepcopy(model)
    data = {}
    for i, t in enumerate(tensors_of(model)):
        file = {"one file": "w.bin", "one each": f"w{i}.bin", "a folder below": "data/more/w.bin", "odd places": "w.bin", "no lengths": "w.bin"}[way]
        file_data = data.setdefault(file, bytearray())
        if way == "odd places":
            file_data += b"?" * (13 + i)
        places = {"location": file, "offset": len(file_data), "length": len(t.raw_data), "checksum": "unknown"}
        if way == "no lengths":
            del places["length"]
        if way == "one each":
            del places["offset"]
            places["of somebody"] = "ignored"
        file_data += refer(t, **places)
    for file, values in data.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_bytes(values)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    return folder / "model.onnx"


def results(path):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    x = np.random.default_rng(1).standard_normal((1, 8, 6, 6)).astype(np.float32)
    return session.run(None, {"x": x})[0]


# --- What is written ---


def read(folder, pack):
    """Wherever the values are, the result is the same model, up to the places that it came from."""
    whole = small_model()
    (folder / "whole.onnx").write_bytes(whole.SerializeToString())
    reference = results(folder / "whole.onnx")
    written = None
    for way in ["one file", "one each", "a folder below", "odd places", "no lengths"]:
        source, target = folder / way, folder / (way + ", rewritten")
        target.mkdir()
        model = put_outside(whole, source, way)
        before = contents(source)
        done = apply(model, pack, "--all", "-o", target / "out.onnx", "--check", "full")
        expect(way, done.returncode == 0 and "2 sites rewritten" in done.stdout, done.stdout + done.stderr)
        if done.returncode:
            continue
        expect(way, contents(source) == before, "the original has changed")
        expect(way, np.allclose(results(target / "out.onnx"), reference, rtol=1e-4, atol=1e-4), "ONNX Runtime computes something else")
        written = written or contents(target)
        expect(way, contents(target) == written, "other bytes than before")
        layout(way, target)
        again(way, target, pack)


def layout(name, folder):
    """One data file, named by its content; in it all large values in order, at pages; the small ones in the model."""
    model = onnx.load(folder / "out.onnx", load_external_data=False)
    names = [n for n in contents(folder) if n != "out.onnx"]
    expect(name, len(names) == 1 and re.fullmatch(r"out\.onnx\.[0-9a-f]{32}\.data", names[0]), names)
    end = 0
    for t in tensors_of(model):
        outside = t.data_location == TensorProto.EXTERNAL
        size = int(entries(t)["length"]) if outside else len(t.raw_data)
        expect(name, outside == (size > 1024), f"{t.name} has {size} bytes, external: {outside}")
        if outside:
            offset = int(entries(t)["offset"])
            expect(name, entries(t)["location"] == names[0] and offset == (end + 4095) // 4096 * 4096, f"{t.name} at {offset}")
            end = offset + size
    expect(name, (folder / names[0]).stat().st_size == end, "the data file has more than its values")


def again(name, folder, pack):
    """A model in its own place: nothing fires, so nothing changes."""
    before = contents(folder)
    done = apply(folder / "out.onnx", pack, "--skip", "*", "-o", folder / "out.onnx")
    expect(f"{name}, again", done.returncode == 0 and contents(folder) == before, done.stderr or "other bytes")


def shared(folder, pack):
    """Two tensors with the same bytes in a file share them in the result; a model with small values alone is one file."""
    whole = small_model()
    whole.graph.initializer[1].raw_data = whole.graph.initializer[0].raw_data
    model = put_outside(whole, folder, "one file")
    proto = onnx.load(model, load_external_data=False)
    refer(proto.graph.initializer[1], **entries(proto.graph.initializer[0]))
    model.write_bytes(proto.SerializeToString())
    done = apply(model, pack, "--skip", "*", "-o", folder / "out.onnx")
    expect("shared values", done.returncode == 0, done.stderr)
    places = [entries(t) for t in onnx.load(folder / "out.onnx", load_external_data=False).graph.initializer[:2]]
    expect("shared values", places[0] == places[1] and places[0]["location"].startswith("out.onnx."), places)

    tiny = helper.make_graph([helper.make_node("Add", ["x", "w"], ["y"])], "tiny", [tensor("x", 4)], [tensor("y", 4)],
                             [numpy_helper.from_array(np.ones(4, np.float32), "w")])
    whole = helper.make_model(tiny, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    (folder / "tiny").mkdir()
    model = put_outside(whole, folder / "tiny", "one file")
    done = apply(model, pack, "-o", model)
    expect("small values", done.returncode == 0 and sorted(contents(model.parent)) == ["model.onnx", "w.bin"] and onnx.load(model) == whole, done.stderr)


def in_place(folder, pack):
    """The output replaces the model: files that are not ours stay, the data file of our last result goes."""
    model = put_outside(small_model(), folder, "one file")
    foreign = folder / f"other.onnx.{'0' * 32}.data"
    foreign.write_bytes(b"of another model")
    unused = folder / f"model.onnx.{'0' * 32}.data"
    unused.write_bytes(b"this model does not refer to it")
    reference = results(model)
    kept = contents(folder)
    seen = set()
    for arguments in [["--skip", "*"], ["--all"], ["--all"], ["--skip", "*"]]:
        done = apply(model, pack, *arguments, "-o", model)
        expect("in place", done.returncode == 0, done.stderr)
        now = contents(folder)
        own = {n for n in now if n not in kept}
        expect("in place", len(own) == 1 and own.issubset(set(now)), own)
        seen |= own
        expect("in place", all(now[n] == kept[n] for n in kept if n != "model.onnx"), "another file has changed")
        expect("in place", np.allclose(results(model), reference, rtol=1e-4, atol=1e-4), "ONNX Runtime computes something else")
    expect("in place", len(seen) == 2, seen)  # the rule undone is the original; its data file has the same name
    kept = contents(folder)
    (folder / "copy.onnx").write_bytes(model.read_bytes())  # with the data file of model.onnx
    done = apply(folder / "copy.onnx", pack, "--all", "-o", model)
    expect("over the owner of the data", done.returncode == 0 and all(n in contents(folder) for n in kept), done.stderr)
    expect("over the owner of the data", np.allclose(results(folder / "copy.onnx"), reference, rtol=1e-4, atol=1e-4))
    link = folder / "elsewhere"
    link.mkdir()
    (link / "link.onnx").symlink_to("../model.onnx")
    done = apply(model, pack, "--all", "-o", link / "link.onnx")
    expect("over a link", done.returncode == 0 and [p.name for p in link.iterdir()] == ["link.onnx"], done.stderr)


def elsewhere(folder, pack):
    """Devices and pipes get one file, and so does whoever reads the model from a pipe without external data."""
    model = put_outside(small_model(), folder, "one file")
    expect("/dev/null", apply(model, pack, "--all", "-o", "/dev/null").returncode == 0)
    expect("a dry run", apply(model, pack, "--all", "--dry-run").returncode == 0)
    expect("types", apply(model, "--types").returncode == 0)
    command = f"{BIN}/pet-apply {model} {pack} --skip '*' --trust-pack -o /dev/stderr 2>&1 >/dev/null | cat > {folder}/piped.onnx"
    subprocess.run(["bash", "-c", command], check=True)
    whole = onnx.load(folder / "piped.onnx", load_external_data=False)
    expect("a pipe", whole == small_model())
    done = subprocess.run(["bash", "-c", f"cat {folder}/piped.onnx | {BIN}/pet-apply /dev/stdin {pack} --skip '*' --trust-pack -o {folder}/unpiped.onnx"],
                          capture_output=True)
    expect("from a pipe", done.returncode == 0 and (folder / "unpiped.onnx").read_bytes() == (folder / "piped.onnx").read_bytes())
    done = subprocess.run(["bash", "-c", f"cat {model} | {BIN}/pet-apply /dev/stdin {pack} --trust-pack -o {folder}/unpiped.onnx"], capture_output=True, text=True)
    expect("from a pipe, with data elsewhere", done.returncode == MODEL and "the model comes from no folder" in done.stderr, done.stderr)


# --- What is refused ---

VALUES = 8 * 8 * 3 * 3 * 4  # bytes of v and of w
BAD_ENTRIES = [  # of v; w is at VALUES
    ("no file", {}, "initializer 'v' keeps its values in an external file, but does not name one"),
    ("a missing file", {"location": "none.bin"}, "initializer 'v' has its values in 'none.bin', which cannot be read: No such file"),
    ("a folder", {"location": "below"}, "'below', which cannot be read: Is a directory"),
    ("a pipe", {"location": "fifo"}, "'fifo', which cannot be read: not a regular file"),
    ("an absolute path", {"location": "/etc/hostname"}, "'/etc/hostname', which is not in the model's folder (copy the file into the folder"),
    ("the folder above", {"location": "../outside.bin"}, "'../outside.bin', which is not in the model's folder"),
    ("back again", {"location": "below/../w.bin"}, "'below/../w.bin', which is not in the model's folder"),
    ("a link that leaves", {"location": "link.bin"}, "'link.bin', which is not in the model's folder"),
    ("a folder that leaves", {"location": "linked/outside.bin"}, "'linked/outside.bin', which is not in the model's folder"),
    ("an offset past the end", {"location": "w.bin", "offset": 1 << 40}, f"from byte {1 << 40} on, {VALUES} of them, but the file ends at"),
    ("a length past the end", {"location": "short.bin"}, f"'short.bin' from byte 0 on, {VALUES} of them, but the file ends at 100 (the file is cut short"),
    ("an empty file", {"location": "empty.bin"}, "but the file ends at 0"),
    ("another length", {"location": "w.bin", "length": 64}, f"initializer 'v' holds 64 bytes of values, but [8, 8, 3, 3] of float need {VALUES}"),
    ("a negative offset", {"location": "w.bin", "offset": -4}, "has '-4' as the offset of its external data, which is no number of bytes"),
    ("a negative length", {"location": "w.bin", "length": -1}, "has '-1' as the length"),
    ("an offset in words", {"location": "w.bin", "offset": "four"}, "has 'four' as the offset"),
    ("an offset and more", {"location": "w.bin", "offset": "0x10"}, "has '0x10' as the offset"),
    ("an empty offset", {"location": "w.bin", "offset": ""}, "has '' as the offset"),
    ("an offset beyond 64 bits", {"location": "w.bin", "offset": 1 << 64}, f"has '{1 << 64}' as the offset"),
    ("an offset beyond 63 bits", {"location": "w.bin", "offset": (1 << 64) - 8}, "as the offset"),
    ("an overlap", {"location": "w.bin", "offset": VALUES - 4}, f"initializer 'v' and initializer 'w' overlap in 'w.bin': bytes {VALUES - 4} to {2 * VALUES - 4} and {VALUES} to {2 * VALUES}"),
    ("an overlap by another name", {"location": "./inside.bin", "offset": VALUES + 4}, "overlap"),
]


def refused(folder, pack):
    """One line with the model, the tensor and what is wrong; exit code 3; nothing written."""
    (folder.parent / "outside.bin").write_bytes(b"?" * 9999)
    model = put_outside(small_model(), folder, "one file")
    for name, make in [("below", pathlib.Path.mkdir), ("fifo", os.mkfifo), ("link.bin", lambda p: p.symlink_to("../outside.bin")),
                       ("inside.bin", lambda p: p.symlink_to("w.bin")), ("linked", lambda p: p.symlink_to("..")),
                       ("short.bin", lambda p: p.write_bytes(b"?" * 100)), ("empty.bin", pathlib.Path.touch)]:
        make(folder / name)
    good = onnx.load(model, load_external_data=False)
    before = sorted(p.name for p in folder.iterdir())
    for name, bad, words in BAD_ENTRIES:
        proto = copy.deepcopy(good)
        refer(proto.graph.initializer[0], **bad)
        model.write_bytes(proto.SerializeToString())
        done = apply(model, pack, "-o", folder / "out.onnx")
        lines = done.stderr.splitlines()
        expect(name, done.returncode == MODEL and len(lines) == 1, f"exit code {done.returncode}: {done.stdout}{done.stderr}")
        expect(name, words in done.stderr and str(model) in done.stderr, f"no '{words}' in {done.stderr}")
        expect(name, sorted(p.name for p in folder.iterdir()) == before, "the folder has changed")
    for owner, pick in [("attribute 'value' of node 'constant' (Constant)", lambda m: m.graph.node[2].attribute[0].t),
                        ("initializer 'else_values'", lambda m: m.graph.node[5].attribute[0].g.initializer[0]),
                        ("attribute 'value' of node '' (Constant)", lambda m: m.functions[0].node[0].attribute[0].t)]:
        proto = copy.deepcopy(good)
        refer(pick(proto), location="none.bin")
        model.write_bytes(proto.SerializeToString())
        done = apply(model, pack, "-o", folder / "out.onnx")
        expect(owner, done.returncode == MODEL and f"{owner} has its values in 'none.bin'" in done.stderr, done.stderr)
    for inside in ["inside.bin", "./w.bin", "below/here.bin"]:  # no reason to refuse
        (folder / "below" / "here.bin").write_bytes((folder / "w.bin").read_bytes())
        proto = copy.deepcopy(good)
        refer(proto.graph.initializer[0], location=inside, offset=0, length=VALUES)
        model.write_bytes(proto.SerializeToString())
        expect(inside, apply(model, pack, "--dry-run").returncode == 0)


# --- Kills and full disks ---


def state(path):
    """The values of a model with its data."""
    model = onnx.load(path)
    return [t.raw_data for t in model.graph.initializer]


def full_disk(folder, pack):
    """Wherever the space ends, everything is as it was."""
    model = put_outside(small_model(), folder, "one file")
    before = contents(folder)
    out = apply(model, pack, "--all", "-o", folder / "fits.onnx")
    expect("no limit", out.returncode == 0, out.stderr)
    most = max(p.stat().st_size for p in folder.glob("fits.onnx*"))
    for path in folder.glob("fits.onnx*"):
        path.unlink()
    for limit in [*range(0, most, most // 15), most - 1]:
        for target in [model, folder / "new.onnx"]:
            done = apply(model, pack, "--all", "-o", target, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
            expect(f"no space after {limit} bytes", done.returncode == USAGE and "cannot write the model: File too large (nothing was written)" in
                   done.stderr, (done.returncode, done.stderr))
            expect(f"no space after {limit} bytes", contents(folder) == before, sorted(contents(folder)))


def kills(folder, pack):
    """Killed at any of its changes of files, the path holds the old model with its data or the new one, whole."""
    hook, base, place = _kill.hook(folder), folder / "base", folder / "place"
    model = put_outside(small_model(), base, "one file")
    expect("with data of our own", apply(model, pack, "--skip", "*", "-o", model).returncode == 0)
    old, new, seen = state(model), None, []
    for at in range(1, 200):
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(base, place)
        path = place / model.name
        done = apply(path, pack, "--all", "-o", path, env={**os.environ, "LD_PRELOAD": str(hook), "PET_KILL_AT": str(at)})
        seen.append(state(path))
        expect(f"killed at {at}", np.isfinite(results(path)).all())
        strange = [n for n in contents(place) if not re.fullmatch(r"w\.bin|model\.onnx(\.[0-9a-f]{32}\.data)?|\.model\.onnx\.\d+-\d+\.tmp", n)]
        expect(f"killed at {at}", not strange, strange)
        if done.returncode == 0:
            break
        expect(f"killed at {at}", done.returncode == -signal.SIGKILL, (done.returncode, done.stderr))
    new = seen[-1]
    expect("killed at each change", done.returncode == 0 and len(seen) > 8 and new != old, len(seen))
    expect("killed", all(each in (old, new) for each in seen), "neither the old model nor the new one")
    expect("killed", seen[0] == old and new in seen[:-1], "never behind the new model's rename, or never before it")
    print(f"killed at {len(seen) - 1} changes of files")


# --- Large models ---


def varint(n):
    out = bytearray()
    while n >= 128:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out) + bytes([n])


def write_sparse(path, count, side):
    """A chain of MatMuls with a Conv before it, as one file of more than 2 GB, of which only the ends of the weights take space."""
    nodes = [helper.make_node("Conv", ["x", "k"], ["y0"], pads=[1, 1, 1, 1])]
    nodes += [helper.make_node("MatMul", [f"y{i}", f"w{i}"], [f"y{i + 1}"], name=f"matmul_{i}") for i in range(count)]
    kernel = numpy_helper.from_array(np.ones((1, 1, 3, 3), np.float32), "k")
    graph = helper.make_graph(nodes, "large", [tensor("x", 1, 1, 4, side)], [tensor(f"y{count}", 1, 1, 4, side)], [kernel])
    frame = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    graph_bytes = frame.graph.SerializeToString()
    frame.ClearField("graph")
    size = side * side * 4
    heads = []
    for i in range(count):
        head = TensorProto(name=f"w{i}", data_type=1, dims=[side, side]).SerializeToString() + b"\x4a" + varint(size)
        heads.append(b"\x2a" + varint(len(head) + size) + head)
    with open(path, "wb") as file:
        file.write(frame.SerializeToString() + b"\x3a" + varint(len(graph_bytes) + sum(len(h) + size for h in heads)) + graph_bytes)
        for i, head in enumerate(heads):
            file.write(head)
            file.seek(size - 4, os.SEEK_CUR)
            file.write(np.float32(i + 1).tobytes())


def peak(*arguments):
    """The exit code, and the most memory, in bytes; pages of mapped files count."""
    process = subprocess.Popen([str(BIN / "pet-apply"), *map(str, arguments), "--trust-pack"], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, usage.ru_maxrss * 1024


def large(folder, pack):
    """A file of more than 2 GB is read, and written with a data file, in little memory."""
    count, side = 34, 4096
    write_sparse(folder / "large.onnx", count, side)
    expect("large", (folder / "large.onnx").stat().st_size > 2 << 30)
    if shutil.disk_usage(folder).free < 4 << 30:
        print("no space for a model of 2 GB: only read")
        code, memory = peak(folder / "large.onnx", pack, "--all", "--dry-run")
        return expect("large, read", code == 0 and memory < 200 << 20, (code, memory))
    code, memory = peak(folder / "large.onnx", pack, "--all", "--check", "sites", "-o", folder / "out.onnx")
    expect("large", code == 0 and memory < 200 << 20, (code, memory))
    if code:
        return None
    (folder / "large.onnx").unlink()
    model = onnx.load(folder / "out.onnx", load_external_data=False)
    weights = {t.name: t for t in model.graph.initializer}
    places = [entries(weights[f"w{i}"]) for i in range(count)]
    with open(folder / places[0]["location"], "rb") as file:
        for i, place in enumerate(places):
            file.seek(int(place["offset"]) + int(place["length"]) - 4)
            expect("large", file.read(4) == np.float32(i + 1).tobytes(), f"w{i} ends with something else")
    code, memory = peak(folder / "out.onnx", pack, "--all", "--dry-run")
    expect("large, from a data file", code == 0 and memory < 200 << 20, (code, memory))
    done = apply(folder / "out.onnx", pack, "-o", "/dev/null")
    return expect("large, to a pipe", done.returncode == MODEL and "over ONNX's 2 GB" in done.stderr, done.stderr)


def main():
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        pack = root / "rules.db"
        subprocess.run([str(BIN / "pet-rules"), "import", str(SOURCE / "tests" / "data" / "conv.pet"), "-o", str(pack)], check=True)
        for test in [read, shared, in_place, elsewhere, refused, full_disk, kills, large]:
            folder = root / test.__name__
            folder.mkdir()
            test(folder, pack)
            shutil.rmtree(folder)
    print("\n".join(failures) or "external data and large models are read, written and replaced as a whole; bad ones are refused")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
