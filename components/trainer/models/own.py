"""The user's own model: built by a function of theirs, and held to what the rest relies on."""

from __future__ import annotations

from typing import Any

import keras

from components import user_code
from components.errors import UserError
from components.trainer.config import ModelConfig
from components.trainer.model_inputs import keras_inputs
from components.trainer.models.build import Builder, build
from components.trainer.models.head import output_units
from components.transform.plan import FeaturePlan


def builder(config: ModelConfig, code_uri: str) -> Builder:
    """What builds the model: the user's function, where the config names one, else `build`."""
    if not config.build:
        return build
    name = config.build
    function = user_code.load(code_uri, name, ("plan", "config"))

    def checked(plan: FeaturePlan, config: ModelConfig) -> keras.Model:
        model = function(plan, config)
        if not isinstance(model, keras.Model):
            raise UserError(f"returned {type(model).__name__}, expected a keras.Model", where=name)
        with user_code.blaming(code_uri):
            # A subclassed model has no weights before it is called.
            output = model.output if getattr(model, "outputs", None) else model(keras_inputs(plan))
        _check(output, plan, name)
        return model

    return checked


def _check(output: Any, plan: FeaturePlan, where: str) -> None:
    units = output_units(plan)
    shape = getattr(output, "shape", None)
    if shape != (None, units):
        raise UserError(
            f"the model's output has shape {shape}, expected (None, {units})"
            if shape
            else f"the model's output is a {type(output).__name__}, expected one tensor",
            where=where,
            fix=f"end it with Dense({units}) and no activation: logits for task {plan.label.task}",
        )
    if output.dtype != "float32":
        raise UserError(
            f"the model's logits are {output.dtype}, expected float32, so that the loss is not rounded",
            where=where,
            fix=f'end it with Dense({units}, dtype="float32")',
        )
