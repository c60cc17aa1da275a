"""An exporter's graph without its weights, and with seeded ones.

`strip()` leaves out the data of what training decides: large float tensors, and large integers that stand for such. What has a
meaning stays: integers, masks, small tensors, what is mostly zeros, tables that nothing multiplies. Of these, `pack()` takes the
longer ones out of the text. `fill()` puts them back, and seeds the weights by their use: kernels and matrices by He, scales around
1, variances positive, biases small. So activations keep a sane range.
"""

import base64
import dataclasses
import zlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from graph import he, uniform

SMALL = 16  # elements; a tensor of so many keeps its data
FEW = 8  # distinct values, and it is a mask
LONG = 256  # elements; longer ones are kept beside the text
LARGE = 1 << 14  # elements of a table of unknown use; larger ones are left out
FLOATS = {TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE, TensorProto.BFLOAT16}
QUANTISED = {TensorProto.INT8, TensorProto.UINT8, TensorProto.INT32}

# What hands a weight on: (operator) -> it reads the weight there
PASSING = {"Transpose", "Reshape", "Unsqueeze", "Squeeze", "Cast", "Identity", "DequantizeLinear", "QuantizeLinear", "Slice", "Split",
           "Concat", "Expand", "Flatten"}
NORMS = {"LayerNormalization", "InstanceNormalization", "GroupNormalization", "RMSNormalization", "SimplifiedLayerNormalization",
         "SkipLayerNormalization"}
# An activation behind one of these has half of its values at 0, or is bounded: He's gain is right.
RECTIFIED = {"Relu", "Clip", "LeakyRelu", "PRelu", "MaxPool", "HardSwish", "Sigmoid", "Tanh", "ReduceMean", "GlobalAveragePool",
             "AveragePool", "Reshape", "Flatten", "Mul", "Gelu", "Swish"}


@dataclasses.dataclass(frozen=True)
class Use:
    node: onnx.NodeProto
    operand: int
    turned: bool = False  # a matrix that is transposed before it is used


