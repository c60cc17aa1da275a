#!/usr/bin/env python3
"""Models in Flax (nnx) as its guides and well-known repositories build them, as jax2onnx writes them, of random weights: what users of JAX
have, whether or not rules are timed for it.

    python tests/models/libraries_jax.py FOLDER [NAME...]      needs requirements-export-jax.txt

Writes FOLDER/NAME.onnx, where that is not there yet, and a line for each; `bench/models.py --onnx FOLDER` measures them. Exit status 1 where
the exporter does not take a model.
"""

import sys

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

import exporting
from export import spread

RNGS = nnx.Rngs(0)


# ---- layers

def conv(before, after, size=3, strides=1, **arguments):
    sizes = size if isinstance(size, tuple) else (size, size)
    return nnx.Conv(before, after, sizes, strides=strides, rngs=RNGS, **arguments)


def norm(width):
    return nnx.BatchNorm(width, use_running_average=True, rngs=RNGS)


def conv_norm(before, after, size=3, strides=1, activation=nnx.relu, **arguments):
    return nnx.Sequential(conv(before, after, size, strides, use_bias=False, **arguments), norm(after), *[activation] if activation else [])


def linear(before, after, **arguments):
    return nnx.Linear(before, after, rngs=RNGS, **arguments)


def mlp(width, hidden, activation=nnx.gelu):
    return nnx.Sequential(linear(width, hidden), activation, linear(hidden, width))


def layer_norm(width):
    return nnx.LayerNorm(width, rngs=RNGS)


def attention(width, heads):
    return nnx.MultiHeadAttention(num_heads=heads, in_features=width, decode=False, rngs=RNGS)


class Net(nnx.Module):
    """Of named parts; `call` of it and of the input is what it computes."""

    def __init__(self, call, **parts):
        self.call = call
        for name, part in parts.items():
            setattr(self, name, nnx.List(part) if isinstance(part, list) else part)

    def __call__(self, *inputs):
        return self.call(self, *inputs)


def upsample(x, factor=2, method="nearest"):
    b, h, w, c = x.shape
    return jax.image.resize(x, (b, h * factor, w * factor, c), method, antialias=False)


# ---- images

def residual(before, after, strides=1):
    def call(net, x):
        return nnx.relu(net.second(net.first(x)) + (net.short(x) if strides != 1 or before != after else x))
    short = {"short": conv_norm(before, after, 1, strides, activation=None)} if strides != 1 or before != after else {}
    return Net(call, first=conv_norm(before, after, 3, strides), second=conv_norm(after, after, activation=None), **short)


def resnet_18(x=(1, 224, 224, 3)):
    def call(net, x):
        x = nnx.max_pool(net.stem(x), window_shape=(3, 3), strides=(2, 2), padding="SAME")
        for block in net.blocks:
            x = block(x)
        return net.head(x.mean((1, 2)))
    widths = [64, 64, 64, 128, 128, 256, 256, 512, 512]
    return Net(call, stem=conv_norm(3, 64, 7, 2), head=linear(512, 1000),
               blocks=[residual(a, b, 1 if a == b else 2) for a, b in zip(widths, widths[1:])]), [x]


