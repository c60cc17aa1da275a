#!/usr/bin/env python3
"""What pet-apply costs without its check: seconds and peak memory, of one build or of two in turns.

    python bench/apply_cost.py [--bin DIR] [--pack FILE] [--rules 10000] [--rounds 3] [--limit SECONDS] [--all] [--json FILE]
                               [--against DIR [--against-pack FILE] [--against-large FILE]]

- start: a model of one node, with the pack: what a start costs.
- large pack: a model of 300 nodes and 100 MB of weights, with a pack of 10,000 rules, made of the real ones
  (tests/e2e/_packs.py). Sites are matched and gains predicted, and none is enough: what rewriting takes depends on what was timed. The
  goal is below 1 s, and below 1.5 times the model's size.
- nodes: 5,000 and 50,000 nodes. Time is to be linear in the nodes: the last column says what a node costs, relative to
  the smaller model.

docs/applier.md has the figures that --json wrote into bench/results/ (speed_table.py). Every run is a dry run. User and system seconds are the least of several rounds, which the builds take in turns: other work on the
machine disturbs them less than seconds by the clock, but a ratio of two builds says more than either.
"""

import argparse
import json
import math
import os
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np
from onnx import TensorProto, helper, numpy_helper

ROOT = pathlib.Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests" / "models"), str(ROOT / "runtime" / "ort")]
sys.path.append(str(ROOT / "tests" / "e2e"))  # which has a module models, too
import _packs  # noqa: E402
import models  # noqa: E402
import trial  # noqa: E402

GOAL_SECONDS, GOAL_MEMORY = 1.0, 1.5
NOTHING_FIRES = ["--min-gain", "1000"]


class Builder:
    """A network of blocks as they are in real ones; extents of activations are small."""

    def __init__(self, channels, width):
        self.channels, self.width = channels, width
        self.nodes, self.constants, self.random = [], [], np.random.default_rng(1)
        self.image, self.rows = "image", "rows"

    def weight(self, *shape):
        name = f"w{len(self.constants)}"
        values = self.random.standard_normal(shape, dtype=np.float32) / np.sqrt(np.prod(shape[1:]) + 1)
        self.constants.append(numpy_helper.from_array(values.astype(np.float32), name))
        return name

    def node(self, operator, *operands, **attributes):
        name = f"n{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, operands, [name], name=f"{operator}_{len(self.nodes)}", **attributes))
        return name

    def residual(self):
        """Six nodes: two convolutions, added to what goes in."""
        c, x = self.channels, self.image
        for _ in range(2):
            x = self.node("Conv", x, self.weight(c, c, 3, 3), self.weight(c), pads=[1, 1, 1, 1])
            x = self.node("Relu", x)
        self.image = self.node("Sigmoid", self.node("Add", x, self.image))

    def attention(self):
        """Fourteen nodes: one head, its projections, and two layers behind it."""
        d, x = self.width, self.rows
        q, k, v = (self.node("MatMul", x, self.weight(d, d)) for _ in range(3))
        scores = self.node("MatMul", q, self.node("Transpose", k, perm=[0, 2, 1]))
        mixed = self.node("MatMul", self.node("Softmax", scores, axis=2), v)
        x = self.node("Add", self.node("MatMul", mixed, self.weight(d, d)), x)
        inner = self.node("Relu", self.node("Add", self.node("MatMul", x, self.weight(d, 2 * d)), self.weight(2 * d)))
        x = self.node("Add", self.node("Add", self.node("MatMul", inner, self.weight(2 * d, d)), self.weight(d)), x)
        self.rows = x

    def model(self, nodes):
        while len(self.nodes) + 20 <= nodes:
            self.residual()
            self.attention()
        while len(self.nodes) < nodes:
            self.image = self.node("Relu", self.image)
        extents = {"image": [1, self.channels, 14, 14], "rows": [1, 16, self.width]}
        given = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in extents.items()]
        results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
                   for name, shape in zip([self.image, self.rows], extents.values())]
        graph = helper.make_graph(self.nodes, "blocks", given, results, self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def made(path, nodes, channels, width):
    path.write_bytes(Builder(channels, width).model(nodes).SerializeToString())
    return path


def cases(folder, large):
    """(name, model, nodes, with the large pack)."""
    yield "start", made(folder / "one.onnx", 1, 8, 8), 1, False
    yield "large pack", made(folder / "large.onnx", 300, 144, 448), 300, True
    for nodes in [5_000, 50_000]:
        yield f"{nodes} nodes", made(folder / f"{nodes}.onnx", nodes, 8, 8), nodes, False


def run(tools, model, pack, flags, limit):
    """User and system seconds and peak megabytes of a dry run; infinity where it was stopped."""
    command = [str(tools / "pet-apply"), str(model), str(pack), "--dry-run", *flags]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit, limit)))
    ended, peak = 0, 0.0
    while not ended:
        peak = trial.megabytes(process.pid) or peak  # before it is the tool it is a copy of this process
        time.sleep(0.002)
        ended, status, usage = os.wait4(process.pid, os.WNOHANG)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode in [-signal.SIGXCPU, -signal.SIGKILL]:
        return math.inf, peak
    if process.returncode:
        raise models.Failure(f"{' '.join(command)}: exit code {process.returncode}")
    return usage.ru_utime + usage.ru_stime, peak


