#!/usr/bin/env python3
"""Whole models, original against rewritten, on an engine, by default ONNX Runtime: one thread, one process, in turns.

    python bench/models.py [--models a,b] [--device D] [--measure] [--all] [--by-rule] [--threads N] [--processor-time] [--minutes M]
                           [--json FILE] ...
    python bench/models.py --cliffs --measure ...        of tests/models/zoo.py the exports in which ONNX Runtime is slow at something
    python bench/models.py --families --measure ...      tests/models/families.py: operators at which ONNX Runtime is slow, by themselves,
                                                         beside an equal graph by hand (tests/models/equal_graphs)
    python bench/models.py --onnx FOLDER ...             files, such as tests/models/libraries.py exports: models that nobody tuned for

Each model but such a file is built by tests/models/build.py (those that torchvision has as its exporters write them). It is
rewritten by `pet-apply MODEL PACK --device D` with otherwise default options (and by `--measure`, by `--all`, and without each of
the rules that fired, where asked for), compared to its original, and timed next to it. A second session of the original is timed along: the A/A column
says how far from 1 a ratio is without any cause. Ratios are original / rewritten, so above 1 is faster; "expected" is what
`pet-apply` said of it, from timings of its parts; "paired" is the distribution of the ratios within each round; "goal" is the least
that the project wants. Models are compared on ONNX Runtime, and the engine's results with its own. Exit status 1 where a model
could not be rewritten or differs by more than 1e-4 relative (of models of the zoo: by what trial.py says), and by more than ONNX
Runtime differs from itself without its optimisations. With --processor-time,
for a machine that does other things, seconds are those of the one thread on its processor.
"""

import argparse
import collections
import dataclasses
import datetime
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx

ROOT = pathlib.Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests" / "models"), str(ROOT / "runtime" / "ort")]
import build  # noqa: E402
import compare  # noqa: E402
import equal_graphs  # noqa: E402
import families  # noqa: E402
import runner  # noqa: E402
import trial  # noqa: E402
import zoo  # noqa: E402

TOLERANCE = 1e-4
HEADER = ["model", "by", "original ms", "rewritten ms", "ratio", "expected", "goal", "paired p10 - p90", "A/A", "rel. error",
          "pet-apply s", "rules"]
# Of the benchmark's models, those that torchvision has, as an exporter writes them.
EXPORTED = {"r3d18": "r3d_18-dynamo", "densenet121": "densenet121-script", "mobilenet": "mobilenet_v2-dynamo"}
MODELS = [*(EXPORTED.get(name, name) for name in build.MODELS), "vgg16-dynamo"]
# Exports in which ONNX Runtime is slow at an operator: functions in pieces, normalisations, depthwise 3-d convolutions, resizing, ...
CLIFFS = ["darknet-dynamo", "mobilefacenet-dynamo", "enet-dynamo", "cbam_resnet18-dynamo", "se_resnet18-dynamo", "deeplabv3_probabilities-dynamo",
          "segformer_probabilities-dynamo", "srgan-dynamo", "pix2pix-script", "infogan-script", "dcgan-script", "hifigan-dynamo", "log_mel-dynamo",
          "alexnet_lrn-dynamo", "x3d_s-dynamo", "uniformer_s-dynamo", "slowfast-dynamo", "video_vae-dynamo", "dinov2-dynamo", "eegnet-dynamo",
          "st_gcn-dynamo", "bifpn-dynamo", "swin_t-dynamo", "longformer-script"]
GOALS = {"srcnn": 2.3, "csrnet": 1.4, "r3d_18-dynamo": 1.4, "r3d18": 1.4, "vgg16": 1.2, "resnet18_b8": 1.1, "fast_style": 1.2, "unet": 1.1,
         "window_core": 8, "conformer_s": 1.3, "conformer_m": 1.3, "conformer_l": 1.3}
LEAST = 0.98  # of any model with --measure


class Failure(Exception):
    pass


@dataclasses.dataclass(frozen=True)
class Variant:
    name: str  # the folder it is made in, and the table's "by"
    options: tuple  # of pet-apply


DIED = "it died"


