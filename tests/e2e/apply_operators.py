"""Every ONNX operator that pet reads, in every form that its opsets give it: pet's evaluation of the node must agree with ONNX
Runtime's, and so must ONNX Runtime's run of the node that pet writes in its place.

Each case is written as a model whose inputs have values (initializers) and whose results stand in it as `expected/NAME`;
the unit test ApplierCases reads them, evaluates, and writes CASE.anew.onnx beside.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

CASES = []
LEAST = 270  # forms that are compared
RANDOM = np.random.default_rng(7)


def floats(*shape):
    return RANDOM.uniform(-2, 2, shape).astype(np.float32)


def ints(*values):
    return np.array(values, np.int64)


def case(op, operands, opset=17, outputs=1, **attributes):
    """`operands`: arrays; float ones are the node's inputs, others constants; None is left out."""
    CASES.append((op, operands, opset, outputs, attributes))


def conv_cases():
    x = floats(2, 4, 7, 8)
    for options in [
        dict(), dict(pads=[1, 2, 0, 1]), dict(strides=[2, 3], pads=[1, 1, 1, 1]), dict(dilations=[2, 1], pads=[2, 1, 2, 1]),
        dict(auto_pad="SAME_UPPER", strides=[2, 2]), dict(auto_pad="SAME_LOWER", strides=[2, 2]), dict(auto_pad="VALID"),
    ]:
        case("Conv", [x, floats(6, 4, 3, 2), floats(6)], **options)
        case("Conv", [x, floats(6, 2, 3, 2)], group=2, **options)
    case("Conv", [floats(1, 3, 9), floats(2, 3, 4), floats(2)], pads=[1, 2])
    case("Conv", [floats(1, 2, 4, 5, 6), floats(3, 2, 2, 3, 2)], pads=[1, 1, 0, 0, 1, 1])
    for options in [
        dict(), dict(strides=[2, 3], output_padding=[1, 2]), dict(pads=[1, 0, 2, 1], strides=[2, 2]), dict(dilations=[2, 1]),
        dict(output_shape=[13, 15], strides=[2, 2], dilations=[1, 2]), dict(auto_pad="VALID", strides=[2, 1]),
    ]:
        case("ConvTranspose", [x, floats(4, 6, 3, 2), floats(6)], **options)
        case("ConvTranspose", [x, floats(4, 3, 3, 2)], group=2, **options)


    for auto in ["SAME_UPPER", "SAME_LOWER"]:
        case("ConvTranspose", [x, floats(4, 6, 4, 2)], auto_pad=auto, strides=[2, 2])
    case("Col2Im", [floats(2, 12, 16), ints(5, 6), ints(2, 3)], opset=18)
    case("Col2Im", [floats(2, 12, 9), ints(7, 6), ints(2, 3)], opset=18, strides=[2, 1], dilations=[2, 2], pads=[1, 0, 0, 1])


def matmul_cases():
    for a, b in [((3, 4), (4, 5)), ((2, 3, 4), (4, 5)), ((2, 1, 3, 4), (5, 4, 2)), ((4,), (4, 5)), ((3, 4), (4,)), ((4,), (4,)),
                 ((2, 3, 4), (4,)), ((4,), (2, 4, 3))]:
        case("MatMul", [floats(*a), floats(*b)])
    for options in [dict(), dict(transA=1, alpha=0.5), dict(transB=1, beta=-2.0), dict(transA=1, transB=1)]:
        a = floats(*((4, 3) if options.get("transA") else (3, 4)))
        b = floats(*((5, 4) if options.get("transB") else (4, 5)))
        for c in [(5,), (3, 1), (), (3, 5)]:
            case("Gemm", [a, b, floats(*c)], **options)
        case("Gemm", [a, b], **options)


