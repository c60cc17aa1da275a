"""Which nodes of a model pet-apply leaves out of its view, and why: an estimate, from what `pet-apply --types` infers.

pet-apply does not say it itself. As it does (applier/read/normalise.h), nodes are in whose operator it reads, of float or double,
with known extents; integers must be known, as numbers or by the extents of inputs. Attributes are not looked at.
"""

import collections
import dataclasses
import json
import subprocess

import onnx

FLOATS = {"float", "double"}
CONTROL = {"If", "Loop", "Scan"}
# The operators that pet reads (applier/operators/).
KNOWN = set("""
    Add AveragePool BatchNormalization Cast Clip Concat Conv ConvTranspose DepthToSpace Div Dropout Erf Exp Expand Flatten
    Gather Gelu Gemm GlobalAveragePool GlobalMaxPool HardSigmoid HardSwish Identity InstanceNormalization
    LayerNormalization LeakyRelu MatMul MaxPool Mul Neg PRelu Pad Pow Reciprocal ReduceMax ReduceMean ReduceSum Relu
    Reshape Resize Sigmoid Slice Softmax Softplus SpaceToDepth Split Sqrt Squeeze Sub Sum Tanh Tile Transpose Unsqueeze
    Upsample Where
""".split())


@dataclasses.dataclass
class Opaque:
    count: int  # of all nodes
    opset: int
    reasons: collections.Counter


class Reading:
    def __init__(self, model, types):
        self.types = types
        self.constants = {tensor.name for tensor in model.graph.initializer}

    def is_known(self, name):
        """A constant, or integers that the extents of inputs decide."""
        entries = self.types.get(name, {}).get("entries")
        return name in self.constants or (entries is not None and None not in entries)

    def reason(self, node):
        """Why a node stays out; empty if it does not, or is folded."""
        inputs = [name for name in node.input if name]
        if node.op_type == "Constant" or all(map(self.is_known, node.output)) or (inputs and self.constants.issuperset(inputs)):
            self.constants.update(node.output)
            return ""
        if node.domain not in ("", "ai.onnx"):
            return f"domain {node.domain}: {node.op_type}"
        if node.op_type in CONTROL:
            return f"control flow: {node.op_type}"
        elements = {self.types.get(name, {}).get("element", "") for name in [node.output[0], *inputs[:1]]}
        if elements & {"float16", "bfloat16"}:
            return "half precision"
        if not elements & FLOATS:
            return "integers"
        if node.op_type not in KNOWN:
            return f"unknown: {node.op_type}"
        return next(filter(None, map(self.missing, inputs)), "")

    def missing(self, name):
        """Why an operand is not there; empty if it is."""
        found = self.types.get(name, {})
        if self.is_known(name):
            return ""
        if found.get("element") not in FLOATS:
            return "integers or conditions that are computed"
        return "" if "extents" in found else "extents that are not known"


def nodes(tools, path):
    """Of the model in a file; raises OSError where pet-apply does not read it."""
    done = subprocess.run([str(tools / "pet-apply"), "--types", str(path)], capture_output=True, text=True)
    if done.returncode:
        raise OSError(done.stderr.strip())
    model = onnx.load(path)
    reading = Reading(model, json.loads(done.stdout)["values"])
    reasons = collections.Counter(why for why in map(reading.reason, model.graph.node) if why)
    return Opaque(len(model.graph.node), model.opset_import[0].version, reasons)
