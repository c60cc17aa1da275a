#!/usr/bin/env python3
"""The tables of docs/speed.md, docs/zoo.md and docs/applier.md, made from the measurements in bench/results/*.json.

    python bench/speed_table.py [--check] [--document FILE] [--results FOLDER]

Rewrites what is between `<!-- speed_table: NAME -->` and `<!-- speed_table end -->`; with --check it only compares, exit status 1
where they differ. A result says of which table it is ("table"), and its "date", "commit", "machine" and "command".

Of the tables models, models_intel, models_ort_1_20_1, models_ort_1_23_2, models_openvino, models_openvino_intel, models_mnn, models_onednn, unseen and two_threads
a model's result is the latest, by the files' names. Of the first eight it is what `bench/models.py --json` writes, with --device for the others than ONNX Runtime, and --python for other versions. Of cost,
cliffs, families, exports, predictor, zoo and engine_zoo the latest file counts: what `bench/apply_cost.py --json`, `bench/models.py --cliffs --measure --json`,
`bench/models.py --families --json` (with --device families_openvino and families_mnn), `bench/models.py --onnx FOLDER --json`, `bench/predictor.py --json`, `bench/zoo.py --json` and `bench/engine.py --json` write. "table" in the
file tells cliffs, families and engine_zoo on an AMD, on an Intel (cliffs_intel, families_intel, engine_zoo_intel), and on a processor that no sample is of (cliffs_elsewhere) apart; zoo has
several tables (zoo_tables.py). The others state their figures by model:

    unseen, two_threads:  {"ratio": 1.42}; {} where no rule fires
"""

import argparse
import json
import pathlib
import re
import statistics
import sys
import textwrap

from models import GOALS
import families
import zoo
import zoo_tables

ROOT = pathlib.Path(__file__).parents[1]
DOCUMENTS = ["speed.md", "zoo.md", "applier.md"]  # in docs/
LABELS = {  # in the order of the tables
    "srcnn": "SRCNN 9-1-5, 224 x 224",
    "csrnet": "CSRNet, 384 x 512",
    "csrnet_odd": "CSRNet, 200 x 264",
    "r3d_18-dynamo": "R3D-18, 8 x 112 x 112, as torch.export writes it",
    "r3d18": "R3D-18, 8 x 112 x 112",
    "vgg16": "VGG-16 without its classifier, batch 1",
    "vgg16-dynamo": "VGG-16, batch 1, as torch.export writes it",
    "vgg16_full": "VGG-16, batch 1",
    "resnet18_b8": "ResNet-18, batch 8",
    "resnet18": "ResNet-18, batch 1",
    "fast_style": "fast neural style, 224",
    "unet": "U-Net of 32 channels at the top (the paper's has 64), nearest upsampling, 224",
    "window_core": "sliding-window attention, S 2048, band 32: the core, without projections",
    "window_attention": "sliding-window attention with its four projections",
    "darknet-dynamo": "Darknet with Mish (YOLOv4's), 2 of 5 stages, half the width, as torch.export writes it",
    "darknet-script": "the same, as TorchScript's exporter writes it",
    "srgan-dynamo": "SRGAN with PReLU, 4 of 16 blocks, as torch.export writes it",
    "conformer_s": "Conformer's Conv module, S (144 channels)",
    "conformer_m": "Conformer's Conv module, M (256)",
    "conformer_l": "Conformer's Conv module, L (512)",
    "nin": "Network in Network without its last ReLU",
    "densenet121-script": "DenseNet-121, as TorchScript's exporter writes it",
    "densenet121": "DenseNet-121",
    "dcgan": "DCGAN, batch 16",
    "lama": "LaMa's residual blocks (Fourier units), 2 of 9, images of 256 x 256",
    "nafnet": "NAFNet of 32 channels, one block a level, 128 x 128",
    "vocoder_n1": "HiFi-GAN V1's generator, 32 frames",
    "gcn_n1": "Global Convolutional Network (EinNet's GCN), batch 1",
    "alexnet": "AlexNet with LRN, batch 1",
    "googlenet": "GoogLeNet with LRN, batch 1",
    "mobilenet_v2-dynamo": "MobileNet-V2, as torch.export writes it",
    "mobilenet": "MobileNet",
    "inception": "Inception block",
    "encoder_layer": "BERT layer",
    "csrnet_unseen": "CSRNet, 288 x 416",
    "r3d18_unseen": "R3D-18 of 80 channels, 8 x 96 x 96",
    "unet_unseen": "U-Net of 48 channels at the top, nearest upsampling, 208",
    "window_core_unseen": "sliding-window attention, S 1536, band 40: the core, without projections",
    "conformer_unseen": "Conformer's Conv module, 400 x 192",
    "nin_unseen": "Network in Network without its last ReLU, 256",
    "densenet_unseen": "DenseNet-121 with growth 40, 192",
    "mobilenet_unseen": "MobileNet of 48 channels, 192",
    "encoder_layer_unseen": "BERT layer, S 200, 8 heads",
}
LABELS |= {name: name for name in zoo.MODELS if name not in LABELS}  # docs/zoo.md says what they are


