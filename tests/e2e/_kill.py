"""Killing a process at its Nth change of a file (kill_at.c)."""

import os
import pathlib
import subprocess


def hook(folder, *options):
    """The library that does, for LD_PRELOAD beside PET_KILL_AT=N; `options`: of the compiler."""
    path = folder / "kill_at.so"
    subprocess.run([os.environ.get("CC", "cc"), *options, "-shared", "-fPIC", "-o", path, pathlib.Path(__file__).with_name("kill_at.c"), "-ldl"], check=True)
    return path
