#!/usr/bin/env python3
"""What the pack holds: every line of the table came out of the search by itself. Exit status 0 or 1."""

import collections
import json
import re
import sys

from pack import PATTERNS, SOURCE, made, tool

# family, patterns, with boxes?, operators that one replacement of it has, at least so many rules
FAMILIES = [
    ("images-side-by-side", ["conv"], True, ["Layout", "Conv", "Concat"], 4),  # pairs, along H and along W
    ("images-side-by-side", ["conv", "conv-grouped", "convtranspose"], False, ["Layout", "Pad", "Conv"], 2),  # with separators
    ("tiles-in-batch", ["conv", "conv-d2"], True, ["Layout", "Conv", "Concat"], 4),  # along one axis or both
    ("tiles-with-halo", ["conv", "conv-grouped", "conv-s2", "conv-1x1-s2", "convtranspose"], False, ["Slice", "Concat", "Conv"], 3),
    ("exchange", ["conv", "conv-s2", "convtranspose"], False, ["Layout", "Conv"], 1),  # of rows and columns
    ("phases-in-batch", ["conv-d2"], False, ["Pad", "Layout", "Conv", "Slice"], 1),
    ("phases-side-by-side", ["conv-d2"], True, ["Pad", "Layout", "Conv", "Concat", "Slice"], 3),  # along one axis or both
    ("depth-to-space", ["conv"], False, ["Conv", "Layout"], 6),  # blocks of 2 and 4, along one axis or both
    ("space-to-depth", ["conv-s2"], False, ["Layout", "Conv"], 1),
    ("space-to-depth", ["conv-1x1-s2"], False, ["Slice", "Conv"], 1),  # a strided slice
    ("convtranspose", ["conv", "conv-1x1", "conv-grouped"], False, ["ConvTranspose"], 1),
    ("conv", ["convtranspose", "matmul"], False, ["Conv"], 1),
    ("matmul", ["conv-1x1"], False, ["MatMul"], 1),
    ("toeplitz+matmul", ["conv", "conv-s2", "convtranspose"], False, ["MatMul"], 1),
    ("wider-groups", ["conv-grouped", "conv-grouped-s2"], False, ["Conv"], 1),
    ("dense-groups", ["conv-grouped", "conv-grouped-s2"], False, ["Conv"], 1),
    ("padded-channels", ["conv", "conv-1x1", "conv-s2", "matmul"], False, ["Pad"], 1),
    ("padded-channels", ["conv-depthwise", "conv-depthwise-s2"], False, ["Pad", "Conv", "Slice"], 3),
    ("two-exchanges", ["tokens-last", "transposed-parts", "ends-exchanged", "interleaved-pairs"], False, ["Layout"], 2),
    ("difference", ["sum-layernorm"], False, ["Neg", "Sub"], 1),
    ("slices", ["rest-replaced", "columns-replaced", "columns-replaced-in-front", "columns-replaced-behind", "rows-replaced",
                "rows-replaced-in-front", "rows-replaced-behind"], False, ["Slice", "Concat"], 1),
    ("offset-reduce", ["conv", "conv-s2"], False, ["MatMul", "OffsetReduce"], 1),
    ("offset-reduce", ["conv", "conv-s2", "conv-1x1-s2", "conv-grouped"], False, ["Conv", "OffsetReduce"], 1),
    ("offset-reduce", ["conv"], False, ["IndexMap", "Conv", "OffsetReduce", "Slice"], 3),  # rows and columns of the kernel as channels
    ("slabs+offset-reduce", ["conv-relu-conv-1x1-relu-conv"], False, ["Slice", "Relu", "Concat", "OffsetReduce"], 4),
    ("merged-siblings", ["parallel-conv", "parallel-matmul", "parallel-matmul-3", "two-convs"], False, ["Split"], 1),
    ("grouped-siblings", ["two-convs"], False, ["Concat", "Conv", "Split"], 1),
    ("joined-inputs", ["conv-sum", "matmul-sum-inputs"], False, ["Concat"], 1),
    ("split-inputs", ["conv-of-concat", "matmul-of-concat"], False, ["Add"], 1),
    ("fused-weights", ["repvgg", "branches", "conv-conv", "conv-bn", "bn-conv", "depthwise-separable"], False, ["Conv"], 1),
    ("fused-weights", ["number-scale-bias", "scale-bias", "number-scale-bias-conv-1x1", "conv-bias-number-scale-bias",
                       "conv-depthwise-bias-number-scale-bias"], False, ["Conv"], 1),
    ("exchanged", ["conv-1x1-gap", "conv-1x1-pool", "conv-1x1-resize-linear", "relu-maxpool", "attention-linear"], False, [], 1),
    ("exchanged", ["pyramid-conv-1x1"], False, ["Conv", "Resize", "Add"], 1),  # each map by itself
    ("exchanged", ["products-of-rows", "products-of-rows-batch", "weighted-rows"], False, ["MatMul", "Transpose"], 1),  # sums of products
    ("kernel-between-pixels", ["resize-conv"], False, ["ConvTranspose"], 1),
    ("kernel-between-pixels", ["upscaling-s2", "upscaling-s8", "upscaling-s16", "upscaling-s32"], False, ["ConvTranspose"], 1),  # each channel by itself
    ("kernel-between-pixels", ["upsample-expand"], False, ["ConvTranspose"], 2),  # each channel by itself, and not
    ("sub-pixel", ["resize-conv"], False, ["Conv", "DepthToSpace"], 2),  # one Conv, and one for each phase
    ("sub-pixel", ["resize-reflect-conv"], False, ["Pad", "Conv", "DepthToSpace"], 2),  # the mirrored border as the edge repeated
    ("sub-pixel", ["resize-conv", "resize-conv-5x5", "convtranspose-s2"], False, ["Conv", "Concat", "DepthToSpace"], 1),
    ("from-the-left", ["linear-channels"], False, ["Layout", "MatMul", "Add"], 1),
    ("columns", ["convtranspose-s2"], False, ["MatMul", "Col2Im"], 2),  # each image, and the batch as one
    ("frames", ["conv3d"], False, ["Conv", "Layout"], 2),
    ("frames", ["conv3d-depthwise-s1x2x2"], False, ["Conv", "Layout"], 3),
    ("row-as-image", ["convtranspose1d-s2", "convtranspose1d-s4", "convtranspose1d-s5", "convtranspose1d-s6", "convtranspose1d-s8"], False,
     ["ConvTranspose"], 1),
    ("row-as-image", ["conv1d", "conv1d-d3", "conv1d-depthwise", "conv1d-depthwise-causal"], False, ["Conv"], 1),
    ("flipped-kernel", ["conv1d", "conv3d"], False, ["ConvTranspose"], 1),
    ("exchanged", ["conv-rows-after-columns"], False, ["Conv", "Add"], 1),  # first what shrinks the most
    ("matrix-of-operator", ["stft-160", "stft-128", "stft-256", "stft-512"], False, ["Eye", "STFT", "Conv"], 1),
    ("kernel-in-pieces", ["conv"], False, ["Slice", "Conv", "Add"], 4),
    ("winograd", ["conv", "conv1d"], False, ["Table", "Conv", "MatMul", "Slice"], 4),
    ("phases+winograd", ["conv-d2"], False, ["Table", "Pad", "Conv", "MatMul", "Slice"], 4),
    ("frames+winograd", ["conv3d"], False, ["Table", "Conv", "Concat", "MatMul", "Slice"], 4),
    ("attention-in-blocks", ["attention-banded", "attention-banded-rows", "attention-banded-heads", "attention-banded-heads-plain",
                             "attention-banded-heads-scaled", "attention-banded-where"], False,
     ["Band", "Pad", "Concat", "Where", "Softmax"], 8),
    ("axes", ["resize-linear", "resize-linear-corners", "resize-cubic", "resize-cubic-corners", "resize-linear-3d", "resize-linear-3d-corners",
              "averagepool"], False, ["Eye", "MatMul"], 2),  # all axes as products with matrices
    ("axes", ["upscaling-depthwise-s2", "upscaling-depthwise-s4", "upscaling-depthwise-s8", "upscaling-s2", "upscaling-s8", "upscaling-s16",
              "upscaling-s32"], False, ["Eye", "ConvTranspose", "MatMul"], 6),  # rows, columns or both
    ("axes", ["resize-linear-3d-conv-1x1"], False, ["Conv", "Eye", "MatMul"], 2),  # the Conv first
    ("axes", ["mean-of-neighbours"], False, ["Eye", "AveragePool", "MatMul"], 1),
    ("axes", ["cumsum"], False, ["Eye", "CumSum", "MatMul"], 1),
    ("exchanged", ["matmul-diagonal"], False, ["Mul"], 1),
    ("exchanged", ["pair-features"], False, ["MatMul", "Add"], 1),
    ("expanded-square", ["distances-of-rows", "distances-to-codes"], False, ["MatMul", "Mul", "Add"], 1),
    ("axes", ["dft", "dft-inverse", "dft-real", "dft-real-whole"], False, ["Eye", "DFT", "MatMul"], 1),
    ("axes", ["dft-rows", "dft-rows-inverse", "dft-real-rows", "dft-images", "dft-images-inverse"], False, ["Eye", "DFT", "MatMul"], 2),
    ("axes", ["resize-nearest-3d", "softmax-channels", "log-softmax-channels", "mean-channels", "max-channels", "maxpool"], False, ["Layout"], 2),  # on views
    ("axes", ["l2-channels"], False, ["ReduceSum", "Sqrt", "Layout"], 2),
    ("axes", ["l2-channels", "lrn"], False, ["Eye", "MatMul", "Sqrt"], 1),
    ("definition", ["mish"], False, ["Sigmoid"], 1),
    ("definition", ["prelu-number"], False, ["LeakyRelu"], 1),
    ("definition", ["hard-swish-in-pieces"], False, ["HardSwish"], 1),
    ("definition", ["gelu-tanh-in-pieces"], False, ["Gelu"], 1),
    ("definition", ["layernorm-in-pieces"], False, ["LayerNormalization"], 1),
    ("definition", ["einsum-state-rows", "einsum-of-state-rows"], False, ["Transpose", "MatMul"], 2),
    ("definition", ["where-positive"], False, ["Relu"], 1),
    ("definition", ["where-leaky"], False, ["LeakyRelu"], 1),
    ("definition", ["argmax-of-two"], False, ["Greater", "Where"], 1),
    ("exchanged", ["prelu-within"], False, ["Mul", "Max"], 1),
    ("definition", ["softplus", "pow-of-base"], False, ["Exp", "Log"], 1),
    ("definition", ["elu", "selu"], False, ["Exp", "Clip"], 1),
    ("definition", ["mod-one"], False, ["Floor", "Relu"], 1),
    ("seeing-taps", ["conv-beyond"], False, ["Slice", "Conv"], 1),
    ("by-table", ["channel-shuffle"], False, ["IndexMap"], 1),
    ("by-table", ["shifted-windows-7", "shifted-windows-8", "shifted-windows-12", "shifted-windows-16", "windows-7-shifted-back",
                  "windows-8-shifted-back", "windows-12-shifted-back", "windows-16-shifted-back"], False, ["CyclicMap", "Layout"], 1),
    ("regrouped", ["merged-patches"], False, ["Layout"], 1),
    ("fused-weights", ["focus-conv"], False, ["Conv"], 1),
    ("softmax-of-two", ["softmax-channels"], False, ["Sigmoid"], 2),
    ("column-by-column", ["absolute-distances-of-rows"], False, ["Abs", "Add"], 3),
    ("definition", ["lrn", "l2-channels", "pow-three-quarters", "pow-inverse-root"], False, ["Sqrt"], 1),
    ("exchanged", ["row-products"], False, ["Mul", "ReduceSum"], 1),
    ("exchanged", ["stack-sum", "stack-sum-3"], False, ["Add"], 1),
    ("exchanged", ["upsample-expand"], False, ["Resize"], 1),
    ("exchanged", ["expand-mul", "expand-mul-pixels", "expand-div", "expand-div-channels"], False, [], 1),  # by broadcasting
    ("axes", ["mean-channels", "mean-rows"], False, ["Eye", "ReduceMean", "MatMul"], 1),
    ("product-in-blocks", ["banded-product"], False, ["Band", "Concat", "Mul", "MatMul"], 8),
    ("phases", ["banded-product-d2", "banded-product-d4", "banded-matrix-d2", "banded-matrix-d4"], False, ["Pad", "Layout", "IndexMap"], 1),
]


