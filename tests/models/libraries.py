#!/usr/bin/env python3
"""Models of public libraries as torch.export writes them, of random weights: what users have, whether or not rules are timed for it.

    python tests/models/libraries.py FOLDER [NAME...]      needs requirements-export.txt

Writes FOLDER/NAME.onnx, where that is not there yet, and a line for each; by TorchScript's exporter where torch.export's cannot.
`bench/models.py --onnx FOLDER` measures them. Layers are fewer and narrower than in what is trained, where all layers are alike; sizes of
operators are those that users have. Once rules are timed at a model's shapes, it says nothing about other files any more: so it is since
2026-11-29 of most of these. Exit status 1 where no
exporter takes a model.
"""

import importlib
import sys

import torch

import exporting


class Call(torch.nn.Module):
    """What `function` does with the module and the inputs."""

    def __init__(self, module, function):
        super().__init__()
        self.module, self.function = module, function

    def forward(self, *inputs):
        return self.function(self.module, *inputs)


def values(*shape):
    return lambda: torch.randn(*shape)


def tokens(length):
    return lambda: torch.randint(4, 500, (1, length))


def constant(*numbers):
    return lambda: torch.tensor(numbers)


def library(folder):
    """A maker of models of a library: (class, inputs, what is called, arguments of the class)."""
    def maker(name, inputs, function=lambda module, *arguments: module(*arguments), **arguments):
        def make():
            *modules, leaf = name.split(".")
            module = getattr(importlib.import_module(".".join([folder, *modules])), leaf)(**arguments)
            return Call(module, function), inputs
        return make
    return maker


def transformers(name, inputs, function=lambda module, *arguments: module(*arguments)[0], config="", **arguments):
    """`config` is by default the class of the model's name with Config in place of what it is for."""
    def make():
        hub = importlib.import_module("transformers")
        about = getattr(hub, config or name.removesuffix("Model") + "Config")(**arguments)
        return Call(getattr(hub, name)(about), function), inputs
    return make


def timm(name, size=224):
    return lambda: (importlib.import_module("timm").create_model(name, pretrained=False), [values(1, 3, size, size)])


def segmentation(name, encoder="resnet18", **arguments):
    return library("segmentation_models_pytorch")(name, [values(1, 3, 256, 256)], encoder_name=encoder, encoder_weights=None, classes=5, **arguments)


torchvision, diffusers = library("torchvision.models"), library("diffusers")
monai = library("monai.networks.nets")
IMAGE, IMAGE_256, VOLUME, SOUND = [values(1, 3, 224, 224)], [values(1, 3, 256, 256)], [values(1, 1, 64, 64, 64)], [values(1, 16000)]
TEXT = {"vocab_size": 500, "num_hidden_layers": 2}
BERT = {**TEXT, "hidden_size": 384, "num_attention_heads": 6, "intermediate_size": 1536}
DECODER = {**TEXT, "hidden_size": 512, "num_attention_heads": 8, "intermediate_size": 1408, "use_cache": False}
GPT = {"vocab_size": 500, "use_cache": False}
VOLUMES = {"spatial_dims": 3, "in_channels": 1, "out_channels": 2}
ENCODER_BLOCKS = {"block_out_channels": (64, 128, 256), "down_block_types": ("DownEncoderBlock2D",) * 3, "up_block_types": ("UpDecoderBlock2D",) * 3}


def features(module, image):
    return list(module.backbone(image).values())


