"""The `tune` section."""

from __future__ import annotations

from typing import Any, Literal, Union

from pydantic import Field, PositiveInt, model_validator

from components.section import Section

Scalar = Union[bool, int, float, str, None]


class Range(Section):
    """The values that a key may take: give exactly one of the three."""

    choice: tuple[Union[Scalar, tuple[Scalar, ...]], ...] | None = Field(
        None, min_length=2, description="one of these"
    )
    range: tuple[float, float] | None = Field(
        None, description="any number from the first to the second; whole ones when both are whole"
    )
    log: tuple[float, float] | None = Field(
        None, description="as range, but each order of magnitude is as likely as the next"
    )

    @model_validator(mode="after")
    def _one_of_them(self) -> Range:
        given = [name for name in ("choice", "range", "log") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(f"give one of choice, range and log, received {' and '.join(given) or 'none'}")
        ends = self.range or self.log
        if ends and ends[0] >= ends[1]:
            raise ValueError(f"{given[0]}: {ends[0]:g} is not below {ends[1]:g}")
        if self.log and self.log[0] <= 0:
            raise ValueError(f"log: {self.log[0]:g} is not above 0")
        return self

    @property
    def samples(self) -> tuple[Any, ...]:
        """Every choice, or both ends: what must be allowed for the key."""
        if self.choice is not None:
            return self.choice
        low, high = self.range or self.log or (0.0, 0.0)
        return (int(low), int(high)) if self.whole else (low, high)

    @property
    def whole(self) -> bool:
        """Only whole numbers are tried."""
        ends = self.range or self.log
        return ends is not None and all(end == int(end) for end in ends)


class TuneConfig(Section):
    """A search for the best values of any keys of `model` and `train`.

    The keys stand beside the options, by their full names:

        tune:
          trials: 20
          model.hidden: {choice: [[64], [128, 64]]}
          train.learning_rate.peak: {log: [1.0e-4, 1.0e-2]}
    """

    method: Literal["random", "bayesian", "hyperband"] = Field(
        "bayesian",
        description="bayesian: each trial goes where the trials before promise most; "
        "hyperband: many short trials, of which the best go on (Li et al. 2018)",
    )
    trials: PositiveInt = Field(
        10, description="how many sets of values are tried; hyperband finds that number by itself"
    )
    epochs: PositiveInt | None = Field(
        None, description="of a trial at most; left out: those of train.epochs"
    )
    objective: str | None = Field(
        None,
        description="the metric on the eval split that decides: loss, or one that training follows; "
        "left out: auc, accuracy or rmse, by the task",
    )
    seed: int = Field(1, ge=0, description="of the search")
    space: dict[str, Range] = Field(default_factory=dict, description="key to the values that it may take")

    @model_validator(mode="before")
    @classmethod
    def _keys_are_the_space(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        dotted = {key: value for key, value in given.items() if isinstance(key, str) and "." in key}
        rest = {key: value for key, value in given.items() if key not in dotted}
        return {**rest, "space": {**rest.get("space", {}), **dotted}} if dotted else given
