"""What takes the columns once each is a vector: hidden layers, and what stands before or beside them."""

from __future__ import annotations

from typing import Any

import keras

from components.trainer.config import ModelConfig
from components.trainer.models.embedding import Embedding, OverTokens
from components.trainer.models.kinds import Kinds
from components.trainer.models.style import Style


def hidden_layers(x: Any, config: ModelConfig) -> Any:
    """The hidden layers, each with its dropout."""
    style = Style.of_hidden(config)
    for i, units in enumerate(config.hidden):
        x = style.dense(x, units, f"hidden_{i}")
        if config.dropout:
            x = keras.layers.Dropout(config.dropout, name=f"dropout_{i}")(x)
    return x


def cross_layers(x: Any, config: ModelConfig) -> Any:
    """x0 * (W x + b) + x, layer by layer (Wang et al. 2021, DCN V2): W is [width, width], or of low rank."""
    penalty = Style.of_hidden(config).penalty
    first, width = x, x.shape[-1]
    for i in range(config.cross.layers):
        inner = x
        if config.cross.rank:
            inner = keras.layers.Dense(
                config.cross.rank, use_bias=False, kernel_regularizer=penalty(), name=f"cross_{i}_down"
            )(inner)
        # Keras's own initializer: He's would be for a layer with an activation.
        mapped = keras.layers.Dense(width, kernel_regularizer=penalty(), name=f"cross_{i}")(inner)
        product = keras.layers.Multiply(name=f"cross_{i}_product")([first, mapped])
        x = keras.layers.Add(name=f"cross_{i}_sum")([product, x])
    return x


def dcn(x: Any, config: ModelConfig) -> Any:
    """Cross layers and hidden layers."""
    crossed = cross_layers(x, config)
    if config.cross.structure == "stacked":
        return hidden_layers(crossed, config)
    return join([crossed, hidden_layers(x, config)], "crossed_and_hidden")


def wide_logits(kinds: Kinds, inputs: dict[str, Any], units: int) -> list[Any]:
    """A linear model of the numbers and the ids, begun at 0 for each id (Cheng et al. 2016)."""
    logits = []
    if kinds.numbers:
        wide = keras.layers.Dense(units, use_bias=False, dtype="float32", name="wide_numbers")
        logits.append(wide(join([inputs[tensor.name] for tensor in kinds.numbers], "wide_joined")))
    for i, tensor in enumerate(kinds.ids):
        ids = inputs[tensor.name]
        weights = Embedding(
            tensor.size, units, embeddings_initializer="zeros", dtype="float32", name=f"wide_{i}"
        )
        logits.append(OverTokens("sum", dtype="float32", name=f"wide_sum_{i}")(ids, weights(ids)))
    return logits


def join(tensors: list[Any], name: str) -> Any:
    """Side by side: [batch, units] each, to one."""
    return keras.layers.Concatenate(name=name)(tensors) if len(tensors) > 1 else tensors[0]