def layout_cases():
    x = floats(2, 3, 4, 5)
    for shape in [(6, 20), (0, -1), (2, 3, 20), (120,), (2, 12, 5), (4, 3, 2, 5), (8, 15), (0, 0, 5, 4), (1, 2, 1, 60)]:
        case("Reshape", [x, ints(*shape)])
    case("Reshape", [x, ints(2, 60)], opset=14, allowzero=1)
    for axis in [0, 1, 2, 4, -1]:
        case("Flatten", [x], axis=axis)
    y = floats(1, 3, 1, 5)
    case("Squeeze", [y, ints(0, -2)])
    case("Squeeze", [y])
    case("Squeeze", [y], opset=11, axes=[2])
    case("Unsqueeze", [x, ints(0, -1, 2)])
    case("Unsqueeze", [x], opset=11, axes=[1, 4])
    for perm in [[0, 2, 3, 1], [3, 2, 1, 0], [0, 1, 2, 3]]:
        case("Transpose", [x], perm=perm)
    case("Transpose", [x])
    for axis in [0, 1, -1]:
        case("Concat", [x, x, x], axis=axis)
    case("Concat", [x], axis=2)
    case("Split", [x, ints(1, 3)], outputs=2, axis=2)
    case("Split", [x], opset=11, outputs=2, axis=2, split=[3, 1])
    case("Split", [x], opset=13, outputs=2, axis=0)
    case("Split", [x], opset=18, outputs=2, axis=3, num_outputs=2)
    case("Slice", [x], opset=9, starts=[1, -3], ends=[2, 100], axes=[0, 3])
    case("Slice", [x], opset=9, starts=[0, 1], ends=[1, -1])
    case("Slice", [x, ints(1, -4), ints(9, -1), ints(1, -1)])
    case("Slice", [x, ints(0, 1), ints(4, 5), ints(2, 3), ints(2, 3)])
    case("Slice", [x, ints(1, 1), ints(2, 2)], opset=10)
    for mode in ["constant", "reflect", "edge"]:
        case("Pad", [x, ints(0, 0, 1, 2, 0, 0, 2, 1)], mode=mode)
        case("Pad", [x], opset=9, pads=[0, 0, 3, 0, 0, 0, 0, 4], mode=mode)
        case("Pad", [x, ints(1, 2, 2, 1), None, ints(-1, 2)], opset=18, mode=mode)
    case("Pad", [x, ints(0, 0, -1, 2, 0, 0, 2, -1), np.float32(1.5)])
    case("Pad", [x], opset=9, pads=[1, 0, 0, 0, 0, 0, 0, 1], value=-3.0)
    case("Gather", [x, ints(3, 0, -1)], axis=2)
    case("Gather", [x, np.array(1, np.int64)], axis=-1)
    case("Gather", [x, ints(1, 0).reshape(1, 2)])
    case("SpaceToDepth", [floats(2, 3, 4, 6)], blocksize=2)
    z = floats(2, 12, 3, 2)
    case("DepthToSpace", [z], blocksize=2)
    case("DepthToSpace", [z], blocksize=2, mode="CRD")
    case("DepthToSpace", [z], opset=10, blocksize=2)
    case("Expand", [floats(3, 1), ints(2, 1, 4)])
    case("Tile", [floats(2, 3), ints(2, 3)])
    case("Identity", [x])
    case("Dropout", [x])
    case("Dropout", [x], opset=11, ratio=0.5)


