#!/usr/bin/env python3
"""Models as exporters write them (tests/models/zoo.py), and those of tests/models that are small, computed by our engine for GPUs through
the whole of pet-run, on a GPU that this processor stands for (tests/gpu/fake_gpu.cc): as they are and rewritten, with plans by times that
are made up, so that models are planned in other orders of dimensions, in phases, on several streams, as times have it; the small ones also
without times. Outputs are ONNX Runtime's of the model as it was. Exit status 0 or 1; 77 where the fake is not built.

With PET_TEST_PART=K/N a part of the small ones and one of the zoo, by the commit; `gpu_models.py NAME...` tries these. Of models of many
operations plain loops take minutes: those are tried as a whole only, or not at all.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

import _part as part
from _gpu import BIN, SOURCE, rewritten

sys.path.insert(0, str(SOURCE / "tests" / "models"))
import build  # noqa: E402
import compare  # noqa: E402
import trial  # noqa: E402
import zoo  # noqa: E402
from compare import runner  # noqa: E402

FAKE = BIN / "libpet_fake_gpu.so"
TOLERANCE = 1e-4
LONG = {"resnet18_b8", "vgg16-dynamo", "vgg16_100k-dynamo", "deeplabv3_probabilities-dynamo", "segformer_probabilities-dynamo"}  # over ten minutes
MINUTES = zoo.SLOW | {  # over two, or as many operations as such
    "bert-dynamo", "bert-dynamo-fp16", "dinov2-dynamo", "longformer-script", "mistral-dynamo", "segformer-dynamo", "swin_t-dynamo", "swin_t-script",
    "vae_decoder-script", "video_vae-dynamo", "wav2vec2-dynamo", "whisper_encoder-dynamo", "whisper_encoder-script",
}
APART = 4  # for a part one in so many of the small ones
failures = []


def computed(path, inputs, folder, *, times):
    """What pet-run has of a model on the fake GPU: its report and {output: values}; a text where it refuses."""
    words = [BIN / "pet-run", path, "--device", "cuda", "--runs", 2, "-o", folder, "--json", folder / "report.json"]
    for i, (name, values) in enumerate(inputs.items()):
        np.save(folder / f"{i}.npy", values)
        words += ["-i", f"{name}={folder / f'{i}.npy'}"]
    environment = {**os.environ, "PET_CUDA_LIBRARY": str(FAKE), "PET_CACHE": str(folder / f"cache{times}"), **({"FAKE_GPU_DOES": "times"} if times else {})}
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=600, env=environment)
    if done.returncode:
        return done.stderr.strip()
    report = json.loads((folder / "report.json").read_text())
    return report, {output["name"]: np.load(output["file"]) for output in report["outputs"]}


def check(name, folder):
    path = build.build(name, folder)
    if name in zoo.MODELS:
        known = trial.Expected(name, path)
        inputs, outputs, tolerance = known.inputs[0], known.outputs[0], known.tolerance
    else:
        reference = compare.Reference(path)
        inputs, outputs, tolerance = reference.inputs, reference.outputs, TOLERANCE
    forms = {"": path, ", rewritten": rewritten(path, folder, failures, *(["--all"] if name in build.SMALL else []))}
    for form, model in forms.items():
        for times in [True, False] if name in build.SMALL else [True]:
            what = f"{name}{form}{', with times' if times else ''}"
            if not model:
                continue
            found = computed(model, inputs, folder, times=times)
            if isinstance(found, str):
                failures.append(f"{what}: {found}")
                continue
            report, values = found
            off = max(runner.max_abs_diff({output: expected}, {output: values[output]}, what) / (runner.max_abs({output: expected}) or 1) for output, expected in outputs.items())
            print(f"{what}: {report['plans']['timed']} plans timed for {report['plans']['chosen']} calls, off by {off:.1e}", flush=True)
            if not off <= tolerance:
                failures.append(f"{what}: off by {off:.1e}, and {tolerance:.0e} is allowed")


def chosen():
    if sys.argv[1:]:
        return sys.argv[1:]
    models = sorted(set(zoo.MODELS) - LONG)
    if not part.given():
        return [*build.SMALL, *models]
    return [*list(build.SMALL)[part.numbers()[0] % APART::APART], part.one(part.mine(set(models) - MINUTES))]


def main():
    if not FAKE.exists():
        print("libpet_fake_gpu.so is not built")
        return 77
    for name in chosen():
        with tempfile.TemporaryDirectory() as folder:
            try:
                check(name, pathlib.Path(folder))
            except (runner.Mistake, subprocess.TimeoutExpired) as mistake:
                failures.append(f"{name}: {mistake}")
    for failure in failures:
        print(f"gpu_models: {failure}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
