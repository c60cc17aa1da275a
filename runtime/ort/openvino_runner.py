#!/usr/bin/env python3
"""Times ONNX models on OpenVINO's CPU device: runner.py with another engine, in an environment that has both engines.

    .engines/openvino/bin/python runtime/ort/openvino_runner.py [--cpu N]        (make -f Makefile.ci engines)

The requests are runner.py's; "optimise" changes nothing. Results are compared with ONNX Runtime's (compared.py).
"""

import sys

sys.dont_write_bytecode = True  # an installation's folders stay as they are

import packages  # noqa: E402

with packages.needed("openvino", "onnxruntime"):
    import compared
    import openvino
    import runner


class OpenVino(compared.Engine):
    """Full precision, one stream, the shortest time of one request."""

    name, version = "openvino", openvino.__version__.partition("-")[0]  # of the release, without its build

    def __init__(self):
        self.core = openvino.Core()

    def load(self, path, threads, inputs, outputs):
        config = {"INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": "1",
                  "INFERENCE_NUM_THREADS": str(threads), "ENABLE_CPU_PINNING": "NO"}
        model = self.core.read_model(path)
        if model.is_dynamic():
            model.reshape({value.name: value.shape for value in inputs})
        return Session(inputs, outputs, model, self.core.compile_model(model, "CPU", config))


class Session(compared.Session):
    def __init__(self, inputs, outputs, model, compiled):
        super().__init__(inputs, outputs)
        self.input_names = [port.get_any_name() for port in model.inputs]
        positions = {port.get_any_name(): position for position, port in enumerate(model.outputs)}
        self.positions = [positions[value.name] for value in outputs]
        self.request = compiled.create_infer_request()

    def bind(self, feeds):
        for position, name in enumerate(self.input_names):
            self.request.set_input_tensor(position, openvino.Tensor(feeds[name], shared_memory=True))

    def infer(self):
        self.request.infer()
        return [self.request.get_output_tensor(position).data for position in self.positions]


if __name__ == "__main__":
    runner.main(OpenVino)
