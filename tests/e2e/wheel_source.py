#!/usr/bin/env python3
"""The wheel as `pip wheel --no-deps python/` makes it where no library is installed: it builds the applier first, and rewrites a model
with the default pack in an environment without anything else. Exit status 0 or 1; 77 where the build's requirements are missing, and
in another part of the long tests.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import time

import _part as part
from pack import BIN, SOURCE
from wheel import missing, must

sys.path.insert(0, str(SOURCE / "tests" / "models"))
import build  # noqa: E402

USES = """
import pet
path, report = pet.apply("model.onnx")
assert path == "model.pet.onnx" and report["fired"] and report["proofs"] == "checked-with-default-pack", (path, report)
"""


def wheel_from_source(folder):
    """Without optimisation, which takes half of the time; that it is optimised by default is what applier_alone looks at."""
    environment = {name: value for name, value in os.environ.items() if name != "CMAKE_PREFIX_PATH"}
    settings = [f"build-dir={folder / 'build'}", "cmake.define.CMAKE_UNITY_BUILD=ON", "cmake.define.CMAKE_UNITY_BUILD_BATCH_SIZE=24",
                "cmake.build-type=None", "cmake.define.CMAKE_DISABLE_FIND_PACKAGE_pet=ON"]
    command = [sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "--no-index", "-w", folder / "wheels"]
    for setting in settings:
        command += ["--config-settings", setting]
    done = subprocess.run([str(word) for word in [*command, SOURCE / "python"]], capture_output=True, text=True, timeout=2000, env=environment)
    if done.returncode:
        sys.exit(f"{done.stdout[-3000:]}{done.stderr[-4000:]}")
    return next((folder / "wheels").glob("*.whl"))


def main():
    part.skip_unless_mine("wheel_source", part.WHOLE)
    if missing():
        print(f"{', '.join(missing())}: not installed")
        return part.SKIPPED
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        begin = time.monotonic()
        wheel = wheel_from_source(folder)
        print(f"{wheel.name}: {wheel.stat().st_size} bytes in {time.monotonic() - begin:.0f} s")
        build.build("srcnn", folder).rename(folder / "model.onnx")
        # Both without what a home folder may keep of the machine (pet-tune --calibrate), by which rules are chosen.
        must(BIN / "pet-apply", folder / "model.onnx", "-q", "-o", folder / "tool.onnx", env={})
        must(sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--target", folder / "site", wheel)
        must(sys.executable, "-S", "-c", USES, cwd=folder, env={"PATH": "/proc/nonexistent", "PYTHONPATH": str(folder / "site")})
        if (folder / "model.pet.onnx").read_bytes() != (folder / "tool.onnx").read_bytes():
            sys.exit("other bytes than pet-apply's")
    print("the wheel from source: built, and it rewrites a model")
    return 0


if __name__ == "__main__":
    sys.exit(main())
