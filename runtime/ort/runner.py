#!/usr/bin/env python3
"""Times ONNX models on ONNX Runtime's CPU provider: a child process that answers JSON lines, and a module.
Runners of other engines that have Python are this one with another engine (openvino_runner.py; compared.py).

    python runtime/ort/runner.py [--cpu N] [--engine NAME]

One request a line on stdin, one answer a line on stdout, in order; the process pins itself to CPU N (else to the
highest it may use). Whatever the engine prints goes to stderr. Every mistake is an answer, {"error": "..."}, and the
process lives on; it ends at {"cmd": "quit"} or at the end of stdin.

{"cmd": "hello"}
    -> {"engine": "onnxruntime", "version", "providers", "isa", "cpu", "vendor", "family", "model", "caches", "threads": 1}
       isa: avx512, avx2, sse2, neon or the machine's name; cpu: the processor's name, vendor: who made it, "" where
       unknown; family, model: as the vendor counts, 0 where unknown; caches: bytes of L1d, L2, L3, 0 where unknown.

{"cmd": "time", "models": [path, ...], "runs": 20, "repeat": 1, "warmup": 2, "budget_s": 10, "threads": 1, "cold": false,
 "processor_time": false, "optimise": true, "positive": false, "seed": 0, "dims": {}}
    -> {"samples": [[seconds, ...], ...], "median": [...], "p10": [...], "p90": [...],      one entry per model
        "max_abs_diff": [0, ...], "max_abs": x}
       All models get the same inputs and take turns, each round starting one model further on. No new round starts once
       budget_s seconds (warm-up included, loading not) are spent, yet at least one warm-up round, unless "warmup" is 0,
       and three rounds are run. "repeat": so often a model runs at its turn; the sample is the median. "cold": before each run, a buffer larger than the last-level cache is written.
       "processor_time": seconds of the one thread on its processor, which other processes do not lengthen.
       max_abs_diff: largest |output - first model's output|; max_abs: largest |first model's output|. Models must agree
       in the names and shapes of inputs and outputs, and the first one's outputs must be finite.

{"cmd": "run", "model": path, "seed": 0, "threads": 1, "optimise": true, "positive": false, "dims": {}}
    -> {"outputs": [{"name", "type", "shape", "min", "max", "mean", "std", "crc32"}, ...]}

Inputs are a function of (seed, name, type, shape): floats uniform in [-1, 1), or with "positive" in [1/64, 1), integers and booleans 0 or 1, which are
indices into any axis but one of extent 1. "dims" gives symbolic dimensions their extents.
"""

import argparse
import json
import os
import platform
import sys
import time
import zlib

import numpy as np
import onnxruntime

DTYPES = {
    "tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(float16)": np.float16,
    "tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(int8)": np.int8, "tensor(uint8)": np.uint8,
    "tensor(bool)": np.bool_,
}


ISAS = [("avx512", {"avx512f", "avx512bw", "avx512dq", "avx512vl"}), ("avx2", {"avx2"}), ("sse2", {"sse2"}), ("neon", {"asimd"})]


class Mistake(Exception):
    """The request's fault: what, where, what to do."""


# ---- the engine

class OnnxRuntime:
    """What a runner needs of an engine. Sessions are as ONNX Runtime's: get_inputs(), get_outputs() and run()."""

    name, version = "onnxruntime", onnxruntime.__version__
    processor_clock = staticmethod(time.thread_time)  # of what computes where there is one thread: here it is the caller

    def providers(self):
        return onnxruntime.get_available_providers()

    def machine(self):
        """What it computes on, as "hello" answers it."""
        return processor()

    def open(self, path, threads, optimise, dims):
        """A session for one model, with `threads` threads and these extents of its symbolic dimensions."""
        return open_session(path, threads, optimise)

    def check(self, path, inputs, outputs, dims):
        """Raises Mistake where these outputs of the model are not its outputs; here they are by definition."""


# ---- sessions, inputs, outputs

def open_session(path, threads=1, optimise=True, providers=("CPUExecutionProvider",)):
    """A session on the first of these providers that takes a node: `threads` intra-op threads, operators one after another."""
    require_file(path)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    levels = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = levels.ORT_ENABLE_ALL if optimise else levels.ORT_DISABLE_ALL
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(path, options, providers=list(providers))
    except Exception as error:  # the engine's exceptions have no common base of their own
        raise Mistake(f"{path}: the engine cannot load it: {error}") from error


def require_file(path):
    if not os.path.isfile(path):
        raise Mistake(f"{path}: no such file")


