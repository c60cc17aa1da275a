"""The architectures of the zoo (zoo.py) for export.py: each function in MAKERS makes a module (or a Keras model).

Published architectures, in the arrangement of the paper or of the library that is named. Those of sources_images.py, sources_video.py
and sources_signals.py are where engines are slow at something.
"""

import math

import torch
from torch import nn
from torch.nn import functional as F

import sources_images as images
import sources_signals as signals
import sources_video as video


# ---- torchvision, timm

def torchvision_model(name, **arguments):
    def make():
        import torchvision
        return torchvision.models.get_model(name, weights=None, **arguments)
    return make


def timm_model(name):
    def make():
        import timm
        return timm.create_model(name, pretrained=False)
    return make


def monai_net(name, **arguments):
    """Of three spatial dimensions, for medical images."""
    def make():
        from monai.networks import nets
        return getattr(nets, name)(spatial_dims=3, **arguments)
    return make


def backboned(name):
    def make():
        import torchvision
        return Dense(torchvision.models.get_model(name, weights=None, weights_backbone=None))
    return make


class Dense(nn.Module):
    """Of a segmentation model's outputs the one that is used."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x):
        return self.model(x)["out"]


def vit_b_16():
    import torchvision
    return torchvision.models.VisionTransformer(image_size=224, patch_size=16, num_layers=3, num_heads=12, hidden_dim=768, mlp_dim=3072)


class Detections(nn.Module):
    """One image; boxes, labels, scores."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, image):
        found = self.model([image])
        found = found[1][0] if isinstance(found, tuple) else found[0]
        return found["boxes"], found["labels"], found["scores"]


def detector(name, **arguments):
    def make():
        import torchvision
        return Detections(torchvision.models.get_model(name, weights=None, weights_backbone=None, **arguments))
    return make


# ---- transformers, diffusers

class First(nn.Module):
    """A model of transformers or diffusers: tensors in, by these names, the first of its outputs out."""

    def __init__(self, model, names, **fixed):
        super().__init__()
        self.model, self.names, self.fixed = model, names, fixed

    def forward(self, *tensors):
        return self.model(**dict(zip(self.names, tensors)), **self.fixed, return_dict=False)[0]


TEXT = ["input_ids", "attention_mask"]


def transformer(model, config, names, fixed=None, **reduced):
    def make():
        import transformers
        made = getattr(transformers, model)(getattr(transformers, config)(**reduced))
        return First(made, names, **(fixed or {}))
    return make


def whisper_encoder():
    from transformers import WhisperConfig
    from transformers.models.whisper.modeling_whisper import WhisperEncoder
    config = WhisperConfig(d_model=384, encoder_layers=2, encoder_attention_heads=6, encoder_ffn_dim=1536)
    return First(WhisperEncoder(config), ["input_features"])


def segformer_probabilities():
    """Of the 19 classes of Cityscapes."""
    return images.Probabilities(transformer("SegformerForSemanticSegmentation", "SegformerConfig", ["pixel_values"], num_labels=19)())


def detr():
    from transformers import DetrConfig, DetrForObjectDetection, ResNetConfig
    backbone = ResNetConfig(embedding_size=64, hidden_sizes=[64, 128, 256, 512], depths=[2, 2, 2, 2], layer_type="basic",
                            out_features=["stage4"])
    config = DetrConfig(use_timm_backbone=False, use_pretrained_backbone=False, backbone=None, backbone_config=backbone,
                        encoder_layers=2, decoder_layers=2)
    return First(DetrForObjectDetection(config), ["pixel_values"])


def stable_diffusion_unet():
    from diffusers import UNet2DConditionModel
    model = UNet2DConditionModel(sample_size=32, block_out_channels=(80, 160, 320, 320), layers_per_block=1, cross_attention_dim=192,
                                 attention_head_dim=8, norm_num_groups=16)
    return First(model, ["sample", "timestep", "encoder_hidden_states"])


class Decoder(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, sample):
        return self.model.decode(sample, return_dict=False)[0]


def vae_decoder():
    from diffusers import AutoencoderKL
    return Decoder(AutoencoderKL(block_out_channels=(32, 64, 128, 128), down_block_types=("DownEncoderBlock2D",) * 4,
                                 up_block_types=("UpDecoderBlock2D",) * 4, layers_per_block=2, latent_channels=4))


