#!/usr/bin/env python3
"""The wheel: built from the installed library, installed into an empty environment, used on files, on models in memory and
with ONNX Runtime; its exceptions. Exit status 0 or 1; 77 where the build's requirements are missing.
"""

import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from pack import BIN, SOURCE

sys.path.insert(0, str(SOURCE / "tests" / "models"))
import build  # noqa: E402

USES = '''
import json, pathlib, sys
import pet
model = pathlib.Path("model.onnx")
path, report = pet.apply(model)
assert path == "model.pet.onnx" and report["fired"], (path, report)
assert pathlib.Path(path).read_bytes() == pathlib.Path(sys.argv[1]).read_bytes(), "other bytes than pet-apply's"
assert pet.apply(str(model), dry_run=True, measure=None, all=False).model == "model.onnx"
every = pet.apply(model, all=True, only=["*/f.*", "*/n.*"], output=pathlib.Path("all.onnx"))
assert every.model == "all.onnx", every
for kind, word, arguments, options in [
        (pet.UsageError, "--min-gain", ["model.onnx"], {"min_gain": "much"}), (pet.UsageError, "--no-such", ["model.onnx"], {"no_such": 1}),
        (pet.ModelError, "none.onnx", ["none.onnx"], {}), (pet.PackError, "model.onnx", ["model.onnx", "model.onnx"], {}),
        (ValueError, "none.onnx", ["none.onnx"], {}), (TypeError, "int", [3], {})]:
    try:
        pet.apply(*arguments, **options)
    except kind as e:
        assert word in str(e) and "\\n" not in str(e), e
    else:
        raise AssertionError(f"{arguments} {options}: no {kind.__name__}")
assert "onnx" not in sys.modules and pet.__version__
'''
IN_MEMORY = '''
import onnx, pet
model = onnx.load("model.onnx")
rewritten, report = pet.apply(model)
assert isinstance(rewritten, onnx.ModelProto) and rewritten.SerializeToString() == onnx.load("model.pet.onnx").SerializeToString()
assert report["fired"] and any(n.name.startswith("pet/") for n in rewritten.graph.node)
try:
    pet.apply(onnx.ModelProto())
except pet.ModelError as e:
    print(e)
else:
    raise AssertionError("an empty model is one")
'''


# Where olive-ai is installed, which brings torch.
OLIVE = '''
import pet.olive
from olive.model import ONNXModelHandler
from olive.passes.olive_pass import create_pass_from_dict
rewrite = create_pass_from_dict(pet.olive.PetRewrite, {"min_gain": 1.05}, disable_search=True)
output = rewrite.run(ONNXModelHandler(model_path="model.onnx"), "olive")
assert open(output.model_path, "rb").read() == open("model.pet.onnx", "rb").read()
assert "PetRewrite" in pet.olive.package_config()["passes"]
'''


def must(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=280, **options)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))[:200]}: {done.stdout[-2000:]}{done.stderr[-4000:]}")
    return done.stdout


def build_wheel(folder):
    """From the installed library, so that nothing of pet but the module itself is compiled."""
    must("cmake", "--install", BIN.parent, "--prefix", folder / "prefix", "--component", "library", "--strip")
    environment = {**os.environ, "CMAKE_PREFIX_PATH": str(folder / "prefix")}
    if shutil.which("ccache"):
        environment["CMAKE_CXX_COMPILER_LAUNCHER"] = "ccache"
    must(sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "--no-index", "-w", folder / "wheels",
         "--config-settings", f"build-dir={folder / 'wheel-build'}", SOURCE / "python", env=environment)
    return next((folder / "wheels").glob("*.whl"))


def main():
    missing = [name for name in ["nanobind", "scikit_build_core"] if not importlib.util.find_spec(name)]
    if missing:
        print(f"{', '.join(missing)}: not installed")
        return 77
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        begin = time.monotonic()
        wheel = build_wheel(folder)
        print(f"{wheel.name}: {wheel.stat().st_size} bytes in {time.monotonic() - begin:.0f} s")
        build.build("srcnn", folder).rename(folder / "model.onnx")
        must(BIN / "pet-apply", folder / "model.onnx", "-q", "-o", folder / "tool.onnx")
        must(sys.executable, "-m", "venv", folder / "empty")
        python = folder / "empty" / "bin" / "python"
        must(python, "-m", "pip", "install", "--no-deps", "--no-index", wheel)
        alone = {"PATH": "/proc/nonexistent", "HOME": "/proc/nonexistent"}
        must(python, "-c", USES, folder / "tool.onnx", cwd=folder, env=alone)
        packages = os.pathsep.join(path for path in sys.path if path.endswith("-packages"))
        must(python, "-c", IN_MEMORY, cwd=folder, env={**alone, "PYTHONPATH": packages})
        print(must(python, SOURCE / "examples" / "run_on_onnxruntime.py", "model.onnx", cwd=folder, env={**alone, "PYTHONPATH": packages}), end="")
        if importlib.util.find_spec("olive"):
            must(python, "-c", OLIVE, cwd=folder, env={**alone, "PYTHONPATH": packages})
    return 0


if __name__ == "__main__":
    sys.exit(main())
