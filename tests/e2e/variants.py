#!/usr/bin/env python3
"""Rules that fire on an operator fire on its variants: another batch, one that is left open, odd extents, other opsets, fp16
(tests/models/families.py). Exit status 0 or 1.

With PET_TEST_PART=K/N the K-th part of the families, else all; `variants.py NAME...` tries these. Wherever rules of a pattern fire
with pet-apply --all on a family's model, they fire as often on each of its variants, unless EXCEPTIONS says why not. A variant whose
batch is open is run as well, at another batch, original and rewritten, on ONNX Runtime.
"""

import collections
import pathlib
import sys
import tempfile

import onnx
import onnx.version_converter

import _part as part
from pack import BIN, SOURCE, made

sys.path.insert(0, str(SOURCE / "tests" / "models"))
import build  # noqa: E402
import compare  # noqa: E402
import families  # noqa: E402
import trial  # noqa: E402

#: A variant's model in a later opset: (of which variant, opset). "": the family's own.
LATER = {"opset17": ("opset13", 17), "opset21": ("", 21)}
VARIANTS = [*families.VARIANTS, *LATER]
TOLERANCE = 1e-4  # of an output, relative to its largest value

WHOLE = "its extents are those of its weights, or of its kernel"
ROUNDS = "its error bound is above what is allowed in float16"
SUMS = "the exporter sums in float, behind a Cast of the products"
TABLE = "its indices are made by nodes that read an inner value's Shape"
WINDOWS = "the exporter writes a Slice for each window"
SCATTER = "the exporter makes an index of all coordinates of what is replaced"
#: (variant, family): why its rules do not fire there.
EXCEPTIONS = {
    ("open", "gather_elements"): "the indices are a table expanded over the open batch, which no constant is",
    ("open", "scatter_inside"): TABLE,
    ("opset13", "scatter_inside"): SCATTER,
    ("opset17", "scatter_inside"): SCATTER,
    ("opset13", "layer_norm_in_pieces"): "LayerNormalization is of opset 17",
    ("opset13", "gelu_tanh_pieces"): "Gelu is of opset 20",
    ("opset17", "gelu_tanh_pieces"): "Gelu is of opset 20",
    ("opset13", "windows"): WINDOWS,
    ("opset17", "windows"): WINDOWS,
    ("fp16", "products_of_rows"): SUMS,
    ("fp16", "distances_of_boxes"): SUMS,
    ("fp16", "weighted_tokens"): SUMS,
    ("fp16", "mish"): ROUNDS,
    ("fp16", "mish_between"): ROUNDS,
    ("fp16", "softplus"): ROUNDS,
    ("fp16", "selu"): ROUNDS,
    ("fp16", "gelu_tanh_pieces"): ROUNDS,
    ("fp16", "hardswish_pieces"): ROUNDS,
    ("fp16", "hardswish_pieces_between"): ROUNDS,
    ("fp16", "where_positive"): "the exporter compares in float, behind a Cast",
}
#: (variant, family): why there is none.
MISSING = {
    **{(v, f): "TorchScript's exporter has no DFT" for v in ["opset13", "opset17"] for f in ["dft_400", "dft_64", "stft_400", "stft_512"]},
    **{(v, "unpatchify"): "TorchScript's exporter does not run its Python" for v in ["opset13", "opset17"]},
    **{("fp16", f): "torch has no FFT in half precision on a CPU" for f in ["dft_400", "dft_64", "stft_400", "stft_512"]},
    ("odd", "einsum_of_state_rows"): "its operands share each of their inner extents",
    **{("odd", f): WHOLE for f in ["dot_of_rows", "kernel_covers", "maps_of_one", "patches", "patches_3d", "resize_linear_tokens", "skinning", "unpatchify"]},
    ("fp16", "onehot_table"): "its module multiplies by float",
}


def made_model(variant, name):
    """None: it is not exported."""
    base, opset = LATER.get(variant, (variant, None))
    folder = build.FAMILIES / base
    if not (folder / f"{name}.onnxtxt").is_file():
        return None
    model = build.exported(name, folder=folder)
    return onnx.version_converter.convert_version(model, opset) if opset else model


def applied(model, pack, folder, *options):
    (folder / "model.onnx").write_bytes(model.SerializeToString(deterministic=True))
    run = trial.apply(BIN, folder / "model.onnx", pack, folder / "all.onnx", "--all", *options,
                      environment={"PET_SHARE": str(folder)})  # --all needs no timings
    return run, collections.Counter(rule.split("/")[0] for rule in run.rules())


def difference(name, folder):
    """How far the rewritten model is off at another batch; what is wrong as a text."""
    try:
        found = compare.compare(folder / "model.onnx", folder / "all.onnx", dims={"batch": 3, "other": 2}, positive=families.FAMILIES[name].positive)
    except (compare.runner.Mistake, onnx.checker.ValidationError) as error:
        return str(error)
    return "" if found.relative <= TOLERANCE else f"differs by {found.relative:.1e} of an output's largest value"


def check(variant, name, wanted, pack, folder):
    """(whether the rules fire or None, what is wrong)"""
    model = made_model(variant, name)
    if model is None:
        return None, "" if (variant, name) in MISSING else "it is not exported"
    if (variant, name) in MISSING:
        return None, "MISSING has it, and it is there"
    run, fired = applied(model, pack, folder, *(["--check", "sites"] if variant == "open" else ["--dry-run"]))
    if run.code:
        return False, f"exit code {run.code}: {run.said}"
    lost = wanted - fired
    if bool(lost) != ((variant, name) in EXCEPTIONS):
        return not lost, f"no rule of {', '.join(lost)} fires" if lost else "EXCEPTIONS has it, and its rules fire"
    return not lost, difference(name, folder) if variant == "open" and fired else ""


def main():
    pack, failed = made(), 0
    fire, there = collections.Counter(), collections.Counter()
    for name in sys.argv[1:] or part.mine(families.FAMILIES):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            _, wanted = applied(made_model("", name), pack, folder, "--dry-run")
            for variant in VARIANTS:
                fires, wrong = check(variant, name, wanted, pack, folder)
                there[variant] += fires is not None
                fire[variant] += bool(fires)
                if wrong:
                    failed += 1
                    print(f"variants: {variant} {name}: {wrong}", file=sys.stderr)
    print(", ".join(f"{variant} {fire[variant]} of {there[variant]}" for variant in VARIANTS))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