def function_cases():
    x, y = floats(2, 3, 4), floats(3, 1)
    for op in ["Add", "Sub", "Mul"]:
        case(op, [x, y])
        case(op, [y, x])
    case("Div", [x, np.abs(y) + 1])
    case("Sum", [x, y, x])
    for operands in [[x], [x, y], [y, x, floats(2, 1, 4)], [y, x, -x, y]]:
        case("Max", operands)
    case("Max", [x, np.float32(0.25)])
    case("Min", [np.float32(0.25), x])
    case("Where", [np.array([[True, False, True, True]]), x, y])
    for op in ["Neg", "Relu", "Sigmoid", "Tanh", "Erf", "Exp", "Abs", "Elu", "Selu", "Softplus", "HardSwish", "LeakyRelu", "HardSigmoid"]:
        case(op, [x])
    case("Sqrt", [np.abs(x)])
    case("Reciprocal", [np.abs(x) + 1])
    case("Log", [np.abs(x) + 1])
    for exponent in [0.75, -0.5, 4, 2, -1]:
        case("Pow", [np.abs(x) + 1, np.float32(exponent)])
    case("Pow", [np.abs(y) + 0.5, x])
    case("LeakyRelu", [x], alpha=0.2)
    case("HardSigmoid", [x], alpha=0.3, beta=0.4)
    case("PRelu", [x, y])
    case("Max", [x, y])
    case("Gelu", [x], opset=20)
    case("Gelu", [x], opset=20, approximate="tanh")
    case("Clip", [x], opset=10, min=-1.0, max=0.5)
    case("Clip", [x], opset=10, max=0.5)
    case("Clip", [x, np.float32(-1), np.float32(1)])
    case("Clip", [x, None, np.float32(1)])
    case("Clip", [x, np.float32(0)])
    case("Clip", [x])
    for axis in [0, 1, -1]:
        case("Softmax", [x], axis=axis)
        case("Softmax", [x], opset=11, axis=axis)
        case("LogSoftmax", [x], axis=axis)
        case("LogSoftmax", [x], opset=11, axis=axis)
    case("BatchNormalization", [floats(2, 3, 4, 4), floats(3), floats(3), floats(3), np.abs(floats(3)) + 0.5], epsilon=1e-3)
    case("BatchNormalization", [floats(2, 3, 4, 4), floats(3), floats(3), floats(3), np.abs(floats(3)) + 0.5], opset=9)
    case("InstanceNormalization", [floats(2, 3, 4, 4), floats(3), floats(3)])
    case("LayerNormalization", [x, floats(4), floats(4)])
    case("LayerNormalization", [x, floats(3, 4)], axis=1, epsilon=1e-2)
    case("CumSum", [floats(2, 30), np.array(1)])
    case("CumSum", [floats(2, 3, 5), np.array(-2)], exclusive=1, reverse=1)
    case("DFT", [floats(2, 30, 1)], opset=17, onesided=1)
    case("DFT", [floats(2, 5, 7, 2)], opset=17, axis=2)
    case("DFT", [floats(2, 5, 7, 2), np.array(4)], opset=17, axis=-2, inverse=1)  # cut
    case("DFT", [floats(2, 5, 7, 1), np.array(8)], opset=17, axis=1, onesided=1)  # filled up
    case("DFT", [floats(2, 5, 7, 2)], opset=20)
    case("DFT", [floats(2, 5, 7, 2), np.array(9), np.array(-3)], opset=20, inverse=1)
    case("STFT", [floats(2, 30, 1), np.array(4), floats(8)], opset=17, onesided=1)  # without it onnx infers both sides
    case("STFT", [floats(2, 30), np.array(5), floats(9), np.array(9)], opset=17, onesided=0)
    case("RMSNormalization", [x, floats(4)], opset=23)
    case("RMSNormalization", [x, floats(3, 4)], opset=23, axis=1, epsilon=1e-2)
    case("LRN", [floats(2, 6, 4, 4)], size=3, alpha=0.5, beta=0.25, bias=2.0)
    case("LRN", [floats(2, 6, 4, 4)], size=5)
    case("Mish", [x], opset=18)
    case("Swish", [x], opset=24)
    case("Swish", [x], opset=24, alpha=1.7)


def attention_cases():
    apart, packed = [floats(2, 3, 5, 4), floats(2, 3, 6, 4), floats(2, 3, 6, 7)], [floats(2, 5, 12), floats(2, 6, 12), floats(2, 6, 21)]
    seen = np.tril(np.ones((5, 6), bool))
    for opset in [23, 24]:
        case("Attention", apart, opset=opset)
        case("Attention", apart, opset=opset, scale=0.3, is_causal=1)
        case("Attention", [*apart, seen], opset=opset)
        case("Attention", [*apart, np.where(seen, floats(5, 6), np.float32(-np.inf))], opset=opset)
        case("Attention", packed, opset=opset, q_num_heads=3, kv_num_heads=3)


def pool_cases():
    x = floats(2, 3, 7, 8)
    for op in ["MaxPool", "AveragePool"]:
        for options in [
            dict(), dict(strides=[2, 2], pads=[1, 1, 1, 1]), dict(strides=[2, 3], ceil_mode=1), dict(auto_pad="SAME_UPPER"),
            dict(auto_pad="SAME_LOWER", strides=[2, 2]), dict(auto_pad="VALID", strides=[2, 2]),
            dict(strides=[2, 2], pads=[0, 1, 1, 0], ceil_mode=1),
        ]:
            case(op, [x], kernel_shape=[3, 2], **options)
    case("MaxPool", [x], kernel_shape=[3, 2], dilations=[2, 3])
    case("AveragePool", [x], kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1)
    case("AveragePool", [x], opset=19, kernel_shape=[2, 2], dilations=[2, 3], pads=[1, 1, 1, 1])
    case("GlobalAveragePool", [x])
    case("GlobalMaxPool", [x])
    for op in ["ReduceSum", "ReduceMean", "ReduceMax", "ReduceL2"]:
        for keep in [0, 1]:
            case(op, [x], opset=11, axes=[1, -1], keepdims=keep)
            case(op, [x], opset=11, keepdims=keep)
            case(op, [x, ints(-1, -2)], opset=18, keepdims=keep)
    case("ReduceSum", [x, ints(2)], opset=13)


