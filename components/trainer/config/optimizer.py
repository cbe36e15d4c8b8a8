"""The `train.optimizer` section."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.metadata import version
from typing import Literal

from pydantic import Field, NonNegativeFloat, PositiveFloat, field_validator, model_validator

from components.section import Section

# What is no matrix of weights: shrinking it towards 0 says nothing about how simple the model is.
NOT_DECAYED = ("/bias$", "/gamma$", "/beta$", "/scale$", "/embeddings$")
_BETAS = frozenset({"adam", "adamw", "lamb", "lion", "muon"})
_TAKEN_BY = {
    "momentum": frozenset({"sgd", "rmsprop", "muon"}),
    "nesterov": frozenset({"sgd", "muon"}),
    "beta_1": _BETAS,
    "beta_2": _BETAS,
    "rho": frozenset({"rmsprop"}),
    "epsilon": frozenset({"adam", "adamw", "rmsprop", "lamb", "muon"}),
}
# The Muon of Keras 3.12 fails in its first step: it looks for a path that TensorFlow's variables do not have.
_MUON_SINCE = (3, 15)


class ClipConfig(Section):
    """An upper bound for gradients, of the whole batch: the same on one device and on many."""

    norm: PositiveFloat | None = Field(None, description="of each variable's gradient, its L2 norm at most")
    global_norm: PositiveFloat | None = Field(
        None, description="of all gradients together, their L2 norm at most"
    )
    value: PositiveFloat | None = Field(None, description="of each number in them, its size at most")

    @model_validator(mode="after")
    def _one(self) -> ClipConfig:
        given = [key for key, value in self.model_dump().items() if value is not None]
        if len(given) != 1:
            received = " and ".join(given) or "nothing"
            raise ValueError(f"expected one of norm, global_norm and value, received {received}")
        return self


class OptimizerConfig(Section):
    """How weights move."""

    name: Literal["sgd", "adam", "adamw", "rmsprop", "lamb", "lion", "adafactor", "muon"] = Field(
        "adamw", description="muon (matrices by Muon, the rest by Adam) needs the current stack"
    )
    weight_decay: NonNegativeFloat | None = Field(
        None,
        description="share of a weight that a step takes off, times the learning rate; "
        "left out: 1e-4 for adamw, else 0",
    )
    no_decay: tuple[str, ...] = Field(
        NOT_DECAYED,
        description="weights that do not decay: regular expressions, looked for in layer/variable",
    )
    momentum: float | None = Field(
        None, ge=0.0, lt=1.0, description="for sgd, rmsprop and muon; left out: 0.9, muon 0.95"
    )
    nesterov: bool | None = Field(None, description="for sgd and muon; left out: false, muon true")
    beta_1: float | None = Field(
        None, ge=0.0, lt=1.0, description="for adam, adamw, lamb, lion and muon; left out: 0.9"
    )
    beta_2: float | None = Field(
        None,
        ge=0.0,
        lt=1.0,
        description="for adam, adamw, lamb, lion and muon; left out: 0.999, lion 0.99",
    )
    rho: float | None = Field(
        None, ge=0.0, lt=1.0, description="for rmsprop: how long squares are remembered; left out: 0.9"
    )
    epsilon: PositiveFloat | None = Field(
        None, description="for adam, adamw, rmsprop, lamb and muon; left out: 1e-7"
    )
    clip: ClipConfig | None = Field(None, description="an upper bound for gradients")
    ema: float | None = Field(
        None,
        gt=0.0,
        lt=1.0,
        description="momentum of a moving average of the weights, such as 0.99; "
        "the averaged weights are what is evaluated and exported",
    )

    @property
    def decay(self) -> float:
        """The weight decay, resolved."""
        if self.weight_decay is None:
            return 1e-4 if self.name == "adamw" else 0.0
        return self.weight_decay

    @field_validator("no_decay")
    @classmethod
    def _patterns(cls, patterns: tuple[str, ...]) -> tuple[str, ...]:
        for pattern in patterns:
            try:
                re.compile(pattern)
            except re.error as error:
                raise ValueError(f"{pattern!r} is no regular expression: {error}") from None
        return patterns

    @model_validator(mode="after")
    def _fits(self) -> OptimizerConfig:
        wrong = list(self._misfits())
        if wrong:
            raise ValueError("; ".join(wrong))
        return self

    def _misfits(self) -> Iterator[str]:
        for key, names in _TAKEN_BY.items():
            if getattr(self, key) is not None and self.name not in names:
                yield f"{key} is for {', '.join(sorted(names))}, not for {self.name}"
        if self.name == "adam" and self.weight_decay:
            yield "adam with weight_decay is adamw: set name: adamw"
        if self.nesterov and self.name == "sgd" and self.momentum == 0:
            yield "nesterov needs a momentum above 0"
        if self.name == "muon":
            keras = version("keras")
            if tuple(map(int, keras.split(".")[:2])) < _MUON_SINCE:
                yield f"muon needs Keras 3.15, the current stack; this is Keras {keras}, whose Muon fails"
