#!/usr/bin/env python3
"""Models of Keras, KerasHub, and as Keras' and TensorFlow's guides build them, as tf2onnx writes them, of random weights: what users
of TensorFlow have, whether or not rules are timed for it.

    python tests/models/libraries_keras.py FOLDER [NAME...]      needs requirements-export.txt

Writes FOLDER/NAME.onnx, where that is not there yet, and a line for each; `bench/models.py --onnx FOLDER` measures them. Layers are fewer
and narrower than in what is trained, where all layers are alike; rules have been timed at their shapes since 2026-11-29. Exit status 1 where the exporter does not take a model.
"""

import importlib
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras  # noqa: E402
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
from keras import layers  # noqa: E402

import exporting  # noqa: E402
from export import spread  # noqa: E402

OPSET = 17


# ---- libraries

def application(name, size=224, **arguments):
    return lambda: (getattr(keras.applications, name)(weights=None, input_shape=(size, size, 3), **arguments), {"image": image(size)})


def hub(name, inputs, **arguments):
    """A backbone of KerasHub; arguments that are functions make a part of it."""
    def make():
        models = importlib.import_module("keras_hub").models
        made = {key: value(models) if callable(value) else value for key, value in arguments.items()}
        return getattr(models, name)(**made), inputs
    return make


def image(size, channels=3):
    return (1, size, size, channels), tf.float32


def text(length=128, *names):
    return {name: ((1, length), tf.int32) for name in names or ["token_ids", "padding_mask"]}


def resnet_18(models):
    return models.ResNetBackbone(input_conv_filters=[64], input_conv_kernel_sizes=[7], stackwise_num_filters=[64, 128, 256, 512],
                                 stackwise_num_blocks=[2, 2, 2, 2], stackwise_num_strides=[1, 2, 2, 2], block_type="basic_block", image_shape=(256, 256, 3))


def mit_b0(models):
    return models.MiTBackbone(layerwise_depths=[2, 2, 2, 2], num_layers=4, layerwise_num_heads=[1, 2, 5, 8], layerwise_sr_ratios=[8, 4, 2, 1],
                              max_drop_path_rate=0.1, layerwise_patch_sizes=[7, 3, 3, 3], layerwise_strides=[4, 2, 2, 2], image_shape=(256, 256, 3),
                              hidden_dims=[32, 64, 160, 256])


LAYERS = {"num_layers": 2, "hidden_dim": 384, "intermediate_dim": 1536}
ENCODER = {"vocabulary_size": 500, "num_heads": 6, **LAYERS}
PATCHES = {"patch_size": 16, "num_layers": 2, "num_heads": 6, "hidden_dim": 384}
SEGMENTS = ["token_ids", "segment_ids", "padding_mask"]


# ---- as guides build them

def network(*extents):
    """A maker of what the decorated function computes from such inputs."""
    def decorate(build):
        def make():
            inputs = [keras.Input(batch_shape=shape, name=f"input_{i}") for i, shape in enumerate(extents)]
            return keras.Model(inputs, build(*inputs)), {f"input_{i}": (shape, tf.float32) for i, shape in enumerate(extents)}
        return make
    return decorate


def conv_norm(x, filters, size=3, activation="relu", **arguments):
    x = layers.Conv2D(filters, size, padding="same", use_bias=False, **arguments)(x)
    return layers.Activation(activation)(layers.BatchNormalization()(x))


@network((1, 256, 256, 3))
def unet(x):
    """An encoder and a decoder with skips, transposed convolutions going up."""
    skips = []
    for filters in [32, 64, 128]:
        x = conv_norm(conv_norm(x, filters), filters)
        skips.append(x)
        x = layers.MaxPooling2D()(x)
    x = conv_norm(conv_norm(x, 256), 256)
    for filters, skip in zip([128, 64, 32], reversed(skips)):
        x = layers.Concatenate()([layers.Conv2DTranspose(filters, 2, strides=2)(x), skip])
        x = conv_norm(conv_norm(x, filters), filters)
    return layers.Conv2D(4, 1, activation="softmax")(x)


