#!/usr/bin/env python3
"""Times ONNX models on OpenVINO's CPU device: runner.py with another engine, in an environment that has both engines.

    .engines/openvino/bin/python runtime/ort/openvino_runner.py [--cpu N]        (make -f Makefile.ci engines)

The requests are runner.py's; "optimise" changes nothing. Before a model is timed, its outputs are compared with ONNX
Runtime's: an error names the output that has another type, another shape or other values (LARGEST_ERROR), or that ONNX
Runtime cannot check the model.
"""

import collections
import sys

sys.dont_write_bytecode = True  # an installation's folders stay as they are

try:
    import numpy as np
    import openvino
    import runner
except ImportError as missing:
    sys.exit(f"openvino_runner.py: {sys.executable} has no {missing.name} "
             "(make -f Makefile.ci engines; or name a Python that has openvino and onnxruntime)")

LARGEST_ERROR = 1e-3  # of the largest value of an output: beyond, it is no rounding

# As ONNX Runtime names types.
TYPES = {"f32": "tensor(float)", "f64": "tensor(double)", "f16": "tensor(float16)", "i64": "tensor(int64)",
         "i32": "tensor(int32)", "i8": "tensor(int8)", "u8": "tensor(uint8)", "boolean": "tensor(bool)"}

Value = collections.namedtuple("Value", "name type shape")


class OpenVino:
    """OpenVINO as runner.OnnxRuntime is ONNX Runtime: full precision, one stream, the shortest time of one request."""

    name, version = "openvino", openvino.__version__

    def __init__(self):
        self.core = openvino.Core()

    def providers(self):
        return ["CPU"]

    def open(self, path, threads, optimise, dims):
        runner.require_file(path)
        config = {"INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": "1",
                  "INFERENCE_NUM_THREADS": str(threads), "ENABLE_CPU_PINNING": "NO"}
        try:
            model = self.core.read_model(path)
            bind(model, path, dims)
            return Session(model, self.core.compile_model(model, "CPU", config))
        except RuntimeError as error:
            raise runner.Mistake(f"{path}: the engine cannot load it: {error}") from error

    def check(self, path, inputs, outputs, dims):
        try:
            expected = runner.run(runner.open_session(path), inputs, path)
        except runner.Mistake as mistake:
            raise runner.Mistake(f"{mistake}, so openvino's results cannot be checked") from mistake
        for name, reference in expected.items():
            why = whats_wrong(reference, outputs.get(name))
            if why:
                raise runner.Mistake(f"{path}: openvino {self.version} is wrong: output {name} {why}")


def whats_wrong(expected, found):
    """What differs between an output of ONNX Runtime and OpenVINO's; None where nothing does."""
    if found is None:
        return "is missing"
    if (found.shape, found.dtype) != (expected.shape, expected.dtype):
        return f"is {found.dtype}{list(found.shape)}, ONNX Runtime's {expected.dtype}{list(expected.shape)}"
    a, b = expected.astype(np.float64), found.astype(np.float64)
    finite = np.isfinite(a)
    if not np.array_equal(finite, np.isfinite(b)) or not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return "is not finite where ONNX Runtime's is, or the reverse"
    largest, off = np.abs(a[finite]).max(initial=0.0), np.abs(a[finite] - b[finite]).max(initial=0.0)
    if not off <= LARGEST_ERROR * largest:
        return f"differs from ONNX Runtime's by {off:.2g} of {largest:.2g}"
    return None


class Session:
    """A compiled model with the part of ONNX Runtime's interface that runner.py uses."""

    def __init__(self, model, compiled):
        self.inputs = [Value(port.get_any_name(), type_of(port), list(port.shape)) for port in model.inputs]
        self.outputs = [Value(port.get_any_name(), type_of(port), None) for port in model.outputs]
        self.request = compiled.create_infer_request()
        self.bound = None

    def get_inputs(self):
        return self.inputs

    def get_outputs(self):
        return self.outputs

    def run(self, names, feeds):
        """The outputs, valid until the next run. Inputs that were given before are not bound again."""
        if self.bound is not feeds:
            for position, value in enumerate(self.inputs):
                self.request.set_input_tensor(position, openvino.Tensor(feeds[value.name], shared_memory=True))
            self.bound = feeds
        self.request.infer()
        positions = {value.name: position for position, value in enumerate(self.outputs)}
        return [self.request.get_output_tensor(positions[name]).data for name in names]


def type_of(port):
    name = port.element_type.get_type_name()
    return TYPES.get(name, name)


def bind(model, path, dims):
    """Gives symbolic dimensions their extents. OpenVINO does not keep their names: ONNX Runtime's session has them."""
    if not model.is_dynamic():
        return
    shapes = {}
    for value in runner.open_session(path).get_inputs():
        shapes[value.name] = [dims.get(extent, extent) for extent in value.shape]
        for extent in shapes[value.name]:
            if not isinstance(extent, int):
                raise runner.Mistake(f"input {value.name}: dimension {extent!r} is dynamic; give its extent in dims")
    model.reshape(shapes)


if __name__ == "__main__":
    runner.main(OpenVino())
