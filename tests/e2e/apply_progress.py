#!/usr/bin/env python3
"""What commands draw on a terminal while they work: one line, redrawn, gone before anything else is said; how much of it is done,
and how long it takes. Exit status 0 or 1.

Standard error is a pseudo-terminal of 60 columns. Off a terminal and with --quiet nothing is drawn, and nothing is coloured. With
PET_LOG the steps are logged.
"""

import fcntl
import json
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
# A runner that takes its time.
SLOW = """
import json, sys, time
for line in sys.stdin:
    request = json.loads(line)
    if request["cmd"] == "hello":
        print(json.dumps({"engine": "fake", "version": "7", "isa": "abacus", "cpu": "beads"}), flush=True)
        continue
    calibrates = len(request["models"]) == 1
    time.sleep(0.25 if calibrates else 1.6 if len(request["models"]) != 2 or request["budget_s"] > 2 else 0.7)
    n = len(request["models"])
    seconds = [3.0] + [1.0] * (n - 1)
    print(json.dumps({"samples": [[s] * 5 for s in seconds], "median": seconds, "p10": seconds, "p90": seconds, "max_abs_diff": [0.0] * n,
                      "max_abs": 1.0}), flush=True)
"""
failures = []


def expect(name, condition, detail=""):
    if not condition:
        failures.append(f"{name}: {detail}" if detail else name)


def on_terminal(name, *arguments, pause_at=None, all_of_it=False, **environment):
    """(exit code, standard output, what was written to the terminal)

    pause_at: the command is stopped for a while when it has drawn this, so that on a fast machine, too, what it does takes a while.
    all_of_it: standard output is the terminal as well.
    """
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
    output = tempfile.TemporaryFile("w+")  # a pipe would be full before the terminal is closed
    process = subprocess.Popen([str(BIN / name), *map(str, arguments)], stdout=theirs if all_of_it else output, stderr=theirs,
                               env={k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "PET_LOG")} | environment)
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
    code = process.wait()
    output.seek(0)
    return code, output.read(), written.decode().replace("\r\n", "\n")


def drawn(name, written):
    """(the lines that were drawn, what stays)"""
    *lines, rest = written.split(CLEAR)
    lines = [line for line in lines if line]
    expect(f"{name}: lines", all("\n" not in line and len(line) < COLUMNS for line in lines), lines)
    return lines, rest


def model(path, element, extent):
    """Several large convolutions, in float16 compared in double by apply()'s rules: it takes seconds. Then the sites of the rules."""
    n, layers = 64, 6
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
    done = tool("pet-synth", "prove", text, "-o", proved)
    assert done.returncode == 0, done.stdout + done.stderr
    proved.write_text(proved.read_text().replace("numerics same-terms", "numerics conditioned 2"))  # which 16 bits are compared in double for
    done = tool("pet-rules", "import", proved, "-o", pack)
    assert done.returncode == 0, done.stdout + done.stderr
    model(source, TensorProto.FLOAT16, 96)
    arguments = [source, pack, "--all", "-o", output]

    code, said, written = on_terminal("pet-apply", *arguments, pause_at=b"checking the whole model", PET_CACHE=str(folder / "cache"))
    lines, rest = drawn("pet-apply", written)
    expect("pet-apply", code == 0 and "sites rewritten" in said and rest == "", (code, rest))
    expect("pet-apply says how long it takes", any(LEFT.match(line) for line in lines), lines)
    for what in ["choosing rules, 0 %", "checking the sites", "checking the whole model", "checking the proof records of 2 rules, 0 %"]:
        expect(f"pet-apply says {what}", any(line.startswith(what) for line in lines), lines)

    model(folder / "float.onnx", TensorProto.FLOAT, 192)
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
    for what in ["looking for candidates, 0 %", "searching, ", "dropping rules that others contain, "]:
        expect(f"pet-synth says {what}", code == 0 and any(line.startswith(what) for line in lines) and rest.strip(), (code, written))
    code, said, written = on_terminal("pet-synth", *arguments, "-q")
    expect("pet-synth -q", code == 0 and not written, written)


def colours(folder):
    """Only on a terminal, and not with NO_COLOR."""
    bold, arguments = "\x1b[1m", [folder / "m.onnx", folder / "rules.db", "--all", "--dry-run", "-o", folder / "out.onnx"]
    code, _, written = on_terminal("pet-apply", *arguments, all_of_it=True)
    expect("bold on a terminal", code == 0 and f"{bold}{folder / 'm.onnx'}: " in written, written)
    code, _, written = on_terminal("pet-apply", *arguments, all_of_it=True, NO_COLOR="1")
    expect("NO_COLOR", code == 0 and "sites rewritten" in written and bold not in written, written)
    code, said, _ = on_terminal("pet-apply", *arguments)
    expect("no colour in a pipe", code == 0 and "sites rewritten" in said and bold not in said, said)


def logged(folder):
    """PET_LOG: a file that grows, or standard error; a place that cannot be written changes nothing."""
    arguments, log = [folder / "m.onnx", folder / "rules.db", "--all", "--dry-run", "-o", folder / "out.onnx"], folder / "log"
    line = re.compile(r" +\d+\.\d{3} s  \S.*")
    for runs in [1, 2]:
        code, _, _ = on_terminal("pet-apply", *arguments, PET_LOG=str(log))
        lines = log.read_text().splitlines()
        steps = [text.split(" s  ")[1] for text in lines]
        expect("PET_LOG", code == 0 and all(line.fullmatch(text) for text in lines) and steps.count("done") == runs
               and steps.count("reading the model") == runs and steps.count("looking for sites") == runs, lines)
    code, _, written = on_terminal("pet-apply", *arguments, PET_LOG="-")
    expect("PET_LOG=-", code == 0 and CLEAR not in written and all(line.fullmatch(text) for text in written.splitlines())
           and " s  reading the model\n" in written, written)
    code, said, written = on_terminal("pet-apply", *arguments, PET_LOG="/nowhere/log")
    expect("PET_LOG that cannot be written", code == 0 and "sites rewritten" in said and not drawn("PET_LOG", written)[1], (code, written))