class Mistake(Exception):
    """What, where."""


# ---- cells

def milliseconds(seconds):
    ms = 1e3 * seconds
    return f"{ms:.0f}" if ms >= 100 else f"{ms:.1f}" if ms >= 10 else f"{ms:.2f}"


def rules(counts):
    return ", ".join(f"`{rule}` x{n}" if n > 1 else f"`{rule}`" for rule, n in counts.items()) or "none fires"


def ratio(part):
    if not part or not part["rules"]:
        return ""
    r = part["ratio"]
    return f"{r['of_medians']:.2f} ({r['p10']:.2f} - {r['p90']:.2f})"


# ---- tables: each (header, rows), a row from (model, entry)

def models_row(name, entry):
    default, measured = entry["rewritten"]["default"], entry["rewritten"].get("measure")
    return [milliseconds(entry["original"]["median"]) if "original" in entry else "", ratio(default),
            f"{measured['ratio']['of_medians']:.2f}" if measured else "",
            f"{entry['control']['of_medians']:.2f}" if "control" in entry else "", rules(default["rules"]),
            f"{GOALS[name]:g}" if name in GOALS else ""]


def device_row(_, entry):
    made = entry["rewritten"]["default"]
    return [milliseconds(entry["original"]["median"]), ratio(made), f"{entry['control']['of_medians']:.2f}", f"{made['relative_error']:.0e}", rules(made["rules"])]


def ratio_row(_, entry):
    return [f"{entry['ratio']:.2f}" if entry else "none fires"]


BY_MODEL = {
    "models": (["original ms", "ratio (p10 - p90)", "with `--measure`", "A/A", "rules that fire", "goal"], models_row),
    **dict.fromkeys(["models_intel", "models_ort_1_20_1", "models_ort_1_23_2", "models_openvino", "models_openvino_intel", "models_mnn", "models_onednn"],
                    (["original ms", "ratio (p10 - p90)", "A/A", "largest difference", "rules that fire"], device_row)),
    "unseen": (["ratio"], ratio_row),
    "two_threads": (["ratio"], ratio_row),
}


def cost_lines(result):
    rows = [[case, str(c["nodes"]), f"{c['model_mb']:.1f}", f"{c['seconds']:.3f}", f"{1e6 * c['seconds'] / c['nodes']:.0f}", f"{c['peak_mb']:.0f}"]
            for case, c in result["cases"].items()]
    return zoo_tables.table(["case", "nodes", "MB of model", "CPU seconds", "us per node", "peak MB"], rows)


ENGINES = {"ort-cpu": "ONNX Runtime", "openvino-cpu": "OpenVINO", "mnn-cpu": "MNN"}


