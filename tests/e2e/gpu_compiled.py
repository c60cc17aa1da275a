#!/usr/bin/env python3
"""Plans that cuDNN compiles when it builds them, attention, pools and normalisations among them, for GPUs that are not there: those of the unit
tests, but for rules, of which there are too many; of a few convolutional networks; and as many attentions as models of the zoo have. cuDNN
asks the driver for that; a driver without a device will do, and is made here. Long: only the whole (test-all) runs it. Exit status 0 or 1; 77
where pet is built without CUDA.

`gpu_compiled.py NAME...` tries these models alone.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

import _part as part
import gpu_plan

# Of models of the zoo as they are exported. Where a mask depends on the inputs, some exporters guard the weights against rows without a
# key by operators that are no program's, and attention stays in pieces.
ATTENTIONS = {"vit_b_16-dynamo": 3, "bert-dynamo-dynamic": 2, "gpt2-dynamo": 2, "decoder_step-script": 2, "t5_encoder-script": 2,
              "window_attention-dynamo": 2, "window_fused-dynamo": 2, "whisper_encoder-script": 2}

# With times that are made up, as a GPU that times plans asks for them: an attention, and convolutions with what follows them.
TIMED = ["whisper_encoder-script", "squeezenet1_1-dynamo", "unet_small", "densenet_small"]


def symbols_of(stub):
    """What the toolkit's driver exports."""
    listed = subprocess.run(["nm", "-D", "--defined-only", stub], capture_output=True, text=True, check=True).stdout
    return sorted({line.split()[-1].split("@")[0] for line in listed.splitlines() if " T cu" in line})


def make_driver(stub, folder):
    source = pathlib.Path(__file__).with_name("no_device.c").read_text()
    others = [s for s in symbols_of(stub) if f"int {s}(" not in source]
    source += "".join(f"int {s}(void) {{ return NOT_INITIALIZED; }}\n" for s in others)
    subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-x", "c", "-", "-o", folder / "libcuda.so.1", "-ldl"], input=source, text=True,
                   check=True)


def attentions(name, folder):
    """How many of a model's are one call each; an error's text."""
    path = gpu_plan.build.build(name, folder)
    shapes = gpu_plan.shapes_of(gpu_plan.zoo.MODELS[name])
    done = gpu_plan.planned(path, "--precision", "fp16", *(["--shape", ",".join(shapes)] if shapes else []))
    return done.stderr if done.returncode else sum(n["how"].startswith("cuDNN attention") for n in json.loads(done.stdout)["nodes"])


def main():
    if part.given():
        print("only as a whole")
        return part.SKIPPED
    stubs = sorted(pathlib.Path("/usr/local").glob("cuda*/**/stubs/libcuda.so"))
    if not (gpu_plan.BIN / "libpet_cuda.so").exists() or not stubs:
        print("pet is built without CUDA")
        return part.SKIPPED
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        make_driver(stubs[-1], pathlib.Path(folder))
        os.environ["LD_LIBRARY_PATH"] = f"{folder}:{os.environ.get('LD_LIBRARY_PATH', '')}"
        for name in [] if sys.argv[1:] else TIMED:
            gpu_plan.check(name, gpu_plan.build.build(name, folder), pathlib.Path(folder), "fp16", True)
        for name in sys.argv[1:] or ATTENTIONS:
            found = attentions(name, pathlib.Path(folder))
            print(f"{name}: {found} attentions", flush=True)
            if found != ATTENTIONS.get(name, found):
                failures.append(f"{name}: {found}, not {ATTENTIONS[name]}")
        tests = [gpu_plan.BIN / "pet-unit-tests", "--gtest_filter=CudaPlans.*-CudaPlans.*AllRules*", "--gtest_brief=1"]
        if not sys.argv[1:] and subprocess.run(tests).returncode:
            failures.append("unit tests")
    failures += gpu_plan.failures
    print("\n".join(failures) if failures else "compiled for an H200")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