def measured(builds, model, options, with_large):
    """The least seconds and megabytes of each build."""
    flags = ["--all"] if options.all else NOTHING_FIRES if with_large else []
    taken = {i: [] for i in range(len(builds))}
    for _ in range(options.rounds):
        for i, (tools, pack) in enumerate(builds):
            if not taken[i] or taken[i][-1][0] < math.inf:
                taken[i].append(run(tools, model, pack, flags, options.limit))
    return [tuple(min(column) for column in zip(*of)) for of in taken.values()]


def said(figures, limit):
    seconds, megabytes = figures
    return [f"{seconds:.3f}" if seconds < math.inf else f"> {limit}", f"{megabytes:.0f}"]


def parse_arguments():
    arguments = argparse.ArgumentParser(description="What pet-apply costs without its check.")
    arguments.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "bin", help="where the tools are")
    arguments.add_argument("--pack", type=pathlib.Path, help="the rules (default: what pet-synth --depth 4 writes)")
    arguments.add_argument("--against", type=pathlib.Path, help="an older build's tools")
    arguments.add_argument("--against-pack", type=pathlib.Path, help="the same rules in its format, if that is another")
    arguments.add_argument("--against-large", type=pathlib.Path, help="a large pack in its format (default: no such row)")
    arguments.add_argument("--rules", type=int, default=10_000, help="of the large pack")
    arguments.add_argument("--rounds", type=int, default=3, help="of each measurement, in turns")
    arguments.add_argument("--limit", type=int, default=300, help="seconds after which a run is stopped")
    arguments.add_argument("--all", action="store_true", help="with pet-apply --all")
    arguments.add_argument("--json", type=pathlib.Path, help="write the figures to this file")
    return arguments.parse_args()


def new_report(options):
    command = ["bench/apply_cost.py", "--rounds", str(options.rounds), *(["--all"] if options.all else [])]
    return {**models.provenance("cost", command, models.runner.processor()["cpu"], 1), "cases": {}}


def main():
    options = parse_arguments()
    report = new_report(options)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        try:
            pack = options.pack or models.synthesise(options.bin, folder)
            large = folder / "large.db"
            _packs.enlarge(pack, large, options.rules)
            models.print_row(["case", "nodes", "MB of model", "s", "peak MB", "before: s", "before: peak MB", "s per node, relative"])
            models.print_row(["---"] * 8)
            first = None
            for name, model, nodes, with_large in cases(folder, large):
                builds = [(options.bin, large if with_large else pack)]
                old_pack = options.against_large if with_large else options.against_pack or pack
                if options.against and old_pack:
                    builds.append((options.against, old_pack))
                figures = measured(builds, model, options, with_large)
                seconds, peak = figures[0]
                size = model.stat().st_size / 1e6
                report["cases"][name] = {"nodes": nodes, "model_mb": size, "seconds": seconds, "peak_mb": peak}
                if nodes == 5_000:
                    first = seconds / nodes
                cells = [name, str(nodes), f"{size:.1f}", *said(figures[0], options.limit)]
                cells += said(figures[1], options.limit) if len(figures) > 1 else ["-", "-"]
                models.print_row([*cells, f"{seconds / nodes / first:.2f}" if first and nodes >= 5_000 else "-"])
                if with_large:
                    met = seconds < GOAL_SECONDS and peak < GOAL_MEMORY * size
        except models.Failure as failure:
            print(f"bench/apply_cost.py: {failure}", file=sys.stderr)
            return 1
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n")
    print(f"\nThe goal for the large pack is {'met' if met else 'missed'}.")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