def missing(pack):
    """What the table asks for and the pack does not have, one line each."""
    rules = json.loads(tool("pet-rules", "ls", "--json", pack).stdout)
    text = tool("pet-rules", "export", pack).stdout
    replacements = {}
    for part in text.split("\nrule ")[1:]:
        name = part.split(" ", 1)[0]
        replacements[name] = part[part.index("  replacement {"):part.index("  proof ")]
    for family, patterns, boxes, operators, least in FAMILIES:
        for pattern in patterns:
            found = [r["name"] for r in rules if (r["family"], r["pattern"], r["boxes"] > 0) == (family, pattern, boxes)
                     and all(f" {o}(" in replacements[r["name"]] for o in operators)]
            if len(found) < least:
                yield f"{pattern}: {len(found)} rules of {family} with {' and '.join(operators)}, instead of {least}"
    unproved = [r["name"] for r in rules if r["verdict"] != "proved, checked"]
    if unproved:
        yield f"{len(unproved)} rules are not proved and checked: {unproved[:5]}"


def miscounted(pack):
    """What README.md and docs/search-space.md count: rules, those with boxes, patterns, rules of each source."""
    rules = json.loads(tool("pet-rules", "ls", "--json", pack).stdout)
    readme, space = ((SOURCE / name).read_text() for name in ["README.md", "docs/search-space.md"])
    found = collections.Counter(r["source"] for r in rules)
    said = {source: int(n) for source, n in re.findall(r"^\| `(\w+)` \| (\d+) \|", readme, re.M)}
    if said != found:
        yield f"README.md counts {said}, the pack has {dict(found)}"
    boxes, patterns = sum(r["boxes"] > 0 for r in rules), len(list(PATTERNS.glob("*.pet")))
    for text, line, counts in [(readme, r"^    (\d+) rules, (\d+) with boxes$", (len(rules), boxes)),
                               (readme, r"^    all( +\d+){5} +(\d+)$", (None, len(rules))),
                               (readme, r"^`rules/patterns/\*\.pet` holds (\d+) source programs", (patterns,)),
                               (space, r"over all (\d+) patterns takes [^:]* for (\d+) rules:", (patterns, len(rules)))]:
        match = re.search(line, text, re.M)
        if not match or any(count not in (None, int(n)) for n, count in zip(match.groups(), counts)):
            yield f"{line}: {match and match[0]!r}, counted: {counts}"


