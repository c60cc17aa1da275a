#!/usr/bin/env python3
"""pet-apply on models as exporters write them (tests/models/zoo.py). Exit status 0 or 1.

With PET_TEST_PART=K/N the K-th part of those that do not take long and one of the others, which changes with the commit; else
the whole zoo; `zoo.py NAME...` tries these. pet-apply refuses none of them, with default options and under --all; ONNX Runtime
finds what it writes equal at each of the extents that the zoo tries; and with default options a second application gives the same
bytes. Sliding windows are found, also behind masks that are computed from sizes, once these are numbers; and operators in pieces
are recognised, as each exporter writes them.
"""

import collections
import pathlib
import sys
import tempfile
import time

import onnx

import _part as part
from pack import BIN, SOURCE, made, tool

sys.path.insert(0, str(SOURCE / "tests" / "models"))
import build  # noqa: E402
import trial  # noqa: E402
import zoo  # noqa: E402
from compare import runner  # noqa: E402

MISTAKES = (runner.Mistake, onnx.checker.ValidationError, onnx.shape_inference.InferenceError)


FIRES = {name: "attention-banded" for name in ["window_attention-dynamo", "window_attention-script", "window_fused-dynamo",
                                               "window_fused-script", "mistral-dynamo"]}


# With numbers for these extents as well: the mask is computed from sizes.
BOUND = {"llama-dynamo-dynamic": ({"batch": 1, "length": 64}, "attention-banded")}

# Operators that exporters write in pieces (rules/rewrite/idioms.h), with their weights: each by itself is a pattern here.
OPERATORS = {"gelu": ("Gelu(x)", ""), "gelu-tanh": ("Gelu(x) approximate=tanh", ""), "swish": ("Swish(x)", ""), "mish": ("Mish(x)", ""),
             "rmsnorm": ("RMSNormalization(x, s) axis=1", "s: const [K]"),
             "layernorm": ("LayerNormalization(x, s, a) axis=1", "s: const [K]\n  a: const [K]"), "hardswish": ("HardSwish(x)", "")}
# Rows in another order before it, and back behind it.
TURNED = """
pattern NAME {
  shape M K : 1 <= M, 1 <= K
  ANY
  x: [M, K]
  WEIGHT
  y = WHOLE
}
rule NAME/turned of NAME {
  family turned
  depth 1
  class M K : 1 <= M, 1 <= K
  numerics same-terms
  replacement {
    x2 = IndexMap(x) [m:M, k:K] -> [M - 1 - m, k]
    y2 = TURNED
    y = IndexMap(y2) [m:M, k:K] -> [M - 1 - m, k]
  }
}
"""
# How many of these models' operators are in pieces: a Gelu by Erf or by Tanh, a Mish by Softplus, and so on.
RECOGNISED = {
    "bert-script-dynamic": {"gelu": 2}, "distilbert-script": {"gelu": 2}, "whisper_encoder-script": {"gelu": 4}, "swin_t-script": {"gelu": 12},
    "window_attention-script": {"gelu": 2}, "window_fused-script": {"gelu": 2}, "convnext_tiny-script": {"gelu": 18}, "vit_b_16-script-batch": {"gelu": 3},
    "gpt2-dynamo": {"gelu-tanh": 2}, "gpt2-script-dynamic": {"gelu-tanh": 2}, "decoder_step-script": {"gelu-tanh": 2}, "darknet-script": {"mish": 17},
    "llama-dynamo": {"rmsnorm": 5, "swish": 2}, "llama-dynamo-dynamic": {"rmsnorm": 5, "swish": 2},
    "mistral-dynamo": {"rmsnorm": 5, "swish": 2}, "t5_encoder-script": {"rmsnorm": 5},
    "conformer-dynamo": {"swish": 6}, "conformer-script-dynamic": {"swish": 6}, "efficientnet_b0-dynamo": {"swish": 49},
    "mobilenet_v3_small-keras": {"hardswish": 19}, "transformer-keras-batch": {"layernorm": 4, "gelu-tanh": 2},
    "stable_diffusion_unet-dynamo": {"swish": 31}, "vae_decoder-script": {"swish": 29},
    "bifpn-dynamo": {"swish": 24}, "longformer-script": {"gelu": 2},
}
assert set(RECOGNISED) <= set(zoo.MODELS)


def chosen():
    """The models, and of them those that --all is tried on as well."""
    if sys.argv[1:] or not part.given():
        names = sys.argv[1:] or list(zoo.MODELS)
        return names, set(names)
    fast = part.mine(name for name in zoo.MODELS if name not in zoo.SLOW)
    return [*fast, part.one(zoo.SLOW)], set(fast)


