"""What the fake engines in this folder share: models run on ONNX Runtime, and something goes wrong where the environment says so
(FAKE_DOES). Each has as much of an engine's interface as its runner uses; tests/e2e/engines.py puts them in the engine's place."""

import os
import threading
import time

import numpy as np
import onnxruntime

VERSION = os.environ.get("FAKE_VERSION", "7.0")
DOES = os.environ.get("FAKE_DOES", "")


def open_session(path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def run(session, feeds):
    """The outputs in order."""
    if DOES == "crash":
        os._exit(3)
    if DOES == "hang":
        time.sleep(60)
    if DOES == "thread":
        worker = threading.Thread(target=busy)
        worker.start()
        worker.join()
    return [changed(output) for output in session.run(None, feeds)]


def busy():
    """Takes 20 ms of the processor."""
    while time.thread_time() < 0.02:
        pass


def changed(data):
    if DOES == "shape":
        return data.reshape(-1)
    if DOES == "type":
        return data.astype(np.float64)
    if DOES == "values":
        return data * np.float32(1.01)
    if DOES == "nan":
        return np.where(data == data.max(), np.nan, data).astype(data.dtype)
    return data