@network((1, 160, 160, 3))
def unet_xception(x):
    """Separable convolutions with residuals, upsampling going up."""
    x = conv_norm(x, 32, strides=2)
    before = x
    for filters in [64, 128, 256]:
        for _ in range(2):
            x = layers.SeparableConv2D(filters, 3, padding="same")(layers.Activation("relu")(x))
            x = layers.BatchNormalization()(x)
        x = layers.MaxPooling2D(3, strides=2, padding="same")(x)
        before = x = layers.add([x, layers.Conv2D(filters, 1, strides=2, padding="same")(before)])
    for filters in [256, 128, 64, 32]:
        for _ in range(2):
            x = layers.Conv2DTranspose(filters, 3, padding="same")(layers.Activation("relu")(x))
            x = layers.BatchNormalization()(x)
        x = layers.UpSampling2D(2)(x)
        before = x = layers.add([x, layers.Conv2D(filters, 1, padding="same")(layers.UpSampling2D(2)(before))])
    return layers.Conv2D(3, 3, activation="softmax", padding="same")(x)


@network((1, 256, 256, 3))
def deeplab(x):
    """Dilated convolutions side by side, bilinear upsampling."""
    body = keras.applications.ResNet50(weights=None, include_top=False, input_tensor=x)
    deep, low = body.get_layer("conv4_block6_2_relu").output, body.get_layer("conv2_block3_2_relu").output
    pooled = layers.AveragePooling2D((16, 16))(deep)
    pooled = layers.UpSampling2D((16, 16), interpolation="bilinear")(conv_norm(pooled, 256, 1))
    rates = [conv_norm(deep, 256, 1), *(conv_norm(deep, 256, dilation_rate=rate) for rate in (6, 12, 18))]
    up = layers.UpSampling2D((4, 4), interpolation="bilinear")(conv_norm(layers.Concatenate()([pooled, *rates]), 256, 1))
    x = layers.Concatenate()([up, conv_norm(low, 48, 1)])
    x = conv_norm(conv_norm(x, 256), 256)
    return layers.Conv2D(20, 1, padding="same")(layers.UpSampling2D((4, 4), interpolation="bilinear")(x))


@network((1, 256, 256, 3))
def pix2pix(x):
    skips = []
    for i, filters in enumerate([32, 64, 128, 256, 256, 256, 256, 256]):
        x = layers.Conv2D(filters, 4, strides=2, padding="same", use_bias=False)(x)
        x = layers.LeakyReLU()(x if i == 0 else layers.BatchNormalization()(x))
        skips.append(x)
    for filters, skip in zip([256, 256, 256, 256, 128, 64, 32], reversed(skips[:-1])):
        x = layers.BatchNormalization()(layers.Conv2DTranspose(filters, 4, strides=2, padding="same", use_bias=False)(x))
        x = layers.Concatenate()([layers.ReLU()(x), skip])
    return layers.Conv2DTranspose(3, 4, strides=2, padding="same", activation="tanh")(x)


@network((1, 128, 128, 3))
def cyclegan(x):
    """Reflected borders, normalisations of instances, residuals."""
    def norm(x):
        return layers.GroupNormalization(groups=-1)(x)

    def reflected(x, filters):
        return norm(layers.Conv2D(filters, 3, use_bias=False)(layers.Lambda(lambda t: tf.pad(t, [[0, 0], [1, 1], [1, 1], [0, 0]], "REFLECT"))(x)))
    x = layers.ReLU()(norm(layers.Conv2D(32, 7, padding="same", use_bias=False)(x)))
    for filters in [64, 128]:
        x = layers.ReLU()(norm(layers.Conv2D(filters, 3, strides=2, padding="same", use_bias=False)(x)))
    for _ in range(3):
        x = layers.add([x, reflected(layers.ReLU()(reflected(x, 128)), 128)])
    for filters in [64, 32]:
        x = layers.ReLU()(norm(layers.Conv2DTranspose(filters, 3, strides=2, padding="same", use_bias=False)(x)))
    return layers.Conv2D(3, 7, padding="same", activation="tanh")(x)


