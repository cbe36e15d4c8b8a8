"""LSTM (Hochreiter, Schmidhuber 1997) and GRU (Cho et al. 2014)."""

from __future__ import annotations

from typing import Any

import keras

from components.trainer.config import SequencesConfig


class UpToLast(keras.layers.Layer):
    """Which places a recurrent net reads: those up to the last that is no padding, as bool [batch, length].

    Always the first too. cuDNN's kernels refuse a row without any place to read, and one with a gap.
    """

    def call(self, ids: Any) -> Any:
        there = keras.ops.cast(keras.ops.not_equal(ids, 0), "int32")
        follows = keras.ops.flip(keras.ops.cumsum(keras.ops.flip(there, axis=1), axis=1), axis=1)
        first = keras.ops.arange(ids.shape[1]) == 0
        return keras.ops.logical_or(follows > 0, first)


def recurrent(ids: Any, vectors: Any, options: SequencesConfig, kind: str, name: str) -> Any:
    """The last state, of both directions side by side: [batch, units], or twice that."""
    mask = UpToLast(name=f"{name}_read")(ids)
    made = {"lstm": keras.layers.LSTM, "gru": keras.layers.GRU}[kind]
    for i in range(options.layers):
        layer = made(options.units, return_sequences=i < options.layers - 1, name=f"{name}_{kind}_{i}")
        if options.bidirectional:
            layer = keras.layers.Bidirectional(layer, name=f"{name}_both_{i}")
        vectors = layer(vectors, mask=mask)
    return vectors
