#!/usr/bin/env python3
"""pet-apply --all on operators at which engines are slow (tests/models/families.py). Exit status 0 or 1.

With PET_TEST_PART=K/N the K-th part of them, else all; `families.py NAME...` tries these. None is refused, and ONNX Runtime finds what is
written equal, up to rounding; and so is the equal graph by hand that they are measured against (tests/models/equal_graphs). At each but
NOTHING a rule fires. In FIRES are
forms that exporters write of what a pattern says otherwise: the pattern matches.
"""

import pathlib
import sys
import tempfile

import onnx
import onnxruntime

import _part as part
from pack import BIN, SOURCE, made

sys.path.insert(0, str(SOURCE / "tests" / "models"))
import build  # noqa: E402
import compare  # noqa: E402
import equal_graphs  # noqa: E402
import families  # noqa: E402
import trial  # noqa: E402

TOLERANCE = 1e-4  # of an output, relative to its largest value
FIRES = {"matmul_diagonal": "matmul-diagonal", "upscaling_dense": "upscaling-s8", "upscaling_depthwise": "upscaling-depthwise-s8",
         "upscaling_depthwise_x2": "upscaling-depthwise-s2", "lrn": "mean-of-neighbours", "prelu_shared": "prelu-number", "hardswish_pieces": "hard-swish-in-pieces", "gelu_tanh_pieces": "gelu-tanh-in-pieces", "hardswish_pieces_between": "hard-swish-in-pieces", "number_scale_bias_between": "number-scale-bias", "scale_bias_between": "scale-bias", "argmax_two": "argmax-of-two", "where_positive": "where-positive", "channel_norm_sam": "layernorm-channels", "channel_norm_convnext_last": "layernorm-channels", "cumsum": "cumsum", "cumsum_long": "cumsum",
         "pow_tensor": "pow-square", "softmax_two": "softmax-channels", "log_softmax_channels": "log-softmax-channels",
         "softplus": "softplus", "mod_one": "mod-one", "elu": "elu", "selu": "selu", "pow_of_base": "pow-of-base", "distances_of_boxes": "absolute-distances-of-rows",
         "mean_channels": "mean-channels", "max_channels": "max-channels", "patches": "conv", "patches_3d": "conv", "products_of_rows": "products-of-rows",
         "repeat_last": "expand-twice-batch", "skinning": "matrices-times-columns", "pixel_unshuffle": "pixel-unshuffle", "unpatchify": "patches-to-pixels",
         "pixel_shuffle": "depth-to-space", "gather_rows": "gather-rows", "gather_elements": "gather-columns", "scatter_inside": "inside-replaced",
         "unfold": "unfold-3", "unfold_s2": "unfold-3-s2", "linear_tokens": "linear-tokens", "linear_heads": "linear-channels", "windows": "windows-160", "conv_rate_beyond": "conv-beyond", "merged_patches": "merged-patches",
         "shifted_windows": "shifted-windows-7",
         "channel_shuffle": "channel-shuffle", "rotary_pairs": "every-other", "weighted_maps": "weighted-maps",
         "distances_to_codes": "distances-to-codes", "layer_norm_in_pieces": "layernorm-in-pieces", "einsum_state_rows": "einsum-state-rows",
         "einsum_of_state_rows": "einsum-of-state-rows", "onehot_table": "onehot-matmul"}
# Where no rule fits, and docs/speed.md says why; a rule fires at all others.
NOTHING = {"conv_rate_large", "div_power_of_two", "gelu_tanh", "min_constant", "sign", "where_mask"}
APART = {"pixel_unshuffle": 2, "unpatchify": 2, "pixel_shuffle": 2}  # the Transposes that run: neither pet nor the engine joins them


def transposes_of(model, folder):
    """How many ONNX Runtime has, after what it does to a graph."""
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath, options.log_severity_level = str(folder / "optimized.onnx"), 3
    onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return sum(node.op_type == "Transpose" for node in onnx.load(options.optimized_model_filepath).graph.node)


def check(name, pack, folder):
    """What is wrong with one; None if nothing is."""
    model, output = build.build(name, folder), folder / "all.onnx"
    run = trial.apply(BIN, model, pack, output, "--all", "--check", "sites", environment={"PET_SHARE": str(folder)})  # --all needs no timings
    if run.code:
        return f"exit code {run.code}: {run.said}"
    if bool(run.rules()) == (name in NOTHING):
        return f"{len(run.rules())} rules fire"
    wanted = FIRES.get(name)
    if wanted and not any(rule.startswith(f"{wanted}/") for rule in run.rules()):  # a rule of a part may be preferred
        run = trial.apply(BIN, model, pack, output, "--all", "--check", "sites", "--only", f"{wanted}/*", environment={"PET_SHARE": str(folder)})
        if run.code or not run.rules():
            return f"no rule of {wanted} fires: {run.said}"
    if name in APART and (transposes := transposes_of(output, folder)) != APART[name]:
        return f"{transposes} Transposes are left, not {APART[name]}"
    by_hand = folder / "equal.onnx"
    onnx.save(equal_graphs.equal(name, onnx.load(model)), by_hand)
    try:
        reference = compare.Reference(model, positive=families.FAMILIES[name].positive)
        relative, of_equal = (reference.compare(other).relative for other in [output, by_hand])
    except (compare.runner.Mistake, onnx.checker.ValidationError) as error:
        return str(error)
    print(f"{name}: {len(run.rules())} sites, {relative:.1e}; the equal graph by hand {of_equal:.1e}")
    return None if max(relative, of_equal) <= TOLERANCE else f"differs by {relative:.1e} of an output's largest value, the equal graph by {of_equal:.1e}"


def main():
    pack, failed = made(), 0
    for name in sys.argv[1:] or part.mine(families.FAMILIES):
        with tempfile.TemporaryDirectory() as folder:
            wrong = check(name, pack, pathlib.Path(folder))
        if wrong:
            failed += 1
            print(f"families: {name}: {wrong}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
