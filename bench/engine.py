#!/usr/bin/env python3
"""Our engine against others on models as exporters write them (tests/models/zoo.py; or ONNX files), their runners in turns.

    python bench/engine.py [NAME|MODEL.onnx...] [--beside ort-cpu,openvino-cpu,mnn-cpu] [--bin DIR] [--rounds 3] [--budget 2] [--threads 1]
                           [--processor-time] [--json FILE]

For each model: the medians of each in each round, of at most --budget seconds; the ratio theirs / ours is the median of the rounds'
ratios, above 1 where ours is faster; how many nodes run one by one. Another engine may refuse a model, or compute it otherwise than
ONNX Runtime, which its runner finds: then it has no figure. Exit status 1 where ours refuses one.
With --processor-time, for a machine that does other things, seconds are those of the one thread on its processor.
What lies in bench/results/ becomes a table of docs/speed.md (speed_table.py).
"""

import argparse
import json
import pathlib
import statistics
import sys
import tempfile

ROOT = pathlib.Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "models"))
import build  # noqa: E402
import models  # noqa: E402
import zoo  # noqa: E402


def compare(name, path, ours, others, options):
    """One row: seconds, and those of the other engines with their ratios, or what is wrong."""
    request = {"cmd": "time", "models": [str(path)], "runs": 51, "warmup": 2, "budget_s": options.budget, "threads": options.threads,
               "processor_time": options.processor_time, "dims": models.open_extents(name, path)}
    seconds, theirs, refused = [], {device: [] for device in others}, {}
    for _ in range(options.rounds):
        answer = ours.ask(request)
        if "error" in answer:
            return {"model": name, "error": answer["error"]}
        seconds.append(answer["median"][0])
        for device in [d for d in others if d not in refused]:
            answer = others[device].ask(request)
            if "error" in answer:
                refused[device] = answer["error"]
                if answer["error"] == models.DIED:
                    others[device] = start(device, options)
            else:
                theirs[device].append(answer["median"][0])
    beside = {device: {"error": refused[device]} if device in refused else
              {"seconds": statistics.median(times), "ratio": statistics.median(t / s for t, s in zip(times, seconds))} for device, times in theirs.items()}
    notes = ours.ask({"cmd": "notes", "model": str(path), "dims": request["dims"]})
    return {"model": name, "seconds": statistics.median(seconds), "alone": len(notes.get("reference", [])), "beside": beside}


def start(device, options):
    return models.Runner(*models.DEVICES[device](options.bin))


def line(row):
    """What is said of a model."""
    if "error" in row:
        return f"{row['model']}: {row['error']}"
    others = [f"{device} {d['seconds'] * 1e3:.2f} ms, {d['ratio']:.2f}" if "ratio" in d else f"{device} none: {d['error']}" for device, d in row["beside"].items()]
    return f"{row['model']}: ours {row['seconds'] * 1e3:.2f} ms, {row['alone']} nodes one by one; {'; '.join(others)}"


def report(rows, options):
    """What speed_table.py reads."""
    command = ["bench/engine.py", f"--beside={','.join(options.beside)}", f"--rounds={options.rounds}", f"--budget={options.budget:g}",
               f"--threads={options.threads}", *(["--processor-time"] if options.processor_time else [])]
    figures = {row["model"]: {key: value for key, value in row.items() if key != "model"} for row in rows}
    return {**models.provenance("engine_zoo", command, models.runner.processor()["cpu"], options.threads), "models": figures}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--beside", type=lambda text: text.split(","), default=["ort-cpu"])
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "bin")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--budget", type=float, default=2)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--processor-time", action="store_true")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    unknown = [device for device in options.beside if device not in models.DEVICES]
    if unknown:
        parser.error(f"no engine {', '.join(unknown)}; there are {', '.join(models.DEVICES)}")
    ours, others = start("onednn-cpu", options), {device: start(device, options) for device in options.beside}
    rows = []
    for name in options.names or zoo.MODELS:
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(name) if name.endswith(".onnx") else build.build(name, folder)
            rows.append(compare(file.stem, file, ours, others, options))
        print(line(rows[-1]), flush=True)
        if options.json:
            options.json.write_text(json.dumps(report(rows, options), indent=1) + "\n")
    for runner in [ours, *others.values()]:
        runner.close()
    for device in options.beside:
        ratios = [row["beside"][device]["ratio"] for row in rows if "ratio" in row.get("beside", {}).get(device, {})]
        if ratios:
            print(f"{device}, {len(ratios)} of {len(rows)} models: geometric mean {statistics.geometric_mean(ratios):.2f}, {sum(r < 0.95 for r in ratios)} below 0.95")
    return 1 if any("error" in row for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
