#!/usr/bin/env python3
"""Every node test of the onnx package on a session of ours: what it runs has the test's outputs. Exit status 0 or 1.

What nothing of ours computes is refused with the node's operator. With PET_TEST_PART=K/N the K-th part; `run_nodes.py NAME`
tries the tests with NAME in their names.
"""

import collections
import re
import sys
import warnings

import numpy as np
from onnx import TensorProto, numpy_helper

import _part as part
import _session

LEAST_EQUAL = 1150  # of a whole run
TOLERANCES = {np.dtype(np.float16): 2e-3, np.dtype(np.float32): 1e-4, np.dtype(np.float64): 1e-6}  # of the largest value


def node_tests():
    import onnx.backend.test.case.node as node
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {case.name: case for case in node.collect_testcases()}


def difference(expected, found):
    """What is wrong, empty if nothing is."""
    for wanted, got in zip(expected, found, strict=True):
        if (wanted.shape, wanted.dtype) != (got.shape, got.dtype):
            return f"{got.dtype}{got.shape}, not {wanted.dtype}{wanted.shape}"
        if wanted.dtype not in TOLERANCES:
            if not np.array_equal(wanted, got):
                return "other integers"
            continue
        finite = np.abs(wanted[np.isfinite(wanted)])
        scale = float(finite.max(initial=0)) or 1.0
        if not np.allclose(wanted, got, rtol=0, atol=TOLERANCES[wanted.dtype] * scale, equal_nan=True):
            return f"off by {np.nanmax(np.abs(wanted - got)) / scale:.1e}"
    return ""


def arrays(values):
    return [numpy_helper.to_array(v) if isinstance(v, TensorProto) else v for v in values]


def known(values):
    return all(isinstance(v, np.ndarray) and v.dtype in _session.NUMBERS for v in values)


def attempt(lib, case):
    """(what became of it, the detail)"""
    inputs, outputs = (arrays(values) for values in case.data_sets[0])
    if not known(inputs) or not known(outputs):
        return "other types", ""
    names = [i.name for i in case.model.graph.input]
    try:
        found = _session.Session(lib, case.model.SerializeToString()).run(dict(zip(names, inputs)))
    except _session.Failed as error:
        return ("refused", error.args[1]) if error.args[0] == 3 else ("wrong", error.args[1])
    wrong = difference(outputs, found)
    return ("wrong", wrong) if wrong else ("equal", "")


# Random numbers, or more than one right answer; training. Engines disagree about Resize's scales with align_corners.
OTHERWISE = re.compile(r"bernoulli|random|dropout_default_mask_ratio|training|adagrad|adam|momentum|_expanded_function_ver"
                       r"|resize_downsample_scales_(cubic|linear)_align_corners")


def main():
    only = sys.argv[1] if len(sys.argv) > 1 else ""
    if not _session.LIBRARY.is_file():
        print("libpet is not built")
        return 77
    lib, counts, refused, wrong = _session.library(), collections.Counter(), collections.Counter(), []
    cases = {name: case for name, case in node_tests().items() if only in name and not OTHERWISE.search(name)}
    for name in part.mine(cases):
        became, detail = attempt(lib, cases[name])
        counts[became] += 1
        if became == "wrong":
            wrong.append(f"{name}: {detail}")
        if became == "refused":
            if only:
                print(f"{name}: {detail}")
            found = re.search(r"\((\w+)\)", detail)
            refused[found[1] if found else detail] += 1
    for line in wrong:
        print(f"run_nodes: {line}", file=sys.stderr)
    print(dict(counts), "refused:", dict(refused.most_common()))
    parts = 2 * part.numbers()[1] if part.given() else 1  # of unequal size
    return 1 if wrong or not only and counts["equal"] < LEAST_EQUAL // parts else 0


if __name__ == "__main__":
    sys.exit(main())