class Trial:
    """A model, and what is wrong with what pet-apply makes of it."""

    def __init__(self, name, pack, folder):
        self.name, self.pack, self.folder = name, pack, folder
        self.model = build.build(name, folder)
        self.expected = trial.Expected(name, self.model)

    def apply(self, model, output, *options, **environment):
        run = trial.apply(BIN, model, self.pack, self.folder / output, *options, limit=280, environment=environment)
        return run, [f"{output}: exit code {run.code}: {run.said}"] if run.code else []

    def different(self, output):
        """The difference, and what is wrong with it."""
        difference = self.expected.difference(self.folder / output)
        return difference, [] if difference <= self.expected.tolerance else [f"{output} differs by {difference:.1e} of an output's largest value"]

    def everything(self):
        """--all; it needs no timings."""
        run, wrong = self.apply(self.model, "all.onnx", "--all", "--check", "sites", PET_SHARE=str(self.folder))
        if wrong:
            return wrong
        if self.name in FIRES and not any(rule.startswith(FIRES[self.name]) for rule in run.rules()):
            wrong.append(f"no rule of {FIRES[self.name]} fires: {', '.join(run.rules())}")
        difference, off = self.different("all.onnx")
        print(f"{self.name}: --all: {len(run.rules())} sites, {run.report['nodes'][0]} nodes to {run.report['nodes'][1]}, {difference:.1e}, {run.seconds:.1f} s")
        return wrong + off

    def bound(self):
        """--all, with numbers for the extents that it leaves open, as BOUND says: then masks that it makes of sizes are constants."""
        extents, wanted = BOUND[self.name]
        options = [word for name, extent in extents.items() for word in ("--bind", f"{name}={extent}")]
        run, wrong = self.apply(self.model, "bound.onnx", "--all", "--check", "sites", *options, PET_SHARE=str(self.folder))
        fired = sum(rule.startswith(wanted) for rule in run.rules())
        return wrong or ([] if fired else [f"bound to {extents}, no rule of {wanted} fires: {', '.join(run.rules())}"])

    def default(self):
        """Default options, with the whole check and the timings that ship; then once more."""
        run, wrong = self.apply(self.model, "once.onnx")
        if wrong:
            return wrong
        difference, wrong = self.different("once.onnx")
        once = trial.contents(self.folder / "once.onnx")
        print(f"{self.name}: by default: {len(run.rules())} sites, {difference:.1e}, {run.seconds:.1f} s")
        if not run.rules():  # the first application was on these bytes as well
            isCopy = once == trial.contents(self.model)
            return wrong + ([] if isCopy != bool(run.report["left_out"]) else ["nothing fires, and the bytes are others, or guards went and they are not"])
        again, refused = self.apply(self.folder / "once.onnx", "twice.onnx")
        same = not refused and trial.contents(self.folder / "twice.onnx") == once
        return wrong + refused + ([] if same else [f"a second application changes something: {', '.join(again.rules())}"])


    def recognised(self, operators):
        """Operators in pieces match the patterns of the operators, each of them."""
        run = trial.apply(BIN, self.model, operators, self.folder / "operators.onnx", "--all", "--dry-run", limit=280)
        if run.code:
            return [f"exit code {run.code} with the patterns of operators: {run.said}"]
        found = collections.Counter(pattern for _, pattern in run.sites())
        return [f"{found[pattern]} places are {pattern}, not {count}" for pattern, count in RECOGNISED[self.name].items() if found[pattern] != count]


def operators_pack(folder):
    """OPERATORS as patterns, each with a rule."""
    text, proved, pack = folder / "operators.pet", folder / "proved.pet", folder / "operators.db"
    text.write_text("".join(
        TURNED.replace("NAME", name).replace("WHOLE", whole).replace("TURNED", whole.replace("(x", "(x2")).replace("WEIGHT", weight)
        .replace("ANY", "any 1e-05 > 0" if weight else "") for name, (whole, weight) in OPERATORS.items()))
    for done in (tool("pet-synth", "prove", text, "-o", proved), tool("pet-rules", "import", proved, "-o", pack)):
        if done.returncode:
            sys.exit(f"the patterns of operators: {done.stdout}{done.stderr}")
    return pack


def check(name, pack, operators, folder, with_all):
    """What is wrong with a model; empty if nothing is."""
    try:
        one = Trial(name, pack, folder)
        wrong = one.default() + (one.everything() if with_all else [])
        return wrong + (one.bound() if name in BOUND else []) + (one.recognised(operators) if name in RECOGNISED else [])
    except MISTAKES as error:
        return [str(error)]


def main():
    pack = made()
    names, with_all = chosen()
    print(f"{len(names)} of {len(zoo.MODELS)} models: {', '.join(names)}")
    failures, begin = [], time.perf_counter()
    with tempfile.TemporaryDirectory() as scratch:
        operators = operators_pack(pathlib.Path(scratch))
        for name in names:
            with tempfile.TemporaryDirectory(dir=scratch) as folder:
                failures += [f"{name}: {wrong}" for wrong in check(name, pack, operators, pathlib.Path(folder), name in with_all)]
    print(f"{time.perf_counter() - begin:.0f} s")
    for failure in failures:
        print(f"zoo: {failure}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
