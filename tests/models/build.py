#!/usr/bin/env python3
"""Builds the benchmark models, at their real sizes, with seeded random weights.

    python tests/models/build.py OUTDIR [NAME...]        writes OUTDIR/NAME.onnx, and NAME.onnx.data where it is above
                                                         2 GB; where no name is given, the benchmark's models

The same name gives the same bytes on every machine: weights come from the raw 64-bit stream of a PCG64 seeded by the
names of the model and of the tensor, through exact arithmetic. Their scale is He's (variance 2 / fan-in), so that
activations keep a sane range through any depth.

`resnet18`, the models of zoo.py and those of families.py are the graphs that exporters write (see export.py), weights filled in.
The others are written here, opset 17, named and arranged as published, without value_info, as older exporters do; as
those do, too, a BatchNormalization behind a Conv is folded into it.
"""

import json
import pathlib
import sys

import onnx
import onnx.parser

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import families  # noqa: E402
import images  # noqa: E402
import papers  # noqa: E402
import sequences  # noqa: E402
import weights  # noqa: E402
import zoo  # noqa: E402

EXPORTED = pathlib.Path(__file__).parent / "exported"
FAMILIES = EXPORTED / "families"


def exported(name, keep=weights.inside, folder=EXPORTED):
    """An exporter's graph, with its long constants and its weights filled in; `keep`: see weights.fill()."""
    packed = folder / f"{name}.json"
    constants = json.loads(packed.read_text()) if packed.is_file() else {}
    return weights.fill(onnx.parser.parse_model((folder / f"{name}.onnxtxt").read_text()), name, constants, keep)


MODELS = {
    "srcnn": images.srcnn,
    "resnet18": exported,
    "resnet18_b8": exported,
    "csrnet": lambda name: images.csrnet(name, 384, 512),
    "csrnet_odd": lambda name: images.csrnet(name, 200, 264),  # 25 x 33 where the dilated convolutions run
    "fast_style": images.fast_style,
    "dcgan": images.dcgan,
    "inception": images.inception,
    "alexnet": images.alexnet,
    "googlenet": images.googlenet,
    "vgg16": lambda name: images.vgg16(name, full=False),
    "nin": lambda name: images.nin(name, 224),
    "densenet121": lambda name: images.densenet(name, 224, [6, 12, 24, 16], 32),
    "mobilenet": lambda name: images.mobilenet(name, 224, 32),
    "unet": lambda name: images.unet(name, 224, 32),
    "r3d18": lambda name: images.r3d18(name, 112, 64),
    "lama": lambda name: images.lama(name, 32, 512, 2),  # 2 of 9 blocks, where images of 256 x 256 run through them
    "nafnet": lambda name: images.nafnet(name, 128, 32, 3),
    "window_core": lambda name: sequences.window_core(name, 2048, 8, 32),
    "window_attention": lambda name: sequences.window_attention(name, 2048, 8, 32),
    "encoder_layer": lambda name: sequences.encoder_layer(name, 128, 12),
    # The convolution modules of Conformer's three sizes (Gulati et al. 2020, table 1), on ten seconds of speech.
    "conformer_s": lambda name: sequences.conformer(name, 250, 144),
    "conformer_m": lambda name: sequences.conformer(name, 250, 256),
    "conformer_l": lambda name: sequences.conformer(name, 250, 512),
}

# Too large for every day: half a gigabyte.
HUGE = {
    "vgg16_full": lambda name: images.vgg16(name, full=True),
}

# The same structures at shapes that none of the timings in packs/ was taken at.
UNSEEN = {
    "csrnet_unseen": lambda name: images.csrnet(name, 288, 416),
    "nin_unseen": lambda name: images.nin(name, 256),
    "densenet_unseen": lambda name: images.densenet(name, 192, [6, 12, 24, 16], 40),
    "mobilenet_unseen": lambda name: images.mobilenet(name, 192, 48),
    "unet_unseen": lambda name: images.unet(name, 208, 48),
    "r3d18_unseen": lambda name: images.r3d18(name, 96, 80),
    "window_core_unseen": lambda name: sequences.window_core(name, 1536, 6, 40),
    "encoder_layer_unseen": lambda name: sequences.encoder_layer(name, 200, 8),
    "conformer_unseen": lambda name: sequences.conformer(name, 400, 192),
}

