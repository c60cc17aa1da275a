#!/usr/bin/env python3
"""What a size costs that is computed when the model runs: Shape, Gather, Mul and Concat in front of a Reshape.

    python bench/size_chains.py

Microseconds that a chain adds on ONNX Runtime's CPU provider, one thread, without its optimiser, which would join equal chains:
the least and the median of many runs of a model with 20 Reshapes whose targets are constants, and with one whose targets are
computed, each by a chain of its own.
"""

import statistics
import sys
import time

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

CHAINS, RUNS = 20, 3000


def model(computed):
    """Reshapes of [n, 32] to [2n, 16], and a Relu behind each."""
    numbers = {"first": [0], "two": [2], "columns": [16], "target": [8, 16]}
    nodes, x = [], "x"
    for i in range(CHAINS):
        target = f"target{i}" if computed else "target"
        if computed:
            nodes += [helper.make_node("Shape", ["x"], [f"shape{i}"]), helper.make_node("Gather", [f"shape{i}", "first"], [f"n{i}"]),
                      helper.make_node("Mul", [f"n{i}", "two"], [f"rows{i}"]), helper.make_node("Concat", [f"rows{i}", "columns"], [target], axis=0)]
        nodes += [helper.make_node("Reshape", [x, target], [f"r{i}"]), helper.make_node("Relu", [f"r{i}"], [f"y{i}"])]
        x = f"y{i}"
    graph = helper.make_graph(nodes, "chains", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 32])],
                              [helper.make_tensor_value_info(x, TensorProto.FLOAT, None)],
                              [numpy_helper.from_array(np.array(v, np.int64), k) for k, v in numbers.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def seconds(made):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(made.SerializeToString(), options, providers=["CPUExecutionProvider"])
    taken, x = [], np.ones((4, 32), np.float32)
    for _ in range(RUNS):
        begin = time.perf_counter()
        session.run(None, {"x": x})
        taken.append(time.perf_counter() - begin)
    return min(taken), statistics.median(taken)


def main():
    plain, computed = seconds(model(False)), seconds(model(True))
    least, median = (1e6 * (b - a) / CHAINS for a, b in zip(plain, computed))
    print(f"ONNX Runtime {onnxruntime.__version__}: a chain takes {least:.2f} us at least, {median:.2f} us in the median")
    return 0


if __name__ == "__main__":
    sys.exit(main())
