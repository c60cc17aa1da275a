#!/usr/bin/env python3
"""Regenerates exported/*.onnxtxt: torchvision models as PyTorch's own exporter writes them, weights left out.

    python tests/models/export.py [OUTDIR]        needs torch, torchvision, onnx, onnxscript

Only the graph is kept, in ONNX's text form: `build.py` fills seeded weights in, so neither torch nor a trained
checkpoint is needed to build, test or time. What the exporter decides (names, order of attributes, opset,
BatchNormalization folded into Conv, a mean over two axes in place of GlobalAveragePool) stays as it decided it.
"""

import pathlib
import re
import sys
import tempfile

import onnx
import onnx.printer
import torch
import torchvision

MODELS = {
    "resnet18": (torchvision.models.resnet18, (1, 3, 224, 224)),
    "resnet18_b8": (torchvision.models.resnet18, (8, 3, 224, 224)),
}


def randomise_batch_norms(module):
    """An untrained BatchNormalization is the identity; folded, it would leave no bias, which a trained one does."""
    for layer in module.modules():
        if isinstance(layer, torch.nn.BatchNorm2d):
            torch.nn.init.uniform_(layer.running_mean, -0.5, 0.5)
            torch.nn.init.uniform_(layer.running_var, 0.5, 1.5)


def strip(model):
    """Leaves out the weights' data and the exporter's notes (source lines of the machine it ran on); shapes stay."""
    graph = model.graph
    for noted in [model, graph, *graph.node, *graph.value_info, *graph.input, *graph.output, *graph.initializer]:
        noted.ClearField("metadata_props")
        noted.ClearField("doc_string")
    for tensor in graph.initializer:
        if tensor.data_type == onnx.TensorProto.FLOAT:
            tensor.ClearField("raw_data")
            tensor.ClearField("float_data")


def main(out):
    torch.manual_seed(0)
    for name, (make, shape) in MODELS.items():
        module = make(weights=None).eval()
        randomise_batch_norms(module)
        with tempfile.TemporaryDirectory() as scratch:
            path = pathlib.Path(scratch) / "model.onnx"
            torch.onnx.export(module, (torch.zeros(shape),), str(path), dynamo=True, external_data=False,
                              input_names=["input"], output_names=["output"])
            model = onnx.load(path)
        strip(model)
        one_per_line = re.sub(r", (?=(float|int64)\[)", ",\n    ", onnx.printer.to_text(model))
        (out / f"{name}.onnxtxt").write_text(one_per_line + "\n")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent / "exported")
