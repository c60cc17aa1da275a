#!/usr/bin/env python3
"""Models of PaddleClas and PaddleSeg, and as PaddleOCR builds them, as paddle2onnx writes them, of random weights: what users of PaddlePaddle
have, whether or not rules are timed for it.

    python tests/models/libraries_paddle.py FOLDER [NAME...]      needs requirements-export-paddle.txt

Writes FOLDER/NAME.onnx, where that is not there yet, and a line for each; `bench/models.py --onnx FOLDER` measures them. Exit
status 1 where the exporter does not take a model.
"""

import concurrent.futures
import importlib
import multiprocessing
import pathlib
import site
import sys

import numpy as np
import paddle
from paddle import nn
from paddle.static import InputSpec

import exporting
from export import spread

OPSET = 17


def image(size, height=None):
    return [InputSpec([1, 3, height or size, size], "float32", "image")]


# ---- libraries

def classifier(name, size=224, **arguments):
    """Of PaddleClas, whose package has its modules below a folder of its own."""
    def make():
        folder = next(path for path in map(pathlib.Path, site.getsitepackages()) if (path / "paddleclas").is_dir()) / "paddleclas"
        sys.path.insert(0, str(folder))
        importlib.import_module("ppcls.utils.logger").init_logger()
        return getattr(importlib.import_module("ppcls.arch.backbone"), name)(**arguments), image(size)
    return make


def segmenter(name, size=256, backbone=None, body=None, **arguments):
    """Of PaddleSeg, of 19 classes; `body` are arguments of the backbone."""
    def make():
        from paddleseg.cvlibs import manager
        made = {"backbone": manager.BACKBONES[backbone](**(body or {}))} if backbone else {}
        return manager.MODELS[name](num_classes=19, **made, **arguments), image(size)
    return make


# ---- as PaddleOCR builds them

