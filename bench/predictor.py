#!/usr/bin/env python3
"""What predicted gains are worth: the timings that ship, with each sample, each model and each machine left out in turn.

    python bench/predictor.py [--devices a,b] [--models a,b] [--pack FILE] [--timings FOLDER] [--machine M] [--bin DIR] [--folder DIR] [--json FILE]

Builds the models (tests/models/build.py; by default the zoo's and the benchmark's, but for those above 2 GB) and runs
`pet-tune PACK --show TIMINGS --shapes-from MODEL...`. A model is left out with all samples at shapes of its sites, whatever they
were timed for. With --folder the models are built there and kept: 7 GB. What --json writes, in bench/results/, becomes a table of
docs/speed.md (speed_table.py).
"""

import argparse
import json
import pathlib
import sys
import tempfile

ROOT = pathlib.Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "models"))
import build  # noqa: E402
import models  # noqa: E402
import zoo  # noqa: E402

DEVICES = ["ort-cpu", "openvino-cpu", "mnn-cpu", "onednn-cpu"]
MODELS = [name for name in [*zoo.MODELS, *build.MODELS, *build.UNSEEN] if name not in zoo.LARGE]


def built(name, folder):
    path = folder / f"{name}.onnx"
    return path if path.is_file() else build.build(name, folder)


def parse_arguments():
    arguments = argparse.ArgumentParser(description="Says what predicted gains are worth.")
    arguments.add_argument("--devices", default=",".join(DEVICES), help=f"engines that were timed, with commas (default {','.join(DEVICES)})")
    arguments.add_argument("--models", help="names, with commas (default: the zoo's and the benchmark's)")
    arguments.add_argument("--pack", type=pathlib.Path, help="the rules (default: what pet-synth --depth 4 writes)")
    arguments.add_argument("--timings", type=pathlib.Path, default=ROOT / "packs", help="the folder of the timings (default: packs/)")
    arguments.add_argument("--machine", help="for which is predicted (default: this one)")
    arguments.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "bin", help="where the tools are")
    arguments.add_argument("--folder", type=pathlib.Path, help="where the models are built, and kept")
    arguments.add_argument("--json", type=pathlib.Path, help="write the figures to this file")
    options = arguments.parse_args()
    options.models = options.models.split(",") if options.models else MODELS
    unknown = [name for name in options.models if name not in build.EVERY]
    if unknown:
        arguments.error(f"no model named {', '.join(unknown)}; there are {', '.join(build.EVERY)}")
    return options


def judge(options, scratch):
    """What pet-tune says, by device."""
    folder, said = options.folder or scratch, scratch / "worth.json"
    pack = options.pack or models.synthesise(options.bin, scratch)
    paths = [built(name, folder) for name in options.models]
    machine = ["--machine", options.machine] if options.machine else []
    worth = {}
    for device in options.devices.split(","):
        models.call([options.bin / "pet-tune", pack, "--show", options.timings / f"{device}.timings.jsonl", "--device", device, *machine, "--json", said,
                     *(word for path in paths for word in ["--shapes-from", path])])
        worth[device] = json.loads(said.read_text())
    return worth


def main():
    options = parse_arguments()
    with tempfile.TemporaryDirectory() as scratch:
        try:
            worth = judge(options, pathlib.Path(scratch))
        except models.Failure as failure:
            print(f"bench/predictor.py: {failure}", file=sys.stderr)
            return 1
    print(json.dumps(worth, indent=1))
    if options.json:
        machine = next(iter(worth.values()))["machine"]
        report = models.provenance("predictor", ["bench/predictor.py", *sys.argv[1:]], machine, 1)
        options.json.write_text(json.dumps({**report, "devices": worth}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