# ---- super-resolution, GANs

class Espcn(nn.Sequential):
    """Shi et al. 2016: three convolutions at low resolution, then pixels from channels."""

    def __init__(self, factor=3):
        super().__init__(nn.Conv2d(1, 64, 5, padding=2), nn.Tanh(), nn.Conv2d(64, 32, 3, padding=1), nn.Tanh(),
                         nn.Conv2d(32, factor**2, 3, padding=1), nn.PixelShuffle(factor))


class Residual(nn.Module):
    def __init__(self, *layers, scale=1.0):
        super().__init__()
        self.layers, self.scale = nn.Sequential(*layers), scale

    def forward(self, x):
        y = self.layers(x)
        return x + (y if self.scale == 1.0 else y * self.scale)


def srgan_block():
    return Residual(nn.Conv2d(64, 64, 3, padding=1), nn.BatchNorm2d(64), nn.PReLU(), nn.Conv2d(64, 64, 3, padding=1), nn.BatchNorm2d(64))


def srgan():
    """The generator of Ledig et al. 2017."""
    trunk = Residual(*(srgan_block() for _ in range(4)), nn.Conv2d(64, 64, 3, padding=1), nn.BatchNorm2d(64))
    up = [layer for _ in range(2) for layer in (nn.Conv2d(64, 256, 3, padding=1), nn.PixelShuffle(2), nn.PReLU())]
    return nn.Sequential(nn.Conv2d(3, 64, 9, padding=4), nn.PReLU(), trunk, *up, nn.Conv2d(64, 3, 9, padding=4), nn.Tanh())


def edsr():
    """Lim et al. 2017, the smaller one: residual blocks without normalisation."""
    def block():
        return Residual(nn.Conv2d(64, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, 64, 3, padding=1), scale=0.1)
    return nn.Sequential(nn.Conv2d(3, 64, 3, padding=1), Residual(*(block() for _ in range(4)), nn.Conv2d(64, 64, 3, padding=1)),
                         nn.Conv2d(64, 256, 3, padding=1), nn.PixelShuffle(2), nn.Conv2d(64, 3, 3, padding=1))


def dcgan():
    """The generator of Radford et al. 2016, for 64 x 64."""
    layers = []
    for inner, outer, stride, pad in [(100, 512, 1, 0), (512, 256, 2, 1), (256, 128, 2, 1), (128, 64, 2, 1)]:
        layers += [nn.ConvTranspose2d(inner, outer, 4, stride, pad, bias=False), nn.BatchNorm2d(outer), nn.ReLU(True)]
    return nn.Sequential(*layers, nn.ConvTranspose2d(64, 3, 4, 2, 1, bias=False), nn.Tanh())


def dcgan_discriminator():
    layers = [nn.Conv2d(3, 64, 4, 2, 1, bias=False), nn.LeakyReLU(0.2)]
    for inner in (64, 128, 256):
        layers += [nn.Conv2d(inner, 2 * inner, 4, 2, 1, bias=False), nn.BatchNorm2d(2 * inner), nn.LeakyReLU(0.2)]
    return nn.Sequential(*layers, nn.Conv2d(512, 1, 4, bias=False), nn.Sigmoid(), nn.Flatten())


class Level(nn.Module):
    """One level of pix2pix's U-Net and all below it (Isola et al. 2017): strided down, transposed up, both joined."""

    def __init__(self, outer, inner, below=None, outermost=False):
        super().__init__()
        norm = nn.InstanceNorm2d
        down = [] if outermost else [nn.LeakyReLU(0.2)]
        down.append(nn.Conv2d(3 if outermost else outer, inner, 4, 2, 1))
        if below and not outermost:
            down.append(norm(inner))
        up = [nn.ReLU(), nn.ConvTranspose2d(inner * (2 if below else 1), outer, 4, 2, 1)]
        up.append(nn.Tanh() if outermost else norm(outer))
        self.body, self.outermost = nn.Sequential(*down, *([below] if below else []), *up), outermost

    def forward(self, x):
        y = self.body(x)
        return y if self.outermost else torch.cat([x, y], 1)


def pix2pix():
    level = None
    for outer, inner in [(512, 512), (512, 512), (512, 512), (512, 512), (256, 512), (128, 256), (64, 128)]:
        level = Level(outer, inner, level)
    return Level(3, 64, level, outermost=True)


