#!/usr/bin/env python3
"""docs/gains.md: what rules gain by pattern and engine, of the timings that ship (packs/). Exit status 0; with --check 1 if the page is another.

    python bench/gains_page.py [--check]
"""

import argparse
import collections
import pathlib
import statistics
import sys

ROOT = pathlib.Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "models"))
import timed  # noqa: E402

PAGE = ROOT / "docs" / "gains.md"
PATTERNS = ROOT / "rules" / "patterns"
DEVICES = {"ort-cpu": "ONNX Runtime", "openvino-cpu": "OpenVINO", "mnn-cpu": "MNN", "onednn-cpu": "ours", "cuda:h200": "ours on an H200"}
GAIN = 1.05  # pet-apply's --min-gain
HEAD = """# What rules gain, by pattern and engine

Of the timings that ship, one thread, all machines; of the GPU in float. At each choice of shapes, place, opset and machine at which
rules of a pattern were timed the best of them counts, noise included: how many times as fast as the pattern it is, in the median of the
choices at which it gains 1.05 and more, (at most), and how many these are of all. `-`: rules were timed there, and none gained.
Empty: not timed, or timed by a run of which only what gains was kept. Rules fire only where they pay: `pet-rules show PACK RULE` says at which sizes. Of ncnn, LiteRT and PyTorch no
timings ship; `pet-tune --device ncnn-cpu` makes some.

{patterns} of {all} patterns have a rule that gains on one of these engines, {many} on two and more. This page is made by
`bench/gains_page.py`.

| pattern | {devices} |
|---|{columns}|
"""


def points_of(device):
    """{pattern: the best ratio at each choice of shapes}."""
    best = collections.defaultdict(dict)
    for sample in timed.samples(ROOT / "packs" / f"{device}.timings.jsonl"):
        if sample["threads"] != 1:
            continue
        choice = (sample.get("machine"), sample["isa"], sample.get("place"), sample.get("opset"), tuple(sorted(sample["shapes"].items())))
        points = best[sample["name"].split("/")[0]]
        points[choice] = max(points.get(choice, 0), sample["pattern"] / sample["replacement"])
    return {pattern: list(points.values()) for pattern, points in best.items()}


def figure(ratio):
    return f"{ratio:.0f}" if ratio >= 99.5 else f"{ratio:.3g}" if ratio >= 9.95 else f"{ratio:.2f}"


def cell(ratios):
    if not ratios:
        return ""
    gains = [ratio for ratio in ratios if ratio >= GAIN]
    return f"{figure(statistics.median(gains))} ({figure(max(gains))}), {len(gains)} of {len(ratios)}" if gains else "-"


def text():
    patterns = sorted(path.stem for path in PATTERNS.glob("*.pet"))
    by_device = {device: points_of(device) for device in DEVICES}
    rows, many = [], 0
    for pattern in patterns:
        cells = [cell(points.get(pattern)) for points in by_device.values()]
        gained = sum(len(each) > 1 for each in cells)
        many += gained > 1
        if gained:
            rows.append(f"| `{pattern}` | {' | '.join(cells)} |".replace("  ", " "))
    head = HEAD.format(patterns=len(rows), all=len(patterns), many=many, devices=" | ".join(DEVICES.values()), columns="|".join(["---"] * len(DEVICES)))
    return head + "\n".join(rows) + "\n"


def main():
    arguments = argparse.ArgumentParser(description="Makes docs/gains.md of the timings that ship.")
    arguments.add_argument("--check", action="store_true", help="only say whether it is what the timings give")
    if not arguments.parse_args().check:
        PAGE.write_text(text())
        return 0
    if PAGE.is_file() and PAGE.read_text() == text():
        return 0
    print("gains_page: docs/gains.md is not of the timings that ship: bench/gains_page.py makes it", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
