#!/usr/bin/env python3
"""Regenerates exported/: the zoo's models (zoo.py), and operators (families.py), as exporters write them, weights left out.

    python tests/models/export.py [--out OUTDIR] [NAME...]        without a name: the zoo; needs requirements-export.txt
    python tests/models/export.py --families [NAME...]            the operators, and their variants

Only the graph is kept, in ONNX's text form, and beside it, as JSON, its long constants (masks, indices; zlib in base64):
`build.py` fills seeded weights in, so neither torch nor a trained checkpoint is needed to build, test or time. What the exporter
decides (names, order of attributes, opset, BatchNormalization folded into Conv, a mean over two axes in place of
GlobalAveragePool) stays as it decided it. The same versions give the same files, except that tf2onnx numbers its names, and
orders equal constants, each time in another way.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import traceback
import warnings

import numpy as np
import onnx
import onnx.printer

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))
import build  # noqa: E402
import families  # noqa: E402
import weights  # noqa: E402
import zoo  # noqa: E402

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")


# ---- untrained modules

def spread(array, random):
    """What an untrained layer leaves at one value (biases at 0, scales at 1) and training does not."""
    if array.size < 2 or array.min() != array.max() or not np.issubdtype(array.dtype, np.floating):
        return array
    value = array.flat[0]
    noise = random.uniform(-0.1, 0.1, array.shape) if value == 0 else value * random.uniform(0.8, 1.2, array.shape)
    return noise.astype(array.dtype)


def randomise(module):
    """An untrained BatchNormalization is the identity; folded, it would leave no bias, which a trained one does."""
    import torch
    random = np.random.default_rng(0)
    running = [buffer for name, buffer in module.named_buffers() if "running_" in name]
    with torch.no_grad():
        for tensor in [*module.parameters(), *running]:
            tensor.copy_(torch.from_numpy(np.ascontiguousarray(spread(tensor.numpy(), random))))


# ---- exporters

def torch_module(name, model):
    import torch
    import sources
    import sources_operators
    torch.manual_seed(0)
    maker = sources_operators.MAKERS[name] if name in families.MODELS else sources.MAKERS[name.split("-")[0].removesuffix("_b8")]
    module = maker().eval()
    randomise(module)
    return module.half() if model.precision == "fp16" and model.exporter == zoo.DYNAMO else module


def example(model):
    import torch
    return tuple(torch.from_numpy(a) for a in model.arrays(model.tries[0]).values())


def dynamic_axes(model):
    return {name: {axis: extent for axis, extent in enumerate(i.shape) if isinstance(extent, str)} for name, i in model.inputs.items()}


def export_dynamo(name, model, path):
    import sources
    import sources_operators
    import torch
    module, axes = torch_module(name, model), dynamic_axes(model)
    dims = {extent: torch.export.Dim(extent) for a in axes.values() for extent in a.values()}
    shapes = tuple({axis: dims[extent] for axis, extent in a.items()} for a in axes.values())
    if isinstance(module, (sources.First, sources_operators.Function)):
        shapes = (shapes,)  # its forward() has one parameter, *tensors
    torch.onnx.export(module, example(model), str(path), dynamo=True, external_data=False, input_names=list(model.inputs),
                      output_names=list(model.outputs) or None, dynamic_shapes=shapes if dims else None, verbose=False)


def export_script(name, model, path):
    import torch
    axes = {k: v for k, v in dynamic_axes(model).items() if v}
    torch.onnx.export(torch_module(name, model), example(model), str(path), dynamo=False, opset_version=model.opset,
                      input_names=list(model.inputs), output_names=list(model.outputs) or None, dynamic_axes=axes or None)


def export_keras(name, model, path):
    import keras
    import tensorflow as tf
    import tf2onnx
    import sources
    keras.utils.set_random_seed(0)
    module = sources.MAKERS["-".join(name.split("-")[:2])]()
    random = np.random.default_rng(0)
    module.set_weights([spread(w, random) for w in module.get_weights()])
    signature = [tf.TensorSpec([None if isinstance(e, str) else e for e in i.shape], i.dtype, n) for n, i in model.inputs.items()]
    function = tf.function(lambda *tensors: module(*tensors, training=False), input_signature=signature)
    tf2onnx.convert.from_function(function, signature, opset=model.opset, output_path=str(path))


EXPORTERS = {zoo.DYNAMO: export_dynamo, zoo.SCRIPT: export_script, zoo.KERAS: export_keras}


# ---- other precisions

def to_half(path):
    from onnxruntime.transformers.float16 import convert_float_to_float16
    from onnxruntime.transformers.onnx_model import OnnxModel
    model = OnnxModel(convert_float_to_float16(onnx.load(path), keep_io_types=True))
    model.topological_sort()  # the converter leaves the inputs' Casts at the end
    onnx.save(model.model, path)


def to_int8(name, model, path):
    from onnxruntime import quantization as q

    class Samples(q.CalibrationDataReader):
        def __init__(self):
            self.left = [model.arrays(model.tries[0], seed) for seed in range(2)]

        def get_next(self):
            return self.left.pop() if self.left else None

    prepared = path.with_name("prepared.onnx")
    q.shape_inference.quant_pre_process(str(path), str(prepared), skip_symbolic_shape=True)
    q.quantize_static(str(prepared), str(path), Samples(), quant_format=q.QuantFormat.QDQ, per_channel="script" in name,
                      activation_type=q.QuantType.QUInt8, weight_type=q.QuantType.QInt8)


# ---- text

TYPES = "float16|float|double|int64|int32|int8|uint8|bool"


def to_text(model):
    """Exact: parsed, it is the same model. One value a line."""
    text = onnx.printer.to_text(model)
    text = re.sub(rf", (?=(?:{TYPES})(?:\[| ))", ",\n    ", text)
    text = "\n".join(line.rstrip() for line in text.splitlines())
    if canonical(onnx.parser.parse_model(text)) != canonical(model):
        raise ValueError("its text is another model")
    return text + "\n"


def canonical(model):
    """Its bytes, with every tensor's data in the same field."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for name, tensor in weights.tensors(copy):
        if not weights.is_empty(tensor):
            tensor.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(tensor), tensor.name))
    drop_empty(copy)
    return copy.SerializeToString(deterministic=True)