# ---- sequences

class Attention(nn.Module):
    """Self-attention as it is written by hand, or by torch's function; `band`: positions further apart do not see each other."""

    def __init__(self, width, heads, band=None, fused=False):
        super().__init__()
        self.heads, self.band, self.fused = heads, band, fused
        self.q, self.k, self.v, self.out = (nn.Linear(width, width) for _ in range(4))

    def split(self, x):
        return x.view(x.shape[0], x.shape[1], self.heads, -1).transpose(1, 2)

    def forward(self, x):
        q, k, v = self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x))
        far = None
        if self.band is not None:
            position = torch.arange(x.shape[1], device=x.device)
            far = (position[:, None] - position[None, :]).abs() > self.band
        if self.fused:
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=None if far is None else ~far)
        else:
            scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
            y = torch.softmax(scores if far is None else scores.masked_fill(far, float("-inf")), -1) @ v
        return self.out(y.transpose(1, 2).reshape(x.shape))


def window_attention(fused=False):
    """Longformer's band without its global positions (Beltagy et al. 2020), as a dense product with a mask."""
    layers = []
    for _ in range(2):
        feed = nn.Sequential(nn.LayerNorm(256), nn.Linear(256, 1024), nn.GELU(), nn.Linear(1024, 256))
        layers += [Residual(nn.LayerNorm(256), Attention(256, 8, band=32, fused=fused)), Residual(feed)]
    return nn.Sequential(*layers)


def darknet():
    """The first two stages of CSPDarknet-53 (Bochkovskiy et al. 2020), at half the width."""
    def conv(channels, features, kernel=3, stride=1):
        return nn.Sequential(nn.Conv2d(channels, features, kernel, stride, kernel // 2, bias=False), nn.BatchNorm2d(features), nn.Mish())

    class Stage(nn.Module):
        def __init__(self, channels, features, blocks):
            super().__init__()
            half = features // 2
            self.down, self.left, self.right = conv(channels, features, stride=2), conv(features, half, 1), conv(features, half, 1)
            self.blocks = nn.Sequential(*(Residual(conv(half, half, 1), conv(half, half)) for _ in range(blocks)), conv(half, half, 1))
            self.join = conv(features, features, 1)

        def forward(self, x):
            x = self.down(x)
            return self.join(torch.cat([self.blocks(self.left(x)), self.right(x)], 1))

    return nn.Sequential(conv(3, 16), Stage(16, 32, 1), Stage(32, 64, 2))


class Turned(nn.Module):
    """(batch, length, channels) for layers that want the channels in front."""

    def __init__(self, *layers):
        super().__init__()
        self.layers = nn.Sequential(*layers)

    def forward(self, x):
        return self.layers(x.transpose(1, 2)).transpose(1, 2)


def conformer(width=256, blocks=2):
    """Gulati et al. 2020, without relative positions."""
    def feed():
        return Residual(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.SiLU(), nn.Linear(4 * width, width), scale=0.5)

    def convolution():
        return Residual(nn.LayerNorm(width), Turned(
            nn.Conv1d(width, 2 * width, 1), nn.GLU(1), nn.Conv1d(width, width, 31, padding=15, groups=width),
            nn.BatchNorm1d(width), nn.SiLU(), nn.Conv1d(width, width, 1)))

    layers = []
    for _ in range(blocks):
        layers += [feed(), Residual(nn.LayerNorm(width), Attention(width, 4)), convolution(), feed(), nn.LayerNorm(width)]
    return nn.Sequential(*layers)


class CachedAttention(Attention):
    """One more position; keys and values of those before come in and go out."""

    def forward(self, x, keys, values):
        q = self.split(self.q(x))
        keys, values = torch.cat([keys, self.split(self.k(x))], 2), torch.cat([values, self.split(self.v(x))], 2)
        y = F.scaled_dot_product_attention(q, keys, values)
        return self.out(y.transpose(1, 2).reshape(x.shape)), keys, values


class DecoderStep(nn.Module):
    """GPT-2's layers, one token at a time, with a cache of each layer's keys and values."""

    def __init__(self, width=512, heads=8, vocabulary=1000, layers=2):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(layers))
        self.attentions = nn.ModuleList(CachedAttention(width, heads) for _ in range(layers))
        self.feeds = nn.ModuleList(
            Residual(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU("tanh"), nn.Linear(4 * width, width)) for _ in range(layers))
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, token, keys_0, values_0, keys_1, values_1):
        x, present = self.embedding(token), []
        for i, (keys, values) in enumerate([(keys_0, values_0), (keys_1, values_1)]):
            y, keys, values = self.attentions[i](self.norms[i](x), keys, values)
            x = self.feeds[i](x + y)
            present += [keys, values]
        return self.head(x), *present


