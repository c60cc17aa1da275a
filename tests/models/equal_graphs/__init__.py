"""To each operator of families.py an equal graph by hand, that ONNX Runtime runs faster: what a rule is measured against on the same machine.

    python -m equal_graphs FOLDER [NAME...]      (in tests/models) writes NAME.onnx and NAME.equal.onnx, and says how far their outputs differ

The forms are those that were known when the list was made ("gain" of a family says how many times as fast they were on another machine). They
are the other side of a comparison only: nothing that rewrites models reads them.
"""

from . import broadcasting, convolutions, functions, linear, movements, products, reductions
from .graph import Graph

EQUAL = {name: made for part in (linear, broadcasting, reductions, convolutions, movements, products, functions) for name, made in part.EQUAL.items()}


def equal(name, model):
    """The model of a family, written otherwise."""
    graph = Graph(model)
    return graph.written(EQUAL[name](graph))
