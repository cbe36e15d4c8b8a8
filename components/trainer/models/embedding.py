"""Embeddings of ids, and what makes one vector of those of a row."""

from __future__ import annotations

from typing import Any

import keras

_MOST_UNITS = 32


class Embedding(keras.layers.Embedding):
    """An embedding whose gradient sums the rows that a batch uses more than once.

    Keras hands the optimizer one gradient row for each use, and Adam and its kin square each by
    itself; the sum of the rows is what the loss's gradient is. A multiplication in the way makes
    TensorFlow sum them.
    """

    def call(self, inputs: Any) -> Any:
        table = self.embeddings * 1.0
        return keras.ops.cast(keras.ops.take(table, inputs, axis=0), self.compute_dtype)


class OverTokens(keras.layers.Layer):
    """Reduces the vectors of a row's ids to one: `[batch, length, units]` to `[batch, units]`.

    Args:
      how: "mean" or "sum". In sequences 0 is padding and does not count; a row of nothing else gives 0.
    """

    def __init__(self, how: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._how = how

    def call(self, ids: Any, vectors: Any) -> Any:
        if ids.shape[1] == 1:
            return keras.ops.squeeze(vectors, 1)
        there = keras.ops.cast(keras.ops.not_equal(ids, 0), vectors.dtype)[:, :, None]
        total = keras.ops.sum(vectors * there, axis=1)
        if self._how == "sum":
            return total
        return total / keras.ops.maximum(keras.ops.sum(there, axis=1), 1)


def embedding_units(size: int, wanted: int | None) -> int:
    """Six times the fourth root of the number of ids, at most 32 (Google's rule of thumb)."""
    return wanted or min(_MOST_UNITS, max(1, round(6 * size**0.25)))
