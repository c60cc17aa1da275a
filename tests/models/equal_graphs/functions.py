"""Functions of elements."""

import numpy as np
import onnx

from .graph import inside_convs


def prelu(g, x=None):
    x, slope = x or g.values, next(w for w in g.weights.values() if w.ndim == 4 and w.shape[0] == 1 and w.shape[2] == 1 and w.size <= 64)
    if slope.size == 1:
        return g.LeakyRelu(x, alpha=float(slope.ravel()[0]))
    if slope.min() >= 0 and slope.max() <= 1:
        return g.Max(x, g.Mul(x, slope))
    return g.Add(g.Relu(x), g.Mul(slope, g.Min(x, np.float32(0))))


def mish(g, x=None):
    x = x or g.values
    power = g.Exp(g.Min(x, np.float32(20)))
    t = g.Mul(power, g.Add(power, np.float32(2)))
    return g.Mul(x, g.Div(t, g.Add(t, np.float32(2))))


def softplus(g):
    x = g.values
    return g.Add(g.Relu(x), g.Log(g.Add(g.Exp(g.Neg(g.Abs(x))), np.float32(1))))


def chain(*operators):
    def make(g):
        x = g.values
        for operator in operators:
            x = g.Mul(x, x) if operator == "square" else g.node(operator, [x])
        return x
    return make


def three_quarters(g):
    root = g.Sqrt(g.values)
    return g.Mul(root, g.Sqrt(root))


def mod_one(g):
    """Less what is in front of the point, of either sign."""
    x, zero = g.values, np.float32(0)
    return g.Sub(x, g.Add(g.Floor(g.Max(x, zero)), g.Ceil(g.Min(x, zero))))


def sign(g):
    x, zero = g.values, np.float32(0)
    return g.Sub(g.Cast(g.Greater(x, zero), to=onnx.TensorProto.FLOAT), g.Cast(g.Less(x, zero), to=onnx.TensorProto.FLOAT))


def elu(g, x=None):
    x = x or g.values
    return g.Sub(g.Add(g.Relu(x), g.Exp(g.Min(x, np.float32(0)))), np.float32(1))


def selu(g):
    x, alpha, gamma = g.values, 1.67326319217681884765625, 1.05070102214813232421875
    below = g.Mul(g.Sub(g.Exp(g.Min(x, np.float32(0))), np.float32(1)), np.float32(alpha * gamma))
    return g.Add(g.Mul(g.Relu(x), np.float32(gamma)), below)


def hard_swish(g, x=None):
    return g.HardSwish(x or g.values)


def scaled(g):
    """A Conv of each channel does both."""
    x = g.copy(1, g.copy(0, g.values))
    factor, offset = ([w for w in g.weights.values() if w.ndim == 3] or [w for w in g.weights.values() if w.ndim == 0])
    weight, bias = (np.broadcast_to(w.ravel(), [64]).astype(np.float32).copy() for w in (factor, offset))
    return g.copy(4, g.Conv(x, weight.reshape(64, 1, 1, 1), bias, kernel_shape=[1, 1], group=64))


def gelu_tanh(g):
    x = g.values
    u = g.Mul(g.Mul(x, g.Add(g.Mul(g.Mul(x, x), np.float32(0.044715)), np.float32(1))), np.float32(2 * (2 / np.pi) ** 0.5))
    return g.Mul(x, g.Sigmoid(u))


def number(g):
    """The only one of the model."""
    return next(w for w in g.weights.values() if w.size == 1).reshape(())


def mask(g):
    where = next(w for w in g.weights.values() if w.dtype == bool)
    node = g.model.graph.node[0]
    kept = where if node.input[1] == g.values else ~where
    return g.Add(g.values, np.where(kept, 0, -1e9).astype(np.float32))


EQUAL = {
    "prelu": prelu,
    "prelu_between": inside_convs(prelu, -1),
    "prelu_shared": prelu,
    "prelu_shared_between": inside_convs(prelu, -1),
    "mish": mish,
    "mish_between": inside_convs(mish, -1),
    "softplus": softplus,
    "pow_half": chain("Sqrt"),
    "pow_minus_one": chain("Reciprocal"),
    "pow_minus_half": chain("Sqrt", "Reciprocal"),
    "pow_four": chain("square", "square"),
    "pow_three_quarters": three_quarters,
    "pow_of_base": lambda g: g.Exp(g.Mul(g.values, np.float32(np.log(1.5)))),
    "pow_tensor": chain("square"),
    "pow_two": chain("square"),
    "pow_three": lambda g: g.Mul(g.Mul(g.values, g.values), g.values),
    "mod_one": mod_one,
    "where_positive": chain("Relu"),
    "sign": sign,
    "elu": elu,
    "elu_between": inside_convs(elu, -1),
    "selu": selu,
    "hardswish_pieces": hard_swish,
    "hardswish_pieces_between": inside_convs(hard_swish, -1),
    "number_scale_bias_between": scaled,
    "scale_bias_between": scaled,
    "gelu_tanh_pieces": gelu_tanh,
    "gelu_tanh": gelu_tanh,
    "div_power_of_two": lambda g: g.Mul(g.values, 1 / number(g)),
    "where_mask": mask,
    "min_constant": lambda g: g.Clip(g.values, "", number(g)),
}