@network((1, 100))
def dcgan(x):
    x = layers.Reshape((7, 7, 256))(layers.LeakyReLU()(layers.BatchNormalization()(layers.Dense(7 * 7 * 256, use_bias=False)(x))))
    for filters, stride in [(128, 1), (64, 2)]:
        x = layers.Conv2DTranspose(filters, 5, strides=stride, padding="same", use_bias=False)(x)
        x = layers.LeakyReLU()(layers.BatchNormalization()(x))
    return layers.Conv2DTranspose(1, 5, strides=2, padding="same", use_bias=False, activation="tanh")(x)


@network((1, 100, 100, 1))
def espcn(x):
    for filters, size in [(64, 5), (64, 3), (32, 3), (9, 3)]:
        x = layers.Conv2D(filters, size, activation="relu", padding="same")(x)
    return layers.Lambda(lambda t: tf.nn.depth_to_space(t, 3))(x)


@network((1, 96, 96, 3))
def edsr(x):
    first = x = layers.Conv2D(64, 3, padding="same")(x)
    for _ in range(6):
        x = layers.add([x, layers.Conv2D(64, 3, padding="same")(layers.Conv2D(64, 3, padding="same", activation="relu")(x))])
    x = layers.add([first, layers.Conv2D(64, 3, padding="same")(x)])
    x = layers.Lambda(lambda t: tf.nn.depth_to_space(t, 2))(layers.Conv2D(256, 3, padding="same")(x))
    return layers.Conv2D(3, 3, padding="same")(x)


@network((1, 128, 128, 3))
def mirnet_block(x):
    """Attention over channels and over pixels side by side, of two scales."""
    def channels(x):
        weights = layers.Conv2D(8, 1, activation="relu")(layers.GlobalAveragePooling2D(keepdims=True)(x))
        return layers.multiply([x, layers.Conv2D(64, 1, activation="sigmoid")(weights)])

    def pixels(x):
        both = layers.Lambda(lambda t: tf.concat([tf.reduce_max(t, -1, keepdims=True), tf.reduce_mean(t, -1, keepdims=True)], -1))(x)
        return layers.multiply([x, layers.Conv2D(1, 5, padding="same", activation="sigmoid")(both)])
    x = layers.Conv2D(64, 3, padding="same")(x)
    for _ in range(2):
        small = layers.AveragePooling2D(2)(x)
        parts = []
        for part in [x, small]:
            y = layers.Conv2D(64, 3, padding="same")(layers.Conv2D(64, 3, padding="same", activation="relu")(part))
            parts.append(layers.add([part, layers.Conv2D(64, 1)(layers.Concatenate()([channels(y), pixels(y)]))]))
        up = layers.UpSampling2D(interpolation="bilinear")(parts[1])
        x = layers.add([x, layers.Conv2D(64, 3, padding="same")(layers.add([parts[0], up]))])
    return layers.Conv2D(3, 3, padding="same")(x)


@network((1, 64, 128, 128, 1))
def ct_scan(x):
    for filters in [32, 32, 64, 128]:
        x = layers.BatchNormalization()(layers.MaxPool3D(2)(layers.Conv3D(filters, 3, activation="relu")(x)))
    return layers.Dense(1, activation="sigmoid")(layers.Dense(256, activation="relu")(layers.GlobalAveragePooling3D()(x)))


@network((1, 10, 64, 64, 3))
def r2plus1d(x):
    """Convolutions over pixels, then over frames."""
    def apart(x, filters):
        x = layers.Conv3D(filters, (1, 3, 3), padding="same")(x)
        return layers.Conv3D(filters, (3, 1, 1), padding="same")(x)
    x = layers.ReLU()(layers.BatchNormalization()(apart(x, 16)))
    for filters in [16, 32, 64, 128]:
        y = layers.LayerNormalization()(apart(layers.ReLU()(layers.LayerNormalization()(apart(x, filters))), filters))
        if filters != x.shape[-1]:
            x = layers.LayerNormalization()(layers.Dense(filters)(x))
        x = layers.AveragePooling3D((1, 2, 2))(layers.add([y, x]))
    return layers.Dense(10)(layers.GlobalAveragePooling3D()(x))


