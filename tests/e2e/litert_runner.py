#!/usr/bin/env python3
"""runtime/ort/litert_runner.py on the engine itself, whose converter takes 5 to 40 s for a model. Exit status 0 or 1; 77 where the engine's environment is not there."""

import sys

import _engine

if __name__ == "__main__":
    sys.exit(_engine.main("litert", "litert_runner.py", {"litert": "litert-cpu"}, timeout=1500))
