#!/usr/bin/env python3
"""Times ONNX models on MNN's CPU backend: runner.py with another engine, in an environment that has both engines.

    .engines/mnn/bin/python runtime/ort/mnn_runner.py [--cpu N]        (make -f Makefile.ci engines)

MNN's own converter reads the model. The requests are runner.py's; "optimise" changes nothing. Results are compared with
ONNX Runtime's (compared.py). All values are of 32 bits in MNN.
"""

import os
import sys
import tempfile

sys.dont_write_bytecode = True  # an installation's folders stay as they are

import packages  # noqa: E402

with packages.needed("MNN", "onnxruntime"):
    import compared
    import MNN
    import numpy as np
    import runner


# Not MNN.tools: where that is imported, it installs packages and reports the use to its makers.
CONVERTER = [sys.executable, "-c", "import sys, _tools; _tools.mnnconvert(sys.argv)"]


class Mnn(compared.Engine):
    """Floats of 32 bits, everything else as MNN does it by default. It uses Winograd's algorithm with large tiles: of one Conv
    (128 channels, 28 x 28) the error was 1.2e-3 of the largest value, and 5e-7 with small tiles, which took 1.4 times as long."""

    name, version = "mnn", MNN.version()
    largest_error = 3e-3

    def load(self, path, threads, inputs, outputs):
        with tempfile.TemporaryDirectory(prefix="pet-mnn-") as folder:
            converted = os.path.join(folder, "model.mnn")
            command = [*CONVERTER, "-f", "ONNX", "--modelFile", os.path.abspath(path), "--MNNModel", converted]
            compared.convert("MNN's converter", command, path, converted)
            runtime = MNN.nn.create_runtime_manager(({"backend": "CPU", "numThread": threads, "precision": "high"},))
            module = MNN.nn.load_module_from_file(converted, [value.name for value in inputs], [value.name for value in outputs],
                                                  runtime_manager=runtime)
        return Session(inputs, outputs, module)


class Session(compared.Session):
    def __init__(self, inputs, outputs, module):
        super().__init__(inputs, outputs)
        self.module = module
        self.types = [runner.DTYPES[value.type] for value in outputs]

    def bind(self, feeds):
        self.variables = [variable_of(feeds[value.name]) for value in self.inputs]

    def infer(self):
        results = self.module.onForward(self.variables)
        if len(results) != len(self.outputs):
            raise RuntimeError("MNN computes nothing: it cannot infer some value's extents")
        return [result_of(variable, dtype) for variable, dtype in zip(results, self.types)]


def variable_of(array):
    is_float = np.issubdtype(array.dtype, np.floating)
    variable = MNN.expr.placeholder(list(array.shape), MNN.expr.NCHW, MNN.expr.float if is_float else MNN.expr.int)
    variable.write(array.astype(np.float32 if is_float else np.int32))
    return variable


def result_of(variable, dtype):
    """What MNN reads is its own memory, which the array does not hold: it is copied. What has no elements cannot be read."""
    def read():
        return np.array(variable.read(), dtype) if 0 not in variable.shape else np.empty(variable.shape, dtype)

    return compared.Result(read)


if __name__ == "__main__":
    runner.main(Mnn)
