#!/usr/bin/env python3
"""Our engine against ONNX Runtime on models as exporters write them (tests/models/zoo.py), both runners in turns.

    python bench/engine.py [NAME...] [--bin DIR] [--rounds 3] [--budget 2] [--threads 1] [--processor-time] [--json FILE]

For each model: the medians of both in each round, of at most --budget seconds; the ratio ONNX Runtime / ours is the median of the
rounds' ratios, above 1 where ours is faster; how many nodes run one by one. Exit status 1 where one of the two refuses a model.
With --processor-time, for a machine that does other things, seconds are those of the one thread on its processor.
What lies in bench/results/ becomes a table of docs/speed.md (speed_table.py).
"""

import argparse
import json
import math
import pathlib
import statistics
import sys
import tempfile

ROOT = pathlib.Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "models"))
import build  # noqa: E402
import models  # noqa: E402
import zoo  # noqa: E402


def compare(name, path, runners, options):
    """One row: seconds and ratio, or what is wrong."""
    request = {"cmd": "time", "models": [str(path)], "runs": 51, "warmup": 2, "budget_s": options.budget, "threads": options.threads,
               "processor_time": options.processor_time, "dims": models.open_extents(name, path)}
    rounds = []
    for _ in range(options.rounds):
        answers = {which: runner.ask(request) for which, runner in runners.items()}
        for which, answer in answers.items():
            if "error" in answer:
                return {"model": name, "problem": f"{which}: {answer['error']}"}
        rounds.append({which: answer["median"][0] for which, answer in answers.items()})
    notes = runners["ours"].ask({"cmd": "notes", "model": str(path), "dims": request["dims"]})
    return {"model": name, "ort": statistics.median(r["ort"] for r in rounds), "ours": statistics.median(r["ours"] for r in rounds),
            "ratio": statistics.median(r["ort"] / r["ours"] for r in rounds), "alone": len(notes.get("reference", []))}


def report(rows, options):
    """What speed_table.py reads."""
    command = ["bench/engine.py", f"--rounds={options.rounds}", f"--budget={options.budget:g}", f"--threads={options.threads}", *(["--processor-time"] if options.processor_time else [])]
    figures = {row["model"]: {"error" if key == "problem" else key: value for key, value in row.items() if key != "model"} for row in rows}
    return {**models.provenance("engine_zoo", command, models.runner.processor()["cpu"], options.threads), "models": figures}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "bin")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--budget", type=float, default=2)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--processor-time", action="store_true")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    runners = {which: models.Runner(*models.DEVICES[device](options.bin)) for which, device in {"ort": "ort-cpu", "ours": "onednn-cpu"}.items()}
    rows = []
    for name in options.names or zoo.MODELS:
        with tempfile.TemporaryDirectory() as folder:
            rows.append(compare(name, build.build(name, folder), runners, options))
        row = rows[-1]
        print(row.get("problem") and f"{name}: {row['problem']}" or
              f"{name}: ort {row['ort'] * 1e3:.2f} ms, ours {row['ours'] * 1e3:.2f} ms, ratio {row['ratio']:.2f}, {row['alone']} nodes one by one", flush=True)
        if options.json:
            options.json.write_text(json.dumps(report(rows, options), indent=1) + "\n")
    for runner in runners.values():
        runner.close()
    ratios = [row["ratio"] for row in rows if "ratio" in row]
    if ratios:
        mean = math.exp(statistics.mean(math.log(r) for r in ratios))
        print(f"{len(ratios)} of {len(rows)} models: geometric mean {mean:.2f}, {sum(r < 0.95 for r in ratios)} below 0.95")
    return 1 if len(ratios) < len(rows) else 0


if __name__ == "__main__":
    sys.exit(main())
