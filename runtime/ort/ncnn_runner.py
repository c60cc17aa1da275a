#!/usr/bin/env python3
"""Times ONNX models on ncnn: runner.py with another engine, in an environment that has both engines.

    .engines/ncnn/bin/python runtime/ort/ncnn_runner.py [--cpu N]        (make -f Makefile.ci engines)

pnnx reads the model, and decides which dimension of a value is ncnn's batch. The requests are runner.py's; "optimise" changes
nothing. Results are compared with ONNX Runtime's (compared.py). Values are of float alone.
"""

import os
import pathlib
import re
import sys
import tempfile

sys.dont_write_bytecode = True  # an installation's folders stay as they are

import packages  # noqa: E402

with packages.needed("ncnn", "pnnx", "onnxruntime"):
    import compared
    import ncnn
    import runner

    PNNX = os.path.join(packages.folder("pnnx"), "pnnx")  # a program; only its package in Python needs PyTorch

# The program that pnnx writes to show how its model is run names the batch of each input and output.
BATCHES = [re.compile(r"Mat\(in(\d+)\.numpy\(\), batch_index=(\d+)\)"), re.compile(r"out(\d+)\.numpy\(batch_index=(\d+)\)")]
HALVES = ["use_fp16_packed", "use_fp16_storage", "use_fp16_arithmetic", "use_bf16_packed", "use_bf16_storage"]


class Ncnn(compared.Engine):
    """Full precision, on the CPU."""

    name, version = "ncnn", ncnn.__version__

    def load(self, path, threads, inputs, outputs):
        for value in inputs:
            if value.type != "tensor(float)":
                raise RuntimeError(f"input {value.name} is {value.type}, and ncnn computes in float alone")
        with tempfile.TemporaryDirectory(prefix="pet-ncnn-") as name:
            folder = pathlib.Path(name)
            copy, param = folder / "model.onnx", folder / "model.ncnn.param"
            copy.symlink_to(os.path.abspath(path))  # what pnnx writes lies beside the model
            shapes = ",".join(f"[{','.join(map(str, value.shape))}]" for value in inputs)
            compared.convert("pnnx", [PNNX, copy, "fp16=0", f"inputshape={shapes}"], path, param)
            shown = (folder / "model_ncnn.py").read_text()
            batches = [{int(position): int(batch) for position, batch in pattern.findall(shown)} for pattern in BATCHES]
            net = ncnn.Net()
            for option in [*HALVES, "use_vulkan_compute"]:
                setattr(net.opt, option, False)
            net.opt.num_threads = threads
            if net.load_param(str(param)) or net.load_model(str(folder / "model.ncnn.bin")):
                raise RuntimeError("pnnx makes operators of it that ncnn has not")
        return Session(inputs, outputs, net, *batches)


class Session(compared.Session):
    def __init__(self, inputs, outputs, net, input_batches, output_batches):
        super().__init__(inputs, outputs)
        self.net, self.input_batches, self.output_batches = net, input_batches, output_batches

    def bind(self, feeds):
        self.values = [ncnn.Mat(feeds[value.name], batch_index=self.input_batches[position]).clone()
                       for position, value in enumerate(self.inputs)]

    def infer(self):
        with self.net.create_extractor() as extractor:
            for position, value in enumerate(self.values):
                extractor.input(f"in{position}", value)
            return [self.extracted(extractor, position) for position in range(len(self.outputs))]

    def extracted(self, extractor, position):
        failed, result = extractor.extract(f"out{position}")
        if failed:
            raise RuntimeError(f"ncnn cannot compute output {self.outputs[position].name}")
        return compared.Result(lambda: result.numpy(batch_index=self.output_batches[position]))


if __name__ == "__main__":
    runner.main(Ncnn)