def drop_empty(message):
    """An empty string, set, is as if it were not."""
    for field, value in message.ListFields():
        if value == "":
            message.ClearField(field.name)
        elif field.type == field.TYPE_MESSAGE:
            for each in [value] if hasattr(value, "ListFields") else value:
                drop_empty(each)


def export(name, model, out):
    with tempfile.TemporaryDirectory() as scratch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = pathlib.Path(scratch) / "model.onnx"
        EXPORTERS[model.exporter](name, model, path)
        if model.precision == "fp16" and model.exporter != zoo.DYNAMO:
            to_half(path)
        if model.precision == "int8":
            to_int8(name, model, path)
        onnx.checker.check_model(path, full_check=True)
        graph = onnx.load(path)
    weights.strip(graph, keep=name in families.MEANT)
    packed = weights.pack(graph)
    text = to_text(graph)
    (out / f"{name}.onnxtxt").write_text(text)
    beside = out / f"{name}.json"
    beside.unlink(missing_ok=True)
    if packed:
        beside.write_text(json.dumps(packed, indent=0) + "\n")
    print(f"{name}: {len(graph.graph.node)} nodes, {len(text)} bytes", flush=True)


def export_variants(name, out):
    """Those of a family's variants that its exporter has; the others are named."""
    for variant, models in families.VARIANTS.items():
        folder = out / variant
        folder.mkdir(exist_ok=True)
        why = ""
        for model in models(families.MODELS[name]):
            try:
                export(name, model, folder)
                why = ""
                break
            except Exception as error:  # an exporter's own, or the module's
                why = why or f"{type(error).__name__}: {str(error)[:300]}"
        if why:
            print(f"    no {variant}: {why}", flush=True)


def main():
    arguments = argparse.ArgumentParser(description="Regenerates the zoo's graphs.")
    arguments.add_argument("names", nargs="*", metavar="NAME")
    arguments.add_argument("--families", action="store_true", help="the operators, not the zoo")
    arguments.add_argument("--out", type=pathlib.Path, help="by default exported/, or of the operators exported/families/")
    options = arguments.parse_args()
    models = families.MODELS if options.families else zoo.MODELS
    options.out = options.out or (build.FAMILIES if options.families else build.EXPORTED)
    names, failed = options.names or list(models), []
    for name in names:
        try:
            if len(names) > 1 and models[name].exporter == zoo.KERAS:  # it lives badly beside torch
                subprocess.run([sys.executable, __file__, "--out", options.out, name], check=True)
            else:
                export(name, models[name], options.out)
                if options.families:
                    export_variants(name, options.out)
        except Exception as error:  # an exporter's own; the others are tried all the same
            traceback.print_exc()
            failed.append(f"{name}: {type(error).__name__}: {str(error)[:300]}")
    print("\n".join(f"failed: {f}" for f in failed), file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
