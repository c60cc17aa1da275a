#!/usr/bin/env python3
"""Times ONNX models on an NVIDIA GPU, with ONNX Runtime's CUDA or TensorRT provider: runner.py with another engine.

    .engines/cuda/bin/python runtime/ort/accelerator_runner.py [--cpu N] [--engine onnxruntime-cuda|onnxruntime-tensorrt]

Inputs lie on the device before a run is timed, and outputs stay there; a run ends when the device has ended. Nodes that
the provider does not take run on the next one: CUDA's, then the CPU's. The requests are runner.py's; "threads" are the
CPU's, "cold" overwrites the CPU's caches only. Results are compared with the CPU provider's (compared.py).
"""

import os
import sys

os.environ["NVIDIA_TF32_OVERRIDE"] = "0"  # float is float, as on our own engine; CUDA's libraries read it
sys.dont_write_bytecode = True  # an installation's folders stay as they are

import packages  # noqa: E402

with packages.needed("onnxruntime-gpu"):
    import compared
    import onnxruntime
    import runner


class Cuda(compared.Engine):
    name, version = "onnxruntime-cuda", onnxruntime.__version__
    chosen = ["CUDAExecutionProvider", "CPUExecutionProvider"]

    def __init__(self):
        if self.chosen[0] not in self.providers():
            sys.exit(f"accelerator_runner.py: this onnxruntime has no {self.chosen[0]}, but {', '.join(self.providers())} "
                     "(install onnxruntime-gpu, or use the device ort-cpu)")

    def providers(self):
        return onnxruntime.get_available_providers()

    def machine(self):
        return compared.gpu()

    def load(self, path, threads, inputs, outputs):
        session = runner.open_session(path, threads, providers=self.chosen)
        if session.get_providers()[0] != self.chosen[0]:  # its libraries are missing, or there is no device
            raise runner.Mistake(f"{path}: onnxruntime falls back to {session.get_providers()[0]}; "
                                 f"is there a device, and what {self.chosen[0]} needs?")
        return Session(inputs, outputs, session)


class TensorRt(Cuda):
    name = "onnxruntime-tensorrt"
    chosen = ["TensorrtExecutionProvider", *Cuda.chosen]


class Session(compared.Session):
    device = "cuda"

    def __init__(self, inputs, outputs, session):
        super().__init__(inputs, outputs)
        self.session = session

    def bind(self, feeds):
        self.binding = self.session.io_binding()
        for name, array in feeds.items():
            self.binding.bind_ortvalue_input(name, onnxruntime.OrtValue.ortvalue_from_numpy(array, self.device, 0))
        for value in self.outputs:
            self.binding.bind_output(value.name, self.device)

    def infer(self):
        self.session.run_with_iobinding(self.binding)
        return [compared.Result(value.numpy) for value in self.binding.get_outputs()]


if __name__ == "__main__":
    runner.main(Cuda, TensorRt)
