"""Operators at which an engine is slow, for families.py: each function in MAKERS makes a module. Written as models write them."""

import functools
import math

import torch
from torch import nn
from torch.nn import functional as F


class Function(nn.Module):
    """A function of its inputs, and of constants, which come behind these."""

    def __init__(self, function, *constants):
        super().__init__()
        self.function, self.count = function, len(constants)
        for index, constant in enumerate(constants):
            self.register_buffer(f"constant_{index}", constant)

    def forward(self, *inputs):
        return self.function(*inputs, *(getattr(self, f"constant_{index}") for index in range(self.count)))


def of(function, *constants):
    return lambda: Function(function, *constants)


def between(channels, module, then=None, conv=nn.Conv2d):
    """The module between two convolutions of one tap; it has `then` channels, or as many as it reads."""
    then = then or channels
    return lambda: nn.Sequential(conv(channels, channels, 1), module(), conv(then, then, 1))


def after(inner, outer, module, conv=nn.Conv2d):
    """The module behind a convolution of one tap."""
    return lambda: nn.Sequential(conv(inner, outer, 1), module())


def resize(mode, **sizes):
    corners = {} if mode == "nearest" else {"align_corners": False}
    return of(lambda x: F.interpolate(x, mode=mode, **sizes, **corners))


# ---- expanding, broadcasting

def upsample_expand(x):
    batch, channels, height, width = x.shape
    return x.view(batch, channels, height, 1, width, 1).expand(batch, channels, height, 2, width, 2).reshape(batch, channels, 2 * height, 2 * width)


def repeat_last(x):
    return x[..., None].expand(*x.shape, 2).reshape(*x.shape[:-1], 2 * x.shape[-1])


class PairFeatures(nn.Module):
    """A layer of every pair of tokens (relation networks)."""

    def __init__(self, features):
        super().__init__()
        self.layer = nn.Linear(2 * features, features)

    def forward(self, x):
        batch, count, features = x.shape
        rows, columns = x[:, :, None].expand(batch, count, count, features), x[:, None].expand(batch, count, count, features)
        return self.layer(torch.cat([rows, columns], -1))


def correlation(x, y, reach=2):
    """PWC-Net's: of two maps of features, at every shift of the second one."""
    padded, (height, width) = F.pad(y, [reach] * 4), x.shape[2:]
    return torch.cat([(x * padded[:, :, i:i + height, j:j + width]).mean(1, keepdim=True) for i in range(2 * reach + 1) for j in range(2 * reach + 1)], 1)


# ---- normalisation

class ChannelNorm(nn.Module):
    """LayerNorm over the channels of a map, in pieces, as SAM and NAFNet have it."""

    def __init__(self, channels):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(channels)), nn.Parameter(torch.zeros(channels))

    def forward(self, x):
        mean = x.mean(1, keepdim=True)
        variance = (x - mean).pow(2).mean(1, keepdim=True)
        x = (x - mean) / torch.sqrt(variance + 1e-6)
        return self.weight[:, None, None] * x + self.bias[:, None, None]


# ---- convolutions

def convolution(*arguments, conv=nn.Conv2d, **more):
    return lambda: conv(*arguments, **more)


conv1d, conv3d = functools.partial(convolution, conv=nn.Conv1d), functools.partial(convolution, conv=nn.Conv3d)
transposed1d, transposed = functools.partial(convolution, conv=nn.ConvTranspose1d), functools.partial(convolution, conv=nn.ConvTranspose2d)


def electrodes():
    """EEGNet's first layers: in time, then across electrodes."""
    return nn.Sequential(nn.Conv2d(1, 8, (1, 64), padding=(0, 32), bias=False), nn.BatchNorm2d(8), nn.Conv2d(8, 16, (22, 1), groups=8, bias=False))


def bilinear(kernel):
    """[kernel, kernel]: what interpolates linearly."""
    factor = (kernel + 1) // 2
    centre = factor - 1 if kernel % 2 else factor - 0.5
    line = 1 - (torch.arange(kernel) - centre).abs() / factor
    return line[:, None] * line


def upscaling(channels, kernel, stride, padding, groups=1):
    """A transposed convolution that interpolates each channel: where `groups` is 1 as a dense one with zeros, as in FCN."""
    def make():
        module = nn.ConvTranspose2d(channels, channels, kernel, stride, padding, groups=groups, bias=False)
        module.weight.data.zero_()
        for channel in range(channels):
            module.weight.data[channel, 0 if groups > 1 else channel] = bilinear(kernel)
        return module
    return make