class WaveNet(nn.Module):
    """van den Oord et al. 2016: causal dilated convolutions, gated; the skips are summed."""

    def __init__(self, channels=64, layers=8):
        super().__init__()
        self.gates = nn.ModuleList(nn.Conv1d(channels, 2 * channels, 2, dilation=2**i) for i in range(layers))
        self.mixes = nn.ModuleList(nn.Conv1d(channels, 2 * channels, 1) for _ in range(layers))
        self.head = nn.Sequential(nn.ReLU(), nn.Conv1d(channels, channels, 1), nn.ReLU(), nn.Conv1d(channels, 256, 1))

    def forward(self, x):
        skips = 0
        for gate, mix in zip(self.gates, self.mixes):
            a, b = gate(F.pad(x, (gate.dilation[0], 0))).chunk(2, 1)
            residual, skip = mix(torch.tanh(a) * torch.sigmoid(b)).chunk(2, 1)
            x, skips = x + residual, skips + skip
        return self.head(skips)


class Recurrent(nn.Module):
    def __init__(self, kind, **more):
        super().__init__()
        self.layers = kind(64, 128, num_layers=2, batch_first=True, **more)
        self.head = nn.Linear(256 if more.get("bidirectional") else 128, 10)

    def forward(self, x):
        return self.head(self.layers(x)[0])


# ---- Keras

def keras_application(name, **arguments):
    def make():
        import keras
        return getattr(keras.applications, name)(weights=None, **arguments)
    return make


def keras_transformer():
    """Two blocks of an encoder: attention, LayerNormalization, a Gelu between two products. (tf2onnx has no Erfc, which is in
    an exact Gelu.)"""
    import keras
    layers = keras.layers

    def gelu(x):
        return keras.activations.gelu(x, approximate=True)
    x = inputs = keras.Input((24, 64))
    for _ in range(2):
        x = layers.LayerNormalization(epsilon=1e-6)(x + layers.MultiHeadAttention(4, 16)(x, x))
        x = layers.LayerNormalization(epsilon=1e-6)(x + layers.Dense(64)(layers.Dense(256, activation=gelu)(x)))
    return keras.Model(inputs, x)


def keras_lstm():
    import keras
    layers = keras.layers
    return keras.Sequential([keras.Input((50, 64)), layers.Bidirectional(layers.LSTM(64, return_sequences=True)), layers.LSTM(32),
                             layers.Dense(10, activation="softmax")])