NUMBERS = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
SOURCE_WORDS = {"moves": "moves", "exchanges": "exchange", "skeletons": "skeleton"}


def unlike_found(pack):
    """docs/found.md has ten rules, says of each which generator it comes from, and counts them above the table."""
    rules = {r["name"]: r["source"] for r in json.loads(tool("pet-rules", "ls", "--json", pack).stdout)}
    text = (SOURCE / "docs" / "found.md").read_text()
    rows = {line.split("`")[1]: line.split("|")[2].strip() for line in re.findall(r"^\| `\S+` .*\|$", text, re.M)}
    for first, source in rows.items():
        if rules.get(first) != source:
            yield f"docs/found.md: {first} comes from {source}, the pack says {rules.get(first)}"
    above = re.findall(r"(\w+) from\s(?:filled\s)?\[(\w+)\]", text.split("\n|")[0])
    said = {SOURCE_WORDS.get(source): NUMBERS.index(number) for number, source in above}
    if len(rows) != 10 or said != collections.Counter(rows.values()):
        yield f"docs/found.md: {len(rows)} rules, and it counts {said}"


def main():
    lines = [*missing(made()), *miscounted(made()), *unlike_found(made())]
    print("\n".join(lines) or f"{len(FAMILIES)} lines of the table came out")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