@network((1, 8000, 1))
def wavenet(x):
    x = layers.Conv1D(64, 2, padding="causal")(x)
    skips = []
    for rate in [1, 2, 4, 8, 16, 32, 64, 128]:
        gate = layers.Conv1D(64, 2, padding="causal", dilation_rate=rate, activation="sigmoid")(x)
        y = layers.multiply([layers.Conv1D(64, 2, padding="causal", dilation_rate=rate, activation="tanh")(x), gate])
        skips.append(layers.Conv1D(128, 1)(y))
        x = layers.add([x, layers.Conv1D(64, 1)(y)])
    x = layers.Conv1D(128, 1, activation="relu")(layers.ReLU()(layers.add(skips)))
    return layers.Conv1D(256, 1, activation="softmax")(x)


@network((1, 1024, 64))
def convolutions_over_time(x):
    for filters, size in [(64, 7), (128, 5), (128, 3), (256, 3)]:
        x = layers.ReLU()(layers.BatchNormalization()(layers.Conv1D(filters, size, padding="same")(x)))
        x = layers.MaxPooling1D()(x)
    return layers.Dense(10, activation="softmax")(layers.GlobalAveragePooling1D()(x))


@network((1, 16000))
def speech_commands(x):
    """A spectrogram, made smaller, through a small network."""
    x = layers.Lambda(lambda t: tf.abs(tf.signal.stft(t, frame_length=255, frame_step=128))[..., None], output_shape=(124, 129, 1))(x)
    x = layers.Resizing(32, 32)(x)
    x = layers.MaxPooling2D()(layers.Conv2D(64, 3, activation="relu")(layers.Conv2D(32, 3, activation="relu")(x)))
    return layers.Dense(8)(layers.Dense(128, activation="relu")(layers.Flatten()(x)))


@network((1, 2048, 3))
def pointnet(x):
    for units in [32, 64, 512]:
        x = layers.ReLU()(layers.BatchNormalization()(layers.Conv1D(units, 1)(x)))
    x = layers.GlobalMaxPooling1D()(x)
    return layers.Dense(10, activation="softmax")(layers.Dense(128, activation="relu")(layers.Dense(256, activation="relu")(x)))


@network((1, 256, 256, 3))
def convmixer(x):
    x = layers.BatchNormalization()(layers.Activation("gelu")(layers.Conv2D(256, 8, strides=8)(x)))
    for _ in range(4):
        x = layers.add([layers.BatchNormalization()(layers.Activation("gelu")(layers.DepthwiseConv2D(5, padding="same")(x))), x])
        x = layers.BatchNormalization()(layers.Activation("gelu")(layers.Conv2D(256, 1)(x)))
    return layers.Dense(10)(layers.GlobalAveragePooling2D()(x))


@network((1, 256, 128))
def mlp_mixer(x):
    for _ in range(4):
        y = layers.Permute((2, 1))(layers.LayerNormalization()(x))
        y = layers.Dense(256)(layers.Dense(256, activation="gelu")(y))
        x = layers.add([x, layers.Permute((2, 1))(y)])
        y = layers.LayerNormalization()(x)
        x = layers.add([x, layers.Dense(128)(layers.Dense(256, activation="gelu")(y))])
    return layers.Dense(10)(layers.GlobalAveragePooling1D()(x))


@network((1, 64, 64, 3), (1, 1))
def ddim_unet(noisy, variance):
    """A denoiser with an embedding of its noise, spread over the pixels."""
    def block(x, width):
        residual = x if x.shape[-1] == width else layers.Conv2D(width, 1)(x)
        x = layers.BatchNormalization(center=False, scale=False)(x)
        return layers.add([layers.Conv2D(width, 3, padding="same")(layers.Conv2D(width, 3, padding="same", activation="swish")(x)), residual])

    def waves(t):
        angles = t[:, None, None] * tf.constant(np.exp(np.linspace(0, 6.9, 16)).astype(np.float32)) * 6.2831855
        return tf.concat([tf.sin(angles), tf.cos(angles)], axis=-1)
    embedding = layers.UpSampling2D(64)(layers.Lambda(waves, output_shape=(1, 1, 32))(layers.Flatten()(variance)))
    x = layers.Concatenate()([layers.Conv2D(32, 1)(noisy), embedding])
    skips = []
    for width in [32, 64, 96]:
        for _ in range(2):
            x = block(x, width)
            skips.append(x)
        x = layers.AveragePooling2D(2)(x)
    x = block(block(x, 128), 128)
    for width in [96, 64, 32]:
        x = layers.UpSampling2D(interpolation="bilinear")(x)
        for _ in range(2):
            x = block(layers.Concatenate()([x, skips.pop()]), width)
    return layers.Conv2D(3, 1)(x)