def estimated(name, tool_name, what, *arguments, **more):
    """The command draws this task, with what is done of it; where it takes a second, with how long it takes."""
    code, said, written = on_terminal(tool_name, *arguments, **more)
    lines, rest = drawn(name, written)
    wanted = [line for line in lines if re.match(what, line)]
    expect(name, code == 0 and wanted, (code, said, lines, rest))
    return wanted


def small_model(path):
    """Two convolutions, of which each is a site of tests/data/conv.pet."""
    weights = [np.random.default_rng(i).uniform(-1, 1, [4, 4, 3, 3]).astype(np.float32) for i in range(2)]
    nodes = [helper.make_node("Conv", ["x", "v"], ["t"], name="conv1", pads=[1] * 4), helper.make_node("Conv", ["t", "w"], ["y"], name="conv2", pads=[1] * 4)]
    value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 4, 9, 11])  # noqa: E731
    graph = helper.make_graph(nodes, "g", [value("x")], [value("y")], [numpy_helper.from_array(w, n) for w, n in zip(weights, "vw")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def with_engines(folder):
    """pet-tune, pet-apply --measure and pet-bench, with a runner that takes its time."""
    runner, source, pack, timings, output = (folder / name for name in ["slow.py", "small.onnx", "conv.db", "t.jsonl", "small.out.onnx"])
    runner.write_text(SLOW)
    small_model(source)
    assert tool("pet-rules", "import", SOURCE / "tests" / "data" / "conv.pet", "-o", pack).returncode == 0
    python = ["--python", sys.executable]
    grid = folder / "grid.json"
    grid.write_text(json.dumps({"ties": {}, "patterns": {"conv": {"points": [
        {"N": 1, "C": 4, "F": 4, "H": h, "W": 11, "R": 3, "S": 3, "P": 1, "Q": 1} for h in [9, 10, 12]]}}}))
    tune = [pack, "-o", timings, "--shapes", grid, "--runner", runner, "--no-bare", *python]
    estimated("pet-tune", "pet-tune", r"timing, \d+ %, \d+ s left: [12] of 3 points", *tune)
    for name in ["pet-tune", "pet-bench"]:
        code, said, written = on_terminal(name, *(tune if name == "pet-tune" else [source, source, "--runner-path", runner, "--no-per-site", *python]), "-q")
        expect(f"{name} -q", code == 0 and not said and not written, (code, said, written))
    estimated("pet-tune, planning", "pet-tune", r"looking for sites in the models, \d+ %", *tune, "--shapes-from", source)
    estimated("pet-tune, calibration", "pet-tune", r"calibrating the engine, \d+ %, \d s left", "--calibrate", "--runner", runner, *python,
              PET_CACHE=str(folder / "calibrated"))
    measure = [source, pack, "--timings", timings, "--measure", "--cache", folder / "cache.db", "--runner", runner, "-o", output, *python]
    estimated("pet-apply --measure, sites", "pet-apply", r"timing the sites, \d+ %", *measure)
    (folder / "cache.db").unlink()
    estimated("pet-apply --measure", "pet-apply", r"timing the whole model, \d+ %, 1\d s left", *measure)
    bench = [source, output, "--runner-path", runner, "--budget", 8, *python]
    estimated("pet-bench", "pet-bench", r"timing the whole model, \d+ %, \d s left", *bench)
    estimated("pet-bench, sites", "pet-bench", r"timing the sites, \d+ %", *bench)


def with_provers(folder):
    """pet-rules minimal, and what pet-synth does besides searching."""
    default = BIN.parent / "share" / "pet" / "default.db"
    wanted = estimated("pet-rules minimal", "pet-rules", r"looking for what follows, \d+ %", "minimal", default)
    expect("pet-rules minimal says how far it is", wanted and not wanted[-1].endswith(" 0 %"), wanted)
    some = folder / "some.timings.jsonl"  # each fourth rule's samples
    lines = [json.loads(line) for line in (SOURCE / "packs" / "ort-cpu.timings.jsonl").read_text().splitlines()]
    some.write_text("".join(json.dumps(line) + "\n" for line in lines if isinstance(line, dict) or line[0][0] in "0123"))
    estimated("pet-tune --show", "pet-tune", r"judging the predictions, \d+ %", "--show", some)
    code, said, written = on_terminal("pet-rules", "minimal", default, "-q")
    expect("pet-rules minimal -q", code == 0 and said and not written, (code, said[-200:], written))
    estimated("pet-synth prove", "pet-synth", r"proving, 100 %: 2 of 2", "prove", folder / "rules.pet")
    estimated("pet-synth --from", "pet-synth", r"looking for patterns in the models, \d+ %", "--from", folder / "small.onnx", "--from-patterns", folder / "mined")
    estimated("pet-synth free", "pet-synth", r"graphs of 2 operators, part 1 of 1, \d+ %", "free", "--vocab", SOURCE / "rules" / "vocab" / "taso.vocab",
              "--depth", 2)


def main():
    with tempfile.TemporaryDirectory() as folder:
        apply(pathlib.Path(folder))
        synth(pathlib.Path(folder))
        colours(pathlib.Path(folder))
        logged(pathlib.Path(folder))
        with_engines(pathlib.Path(folder))
        with_provers(pathlib.Path(folder))
    for failure in failures:
        print(f"apply_progress: {failure}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
