"""Architectures on sound, on the brain's signals and on skeletons, for the zoo: see sources.py. Written as their papers and usual
implementations arrange them."""

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F


# ---- sound

class Mrf(nn.Module):
    """One kernel's part of a multi-receptive field: pairs of convolutions, the first of each dilated."""

    def __init__(self, channels, kernel):
        super().__init__()
        self.dilated = nn.ModuleList(nn.Conv1d(channels, channels, kernel, dilation=d, padding=d * (kernel // 2)) for d in (1, 3, 5))
        self.plain = nn.ModuleList(nn.Conv1d(channels, channels, kernel, padding=kernel // 2) for _ in range(3))

    def forward(self, x):
        for first, second in zip(self.dilated, self.plain):
            x = second(F.leaky_relu(first(F.leaky_relu(x, 0.1)), 0.1)) + x
        return x


class HifiGan(nn.Module):
    """The generator V1 of Kong et al. 2020, without its weight normalisation, which is removed before an export."""

    def __init__(self, channels=512):
        super().__init__()
        self.first = nn.Conv1d(80, channels, 7, padding=3)
        self.ups, self.blocks = nn.ModuleList(), nn.ModuleList()
        for factor, kernel in [(8, 16), (8, 16), (2, 4), (2, 4)]:
            self.ups.append(nn.ConvTranspose1d(channels, channels // 2, kernel, factor, (kernel - factor) // 2))
            channels //= 2
            self.blocks.append(nn.ModuleList(Mrf(channels, kernel) for kernel in (3, 7, 11)))
        self.last = nn.Conv1d(channels, 1, 7, padding=3)

    def forward(self, x):
        x = self.first(x)
        for up, blocks in zip(self.ups, self.blocks):
            x, total = up(F.leaky_relu(x, 0.1)), None
            for block in blocks:
                total = block(x) if total is None else total + block(x)
            x = total / len(blocks)
        return torch.tanh(self.last(F.leaky_relu(x)))


def mel_filters(bands, frequencies, rate):
    """[bands, frequencies]: triangles that are equally wide on Slaney's mel scale, of equal area."""
    def mel(hertz):
        return np.where(hertz < 1000, hertz * 3 / 200, 15 + np.log(np.maximum(hertz, 1000) / 1000) * 27 / np.log(6.4))

    def hertz(mel):
        return np.where(mel < 15, mel * 200 / 3, 1000 * np.exp((mel - 15) * np.log(6.4) / 27))

    edges = hertz(np.linspace(0, mel(np.array(rate / 2)), bands + 2))
    low, middle, high = edges[:-2, None], edges[1:-1, None], edges[2:, None]
    at = np.linspace(0, rate / 2, frequencies)
    triangles = np.maximum(0, np.minimum((at - low) / (middle - low), (high - at) / (high - middle)))
    return torch.from_numpy((triangles * 2 / (high - low)).astype(np.float32))


class LogMel(nn.Module):
    """Whisper's front end (Radford et al. 2022): from samples at 16 kHz to the logarithms of 80 mel bands."""

    def __init__(self, length=400, hop=160):
        super().__init__()
        self.length, self.hop = length, hop
        self.register_buffer("window", torch.hann_window(length))
        self.register_buffer("filters", mel_filters(80, length // 2 + 1, 16000))

    def forward(self, audio):
        spectrum = torch.stft(audio, self.length, self.hop, window=self.window, return_complex=True)
        magnitudes = spectrum[..., :-1].abs() ** 2
        logarithms = torch.clamp(self.filters @ magnitudes, min=1e-10).log10()
        logarithms = torch.maximum(logarithms, logarithms.max() - 8.0)
        return (logarithms + 4.0) / 4.0


# ---- the brain's signals

def eegnet(electrodes=64, samples=128, classes=4):
    """EEGNet-8,2 (Lawhern et al. 2018): filters in time, then across electrodes, then a separable convolution."""
    return nn.Sequential(
        nn.Conv2d(1, 8, (1, 64), padding=(0, 32), bias=False), nn.BatchNorm2d(8), nn.Conv2d(8, 16, (electrodes, 1), groups=8, bias=False), nn.BatchNorm2d(16),
        nn.ELU(), nn.AvgPool2d((1, 4)), nn.Dropout(0.25), nn.Conv2d(16, 16, (1, 16), padding=(0, 8), groups=16, bias=False),
        nn.Conv2d(16, 16, 1, bias=False), nn.BatchNorm2d(16), nn.ELU(), nn.AvgPool2d((1, 8)), nn.Dropout(0.25), nn.Flatten(),
        nn.Linear(16 * (samples // 32), classes))


# ---- skeletons

# The joints of the NTU data set, from 1: each with the one that is nearer to the middle of the body.
INWARD = [(1, 2), (2, 21), (3, 21), (4, 3), (5, 21), (6, 5), (7, 6), (8, 7), (9, 21), (10, 9), (11, 10), (12, 11), (13, 1), (14, 13), (15, 14),
          (16, 15), (17, 1), (18, 17), (19, 18), (20, 19), (22, 23), (23, 8), (24, 25), (25, 12)]


def adjacency(joints=25):
    """[3, joints, joints]: the joint itself, its neighbours nearer to the middle, and those further out, columns of sum 1 together."""
    parts = np.zeros((3, joints, joints), np.float32)
    parts[0] = np.eye(joints)
    for outer, inner in INWARD:
        parts[1, inner - 1, outer - 1] = parts[2, outer - 1, inner - 1] = 1
    return torch.from_numpy(parts / parts.sum((0, 1)))


class GraphConv(nn.Module):
    """Along the edges of the skeleton, then along time."""

    def __init__(self, inner, outer, stride, residual=True):
        super().__init__()
        self.spatial = nn.Conv2d(inner, 3 * outer, 1)
        self.temporal = nn.Sequential(nn.BatchNorm2d(outer), nn.ReLU(), nn.Conv2d(outer, outer, (9, 1), (stride, 1), (4, 0)), nn.BatchNorm2d(outer),
                                      nn.Dropout(0.5))
        self.residual = residual
        self.shortcut = nn.Sequential(*([nn.Conv2d(inner, outer, 1, (stride, 1)), nn.BatchNorm2d(outer)] if residual and inner != outer else []))

    def forward(self, x, edges):
        beside = self.shortcut(x) if self.residual else 0
        x = self.spatial(x)
        batch, channels, frames, joints = x.shape
        x = x.view(batch, 3, channels // 3, frames, joints)
        x = torch.einsum("nkctv,kvw->nctw", x, edges).contiguous()
        return F.relu(self.temporal(x) + beside)


class StGcn(nn.Module):
    """Yan et al. 2018; of its ten layers one a width."""

    def __init__(self, classes=60):
        super().__init__()
        self.register_buffer("edges", adjacency())
        self.norm = nn.BatchNorm1d(3 * 25)
        self.layers = nn.ModuleList([GraphConv(3, 64, 1, residual=False), GraphConv(64, 64, 1), GraphConv(64, 128, 2), GraphConv(128, 256, 2)])
        self.importance = nn.ParameterList(nn.Parameter(torch.ones(3, 25, 25)) for _ in self.layers)
        self.head = nn.Conv2d(256, classes, 1)

    def forward(self, x):
        batch, channels, frames, joints, persons = x.shape
        x = x.permute(0, 4, 3, 1, 2).contiguous().view(batch * persons, joints * channels, frames)
        x = self.norm(x).view(batch, persons, joints, channels, frames).permute(0, 1, 3, 4, 2).contiguous()
        x = x.view(batch * persons, channels, frames, joints)
        for layer, importance in zip(self.layers, self.importance):
            x = layer(x, self.edges * importance)
        x = F.avg_pool2d(x, x.shape[2:]).view(batch, persons, -1, 1, 1).mean(1)
        return self.head(x).view(batch, -1)
