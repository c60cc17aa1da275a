#!/usr/bin/env python3
"""The default pack: its text is what the documented command makes of the current pack; every record of it is proved, with
PET_TEST_PART=K/N those of every N-th rule, since pet-synth checked each when it made the current pack; with the default pack
models are rewritten as with the whole one, on each engine that timings ship for. Exit status 0 or 1.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import onnx

import _part as part
from pack import BIN, SOURCE, made, tool

sys.path.insert(0, str(SOURCE / "tests" / "models"))
import build  # noqa: E402
import graph  # noqa: E402
import timed  # noqa: E402

TEXT = SOURCE / "packs" / "default.pet"
DEFAULT = BIN.parent / "share" / "pet" / "default.db"
MODELS = ["srcnn", "resnet18", "conformer_s", "window_core", "unet_small"]
ELSEWHERE = ["openvino-cpu", "mnn-cpu", "onednn-cpu"]  # engines whose timings ship besides ONNX Runtime's
failures = []


def expect(name, condition, detail=""):
    if not condition:
        failures.append(f"{name}: {detail}")


def text_is_made(folder):
    """docs/install.md's command."""
    timings = sorted(SOURCE.glob("packs/*.timings.jsonl"))
    text = folder / "default.pet"
    done = tool("pet-rules", "export", made(), *[word for file in timings for word in ("--gained", file)], "-o", text)
    expect("export --gained", done.returncode == 0 and text.exists(), done.stderr)
    expect("packs/default.pet is stale", text.read_bytes() == TEXT.read_bytes(),
           f"pet-rules export {made()} {' '.join(f'--gained {file.relative_to(SOURCE)}' for file in timings)} -o packs/default.pet")


def records_are_proved():
    """The build makes the pack without a solver, and pet-apply trusts it."""
    names = part.mine(rule["name"] for rule in json.loads(tool("pet-rules", "ls", "--json", DEFAULT).stdout))
    done = tool("pet-rules", "verify", "--json", DEFAULT, *names)
    verdicts = {rule["name"]: rule["verdict"] for rule in json.loads(done.stdout)}
    expect("verify", len(names) > 50 and list(verdicts) == names and set(verdicts.values()) == {"proved"}, verdicts)


def fires_alike(name, folder, device="ort-cpu"):
    model, fired = build.build(name, folder), []
    for pack in [[], [made()]]:
        report = folder / "report.json"
        done = tool("pet-apply", model, *pack, "--device", device, "--dry-run", "-q", "--json", report)
        expect(f"{name} {pack} {device}", done.returncode == 0, done.stderr)
        fired.append(json.loads(report.read_text())["fired"])
    expect(f"{name} {device}", fired[0] == fired[1], f"with the default pack {fired[0]}, with the whole {fired[1]}")
    return len(fired[0])


def ships_for(device, folder):
    """Timings of the device are found by its name, and banded attention pays on every engine."""
    named = {sample["device"] for sample in timed.samples(SOURCE / "packs" / f"{device}.timings.jsonl")}
    expect(device, named == {device}, f"the file has timings of {named}")
    expect(device, fires_alike("window_core", folder, device), "nothing fires in window_core")


def weights_that_outgrow_the_cache(folder):
    """On a Zen 5, of which the timings have other sizes, Winograd's algorithm took 1.8 times as long at Inception-v3's last module, of few
    positions and many channels: 25 MB of transformed weights are read. It is predicted to lose there, and to win where positions are many."""
    predicted = {}
    for extent, inner, outer in [(8, 448, 384), (30, 448, 384)]:
        model = folder / f"{extent}.onnx"
        g = graph.Graph("model", [1, inner, extent, extent])
        onnx.save(g.model(g.conv("after", g.relu("r", g.conv("c", g.relu("q", g.conv("before", "input", inner, inner, 1)), inner, outer, 3, pad=1)), outer, outer, 1),
                          [1, outer, extent, extent]), model)
        words = [BIN / "pet-apply", model, made(), "--trust-pack", "--dry-run", "--explain", "conv/winograd-4-3", "--verbose"]
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, env=os.environ | {"PET_MACHINE": "AuthenticAMD-26-2-avx512"})
        found = re.search(r"(?:predicted|expected to be) (\d+\.\d+)", done.stdout)
        predicted[extent] = float(found[1]) if found else done.stdout + done.stderr
    expect("Winograd's weights", all(isinstance(ratio, float) for ratio in predicted.values()) and predicted[8] < 0.9 and predicted[30] > 1.1, predicted)


def main():
    with tempfile.TemporaryDirectory() as folder:
        text_is_made(pathlib.Path(folder))
        records_are_proved()
        weights_that_outgrow_the_cache(pathlib.Path(folder))
        sites = [fires_alike(name, pathlib.Path(folder)) for name in MODELS]
        expect("models", any(sites), f"nothing fires in any of {MODELS}")
        for device in ELSEWHERE:
            ships_for(device, pathlib.Path(folder))
    print("\n".join(failures) or f"{TEXT.stat().st_size} bytes of text; {sum(sites)} sites in {len(MODELS)} models")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