MODELS = {
    "fcos_backbone": torchvision("detection.fcos_resnet50_fpn", IMAGE_256, features, weights=None, weights_backbone=None),
    "raft_small": torchvision("optical_flow.raft_small", [values(1, 3, 128, 128)] * 2, lambda m, a, b: m(a, b, num_flow_updates=2)[-1]),
    "mvit_v2_s": torchvision("video.mvit_v2_s", [values(1, 3, 16, 224, 224)]),
    "swin3d_t": torchvision("video.swin3d_t", [values(1, 3, 8, 112, 112)]),
    "swin_v2_t": torchvision("swin_v2_t", IMAGE_256),
    **{name: torchvision(name, IMAGE) for name in ["regnet_x_400mf", "wide_resnet50_2", "efficientnet_v2_s", "mnasnet0_5", "squeezenet1_0", "vgg13", "densenet169"]},
    "unetr": monai("UNETR", VOLUME, in_channels=1, out_channels=4, img_size=(64, 64, 64), hidden_size=384, mlp_dim=1536, num_heads=6),
    "swin_unetr": monai("SwinUNETR", VOLUME, in_channels=1, out_channels=4, feature_size=24),
    "dynunet": monai("DynUNet", VOLUME, **VOLUMES, kernel_size=[3] * 4, strides=[1, 2, 2, 2], upsample_kernel_size=[2, 2, 2], filters=[16, 32, 64, 128]),
    "attention_unet": monai("AttentionUnet", VOLUME, **VOLUMES, channels=(16, 32, 64, 128), strides=(2, 2, 2)),
    "high_res_net": monai("HighResNet", [values(1, 1, 32, 32, 32)], **VOLUMES),
    "unet3d": monai("UNet", VOLUME, **VOLUMES, channels=(16, 32, 64, 128), strides=(2, 2, 2), num_res_units=2),
    "unet_plus_plus": monai("BasicUNetPlusPlus", [values(1, 1, 128, 128)], lambda m, x: m(x)[0], spatial_dims=2, in_channels=1, out_channels=2),
    "flexible_unet": monai("FlexibleUNet", [values(1, 3, 192, 192)], in_channels=3, out_channels=2, backbone="efficientnet-b0"),
    "densenet3d": monai("DenseNet121", VOLUME, **VOLUMES),
    "resnet3d": monai("resnet18", VOLUME, spatial_dims=3, n_input_channels=1, num_classes=2),
    "segresnet_ds": monai("SegResNetDS", VOLUME, **VOLUMES, init_filters=16),
    "autoencoder": monai("AutoEncoder", [values(1, 1, 128, 128)], spatial_dims=2, in_channels=1, out_channels=1, channels=(16, 32, 64, 128), strides=(2,) * 4),
    "vae_3d": monai("AutoencoderKL", [values(1, 1, 32, 32, 32)], lambda m, x: m.decode(m.encode(x)[0]), spatial_dims=3, channels=(32, 32, 64),
                    latent_channels=3, num_res_blocks=1, norm_num_groups=16, attention_levels=(False, False, True)),
    "diffusion_unet": monai("DiffusionModelUNet", [values(1, 1, 64, 64), constant(3)], spatial_dims=2, in_channels=1, out_channels=1, channels=(64, 64, 128),
                            attention_levels=(False, True, True), num_res_blocks=1, num_head_channels=32),
    **{f"smp_{name.lower()}": segmentation(name) for name in ["Unet", "UnetPlusPlus", "FPN", "PSPNet", "PAN", "Linknet", "MAnet", "DeepLabV3Plus", "UPerNet", "Segformer"]},
    "smp_unet_mobilenet": segmentation("Unet", "mobilenet_v2"),
    "smp_unet_vgg": segmentation("Unet", "vgg11_bn"),
    "smp_unet_scse": segmentation("Unet", decoder_attention_type="scse"),
    "smp_fpn_efficientnet": segmentation("FPN", "efficientnet-b0"),
    "unet2d": diffusers("UNet2DModel", [values(1, 3, 64, 64), constant(3)], lambda m, x, t: m(x, t)[0], sample_size=64, block_out_channels=(64, 128, 128, 256),
                        down_block_types=("DownBlock2D", "DownBlock2D", "AttnDownBlock2D", "DownBlock2D"),
                        up_block_types=("UpBlock2D", "AttnUpBlock2D", "UpBlock2D", "UpBlock2D")),
    "vae_encoder": diffusers("AutoencoderKL", [values(1, 3, 128, 128)], lambda m, x: m.encode(x)[0].mean, **ENCODER_BLOCKS),
    "tiny_vae_decoder": diffusers("AutoencoderTiny", [values(1, 4, 32, 32)], lambda m, x: m.decode(x)[0]),
    "tiny_vae_encoder": diffusers("AutoencoderTiny", [values(1, 3, 256, 256)], lambda m, x: m.encode(x)[0]),
    "dit": diffusers("DiTTransformer2DModel", [values(1, 4, 32, 32), constant(3), constant(1)], lambda m, x, t, c: m(x, timestep=t, class_labels=c)[0],
                     num_attention_heads=6, attention_head_dim=64, in_channels=4, out_channels=8, num_layers=3, sample_size=32),
    "sd3": diffusers("SD3Transformer2DModel", [values(1, 16, 32, 32), values(1, 77, 512), values(1, 256), constant(3)], lambda m,
                     *inputs: m(*inputs)[0], sample_size=32,
                     num_layers=2, attention_head_dim=64, num_attention_heads=6, joint_attention_dim=512, caption_projection_dim=384, pooled_projection_dim=256),
    "video_vae_temporal": diffusers("AutoencoderKLTemporalDecoder", [values(4, 4, 16, 16)], lambda m, x: m.decode(x, num_frames=4)[0],
                                    block_out_channels=(64, 128),
                                    down_block_types=("DownEncoderBlock2D",) * 2),
    "video_vae_cogvideox": diffusers("AutoencoderKLCogVideoX", [values(1, 16, 2, 16, 16)], lambda m, x: m.decoder(x)[0], block_out_channels=(64, 128),
                                     layers_per_block=1,
                                     down_block_types=("CogVideoXDownBlock3D",) * 2, up_block_types=("CogVideoXUpBlock3D",) * 2, temporal_compression_ratio=2),
    "sana": diffusers("SanaTransformer2DModel", [values(1, 16, 16, 16), values(1, 77, 512), constant(3.0)], lambda m, x, e, t: m(x, e, t)[0],
                      in_channels=16, out_channels=16,
                      num_attention_heads=6, num_layers=2, num_cross_attention_heads=6, cross_attention_head_dim=32, cross_attention_dim=192, caption_channels=512, sample_size=16),
    "wav2vec2_conformer": transformers("Wav2Vec2ConformerModel", SOUND, num_hidden_layers=2, hidden_size=384, num_attention_heads=6, intermediate_size=1536),
    "wavlm": transformers("WavLMModel", SOUND, num_hidden_layers=2),
    "data2vec_audio": transformers("Data2VecAudioModel", SOUND, num_hidden_layers=2),
    "mimi_decoder": transformers("MimiModel", [values(1, 512, 50)], lambda m, x: m.decoder(x), num_hidden_layers=2),
    "dac_decoder": transformers("DacModel", [values(1, 1024, 20)], lambda m, x: m.decoder(x)),
    "dac_encoder": transformers("DacModel", [values(1, 1, 16000)], lambda m, x: m.encoder(x)),
    "fastspeech2_hifigan": transformers("FastSpeech2ConformerHifiGan", [values(40, 80)], lambda m, x: m(x), "FastSpeech2ConformerHifiGanConfig"),
    "moonshine_encoder": transformers("MoonshineModel", SOUND, lambda m, x: m.encoder(x)[0], encoder_num_hidden_layers=2),
    "parakeet": transformers("ParakeetEncoder", [values(1, 400, 80)], config="ParakeetEncoderConfig", num_hidden_layers=2, hidden_size=512),
    "mask2former": transformers("Mask2FormerForUniversalSegmentation", IMAGE, lambda m, x: m(x).masks_queries_logits, "Mask2FormerConfig",
                                num_queries=20, encoder_layers=2, decoder_layers=2),
    "maskformer": transformers("MaskFormerForInstanceSegmentation", IMAGE, lambda m, x: m(x).masks_queries_logits, "MaskFormerConfig"),
    "hiera": transformers("HieraModel", IMAGE),
    "dinov3_convnext": transformers("DINOv3ConvNextModel", IMAGE),
    "dinov3": transformers("DINOv3ViTModel", IMAGE, num_hidden_layers=2),
    "vitdet": transformers("VitDetModel", IMAGE, num_hidden_layers=3, image_size=224, window_size=7, window_block_indices=[0, 1],
                           use_relative_position_embeddings=True),
    "bit": transformers("BitModel", IMAGE, depths=[2, 2, 2, 2]),
    "mobilevitv2": transformers("MobileViTV2Model", IMAGE_256),
    "focalnet": transformers("FocalNetModel", IMAGE),
    "vivit": transformers("VivitModel", [values(1, 8, 3, 224, 224)], num_hidden_layers=2, num_frames=8),
    "pvt": transformers("PvtModel", IMAGE, depths=[1, 1, 2, 1]),
    "patchtsmixer": transformers("PatchTSMixerModel", [values(1, 256, 7)], context_length=256, num_input_channels=7),
    "fnet": transformers("FNetModel", [tokens(128)], **{k: v for k, v in BERT.items() if k != "num_attention_heads"}),
    "convbert": transformers("ConvBertModel", [tokens(128)], **BERT),
    "funnel": transformers("FunnelModel", [tokens(128)], vocab_size=500, d_model=384, n_head=6, d_inner=1536, block_sizes=[1, 1, 1]),
    "squeezebert": transformers("SqueezeBertModel", [tokens(128)], embedding_size=384, **BERT),
    "mobilebert": transformers("MobileBertModel", [tokens(128)], vocab_size=500, num_hidden_layers=4),
    "bloom": transformers("BloomModel", [tokens(128)], hidden_size=384, n_layer=2, n_head=6, **GPT),
    "falcon": transformers("FalconModel", [tokens(128)], hidden_size=384, num_hidden_layers=2, num_attention_heads=6, **GPT),
    "gpt_neox": transformers("GPTNeoXModel", [tokens(128)], use_cache=False, **BERT),
    "qwen3": transformers("Qwen3Model", [tokens(128)], num_key_value_heads=2, head_dim=64, **DECODER),
    "gemma3": transformers("Gemma3TextModel", [tokens(256)], config="Gemma3TextConfig", num_key_value_heads=2, head_dim=64, sliding_window=64,
                           **{**DECODER, "num_hidden_layers": 6}),
    "bart": transformers("BartModel", [tokens(128), tokens(64)], lambda m, x, y: m(input_ids=x, decoder_input_ids=y)[0], vocab_size=500, d_model=384,
                         encoder_layers=2, decoder_layers=2,
                         encoder_attention_heads=6, decoder_attention_heads=6, encoder_ffn_dim=1536, decoder_ffn_dim=1536, use_cache=False),
    **{f"timm_{name}": timm(name, 256 if "33ts" in name or name.startswith("halo") else 224) for name in [
        "caformer_s18", "coat_lite_tiny", "convformer_s18", "convmixer_768_32", "convnext_atto", "convnextv2_atto", "cspdarknet53", "darknetaa53", "dm_nfnet_f0", "ecaresnet26t",
        "efficientformerv2_s0", "efficientvit_l1", "eva02_tiny_patch14_224", "fasternet_t0", "fastvit_mci0", "gcresnet33ts", "hiera_tiny_224",
        "hrnet_w18_small", "inception_resnet_v2", "inception_v4", "legacy_seresnet18", "levit_128s", "mobilenet_edgetpu_v2_s", "mobilenetv4_hybrid_medium", "mvitv2_tiny", "pvt_v2_b1",
        "regnetz_b16", "repghostnet_100", "resnest26d", "resnet26t", "resnet50c", "resnetv2_50x1_bit", "rexnet_100", "sehalonet33ts", "seresnext26t_32x4d",
        "skresnext50_32x4d", "swin_s3_tiny_224", "tresnet_m", "vit_tiny_patch16_224", "vitamin_small_224", "xception41"]},
}


EXPORTERS = [{"dynamo": True, "external_data": False, "verbose": False}, {"dynamo": False, "opset_version": 18}]


def export(name, path):
    """By the second exporter where the first does not take it; raises what that said where neither does."""
    errors = []
    for options in EXPORTERS:
        torch.manual_seed(0)
        try:
            module, inputs = MODELS[name]()
            with torch.no_grad():
                torch.onnx.export(module.eval(), tuple(make() for make in inputs), str(path), **options)
            return
        except Exception as error:  # of a library or an exporter, which have no base of their own
            errors.append(error)
    raise errors[0]


if __name__ == "__main__":
    sys.exit(exporting.main("Exports models of public libraries.", MODELS, export))
