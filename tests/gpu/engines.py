"""How tools and engines are asked: tools of ours that run once, and processes that time models on a device, again and again; which of
those are here, and how fast each is."""

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import threading

SOURCE = pathlib.Path(os.environ.get("PET_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
BIN = pathlib.Path(os.environ.get("PET_BIN", SOURCE / "build" / "bin"))
sys.path[:0] = [str(SOURCE / folder) for folder in ["tests/models", "bench", "tests/gpu"]]
import models as bench  # noqa: E402
import timed  # noqa: E402

# Engines beside ours: where `make -f Makefile.ci engines` installs each, and how its process is asked for.
OTHERS = {"ort-cuda": (".engines/cuda", "accelerator_runner.py", "onnxruntime-cuda"), "torch-cuda": (".engines/torch", "torch_runner.py", "torch-cuda"),
          "tensorrt": (".engines/cuda", "accelerator_runner.py", "onnxruntime-tensorrt")}
RUNS = 30
SEARCH = 0.2  # seconds for the plans of a call, where they are timed beside other work


class Missing(Exception):
    """Something that this machine does not have: said, and no failure."""


class Failure(Exception):
    """What a step found wrong, or could not do. What it found until then is in `found`."""

    def __init__(self, why, **found):
        super().__init__(why)
        self.found = found


def say(text):
    print(text, flush=True)


def call(tool, *arguments, accept=(0,), seconds=3600, **more):
    """Runs a tool of ours. A Failure where it ends with another status, is not there or does not end."""
    words = [str(word) for word in [BIN / tool, *arguments]]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=seconds, **more)
    except OSError as error:
        raise Failure(f"{tool}: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        raise Failure(f"{tool}: no end after {seconds:.0f} s") from error
    if done.returncode not in accept:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise Failure(said[-1] if said else f"{tool} ended with status {done.returncode}")
    return done


def calibrated(device):
    machine = json.loads(call("pet-tune", "--calibrate", "--device", device).stdout)
    return next(rates for rates in machine["rates"] if rates["device"] == device)


def shipped(run, device):
    """The rates of such a GPU with the same software that come with the tools; None where there are none."""
    software = run.results["versions"]["pet-cuda"].rsplit(", ", 1)[0]
    for machine in timed.machines(BIN.parent / "share" / "pet" / f"{device}.timings.jsonl"):
        for rates in machine["rates"]:
            if (machine["cpu"], rates["device"], rates["version"].rsplit(", ", 1)[0]) == (run.results["gpu"], device, software):
                return rates
    return None


def is_here(run, device):
    """Whether an engine can be asked; the first time it is calibrated, but in haste where it is another's, or where its rates are known."""
    if device not in run.here and device not in run.missing:
        try:
            if run.options.hasty and device in OTHERS:
                with contextlib.closing(Engine(run, device)) as engine:
                    hello = engine.ask({"cmd": "hello"})
            else:
                hello = run.rates[device] = (run.options.hasty and shipped(run, device)) or calibrated(device)
                say(f"  {device}: " + ", ".join(f"{what} {1e-12 * hello[what]:.3g}e12" for what in ["gemm", "conv", "copy"]))
            run.results["versions"][device] = f"{hello['engine']} {hello['version']}"
            run.here.add(device)
        except (Failure, StopIteration) as failure:
            run.missing[device] = str(failure)
            say(f"  {device}: missing: {failure}")
    return device in run.here


def hasty_runner(run):
    """A program for pet-tune --runner that times few plans."""
    script = run.folder / "hasty-runner"
    script.write_text(f'#!/bin/sh\nexec "{BIN / "pet-runner"}" --search {SEARCH} "$@"\n')
    script.chmod(0o755)
    return script


class Engine:
    """A process that times models on a device, and is asked again and again."""

    def __init__(self, run, device):
        self.run, self.device = run, device
        self.seconds = 30 + 5 * run.options.model_seconds  # a question that takes longer has no answer
        if device in OTHERS:
            environment, script, engine = OTHERS[device]
            python = SOURCE / environment / "bin" / "python"
            words = [python if python.is_file() else "python3", SOURCE / "runtime" / "ort" / script, "--engine", engine]
        else:
            words = [BIN / "pet-runner", "--device", device, *(["--search", SEARCH] if run.options.hasty else [])]
        self.runner = bench.Runner(*words)

    def ask(self, request):
        watch = threading.Timer(self.seconds, self.runner.process.kill)
        watch.start()
        try:
            answer = self.runner.ask(request)
        except OSError as error:
            raise Failure(f"the engine is gone: {error.strerror}") from error
        finally:
            watch.cancel()
        if "error" in answer:
            raise Failure(answer["error"])
        return answer

    def again(self):
        """Itself; another one where its process has ended."""
        if self.runner.process.poll() is None:
            return self
        self.close()
        return Engine(self.run, self.device)

    def close(self):
        with contextlib.suppress(OSError):
            self.runner.close()


def timed_on(run, engine, models):
    """Figures of a model, and of its rewritten form where there is one, with the model itself as a control."""
    paths = [str(path) for path in (models if len(models) == 1 else [*models, models[0]])]
    threads = os.cpu_count() if engine.device in OTHERS else 1  # what checks them runs on the processor
    answer = engine.ask({"cmd": "time", "models": paths, "runs": RUNS, "budget_s": run.options.model_seconds, "threads": threads})
    first, *others = answer["median"]
    line = {"seconds": first, "p10": answer["p10"][0], "p90": answer["p90"][0]}
    if others:
        line |= {"rewritten": others[0], "ratio": first / others[0], "control": first / others[1], "off": answer["max_abs_diff"][1] / (answer["max_abs"] or 1)}
    return line
