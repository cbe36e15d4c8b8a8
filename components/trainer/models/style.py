"""Layers made the way the config says: one activation, initializer and normalization for all of a net."""

from __future__ import annotations

from typing import Any, NamedTuple

import keras
import tensorflow as tf

from components.trainer.config import ModelConfig

# Keras's 0.99 takes hundreds of steps to forget where a net began: too many for a few thousand rows.
_MOMENTUM = 0.9


class Style(NamedTuple):
    """Makes the layers of a net."""

    activation: str
    initializer: str
    normalization: str
    l2: float

    @classmethod
    def of_hidden(cls, config: ModelConfig) -> Style:
        """For hidden layers."""
        return cls(config.activation, config.initializer, config.normalization, config.l2)

    @classmethod
    def of_images(cls, config: ModelConfig) -> Style:
        """For convolutions."""
        return cls(config.activation, config.initializer, config.images.normalization, config.l2)

    def dense(self, x: Any, units: int, name: str) -> Any:
        """A dense layer, normalized and activated."""
        layer = keras.layers.Dense(
            units,
            activation=self.activation if self.normalization == "none" else None,
            use_bias=self._bias,
            kernel_initializer=self.initializer,
            kernel_regularizer=self.penalty(),
            name=name,
        )
        if self.normalization == "none":
            return layer(x)
        return self.activate(self.normalize(layer(x), name), name)

    def conv(self, x: Any, channels: int, name: str, *, kernel: int = 3, stride: int = 1) -> Any:
        """A convolution, normalized and activated."""
        return self.activate(self.linear_conv(x, channels, name, kernel=kernel, stride=stride), name)

    def linear_conv(self, x: Any, channels: int, name: str, *, kernel: int = 3, stride: int = 1) -> Any:
        """A convolution, normalized."""
        layer = keras.layers.Conv2D(
            channels,
            kernel,
            strides=stride,
            padding="same",
            use_bias=self._bias,
            kernel_initializer=self.initializer,
            kernel_regularizer=self.penalty(),
            name=name,
        )
        return self.normalize(layer(x), name)

    def depthwise(self, x: Any, name: str, *, kernel: int = 3, stride: int = 1) -> Any:
        """A convolution of each channel by itself, normalized and activated."""
        layer = keras.layers.DepthwiseConv2D(
            kernel,
            strides=stride,
            padding="same",
            use_bias=self._bias,
            depthwise_initializer=self._of_one_channel(),
            depthwise_regularizer=self.penalty(),
            name=name,
        )
        return self.activate(self.normalize(layer(x), name), name)

    def normalize(self, x: Any, name: str) -> Any:
        if self.normalization == "batch":
            # Over all devices, else each would normalize by its share of the batch.
            several = tf.distribute.get_strategy().num_replicas_in_sync > 1
            return keras.layers.BatchNormalization(
                momentum=_MOMENTUM, synchronized=several, name=f"{name}_norm"
            )(x)
        if self.normalization == "layer":
            return keras.layers.LayerNormalization(name=f"{name}_norm")(x)
        return x

    def activate(self, x: Any, name: str) -> Any:
        return keras.layers.Activation(self.activation, name=f"{name}_{self.activation}")(x)

    def penalty(self) -> keras.regularizers.Regularizer | None:
        return keras.regularizers.L2(self.l2) if self.l2 else None

    @property
    def _bias(self) -> bool:
        # What a bias adds to a whole batch, its normalization takes away again.
        return self.normalization != "batch"

    def _of_one_channel(self) -> keras.initializers.Initializer:
        """The initializer for a depthwise kernel [height, width, channels, 1].

        Each output sees height * width inputs. Keras counts the channels too in what it calls fan in,
        which would make the weights too small; what it calls fan out is the right number.
        """
        chosen = keras.initializers.get(self.initializer)
        scale = getattr(chosen, "scale", 1.0)
        distribution = getattr(chosen, "distribution", "truncated_normal")
        return keras.initializers.VarianceScaling(scale, "fan_out", distribution)