class Mamba(nn.Module):
    """Mamba's convolution: padded on both sides, and then cut."""

    def __init__(self, channels, kernel):
        super().__init__()
        self.conv = nn.Conv1d(channels, channels, kernel, padding=kernel - 1, groups=channels)

    def forward(self, x):
        return self.conv(x)[..., :x.shape[-1]]


class Positions(nn.Module):
    """wav2vec 2.0's positional convolution: of an even kernel, whose last result is cut."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(768, 768, 128, padding=64, groups=16)

    def forward(self, x):
        return self.conv(x)[..., :-1]


class Pyramid(nn.Module):
    """YOLO's spatial pyramid: pools side by side."""

    def __init__(self):
        super().__init__()
        self.pools = nn.ModuleList(nn.MaxPool2d(kernel, 1, kernel // 2) for kernel in (5, 9, 13))

    def forward(self, x):
        return torch.cat([x, *(pool(x) for pool in self.pools)], 1)


# ---- movements

def local_patches(stride):
    return lambda x: F.unfold(x, 3, padding=1, stride=stride)


def unpatchify(x, size=16, channels=3):
    """MAE's"""
    batch, count, _ = x.shape
    side = round(count ** 0.5)
    x = torch.einsum("nhwpqc->nchpwq", x.reshape(batch, side, side, size, size, channels))
    return x.reshape(batch, channels, side * size, side * size)


class DistancesToCodes(nn.Module):
    """Of rows to those of a weight, with both repeated first, as PaddleSeg's EncNet and NetVLAD have it."""

    def __init__(self, codes, features):
        super().__init__()
        self.codes = nn.Parameter(normal(codes, features))

    def forward(self, x):
        rows = x[:, :, None].expand(*x.shape[:2], *self.codes.shape)
        return ((rows - self.codes[None, None]) ** 2).sum(-1)


class LayerNormInPieces(nn.Module):
    """As TensorFlow writes it: x g + (b - m g), where g is the scale over the deviation."""

    def __init__(self, features):
        super().__init__()
        self.scale, self.offset = (nn.Parameter(normal(features)) for _ in range(2))

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        variance = ((x - mean) ** 2).mean(-1, keepdim=True)
        gain = torch.reciprocal(torch.sqrt(variance + 1e-6)) * self.scale
        return x * gain + (self.offset - mean * gain)


def inside(x, y):
    x = x.clone()
    x[:, :, 1:-1, 1:-1] = y
    return x


def shifted_windows(x, shift=3, window=7):
    x = torch.roll(x, (-shift, -shift), (1, 2))
    batch, height, width, channels = x.shape
    x = x.view(batch, height // window, window, width // window, window, channels)
    return x.permute(0, 1, 3, 2, 4, 5).reshape(-1, window * window, channels)


def merged_patches(x):
    return torch.cat([x[:, 0::2, 0::2], x[:, 1::2, 0::2], x[:, 0::2, 1::2], x[:, 1::2, 1::2]], -1)


def shuffled(x, groups=3):
    batch, channels, height, width = x.shape
    return x.view(batch, groups, channels // groups, height, width).transpose(1, 2).reshape(x.shape)


class Focus(nn.Module):
    """YOLOv5's first layer."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(12, 32, 3, padding=1, bias=False)

    def forward(self, x):
        return self.conv(torch.cat([x[..., ::2, ::2], x[..., 1::2, ::2], x[..., ::2, 1::2], x[..., 1::2, 1::2]], 1))


def rotated_pairs(x, cosine, sine):
    """GPT-J's rotary embedding: of neighbours."""
    turned = torch.stack([-x[..., 1::2], x[..., ::2]], -1).flatten(-2)
    return x * cosine + turned * sine


def turned_angles(length, width):
    angles = torch.arange(length)[:, None] / 10000 ** (torch.arange(0, width, 2) / width)
    return [f(angles).repeat_interleave(2, -1) for f in (torch.cos, torch.sin)]


class TokensAsMap(nn.Module):
    """SegFormer's head: a layer of the tokens, which become a map that is scaled."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(64, 128)

    def forward(self, x):
        x = self.layer(x).transpose(1, 2).reshape(x.shape[0], 128, 16, 16)
        return F.interpolate(x, scale_factor=4, mode="bilinear", align_corners=False)


class LinearAcross(nn.Module):
    """A layer across the axis behind the batch, which is last in between: the heads of CaiT's attention, the tokens of ResMLP's."""

    def __init__(self, features):
        super().__init__()
        self.layer = nn.Linear(features, features)

    def forward(self, x):
        last = x.dim() - 1
        return self.layer(x.permute(0, *range(2, last + 1), 1)).permute(0, last, *range(1, last))


class Mixer(nn.Module):
    """MLP-Mixer's layer across tokens."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(196, 384, bias=False)

    def forward(self, x):
        return self.layer(x.transpose(1, 2)).transpose(1, 2)


# ---- signals

def spectrum(length, hop):
    def make():
        return Function(lambda x, window: torch.view_as_real(torch.stft(x, length, hop, window=window, center=False, return_complex=True)),
                        torch.hann_window(length))
    return make


def frames(x):
    return torch.view_as_real(torch.fft.rfft(x))


# ---- the families

RANDOM = torch.Generator().manual_seed(0)


def normal(*shape):
    return torch.randn(shape, generator=RANDOM)


MAKERS = {
    "resize_cubic_positions": resize("bicubic", size=(16, 16)),
    "resize_cubic_x2": resize("bicubic", scale_factor=2),
    "resize_cubic_x4": resize("bicubic", scale_factor=4),
    "resize_cubic_down": resize("bicubic", size=(224, 224)),
    "resize_nearest_3d": resize("nearest", scale_factor=2),
    "resize_nearest_3d_between": between(32, resize("nearest", scale_factor=2), conv=nn.Conv3d),
    "upsample_expand": of(upsample_expand),
    "repeat_last": of(repeat_last),
    "distances": of(lambda x, y: ((x[:, None] - y) ** 2).sum(-1)),
    "distances_to_codes": lambda: DistancesToCodes(32, 512),
    "layer_norm_in_pieces": lambda: LayerNormInPieces(192),
    "products_of_rows": of(lambda x, y: (x[:, None] * y).sum(-1)),
    "distances_of_boxes": of(lambda x, y: (x[:, None] - y).abs().sum(-1)),
    "pair_features": lambda: PairFeatures(64),
    "mean_tokens": of(lambda x: x.mean(1)),
    "mean_channels": of(lambda x: x.mean(1)),
    "sum_channels": of(lambda x: x.sum(1)),
    "max_channels": of(lambda x: x.amax(1)),
    "l2_channels": of(lambda x: torch.linalg.vector_norm(x, dim=1, keepdim=True)),
    "mean_pixels_last": of(lambda x: x.mean((1, 2))),
    "mean_channels_large": of(lambda x: x.mean(1, keepdim=True)),
    "mean_channels_between": between(256, of(lambda x: x.mean(1, keepdim=True)), then=1),
    "softmax_channels_150": of(lambda x: x.softmax(1)),
    "softmax_channels_21": of(lambda x: x.softmax(1)),
    "softmax_channels_large": of(lambda x: x.softmax(1)),
    "softmax_channels_behind": after(21, 21, of(lambda x: x.softmax(1))),
    "softmax_channels_batch": of(lambda x: x.softmax(1)),
    "log_softmax_channels": of(lambda x: x.log_softmax(1)),
    "softmax_box_head": of(lambda x: x.softmax(1)),
    "softmax_two": of(lambda x: x.softmax(1)),
    "argmax_two": of(lambda x: x.argmax(1)),
    "channel_norm_sam": lambda: ChannelNorm(256),
    "channel_norm_sam_between": between(256, lambda: ChannelNorm(256)),
    "channel_norm_nafnet": lambda: ChannelNorm(48),
    "channel_norm_convnext": lambda: ChannelNorm(96),
    "channel_norm_convnext_between": between(96, lambda: ChannelNorm(96)),
    "channel_norm_convnext_last": lambda: ChannelNorm(768),
    "patches_3d": conv3d(3, 1280, (2, 14, 14), (2, 14, 14), bias=False),
    "patches": convolution(3, 768, 16, 16),
    "kernel_covers": convolution(64, 256, 7),
    "maps_of_one": convolution(256, 256, 1),
    "electrodes": electrodes,
    "conv_one_output": convolution(32, 1, 5, padding=2),
    "conv_one_output_depth": convolution(32, 1, 3, padding=1),
    "conv_one_output_depth_between": between(32, convolution(32, 1, 3, padding=1), then=1),
    "conv_one_output_cbam": convolution(2, 1, 7, padding=3, bias=False),
    "conv_three_outputs_srgan": convolution(64, 3, 9, padding=4),
    "conv_three_outputs": convolution(64, 3, 3, padding=1),
    "conv1d_one_output": conv1d(32, 1, 7, padding=3),
    "conv3d_one_output": conv3d(32, 1, 3, padding=1),
    "conv_1x1_one_output": convolution(64, 1, 1),
    "unfold": of(local_patches(1)),
    "unfold_s2": of(local_patches(2)),
    "windows": of(lambda x: x.unfold(1, 400, 160)),
    "unpatchify": of(unpatchify),
    "pixel_unshuffle": of(lambda x: F.pixel_unshuffle(x, 2)),
    "pixel_shuffle": of(lambda x: F.pixel_shuffle(x, 2)),
    "lrn": lambda: nn.LocalResponseNorm(5),
    "gather_elements": of(lambda x, i: x.gather(-1, i.expand(*x.shape[:-1], 32)), torch.arange(32, 64)),
    "gather_rows": of(lambda x, i: x.index_select(1, i), torch.arange(64, 128)),
    "scatter_inside": of(inside),
    "upscaling_dense": upscaling(21, 16, 8, 4),
    "upscaling_depthwise": upscaling(21, 16, 8, 4, groups=21),
    "upscaling_depthwise_x2": upscaling(64, 4, 2, 1, groups=64),
    "resize_linear_psp": resize("bilinear", size=(60, 60)),
    "resize_linear_x8": resize("bilinear", scale_factor=8),
    "resize_linear_tokens": TokensAsMap,
    "resize_linear_deeplab": after(256, 21, resize("bilinear", size=(257, 257))),
    "resize_linear_from_one": resize("bilinear", size=(33, 33)),
    "resize_linear_3d": resize("trilinear", scale_factor=2),
    "resize_linear_3d_between": between(32, resize("trilinear", scale_factor=2), conv=nn.Conv3d),
    "conv3d_depthwise_5": conv3d(64, 64, 5, padding=2, groups=64),
    "conv3d_depthwise_3": conv3d(108, 108, 3, padding=1, groups=108, bias=False),
    "conv3d_depthwise_s2": conv3d(108, 108, 3, (1, 2, 2), padding=1, groups=108, bias=False),
    "conv1d_depthwise_31": conv1d(512, 512, 31, padding=15, groups=512),
    "conv1d_depthwise_31_between": between(512, conv1d(512, 512, 31, padding=15, groups=512), conv=nn.Conv1d),
    "conv1d_depthwise_7": conv1d(512, 512, 7, padding=3, groups=512),
    "conv1d_depthwise_causal": lambda: nn.Sequential(nn.ConstantPad1d((3, 0), 0.0), nn.Conv1d(1536, 1536, 4, groups=1536)),
    "conv1d_mamba": lambda: Mamba(1536, 4),
    "einsum_scores": of(lambda x, y: torch.einsum("bsnh,btnh->bnts", x, y)),
    "einsum_linear_attention": of(lambda x, y: torch.einsum("bhnd,bhne->bhde", x, y)),
    "einsum_state_rows": of(lambda k, v: torch.einsum("bshd,bshe->bhde", k, v)),
    "einsum_of_state_rows": of(lambda q, m: torch.einsum("bshd,bhde->bshe", q, m)),
    "einsum_graph": of(lambda x, y: torch.einsum("nkctv,kvw->nctw", x, y), normal(3, 25, 25)),
    "einsum_channels": of(lambda x, y: torch.einsum("nchw,cd->ndhw", x, y), normal(64, 64)),
    "einsum_rows": of(lambda x, y: torch.einsum("bd,bd->b", x, y)),
    "einsum_tokens": of(lambda x, y: torch.einsum("bnd,mn->bmd", x, y), normal(196, 196)),
    "pyramid_pools": Pyramid,
    "maxpool_13": lambda: nn.MaxPool2d(13, 1, 6),
    "averagepool_13": lambda: nn.AvgPool2d(13, 1, 6),
    "averagepool_31": lambda: nn.AvgPool2d(31, 1, 15),
    "dft_400": of(frames),
    "dft_64": of(frames),
    "stft_400": spectrum(400, 160),
    "stft_512": spectrum(512, 128),
    "istft_4096": transposed1d(1026, 1, 4096, 1024, bias=False),
    "istft_1024": transposed1d(514, 1, 1024, 256, bias=False),
    "weighted_maps": of(lambda x, a: (x * a).sum(1)),
    "weighted_tokens": of(lambda x, a: (x * a).sum(1)),
    "correlation": of(correlation),
    "matmul_one_column": lambda: nn.Linear(768, 1, bias=False),
    "dot_of_rows": of(torch.matmul),
    "skinning": of(torch.matmul),
    "cumsum": of(lambda x: x.cumsum(-1)),
    "cumsum_long": of(lambda x: x.cumsum(-1)),
    "onehot_table": of(lambda i, table: F.one_hot(i, 1000).float() @ table, normal(1000, 64)),
    "matmul_diagonal": of(torch.matmul, torch.diag(normal(256))),
    "conv3d_stem": conv3d(3, 64, (3, 7, 7), (1, 2, 2), (1, 3, 3), bias=False),
    "conv3d_frames": conv3d(576, 256, (3, 1, 1), padding=(1, 0, 0), bias=False),
    "conv_rate_beyond": convolution(960, 256, 3, padding=36, dilation=36, bias=False),
    "conv_rate_large": convolution(960, 256, 3, padding=24, dilation=24, bias=False),
    "conv1d_positions": Positions,
    "shifted_windows": of(shifted_windows),
    "merged_patches": of(merged_patches),
    "channel_shuffle": of(shuffled),
    "focus": Focus,
    "expanded_scale": of(lambda x, s: x * s.expand_as(x)),
    "rotary_pairs": of(rotated_pairs, *turned_angles(128, 128)),
    "mixer": Mixer,
    "linear_tokens": lambda: LinearAcross(196),
    "linear_heads": lambda: LinearAcross(8),
    "transposed_stride_1": transposed(64, 64, 3, padding=1),
    "transposed_stride_2": transposed(256, 256, 4, 2, padding=1),
    # Element-wise
    "prelu": lambda: nn.PReLU(64),
    "prelu_between": between(64, lambda: nn.PReLU(64)),
    "prelu_shared": nn.PReLU,
    "prelu_shared_between": between(64, nn.PReLU),
    "mish": nn.Mish,
    "mish_between": between(64, nn.Mish),
    "softplus": nn.Softplus,
    "pow_half": of(lambda x: x ** 0.5),
    "pow_minus_one": of(lambda x: x ** -1.0),
    "pow_minus_half": of(lambda x: x ** -0.5),
    "pow_four": of(lambda x: x ** 4),
    "pow_three_quarters": of(lambda x: x ** 0.75),
    "pow_of_base": of(lambda x: 1.5 ** x),
    "pow_tensor": of(torch.pow, torch.full([64], 2.0)[:, None, None]),
    "pow_two": of(lambda x: x ** 2),
    "pow_three": of(lambda x: x ** 3),
    "mod_one": of(lambda x: torch.fmod(x, 1.0)),
    "where_positive": of(lambda x: torch.where(x > 0, x, 0.0)),
    "sign": of(torch.sign),
    "elu": nn.ELU,
    "elu_between": between(64, nn.ELU),
    "selu": nn.SELU,
    "hardswish_pieces": of(lambda x: x * F.relu6(x + 3) / 6),
    "hardswish_pieces_between": between(64, of(lambda x: x * F.relu6(x + 3) / 6)),
    "number_scale_bias_between": between(64, of(lambda x: F.relu(x) * 0.75 + 0.125)),
    "scale_bias_between": between(64, of(lambda x, scale, bias: F.relu(x) * scale + bias, *torch.rand(2, 64, 1, 1))),
    "gelu_tanh_pieces": of(lambda x: 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * torch.pow(x, 3))))),
    "gelu_tanh": of(lambda x: F.gelu(x, approximate="tanh")),
    "div_power_of_two": of(lambda x: x / 8.0),
    "where_mask": of(lambda x, mask: torch.where(mask, x, -1e9), torch.ones(64, 64, dtype=torch.bool).tril()),
    "min_constant": of(lambda x: torch.minimum(x, torch.tensor(0.5))),
}