class Runner:
    """A process that answers JSON lines (runtime/ort/runner.py)."""

    def __init__(self, *command):
        self.process = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def ask(self, request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        return json.loads(answer) if answer else {"error": DIED}

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def of_environment(name):
    """What times on an engine that has an environment of its own (make -f Makefile.ci engines)."""
    return [ROOT / ".engines" / name / "bin" / "python", ROOT / "runtime" / "ort" / f"{name}_runner.py"]


DEVICES = {  # device: what times on it, given the folder of the tools, and for ONNX Runtime perhaps the interpreter that has it
    "ort-cpu": lambda tools, python=sys.executable: [python, ROOT / "runtime" / "ort" / "runner.py"],
    "onednn-cpu": lambda tools: [tools / "pet-runner"],
    **{f"{name}-cpu": lambda tools, name=name: of_environment(name) for name in ["openvino", "mnn", "ncnn", "litert", "torch"]},
    "inductor-cpu": lambda tools: [*of_environment("torch"), "--engine", "torch-inductor"],
}


def table_of(device, of="models"):
    """Of docs/speed.md."""
    return of if device == "ort-cpu" else f"{of}_{device.removesuffix('-cpu')}"


DEFAULT = Variant("default", ())
MEASURE = Variant("measure", ("--measure",))
ALL = Variant("all", ("--all",))


# ---- the tools

def call(command, **more):
    """Runs a command; its seconds. Its output is shown only where it fails."""
    begin = time.perf_counter()
    try:
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **more)
    except OSError as error:
        raise Failure(f"{command[0]}: {error.strerror}") from error
    if done.returncode:
        tool, said = pathlib.Path(command[0]).name, (done.stderr or done.stdout).strip()
        raise Failure(f"{tool} failed ({done.returncode}): {said}")
    return time.perf_counter() - begin


def synthesise(tools, folder):
    pack = folder / "rules.db"
    print("pet-synth --depth 4 ...", file=sys.stderr)
    call([tools / "pet-synth", "--depth", "4", "-o", pack])
    return pack


@dataclasses.dataclass
class Rewritten:
    variant: Variant
    path: pathlib.Path
    seconds: float  # of pet-apply
    report: dict  # its own

    def rules(self):
        """How often each rule fired."""
        return collections.Counter(fired["rule"] for fired in self.report["fired"])


def rewrite(original, pack, variant, options):
    """It writes beside its input, so each variant has a folder. The model as a whole is compared here, on the engine."""
    folder = original.parent / variant.name.replace("/", "_").replace("(", "_").replace(")", "_")
    folder.mkdir()
    source = folder / original.name
    shutil.copyfile(original, source)
    timings = ["--timings", options.timings.resolve()] if options.timings else []
    seconds = call([options.bin / "pet-apply", source.name, pack, "--device", options.device, "--check", "sites", "--json", "report.json",
                    "--threads", options.threads, "--cache", original.parent / "measured.db", *timings, *variant.options], cwd=folder)
    result = folder / f"{original.stem}.pet.onnx"
    if not result.is_file():
        raise Failure(f"pet-apply said nothing and wrote no {result.name}")
    return Rewritten(variant, result, seconds, json.loads((folder / "report.json").read_text()))


def without_each(made):
    """A variant for each rule that fired, if there are several."""
    rules = sorted(made.rules())
    return [Variant(f"without {rule}", ("--skip", rule)) for rule in rules] if len(rules) > 1 else []


# ---- one model

def started(options):
    """The engine's runner."""
    python = [options.python] if options.device == "ort-cpu" else []
    return Runner(*DEVICES[options.device](options.bin, *python), *(["--cpu", options.cpu] if options.cpu is not None else []))


def open_extents(name, path):
    """Numbers for the extents that a model of the zoo leaves open, by the names in its file."""
    dims, declared = {}, zoo.MODELS.get(name)
    for value in onnx.load(path, load_external_data=False).graph.input if declared else []:
        if value.name in declared.inputs:
            extents = declared.inputs[value.name].extents(dict(declared.tries[0]))
            dims |= {d.dim_param: e for d, e in zip(value.type.tensor_type.shape.dim, extents) if d.dim_param}
    return dims


def is_positive(name):
    """It has no value where its inputs are not."""
    return name in families.FAMILIES and families.FAMILIES[name].positive


def why_none(report):
    """Where no rule fired: what is in the way of the most promising one."""
    if not report["matched"]:
        known = sorted({f"{u['operator']}: {u['reason']}" for u in report["untouched"]})
        return "; ".join(["no pattern fits", *known])
    return "; ".join(group["says"] for group in report["refused"])


def tolerance(name):
    """How far an output may be off, relative to the largest value."""
    return trial.tolerance(zoo.MODELS[name]) if name in zoo.MODELS else TOLERANCE


def measure(paths, dims, positive, options, budget):
    """Samples per path, taken in turns on the same inputs, on one CPU."""
    engine = started(options)
    answer = engine.ask({"cmd": "time", "models": [str(path) for path in paths], "runs": options.runs, "repeat": options.repeat, "warmup": 2, "budget_s": budget,
                         "threads": options.threads, "processor_time": options.processor_time, "positive": positive, "dims": dims})
    engine.close()  # the next model's pet-apply may use every CPU
    if "error" in answer:
        raise Failure(f"{options.device}: {answer['error']}")
    return answer["samples"]


def figures(samples):
    median, p10, p90 = runner.quantiles(samples)
    return {"median": median, "p10": p10, "p90": p90, "samples": samples}


