"""A transformer encoder (Vaswani et al. 2017), normalized before each sublayer (Xiong et al. 2020).

With the normalization first it learns without a warm-up.
"""

from __future__ import annotations

from typing import Any

import keras

from components.trainer.config import SequencesConfig
from components.trainer.models.style import Style

# Units of the feed-forward sublayer for each of the model's, as in the paper.
_FEED_FORWARD = 4


class Positions(keras.layers.Layer):
    """Adds a learned vector for each place: [batch, length, units] to the same."""

    def build(self, shape: tuple[int, ...]) -> None:
        self.embeddings = self.add_weight(
            shape=shape[1:], initializer=keras.initializers.RandomNormal(stddev=0.02), name="embeddings"
        )

    def call(self, vectors: Any) -> Any:
        return vectors + keras.ops.cast(self.embeddings, vectors.dtype)


class Attended(keras.layers.Layer):
    """Which places may be attended to: those without padding, as bool [batch, 1, length] for all that ask."""

    def call(self, ids: Any) -> Any:
        return keras.ops.not_equal(ids, 0)[:, None, :]


def transformer(ids: Any, vectors: Any, options: SequencesConfig, style: Style, name: str) -> Any:
    """Attention and feed-forward sublayers, each added to what it took: [batch, length, units] as before."""
    mask = Attended(name=f"{name}_attended")(ids)
    x = Positions(name=f"{name}_positions")(vectors)
    for i in range(options.layers):
        attention, feed = f"{name}_attention_{i}", f"{name}_feed_{i}"
        x = _add(x, _attention(x, mask, options, attention), options, attention)
        x = _add(x, _feed_forward(x, options, style, feed), options, feed)
    return keras.layers.LayerNormalization(name=f"{name}_norm")(x)


def _attention(x: Any, mask: Any, options: SequencesConfig, name: str) -> Any:
    x = keras.layers.LayerNormalization(name=f"{name}_norm")(x)
    attention = keras.layers.MultiHeadAttention(
        options.heads, options.units // options.heads, dropout=options.dropout, name=name
    )
    return attention(x, x, attention_mask=mask)


def _feed_forward(x: Any, options: SequencesConfig, style: Style, name: str) -> Any:
    x = keras.layers.LayerNormalization(name=f"{name}_norm")(x)
    # No normalization of the model's own here: the sublayer has one.
    x = style._replace(normalization="none").dense(x, _FEED_FORWARD * options.units, f"{name}_up")
    return keras.layers.Dense(
        options.units,
        kernel_initializer=style.initializer,
        kernel_regularizer=style.penalty(),
        name=f"{name}_down",
    )(x)


def _add(x: Any, change: Any, options: SequencesConfig, name: str) -> Any:
    if options.dropout:
        change = keras.layers.Dropout(options.dropout, name=f"{name}_dropout")(change)
    return keras.layers.Add(name=f"{name}_sum")([x, change])