@network((1, 28, 28, 8))
def vq_vae(x):
    """Of the nearest of 64 vectors, by distances."""
    table = tf.constant(np.random.default_rng(0).standard_normal((8, 64)).astype(np.float32))

    def nearest(t):
        flat = tf.reshape(t, [-1, 8])
        far = tf.reduce_sum(flat ** 2, 1, keepdims=True) + tf.reduce_sum(table ** 2, 0) - 2 * tf.matmul(flat, table)
        return tf.reshape(tf.matmul(tf.one_hot(tf.argmin(far, 1), 64), table, transpose_b=True), t.shape)
    x = layers.Conv2D(8, 1)(layers.Conv2D(64, 3, strides=2, padding="same", activation="relu")(x))
    x = layers.Lambda(nearest)(x)
    return layers.Conv2DTranspose(1, 3, padding="same")(layers.Conv2DTranspose(32, 3, strides=2, padding="same", activation="relu")(x))


@network((1, 128, 128, 3))
def zero_dce(x):
    """Curves of each pixel, applied again and again."""
    first = layers.Conv2D(32, 3, activation="relu", padding="same")(x)
    second = layers.Conv2D(32, 3, activation="relu", padding="same")(first)
    third = layers.Conv2D(32, 3, activation="relu", padding="same")(second)
    fourth = layers.Conv2D(32, 3, activation="relu", padding="same")(layers.Concatenate()([third, second]))
    curves = layers.Conv2D(24, 3, activation="tanh", padding="same")(layers.Concatenate()([fourth, first]))
    for i in range(8):
        x = layers.Lambda(lambda both, i=i: both[0] + both[1][..., 3 * i:3 * i + 3] * (tf.square(both[0]) - both[0]))([x, curves])
    return x


@network((1, 96, 64))
def bidirectional_lstm(x):
    x = layers.Bidirectional(layers.LSTM(64, return_sequences=True))(x)
    return layers.Dense(1)(layers.Bidirectional(layers.LSTM(64))(x))


@network((1, 200, 193))
def speech_to_text(x):
    """Convolutions over a spectrogram, then recurrent layers."""
    x = layers.Reshape((200, 193, 1))(x)
    x = conv_norm(conv_norm(x, 32, (11, 41), strides=(2, 2)), 32, (11, 21), strides=(1, 2))
    x = layers.Reshape((-1, x.shape[-2] * x.shape[-1]))(x)
    for _ in range(2):
        x = layers.Bidirectional(layers.GRU(128, return_sequences=True))(x)
    return layers.Dense(32, activation="softmax")(x)


