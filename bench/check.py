#!/usr/bin/env python3
"""How long pet-apply's check by execution takes, in runs of the model itself on ONNX Runtime.

    python bench/check.py [NAME...] [--before DIR] [--all] [--repeat N] [--json FILE] [--bin DIR] [--pack FILE]

Each model of tests/models/build.py is rewritten with `--dry-run`, with `--check sites` and with `--check full`, which is the
default; the differences are what the checks of the sites and of the whole model take. What it takes to write a model of its size
is none of the check, and is measured where no rule may fire. Beside it the model runs on ONNX Runtime, one thread like pet-apply.
Times are of the processor, so that others on the machine count for little, and of
each the least of several (--repeat), in turns: what the whole model takes is the difference of two that are larger. --before:
another folder of tools, for another line. "in" says what the whole model was compared in (tools before that do not say: double);
"MB" is the peak memory. Exit status 1 where a tool failed.
"""

import argparse
import json
import pathlib
import resource
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests" / "models"), str(ROOT / "runtime" / "ort")]
import build  # noqa: E402
import models  # noqa: E402
import runner  # noqa: E402
import trial  # noqa: E402
import zoo  # noqa: E402

NAMES = ["vgg16-dynamo", "csrnet", "resnet18", "vit_b_16-dynamo", "bert-dynamo"]
HEADER = ["model", "tools", "fired", "one run, s", "sites, s", "whole, s", "sites, runs", "whole, runs", "in", "pet-apply, s", "MB"]
CHECKS = {"none": ["--dry-run"], "sites": ["--check", "sites"], "full": ["--check", "full"], "read": ["--dry-run", "--skip", "*"],
          "copied": ["--skip", "*"]}


def one_run(name, path):
    """Seconds of the model on ONNX Runtime: the least of five."""
    session = runner.open_session(str(path), 1)
    inputs = zoo.MODELS[name].arrays(zoo.MODELS[name].tries[0]) if name in zoo.MODELS else runner.seeded_inputs(session)
    samples = []
    for _ in range(6):
        begin = time.process_time()
        session.run(None, inputs)
        samples.append(time.process_time() - begin)
    return min(samples[1:])


def seconds_of_children():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def whole_in(report):
    """float, double, or both where some graph or size was not decided."""
    scopes = [c["scope"] for c in report["checks"] if "whole" in c["where"] and c["possible"]]
    return " and ".join(sorted({word for s in scopes for word in ("float", "double") if s.startswith(f"in {word}")})) or "-"


def seconds_of(check, path, tools, pack, folder, options):
    """A run of pet-apply, and the processor's seconds that it took."""
    begin = seconds_of_children()
    run = trial.apply(tools, path, pack, folder / "out.onnx", "--trust-pack", *CHECKS[check], *options, limit=3600)
    if run.code:
        raise models.Failure(f"{path.name}: pet-apply failed ({run.code}): {run.said}")
    return run, seconds_of_children() - begin


def examine(path, tools, pack, folder, options, repeat):
    """One line's figures."""
    seconds, full = {check: float("inf") for check in CHECKS}, None
    for _ in range(repeat):
        for check in CHECKS:
            run, taken = seconds_of(check, path, tools, pack, folder, options)
            seconds[check] = min(seconds[check], taken)
            full = run if check == "full" else full
    written = max(0, seconds["copied"] - seconds["read"])
    return {"fired": len(full.rules()), "sites": max(0, seconds["sites"] - seconds["none"] - written),
            "whole": seconds["full"] - seconds["sites"], "in": whole_in(full.report), "seconds": seconds["full"], "megabytes": full.megabytes}


def row(name, tools, f):
    return [name, tools, str(f["fired"]), f"{f['run']:.3f}", f"{f['sites']:.2f}", f"{f['whole']:.2f}", f"{f['sites'] / f['run']:.1f}",
            f"{f['whole'] / f['run']:.1f}", f["in"], f"{f['seconds']:.1f}", f"{f['megabytes']:.0f}"]


def in_runs(figures):
    """What the whole check takes, in runs of the model."""
    return (figures["sites"] + figures["whole"]) / figures["run"]


def bench(name, pack, folder, options):
    """(tools, figures) for each folder of tools."""
    path = build.build(name, folder)
    tools = {"before": options.before, "now": options.bin} if options.before else {"now": options.bin}
    more = ["--all"] if options.all else []
    run = one_run(name, path)
    return {which: examine(path, where.resolve(), pack, folder, more, options.repeat) | {"run": run} for which, where in tools.items()}


def main():
    arguments = argparse.ArgumentParser(description="How long pet-apply's check takes, in runs of the model itself.")
    arguments.add_argument("names", nargs="*", metavar="NAME", help=f"models of tests/models/build.py (default: {', '.join(NAMES)})")
    arguments.add_argument("--before", type=pathlib.Path, help="other tools, to compare with")
    arguments.add_argument("--all", action="store_true", help="rewrite as many sites as possible")
    arguments.add_argument("--repeat", type=int, default=3, help="how often each is run (default: 3)")
    arguments.add_argument("--json", type=pathlib.Path, help="write the figures to this file")
    arguments.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "bin", help="where the tools are")
    arguments.add_argument("--pack", type=pathlib.Path, help="the rules (default: what pet-synth --depth 4 writes)")
    options = arguments.parse_args()
    unknown = [name for name in options.names if name not in build.EVERY]
    if unknown:
        arguments.error(f"no model named {', '.join(unknown)}; there are {', '.join(build.EVERY)}")
    report = {}
    with tempfile.TemporaryDirectory() as scratch:
        try:
            pack = (options.pack or models.synthesise(options.bin, pathlib.Path(scratch))).resolve()
            models.print_row(HEADER)
            models.print_row(["---"] * len(HEADER))
            for name in options.names or NAMES:
                with tempfile.TemporaryDirectory(dir=scratch) as folder:
                    report[name] = bench(name, pack, pathlib.Path(folder), options)
                for which, figures in report[name].items():
                    models.print_row(row(name, which, figures))
        except (models.Failure, runner.Mistake) as failure:
            print(f"bench/check.py: {failure}", file=sys.stderr)
            return 1
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
