"""The `train.optimizer` section."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, NonNegativeFloat

from components.section import Section


class OptimizerConfig(Section):
    """How weights move."""

    name: Literal["sgd", "adam", "adamw", "rmsprop"] = "adamw"
    weight_decay: NonNegativeFloat = Field(1e-4, description="for adamw only")
    momentum: float = Field(0.9, ge=0.0, lt=1.0, description="for sgd and rmsprop")