def seeded_inputs(session, seed=0, dims=None, positive=False, alike=False):
    """{name: array} for every input of the session, the same for equal (seed, name, type, shape). `alike`: neighbours of a
    signal or a map are like each other, as they are in what models are made for; else each value is drawn by itself."""
    return {value.name: _seeded_input(value, seed, dims or {}, positive, alike) for value in session.get_inputs()}


def _seeded_input(value, seed, dims, positive, alike):
    if value.type not in DTYPES:
        raise Mistake(f"input {value.name}: no random values for its type {value.type}")
    shape = extents(value, dims)
    random = np.random.default_rng([seed, zlib.crc32(value.name.encode())])
    dtype = DTYPES[value.type]
    if np.issubdtype(dtype, np.floating):
        low = 1 / 64 if positive else -1.0
        values = random.uniform(low, 1.0, shape)
        if alike:
            values = SHARE_ALIKE * _repeated(random, low, shape) + (1 - SHARE_ALIKE) * values
        return values.astype(dtype)
    return random.integers(0, 2, shape).astype(dtype)


# So many neighbours have so much of their value in common: less than in a photograph, for what is deep in a network is less alike.
ALIKE, SHARE_ALIKE = 4, 0.7


def _repeated(random, low, shape):
    """Values that stay the same along the last axis, and where there are four, along the two last."""
    axes = range(len(shape) - (2 if len(shape) >= 4 else 1), len(shape)) if shape else []
    values = random.uniform(low, 1.0, [-(-extent // ALIKE) if axis in axes else extent for axis, extent in enumerate(shape)])
    for axis in axes:
        values = np.repeat(values, ALIKE, axis).take(range(shape[axis]), axis)
    return values


def extents(value, dims):
    """The shape of an input, with these extents of its symbolic dimensions."""
    shape = [dims.get(extent, extent) for extent in value.shape]
    for extent in shape:
        if not isinstance(extent, int):
            raise Mistake(f"input {value.name}: dimension {extent!r} is dynamic; give its extent in dims")
    return shape


def run(session, inputs, path):
    """{name: array} of the outputs."""
    expected = sorted(value.name for value in session.get_inputs())
    if expected != sorted(inputs):
        raise Mistake(f"{path}: its inputs are {expected}, the first model's {sorted(inputs)}")
    names = [value.name for value in session.get_outputs()]
    try:
        return dict(zip(names, map(np.asarray, session.run(names, inputs))))
    except Exception as error:
        raise Mistake(f"{path}: the engine cannot run it: {error}") from error


def max_abs(outputs):
    """Largest absolute value over all outputs; inf where one is not finite."""
    return max((_largest(np.abs(_wide(array))) for array in outputs.values()), default=0.0)


def max_abs_diff(reference, outputs, path):
    """Largest absolute difference over all outputs; inf where only one of two values is finite."""
    if set(outputs) != set(reference):
        raise Mistake(f"{path}: its outputs are {sorted(outputs)}, the first model's {sorted(reference)}")
    worst = 0.0
    for name, expected in reference.items():
        found = outputs[name]
        if (found.shape, found.dtype) != (expected.shape, expected.dtype):
            raise Mistake(f"{path}: output {name} is {found.dtype}{list(found.shape)}, "
                          f"the first model's {expected.dtype}{list(expected.shape)}")
        worst = max(worst, _largest(np.abs(_wide(found) - _wide(expected))))
    return worst


def _wide(array):
    return array.astype(np.float64)


def _largest(array):
    largest = float(array.max(initial=0.0))
    return largest if np.isfinite(largest) else float("inf")


# ---- timing

def time_in_turns(sessions, inputs, runs, warmup, budget_s, before_run=None, clock=time.perf_counter, repeat=1):
    """Seconds of each turn by this clock, or by the device's where a session has them (`elapsed`), one list per session: the median of
    `repeat` runs. Round k starts at session k, so that each gets every place in turn."""
    calls = [([value.name for value in session.get_outputs()], session) for session in sessions]
    samples = [[] for _ in sessions]
    start = time.perf_counter()
    for k in range(warmup + runs):
        warming = k < warmup
        least = k == 0 if warming else k - warmup < 3
        if time.perf_counter() - start > budget_s and not least:
            continue
        for turn in range(len(calls)):
            index = (k + turn) % len(calls)
            names, session = calls[index]
            took = [seconds(session, names, inputs, before_run, clock) for _ in range(repeat)]
            if not warming:
                samples[index].append(float(np.median(took)))
    return samples


def seconds(session, names, inputs, before_run, clock):
    """Of one run."""
    if before_run:
        before_run()
    begin = clock()
    session.run(names, inputs)
    took = clock() - begin
    return getattr(session, "elapsed", took)


def quantiles(samples):
    """(median, p10, p90) of one list of samples."""
    return tuple(float(q) for q in np.quantile(samples, [0.5, 0.1, 0.9]))


class CacheFlush:
    """Writes a buffer of twice the last-level cache, so that weights come from memory at the next run."""

    def __init__(self):
        self.buffer = np.zeros(2 * _last_level_cache() // 8, np.int64)

    def __call__(self):
        self.buffer += 1


def _last_level_cache():
    return max(32 << 20, *caches())


def _text_of(path):
    try:
        with open(path) as file:
            return file.read().strip()
    except OSError:
        return ""


def caches(folder="/sys/devices/system/cpu/cpu0/cache"):
    """Bytes of L1d, L2 and L3, 0 where unknown."""
    sizes = [0, 0, 0]
    for index in os.listdir(folder) if os.path.isdir(folder) else []:
        level, kind, size = (_text_of(f"{folder}/{index}/{name}") for name in ("level", "type", "size"))
        if level in ("1", "2", "3") and kind != "Instruction" and size.rstrip("KMG").isdigit():
            sizes[int(level) - 1] = int(size.rstrip("KMG")) << {"K": 10, "M": 20, "G": 30}.get(size[-1], 0)
    return sizes


class Affinity:
    """The CPUs this process may use, and a hold on as many as a measurement has threads. A no-op on some systems."""

    def __init__(self, cpu=None):
        self.allowed = allowed_cpus()
        self.cpu = cpu if cpu in self.allowed else None

    def hold(self, threads=1):
        if self.allowed:
            one = threads == 1 and self.cpu is not None
            os.sched_setaffinity(0, {self.cpu} if one else set(self.allowed[-threads:]))

    def release(self):
        if self.allowed:
            os.sched_setaffinity(0, self.allowed)


def allowed_cpus():
    """The CPUs that this process may use now, by number; none where the system does not say."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


def processor():
    """What is known of the processor: isa, the instruction set the engine's float kernels are chosen by, cpu, vendor, family,
    model, caches."""
    fields = {}
    for line in _text_of("/proc/cpuinfo").split("\n\n")[0].splitlines():
        key, _, value = line.partition(":")
        fields[key.strip()] = value.strip()
    flags = set(f"{fields.get('flags', '')} {fields.get('Features', '')}".split())
    isa = next((isa for isa, needed in ISAS if needed <= flags), platform.machine())
    # Arm's architecture and part take the place of family and model.
    keys = ("vendor_id", "cpu family", "model") if "vendor_id" in fields else ("CPU implementer", "CPU architecture", "CPU part")
    vendor, family, model = (fields.get(key, "") for key in keys)
    return {"isa": isa, "cpu": fields.get("model name", platform.processor()), "vendor": vendor, "family": _number(family),
            "model": _number(model), "caches": caches()}


def _number(text):
    try:
        return int(text, 0)
    except ValueError:
        return 0


# ---- requests

def field(request, name, kind, default=None):
    value = request.get(name, default)
    wrong = value is None or not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool)
    if wrong:
        kinds = "number" if kind == (int, float) else kind.__name__
        raise Mistake(f'"{request["cmd"]}" needs "{name}": a {kinds}')
    if kind in (int, (int, float)) and value < 0:
        raise Mistake(f'"{name}" is negative')
    return value


def sessions_and_inputs(request, paths, affinity, engine, alike=False):
    threads = max(1, field(request, "threads", int, 1))
    affinity.hold(threads)
    optimise, dims = field(request, "optimise", bool, True), field(request, "dims", dict, {})
    sessions = [engine.open(path, threads, optimise, dims) for path in paths]
    seed, positive = field(request, "seed", int, 0), field(request, "positive", bool, False)
    return sessions, seeded_inputs(sessions[0], seed, dims, positive, alike)


def checked_run(session, inputs, path, request, engine):
    """The outputs of a model, which are right as far as the engine can be checked."""
    outputs = run(session, inputs, path)
    engine.check(path, inputs, outputs, field(request, "dims", dict, {}))
    return outputs


def answer_hello(request, affinity, engine):
    return {"engine": engine.name, "version": engine.version, "providers": engine.providers(), **engine.machine(), "threads": 1}


def answer_time(request, affinity, engine):
    paths = field(request, "models", list)
    if not paths or not all(isinstance(path, str) for path in paths):
        raise Mistake('"models" must be one or more paths')
    runs, repeat, warmup = field(request, "runs", int, 20), field(request, "repeat", int, 1), field(request, "warmup", int, 2)
    if runs < 1 or repeat < 1:
        raise Mistake('"runs" and "repeat" must be at least 1')
    budget_s = field(request, "budget_s", (int, float), 10)
    before_run = CacheFlush() if field(request, "cold", bool, False) else None
    processor_time = field(request, "processor_time", bool, False)
    if processor_time and field(request, "threads", int, 1) > 1:
        raise Mistake('"processor_time" is for one thread')

    # Where signs change often, branches are guessed wrong: ONNX Runtime's PRelu takes eleven times as long on white noise as where they do not.
    sessions, inputs = sessions_and_inputs(request, paths, affinity, engine, alike=True)
    reference = checked_run(sessions[0], inputs, paths[0], request, engine)
    scale = max_abs(reference)
    if not np.isfinite(scale):
        raise Mistake(f"{paths[0]}: its outputs are not finite, so nothing can be compared to them")
    differences = [0.0] + [max_abs_diff(reference, checked_run(session, inputs, path, request, engine), path)
                           for session, path in zip(sessions[1:], paths[1:])]
    for difference, path in zip(differences, paths):
        if not np.isfinite(difference):
            raise Mistake(f"{path}: its outputs are not finite where the first model's are")

    samples = time_in_turns(sessions, inputs, runs, warmup, budget_s, before_run, engine.processor_clock if processor_time else time.perf_counter, repeat)
    median, p10, p90 = zip(*map(quantiles, samples))
    return {"samples": samples, "median": median, "p10": p10, "p90": p90,
            "max_abs_diff": differences, "max_abs": scale}


def answer_run(request, affinity, engine):
    path = field(request, "model", str)
    (session,), inputs = sessions_and_inputs(request, [path], affinity, engine)
    return {"outputs": [summary(name, array) for name, array in run(session, inputs, path).items()]}


def summary(name, array):
    """What a person or a test may compare: statistics, null where not finite, and a checksum of the bytes."""
    wide = _wide(array)
    statistics = {"min": np.min, "max": np.max, "mean": np.mean, "std": np.std}
    values = {key: float(f(wide)) if array.size else 0.0 for key, f in statistics.items()}
    return {"name": name, "type": str(array.dtype), "shape": list(array.shape),
            **{key: value if np.isfinite(value) else None for key, value in values.items()},
            "crc32": zlib.crc32(np.ascontiguousarray(array).tobytes())}


ANSWERS = {"hello": answer_hello, "time": answer_time, "run": answer_run}


def parse(line):
    try:
        request = json.loads(line)
    except json.JSONDecodeError as error:
        raise Mistake(f"not a JSON line: {error}") from error
    if not isinstance(request, dict) or not isinstance(request.get("cmd"), str):
        raise Mistake('a request is an object with "cmd"')
    if request["cmd"] not in ANSWERS and request["cmd"] != "quit":
        raise Mistake(f"unknown cmd {request['cmd']!r}; there are {', '.join(ANSWERS)}, quit")
    return request


def serve(lines, answers, affinity, engine):
    for line in filter(str.strip, lines):
        try:
            request = parse(line)
            if request["cmd"] == "quit":
                return
            answer = json.dumps(ANSWERS[request["cmd"]](request, affinity, engine), allow_nan=False)
        except Mistake as mistake:
            answer = json.dumps({"error": str(mistake)})
        except Exception as error:  # ours or the engine's: one bad subgraph must not end a tuning
            answer = json.dumps({"error": f"{type(error).__name__}: {error}"})
        print(answer, file=answers, flush=True)


def main(*engines):
    """A runner of one of these engines, by default the first."""
    by_name = {engine.name: engine for engine in engines}
    parser = argparse.ArgumentParser(description=f"Times ONNX models on {' or '.join(by_name)}; speaks JSON lines.")
    parser.add_argument("--cpu", type=int, help="the CPU to stay on")
    parser.add_argument("--engine", choices=by_name, default=engines[0].name, help="which engine")
    arguments = parser.parse_args()
    affinity = Affinity(arguments.cpu)
    affinity.hold()
    # stdout is for answers alone: what the engine prints on descriptor 1 goes to stderr.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    serve(sys.stdin, answers, affinity, by_name[arguments.engine]())


if __name__ == "__main__":
    main(OnnxRuntime)
