"""Which nodes of a model pet-apply leaves out of its view, and why: an estimate from the file.

pet-apply does not say it itself. As it does (applier/read/normalise.h), integers of constants are folded, extents are carried from
operator to operator, and behind a node that is left out they are those that the file declares. Attributes are not looked at,
nor values. What ONNX's own shape inference finds tells the reasons apart.
"""

import collections
import dataclasses

import onnx
from onnx import TensorProto

FLOATS = (TensorProto.FLOAT, TensorProto.DOUBLE)
CONTROL = {"If", "Loop", "Scan"}
INTEGRAL = {"Shape", "Size", "NonZero", "Range", "ConstantOfShape"}  # whatever they read
FOLDED = {"Identity", "Cast", "Gather", "Concat", "Unsqueeze", "Squeeze", "Reshape", "Slice", "Add", "Sub", "Mul", "Div"}

# The operators that pet reads (applier/operators/).
KNOWN = set("""
    Add AveragePool BatchNormalization Clip Concat Conv ConvTranspose DepthToSpace Div Dropout Erf Exp Expand Flatten
    Gather Gelu Gemm GlobalAveragePool GlobalMaxPool HardSigmoid HardSwish Identity InstanceNormalization
    LayerNormalization LeakyRelu MatMul MaxPool Mul Neg PRelu Pad Reciprocal ReduceMax ReduceMean ReduceSum Relu Reshape
    Resize Sigmoid Slice Softmax Softplus SpaceToDepth Split Sqrt Squeeze Sub Sum Tanh Tile Transpose Unsqueeze Upsample
    Where
""".split())


@dataclasses.dataclass
class Opaque:
    count: int  # of all nodes
    opset: int
    reasons: collections.Counter


def extents(type_):
    """Of a tensor whose extents are all numbers; else None."""
    shape = type_.tensor_type
    if not shape.HasField("shape") or not all(d.HasField("dim_value") for d in shape.shape.dim):
        return None
    return [d.dim_value for d in shape.shape.dim]


def types_of(model):
    graph = model.graph
    return {v.name: v.type for v in [*graph.input, *graph.value_info, *graph.output] if v.type.HasField("tensor_type")}


class Reading:
    def __init__(self, model):
        self.declared = types_of(model)
        try:
            self.inferred = types_of(onnx.shape_inference.infer_shapes(model, data_prop=True))
        except (onnx.shape_inference.InferenceError, ValueError):
            self.inferred = self.declared
        self.constants = {tensor.name: tensor.data_type for tensor in model.graph.initializer}
        self.values = set()  # float values of known extents
        for name in [i.name for i in model.graph.input]:
            self.declare(name)

    def declare(self, name):
        type_ = self.declared.get(name)
        if type_ is not None and type_.tensor_type.elem_type in FLOATS and extents(type_) is not None:
            self.values.add(name)

    def element(self, name):
        type_ = self.inferred.get(name)
        return type_.tensor_type.elem_type if type_ is not None else self.constants.get(name)

    def rank(self, name):
        type_ = self.inferred.get(name)
        return len(type_.tensor_type.shape.dim) if type_ is not None and type_.tensor_type.HasField("shape") else 0

    def folds(self, node):
        if node.op_type == "Constant":
            return True
        inputs = [name for name in node.input if name]
        if node.op_type in ("Shape", "Size"):
            return inputs[0] in self.values or extents_known(self.declared.get(inputs[0]))
        constant = bool(inputs) and all(name in self.constants for name in inputs)
        return constant and node.op_type in FOLDED and self.element(node.output[0]) not in FLOATS and self.rank(node.output[0]) < 2

    def reason(self, node):
        """Why a node stays out; empty if it does not."""
        if node.domain not in ("", "ai.onnx"):
            return f"domain {node.domain}: {node.op_type}"
        if node.op_type in CONTROL:
            return f"control flow: {node.op_type}"
        elements = {self.element(name) for name in [*node.output[:1], *node.input[:1]] if name}
        if elements & {TensorProto.FLOAT16, TensorProto.BFLOAT16}:
            return "half precision"
        floats = bool(elements & {*FLOATS, None})
        if not floats or node.op_type in INTEGRAL:
            return "integers"
        if node.op_type not in KNOWN:
            return f"unknown: {node.op_type}"
        return next(filter(None, map(self.missing, node.input)), "")

    def missing(self, name):
        """Why the operand is not there; empty if it is."""
        if not name or name in self.values or name in self.constants:
            return ""
        if self.element(name) not in {*FLOATS, None}:
            return "integers that are computed" if self.constant_extents(name) else "integers that depend on dynamic extents"
        return "extents: ONNX infers them" if extents_known(self.inferred.get(name)) else "extents: dynamic"

    def constant_extents(self, name):
        return extents_known(self.inferred.get(name))

    def enter(self, node):
        if self.folds(node):
            self.constants.update({name: self.element(name) for name in node.output})
            return ""
        why = self.reason(node)
        if why:
            for name in node.output:
                self.declare(name)
        else:
            self.values.update(node.output)
        return why


def extents_known(type_):
    return type_ is not None and extents(type_) is not None


def nodes(path):
    model = onnx.load(path)
    reading = Reading(model)
    reasons = collections.Counter(why for why in map(reading.enter, model.graph.node) if why)
    return Opaque(len(model.graph.node), model.opset_import[0].version, reasons)
