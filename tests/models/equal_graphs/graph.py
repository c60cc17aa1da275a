"""A graph being written by hand, from the weights of a model that computes the same."""

import numpy as np
from onnx import helper, numpy_helper


class Graph:
    """A graph with the inputs and outputs of a model. g.Op(inputs..., attributes) adds a node and returns its value; arrays become constants."""

    def __init__(self, model):
        self.model, self.nodes, self.constants = model, [], []
        self.inputs = [value.name for value in model.graph.input]
        self.weights = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
        self.values = self.inputs[0]

    def extents(self):
        """Of the first input."""
        return [d.dim_value for d in self.model.graph.input[0].type.tensor_type.shape.dim]

    def result(self):
        """Extents of the output."""
        return [d.dim_value for d in self.model.graph.output[0].type.tensor_type.shape.dim]

    def name(self, value):
        if isinstance(value, str):
            return value
        array = np.asarray(value)
        if array.dtype == np.float64:
            array = array.astype(np.float32)
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), f"c{len(self.constants)}"))
        return self.constants[-1].name

    def node(self, operator, operands, **attributes):
        made = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, [self.name(o) for o in operands], [made], **attributes))
        return made

    def __getattr__(self, operator):
        if not operator[0].isupper():
            raise AttributeError(operator)
        return lambda *operands, **attributes: self.node(operator, operands, **attributes)

    def reshape(self, x, *extents):
        return self.Reshape(x, np.array(extents, np.int64))

    def slice(self, x, axis, begin, end, step=1):
        return self.Slice(x, *(np.array([number], np.int64) for number in (begin, end, axis, step)))

    def transpose(self, x, *perm):
        return self.Transpose(x, perm=perm)

    def copy(self, index, x):
        """The model's own node, of another first operand."""
        node = self.model.graph.node[index]
        attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        return self.node(node.op_type, [x, *(self.weights[name] for name in node.input[1:])], **attributes)

    def written(self, output):
        """The model: `output` gets the name that the original's has."""
        wanted = self.model.graph.output[0].name
        for node in self.nodes:
            for names in (node.input, node.output):
                names[:] = [wanted if name == output else name for name in names]
        graph = helper.make_graph(self.nodes, "equal", self.model.graph.input, self.model.graph.output, self.constants)
        return helper.make_model(graph, opset_imports=self.model.opset_import, ir_version=self.model.ir_version)


def conv_weights(g, node=0):
    """Of a Conv or ConvTranspose, by its place among them: its weight, and its bias or None."""
    conv = [n for n in g.model.graph.node if n.op_type in ("Conv", "ConvTranspose")][node]
    return g.weights[conv.input[1]], g.weights[conv.input[2]] if len(conv.input) > 2 else None


def attribute(g, name, node=0):
    return next(helper.get_attribute_value(a) for a in g.model.graph.node[node].attribute if a.name == name)


def plus(g, x, bias, *shape):
    return x if bias is None else g.Add(x, bias.reshape(shape))


def inside_convs(make, back):
    """Between the model's own Convs, the last of which is node `back`."""
    return lambda g: g.copy(back, make(g, g.copy(0, g.values)))
