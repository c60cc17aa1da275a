#!/usr/bin/env python3
"""What pet-apply does with models as exporters write them (tests/models/zoo.py).

    python bench/zoo.py [NAME...] [--json FILE [--resume]] [--bin DIR] [--pack FILE] [--limit SECONDS]

Each model is built, rewritten by `pet-apply MODEL PACK` with default options and the timings that ship, and with `--all
--check sites`, and compared to its original on ONNX Runtime, at each of the extents that the zoo names. The table has: the
model's nodes; those that pet does not look into, by operator; sites where a pattern matches; rules that fire, by default and
with --all; the seconds and the peak memory of the two runs, the larger of each; what the check by default takes, in runs of
the model itself on ONNX Runtime (check.py), both in the processor's time, in turns and the least of several; the largest
difference of an output, relative to its largest value; the exit codes. Then the totals (zoo_tables.py), and all that went
wrong. Exit status 1 where something did: ONNX Runtime runs a model and pet-apply refuses it, or the result differs. A model
that ONNX Runtime itself cannot run fails as well: it does not belong in the zoo. With --resume what FILE has is kept, and
the other models are run. What lies in bench/results/ becomes docs/zoo.md (speed_table.py).
"""

import argparse
import collections
import json
import pathlib
import sys
import tempfile

import onnx

ROOT = pathlib.Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests" / "models"), str(ROOT / "runtime" / "ort")]
import build  # noqa: E402
import check  # noqa: E402
import models  # noqa: E402
import trial  # noqa: E402
import zoo_tables  # noqa: E402
import zoo  # noqa: E402
from compare import runner  # noqa: E402

VARIANTS = {"default": (), "all": ("--all", "--check", "sites")}
HEADER = ["model", "exporter", "precision", "dynamic", "nodes", "untouched", "sites", "fired", "with --all: sites, rules", "seconds", "MB",
          "check, runs", "rel. error", "exit"]
ERRORS = (runner.Mistake, onnx.checker.ValidationError, onnx.shape_inference.InferenceError, onnx.parser.ParseError,
          OSError, models.Failure)


# ---- one model

def kinds(refused):
    """{kind: how often}, the most frequent first."""
    counts = collections.Counter()
    for group in refused:
        counts[group["kind"]] += group["count"]
    return dict(counts.most_common())


def attempt(expected, tools, pack, output, options, limit):
    """One entry of a variant: what pet-apply did, and how far its result is off."""
    run = trial.apply(tools, expected.path, pack, output, *options, limit=limit)
    entry = {"code": run.code, "seconds": run.seconds, "megabytes": run.megabytes, "parts": run.report.get("seconds"),
             "rules": collections.Counter(run.rules()), "sites": len(run.sites()), "matched": run.report.get("matched", 0), "checks": sum(c["possible"] for c in run.report.get("checks", [])),
             "unchecked": [f"{c['where']}: {c['reason']}" for c in run.report.get("checks", []) if not c["possible"]],
             "refused": kinds(run.report.get("refused", [])),
             "untouched": collections.Counter(u["operator"] for u in run.report.get("untouched", []))}
    if run.code:
        return entry | {"problem": run.said.splitlines()[-1] if run.said else f"exit code {run.code}"}
    try:
        entry["difference"] = expected.difference(output)
    except ERRORS as error:
        return entry | {"problem": " ".join(str(error).split())}
    if not entry["difference"] <= expected.tolerance:
        entry["problem"] = f"differs by {entry['difference']:.1e}"
    return entry


def check_cost(name, path, tools, pack, folder):
    """What check.py measures of the check by default."""
    repeat = 3
    before = check.one_run(name, path)
    figures = check.examine(path, tools, pack, folder, [], repeat)
    return figures | {"run": min(before, check.one_run(name, path))}


def examine(name, folder, tools, pack, options):
    """One entry of the report."""
    about = zoo.MODELS[name]
    entry = {"origin": about.origin, "exporter": about.exporter, "precision": about.precision, "dynamic": about.shapes}
    path = build.build(name, folder)
    entry |= {"nodes": len(onnx.load(path, load_external_data=False).graph.node),
              "bytes": sum(file.stat().st_size for file in folder.iterdir())}  # with external data
    expected = trial.Expected(name, path)
    entry["runs"] = {variant: attempt(expected, tools, pack, folder / f"{variant}.onnx", more, options.limit)
                     for variant, more in VARIANTS.items()}
    entry["untouched"] = entry["runs"]["all"]["untouched"]
    if entry["runs"]["default"]["rules"]:
        entry["check"] = check_cost(name, path, tools, pack, folder)
    return entry