MAKERS = {
    **{name: torchvision_model(name) for name in [
        "alexnet", "vgg16", "vgg11_bn", "resnet18", "resnet50", "squeezenet1_1", "mobilenet_v2", "mobilenet_v3_small",
        "mobilenet_v3_large", "shufflenet_v2_x1_0", "efficientnet_b0", "densenet121", "resnext50_32x4d", "regnet_y_400mf",
        "mnasnet1_0", "convnext_tiny", "swin_t", "r3d_18", "mc3_18", "r2plus1d_18", "s3d", "maxvit_t"]},
    **{name: timm_model(name) for name in ["skresnet18", "resnest14d", "mobileone_s0", "repvgg_a0"]},
    "basicunet3d": monai_net("BasicUNet", features=(16, 16, 32, 64, 128, 16)),
    "segresnet3d": monai_net("SegResNet", init_filters=8, in_channels=4, out_channels=3),
    "vnet3d": monai_net("VNet"),
    "vgg16_100k": torchvision_model("vgg16", num_classes=100_000),
    "googlenet": torchvision_model("googlenet", init_weights=False),
    "inception_v3": torchvision_model("inception_v3", init_weights=False),
    "vit_b_16": vit_b_16,
    "ssdlite320": detector("ssdlite320_mobilenet_v3_large"),
    "fasterrcnn_320": detector("fasterrcnn_mobilenet_v3_large_320_fpn"),
    "deeplabv3_mobilenet": backboned("deeplabv3_mobilenet_v3_large"),
    "deeplabv3_resnet50": backboned("deeplabv3_resnet50"),
    "lraspp_mobilenet": backboned("lraspp_mobilenet_v3_large"),
    "fcn_resnet50": backboned("fcn_resnet50"),
    "deeplabv3_probabilities": lambda: images.Probabilities(backboned("deeplabv3_mobilenet_v3_large")()),
    "segformer_probabilities": segformer_probabilities,
    "enet": images.Enet,
    "mobilefacenet": images.mobilefacenet,
    "cbam_resnet18": lambda: images.resnet18_with(images.BlockAttention),
    "se_resnet18": lambda: images.resnet18_with(images.SqueezeExcitation),
    "alexnet_lrn": images.alexnet_lrn,
    "bifpn": images.BiFpn,
    "infogan": images.infogan,
    "x3d_s": lambda: video.x3d([1, 2, 4, 2]),
    "slowfast": video.SlowFast,
    "uniformer_s": video.uniformer,
    "video_vae": video.video_vae_block,
    "hifigan": signals.HifiGan,
    "log_mel": signals.LogMel,
    "eegnet": signals.eegnet,
    "st_gcn": signals.StGcn,
    "dinov2": transformer("Dinov2Model", "Dinov2Config", ["pixel_values"], hidden_size=384, num_hidden_layers=2, num_attention_heads=6, image_size=518,
                          patch_size=14),
    "longformer": transformer("LongformerModel", "LongformerConfig", TEXT, hidden_size=512, num_hidden_layers=2, num_attention_heads=8,
                              intermediate_size=2048, vocab_size=1000, attention_window=[128, 128], max_position_embeddings=1026),
    "detr": detr,
    "segformer": transformer("SegformerForSemanticSegmentation", "SegformerConfig", ["pixel_values"]),
    "espcn": Espcn,
    "srgan": srgan,
    "edsr": edsr,
    "dcgan": dcgan,
    "dcgan_discriminator": dcgan_discriminator,
    "pix2pix": pix2pix,
    "stable_diffusion_unet": stable_diffusion_unet,
    "vae_decoder": vae_decoder,
    "bert": transformer("BertModel", "BertConfig", TEXT, num_hidden_layers=2),
    "distilbert": transformer("DistilBertModel", "DistilBertConfig", TEXT, n_layers=2),
    "gpt2": transformer("GPT2Model", "GPT2Config", TEXT, {"use_cache": False}, n_layer=2),
    "llama": transformer("LlamaModel", "LlamaConfig", TEXT[:1], {"use_cache": False}, hidden_size=512, intermediate_size=1376,
                         num_hidden_layers=2, num_attention_heads=8, num_key_value_heads=2),
    "t5_encoder": transformer("T5EncoderModel", "T5Config", TEXT, num_layers=2),
    "mistral": transformer("MistralModel", "MistralConfig", TEXT[:1], {"use_cache": False}, hidden_size=512, intermediate_size=1376,
                           num_hidden_layers=2, num_attention_heads=8, num_key_value_heads=8, head_dim=64, sliding_window=32),
    "window_attention": window_attention,
    "window_fused": lambda: window_attention(fused=True),
    "darknet": darknet,
    "whisper_encoder": whisper_encoder,
    "conformer": conformer,
    "wav2vec2": transformer("Wav2Vec2Model", "Wav2Vec2Config", ["input_values"], num_hidden_layers=2),
    "decoder_step": DecoderStep,
    "wavenet": WaveNet,
    "rnn": lambda: Recurrent(nn.RNN),
    "lstm": lambda: Recurrent(nn.LSTM, bidirectional=True),
    "gru": lambda: Recurrent(nn.GRU),
    "mobilenet_v2-keras": keras_application("MobileNetV2"),
    "mobilenet_v3_small-keras": keras_application("MobileNetV3Small", include_preprocessing=False),
    "resnet50v2-keras": keras_application("ResNet50V2", classifier_activation=None),
    "efficientnetv2b0-keras": keras_application("EfficientNetV2B0", include_preprocessing=False),
    "xception-keras": keras_application("Xception", classifier_activation=None),
    "lstm-keras": keras_lstm,
    "transformer-keras": keras_transformer,
}
