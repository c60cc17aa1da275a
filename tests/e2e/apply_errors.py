#!/usr/bin/env python3
"""pet-apply on bad input: one clear line, the documented exit code, no file written. Exit status 0 or 1."""

import json
import os
import pathlib
import pty
import resource
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SOURCE = pathlib.Path(os.environ.get("PET_SOURCE", pathlib.Path(__file__).parents[2]))
BIN = pathlib.Path(os.environ.get("PET_BIN", SOURCE / "build" / "bin"))
USAGE, MODEL, PACK, CHECK = 2, 3, 4, 5

failures = []


def expect(name, condition, detail=""):
    if not condition:
        failures.append(f"{name}: {detail}" if detail else name)


def refuse(name, code, *words, arguments, folder, **options):
    """One line on standard error that holds the words, the exit code, and nothing new in the folder."""
    before = {p: p.lstat().st_mtime_ns for p in folder.iterdir()}
    done = subprocess.run([str(BIN / "pet-apply"), *map(str, arguments)], capture_output=True, text=True, timeout=120, **options)
    expect(name, done.returncode == code, f"exit code {done.returncode} instead of {code}: {done.stdout}{done.stderr}")
    lines = done.stderr.splitlines()
    expect(name, len(lines) == 1 and lines[0].startswith("pet-apply: "), f"not one line: {done.stderr!r}")
    for word in words:
        expect(name, word in done.stderr, f"no '{word}' in {done.stderr!r}")
    expect(name, {p: p.lstat().st_mtime_ns for p in folder.iterdir()} == before, "the folder has changed")