def resize_cases():
    x = floats(1, 2, 4, 5)
    modes = ["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"]
    for coordinates in modes:
        for nearest in ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]:
            case("Resize", [x, None, np.array([1, 1, 2, 1.5], np.float32)], coordinate_transformation_mode=coordinates,
                 nearest_mode=nearest)
        case("Resize", [x, None, None, ints(1, 2, 6, 10)], mode="linear", coordinate_transformation_mode=coordinates)
        case("Resize", [x, None, np.array([1, 1, 3, 0.6], np.float32)], mode="linear", coordinate_transformation_mode=coordinates)
        case("Resize", [x, None, None, ints(1, 2, 6, 10)], mode="cubic", coordinate_transformation_mode=coordinates)
        case("Resize", [x, None, np.array([1, 1, 3, 0.6], np.float32)], mode="cubic", cubic_coeff_a=-0.5,
             coordinate_transformation_mode=coordinates)
    for mode in ["nearest", "linear", "cubic"]:
        case("Resize", [x, None, np.array([1, 1, 1.5, 0.75], np.float32)], opset=19, mode=mode,
             coordinate_transformation_mode="half_pixel_symmetric")
    case("Resize", [x, None, np.array([2, 2], np.float32)], opset=18, axes=[2, 3])
    case("Resize", [x, np.zeros(0, np.float32), np.array([1, 1, 2, 2], np.float32)], opset=11)
    case("Resize", [x, np.array([1, 1, 2, 2], np.float32)], opset=10)
    case("Resize", [x, np.array([1, 1, 2, 2], np.float32)], opset=10, mode="linear")
    case("Upsample", [x, np.array([1, 1, 2, 3], np.float32)], opset=9)
    case("Upsample", [x], opset=7, scales=[1.0, 1.0, 2.0, 3.0])


# Operands that ONNX demands to be constant in practice, though they are floats: scales, bounds, fills, statistics.
CONSTANT = {"Attention": range(3, 4), "Resize": range(1, 3), "Upsample": range(1, 2), "Clip": range(1, 3), "Pad": range(2, 3)}


def model_of(op, operands, opset, outputs, attributes, expected=None):
    inputs, initializers, names = [], [], []
    for i, array in enumerate(operands):
        names.append("" if array is None else f"x{i}")
        if array is None:
            continue
        array = np.asarray(array)
        initializers.append(numpy_helper.from_array(array, f"x{i}"))
        if array.dtype == np.float32 and i not in CONSTANT.get(op, []):
            inputs.append(helper.make_tensor_value_info(f"x{i}", TensorProto.FLOAT, array.shape))
    results = [f"y{i}" for i in range(outputs)]
    for i, array in enumerate(expected or []):
        initializers.append(numpy_helper.from_array(array, f"expected/y{i}"))
    node = helper.make_node(op, names, results, name=op.lower(), **attributes)
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in results]
    graph = helper.make_graph([node], op, inputs, infos, initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    return onnx.shape_inference.infer_shapes(model)


def run(model):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, {})


def main():
    conv_cases()
    matmul_cases()
    layout_cases()
    function_cases()
    attention_cases()
    pool_cases()
    resize_cases()
    failures, written = [], 0
    with tempfile.TemporaryDirectory() as folder:
        paths = {}
        for index, (op, operands, opset, outputs, attributes) in enumerate(CASES):
            name = f"{index:03}_{op}_{opset}"
            try:
                expected = run(model_of(op, operands, opset, outputs, attributes))
            except Exception as error:  # the engine does not know the form: nothing to compare with
                print(f"not run by ONNX Runtime: {name} {attributes}: {str(error)[:100]}")
                continue
            path = pathlib.Path(folder) / f"{name}.onnx"
            onnx.save(model_of(op, operands, opset, outputs, attributes, expected), path)
            paths[name] = (path, expected, attributes)
        tests = os.path.join(os.environ.get("PET_BIN", "build/bin"), "pet-unit-tests")
        result = subprocess.run([tests, "--gtest_filter=ApplierCases.*", "--gtest_brief=1"], capture_output=True, text=True,
                                env={**os.environ, "PET_ONNX_CASES": folder})
        if result.returncode != 0:
            failures.append(result.stdout[-6000:] + result.stderr[-2000:])
        for name, (path, expected, attributes) in paths.items():
            anew = path.with_suffix(".anew.onnx")
            if not anew.exists():
                failures.append(f"{name} {attributes}: not written anew")
                continue
            written += 1
            try:
                onnx.checker.check_model(str(anew), full_check=True)
                for a, b in zip(run(onnx.load(anew)), expected):
                    np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)
            except Exception as error:
                failures.append(f"{name} {attributes}: written anew: {str(error)[:600]}")
    if written < LEAST:
        failures.append(f"only {written} forms of operators were compared, of at least {LEAST}")
    print("\n".join(failures) or f"{written} of {len(CASES)} forms of operators agree with ONNX Runtime {onnxruntime.__version__}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
