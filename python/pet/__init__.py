"""Rewrites ONNX models with proved rules, and runs them.

    import pet
    path, report = pet.apply("model.onnx")                  # writes model.pet.onnx
    model, report = pet.apply(onnx.load("model.onnx"))      # an onnx.ModelProto in, another one out
    outputs = pet.Session(path).run({"input": array})       # {name: numpy array}

apply() does what the command pet-apply does, by the same code: rewrites the model, checks the result by execution, and gives it
back. A failure gives nothing, and an exception that says in one line what is wrong, where, and what to do.
"""

import json
import os
import sys
from typing import Any, NamedTuple

from pet import _pet

__version__ = _pet.version
__all__ = ["Applied", "CheckError", "Error", "InternalError", "ModelError", "PackError", "RunnerError", "Session", "TensorType", "UsageError", "apply"]


class Error(Exception):
    """What apply() raises, by one of its subclasses. `code` is the exit code that pet-apply ends with."""

    code = 1


class InternalError(Error):
    """A bug, please report it; or out of memory."""


class UsageError(Error, ValueError):
    """A wrong option, an output that cannot be written, a missing checker or share folder."""

    code = 2


class ModelError(Error, ValueError):
    """The model is unreadable, not ONNX or inconsistent; or the rewritten one is too large for ONNX."""

    code = 3


class PackError(Error, ValueError):
    """A pack or a file of timings is unreadable or damaged."""

    code = 4


class CheckError(Error):
    """The rewritten model failed a check, or a rule is not proved."""

    code = 5


class RunnerError(Error):
    """With measure=True: the engine could not be started, or failed."""

    code = 6


_ERRORS = {kind.code: kind for kind in [InternalError, UsageError, ModelError, PackError, CheckError, RunnerError]}


class Applied(NamedTuple):
    """What apply() returns."""

    model: Any  #: the path of the file that was written, or the onnx.ModelProto
    report: dict  #: docs/command-line.md, The report


def _words(options):
    """(name, value) for each option as the command line has it: all=True, min_gain=1.1, only=["a", "b"]."""
    for name, value in options.items():
        name = name.replace("_", "-")
        values = value if isinstance(value, (list, tuple)) else [value]
        for each in values:
            if each is True:
                yield name, ""
            elif each is not None and each is not False:
                yield name, os.fspath(each) if isinstance(each, os.PathLike) else str(each)


