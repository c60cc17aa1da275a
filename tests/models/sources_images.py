"""Architectures on images, for the zoo: see sources.py. Written as their papers and usual implementations arrange them."""

import torch
from torch import nn
from torch.nn import functional as F


def conv_bn(inner, outer, kernel=1, stride=1, padding=None, groups=1):
    padding = kernel // 2 if padding is None else padding
    return [nn.Conv2d(inner, outer, kernel, stride, padding, groups=groups, bias=False), nn.BatchNorm2d(outer)]


# ---- faces

class FaceBottleneck(nn.Module):
    def __init__(self, inner, outer, stride, expansion):
        super().__init__()
        wide, self.joined = inner * expansion, stride == 1 and inner == outer
        self.layers = nn.Sequential(*conv_bn(inner, wide), nn.PReLU(wide), *conv_bn(wide, wide, 3, stride, groups=wide), nn.PReLU(wide),
                                    *conv_bn(wide, outer))

    def forward(self, x):
        return x + self.layers(x) if self.joined else self.layers(x)


def mobilefacenet():
    """Chen et al. 2018: inverted bottlenecks with PReLU, and a depthwise convolution of all positions in place of their mean."""
    layers, inner = [*conv_bn(3, 64, 3, 2), nn.PReLU(64), *conv_bn(64, 64, 3, groups=64), nn.PReLU(64)], 64
    for expansion, outer, repeats, stride in [(2, 64, 5, 2), (4, 128, 1, 2), (2, 128, 6, 1), (4, 128, 1, 2), (2, 128, 2, 1)]:
        for index in range(repeats):
            layers.append(FaceBottleneck(inner, outer, stride if index == 0 else 1, expansion))
            inner = outer
    return nn.Sequential(*layers, *conv_bn(128, 512), nn.PReLU(512), *conv_bn(512, 512, 7, padding=0, groups=512), *conv_bn(512, 128), nn.Flatten())


# ---- attention of channels and positions