def mbconv(before, after, strides, size=3, expand=4):
    hidden = before * expand

    def call(net, x):
        y = net.depth(net.wide(x))
        y = y * nnx.sigmoid(net.up(nnx.swish(net.down(y.mean((1, 2), keepdims=True)))))
        y = net.narrow(y)
        return x + y if strides == 1 and before == after else y
    return Net(call, wide=conv_norm(before, hidden, 1, activation=nnx.swish),
               depth=conv_norm(hidden, hidden, size, strides, nnx.swish, feature_group_count=hidden),
               down=conv(hidden, before // 4, 1), up=conv(before // 4, hidden, 1), narrow=conv_norm(hidden, after, 1, activation=None))


def efficientnet(x=(1, 224, 224, 3)):
    def call(net, x):
        return net.head(net.blocks(net.stem(x)).mean((1, 2)))
    return Net(call, stem=conv_norm(3, 32, 3, 2, nnx.swish), head=linear(192, 1000), blocks=nnx.Sequential(
        mbconv(32, 24, 2), mbconv(24, 24, 1), mbconv(24, 40, 2, 5), mbconv(40, 40, 1, 5), mbconv(40, 112, 2), mbconv(112, 192, 1, 5), mbconv(192, 192, 1, 5))), [x]


def convnext(x=(1, 224, 224, 3)):
    def block(width):
        return Net(lambda net, x: x + net.mlp(net.norm(net.depth(x))) * net.scale, norm=layer_norm(width), mlp=mlp(width, 4 * width),
                   depth=conv(width, width, 7, feature_group_count=width), scale=nnx.Param(jnp.full((width,), 1e-1)))

    def down(before, after):
        return nnx.Sequential(layer_norm(before), conv(before, after, 2, 2, padding="VALID"))
    widths = [96, 192, 384]

    def call(net, x):
        return net.head(net.norm(net.blocks(net.stem(x)).mean((1, 2))))
    return Net(call, stem=nnx.Sequential(conv(3, 96, 4, 4, padding="VALID"), layer_norm(96)), head=linear(384, 1000), norm=layer_norm(384),
               blocks=nnx.Sequential(*[part for a, b in zip(widths, [*widths[1:], None])
                                       for part in [block(a), block(a), *([down(a, b)] if b else [])]])), [x]


def unet(x=(1, 256, 256, 3)):
    def call(net, x):
        skips = []
        for down in net.down:
            x = down(x)
            skips.append(x)
            x = nnx.max_pool(x, window_shape=(2, 2), strides=(2, 2))
        x = net.middle(x)
        for grow, up in zip(net.grow, net.up):
            x = up(jnp.concatenate([grow(x), skips.pop()], -1))
        return nnx.softmax(net.head(x), axis=-1)

    def double(a, b):
        return nnx.Sequential(conv_norm(a, b), conv_norm(b, b))
    return Net(call, down=[double(3, 32), double(32, 64), double(64, 128)], middle=double(128, 256), up=[double(256, 128), double(128, 64), double(64, 32)],
               grow=[nnx.ConvTranspose(2 * c, c, (2, 2), strides=(2, 2), rngs=RNGS) for c in [128, 64, 32]], head=conv(32, 4, 1)), [x]


def ddpm_unet(x=(1, 64, 64, 3), t=(1, 128)):
    def block(a, b):
        def call(net, x, t):
            y = net.first(nnx.swish(net.norm_1(x))) + net.time(nnx.swish(t))[:, None, None]
            return net.second(nnx.swish(net.norm_2(y))) + (net.short(x) if a != b else x)
        return Net(call, norm_1=nnx.GroupNorm(a, num_groups=16, rngs=RNGS), norm_2=nnx.GroupNorm(b, num_groups=16, rngs=RNGS), first=conv(a, b), second=conv(b, b),
                   time=linear(128, b), **({"short": conv(a, b, 1)} if a != b else {}))

    def attend(net, x):
        b, h, w, c = x.shape
        y = net.norm(x).reshape(b, h * w, c)
        return x + net.attention(y).reshape(x.shape)

    def call(net, x, t):
        x = net.stem(x)
        a = net.one(x, t)
        b = net.two(net.down_1(a), t)
        y = net.middle(net.attend(net.three(net.down_2(b), t)), t)
        y = net.four(jnp.concatenate([net.up_1(upsample(y)), b], -1), t)
        y = net.five(jnp.concatenate([net.up_2(upsample(y)), a], -1), t)
        return net.out(nnx.swish(net.norm(y)))
    return Net(call, stem=conv(3, 64), one=block(64, 64), down_1=conv(64, 64, 3, 2), two=block(64, 128), down_2=conv(128, 128, 3, 2), three=block(128, 128),
               attend=Net(attend, norm=nnx.GroupNorm(128, num_groups=16, rngs=RNGS), attention=attention(128, 4)), middle=block(128, 128), up_1=conv(128, 128),
               four=block(256, 64), up_2=conv(64, 64), five=block(128, 64), norm=nnx.GroupNorm(64, num_groups=16, rngs=RNGS), out=conv(64, 3)), [x, t]


def dcgan(z=(1, 1, 1, 100)):
    def grow(a, b, strides=2, padding="SAME"):
        return nnx.ConvTranspose(a, b, (4, 4), strides=(strides, strides), padding=padding, use_bias=False, rngs=RNGS)
    return nnx.Sequential(grow(100, 512, 1, "VALID"), norm(512), nnx.relu, grow(512, 256), norm(256), nnx.relu, grow(256, 128), norm(128), nnx.relu,
                          grow(128, 64), norm(64), nnx.relu, grow(64, 3), jnp.tanh), [z]


def super_resolution(x=(1, 128, 128, 3)):
    def shuffle(net, x):
        b, h, w, c = x.shape
        y = net.last(jax.nn.leaky_relu(net.second(jax.nn.leaky_relu(net.first(x)))))
        y = y.reshape(b, h, w, 3, 3, 3).transpose(0, 1, 3, 2, 4, 5).reshape(b, 3 * h, 3 * w, 3)
        return y + upsample(x, 3, "bilinear")
    return Net(shuffle, first=conv(3, 64, 5), second=conv(64, 32), last=conv(32, 27)), [x]


def segmenter(x=(1, 256, 256, 3)):
    """Dilated convolutions side by side, bilinear upsampling."""
    def call(net, x):
        y = net.body(x)
        y = net.join(jnp.concatenate([part(y) for part in net.rates], -1))
        return nnx.softmax(upsample(net.head(y), 8, "bilinear"), axis=-1)
    return Net(call, body=nnx.Sequential(conv_norm(3, 32, 3, 2), conv_norm(32, 64, 3, 2), conv_norm(64, 128, 3, 2)), join=conv_norm(256, 128, 1), head=conv(128, 19, 1),
               rates=[conv_norm(128, 64, 1), *[conv_norm(128, 64, kernel_dilation=(d, d)) for d in (6, 12, 18)]]), [x]


def vq_vae(x=(1, 64, 64, 3)):
    def call(net, x):
        z = net.encode(x)
        flat = z.reshape(-1, 64)
        codes = net.codes[...]
        distances = jnp.sum((flat[:, None] - codes[None]) ** 2, -1)
        return net.decode(codes[jnp.argmin(distances, -1)].reshape(z.shape))
    return Net(call, encode=nnx.Sequential(conv(3, 64, 4, 2), nnx.relu, conv(64, 64, 4, 2), nnx.relu, conv(64, 64)), codes=nnx.Param(jax.random.normal(jax.random.key(1), (512, 64))),
               decode=nnx.Sequential(conv(64, 64), nnx.relu, *[part for c in [64, 3] for part in [nnx.ConvTranspose(64, c, (4, 4), strides=(2, 2), rngs=RNGS), nnx.relu][:1 + (c > 3)]])), [x]


# ---- transformers

def block(width, heads):
    return Net(lambda net, x: (lambda y: y + net.mlp(net.norm_2(y)))(x + net.attention(net.norm_1(x))),
               norm_1=layer_norm(width), norm_2=layer_norm(width), attention=attention(width, heads), mlp=mlp(width, 4 * width))


def vit(x=(1, 224, 224, 3)):
    def call(net, x):
        x = net.patches(x)
        x = x.reshape(x.shape[0], -1, 384)
        x = jnp.concatenate([jnp.broadcast_to(net.token[...], (x.shape[0], 1, 384)), x], 1) + net.positions[...]
        return net.head(net.norm(net.blocks(x))[:, 0])
    random = jax.random.normal
    return Net(call, patches=conv(3, 384, 16, 16, padding="VALID"), token=nnx.Param(random(jax.random.key(0), (1, 1, 384))),
               positions=nnx.Param(random(jax.random.key(1), (1, 197, 384))), blocks=nnx.Sequential(block(384, 6), block(384, 6)), norm=layer_norm(384), head=linear(384, 1000)), [x]


def mlp_mixer(x=(1, 224, 224, 3)):
    def mix(net, x):
        x = x + jnp.swapaxes(net.tokens(jnp.swapaxes(net.norm_1(x), 1, 2)), 1, 2)
        return x + net.channels(net.norm_2(x))

    def mixer():
        return Net(mix, norm_1=layer_norm(384), norm_2=layer_norm(384), tokens=mlp(196, 192), channels=mlp(384, 1536))
    return Net(lambda net, x: net.head(net.norm(net.blocks(net.patches(x).reshape(1, 196, 384))).mean(1)), patches=conv(3, 384, 16, 16, padding="VALID"),
               blocks=nnx.Sequential(mixer(), mixer(), mixer()), norm=layer_norm(384), head=linear(384, 1000)), [x]


def dit(x=(1, 32, 32, 4), t=(1, 384)):
    def call(net, x, t):
        a, b, c, d, e, f = jnp.split(net.modulate(nnx.swish(t))[:, None], 6, -1)
        x = x + c * net.attention(net.norm_1(x) * (1 + b) + a)
        return x + f * net.mlp(net.norm_2(x) * (1 + e) + d)

    def layer():
        plain = {"use_bias": False, "use_scale": False, "rngs": RNGS}
        return Net(call, norm_1=nnx.LayerNorm(384, **plain), norm_2=nnx.LayerNorm(384, **plain), attention=attention(384, 6), mlp=mlp(384, 1536), modulate=linear(384, 6 * 384))

    def whole(net, x, t):
        x = net.patches(x).reshape(1, 256, 384)
        for one in net.layers:
            x = one(x, t)
        return net.out(x).reshape(1, 16, 16, 2, 2, 4).transpose(0, 1, 3, 2, 4, 5).reshape(1, 32, 32, 4)
    return Net(whole, patches=conv(4, 384, 2, 2, padding="VALID"), layers=[layer(), layer()], out=linear(384, 16)), [x, t]


def rotary(x):
    half = x.shape[-1] // 2
    angles = np.arange(x.shape[1])[:, None] / 10000 ** (np.arange(half) / half)
    sine, cosine = (jnp.asarray(f(angles), jnp.float32)[None, :, None] for f in (np.sin, np.cos))
    a, b = jnp.split(x, 2, -1)
    return jnp.concatenate([a * cosine - b * sine, b * cosine + a * sine], -1)


def decoder(grouped, x=(1, 128, 384)):
    """RMSNorm, rotary positions, groups of queries, gated linear units: as Gemma and Llama have them."""
    heads, size = 6, 64

    def call(net, x):
        b, s, _ = x.shape
        y = net.norm_1(x)
        q, k, v = rotary(net.q(y).reshape(b, s, heads, size)), rotary(net.k(y).reshape(b, s, grouped, size)), net.v(y).reshape(b, s, grouped, size)
        q = q.reshape(b, s, grouped, heads // grouped, size)
        scores = jnp.einsum("bsgnd,btgd->bgnst", q, k) / 8
        scores = jnp.where(np.tril(np.ones((s, s), bool)), scores, -1e30)
        y = jnp.einsum("bgnst,btgd->bsgnd", nnx.softmax(scores, axis=-1), v).reshape(b, s, -1)
        x = x + net.o(y)
        y = net.norm_2(x)
        return x + net.down(nnx.gelu(net.gate(y)) * net.up(y))

    def layer():
        norms = {f"norm_{i}": nnx.RMSNorm(384, rngs=RNGS) for i in (1, 2)}
        plain = {"use_bias": False}
        return Net(call, **norms, q=linear(384, heads * size, **plain), k=linear(384, grouped * size, **plain), v=linear(384, grouped * size, **plain),
                   o=linear(heads * size, 384, **plain), gate=linear(384, 1024, **plain), up=linear(384, 1024, **plain), down=linear(1024, 384, **plain))
    return nnx.Sequential(layer(), layer(), nnx.RMSNorm(384, rngs=RNGS)), [x]


def bert(tokens=jax.ShapeDtypeStruct((1, 128), jnp.int32)):
    def layer():
        return Net(lambda net, x: (lambda y: net.norm_2(y + net.mlp(y)))(net.norm_1(x + net.attention(x))),
                   norm_1=layer_norm(384), norm_2=layer_norm(384), attention=attention(384, 6), mlp=mlp(384, 1536))

    def call(net, tokens):
        return net.layers(net.norm(net.words(tokens) + net.places(jnp.arange(128)[None])))
    return Net(call, words=nnx.Embed(500, 384, rngs=RNGS), places=nnx.Embed(128, 384, rngs=RNGS), norm=layer_norm(384), layers=nnx.Sequential(layer(), layer())), [tokens]


def linear_attention(x=(1, 1024, 256)):
    def call(net, x):
        b, s, c = x.shape
        q, k, v = (part.reshape(b, s, 8, 32) for part in jnp.split(net.qkv(net.norm(x)), 3, -1))
        q, k = nnx.elu(q) + 1, nnx.elu(k) + 1
        state = jnp.einsum("bshd,bshe->bhde", k, v)
        y = jnp.einsum("bshd,bhde->bshe", q, state) / jnp.einsum("bshd,bhd->bsh", q, k.sum(1))[..., None]
        return x + net.out(y.reshape(b, s, c))
    return nnx.Sequential(*[Net(call, norm=layer_norm(256), qkv=linear(256, 768), out=linear(256, 256)) for _ in range(2)]), [x]


def swin_block(x=(1, 56, 56, 96)):
    def call(net, x):
        b, h, w, c = x.shape
        y = jnp.roll(net.norm_1(x), (-3, -3), (1, 2))
        y = y.reshape(b, h // 7, 7, w // 7, 7, c).transpose(0, 1, 3, 2, 4, 5).reshape(-1, 49, c)
        y = net.attention(y).reshape(b, h // 7, w // 7, 7, 7, c).transpose(0, 1, 3, 2, 4, 5).reshape(b, h, w, c)
        x = x + jnp.roll(y, (3, 3), (1, 2))
        return x + net.mlp(net.norm_2(x))
    return nnx.Sequential(*[Net(call, norm_1=layer_norm(96), norm_2=layer_norm(96), attention=attention(96, 3), mlp=mlp(96, 384)) for _ in range(2)]), [x]


# ---- signals, functions, graphs

def wavenet(x=(1, 4000, 64)):
    def layer(dilation):
        def call(net, x):
            gate, value = jnp.split(net.wide(x), 2, -1)
            return x + net.out(jnp.tanh(value) * nnx.sigmoid(gate))
        return Net(call, wide=conv(64, 128, (2,), kernel_dilation=(dilation,), padding="CAUSAL"), out=conv(64, 64, (1,)))
    return nnx.Sequential(*[layer(2**i) for i in range(6)]), [x]


def conformer_conv(x=(1, 400, 256)):
    def call(net, x):
        a, b = jnp.split(net.wide(net.norm(x)), 2, -1)
        return x + net.out(nnx.swish(net.batch(net.depth(a * nnx.sigmoid(b)))))
    return nnx.Sequential(*[Net(call, norm=layer_norm(256), wide=linear(256, 512), depth=conv(256, 256, (31,), feature_group_count=256), batch=norm(256),
                                out=linear(256, 256)) for _ in range(2)]), [x]


def siren(x=(16384, 2)):
    def layer(a, b):
        return Net(lambda net, x: jnp.sin(30 * net.linear(x)), linear=linear(a, b))
    return nnx.Sequential(layer(2, 256), layer(256, 256), layer(256, 256), linear(256, 3)), [x]


def nerf(x=(16384, 3)):
    def call(net, x):
        scaled = x[..., None, :] * 2.0 ** np.arange(10, dtype=np.float32)[:, None]
        y = jnp.concatenate([x, jnp.sin(scaled).reshape(x.shape[0], -1), jnp.cos(scaled).reshape(x.shape[0], -1)], -1)
        return net.second(jnp.concatenate([net.first(y), y], -1))
    return Net(call, first=nnx.Sequential(linear(63, 128), nnx.relu, linear(128, 128), nnx.relu), second=nnx.Sequential(linear(191, 128), nnx.relu, linear(128, 4))), [x]


def graph_attention(x=(256, 64), adjacency=(256, 256)):
    def call(net, x, adjacency):
        h = net.project(x)
        scores = jax.nn.leaky_relu(h @ net.left[...] + (h @ net.right[...]).T, 0.2)
        return nnx.elu(nnx.softmax(jnp.where(adjacency > 0, scores, -1e9), axis=-1) @ h)
    random = jax.random.normal
    return Net(call, project=linear(64, 128), left=nnx.Param(random(jax.random.key(0), (128, 1))), right=nnx.Param(random(jax.random.key(1), (128, 1)))), [x, adjacency]


def point_net(x=(1, 1024, 3)):
    return Net(lambda net, x: net.head(net.points(x).max(1)), points=nnx.Sequential(linear(3, 64), nnx.relu, linear(64, 128), nnx.relu, linear(128, 1024)), head=linear(1024, 40)), [x]


def relation_net(x=(1, 64, 128)):
    """A function of each pair of objects, added up."""
    def call(net, x):
        b, n, c = x.shape
        pairs = jnp.concatenate([jnp.broadcast_to(x[:, :, None], (b, n, n, c)), jnp.broadcast_to(x[:, None], (b, n, n, c))], -1)
        return net.after(net.pairs(pairs).sum((1, 2)))
    return Net(call, pairs=nnx.Sequential(linear(256, 256), nnx.relu, linear(256, 256), nnx.relu), after=linear(256, 10)), [x]


def fourier_operator(x=(1, 64, 64, 32)):
    """Frequencies by products with matrices, as where no FFT is at hand."""
    frequencies = np.exp(-2j * np.pi * np.outer(np.arange(12), np.arange(64)) / 64)
    real, imaginary = jnp.asarray(frequencies.real, jnp.float32), jnp.asarray(frequencies.imag, jnp.float32)

    def call(net, x):
        a, b = jnp.einsum("kh,bhwc->bkwc", real, x), jnp.einsum("kh,bhwc->bkwc", imaginary, x)
        a, b = jnp.einsum("bkwc,kcd->bkwd", a, net.a[...]) - jnp.einsum("bkwc,kcd->bkwd", b, net.b[...]), jnp.einsum("bkwc,kcd->bkwd", b, net.a[...])
        return nnx.gelu((jnp.einsum("kh,bkwc->bhwc", real, a) + jnp.einsum("kh,bkwc->bhwc", imaginary, b)) / 64 + net.skip(x))
    random = jax.random.normal
    return nnx.Sequential(*[Net(call, a=nnx.Param(random(jax.random.key(2 * i), (12, 32, 32))), b=nnx.Param(random(jax.random.key(2 * i + 1), (12, 32, 32))), skip=linear(32, 32))
                            for i in range(2)]), [x]


MODELS = {make.__name__: make for make in [
    resnet_18, efficientnet, convnext, unet, ddpm_unet, dcgan, super_resolution, segmenter, vq_vae, vit, mlp_mixer, dit, bert, linear_attention, swin_block,
    wavenet, conformer_conv, siren, nerf, graph_attention, point_net, relation_net, fourier_operator]}
MODELS |= {"decoder": lambda: decoder(6), "decoder_grouped": lambda: decoder(2)}


def export(name, path):
    from jax2onnx import to_onnx
    global RNGS
    RNGS = nnx.Rngs(0)  # of each model the same, whichever come before it
    module, inputs = MODELS[name]()
    random = np.random.default_rng(0)
    state = nnx.state(module, nnx.Any(nnx.Param, nnx.BatchStat))
    nnx.update(module, jax.tree.map(lambda leaf: jnp.asarray(spread(np.asarray(leaf), random)), state))
    inputs = [jax.ShapeDtypeStruct(of, jnp.float32) if isinstance(of, tuple) else of for of in inputs]
    path.write_bytes(to_onnx(module, inputs).SerializeToString())


if __name__ == "__main__":
    sys.exit(exporting.main("Exports models in Flax.", MODELS, export))
