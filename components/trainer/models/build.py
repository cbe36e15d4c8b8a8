"""Put a model together: an encoder for each input, the trunk on what they give, logits on top."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras

from components.trainer.config import ModelConfig
from components.trainer.model_inputs import keras_inputs
from components.trainer.models import images, sequences, trunk
from components.trainer.models.embedding import Embedding, OverTokens, embedding_units
from components.trainer.models.head import output_units
from components.trainer.models.kinds import check_inputs, kinds
from components.transform.plan import FeaturePlan, ModelInput

Builder = Callable[[FeaturePlan, ModelConfig], keras.Model]


def build(plan: FeaturePlan, config: ModelConfig) -> keras.Model:
    """The model of the config: a dict of model inputs to float32 logits [batch, units].

    Raises:
      UserError: when the architecture needs a kind of input that the plan lacks.
    """
    check_inputs(plan, config)
    inputs, found, units = keras_inputs(plan), kinds(plan), output_units(plan)
    vectors = [
        *(inputs[tensor.name] for tensor in found.numbers),
        *(_of_ids(tensor, inputs[tensor.name], i, config) for i, tensor in enumerate(found.ids)),
        *(images.encode(inputs[tensor.name], f"image_{i}", config) for i, tensor in enumerate(found.images)),
    ]
    joined = trunk.join(vectors, "joined")
    deep = trunk.dcn(joined, config) if config.trunk == "dcn" else trunk.hidden_layers(joined, config)
    # float32, so that a low-precision policy does not round the loss.
    logits = [keras.layers.Dense(units, dtype="float32", name="deep")(deep)]
    if config.trunk == "wide_deep":
        logits += trunk.wide_logits(found, inputs, units)
    total = keras.layers.Add(dtype="float32", name="logits")(logits) if len(logits) > 1 else logits[0]
    return keras.Model(inputs, total, name=config.architecture)


def _of_ids(tensor: ModelInput, ids: Any, number: int, config: ModelConfig) -> Any:
    """The vector of a category or a sequence."""
    if tensor.length > 1:
        return sequences.encode(tensor, ids, number, config)
    units = embedding_units(tensor.size, config.embedding)
    return OverTokens("mean", name=f"mean_{number}")(
        ids, Embedding(tensor.size, units, name=f"embedding_{number}")(ids)
    )