def engine_lines(result):
    """Our engine on the zoo, beside others, and all of it in a line for each of these."""
    models = result["models"]
    beside = list(next(iter(models.values()))["beside"])
    rows, ratios = [], {device: [] for device in beside}
    for name, entry in models.items():
        cells = []
        for device in beside:
            other = entry["beside"][device]
            if "ratio" in other:
                ratios[device].append(other["ratio"])
            cells.append(f"{milliseconds(other['seconds'])}: {other['ratio']:.2f}" if "ratio" in other else "")
        rows.append([name, milliseconds(entry["seconds"]), *cells, str(entry["alone"])])
    columns = ["model of the zoo", "ours ms", *(f"{ENGINES[device]} ms: ratio" for device in beside), "nodes one by one"]
    totals = [f"of {ENGINES[device]}'s time over ours {statistics.geometric_mean(of):.2f} ({len(of)} models, {sum(r < 0.95 for r in of)} below 0.95)"
              for device, of in ratios.items()]
    return [*zoo_tables.table(columns, rows), "", f"Geometric means: {', '.join(totals)}."]


def gain(part):
    """Of a model in which no rule fires 1: its file is the original's."""
    return part["ratio"]["of_medians"] if part["rules"] else 1.0


def cliffs_lines(result):
    """Original against rewritten, of exports in which the engine is slow at something, and how many of them gain."""
    rows, gains, measured = [], [], []
    for name, entry in result["models"].items():
        default, measure = entry["rewritten"]["default"], entry["rewritten"]["measure"]
        rows.append([name, zoo.MODELS[name].origin, milliseconds(entry["original"]["median"]), ratio(default),
                     f"{gain(measure):.2f}" if measure["rules"] else "", f"{entry['control']['of_medians']:.2f}", rules(default["rules"])])
        gains.append(gain(default))
        measured.append(gain(measure))
    return [*zoo_tables.table(["model of the zoo", "from", "original ms", "ratio (p10 - p90)", "with `--measure`", "A/A", "rules that fire"], rows), "",
            f"Of {len(gains)}, {sum(g >= 1.1 for g in gains)} are at least 1.1 times as fast, {sum(g >= 1.5 for g in gains)} at least 1.5; "
            f"the least is {min(gains):.2f}, with `--measure` {min(measured):.2f}. Where no rule fires, the file is the original's."]


REACHED = 0.8  # of what an equal graph gains
NOTHING = 1.05  # what gains less gains nothing


def families_lines(result):
    """Operators by themselves: what is known to be gained, there and here, what is gained, by which rule, or why none fires."""
    rows, reached, fired = [], 0, 0
    for name, entry in result["models"].items():
        family, default = families.FAMILIES[name], entry["rewritten"]["default"]
        extents = " and ".join(" x ".join(map(str, shape)) for shape in family.inputs)
        yardstick = [entry["equal"]["ratio"]["of_medians"]] if "equal" in entry else []
        equal = (yardstick or [family.gain])[0]
        enough = gain(default) >= REACHED * equal and (bool(default["rules"]) or equal < NOTHING)
        reached += enough
        fired += bool(default["rules"])
        how = rules(default["rules"]) if default["rules"] else family.note or default["why_none"]
        rows.append([family.what, extents, milliseconds(entry["original"]["median"]), f"{family.gain:g}", *(f"{y:.2f}" for y in yardstick), ratio(default),
                     "yes" if enough else "no", how])
    is_timed = all("equal" in entry for entry in result["models"].values())
    equal = ["an equal graph, there", "here"] if is_timed else ["an equal graph"]
    return [*zoo_tables.table(["operator", "of", "original ms", *equal, "ours (p10 - p90)", f">= {REACHED:g} of it", "rules that fire, or why none does"], rows), "",
            f"Of {len(rows)}, {reached} gain at least {REACHED:g} of what the equal graph does; in {fired} a rule fires."]


PAYS = 1.2  # a row of its own on the other engines


