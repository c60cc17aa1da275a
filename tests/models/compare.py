#!/usr/bin/env python3
"""Are two models the same function? Runs both on ONNX Runtime with the same random inputs.

    python tests/models/compare.py A.onnx B.onnx [--seed N] [--rtol 1e-4] [--unoptimised] [--dim NAME=EXTENT]...

B must pass onnx.checker with full_check. Prints the largest absolute difference and the same relative to max|A|; exit
status 1 where that is above --rtol, 2 where no comparison was possible.
"""

import argparse
import dataclasses
import pathlib
import sys

import onnx

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "runtime" / "ort"))
import runner  # noqa: E402


@dataclasses.dataclass(frozen=True)
class Comparison:
    max_abs_error: float  # inf where only one of two values is finite
    max_abs: float  # largest |A|

    @property
    def relative(self):
        """The error relative to max|A|; where A is all zero, the error itself."""
        return self.max_abs_error / self.max_abs if self.max_abs else self.max_abs_error


def is_consistent(path):
    """Whether the shapes that a model declares are those that follow: some exporters write others (jax2onnx, of channels last), and nobody
    reads them."""
    try:
        onnx.checker.check_model(str(path), full_check=True)
        return True
    except onnx.shape_inference.InferenceError:
        return False


class Reference:
    """What the model in a file computes of random inputs, to compare several others with. Raises runner.Mistake."""

    def __init__(self, path, seed=0, optimise=True, dims=None, positive=False):
        self.path, self.optimise = path, optimise
        session = runner.open_session(str(path), optimise=optimise)
        self.inputs = runner.seeded_inputs(session, seed, dims, positive)
        self.outputs = runner.run(session, self.inputs, str(path))
        self.scale = runner.max_abs(self.outputs)
        if self.scale == float("inf"):
            raise runner.Mistake(f"{path}: its outputs are not finite, so nothing can be compared to them")

    def engine_error(self):
        """How far ONNX Runtime is from itself with its optimisations, or without them: models amplify roundings."""
        session = runner.open_session(str(self.path), optimise=not self.optimise)
        return Comparison(runner.max_abs_diff(self.outputs, runner.run(session, self.inputs, str(self.path)), str(self.path)), self.scale)

    def compare(self, path):
        """Raises runner.Mistake, or onnx.checker.ValidationError."""
        try:
            onnx.checker.check_model(str(path), full_check=True)
        except onnx.shape_inference.InferenceError:
            if is_consistent(self.path):
                raise
        session = runner.open_session(str(path), optimise=self.optimise)
        return Comparison(runner.max_abs_diff(self.outputs, runner.run(session, self.inputs, str(path)), str(path)), self.scale)


def compare(a, b, seed=0, optimise=True, dims=None, positive=False):
    """Compares the models in files A and B. Raises runner.Mistake, or onnx.checker.ValidationError for B."""
    return Reference(a, seed, optimise, dims, positive).compare(b)


def dimension(text):
    name, _, extent = text.partition("=")
    return name, int(extent)


def main():
    arguments = argparse.ArgumentParser(description="Compares two ONNX models on ONNX Runtime with random inputs.")
    arguments.add_argument("a")
    arguments.add_argument("b")
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--rtol", type=float, default=1e-4, help="largest error relative to max|A| (default 1e-4)")
    arguments.add_argument("--unoptimised", action="store_true", help="without the engine's graph optimisations")
    arguments.add_argument("--dim", type=dimension, action="append", default=[], metavar="NAME=EXTENT",
                           help="the extent of a dynamic dimension")
    options = arguments.parse_args()
    try:
        found = compare(options.a, options.b, options.seed, not options.unoptimised, dict(options.dim))
    except (runner.Mistake, onnx.checker.ValidationError, onnx.shape_inference.InferenceError, OSError) as error:
        print(f"compare.py: {error}", file=sys.stderr)
        return 2
    print(f"max abs error {found.max_abs_error:.3e}, relative to max|A| = {found.max_abs:.3e}: {found.relative:.3e}")
    return 0 if found.relative <= options.rtol else 1


if __name__ == "__main__":
    sys.exit(main())
