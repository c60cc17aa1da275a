#!/usr/bin/env python3
"""Times ONNX models on LiteRT (TensorFlow Lite) with XNNPACK: runner.py with another engine, in an environment that has both engines.

    .engines/litert/bin/python runtime/ort/litert_runner.py [--cpu N]        (make -f Makefile.ci engines)

onnx2tf reads the model; TensorFlow, which it needs, takes seconds to start. Inputs have the model's own extents; an output may have its
channels last, as onnx2tf decides, and is not turned back while it is timed. The requests are runner.py's; "optimise" changes nothing.
Results are compared with ONNX Runtime's (compared.py).
"""

import os
import pathlib
import sys
import tempfile

sys.dont_write_bytecode = True  # an installation's folders stay as they are

import packages  # noqa: E402

with packages.needed("ai_edge_litert", "onnx2tf", "onnxruntime"):
    import ai_edge_litert
    import compared
    import numpy as np
    import runner
    from ai_edge_litert.interpreter import Interpreter

    packages.folder("onnx2tf")

CONVERTER = [sys.executable, "-c", "import onnx2tf; onnx2tf.main()"]


class LiteRt(compared.Engine):
    """Full precision, on the CPU."""

    name, version = "litert", ai_edge_litert.__version__

    def load(self, path, threads, inputs, outputs):
        with tempfile.TemporaryDirectory(prefix="pet-litert-") as name:
            folder = pathlib.Path(name)
            copy, converted = folder / "model.onnx", folder / "model_float32.tflite"
            copy.symlink_to(os.path.abspath(path))  # the product has its name
            command = [*CONVERTER, "-i", copy, "-o", folder, "--non_verbose", "--not_use_onnxsim", "--copy_onnx_input_output_names_to_tflite"]
            if inputs:
                command += ["--keep_shape_absolutely_input_names", *(value.name for value in inputs), "--overwrite_input_shape",
                            *(f"{value.name}:{','.join(map(str, value.shape))}" for value in inputs if value.shape)]
            compared.convert("onnx2tf", command, path, converted)
            interpreter = Interpreter(str(converted), num_threads=threads)
        extents = {value.name: value.shape for value in inputs}
        for details in interpreter.get_input_details():
            interpreter.resize_tensor_input(details["index"], extents[details["name"]])  # onnx2tf leaves a batch open
        interpreter.allocate_tensors()
        session = Session(inputs, outputs, interpreter)
        feeds = runner.seeded_inputs(session)
        session.find_layouts(feeds, runner.run(runner.open_session(path), feeds, path))
        return session


class Session(compared.Session):
    def __init__(self, inputs, outputs, interpreter):
        super().__init__(inputs, outputs)
        self.interpreter = interpreter
        self.input_details = {details["name"]: details for details in interpreter.get_input_details()}
        self.output_details = interpreter.get_output_details()
        self.channels_last = [False] * len(outputs)

    def bind(self, feeds):
        for value in self.inputs:
            details = self.input_details[value.name]
            self.interpreter.set_tensor(details["index"], feeds[value.name].astype(details["dtype"]))

    def infer(self):
        self.interpreter.invoke()
        return [compared.Result(lambda position=position: self.output(position)) for position in range(len(self.outputs))]

    def output(self, position):
        """Of the last run, in the model's own order of dimensions and type."""
        array = self.interpreter.get_tensor(self.output_details[position]["index"])
        if self.channels_last[position]:
            array = np.moveaxis(array, -1, 1)
        return array.astype(runner.DTYPES[self.outputs[position].type])

    def find_layouts(self, feeds, expected):
        """What has its channels last is closer to what ONNX Runtime computes if they are not."""
        runner.run(self, feeds, "")
        for position, value in enumerate(self.outputs):
            found, wanted = self.output(position), expected[value.name]
            if found.ndim > 2:
                self.channels_last[position] = distance(np.moveaxis(found, -1, 1), wanted) < distance(found, wanted)


def distance(a, b):
    """Of the elements that are numbers; infinite where the extents differ."""
    return np.abs(np.nan_to_num(a.astype(np.float64) - b)).max(initial=0.0) if a.shape == b.shape else np.inf


if __name__ == "__main__":
    runner.main(LiteRt)
