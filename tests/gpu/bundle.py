#!/usr/bin/env python3
"""What tests/gpu/run.py needs on a machine that has an NVIDIA GPU and nothing of ours: a folder with our programs, the libraries that they
are linked to, and the tests' files, from a build of this machine.

    tests/gpu/bundle.py build/pet-gpu && tar -cJf pet-gpu.tar.xz -C build pet-gpu
    tar -xJf pet-gpu.tar.xz && pet-gpu/run --only operators,right                  # there; options of tests/gpu/run.py

There it needs x86-64 with a C library at least as new, the NVIDIA driver, Python 3.11 with numpy, onnx and ONNX Runtime, and CUDA 13 with cuDNN
9: from the system, or as packages of that Python (nvidia-…-cu13, which PyTorch brings). Headers are those of CUDA_HOME.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys

SOURCE = pathlib.Path(os.environ.get("PET_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
BIN = pathlib.Path(os.environ.get("PET_BIN", SOURCE / "build" / "bin"))
sys.path[:0] = [str(SOURCE / "bench"), str(SOURCE / "tests" / "models")]
import models  # noqa: E402

PROGRAMS = ["pet-apply", "pet-gpu-tests", "pet-rules", "pet-run", "pet-runner", "pet-tune", "libpet_cuda.so"]
FOLDERS = ["bench", "packs", "runtime/cuda/devices", "runtime/ort", "rules/patterns", "tests/gpu", "tests/models"]
# Of the C library, the compiler and NVIDIA: those of the machine it runs on.
THEIRS = re.compile(r"(ld-linux.*|lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s|cuda.*|cublas.*|cudnn.*|nvrtc.*))\.so.*")
RUN = """#!/bin/sh
here=$(cd "$(dirname "$0")" && pwd)
packages=$(python3 -c 'import nvidia, pathlib; print(":".join(str(f) for root in nvidia.__path__ for f in pathlib.Path(root).glob("*/lib")))' 2>/dev/null)
headers=$(python3 -c 'import nvidia, pathlib; print(next(str(f.parent) for root in nvidia.__path__ for f in pathlib.Path(root).glob("*/include") if (f / "cuda_fp16.h").is_file()))' 2>/dev/null)
export LD_LIBRARY_PATH="$here/lib:${packages:+$packages:}$LD_LIBRARY_PATH"
export CUDA_HOME="${CUDA_HOME:-$headers}" PET_BIN="$here/bin" PET_SOURCE="$here"
exec python3 "$here/tests/gpu/run.py" "$@"
"""


def libraries(program):
    """The shared libraries that a program loads, by name, but for THEIRS."""
    lines = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout.splitlines()
    found = (re.match(r"\s*(\S+) => (/\S+)", line) for line in lines)
    return {match[1]: match[2] for match in found if match and not THEIRS.fullmatch(match[1])}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path, help="to make; there must be none of this name")
    folder = parser.parse_args().folder
    missing = [name for name in PROGRAMS if not (BIN / name).exists()]
    if missing:
        parser.error(f"not built: {', '.join(missing)} (cmake --preset release -DPET_CUDA=ON)")
    if folder.exists():
        parser.error(f"{folder} is there already")
    for name in ["bin", "lib"]:
        (folder / name).mkdir(parents=True)
    for name in PROGRAMS:
        subprocess.run(["strip", "--strip-unneeded", BIN / name, "-o", folder / "bin" / name], check=True)
        for library, path in libraries(BIN / name).items():
            shutil.copy(path, folder / "lib" / library)
    for name in FOLDERS:
        shutil.copytree(SOURCE / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(BIN.parent / "share", folder / "share")  # links become files
    (folder / "commit").write_text(models.commit() + "\n")
    (folder / "run").write_text(RUN)
    (folder / "run").chmod(0o755)


if __name__ == "__main__":
    main()