def other_families_lines(result):
    """The same on an engine that the list's equal graphs are not made for: those at which it, or ours, gains."""
    rows, reached, fired, lost = [], 0, [], 0
    measured = {name: entry for name, entry in result["models"].items() if "refused" not in entry}
    for name, entry in measured.items():
        family, default, equal = families.FAMILIES[name], entry["rewritten"]["default"], entry["equal"]["ratio"]["of_medians"]
        ours = gain(default)
        reached += ours >= REACHED * max(1, equal)
        lost += bool(default["rules"]) and ours < 1 / NOTHING
        fired += [ours] if default["rules"] else []
        if max(equal, ours) >= PAYS:
            how = rules(default["rules"]) if default["rules"] else default["why_none"]
            rows.append([family.what, " and ".join(" x ".join(map(str, shape)) for shape in family.inputs), milliseconds(entry["original"]["median"]), f"{equal:.2f}", ratio(default), how])
    refused = len(result["models"]) - len(measured)
    return [*zoo_tables.table(["operator", "of", "original ms", "an equal graph", "ours (p10 - p90)", "rules that fire, or why none does"], rows), "",
            *textwrap.wrap(f"Of {len(result['models'])} operators the engine takes {len(measured)}" + (f" ({refused} it refuses, or computes otherwise)" if refused else "") +
                           f"; above those at which an equal graph or ours gains {PAYS:g}. At {reached} ours reaches {REACHED:g} of the better of the two others, the operator as it is and the "
                           f"equal graph; rules fire at {len(fired)}, gain 1.1 at {sum(g >= WORTH for g in fired)}, and lose more than {NOTHING:g} at {lost}.", 140)]


WORTH = 1.1  # a row of its own


def exports_lines(result):
    """Files that nobody had tuned for: those that gain, and all of them in a few lines."""
    made = {name: entry["rewritten"]["default"] for name, entry in result["models"].items()}
    gains = {name: gain(part) for name, part in made.items()}
    fired = [name for name, part in made.items() if part["rules"]]
    off = [made[name]["expected"] / gains[name] for name in fired if made[name]["expected"]]
    rows = [[name, milliseconds(result["models"][name]["original"]["median"]), f"{made[name]['expected']:.2f}" if made[name]["expected"] else "",
             f"{gains[name]:.2f}", rules(made[name]["rules"])] for name in sorted(fired, key=lambda n: -gains[n]) if gains[name] >= WORTH]
    return [*zoo_tables.table(["model", "original ms", "expected", "measured", "rules that fire"], rows), "",
            *textwrap.wrap(f"Of {len(made)}, rules fire on {len(fired)}; {len(rows)} gain {WORTH:g} (above), {sum(g >= 1.5 for g in gains.values())} gain 1.5; the least is "
                           f"{min(gains[name] for name in fired):.2f}. Geometric mean over all {statistics.geometric_mean(gains.values()):.3f}. Expected over measured: within 10 % at "
                           f"{sum(abs(o - 1) <= 0.1 for o in off)} of {len(off)}, more than 10 % too much at {sum(o > 1.1 for o in off)}.", 140)]


def predictor_lines(result):
    """What predictions are worth, with samples, models and machines left out."""
    def share(part, whole):
        return f"{100 * part / max(1, whole):.0f} %"

    rows = [[device, f"each {what}", str(v["samples"]), share(v["right"], v["samples"]), str(v["lost"]), share(v["predicted"], v["samples"]),
             f"{v['p10']:.2f} - {v['median']:.2f} - {v['p90']:.2f}", share(v["below"], v["predicted"])]
            for device, worth in result["devices"].items() for what, v in worth["left_out"].items() if v["samples"]]
    return zoo_tables.table(["timings of", "left out", "decisions", "right", "fire at a loss", "predicted", "predicted / timed: p10 - p50 - p90",
                             "timed below the bound"], rows)


OF_LATEST = {  # table: (what its result says it is of, lines)
    "cost": ("cost", cost_lines),
    "cliffs": ("cliffs", cliffs_lines),
    "cliffs_elsewhere": ("cliffs_elsewhere", cliffs_lines),
    "cliffs_intel": ("cliffs_intel", cliffs_lines),
    "engine_zoo": ("engine_zoo", engine_lines),
    "engine_zoo_intel": ("engine_zoo_intel", engine_lines),
    "exports": ("exports", exports_lines),
    "exports_deployed": ("exports_deployed", exports_lines),
    "exports_keras": ("exports_keras", exports_lines),
    "exports_paddle_jax": ("exports_paddle_jax", exports_lines),
    "families": ("families", families_lines),
    "families_intel": ("families_intel", families_lines),
    **{f"families_{engine}": (f"families_{engine}", other_families_lines) for engine in ["openvino", "mnn"]},
    "predictor": ("predictor", predictor_lines),
    "zoo_totals": ("zoo", zoo_tables.totals),
    "zoo_refused": ("zoo", zoo_tables.refused),
    "zoo_by_size": ("zoo", zoo_tables.by_size),
    "zoo_each": ("zoo", zoo_tables.each),
}
FIGURES = {"cost": "cases", "predictor": "devices", **dict.fromkeys([*BY_MODEL, "zoo", "engine_zoo", "engine_zoo_intel", "exports", "exports_deployed", "exports_keras", "exports_paddle_jax", "cliffs", "cliffs_elsewhere", "cliffs_intel", "families", "families_intel", "families_openvino", "families_mnn"], "models")}  # by what a result is of


