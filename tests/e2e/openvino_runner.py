#!/usr/bin/env python3
"""runtime/ort/openvino_runner.py on the engine itself. Exit status 0 or 1; 77 where the engine's environment is not there."""

import sys

import _engine

if __name__ == "__main__":
    sys.exit(_engine.main("openvino", "openvino_runner.py", {"openvino": "openvino-cpu"}))