def _subgraphs(graph):
    """The graph and those within its nodes."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            for inner in [attribute.g] * attribute.HasField("g") + list(attribute.graphs):
                yield from _subgraphs(inner)


def _tensors(model):
    """Those that may have their values in another file."""
    for inner in _subgraphs(model.graph):
        yield from inner.initializer
        for node in inner.node:
            for attribute in node.attribute:
                yield from [attribute.t] * attribute.HasField("t") + list(attribute.tensors)


def _bytes(model):
    """The model as one text; a ModelProto does not know in which folder its external data are."""
    for tensor in _tensors(model):
        if tensor.data_location == tensor.EXTERNAL:
            raise ModelError(f"'{tensor.name}' has its values in another file (pass the model's path instead)")
    try:
        return model.SerializeToString()
    except Exception as e:  # which one depends on the version of protobuf
        raise ModelError(f"the model cannot be written as one text: {' '.join(str(e).split())} (pass its path instead)") from e


def apply(model, pack=None, **options):
    """Rewrites a model with a pack of rules, by default the one that comes with pet.

    model: the path of an ONNX file, or an onnx.ModelProto of at most 2 GB without external data (else ModelError).
    pack: the path of a pack.
    options: those of pet-apply (docs/command-line.md), with underscores: all=True, min_gain=1.1, only=["conv/*"],
        output="faster.onnx" (of a path only), trust_pack=True. None and False leave an option out. With measure=True the
        engine is that of this interpreter, unless python="…" names another one.

    Returns (model, report): the path of the file that was written (with dry_run=True, none is: the path given), or the
    rewritten onnx.ModelProto; and the report as a dict. Raises pet.Error. Releases the interpreter's lock while it works.
    """
    if options.get("measure") and not options.get("python") and sys.executable:
        options["python"] = sys.executable
    words = list(_words(options))
    rules = os.fspath(pack) if pack is not None else ""
    if hasattr(model, "SerializeToString"):
        status, message, report, _, content = _pet.apply_to_bytes(_bytes(model), rules, words)
        result = type(model).FromString(content) if status == 0 else None
    else:
        path = os.fspath(model)
        status, message, report, result, _ = _pet.apply_to_file(path, rules, words)
        result = result or path
    if status != 0:
        raise _ERRORS[status](message)
    return Applied(result, json.loads(report))


# ONNX's numbers of element types, as numpy calls them.
_DTYPES = {1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64", 9: "bool", 10: "float16", 11: "float64",
           12: "uint32", 13: "uint64", 16: "bfloat16"}
_NUMBERS = {name: number for number, name in _DTYPES.items()}


class TensorType(NamedTuple):
    """What a model declares of an input or an output."""

    name: str
    dtype: str  #: numpy's name; "bfloat16" is ml_dtypes' (pip install ml_dtypes)
    shape: tuple  #: None: an extent that the model leaves open


class Session:
    """A model that runs on pet's own engine; needs numpy.

        session = pet.Session("model.onnx", threads=4)
        outputs = session.run({"input": array})

    model: the path of an ONNX file, or an onnx.ModelProto of at most 2 GB without external data (else ModelError).
    threads: of the engine.
    plans: for how many extents of its inputs the session keeps what it prepared, the model's weights included.
    winograd: convolutions may use Winograd's algorithm, which is faster and whose errors are larger.

    What the engine computes in float32 it computes; every other node runs by itself. Raises pet.ModelError where neither does. Several
    sessions may run at the same time; calls of run() on one take turns. Both release the interpreter's lock.
    """

    def __init__(self, model, *, threads=1, plans=4, winograd=True):
        if hasattr(model, "SerializeToString"):
            self._session = _pet.open_bytes(_bytes(model), threads, plans, winograd)
        else:
            self._session = _pet.open_file(os.fspath(model), threads, plans, winograd)
        status, message = _pet.state(self._session)
        if status != 0:
            raise _ERRORS[status](message)
        self.inputs = [self._declared(*port) for port in _pet.inputs(self._session)]  #: TensorTypes
        self.outputs = [self._declared(*port) for port in _pet.outputs(self._session)]

    @staticmethod
    def _declared(name, number, extents):
        return TensorType(name, _DTYPES.get(number, "unknown"), tuple(None if extent < 0 else extent for extent in extents))

    @property
    def arena_bytes(self):
        """Bytes of the intermediate values of all plans that are kept; weights come on top."""
        return _pet.arena_bytes(self._session)

    def run(self, feeds):
        """{name: array} for each output, from {name: array} for each input. Arrays keep their dtype: what the model takes as float32
        has to be float32. Raises pet.UsageError for an input that is missing, unknown, or of another type or shape."""
        import numpy

        tensors = []
        for name, value in feeds.items():
            array = numpy.asarray(value)
            if array.dtype.name not in _NUMBERS:
                raise UsageError(f"input '{name}': there are no models with inputs of {array.dtype}")
            if not array.dtype.isnative:
                array = array.astype(array.dtype.newbyteorder("="))
            tensors.append((name, _NUMBERS[array.dtype.name], list(array.shape), array.tobytes()))
        status, message, values = _pet.run(self._session, tensors)
        if status != 0:
            raise _ERRORS[status](message)
        return {port.name: self._array(numpy, *value) for port, value in zip(self.outputs, values)}

    @staticmethod
    def _array(numpy, number, extents, content):
        if _DTYPES[number] == "bfloat16":
            import ml_dtypes

            dtype = ml_dtypes.bfloat16
        else:
            dtype = _DTYPES[number]
        return numpy.frombuffer(bytearray(content), dtype).reshape(extents)