def read_results(folder):
    """[result], the oldest first."""
    results = []
    for path in sorted(folder.glob("*.json")):
        result = json.loads(path.read_text())
        lacking = {"table", "date", "commit", "machine", "command", FIGURES.get(result.get("table"), "models")} - set(result)
        strange = set(result.get("models", {})) - set(LABELS) if result.get("table") in BY_MODEL else set()
        failed = [model for model, entry in result["models"].items() if "error" in entry] if FIGURES.get(result.get("table")) == "models" else []
        if lacking or strange or failed or result["table"] not in FIGURES:
            raise Mistake(f"{path}: lacks {sorted(lacking)}, has models without a label {sorted(strange)}, or that failed {failed}, "
                          "or is of no table")
        results.append(result)
    return results


def origin(result):
    """Where figures come from."""
    how = f"`{result['command']}`" if result["command"] else "by hand"
    note = f". {result['note']}" if "note" in result else ""
    return textwrap.wrap(f"- {result['commit']}, {result['date']}, {result['machine']}: {how}{note}", 130, subsequent_indent="  ",
                         break_long_words=False, break_on_hyphens=False)


def table_by_model(name, results):
    """Its lines, and below it where the figures come from."""
    header, row = BY_MODEL[name]
    mine = [result for result in results if result["table"] == name]
    latest = {model: result for result in mine for model in result["models"]}
    used = [result for result in mine if result in latest.values()]
    rows = [[label, *row(model, latest[model]["models"][model]), latest[model]["commit"]] for model, label in LABELS.items() if model in latest]
    return [*zoo_tables.table(["model", *header, "measured"], rows), "", *(line for result in used for line in origin(result))]


def table(name, results):
    if name in BY_MODEL:
        return table_by_model(name, results)
    of, lines = OF_LATEST[name]
    mine = [result for result in results if result["table"] == of]
    if not mine:
        raise Mistake(f"no result is of {of}")
    return [*lines(mine[-1]), "", *origin(mine[-1])]


def rewritten(document, results):
    def replace(match):
        name = match[1]
        if name not in BY_MODEL and name not in OF_LATEST:
            raise Mistake(f"no table {name}; there are {', '.join([*BY_MODEL, *OF_LATEST])}")
        return "\n".join([match[0].splitlines()[0], "", *table(name, results), "", "<!-- speed_table end -->"])
    return re.sub(r"<!-- speed_table: (\w+) -->.*?<!-- speed_table end -->", replace, document, flags=re.S)


def main():
    arguments = argparse.ArgumentParser(description="Makes the tables of the documents from bench/results/.")
    arguments.add_argument("--check", action="store_true", help="write nothing; exit status 1 where the tables differ")
    arguments.add_argument("--document", type=pathlib.Path, action="append", help="by default all that have tables")
    arguments.add_argument("--results", type=pathlib.Path, default=ROOT / "bench" / "results")
    options = arguments.parse_args()
    wrong = []
    try:
        results = read_results(options.results)
        for path in options.document or [ROOT / "docs" / name for name in DOCUMENTS]:
            document = path.read_text()
            made = rewritten(document, results)
            if options.check and made != document:
                wrong.append(f"the tables of {path} are not those of {options.results}: run bench/speed_table.py")
            elif not options.check:
                path.write_text(made)
    except Mistake as mistake:
        wrong.append(str(mistake))
    for what in wrong:
        print(f"speed_table.py: {what}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