class ConvNorm(nn.Sequential):
    def __init__(self, before, after, size=3, activation=nn.Hardswish, **arguments):
        super().__init__(nn.Conv2D(before, after, size, padding=size // 2, bias_attr=False, **arguments), nn.BatchNorm2D(after),
                         *[activation()] if activation else [])


class TextDetector(nn.Layer):
    """Differentiable binarization: maps of four scales are brought to one, two transposed convolutions go back to pixels."""

    def __init__(self, width=96):
        super().__init__()
        self.body = paddle.vision.models.resnet18(num_classes=0, with_pool=False)
        self.across = nn.LayerList([nn.Conv2D(c, width, 1, bias_attr=False) for c in [64, 128, 256, 512]])
        self.smooth = nn.LayerList([nn.Conv2D(width, width // 4, 3, padding=1, bias_attr=False) for _ in range(4)])
        self.head = nn.Sequential(ConvNorm(width, width // 4, activation=nn.ReLU), nn.Conv2DTranspose(width // 4, width // 4, 2, stride=2),
                                  nn.BatchNorm2D(width // 4), nn.ReLU(), nn.Conv2DTranspose(width // 4, 1, 2, stride=2), nn.Sigmoid())

    def forward(self, image):
        body = self.body
        x, maps = body.maxpool(body.relu(body.bn1(body.conv1(image)))), []
        for layer in [body.layer1, body.layer2, body.layer3, body.layer4]:
            x = layer(x)
            maps.append(x)
        maps = [conv(x) for conv, x in zip(self.across, maps)]
        for i in [2, 1, 0]:
            maps[i] = maps[i] + nn.functional.interpolate(maps[i + 1], maps[i].shape[2:])
        maps = [nn.functional.interpolate(conv(x), maps[0].shape[2:]) if i else conv(x)
                for i, (conv, x) in enumerate(zip(self.smooth, maps))]
        return self.head(paddle.concat(maps[::-1], axis=1))


class TextRecognizer(nn.Layer):
    """A line of 48 x 320: a convolutional body that keeps columns, attention among them, a class for each."""

    def __init__(self, classes=6625):
        super().__init__()
        widths = [(32, 64, (1, 1)), (64, 128, (2, 1)), (128, 256, (2, 1)), (256, 512, (2, 1))]
        self.body = nn.Sequential(ConvNorm(3, 32, stride=2), *[nn.Sequential(ConvNorm(a, a, groups=a, stride=s), ConvNorm(a, b, 1)) for a, b, s in widths],
                                  nn.AvgPool2D((3, 2)), ConvNorm(512, 120, 1))
        self.columns = nn.LayerList([nn.TransformerEncoderLayer(120, 8, 240, activation="gelu") for _ in range(2)])
        self.classes = nn.Linear(120, classes)

    def forward(self, image):
        x = paddle.squeeze(self.body(image), 2).transpose([0, 2, 1])
        for layer in self.columns:
            x = layer(x)
        return nn.functional.softmax(self.classes(x), axis=2)


MODELS = {
    **{name.lower(): classifier(name, **arguments) for name, arguments in {
        "PPLCNet_x1_0": {}, "PPLCNetV2_base": {}, "PPHGNet_tiny": {}, "PPHGNetV2_B0": {}, "ESNet_x1_0": {}, "MobileNetV4_conv_small": {}, "ResNet50_vd": {},
        "MicroNet_M3": {}, "MixNet_S": {}, "RedNet26": {}, "ReXNet_1_0": {}, "ResNeSt50_fast_1s1x64d": {},
        "Res2Net50_26w_4s": {}, "SE_ResNet18_vd": {}, "DLA34": {}, "DPN68": {}, "PeleeNet": {}, "MobileNeXt_x1_0": {}, "FasterNet_T0": {}, "StarNet_S1": {},
        "VAN_B0": {}, "TNT_small": {}, "LeViT_128S": {}, "CSWinTransformer_tiny_224": {}, "PVT_V2_B0": {}, "pcpvt_small": {}, "alt_gvt_small": {},
        "MobileViT_XS": {"size": 256}, "NextViT_small_224": {}, "GoogLeNet": {}, "DarkNet53": {"size": 256}, "TinyNet_C": {"size": 184},
        "Xception41": {"size": 299}, "RepVGG_A0": {}, "DSNet_tiny": {}, "CvT_13_224": {},
    }.items()},
    "seg_pp_liteseg": segmenter("PPLiteSeg", backbone="STDC1"),
    "seg_bisenet_v2": segmenter("BiSeNetV2"),
    "seg_ddrnet_23": segmenter("DDRNet_23"),
    "seg_fast_scnn": segmenter("FastSCNN", enable_auxiliary_loss=False),
    "seg_espnet_v1": segmenter("ESPNetV1"),
    "seg_hardnet": segmenter("HarDNet"),
    "seg_u2netp": segmenter("U2Netp"),
    "seg_unet": segmenter("UNet"),
    "seg_portraitnet": segmenter("PortraitNet", backbone="MobileNetV2_x1_0"),
    "seg_pp_humanseg_lite": segmenter("PPHumanSegLite", 192),
    "seg_lraspp": segmenter("LRASPP", backbone="MobileNetV3_large_x1_0_os8"),
    "seg_danet": segmenter("DANet", backbone="ResNet18_vd", backbone_indices=(2, 3), body={"output_stride": 8}),
    "seg_encnet": segmenter("ENCNet", backbone="ResNet18_vd", body={"output_stride": 8}),
    "seg_gcnet": segmenter("GCNet", backbone="ResNet18_vd", gc_channels=256, ratio=0.25, body={"output_stride": 8}),
    "seg_glore": segmenter("GloRe", backbone="ResNet18_vd", body={"output_stride": 8}),
    "seg_ocrnet": segmenter("OCRNet", backbone="HRNet_W18", backbone_indices=[0]),
    "seg_psp": segmenter("PSPNet", backbone="ResNet18_vd", body={"output_stride": 8}),
    "seg_deeplab_v3p": segmenter("DeepLabV3P", backbone="ResNet18_vd", body={"output_stride": 8}),
    "seg_topformer": segmenter("TopFormer", backbone="TopTransformer_Tiny"),
    "ocr_detector": lambda: (TextDetector(), image(640)),
    "ocr_recognizer": lambda: (TextRecognizer(), image(320, 48)),
}


def export_here(name, path):
    paddle.seed(0)
    module, inputs = MODELS[name]()
    random = np.random.default_rng(0)
    for tensor in [*module.parameters(), *module.buffers()]:
        tensor.set_value(spread(tensor.numpy(), random))
    module.eval()
    paddle.onnx.export(module, str(path.with_suffix("")), input_spec=inputs, opset_version=OPSET)
    path.with_suffix(".onnx").rename(path)


def export(name, path):
    """In a process of its own: models name their parameters, and within a process a name may be used once."""
    with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        try:
            pool.submit(export_here, name, path).result()
        except SystemExit as gave_up:  # paddle2onnx ends the process where it cannot go on
            raise RuntimeError("paddle2onnx gives up; its messages say why") from gave_up


if __name__ == "__main__":
    sys.exit(exporting.main("Exports models of PaddleClas and PaddleSeg.", MODELS, export))