# The same structures, quickly built and checked; for tests.
SMALL = {
    "alexnet_small": lambda name: images.alexnet(name, 99, divide=8),
    "nin_small": lambda name: images.nin(name, 99, divide=8),
    "densenet_small": lambda name: images.densenet(name, 64, [2, 2], 8),
    "mobilenet_small": lambda name: images.mobilenet(name, 64, 8),
    "unet_small": lambda name: images.unet(name, 48, 4),
    "lama_small": lambda name: images.lama(name, 12, 16, 1),
    "nafnet_small": lambda name: images.nafnet(name, 16, 4, 1),
    "r3d18_small": lambda name: images.r3d18(name, 28, 8),
    "window_attention_small": lambda name: sequences.window_attention(name, 192, 2, 32),
    "window_attention_early": lambda name: sequences.window_attention(name, 200, 2, 20, scaled_before=True),
    "encoder_layer_small": lambda name: sequences.encoder_layer(name, 32, 2),
    "conformer_small": lambda name: sequences.conformer(name, 100, 32),
    "conv_small": lambda name: papers.conv(name, [1, 8, 16, 16], 8, 3, 1),
}

# The operators of PET's and EinNet's tables.
OPERATORS = {
    "pet_conv": lambda name: papers.conv(name, [1, 48, 38, 38], 64, 5, 2),
    "pet_dilated_conv": lambda name: papers.conv(name, [1, 512, 14, 14], 256, 3, 2, 2),
    "pet_group_conv": papers.convolutions_of_one,
    "pet_batch_matmul": papers.products_of_one,
    "einnet_conv3x3": lambda name: papers.conv(name, [1, 512, 7, 7], 512, 3, 1),
    "einnet_conv_transpose": papers.upsampling,
    "einnet_conv5x5": lambda name: papers.conv(name, [16, 32, 224, 224], 1, 5, 2),
}

# EinNet's networks (Inception-v3 is PET's), and what GPUs are slow at; each at batch 1 and 16.
BATCHES = (1, 16)
NETWORKS = {
    "resnet18": lambda name: exported("resnet18-script-batch"),
    "csrnet": lambda name: images.csrnet(name, 384, 512),
    "dcgan": images.dcgan,
    "fsrcnn": papers.fsrcnn,
    "gcn": papers.gcn,
    "inception_v3": lambda name: exported("inception_v3-script"),
    "longformer": lambda name: sequences.window_core(name, 2048, 8, 32),
    "r3d18": lambda name: images.r3d18(name, 112, 64),
    "video_vae": papers.video_vae_block,
    "replknet": papers.large_kernel_block,
    "vocoder": papers.vocoder,
}
PAPERS = OPERATORS | {f"{network}_n{batch}": lambda name, make=make, batch=batch: papers.with_batch(make(name), batch)
                      for network, make in NETWORKS.items() for batch in BATCHES}

# What tests/gpu/ times: these, and what else GPUs are known to be slow at: 3-d transposed and depthwise Convs, depthwise ones of one
# dimension, 3-d ones whose stride is their kernel.
ON_GPUS = [*PAPERS, "vnet3d-dynamo", "conv3d_depthwise_3", "conv3d_depthwise_5", "conv1d_depthwise_31", "conv1d_depthwise_7", "conv1d_positions",
           "stft_400", "istft_1024", "istft_4096", "patches_3d"]

# As exporters write them.
ZOO = {name: exported for name in zoo.MODELS}

# Operators by themselves, as exporters write them.
OPERATORS_EXPORTED = {name: lambda name: exported(name, folder=FAMILIES) for name in families.MODELS}

EVERY = MODELS | HUGE | UNSEEN | SMALL | PAPERS | ZOO | OPERATORS_EXPORTED


def build(name, folder):
    """Writes FOLDER/NAME.onnx, with external data beside it where zoo.LARGE has it, and returns its path."""
    path = pathlib.Path(folder) / f"{name}.onnx"
    path.parent.mkdir(parents=True, exist_ok=True)
    if name in zoo.LARGE:
        with weights.DataFile(path.with_name(f"{name}.onnx.data")) as data:
            model = exported(name, data.put)
    else:
        model = EVERY[name](name)
    path.write_bytes(model.SerializeToString(deterministic=True))
    onnx.checker.check_model(path, full_check=True)  # of the file, where it is above what protobuf takes
    return path


def main(arguments):
    if not arguments or arguments[0].startswith("-"):
        sys.exit(__doc__.strip() + "\n\nmodels: " + " ".join(EVERY))
    folder, *names = arguments
    unknown = [name for name in names if name not in EVERY]
    if unknown:
        sys.exit(f"build.py: no model named {', '.join(unknown)}; there are {' '.join(EVERY)}")
    for name in names or MODELS:
        print(build(name, folder))


if __name__ == "__main__":
    main(sys.argv[1:])
