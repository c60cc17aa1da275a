#!/usr/bin/env python3
"""The component `applier`, built and installed by itself as docs/install.md says: it rewrites a model, and what is installed
takes less than 13 MB, without the shared libraries of Debian that it needs. Exit status 0 or 1; 77 in another part of the long tests.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import _part as part

SOURCE = pathlib.Path(os.environ.get("PET_SOURCE", pathlib.Path(__file__).parents[2]))
sys.path.insert(0, str(SOURCE / "tests" / "models"))
import build  # noqa: E402
import compare  # noqa: E402

MOST_BYTES = 17e6
MOST_SECONDS = 10
#: What every system has that runs C++ programs.
SYSTEM = re.compile(r"(libc|libm|libstdc\+\+|libgcc_s|libpthread|libdl|librt|ld-linux[\w-]*)\.so")
failures = []


def expect(name, condition, detail=""):
    if not condition:
        failures.append(f"{name}: {detail}")


def must(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: {done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


def built(folder):
    """The folder of the build."""
    proto = next(SOURCE.glob(".venv/lib/python3*/site-packages/onnx/onnx-ml.proto"))
    must("cmake", "-G", "Ninja", "-S", SOURCE, "-B", folder, "-DPET_COMPONENTS=applier", f"-DPET_ONNX_PROTO={proto}", "-DCMAKE_UNITY_BUILD=ON",
         "-DCMAKE_UNITY_BUILD_BATCH_SIZE=24")
    must("cmake", "--build", folder, "--parallel", 2)
    flags = (folder / "build.ninja").read_text()
    expect("how it is built", " -O2 " in flags and " -O0" not in flags)
    return folder


def installed(folder, prefix, *options):
    """Bytes by file."""
    must("cmake", "--install", folder, "--prefix", prefix, "--component", "applier", *options)
    return {str(p.relative_to(prefix)): p.stat().st_size for p in prefix.rglob("*") if p.is_file()}


def libraries(binary):
    """Bytes of the shared libraries that it needs, by name, without the system's."""
    found = re.findall(r"^\s*(\S+) => (/\S+)", must("ldd", binary), re.M)
    return {name: pathlib.Path(path).resolve().stat().st_size for name, path in found if not SYSTEM.match(name)}


def check_size(folder, prefix):
    plain = installed(folder, prefix.with_name("plain"))
    files = installed(folder, prefix, "--strip")
    needed = libraries(prefix / "bin" / "pet-apply")
    for name, size in sorted({**files, **needed}.items()):
        print(f"{size:9} {name}")
    total = sum(files.values())
    print(f"{total} bytes installed ({sum(plain.values())} if not stripped), {sum(needed.values())} of Debian's shared libraries besides")
    expect("its size", total < MOST_BYTES, total)
    heavy = [name for name in needed if re.match(r"lib(isl|z3|dnnl|tbb|mpi|python|OpenCL)", name)]
    expect("what it needs", needed and not heavy, needed)


def check_run(prefix, model):
    begin = time.monotonic()
    done = subprocess.run([prefix / "bin" / "pet-apply", model, "--json", model.with_suffix(".json")], capture_output=True, text=True, timeout=280, cwd="/",
                          env={"PATH": "/proc/nonexistent", "HOME": "/proc/nonexistent"})
    seconds = time.monotonic() - begin
    expect("it runs", done.returncode == 0 and not done.stderr, (done.returncode, done.stderr))
    if failures:
        return
    fired = json.loads(model.with_suffix(".json").read_text())["fired"]
    found = compare.compare(model, model.with_suffix(".pet.onnx"))
    expect("it rewrites", fired and found.relative < 1e-4 and seconds < MOST_SECONDS, (len(fired), found.relative, seconds))
    print(f"{seconds:.1f} s, {len(fired)} sites in {model.name}")


def main():
    part.skip_unless_mine("applier_alone", part.WHOLE)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        begin = time.monotonic()
        made = built(folder / "build")
        print(f"built in {time.monotonic() - begin:.0f} s")
        check_size(made, folder / "prefix")
        check_run(folder / "prefix", build.build("srcnn", folder))
    print("\n".join(failures) or "the applier alone: built, installed, small")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
