#!/usr/bin/env python3
"""What commands draw on a terminal while they work: one line, redrawn, gone before anything else is said. Exit status 0 or 1.

Standard error is a pseudo-terminal of 60 columns. Off a terminal and with --quiet nothing is drawn.
"""

import fcntl
import os
import pathlib
import pty
import re
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from apply_trust import BIN, RULES, SOURCE, tool
from rules_tool import forge

COLUMNS = 60
CLEAR = "\r\x1b[K"  # to the line's beginning, and nothing behind it
LEFT = re.compile(r"checking the whole model in double, \d+ %, \d+ s left$")
IN_FLOAT = re.compile(r"checking the whole model in float, (\d+) %")
failures = []


def expect(name, condition, detail=""):
    if not condition:
        failures.append(f"{name}: {detail}" if detail else name)


def on_terminal(name, *arguments, pause_at=None, **environment):
    """(exit code, standard output, what was written to the terminal)

    pause_at: the command is stopped for a while when it has drawn this, so that on a fast machine, too, what it does takes a while.
    """
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
    process = subprocess.Popen([str(BIN / name), *map(str, arguments)], stdout=subprocess.PIPE, stderr=theirs, text=True,
                               env=os.environ | environment)
    os.close(theirs)
    written = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the last one has closed it
            break
        if not part:
            break
        written += part
        if pause_at and pause_at in written:
            process.send_signal(signal.SIGSTOP)
            time.sleep(1.5)
            process.send_signal(signal.SIGCONT)
            pause_at = None
    os.close(ours)
    said = process.stdout.read()
    return process.wait(), said, written.decode().replace("\r\n", "\n")


def drawn(name, written):
    """(the lines that were drawn, what stays)"""
    *lines, rest = written.split(CLEAR)
    lines = [line for line in lines if line]
    expect(f"{name}: lines", all("\n" not in line and len(line) < COLUMNS for line in lines), lines)
    return lines, rest


def model(path, element=TensorProto.FLOAT16):
    """Several large convolutions, in float16 compared in double: it takes seconds. Then the sites of the rules."""
    n, extent, layers = 64, 160, 6
    weights = [np.random.default_rng(i).uniform(-0.06, 0.06, [n, n, 3, 3]).astype(helper.tensor_dtype_to_np_dtype(element)) for i in range(layers)]
    nodes = [helper.make_node("Conv", [f"t{i}" if i else "x", f"w{i}"], [f"t{i + 1}"], pads=[1] * 4) for i in range(layers)]
    nodes += [helper.make_node("Flatten", [f"t{layers}"], ["a"]), helper.make_node("Relu", ["a"], ["r"], name="the\x1b[31m\nrelu"),
              helper.make_node("Add", ["r", "b"], ["y"], name="the-sum")]
    value = lambda name, shape: helper.make_tensor_value_info(name, element, shape)  # noqa: E731
    flat = [1, n * extent * extent]
    graph = helper.make_graph(nodes, "g", [value("x", [1, n, extent, extent]), value("b", flat)], [value("y", flat)],
                              [numpy_helper.from_array(w, f"w{i}") for i, w in enumerate(weights)])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def apply(folder):
    source, pack, output = folder / "m.onnx", folder / "rules.db", folder / "out.onnx"
    text, proved = folder / "rules.pet", folder / "proved.pet"
    text.write_text(RULES)
    for done in [tool("pet-synth", "prove", text, "-o", proved), tool("pet-rules", "import", proved, "-o", pack)]:
        assert done.returncode == 0, done.stdout + done.stderr
    model(source)
    arguments = [source, pack, "--all", "-o", output]

    code, said, written = on_terminal("pet-apply", *arguments, pause_at=b"checking the whole model", PET_CACHE=str(folder / "cache"))
    lines, rest = drawn("pet-apply", written)
    expect("pet-apply", code == 0 and "sites rewritten" in said and rest == "", (code, rest))
    expect("pet-apply says how long it takes", any(LEFT.match(line) for line in lines), lines)
    for what in ["checking the sites", "checking the whole model", "checking the proof records"]:
        expect(f"pet-apply says {what}", any(line.startswith(what) for line in lines), lines)

    model(folder / "float.onnx", TensorProto.FLOAT)
    code, said, written = on_terminal("pet-apply", folder / "float.onnx", *arguments[1:], "--trust-pack")
    lines, rest = drawn("in float", written)
    shares = [int(found[1]) for found in map(IN_FLOAT.match, lines) if found]
    expect("pet-apply on its engine says how much is done", code == 0 and max(shares, default=0) >= 10, (code, lines))

    forged = folder / "forged.db"
    forge(pack, forged, "y = Relu(t)", "y = Clip(t) min=0 max=100000", "statement")
    code, said, written = on_terminal("pet-apply", source, forged, "--all", "-o", output)
    lines, rest = drawn("an error", written)
    expect("an error", code == 5 and not said and lines and rest.startswith("pet-apply: ") and rest.count("\n") == 1, (code, lines, rest))

    code, said, written = on_terminal("pet-apply", *arguments, "--check", "sites", "--quiet")
    expect("--quiet", code == 0 and not said and not written, (code, said, written))
    code, said, written = on_terminal("pet-apply", source, forged, "--all", "-o", output, "-q")
    expect("-q, an error", code == 5 and not said and written.startswith("pet-apply: "), (code, said, written))
    done = tool("pet-apply", *arguments, "--check", "sites")
    expect("no terminal", done.returncode == 0 and not done.stderr, done.stderr)


def synth(folder):
    pattern = SOURCE / "rules" / "patterns" / "matmul.pet"
    arguments = ["--depth", "2", pattern, "-o", folder / "matmul.db"]
    code, said, written = on_terminal("pet-synth", *arguments)
    lines, rest = drawn("pet-synth", written)
    expect("pet-synth", code == 0 and any(line.startswith("searching, ") for line in lines) and rest.strip(), (code, written))
    code, said, written = on_terminal("pet-synth", *arguments, "-q")
    expect("pet-synth -q", code == 0 and not written, written)


def main():
    with tempfile.TemporaryDirectory() as folder:
        apply(pathlib.Path(folder))
        synth(pathlib.Path(folder))
    for failure in failures:
        print(f"apply_progress: {failure}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
