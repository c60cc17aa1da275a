"""Rewrites ONNX models with proved rules.

    import pet
    path, report = pet.apply("model.onnx")                  # writes model.pet.onnx
    model, report = pet.apply(onnx.load("model.onnx"))      # an onnx.ModelProto in, another one out

It does what the command pet-apply does, by the same code: rewrites the model, checks the result by execution, and gives it
back. A failure gives nothing, and an exception that says in one line what is wrong, where, and what to do.
"""

import json
import os
import sys
from typing import Any, NamedTuple

from pet import _pet

__version__ = _pet.version
__all__ = ["Applied", "CheckError", "Error", "InternalError", "ModelError", "PackError", "RunnerError", "UsageError", "apply"]


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