def ratio(original, other):
    """Of the medians, and the distribution of the ratios within each round."""
    paired = runner.quantiles(np.divide(original, other))
    return {"of_medians": float(np.median(original) / np.median(other)), **dict(zip(["paired", "p10", "p90"], paired))}


def by_hand(name, original):
    """The equal graph of a family's operator, in a file beside it."""
    path = original.parent / f"{name}.equal.onnx"
    onnx.save(equal_graphs.equal(name, onnx.load(original)), path)
    return path


def bench(name, folder, pack, variants, options, budget):
    """One entry of the JSON report; at most about `budget` seconds for the timed runs."""
    original = pathlib.Path(shutil.copy(options.onnx / f"{name}.onnx", folder)) if options.onnx else build.build(name, folder)
    dims, positive = open_extents(name, original), is_positive(name)
    made = [rewrite(original, pack, variant, options) for variant in variants]
    if options.by_rule:
        made += [rewrite(original, pack, variant, options) for variant in without_each(made[0])]
    equal = [by_hand(name, original)] if options.families else []
    reference = compare.Reference(original, dims=dims, positive=positive)
    if equal and not (off := reference.compare(equal[0]).relative) <= TOLERANCE:
        raise Failure(f"the equal graph by hand is another function: its output differs by {off:.1e}")
    errors = [reference.compare(m.path).relative for m in made]
    engine_error = 0 if max(errors) <= tolerance(name) else reference.engine_error().relative
    first, control, *others = measure([original, original, *(m.path for m in made), *equal], dims, positive, options, budget)
    rewritten = {
        m.variant.name: {**figures(samples), "ratio": ratio(first, samples), "relative_error": error,
                         "apply_seconds": m.seconds, "rules": m.rules(), "measured": m.report["measured"], **({} if m.rules() else {"why_none": why_none(m.report)}),
                         "expected": m.report["expected"]["ratio"]}
        for m, samples, error in zip(made, others, errors)}
    return {"original": figures(first), "control": ratio(first, control), "rewritten": rewritten,
            **({"equal": {**figures(others[-1]), "ratio": ratio(first, others[-1])}} if equal else {}),
            **({"engine_error": engine_error} if engine_error else {})}


# ---- the table

def rows(name, entry):
    def milliseconds(part):
        return f"{1e3 * part['median']:.2f} ({1e3 * part['p10']:.2f} - {1e3 * part['p90']:.2f})"

    if said := entry.get("error") or entry.get("refused"):
        yield [name] + ["-"] * (len(HEADER) - 2) + [" ".join(said.split())]
        return
    for by, part in entry["rewritten"].items():
        paired = part["ratio"]
        goal = GOALS.get(name) if by != MEASURE.name else max(LEAST, GOALS.get(name, LEAST))
        rules = ", ".join(f"{rule} x{count}" if count > 1 else rule for rule, count in sorted(part["rules"].items()))
        yield [name, by, milliseconds(entry["original"]), milliseconds(part), f"{paired['of_medians']:.3f}",
               f"{part['expected']:.3f}" if part["expected"] else "", f"{goal:g}" if goal else "",
               f"{paired['p10']:.3f} - {paired['p90']:.3f}",
               f"{entry['control']['of_medians']:.3f}", f"{part['relative_error']:.1e}", f"{part['apply_seconds']:.2f}",
               rules or "none"]


def print_row(cells):
    print("| " + " | ".join(cells) + " |", flush=True)