def graphs(graph):
    """The graph and all subgraphs of its nodes."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            for inner in [attribute.g] * attribute.HasField("g") + list(attribute.graphs):
                yield from graphs(inner)


def tensors(model):
    """(name, tensor): the initializers, and the data of Constant and ConstantOfShape by the names of their outputs."""
    for graph in graphs(model.graph):
        for tensor in graph.initializer:
            yield tensor.name, tensor
        for node in graph.node:
            for attribute in node.attribute:
                if attribute.HasField("t"):
                    yield node.output[0], attribute.t


class Uses:
    def __init__(self, model):
        self.readers, self.writer = {}, {}
        for graph in graphs(model.graph):
            for node in graph.node:
                for operand, name in enumerate(node.input):
                    self.readers.setdefault(name, []).append((node, operand))
                for name in node.output:
                    self.writer[name] = node

    def of(self, name, turned=False, depth=0):
        """What a weight is for: its first use that computes. None: nothing reads it, or only what moves it."""
        for node, operand in self.readers.get(name, []):
            if node.op_type not in PASSING or (operand and node.op_type != "Concat"):
                return Use(node, operand, turned)
            permuted = node.op_type == "Transpose"
            found = depth < 8 and self.of(node.output[0], turned != permuted, depth + 1)
            if found:
                return found
        return None

    def gain(self, use):
        source = self.writer.get(use.node.input[0])
        while source is not None and source.op_type in ("DequantizeLinear", "QuantizeLinear", "Cast"):
            source = self.writer.get(source.input[0])
        return 1.0 if source is None or source.op_type in RECTIFIED else 0.7


def elements(tensor):
    return int(np.prod(tensor.dims))


def is_empty(tensor):
    """Its data were left out."""
    return elements(tensor) > 0 and not (tensor.raw_data or tensor.float_data or tensor.int32_data or tensor.int64_data
                                         or tensor.double_data or tensor.uint64_data or tensor.string_data)


# ---- strip

def is_weight(name, tensor, uses):
    if elements(tensor) <= SMALL:
        return False
    use = uses.of(name)
    if tensor.data_type in QUANTISED:
        return use is not None and use.node.op_type in ("Conv", "ConvTranspose", "Gemm", "MatMul")
    if tensor.data_type not in FLOATS or use is None or use.node.op_type in ("DequantizeLinear", "QuantizeLinear"):
        return False
    array = numpy_helper.to_array(tensor)
    if len(np.unique(array)) <= FEW or 2 * np.count_nonzero(array) < array.size:
        return False
    known = kind(use) is not None
    if not known:
        print(f"    {name}: {list(tensor.dims)} for operand {use.operand} of {use.node.op_type}")
    return known or elements(tensor) > LARGE


def clear(tensor):
    for field in ("raw_data", "float_data", "int32_data", "int64_data", "double_data", "uint64_data"):
        tensor.ClearField(field)


def strip(model, keep=False):
    """Leaves out the exporter's notes (source lines of the machine it ran on) and, unless `keep`, the weights' data; shapes stay."""
    del model.metadata_props[:]
    model.ClearField("doc_string")
    uses = Uses(model)
    for function in model.functions:
        for noted in [function, *function.node, *function.value_info]:
            noted.ClearField("metadata_props")
            noted.ClearField("doc_string")
    for graph in graphs(model.graph):
        for noted in [graph, *graph.node, *graph.value_info, *graph.input, *graph.output, *graph.initializer]:
            noted.ClearField("metadata_props")
            noted.ClearField("doc_string")
        for node in graph.node:
            for attribute in node.attribute:
                attribute.ClearField("doc_string")
    for name, tensor in tensors(model):
        tensor.ClearField("data_location")  # of external data, which was read
        if not keep and is_weight(name, tensor, uses):
            clear(tensor)


def pack(model):
    """{name: compressed data} of long tensors, which are left empty."""
    packed = {}
    for name, tensor in tensors(model):
        if elements(tensor) > LONG and not is_empty(tensor):
            data = np.ascontiguousarray(numpy_helper.to_array(tensor)).tobytes()
            packed[name] = base64.b64encode(zlib.compress(data, 9)).decode()
            clear(tensor)
    return packed


# ---- fill

def kind(use):
    """What the operand of an operator is: product, transposed, table, scale, mean, variance, bias, slope. None: not known."""
    op, operand = use.node.op_type, use.operand
    if op in ("Conv", "Gemm", "MatMul", "FusedMatMul", "Einsum"):
        return "bias" if operand == 2 else "product"
    if op == "ConvTranspose":
        return "bias" if operand == 2 else "transposed"
    if op in ("LSTM", "GRU", "RNN"):
        return {1: "recurrent", 2: "recurrent", 3: "bias"}.get(operand, "state")
    if op == "BatchNormalization":
        return ["", "scale", "bias", "mean", "variance"][operand]
    if op in NORMS:
        return ["table", "scale", "bias"][min(operand, 2)]
    return {"Gather": "table" if operand == 0 else None, "PRelu": "slope" if operand == 1 else None, "Mul": "scale", "Add": "bias",
            "Where": None, "Attention": "bias"}.get(op)


def fan_in(use, shape):
    """How many products one result sums."""
    op = use.node.op_type
    if op == "Conv":
        return int(np.prod(shape[1:]))
    if op == "ConvTranspose":
        strides = next((list(a.ints) for a in use.node.attribute if a.name == "strides"), [1])
        return max(1, shape[0] * int(np.prod(shape[2:])) // int(np.prod(strides)))
    if len(shape) < 2:
        return int(np.prod(shape))
    rows_first = op == "MatMul" or (op == "Gemm" and not any(a.name == "transB" and a.i for a in use.node.attribute))
    return shape[-2] if rows_first != use.turned else shape[-1]


RANGES = {"scale": (0.8, 1.2), "variance": (0.5, 1.5), "slope": (0.1, 0.3), "table": (-1.0, 1.0), "state": (-0.1, 0.1)}


def values(model_name, name, tensor, use, uses):
    shape = list(tensor.dims)
    what = kind(use) if use else None
    if tensor.data_type in QUANTISED:
        low, high = {TensorProto.INT8: (-127, 128), TensorProto.UINT8: (1, 256), TensorProto.INT32: (-5000, 5001)}[tensor.data_type]
        return np.floor(uniform(model_name, name, shape, low, high))
    if what in ("product", "transposed"):
        return he(model_name, name, shape, fan_in(use, shape), uses.gain(use))
    if what == "recurrent":
        return he(model_name, name, shape, shape[-1], 0.7)
    return uniform(model_name, name, shape, *RANGES.get(what, (-0.1, 0.1)))


def inside(tensor, array):
    """The values are in the model."""
    tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))


class DataFile:
    """External data: the values of tensors, one after the other, each at a page."""

    PAGE = 4096

    def __init__(self, path):
        self.name, self.file = path.name, open(path, "wb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()

    def put(self, tensor, array):
        """The values are in the file, and the tensor refers to them."""
        offset = -(-self.file.tell() // self.PAGE) * self.PAGE
        self.file.seek(offset)
        self.file.write(memoryview(np.ascontiguousarray(array)).cast("B"))
        tensor.data_location = TensorProto.EXTERNAL
        for key, value in {"location": self.name, "offset": offset, "length": array.nbytes}.items():
            tensor.external_data.add(key=key, value=str(value))


def fill(model, model_name, packed, keep=inside):
    """Gives every tensor that has no data those in `packed`, or seeded ones: a function of the two names and of its use.
    `keep` takes the seeded ones, one tensor at a time."""
    uses = Uses(model)
    for name, tensor in tensors(model):
        if name in packed and is_empty(tensor):
            tensor.raw_data = zlib.decompress(base64.b64decode(packed[name]))
        elif is_empty(tensor):
            filled = values(model_name, name, tensor, uses.of(name), uses)
            keep(tensor, filled.astype(helper.tensor_dtype_to_np_dtype(tensor.data_type), copy=False))
    return model
