"""Nets that make a vector of a sequence of ids: [batch, length] int64, 0 for padding, to [batch, units]."""

from __future__ import annotations

from typing import Any

import keras

from components.trainer.config import ModelConfig
from components.trainer.models.embedding import Embedding, OverTokens, embedding_units
from components.trainer.models.sequences.recurrent import recurrent
from components.trainer.models.sequences.transformer import transformer
from components.trainer.models.style import Style
from components.transform.plan import ModelInput


def encode(tensor: ModelInput, ids: Any, number: int, config: ModelConfig) -> Any:
    """The vector of a sequence, the same however much padding follows it."""
    options, encoder = config.sequences, config.sequence_encoder
    units = embedding_units(tensor.size, config.embedding)
    if encoder == "transformer":
        units = options.units  # which it adds to
    vectors = Embedding(tensor.size, units, name=f"embedding_{number}")(ids)
    if options.dropout:
        vectors = keras.layers.SpatialDropout1D(options.dropout, name=f"embedding_{number}_dropout")(vectors)
    name = f"sequence_{number}"
    if encoder == "transformer":
        vectors = transformer(ids, vectors, options, Style.of_hidden(config), name)
    elif encoder != "mean":
        return recurrent(ids, vectors, options, encoder, name)
    return OverTokens("mean", name=f"mean_{number}")(ids, vectors)