@network((1, 128, 128, 3))
def squeeze_and_excite(x):
    x = conv_norm(x, 64, strides=2)
    for filters in [64, 128, 256]:
        y = conv_norm(conv_norm(x, filters, strides=2), filters)
        scale = layers.Dense(filters // 16, activation="relu")(layers.GlobalAveragePooling2D()(y))
        scale = layers.Reshape((1, 1, filters))(layers.Dense(filters, activation="sigmoid")(scale))
        x = layers.add([layers.multiply([y, scale]), layers.Conv2D(filters, 1, strides=2)(x)])
    return layers.Dense(10)(layers.GlobalAveragePooling2D()(x))


@network((1, 224, 224, 3))
def bifpn(x):
    """Levels added with learnt weights, of one sum."""
    body = keras.applications.EfficientNetB0(weights=None, include_top=False, input_tensor=x)
    levels = [layers.Conv2D(64, 1)(body.get_layer(n).output) for n in ["block3b_add", "block5c_add", "block7a_project_bn"]]

    class Weighted(layers.Layer):
        def build(self, shapes):
            self.w = self.add_weight(shape=(len(shapes),), initializer="ones", name="w")

        def call(self, parts):
            w = tf.nn.relu(self.w)
            return sum(w[i] / (tf.reduce_sum(w) + 1e-4) * part for i, part in enumerate(parts))

    def mixed(*parts):
        return layers.BatchNormalization()(layers.SeparableConv2D(64, 3, padding="same")(layers.Activation("swish")(Weighted()(list(parts)))))
    for _ in range(2):
        middle = mixed(levels[1], layers.UpSampling2D()(levels[2]))
        low = mixed(levels[0], layers.UpSampling2D()(middle))
        middle = mixed(levels[1], middle, layers.MaxPooling2D(3, 2, "same")(low))
        levels = [low, middle, mixed(levels[2], layers.MaxPooling2D(3, 2, "same")(middle))]
    return levels


MODELS = {
    **{name.lower(): application(name) for name in ["DenseNet121", "EfficientNetB0", "EfficientNetV2S", "MobileNet", "MobileNetV3Large", "NASNetMobile",
                                                    "ResNet50", "ConvNeXtTiny"]},
    "vgg16": application("VGG16", include_top=False),
    "inceptionv3": application("InceptionV3", 299),
    "inceptionresnetv2": application("InceptionResNetV2", 299),
    "bert": hub("BertBackbone", text(128, *SEGMENTS), **ENCODER),
    "albert": hub("AlbertBackbone", text(128, *SEGMENTS), embedding_dim=128, **ENCODER),
    "electra": hub("ElectraBackbone", text(128, *SEGMENTS), vocab_size=500, num_heads=6, embedding_dim=128, **LAYERS),
    "fnet": hub("FNetBackbone", text(128, *SEGMENTS[:2]), vocabulary_size=500, **LAYERS),
    "xlnet": hub("XLNetBackbone", text(128, *SEGMENTS), **ENCODER),
    "roformer": hub("RoformerV2Backbone", text(128, *SEGMENTS[:2]), head_size=64, **ENCODER),
    "deberta": hub("DebertaV3Backbone", text(), **ENCODER),
    "bloom": hub("BloomBackbone", text(), **ENCODER),
    "gpt2": hub("GPT2Backbone", text(), **ENCODER),
    "opt": hub("OPTBackbone", text(), **ENCODER),
    "llama": hub("Llama3Backbone", text(), vocabulary_size=500, num_query_heads=6, num_key_value_heads=2, **LAYERS),
    "qwen": hub("Qwen3Backbone", text(), vocabulary_size=500, num_query_heads=6, num_key_value_heads=2, head_dim=64, **LAYERS),
    "esm": hub("ESMBackbone", text(128, "token_ids"), **ENCODER),
    "bart": hub("BartBackbone", text(64, "encoder_token_ids", "encoder_padding_mask", "decoder_token_ids", "decoder_padding_mask"), **ENCODER),
    "t5": hub("T5Backbone", text(64, "encoder_token_ids", "encoder_padding_mask", "decoder_token_ids", "decoder_padding_mask"), **ENCODER),
    "whisper": hub("WhisperBackbone", {"encoder_features": ((1, 1000, 80), tf.float32), **text(32, "decoder_token_ids", "decoder_padding_mask")},
                   max_encoder_sequence_length=1000, **ENCODER),
    "vit": hub("ViTBackbone", {"image": image(224)}, image_shape=(224, 224, 3), mlp_dim=1536, **PATCHES),
    "deit": hub("DeiTBackbone", {"image": image(224)}, image_shape=(224, 224, 3), intermediate_dim=1536, **PATCHES),
    "dinov2": hub("DINOV2Backbone", {"images": image(224)}, **{**PATCHES, "patch_size": 14}, intermediate_dim=1536, use_mask_token=False),
    "vitdet": hub("ViTDetBackbone", {"image": image(256)}, hidden_size=192, num_layers=4, intermediate_dim=768, num_heads=3,
                  global_attention_layer_indices=[1, 3], image_shape=(256, 256, 3), window_size=7),
    "swin": hub("SwinTransformerBackbone", {"image": image(224)}, image_shape=(224, 224, 3), embed_dim=96, depths=[2, 2, 2, 2], num_heads=[3, 6, 12, 24], window_size=7),
    "mit": lambda: (mit_b0(importlib.import_module("keras_hub").models), {"image": image(256)}),
    "segformer": hub("SegFormerBackbone", {"image": image(256)}, image_encoder=mit_b0, projection_filters=256),
    "resnet_18": lambda: (resnet_18(importlib.import_module("keras_hub").models), {"image": image(256)}),
    "deeplabv3": hub("DeepLabV3Backbone", {"image": image(256)}, image_encoder=resnet_18, spatial_pyramid_pooling_key="P4", upsampling_size=4,
                     dilation_rates=[6, 12, 18], low_level_feature_key="P2", image_shape=(256, 256, 3)),
    "retinanet": hub("RetinaNetBackbone", {"image": image(256)}, image_encoder=resnet_18, min_level=3, max_level=7, use_p5=False, image_shape=(256, 256, 3)),
    "cspdarknet": hub("CSPNetBackbone", {"image": image(256)}, stem_filters=32, stem_kernel_size=3, stem_strides=1, stackwise_depth=[1, 2, 2, 2, 2],
                      stackwise_strides=[2] * 5, stackwise_num_filters=[64, 128, 256, 512, 1024], block_type="dark_block", stage_type="csp",
                      bottle_ratio=[0.5, 1, 1, 1, 1], block_ratio=[1, 0.5, 0.5, 0.5, 0.5], expand_ratio=[2, 1, 1, 1, 1], down_growth=True,
                      stem_padding="same", image_shape=(256, 256, 3)),
    "guide_unet": unet, "guide_unet_xception": unet_xception, "guide_deeplab": deeplab, "guide_pix2pix": pix2pix, "guide_cyclegan": cyclegan,
    "guide_dcgan": dcgan, "guide_espcn": espcn, "guide_edsr": edsr, "guide_mirnet": mirnet_block, "guide_ct_scan": ct_scan,
    "guide_r2plus1d": r2plus1d, "guide_wavenet": wavenet, "guide_conv1d": convolutions_over_time, "guide_speech_commands": speech_commands,
    "guide_pointnet": pointnet, "guide_convmixer": convmixer, "guide_mlp_mixer": mlp_mixer, "guide_ddim": ddim_unet, "guide_vq_vae": vq_vae,
    "guide_zero_dce": zero_dce, "guide_lstm": bidirectional_lstm, "guide_speech_to_text": speech_to_text, "guide_squeeze": squeeze_and_excite,
    "guide_bifpn": bifpn,
}


def erfc(ctx, node, name, args):
    """What tf2onnx lacks, and a Gelu has: 1 - Erf(x)."""
    one = ctx.make_const(name + "/one", np.float32(1))
    shape, kind = ctx.get_shape(node.output[0]), ctx.get_dtype(node.output[0])
    erf = ctx.make_node("Erf", node.input)
    outputs = list(node.output)
    ctx.remove_node(name)
    ctx.make_node("Sub", [one.output[0], erf.output[0]], outputs=outputs, name=name, shapes=[shape], dtypes=[kind])


def export(name, path):
    import tf2onnx
    keras.backend.clear_session()
    keras.utils.set_random_seed(0)
    module, inputs = MODELS[name]()
    random = np.random.default_rng(0)
    module.set_weights([spread(w, random) for w in module.get_weights()])
    signature = [tf.TensorSpec(shape, kind, key) for key, (shape, kind) in inputs.items()]
    guided = name.startswith("guide_")

    def call(*tensors):
        named = dict(zip(inputs, tensors))
        return module(list(tensors) if guided else named if isinstance(module.input, dict) else tensors[0], training=False)
    tf2onnx.convert.from_function(tf.function(call, input_signature=signature), signature, opset=OPSET, output_path=str(path),
                                  custom_op_handlers={"Erfc": (erfc, [])})


if __name__ == "__main__":
    sys.exit(exporting.main("Exports models of Keras and KerasHub.", MODELS, export))