def parse_arguments():
    arguments = argparse.ArgumentParser(description="Times original against rewritten models on an engine.")
    arguments.add_argument("--models", help="names, with commas (default: all but those for tests, or all families)")
    arguments.add_argument("--cliffs", action="store_true", help="instead, those in which the engine is slow at something")
    arguments.add_argument("--families", action="store_true", help="instead, operators at which the engine is slow, by themselves")
    arguments.add_argument("--onnx", type=pathlib.Path, metavar="FOLDER", help="instead, the .onnx files of a folder, each with its weights inside and of fixed extents")
    arguments.add_argument("--runs", type=int, default=31, help="rounds a model (default 31)")
    arguments.add_argument("--repeat", type=int, default=1, help="runs in a row at each turn, of which the median counts (default 1)")
    arguments.add_argument("--minutes", type=float, default=14, help="for all timed runs, at least 3 rounds each (default 14)")
    arguments.add_argument("--threads", type=int, default=1, help="of the engine (default 1)")
    arguments.add_argument("--device", choices=DEVICES, default="ort-cpu", help="the engine (default ort-cpu)")
    arguments.add_argument("--processor-time", action="store_true", help="time the engine's one thread on its processor")
    arguments.add_argument("--measure", action="store_true", help="time what `pet-apply --measure` writes as well")
    arguments.add_argument("--all", action="store_true", help="time what `pet-apply --all` writes as well")
    arguments.add_argument("--by-rule", action="store_true", help="time the model without each rule that fired as well")
    arguments.add_argument("--json", type=pathlib.Path, help="write the figures to this file")
    arguments.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "bin", help="where the tools are")
    arguments.add_argument("--pack", type=pathlib.Path, help="the rules (default: what pet-synth --depth 4 writes)")
    arguments.add_argument("--timings", type=pathlib.Path, help="for pet-apply, instead of those that ship")
    arguments.add_argument("--python", default=sys.executable, help="the interpreter whose ONNX Runtime times: another version (default: this one)")
    arguments.add_argument("--cpu", type=int, help="the CPU to stay on (default: the highest)")
    options = arguments.parse_args()
    known = sorted(path.stem for path in options.onnx.glob("*.onnx")) if options.onnx else build.EVERY
    every = known if options.onnx else families.FAMILIES if options.families else MODELS
    options.models = CLIFFS if options.cliffs else options.models.split(",") if options.models else list(every)
    unknown = [name for name in options.models if name not in known]
    if unknown:
        arguments.error(f"no model named {', '.join(unknown)}; there are {', '.join(known)}")
    if not options.models:
        arguments.error(f"{options.onnx} has no .onnx file")
    if options.runs < 1 or options.repeat < 1 or options.threads < 1:
        arguments.error("--runs, --repeat and --threads must be at least 1")
    if options.repeat > 1 and options.device == "onednn-cpu":
        arguments.error("pet-runner has no --repeat")
    if options.processor_time and options.threads > 1:
        arguments.error("--processor-time is for one thread")
    if options.cliffs and options.device != "ort-cpu":
        arguments.error("--cliffs is about ort-cpu")
    if options.python != sys.executable and (options.device != "ort-cpu" or options.cliffs or options.families or options.onnx):
        arguments.error("--python is for the models of ort-cpu")
    if options.onnx and (options.cliffs or options.families):
        arguments.error("--onnx takes the place of --cliffs and --families")
    options.bin = options.bin.resolve()
    return options


def commit():
    """Of these sources: as git says, or, where they are a copy (tests/gpu/bundle.py), as a file of it says."""
    said = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--short=7", "HEAD"], capture_output=True, text=True).stdout.strip()
    file = ROOT / "commit"
    return said or (file.read_text().strip() if file.is_file() else "unknown")


def provenance(table, command, cpu, threads):
    """What bench/speed_table.py wants to know of a measurement."""
    return {"table": table, "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(), "commit": commit(),
            "machine": f"{cpu}, {os.cpu_count()} CPUs, {threads} thread{'s' if threads > 1 else ''}",
            "command": shlex.join(command)}


def main():
    options = parse_arguments()
    engine = started(options)
    hello = engine.ask({"cmd": "hello"})
    engine.close()
    if "error" in hello:
        print(f"bench/models.py: {options.device}: {hello['error']}", file=sys.stderr)
        return 1
    isa, cpu = hello["isa"], hello["cpu"]
    table = "cliffs" if options.cliffs else table_of(options.device, "families") if options.families else table_of(options.device)
    if options.onnx:
        table = table.replace("models", "exports")
    if options.python != sys.executable:
        table = f"models_ort_{hello['version'].replace('.', '_')}"
    report = {**provenance(table, ["bench/models.py", *sys.argv[1:]], cpu, options.threads), "engine": hello["engine"],
              "version": hello["version"], "isa": isa, "cpu": cpu, "threads": options.threads, "models": {}}
    variants = [DEFAULT, *([MEASURE] if options.measure else []), *([ALL] if options.all else [])]
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch).resolve()
        try:
            pack = options.pack.resolve() if options.pack else synthesise(options.bin, scratch)
        except Failure as failure:
            print(f"bench/models.py: {failure}", file=sys.stderr)
            return 1
        print(f"{report['engine']} {report['version']}, {options.threads} thread(s), {isa}, {cpu}\n")
        print_row(HEADER)
        print_row(["---"] * len(HEADER))
        for name in options.models:
            (scratch / name).mkdir()
            try:
                entry = bench(name, scratch / name, pack, variants, options, 60 * options.minutes / len(options.models))
            except (Failure, runner.Mistake, onnx.checker.ValidationError) as failure:
                # What an engine that the list is not of does not take is a part of its table.
                entry = {"refused" if options.families and options.device != "ort-cpu" else "error": str(failure)}
            report["models"][name] = entry
            for row in rows(name, entry):
                print_row(row)
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n")
    wrong = [name for name, entry in report["models"].items() if "error" in entry
             or any(not part["relative_error"] <= max(tolerance(name), entry.get("engine_error", 0)) for part in entry.get("rewritten", {}).values())]
    if wrong:
        print(f"bench/models.py: failed or different: {', '.join(wrong)}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