def tensor(name, *shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def kernel(name="w"):
    return numpy_helper.from_array(np.ones((2, 2, 3, 3), np.float32), name)


def conv(x, w, y):
    return helper.make_node("Conv", [x, w], [y], name=f"conv_{y}", pads=[1, 1, 1, 1])


def model(nodes, initializers=(), outputs=("y",)):
    graph = helper.make_graph(nodes, "bad", [tensor("x", 1, 2, 6, 6)], [tensor(o, 1, 2, 6, 6) for o in outputs], list(initializers))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def node(type_, *operands, **attributes):
    """A model of one such node that reads x and constants."""
    shapes = {"w": (2, 2, 3, 3), "narrow": (2, 3, 3, 3), "m": (5, 4), "v": (6,)}
    constants = [numpy_helper.from_array(np.ones(s, np.float32), n) for n, s in shapes.items() if n in operands]
    return model([helper.make_node(type_, list(operands), ["y"], name="bad", **attributes)], constants)


def with_opset(made, version, domain=""):
    """The model with this opset and no other; without any where the version is None."""
    del made.opset_import[:]
    if version is not None:
        made.opset_import.add(domain=domain, version=version)
    return made


# ONNX allows none of these, whatever x is; the words are in the message.
INVALID = {
    "a group that does not divide": (node("Conv", "x", "w", group=3), "group"),
    "channels that do not fit": (node("Conv", "x", "narrow"), "channels"),
    "a stride of 0": (node("Conv", "x", "w", strides=[0, 1]), "strides"),
    "pads of another length": (node("Conv", "x", "w", pads=[1, 1, 1]), "pads"),
    "inner extents that differ": (node("MatMul", "x", "m"), "6"),
    "an attribute of another type": (node("Softmax", "x", axis=1.5), "axis"),
    "too few operands": (node("Conv", "x"), "operand"),
    "too many operands": (node("Relu", "x", "v"), "operand"),
    "an axis that is not there": (node("Softmax", "x", axis=4), "axis"),
    "an attribute that is missing": (node("AveragePool", "x"), "kernel_shape"),
    "another permutation": (node("Transpose", "x", perm=[0, 1, 2, 2]), "perm"),
    "no opset": (with_opset(node("Relu", "x"), None), "the model has no opset"),
    "an opset of another domain alone": (with_opset(node("Relu", "x"), 1, "somebody"), "the model has no opset"),
    "opset 0": (with_opset(node("Relu", "x"), 0), "the model has no opset"),
}


def invalid_models(folder, good, pack):
    """One line with node, operator and what is wrong; --keep-invalid passes it on."""
    path, output = folder / "invalid.onnx", folder / "kept.onnx"
    for name, (invalid, word) in INVALID.items():
        onnx.save(invalid, path)
        refuse(name, MODEL, "'bad'", invalid.graph.node[0].op_type, word, "--keep-invalid", arguments=[path, pack, "--all"], folder=folder)
        done = subprocess.run([str(BIN / "pet-apply"), str(path), str(pack), "--all", "--keep-invalid", "-o", str(output)],
                              capture_output=True, text=True, timeout=120)
        expect(f"{name}, kept", done.returncode == 0 and onnx.load(output).graph.node == invalid.graph.node, done.stderr)
        output.unlink(missing_ok=True)
    onnx.save(model([helper.make_node("NewOperator", ["x"], ["y"], name="new")]), path)  # not invalid: unknown
    done = subprocess.run([str(BIN / "pet-apply"), str(path), str(pack), "--all", "-o", str(output)], capture_output=True, text=True, timeout=120)
    expect("an unknown operator", done.returncode == 0 and "1 of the nodes, NewOperator x1" in done.stdout, done.stdout + done.stderr)
    output.unlink(missing_ok=True)
    path.unlink()


def warnings(folder, good, pack):
    """A newer opset, declarations that cannot be and unknown operators are no errors: the summary and the report say so."""
    path, output, report = folder / "odd.onnx", folder / "odd.pet.onnx", folder / "odd.json"
    future = with_opset(model([conv("x", "w", "a"), conv("a", "w", "y")], [kernel()]), 999)
    declared = model([conv("x", "w", "a"), conv("a", "w", "y")], [kernel()])
    declared.graph.value_info.append(tensor("a", 1, 2, 6, 7))
    strange = model([conv("x", "w", "a"), helper.make_node("NewOperator", ["a"], ["b"]), helper.make_node("Own", ["b"], ["c"], domain="somebody"),
                     conv("x", "w", "y"), helper.make_node("NewOperator", ["c"], ["d"])], [kernel()])
    strange.opset_import.add(domain="somebody", version=1)
    for name, odd, words in [("a future opset", future, ["opset 999 is newer than "]),
                             ("a declaration that cannot be", declared, ["node 'conv_a' (Conv): its result 'a' is declared with extent 7"]),
                             ("unknown operators", strange, ["left as they are: NewOperator x2, somebody.Own x1"]),
                             ("nothing odd", onnx.load(good), [])]:
        onnx.save(odd, path)
        done = subprocess.run([str(BIN / "pet-apply"), str(path), str(pack), "--all", "-o", str(output), "--json", str(report)],
                              capture_output=True, text=True, timeout=120)
        expect(name, done.returncode == 0 and "2 sites rewritten" in done.stdout, done.stdout + done.stderr)
        said = [line for line in done.stdout.splitlines() if line.startswith("Warning: ")]
        found = json.loads(report.read_text())["warnings"]
        expect(name, len(said) == len(found) == len(words), done.stdout)
        expect(name, all(word in line and word in text for word, line, text in zip(words, said, found)), (said, found))
        expect(f"{name}: the opset stays", onnx.load(output).opset_import == odd.opset_import)
    for file in [path, output, report]:
        file.unlink()


def external():
    m = model([conv("x", "w", "y")], [kernel()])
    t = m.graph.initializer[0]
    t.ClearField("raw_data")
    t.data_location = TensorProto.EXTERNAL
    t.external_data.add(key="location", value="weights.bin")
    return m


def short_weights():
    m = model([conv("x", "w", "y")], [kernel()])
    m.graph.initializer[0].raw_data = m.graph.initializer[0].raw_data[:-4]
    return m


def huge_extents():
    m = model([conv("x", "w", "y")], [kernel()])
    m.graph.initializer[0].dims[:] = [1 << 40, 1 << 40, 1, 1]
    return m


BAD_GRAPHS = [
    ("a cycle", model([conv("b", "w", "a"), conv("a", "w", "b"), conv("x", "w", "y")], [kernel()]), "the graph has a cycle through node 'conv_"),
    ("a missing initializer", model([conv("x", "w", "y")]), "node 'conv_y' (Conv) reads 'w', which no node, input or initializer defines"),
    ("a missing output", model([conv("x", "w", "a")], [kernel()]), "output 'y' is defined by no node"),
    ("a value twice", model([conv("x", "w", "y"), conv("x", "w", "y")], [kernel()]), "value 'y' is defined twice"),
    ("an initializer twice", model([conv("x", "w", "y")], [kernel(), kernel()]), "initializer 'w' is defined twice"),
    ("external data that are not there", external(), "initializer 'w' has its values in 'weights.bin', which cannot be read: No such file"),
    ("short weights", short_weights(), "initializer 'w' holds 140 bytes of values, but [2, 2, 3, 3] of float need 144"),
    ("huge extents", huge_extents(), "initializer 'w' has impossible extents"),
]


def bad_models(folder, good, pack):
    for name, bad, words in BAD_GRAPHS:
        path = folder / "bad.onnx"
        path.write_bytes(bad.SerializeToString())
        refuse(name, MODEL, str(path), words, arguments=[path, pack], folder=folder)
    whole = good.read_bytes()
    path = folder / "bad.onnx"
    for name, data, words in [
        ("an empty file", b"", "not an ONNX model: the file is empty"), ("text", b"import torch\n" * 99, "not an ONNX model"),
        ("a pack", pack.read_bytes(), "not an ONNX model"), ("half a model", whole[: len(whole) // 2], "truncated or damaged"),
        ("a model less its last byte", whole[:-1], "truncated or damaged"),
    ]:
        path.write_bytes(data)
        refuse(name, MODEL, words, arguments=[path, pack], folder=folder)
    refuse("no model", MODEL, "cannot read the model: No such file or directory", arguments=[folder / "none.onnx", pack], folder=folder)
    refuse("a folder", MODEL, "cannot read the model: Is a directory", arguments=[folder, pack], folder=folder)
    (folder / "dangling.onnx").symlink_to("nowhere")
    refuse("a link to nowhere", MODEL, "cannot read the model: No such file", arguments=[folder / "dangling.onnx", pack], folder=folder)
    (folder / "dangling.onnx").unlink()
    with open(path, "wb") as file:
        file.truncate((2 << 30) + 1)
    refuse("2 GB", MODEL, "larger than 2 GB", arguments=[path, pack], folder=folder)
    path.unlink()


def cuts(folder, good, pack):
    """A model cut anywhere is refused, or read: never a crash."""
    whole = good.read_bytes()
    path = folder / "cut.onnx"
    for end in range(0, len(whole), max(1, len(whole) // 97)):
        path.write_bytes(whole[:end])
        done = subprocess.run([str(BIN / "pet-apply"), str(path), str(pack), "--dry-run"], capture_output=True, text=True, timeout=60)
        expect(f"cut at {end}", done.returncode in (0, MODEL), f"exit code {done.returncode}: {done.stderr}")
    path.unlink()


def bad_packs(folder, good, pack):
    path = folder / "bad.db"
    for name, data in [("an empty pack", b""), ("a model", good.read_bytes()), ("half a pack", pack.read_bytes()[:5000])]:
        path.write_bytes(data)
        refuse(name, PACK, str(path), arguments=[good, path], folder=folder)
    refuse("no default pack", USAGE, "default.db", "is missing", arguments=[good], folder=folder, env={**os.environ, "PET_SHARE": str(SOURCE / "tests" / "data")})
    refuse("no share folder", USAGE, "rules and timings is missing", "PET_SHARE", arguments=[good, pack], folder=folder, env={**os.environ, "PET_SHARE": str(folder / "none")})
    refuse("types of nothing", MODEL, "none.onnx", arguments=[folder / "none.onnx", "--types"], folder=folder)
    refuse("no pack", PACK, arguments=[good, folder / "none.db"], folder=folder)
    path.write_text("{broken\n")
    refuse("bad timings", PACK, str(path), arguments=[good, pack, "--timings", path], folder=folder)
    refuse("no timings", PACK, arguments=[good, pack, "--timings", folder / "none"], folder=folder)


def bad_outputs(folder, good, pack):
    arguments = [good, pack, "--all", "-o"]
    refuse("full disk", USAGE, "/dev/full: cannot write the model: No space left on device", arguments=[*arguments, "/dev/full"], folder=folder)
    refuse("no such folder", USAGE, "out.onnx: cannot write: No such file", arguments=[*arguments, folder / "none" / "out.onnx"], folder=folder)
    refuse("a folder as output", USAGE, "Is a directory", arguments=[*arguments, folder], folder=folder)
    refuse("a file-size limit", USAGE, "cannot write the model: File too large", arguments=[*arguments, folder / "out.onnx"], folder=folder,
           preexec_fn=limit_file_size)
    (folder / "kept.onnx").write_bytes(b"what was there before")
    refuse("no room in place of another file", USAGE, "File too large (nothing was written)", arguments=[*arguments, folder / "kept.onnx"],
           folder=folder, preexec_fn=limit_file_size)
    refuse("no room in place of the model", USAGE, "File too large (nothing was written)", arguments=[*arguments, good],
           folder=folder, preexec_fn=limit_file_size)
    refuse("output in a file", USAGE, "Not a directory", arguments=[*arguments, good / "out.onnx"], folder=folder)
    refuse("output over the pack", USAGE, "would be overwritten", arguments=[*arguments, pack], folder=folder)
    refuse("report over the model", USAGE, "would be overwritten", arguments=[good, pack, "--json", good], folder=folder)
    refuse("report over the pack", USAGE, "would be overwritten", arguments=[good, pack, "--json", folder / "." / pack.name], folder=folder)
    refuse("model and report in one", USAGE, "two outputs", arguments=[*arguments, folder / "x", "--json", folder / "x"], folder=folder)
    report = folder / "report.json"
    subprocess.run([str(BIN / "pet-apply"), *map(str, [*arguments, folder / "out.onnx", "--json", report])], check=True, capture_output=True)
    model_size, report_size = (folder / "out.onnx").stat().st_size, report.stat().st_size
    expect("a report that is larger than the model", model_size < report_size, (model_size, report_size))
    (folder / "out.onnx").unlink()
    report.unlink()
    refuse("no room for the report", USAGE, "report.json: cannot write: File too large",
           arguments=[*arguments, folder / "out.onnx", "--json", report], folder=folder,
           preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (model_size, model_size)))
    refuse("report on a full disk", USAGE, "/dev/full: cannot write: No space", arguments=[*arguments, folder / "out.onnx", "--json", "/dev/full"],
           folder=folder)
    refuse("no room for the model after the report", USAGE, "/dev/full: cannot write the model", arguments=[*arguments, "/dev/full", "--json", report],
           folder=folder)
    refuse("an unknown check", USAGE, "--check", arguments=[good, pack, "--check", "never"], folder=folder)
    for limit in ("", "x", "-1", "nan", "inf", "half=1", "float16=", "float16", "=1", "1e-3x", "int8=1"):
        refuse(f"error limit '{limit}'", USAGE, "--max-rel-error", "float16=0.02", arguments=[good, pack, "--max-rel-error", limit],
               folder=folder)
    for seed in ("x", "-1", "18446744073709551616", "1.5", "", " 1"):
        refuse(f"seed '{seed}'", USAGE, "--seed", f"'{seed}' is no number from 0 to", arguments=[good, pack, "--seed", seed], folder=folder)
    refuse("no arguments", USAGE, arguments=[], folder=folder)
    refuse("an unknown option", USAGE, arguments=[good, pack, "--fast"], folder=folder)


DEVICES = "cuda:a100, cuda:b200, cuda:h100, cuda:h200, cuda:l4, cuda:rtx5090, inductor-cpu, litert-cpu, mnn-cpu, ncnn-cpu, onednn-cpu, openvino-cpu, ort-cpu, ort-cuda, tensorrt, torch-cpu, torch-cuda"
# Arguments that name what is not there, and what is said of them.
MISTAKES = [
    (["--only", "conv/transposd"], "--only conv/transposd: the pack has no rule of that name (did you mean 'conv/transposed'? pet-apply "),
    (["--only", "x*,conv/transposd", "--all"], "--only x*: the pack has no rule of that name (one is called"),
    (["--skip", "conv/*,conv/transposd", "--all"], " --all --skip 'conv/*,conv/transposed')"),
    (["--only", "conv/*,frobnicate"], "--only frobnicate: the pack has no rule of that name (one is called 'conv/transposed')"),
    (["--skip", "Conv/Transposed"], "did you mean 'conv/transposed'?"),
    (["--site", "conv_z"], "--site conv_z: the model has no node of that name (did you mean 'conv_a'? pet-apply "),
    (["--site", "conv_a", "--site", "pool*"], "--site pool*: "),
    (["--explain", "conv/transpose"], "--explain conv/transpose: there is no node in the model and no rule in the pack of that name (did you mean"),
    (["--device", "ort-cup"], "ort-cup: unknown device (did you mean 'ort-cpu'? known: " + DEVICES + "; pet-apply "),
    (["--device", "cuda"], "cuda: unknown device (known: " + DEVICES + ")"),
    (["--device", ""], "unknown device"),
    (["-o", ""], "names no file"), (["--json", ""], "names no file"), (["--report", ""], "names no file"), (["--explain", ""], "names no"),
    (["--bind", "btach=2"], "no input has an extent of the name btach"), (["--shape", "xx=1x2x6x6"], "no input is called 'xx' (did you mean 'x'? the inputs are x)"),
    (["--quite"], "did you mean '--quiet'?"), (["--min-gian=2"], "did you mean '--min-gain'?"),
]


def mistakes(folder, good, pack):
    """What is misspelt, or names nothing, is an error that says what could have been meant."""
    for arguments, words in MISTAKES:
        refuse(f"mistake {arguments}", USAGE, words, arguments=[good, pack, *arguments], folder=folder)
    refuse("a pack without a name", USAGE, "names no file", arguments=[good, ""], folder=folder)
    for tool, arguments, words in [("pet-rules", ["shwo", pack], "did you mean 'show'?"), ("pet-rules", ["ls", "--jsno", pack], "did you mean '--json'?"),
                                   ("pet-synth", ["prvoe", "x"], "prvoe: there is neither a file nor a subcommand of that name (did you mean 'prove'?)"),
                                   ("pet-synth", ["prvoe", "--json"], "did you mean 'prove'?"), ("pet-synth", [pack, "--quite"], "did you mean '--quiet'?"),
                                   ("pet-rules", ["show", pack, "conv/transposd"], "no rule 'conv/transposd' (did you mean 'conv/transposed'? pet-rules ls"),
                                   ("pet-synth", ["--explain", "matmull", SOURCE / "rules" / "patterns" / "matmul.pet", "-o", folder / "none.db"],
                                    "no pattern 'matmull' (did you mean 'matmul'?)")]:
        done = subprocess.run([str(BIN / tool), *map(str, arguments)], capture_output=True, text=True, timeout=60)
        expect(f"{tool} {arguments[0]}", done.returncode == USAGE and words in done.stderr and done.stderr.count("\n") == 1, done.stderr)
    suggested = [("pet-tune", [pack, "--rules", "conv/transposed,conv/transposd", "-o", folder / "x.jsonl"],
                  "--rules conv/transposd: the pack has no rule of that name (did you mean 'conv/transposed'? pet-rules ls shows the names)"),
                 ("pet-tune", [pack, "--rules", "conv/transposd", "--show", SOURCE / "packs" / "ort-cpu.timings.jsonl"], "did you mean 'conv/transposed'?"),
                 ("pet-tune", ["--device", "ort-cup", "-o", folder / "x.jsonl"], "ort-cup: unknown device (did you mean 'ort-cpu'? known: " + DEVICES + ")"),
                 ("pet-bench", [good, "--runner", "ort-cp"], "ort-cp: unknown device (did you mean 'ort-cpu'? known: " + DEVICES + ")")]
    for tool, arguments, words in suggested if (BIN / "pet-tune").exists() else []:
        done = subprocess.run([str(BIN / tool), *map(str, arguments)], capture_output=True, text=True, timeout=60)
        expect(f"{tool} {arguments}", done.returncode == USAGE and words in done.stderr and done.stderr.count("\n") == 1, done.stderr)
    text = folder / "misspelt.pet"
    for wrong, words in [("relu", "unknown operator 'relu' (did you mean 'Relu'?)"), ("LeakyRelu(x) alpah=1 #", "(did you mean 'alpha'?)")]:
        text.write_text("pattern p {\n  shape N : 1 <= N\n  x: [N]\n  y = " + wrong + "(x)\n}\n")
        done = subprocess.run([str(BIN / "pet-rules"), "import", str(text), "-o", str(folder / "none.db")], capture_output=True, text=True)
        expect(f"misspelt {wrong}", done.returncode == PACK and words in done.stderr, done.stderr)
    text.unlink()


def all_of(terminal):
    """What was written to a terminal whose other end is closed; one read may give a part."""
    parts = []
    try:
        while part := os.read(terminal, 1 << 16):
            parts.append(part)
    except OSError:  # there is no more
        pass
    return b"".join(parts).decode()


def places_first(folder, good, pack):
    """A place that cannot be written to is found before anything is checked: what is checked shows on a terminal."""
    out = folder / "terminal.onnx"
    for name, places, shows, code in [
        ("a good place", ["-o", out], True, 0), ("no such folder", ["-o", folder / "none" / "out.onnx"], False, USAGE),
        ("no such folder for the report", ["-o", out, "--json", folder / "none" / "x.json"], False, USAGE),
    ]:
        master, slave = pty.openpty()
        done = subprocess.run([str(BIN / "pet-apply"), str(good), str(pack), "--all", *map(str, places)], stdout=subprocess.DEVNULL, stderr=slave)
        os.close(slave)
        shown = all_of(master)
        os.close(master)
        expect(f"{name}: first", done.returncode == code and ("checking" in shown) == shows, (done.returncode, shown))
        expect(f"{name}: first", shows or ("cannot write: No such file" in shown and not out.exists()), shown)
        out.unlink(missing_ok=True)


def streams(folder, good, pack):
    """What is said may get lost: no crash, the exit code tells, the model is whole."""
    out = folder / "out.onnx"
    tool = [str(BIN / "pet-apply"), str(good), str(pack), "--all", "-o", str(out)]
    subprocess.run(tool, check=True, capture_output=True)
    whole = out.read_bytes()
    with open("/dev/full", "wb") as device:
        done = subprocess.run(tool, stdout=device, stderr=subprocess.PIPE, text=True)
        expect("standard output on a full disk", done.returncode == USAGE and f"standard output: cannot write: No space left on device ({out} was written)"
               in done.stderr and out.read_bytes() == whole, (done.returncode, done.stderr))
        done = subprocess.run([*tool, "--dry-run"], stdout=device, stderr=subprocess.PIPE, text=True)
        expect("a dry run on a full disk", done.returncode == USAGE and "was written" not in done.stderr, (done.returncode, done.stderr))
        done = subprocess.run(tool, stdout=subprocess.PIPE, stderr=device)
        expect("standard error on a full disk", done.returncode == 0, done.returncode)
        done = subprocess.run([tool[0], "--only", "conv/*,*/transposed", "--only", "*posed", *tool[1:]], capture_output=True, text=True)
        expect("--only takes one argument, not the model", done.returncode == 0 and "conv/transposed" in done.stdout, done.stderr)
        done = subprocess.run([*tool[:1], "none.onnx", *tool[2:]], stderr=device)
        expect("an error on a full disk", done.returncode == MODEL, done.returncode)


def to_standard_output(folder, good, pack):
    """--json -: the report and nothing else, whole and in place of the summary."""
    out = folder / "out.onnx"
    for options in [[], ["--quiet"], ["--dry-run"]]:
        done = subprocess.run([str(BIN / "pet-apply"), str(good), str(pack), "--all", "-o", str(out), "--json", "-", *options],
                              capture_output=True, text=True, timeout=120)
        try:
            fired = len(json.loads(done.stdout)["fired"])
        except ValueError:
            fired = None
        expect(f"--json - {options}", done.returncode == 0 and fired == 2 and not done.stderr, (done.returncode, done.stdout[:200], done.stderr))
        expect(f"--json - {options}", out.exists() != ("--dry-run" in options) and not (folder / "-").exists())
        out.unlink(missing_ok=True)


def in_place(folder, good, pack):
    """The model may be its own output: whoever has the old file open keeps it."""
    model_, link = folder / "in-place.onnx", folder / "link.onnx"
    model_.write_bytes(good.read_bytes())
    model_.chmod(0o640)
    link.symlink_to(model_.name)
    with open(model_, "rb") as old:
        done = subprocess.run([str(BIN / "pet-apply"), str(model_), str(pack), "--all", "-o", str(link)], capture_output=True, text=True)
        expect("in place", done.returncode == 0 and old.read() == good.read_bytes(), done.stderr)
    expect("in place", link.is_symlink() and "pet/" in str(onnx.load(model_).graph.node) and model_.stat().st_mode & 0o777 == 0o640)
    left = [p.name for p in folder.iterdir() if p.name.startswith(".")]
    expect("files left behind", not left, left)


# The root of what may be 0 or a little less has no bound, and what Sigmoid gives is no integer.
ROOT = """
pattern root {
  shape N W : 1 <= N, 1 <= W
  x: [N, W]
  s = Sigmoid(x)
  d = Sub(s, s)
  y = Sqrt(d)
}

rule root/transposed of root {
  family f
  depth 3
  class N W : 1 <= N, 1 <= W
  numerics same-terms
  replacement {
    t = Transpose(x) perm=[1, 0]
    s = Sigmoid(t)
    d = Sub(s, s)
    r = Sqrt(d)
    y = Transpose(r) perm=[1, 0]
  }
}
"""


def unchecked(folder, _good, _pack):
    """A site that nothing can be compared at is written if the whole model can be compared, whatever --check says, and else not."""
    (folder / "root.pet").write_text(ROOT)
    subprocess.run([str(BIN / "pet-synth"), "prove", str(folder / "root.pet"), "-o", str(folder / "proved.pet")], check=True, capture_output=True)
    subprocess.run([str(BIN / "pet-rules"), "import", str(folder / "proved.pet"), "-o", str(folder / "root.db")], check=True)
    site = [helper.make_node("Sigmoid", ["x"], ["s"]), helper.make_node("Sub", ["s", "s"], ["d"]), helper.make_node("Sqrt", ["d"], ["y"], name="root")]
    for name, more, outputs in [("root", [], "y"), ("nan", [helper.make_node("Sqrt", ["x"], ["z"])], "yz")]:
        graph = helper.make_graph(site + more, name, [tensor("x", 3, 4)], [tensor(o, 3, 4) for o in outputs])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / f"{name}.onnx")
    for check in ["sites", "full"]:
        arguments = [folder / "root.db", "--all", "--numerics", "any", "--check", check, "-o", folder / "root.out"]
        done = subprocess.run([str(BIN / "pet-apply"), str(folder / "root.onnx"), *map(str, arguments)], capture_output=True, text=True)
        expect("unchecked", done.returncode == 0 and "part of the whole model: pet/root/transposed/root\n" in done.stdout, (done.stdout, done.stderr))
        expect("unchecked", "Checked: 0" not in done.stdout and (folder / "root.out").exists(), done.stdout)
        (folder / "root.out").unlink(missing_ok=True)
        refuse("unchecked, nor the whole model", CHECK, "pet/root/transposed/root: the rewritten site cannot be checked", "--skip root/transposed",
               arguments=[folder / "nan.onnx", *arguments], folder=folder)


def limit_file_size():
    resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        pack, good = folder / "rules.db", folder / "good.onnx"
        subprocess.run([str(BIN / "pet-rules"), "import", str(SOURCE / "tests" / "data" / "conv.pet"), "-o", str(pack)], check=True)
        good.write_bytes(model([conv("x", "w", "a"), conv("a", "w", "y")], [kernel()]).SerializeToString())
        for test in [bad_models, invalid_models, warnings, cuts, bad_packs, bad_outputs, mistakes, places_first, streams, to_standard_output,
                     in_place, unchecked]:
            test(folder, good, pack)
    print("\n".join(failures) or "bad models, packs, timings and outputs are refused, and nothing is written")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