class SqueezeExcitation(nn.Module):
    """Hu et al. 2018."""

    def __init__(self, channels, reduction=16):
        super().__init__()
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Sequential(nn.Linear(channels, channels // reduction, bias=False), nn.ReLU(), nn.Linear(channels // reduction, channels, bias=False),
                                nn.Sigmoid())

    def forward(self, x):
        batch, channels = x.shape[:2]
        scale = self.fc(self.pool(x).view(batch, channels)).view(batch, channels, 1, 1)
        return x * scale.expand_as(x)


class BlockAttention(nn.Module):
    """CBAM (Woo et al. 2018): a factor for each channel, from means and maxima of its positions; then one for each position, from
    means and maxima of its channels."""

    def __init__(self, channels, reduction=16):
        super().__init__()
        self.mlp = nn.Sequential(nn.Flatten(), nn.Linear(channels, channels // reduction), nn.ReLU(), nn.Linear(channels // reduction, channels))
        self.spatial = nn.Sequential(*conv_bn(2, 1, 7))

    def forward(self, x):
        size = x.shape[2:]
        scale = self.mlp(F.avg_pool2d(x, size)) + self.mlp(F.max_pool2d(x, size))
        x = x * torch.sigmoid(scale).unsqueeze(2).unsqueeze(3).expand_as(x)
        pooled = torch.cat([torch.max(x, 1)[0].unsqueeze(1), torch.mean(x, 1).unsqueeze(1)], 1)
        return x * torch.sigmoid(self.spatial(pooled))


class BasicBlock(nn.Module):
    """ResNet's, with attention behind its second convolution."""

    def __init__(self, inner, outer, stride, attention):
        super().__init__()
        self.layers = nn.Sequential(*conv_bn(inner, outer, 3, stride), nn.ReLU(), *conv_bn(outer, outer, 3), attention(outer))
        self.shortcut = nn.Sequential(*(conv_bn(inner, outer, 1, stride) if stride > 1 or inner != outer else []))

    def forward(self, x):
        return F.relu(self.layers(x) + self.shortcut(x))


def resnet18_with(attention):
    layers, inner = [*conv_bn(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)], 64
    for outer, stride in [(64, 1), (128, 2), (256, 2), (512, 2)]:
        layers += [BasicBlock(inner, outer, stride, attention), BasicBlock(outer, outer, 1, attention)]
        inner = outer
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000))


# ---- classification, as in 2012

def alexnet_lrn():
    """Krizhevsky et al. 2012: two halves, and responses normalised across channels."""
    def norm():
        return nn.LocalResponseNorm(5, alpha=1e-4, beta=0.75, k=2.0)

    return nn.Sequential(
        nn.Conv2d(3, 96, 11, 4), nn.ReLU(), norm(), nn.MaxPool2d(3, 2), nn.Conv2d(96, 256, 5, padding=2, groups=2), nn.ReLU(), norm(),
        nn.MaxPool2d(3, 2), nn.Conv2d(256, 384, 3, padding=1), nn.ReLU(), nn.Conv2d(384, 384, 3, padding=1, groups=2), nn.ReLU(),
        nn.Conv2d(384, 256, 3, padding=1, groups=2), nn.ReLU(), nn.MaxPool2d(3, 2), nn.Flatten(), nn.Dropout(), nn.Linear(256 * 36, 4096),
        nn.ReLU(), nn.Dropout(), nn.Linear(4096, 4096), nn.ReLU(), nn.Linear(4096, 1000))


# ---- segmentation

class Probabilities(nn.Module):
    """Of each class at each pixel of the image: the model's logits, resized where they are smaller."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x):
        logits = self.model(x)
        if logits.shape[2:] != x.shape[2:]:
            logits = F.interpolate(logits, size=x.shape[2:], mode="bilinear", align_corners=False)
        return torch.softmax(logits, 1)


class EnetBottleneck(nn.Module):
    """A 1x1 to a quarter of the channels, a convolution, a 1x1 back, beside the input."""

    def __init__(self, channels, middle, function, dropout=0.1):
        super().__init__()
        inner = channels // 4
        self.layers = nn.Sequential(*conv_bn(channels, inner), function(), *middle(inner), nn.BatchNorm2d(inner), function(), *conv_bn(inner, channels),
                                    nn.Dropout2d(dropout))
        self.out = function()

    def forward(self, x):
        return self.out(x + self.layers(x))


class EnetDown(nn.Module):
    """Halves the image, and says where its maxima were."""

    def __init__(self, channels, outer, dropout):
        super().__init__()
        inner, self.more = channels // 4, outer - channels
        self.pool = nn.MaxPool2d(2, 2, return_indices=True)
        self.layers = nn.Sequential(*conv_bn(channels, inner, 2, 2, padding=0), nn.PReLU(), *conv_bn(inner, inner, 3), nn.PReLU(), *conv_bn(inner, outer),
                                    nn.Dropout2d(dropout))
        self.out = nn.PReLU()

    def forward(self, x):
        main, indices = self.pool(x)
        more = torch.zeros(x.shape[0], self.more, *main.shape[2:], dtype=x.dtype, device=x.device)
        return self.out(torch.cat([main, more], 1) + self.layers(x)), indices


class EnetUp(nn.Module):
    """Doubles the image: values go where the maxima were."""

    def __init__(self, channels, outer):
        super().__init__()
        inner = channels // 4
        self.main = nn.Sequential(*conv_bn(channels, outer))
        self.layers = nn.Sequential(*conv_bn(channels, inner), nn.ReLU(), nn.ConvTranspose2d(inner, inner, 2, 2, bias=False), nn.BatchNorm2d(inner),
                                    nn.ReLU(), *conv_bn(inner, outer), nn.Dropout2d(0.1))
        self.unpool = nn.MaxUnpool2d(2)

    def forward(self, x, indices):
        return F.relu(self.unpool(self.main(x), indices) + self.layers(x))


class Enet(nn.Module):
    """Paszke et al. 2016."""

    def __init__(self, classes=19):
        super().__init__()

        def regular(inner, dilation=1):
            return [nn.Conv2d(inner, inner, 3, padding=dilation, dilation=dilation)]

        def asymmetric(inner):
            return [nn.Conv2d(inner, inner, (5, 1), padding=(2, 0), bias=False), nn.BatchNorm2d(inner), nn.PReLU(),
                    nn.Conv2d(inner, inner, (1, 5), padding=(0, 2))]

        def dilated(dilation):
            return lambda inner: regular(inner, dilation)

        def some(channels, middles, function):
            return nn.Sequential(*(EnetBottleneck(channels, middle, function) for middle in middles))

        middles = 2 * [regular, dilated(2), asymmetric, dilated(4), regular, dilated(8), asymmetric, dilated(16)]
        self.first, self.pool = nn.Conv2d(3, 13, 3, 2, 1, bias=False), nn.MaxPool2d(2, 2)
        self.behind = nn.Sequential(nn.BatchNorm2d(16), nn.PReLU())
        self.down1, self.stage1 = EnetDown(16, 64, 0.01), some(64, 4 * [regular], nn.PReLU)
        self.down2, self.stage2 = EnetDown(64, 128, 0.1), some(128, middles, nn.PReLU)
        self.up4, self.stage4 = EnetUp(128, 64), some(64, 2 * [regular], nn.ReLU)
        self.up5, self.stage5 = EnetUp(64, 16), some(16, [regular], nn.ReLU)
        self.last = nn.ConvTranspose2d(16, classes, 2, 2)

    def forward(self, x):
        x = self.behind(torch.cat([self.first(x), self.pool(x)], 1))
        x, first = self.down1(x)
        x, second = self.down2(self.stage1(x))
        x = self.stage4(self.up4(self.stage2(x), second))
        return self.last(self.stage5(self.up5(x, first)))


# ---- detection

class Combine(nn.Module):
    """A sum with a learned weight for each term, none negative, about 1 together; then a depthwise and a 1x1 convolution."""

    def __init__(self, terms, channels):
        super().__init__()
        self.weights = nn.Parameter(torch.ones(terms))
        self.conv = nn.Sequential(nn.SiLU(), nn.Conv2d(channels, channels, 3, padding=1, groups=channels, bias=False), nn.Conv2d(channels, channels, 1),
                                  nn.BatchNorm2d(channels, eps=1e-3))

    def forward(self, *terms):
        weights = F.relu(self.weights)
        total = torch.sum(weights) + 1e-4
        terms = torch.stack([term * weights[i] / total for i, term in enumerate(terms)], -1)
        return self.conv(torch.sum(terms, -1))


class BiFpnLayer(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.down = nn.ModuleList(Combine(2, channels) for _ in range(4))  # P6, P5, P4, P3
        self.up = nn.ModuleList(Combine(3 if level < 3 else 2, channels) for level in range(4))  # P4, P5, P6, P7

    def forward(self, features):
        above = [features[-1]]
        for combine, feature in zip(self.down, reversed(features[:-1])):
            above.append(combine(feature, F.interpolate(above[-1], scale_factor=2, mode="nearest")))
        above.reverse()
        out = [above[0]]
        for level, combine in enumerate(self.up, 1):
            own = [features[level]] if level == 4 else [features[level], above[level]]
            out.append(combine(*own, F.max_pool2d(out[-1], 3, 2, 1)))
        return out


class BiFpn(nn.Module):
    """EfficientDet-D0's (Tan et al. 2020), on the features of an EfficientNet-B0: 64 channels, three layers."""

    def __init__(self, channels=64, layers=3):
        super().__init__()
        self.inputs = nn.ModuleList(nn.Sequential(*conv_bn(inner, channels)) for inner in (40, 112, 320, 320))
        self.layers = nn.ModuleList(BiFpnLayer(channels) for _ in range(layers))

    def forward(self, p3, p4, p5):
        features = [conv(p) for conv, p in zip(self.inputs, (p3, p4, p5, p5))]
        features[3] = F.max_pool2d(features[3], 3, 2, 1)
        features.append(F.max_pool2d(features[3], 3, 2, 1))
        for layer in self.layers:
            features = layer(features)
        return tuple(features)


# ---- GANs

def infogan():
    """The generator of Chen et al. 2016 for MNIST, its full layers as transposed convolutions of one position."""
    layers = []
    for inner, outer, kernel, stride, pad in [(74, 1024, 1, 1, 0), (1024, 128, 7, 1, 0), (128, 64, 4, 2, 1)]:
        layers += [nn.ConvTranspose2d(inner, outer, kernel, stride, pad, bias=False), nn.BatchNorm2d(outer), nn.ReLU()]
    return nn.Sequential(*layers, nn.ConvTranspose2d(64, 1, 4, 2, 1, bias=False), nn.Sigmoid())
