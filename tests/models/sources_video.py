"""Architectures on videos, for the zoo: see sources.py. Written as their papers and usual implementations arrange them."""

import torch
from torch import nn
from torch.nn import functional as F


def conv_bn(inner, outer, kernel=(1, 1, 1), stride=(1, 1, 1), groups=1):
    return [nn.Conv3d(inner, outer, kernel, stride, [k // 2 for k in kernel], groups=groups, bias=False), nn.BatchNorm3d(outer)]


# ---- X3D

class SqueezeExcitation(nn.Module):
    def __init__(self, channels, ratio=0.0625):
        super().__init__()
        inner = max(8, -(-int(channels * ratio) // 8) * 8)
        self.block = nn.Sequential(nn.AdaptiveAvgPool3d(1), nn.Conv3d(channels, inner, 1), nn.ReLU(), nn.Conv3d(inner, channels, 1), nn.Sigmoid())

    def forward(self, x):
        return x * self.block(x)


class X3dBlock(nn.Module):
    def __init__(self, inner, outer, stride, squeezed):
        super().__init__()
        wide = int(2.25 * outer)
        middle = [SqueezeExcitation(wide)] if squeezed else []
        self.layers = nn.Sequential(*conv_bn(inner, wide), nn.ReLU(), *conv_bn(wide, wide, (3, 3, 3), (1, stride, stride), groups=wide), *middle, nn.SiLU(),
                                    *conv_bn(wide, outer))
        self.shortcut = nn.Sequential(*(conv_bn(inner, outer, stride=(1, stride, stride)) if stride > 1 else []))

    def forward(self, x):
        return F.relu(self.layers(x) + self.shortcut(x))


def x3d(depths):
    """X3D-S (Feichtenhofer 2020) with so many blocks a stage: every other one with squeeze and excitation."""
    layers, inner = [nn.Conv3d(3, 24, (1, 3, 3), (1, 2, 2), (0, 1, 1), bias=False), *conv_bn(24, 24, (5, 1, 1), groups=24), nn.ReLU()], 24
    for outer, depth in zip([24, 48, 96, 192], depths):
        layers += [X3dBlock(inner if index == 0 else outer, outer, 2 if index == 0 else 1, index % 2 == 0) for index in range(depth)]
        inner = outer
    return nn.Sequential(*layers, *conv_bn(192, 432), nn.ReLU(), nn.AdaptiveAvgPool3d(1), nn.Conv3d(432, 2048, 1, bias=False), nn.ReLU(), nn.Flatten(),
                         nn.Linear(2048, 400))


# ---- SlowFast

class Bottleneck(nn.Module):
    def __init__(self, inner, middle, outer, stride, frames):
        super().__init__()
        self.layers = nn.Sequential(*conv_bn(inner, middle, (frames, 1, 1)), nn.ReLU(), *conv_bn(middle, middle, (1, 3, 3), (1, stride, stride)), nn.ReLU(),
                                    *conv_bn(middle, outer))
        self.shortcut = nn.Sequential(*conv_bn(inner, outer, stride=(1, stride, stride)))

    def forward(self, x):
        return F.relu(self.layers(x) + self.shortcut(x))


def stem(outer, frames):
    return nn.Sequential(*conv_bn(3, outer, (frames, 7, 7), (1, 2, 2)), nn.ReLU(), nn.MaxPool3d((1, 3, 3), (1, 2, 2), (0, 1, 1)))


class SlowFast(nn.Module):
    """Feichtenhofer et al. 2019, on ResNet-50's stages, of which each has one block here: few frames with many channels, and four times
    the frames with an eighth of them, which are joined to the former before every stage."""

    def __init__(self):
        super().__init__()
        self.stems = nn.ModuleList([stem(64, 1), stem(8, 5)])
        self.laterals, self.slow, self.fast = nn.ModuleList(), nn.ModuleList(), nn.ModuleList()
        inner = 64
        for stage, middle in enumerate([64, 128, 256, 512]):
            stride = 1 if stage == 0 else 2
            self.laterals.append(nn.Sequential(nn.Conv3d(inner // 8, inner // 4, (5, 1, 1), (4, 1, 1), (2, 0, 0), bias=False), nn.BatchNorm3d(inner // 4),
                                               nn.ReLU()))
            self.slow.append(Bottleneck(inner + inner // 4, middle, 4 * middle, stride, 3 if stage > 1 else 1))
            self.fast.append(Bottleneck(inner // 8, middle // 8, middle // 2, stride, 3))
            inner = 4 * middle
        self.head = nn.Linear(2048 + 256, 400)

    def forward(self, slow, fast):
        slow, fast = (stem(x) for stem, x in zip(self.stems, (slow, fast)))
        for lateral, slow_stage, fast_stage in zip(self.laterals, self.slow, self.fast):
            slow, fast = slow_stage(torch.cat([slow, lateral(fast)], 1)), fast_stage(fast)
        return self.head(torch.cat([F.adaptive_avg_pool3d(x, 1).flatten(1) for x in (slow, fast)], 1))


# ---- UniFormer

class LocalBlock(nn.Module):
    """What is near is joined by depthwise convolutions: position encoding 3 x 3 x 3, relations 5 x 5 x 5."""

    def __init__(self, width):
        super().__init__()
        self.position = nn.Conv3d(width, width, 3, padding=1, groups=width)
        self.relations = nn.Sequential(nn.BatchNorm3d(width), nn.Conv3d(width, width, 1), nn.Conv3d(width, width, 5, padding=2, groups=width),
                                       nn.Conv3d(width, width, 1))
        self.mlp = nn.Sequential(nn.BatchNorm3d(width), nn.Conv3d(width, 4 * width, 1), nn.GELU(), nn.Conv3d(4 * width, width, 1))

    def forward(self, x):
        x = x + self.position(x)
        x = x + self.relations(x)
        return x + self.mlp(x)


class GlobalBlock(nn.Module):
    """All positions of all frames see each other."""

    def __init__(self, width, head=64):
        super().__init__()
        self.position = nn.Conv3d(width, width, 3, padding=1, groups=width)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.heads, self.scale = width // head, head**-0.5
        self.qkv, self.projection = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def attention(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(x).reshape(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        scores = (q @ k.transpose(-2, -1)) * self.scale
        return self.projection((scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, length, width))

    def forward(self, x):
        x = x + self.position(x)
        shape = x.shape
        x = x.flatten(2).transpose(1, 2)
        x = x + self.attention(self.norms[0](x))
        x = x + self.mlp(self.norms[1](x))
        return x.transpose(1, 2).reshape(shape)


class Patches(nn.Module):
    def __init__(self, inner, outer, kernel, stride, padding):
        super().__init__()
        self.projection, self.norm = nn.Conv3d(inner, outer, kernel, stride, padding), nn.LayerNorm(outer)

    def forward(self, x):
        x = self.projection(x)
        shape = x.shape
        return self.norm(x.flatten(2).transpose(1, 2)).transpose(1, 2).reshape(shape)


def uniformer():
    """UniFormer-S (Li et al. 2022), one block a stage."""
    layers, inner = [], 3
    for stage, width in enumerate([64, 128, 320, 512]):
        first = [Patches(3, width, (3, 4, 4), (2, 4, 4), (1, 0, 0))] if stage == 0 else [Patches(inner, width, (1, 2, 2), (1, 2, 2), 0)]
        layers += first + [LocalBlock(width) if stage < 2 else GlobalBlock(width)]
        inner = width
    return nn.Sequential(*layers, nn.BatchNorm3d(512), nn.AdaptiveAvgPool3d(1), nn.Flatten(), nn.Linear(512, 400))


# ---- the decoder of a video's autoencoder

class CausalConv3d(nn.Module):
    """No frame sees a later one: the first is repeated in front, and pixels at the border around."""

    def __init__(self, inner, outer, kernel=3):
        super().__init__()
        self.conv, self.pads = nn.Conv3d(inner, outer, kernel), (*(4 * [kernel // 2]), kernel - 1, 0)

    def forward(self, x):
        return self.conv(F.pad(x, self.pads, mode="replicate"))


class CausalResidual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layers = nn.Sequential(nn.GroupNorm(32, width, eps=1e-6), nn.SiLU(), CausalConv3d(width, width), nn.GroupNorm(32, width, eps=1e-6), nn.SiLU(),
                                    nn.Dropout(0.0), CausalConv3d(width, width))

    def forward(self, x):
        return x + self.layers(x)


class CausalUpsample(nn.Module):
    """Each image is doubled, and each frame but the first."""

    def __init__(self, width):
        super().__init__()
        self.conv = CausalConv3d(width, width)

    def forward(self, x):
        first, others = x.split((1, x.shape[2] - 1), 2)
        first = F.interpolate(first.squeeze(2), scale_factor=(2, 2), mode="nearest").unsqueeze(2)
        others = F.interpolate(others, scale_factor=(2, 2, 2), mode="nearest")
        return self.conv(torch.cat([first, others], 2))


def video_vae_block(width=64):
    """A block of HunyuanVideo's decoder (Kong et al. 2024): three residual blocks, then twice the extents."""
    return nn.Sequential(*(CausalResidual(width) for _ in range(3)), CausalUpsample(width))
