#!/usr/bin/env python3
"""Times ONNX models on PyTorch, on the CPU eagerly or compiled, or on an NVIDIA GPU: runner.py with another engine, in an environment
that has both.

    .engines/torch/bin/python runtime/ort/torch_runner.py [--cpu N] [--engine torch|torch-inductor|torch-cuda]   (make -f Makefile.ci engines)

onnx2torch makes a module of the model, operator by operator. The requests are runner.py's; "optimise" changes nothing.
Results are compared with ONNX Runtime's (compared.py).
"""

import os
import shutil
import sys

os.environ["NVIDIA_TF32_OVERRIDE"] = "0"  # float is float, as on our own engine
sys.dont_write_bytecode = True  # an installation's folders stay as they are

import packages  # noqa: E402

with packages.needed("torch", "onnx2torch", "onnxruntime"):
    import compared
    import onnx2torch
    import runner
    import torch


class Torch(compared.Engine):
    """Eager: one kernel after another."""

    name, version = "torch", torch.__version__

    def module(self, path):
        return onnx2torch.convert(path).eval()

    def load(self, path, threads, inputs, outputs):
        torch.set_num_threads(threads)
        return Session(inputs, outputs, self.module(path))


class Inductor(Torch):
    """Compiled for the extents at hand when it first runs; what is compiled stays in PyTorch's own cache."""

    name = "torch-inductor"

    def __init__(self):
        if not shutil.which("g++") and not shutil.which("clang++"):
            sys.exit("torch_runner.py: torch-inductor needs a C++ compiler (install g++, or use the device torch-cpu)")

    def module(self, path):
        return torch.compile(super().module(path), dynamic=False)


class Cuda(Torch):
    """Eager on a GPU, in float throughout."""

    name = "torch-cuda"

    def __init__(self):
        if not torch.cuda.is_available():
            sys.exit("torch_runner.py: torch finds no GPU (use the device torch-cpu)")

    def machine(self):
        return compared.gpu()

    def module(self, path):
        return super().module(path).cuda()

    def load(self, path, threads, inputs, outputs):
        return CudaSession(inputs, outputs, self.module(path))


class Session(compared.Session):
    def __init__(self, inputs, outputs, module):
        super().__init__(inputs, outputs)
        self.module = module

    def bind(self, feeds):
        self.tensors = [torch.from_numpy(feeds[value.name]) for value in self.inputs]

    def infer(self):
        """A result that is a view of another layout is copied: what leaves an engine lies in the plain one."""
        with torch.inference_mode():
            results = self.module(*self.tensors)
            results = [results] if isinstance(results, torch.Tensor) else results
            return [result.contiguous().numpy() for result in results]


class CudaSession(Session):
    """Inputs lie on the GPU before a run is timed, and outputs stay there; the time is the GPU's, as of our own engine."""

    def bind(self, feeds):
        super().bind(feeds)
        self.tensors = [tensor.cuda() for tensor in self.tensors]

    def infer(self):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        with torch.inference_mode():
            begin.record()
            results = self.module(*self.tensors)
            end.record()
            end.synchronize()
            self.elapsed = begin.elapsed_time(end) / 1e3
            results = [results] if isinstance(results, torch.Tensor) else results
            return [compared.Result(lambda result=result: result.contiguous().cpu().numpy()) for result in results]


if __name__ == "__main__":
    runner.main(Torch, Inductor, Cuda)
