#!/usr/bin/env python3
"""pet.olive.PetRewrite, run by Microsoft Olive itself: the pass writes what pet.apply() writes. Exit status 0 or 1; 77 where Olive
cannot be installed, and in `test`, which installs nothing.

Olive needs torch and transformers, gigabytes of which the pass uses nothing: stand-ins take their places here, unless Olive is
installed beside this interpreter.
"""

import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile

import _part as part
import wheel

#: What Olive imports, and this pass does not use.
ABSENT = ["torch", "transformers", "torchmetrics", "huggingface_hub", "optuna", "pandas", "questionary"]
OLIVE = "olive-ai==0.13.0"
NEEDED = ["onnx-ir>=0.1.2", "onnxscript>=0.5.3", "opentelemetry-sdk>=1.39.1", "requests", "pydantic>=2.0", "pyyaml"]
STAND_INS = f'''
import importlib.abc, importlib.machinery, sys, types

BODY = {{"__init__": lambda self, *a, **k: None, "__class_getitem__": classmethod(lambda c, i: c)}}

class Anything(type):
    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything(name, (), BODY)

class StandIn(types.ModuleType):
    __path__ = []
    __getattr__ = Anything.__getattr__

class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path, target=None):
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if name.partition(".")[0] in {ABSENT} else None
    def create_module(self, spec):
        return StandIn(spec.name)
    def exec_module(self, module):
        pass

sys.meta_path.insert(0, Finder())
'''
RUN = '''
import pet, pet.olive
from olive.model import ONNXModelHandler
from olive.passes.olive_pass import create_pass_from_dict
rewrite = create_pass_from_dict(pet.olive.PetRewrite, {"min_gain": 1.1}, disable_search=True)
output = rewrite.run(ONNXModelHandler(model_path="model.onnx"), "olive")
wanted, report = pet.apply("model.onnx", min_gain=1.1, output="wanted.onnx")
assert report["fired"] and open(output.model_path, "rb").read() == open(wanted, "rb").read()
try:
    create_pass_from_dict(pet.olive.PetRewrite, {"options": {"no_such": True}}, disable_search=True).run(ONNXModelHandler(model_path="model.onnx"), "none")
except pet.UsageError as e:
    assert "--no-such" in str(e), e
else:
    raise AssertionError("an option that is none is one")
listed = pet.olive.package_config()["passes"]
assert listed["PetRewrite"]["module_path"] == "pet.olive.PetRewrite" and len(listed) > 10
'''


def install_olive(python):
    """Why it cannot be, if so."""
    for packages in [["--no-deps", OLIVE], NEEDED]:
        done = subprocess.run([str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", *packages], capture_output=True, text=True)
        if done.returncode:
            return done.stderr.strip().splitlines()[-1]
    return ""


def main():
    if part.given():
        print("in test-all only: it installs Olive")
        return part.SKIPPED
    if wheel.missing():
        print(f"{', '.join(wheel.missing())}: not installed")
        return part.SKIPPED
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        made = wheel.build_wheel(folder)
        is_here = importlib.util.find_spec("olive") is not None
        wheel.must(sys.executable, "-m", "venv", folder / "env")
        python = folder / "env" / "bin" / "python"
        why = "" if is_here else install_olive(python)
        if why:
            print(f"Olive cannot be installed: {why}")
            return part.SKIPPED
        wheel.must(python, "-m", "pip", "install", "--no-deps", "--no-index", made)
        wheel.build.build("srcnn", folder).rename(folder / "model.onnx")
        beside = os.pathsep.join(path for path in sys.path if path.endswith("-packages"))
        environment = {**os.environ, "OLIVE_DISABLE_TELEMETRY": "1", **({"PYTHONPATH": beside} if is_here else {})}
        wheel.must(python, "-c", ("" if is_here else STAND_INS) + RUN, cwd=folder, env=environment)
    print(f"{OLIVE if not is_here else 'the Olive that is installed'}{'' if is_here else ', with stand-ins for what the pass does not use'}: ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
