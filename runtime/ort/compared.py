"""What the runners of other engines than ONNX Runtime share: results are compared with its own before they are timed,
models are converted in a process apart, sessions have the part of its interface that runner.py uses.

An error names the output that has another type, another shape or other values (Engine.largest_error), or says that ONNX
Runtime cannot check the model.
"""

import collections
import ctypes
import os
import signal
import subprocess
import time

import numpy as np
import runner

CONVERTER_SECONDS = 50  # less than pet-tune waits for an answer (--timeout)
LIBRARY = ctypes.CDLL(None)

Value = collections.namedtuple("Value", "name type shape")


class Engine:
    """An engine as runner.OnnxRuntime is one. A subclass has `name`, `version` and load(), which makes a Session."""

    largest_error = 1e-3  # of the largest value of an output: beyond, it is no rounding
    processor_clock = staticmethod(time.process_time)  # engines may compute in a thread of their own while the caller waits

    def providers(self):
        return ["CPU"]

    def machine(self):
        return runner.processor()

    def load(self, path, threads, inputs, outputs):
        """A Session of the model at these inputs and outputs, Values; of an input, with numbers as extents. What is
        raised says why the engine cannot load it."""
        raise NotImplementedError

    def open(self, path, threads, optimise, dims):
        declared = runner.open_session(path)
        inputs = [Value(value.name, value.type, runner.extents(value, dims)) for value in declared.get_inputs()]
        outputs = [Value(value.name, value.type, value.shape) for value in declared.get_outputs()]
        try:
            return self.load(path, threads, inputs, outputs)
        except runner.Mistake:
            raise
        except Exception as error:  # engines and converters have no base of their own
            raise runner.Mistake(f"{path}: {self.name} cannot load it: {error or type(error).__name__}") from error

    def check(self, path, inputs, outputs, dims):
        try:
            expected = runner.run(runner.open_session(path, threads=len(runner.allowed_cpus())), inputs, path)
        except runner.Mistake as mistake:
            raise runner.Mistake(f"{mistake}, so {self.name}'s results cannot be checked") from mistake
        for name, reference in expected.items():
            why = whats_wrong(reference, outputs.get(name), self.largest_error)
            if why:
                raise runner.Mistake(f"{path}: {self.name} {self.version} is wrong: output {name} {why}")


class Session:
    """A model that is ready to run. A subclass has bind(), which takes the inputs, and infer(), which returns the
    outputs in order, valid until the next run: arrays, or a Result of each."""

    def __init__(self, inputs, outputs):
        self.inputs, self.outputs = inputs, outputs
        self.bound = None

    def get_inputs(self):
        return self.inputs

    def get_outputs(self):
        return self.outputs

    def bind(self, feeds):
        raise NotImplementedError

    def infer(self):
        raise NotImplementedError

    def run(self, names, feeds):
        """The outputs of these names. Inputs that were given before are not bound again: that is not timed."""
        if self.bound is not feeds:
            self.bind(feeds)
            self.bound = feeds
        results = dict(zip([value.name for value in self.outputs], self.infer()))
        return [results[name] for name in names]


class Result:
    """An output that is read when somebody asks for its values, and not while it is timed: where it lies elsewhere."""

    def __init__(self, read):
        self.read = read

    def __array__(self, dtype=None, copy=None):
        return self.read()


def gpu():
    """The first GPU as a machine, by its compute capability."""
    query = ["nvidia-smi", "--query-gpu=name,compute_cap", "--format=csv,noheader"]
    name, capability = subprocess.run(query, capture_output=True, text=True, check=True).stdout.splitlines()[0].split(", ")
    major, minor = capability.split(".")
    return {"isa": f"sm_{major}{minor}", "cpu": name, "vendor": "NVIDIA", "family": int(major), "model": int(minor), "caches": [0, 0, 0]}


def whats_wrong(expected, found, largest_error):
    """What differs between an output of ONNX Runtime and the engine's; None where nothing does."""
    if found is None:
        return "is missing"
    if (found.shape, found.dtype) != (expected.shape, expected.dtype):
        return f"is {found.dtype}{list(found.shape)}, ONNX Runtime's {expected.dtype}{list(expected.shape)}"
    a, b = expected.astype(np.float64), found.astype(np.float64)
    finite = np.isfinite(a)
    if not np.array_equal(finite, np.isfinite(b)) or not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return "is not finite where ONNX Runtime's is, or the reverse"
    largest, off = np.abs(a[finite]).max(initial=0.0), np.abs(a[finite] - b[finite]).max(initial=0.0)
    flushed = np.finfo(expected.dtype).tiny if expected.dtype.kind == "f" else 0.0  # subnormals, which engines may make zero
    if not off <= largest_error * largest + flushed:
        return f"differs from ONNX Runtime's by {off:.2g} of {largest:.2g}"
    return None


def convert(name, command, path, product):
    """Runs a converter of the model at `path` in a process of its own, which may crash or hang; it makes the file `product`, and
    whatever it leaves where it runs lies beside that."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", timeout=CONVERTER_SECONDS, cwd=os.path.dirname(product), preexec_fn=end_with_parent,
                              check=False)
    except subprocess.TimeoutExpired as error:
        raise runner.Mistake(f"{path}: {name} does not end: {CONVERTER_SECONDS} s") from error
    except OSError as error:
        raise runner.Mistake(f"{path}: {name} does not start: {error.strerror}") from error
    if done.returncode != 0 or not os.path.isfile(product):
        said = "; ".join(done.stdout.split("\n")[-4:]).strip("; ")[-200:] or "nothing"
        raise runner.Mistake(f"{path}: {name} failed with status {done.returncode}; it said: {said}")


def end_with_parent():
    """In the new process, where the system can: it does not outlive a runner that is killed."""
    if hasattr(LIBRARY, "prctl"):
        LIBRARY.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