def problems(entry):
    """What went wrong with a model, one line each."""
    if "error" in entry:
        return [entry["error"]]
    return [f"{variant}: {run['problem']}" for variant, run in entry["runs"].items() if "problem" in run]


# ---- the table

def counted(counter, most=None):
    return ", ".join(f"{what} x{n}" if n > 1 else what for what, n in collections.Counter(counter).most_common(most))


def row(name, entry):
    cells = [name, entry["exporter"], entry["precision"], entry["dynamic"]]
    if "error" in entry:
        return cells + ["-"] * (len(HEADER) - len(cells) - 1) + ["failed"]
    runs = entry["runs"]
    total = sum(entry["untouched"].values())
    differences = [run["difference"] for run in runs.values() if "difference" in run]
    return cells + [
        str(entry["nodes"]), f"{total}: {counted(entry['untouched'], 3)}" if total else "0", str(runs["default"]["sites"]),
        counted(runs["default"]["rules"]) or "none", f"{sum(runs['all']['rules'].values())}, {len(runs['all']['rules'])}",
        f"{max(run['seconds'] for run in runs.values()):.1f}", f"{max(run['megabytes'] for run in runs.values()):.0f}",
        f"{check.in_runs(entry['check']):.1f}" if "check" in entry else "-",
        f"{max(differences):.1e}" if differences else "-", "/".join(str(run["code"]) for run in runs.values())]


def parse_arguments():
    arguments = argparse.ArgumentParser(description="What pet-apply does with models as exporters write them.")
    arguments.add_argument("names", nargs="*", metavar="NAME", help="models of tests/models/zoo.py (default: all)")
    arguments.add_argument("--json", type=pathlib.Path, help="write the figures to this file")
    arguments.add_argument("--resume", action="store_true", help="keep what that file has, and run the other models")
    arguments.add_argument("--limit", type=float, default=600, help="seconds for each run of pet-apply (default 600)")
    arguments.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "bin", help="where the tools are")
    arguments.add_argument("--pack", type=pathlib.Path, help="the rules (default: what pet-synth --depth 4 writes)")
    options = arguments.parse_args()
    options.names = options.names or list(zoo.MODELS)
    unknown = [name for name in options.names if name not in zoo.MODELS]
    if unknown:
        arguments.error(f"no model named {', '.join(unknown)}; there are {', '.join(zoo.MODELS)}")
    return options


def new_report():
    return {**models.provenance("zoo", ["bench/zoo.py"], runner.processor()["cpu"], 1), "engine": "onnxruntime",
            "version": runner.onnxruntime.__version__, "models": {}}


def main():
    options = parse_arguments()
    report = json.loads(options.json.read_text()) if options.resume and options.json.is_file() else new_report()
    with tempfile.TemporaryDirectory() as scratch:
        try:
            pack = options.pack or models.synthesise(options.bin, pathlib.Path(scratch))
        except models.Failure as failure:
            print(f"bench/zoo.py: {failure}", file=sys.stderr)
            return 1
        models.print_row(HEADER)
        models.print_row(["---"] * len(HEADER))
        for name in [name for name in options.names if name not in report["models"]]:
            about = zoo.MODELS[name]
            with tempfile.TemporaryDirectory(dir=scratch) as folder:
                try:
                    entry = examine(name, pathlib.Path(folder), options.bin.resolve(), pack.resolve(), options)
                except ERRORS as error:
                    entry = {"exporter": about.exporter, "precision": about.precision, "dynamic": about.shapes,
                             "error": " ".join(str(error).split())}
            report["models"][name] = entry
            models.print_row(row(name, entry))
            if options.json:  # a run of an hour leaves something behind, however it ends
                options.json.write_text(json.dumps(report, indent=1) + "\n")
    wrong = [f"{name}: {what}" for name, entry in report["models"].items() for what in problems(entry)]
    print("\n".join(["", *zoo_tables.totals(report), "", *zoo_tables.refused(report), "", *zoo_tables.by_size(report)]))
    print("".join(f"\nwrong: {line}" for line in wrong) or "\nNothing is wrong.")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
