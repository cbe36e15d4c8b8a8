"""What was written, counted: by each worker for its shards, and then over all of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

from components.example_gen.found import ImageSizes


@dataclasses.dataclass
class Tally:
    """What writing came to.

    Attributes:
      rows: of each split.
      classes: count of each class in each split; empty for regression.
      present: how many rows of train have a value in each column.
      sizes: how many images of each size the image columns have in train, as HEIGHTxWIDTHxCHANNELS.
      changed: how many numbers of a column float32 does not hold.
      too_large: how many are beyond its range.
      weights: sum of the weights of each split; empty without weights.
      unlabelled: rows left out because their label is missing.
      classless: rows whose label is an empty list.
      unweighted: rows left out because their weight is missing.
      skipped: rows left out because they cannot be read.
      remarks: what a person should know, with how often: the count stands for {n}.
    """

    rows: dict[str, int] = dataclasses.field(default_factory=dict)
    classes: dict[str, dict[str, int]] = dataclasses.field(default_factory=dict)
    present: dict[str, int] = dataclasses.field(default_factory=dict)
    sizes: dict[str, dict[str, int]] = dataclasses.field(default_factory=dict)
    changed: dict[str, int] = dataclasses.field(default_factory=dict)
    too_large: dict[str, int] = dataclasses.field(default_factory=dict)
    weights: dict[str, float] = dataclasses.field(default_factory=dict)
    unlabelled: int = 0
    classless: int = 0
    unweighted: int = 0
    skipped: int = 0
    remarks: dict[str, int] = dataclasses.field(default_factory=dict)

    def add(self, other: Tally) -> None:
        """Takes in what another has counted."""
        for field in dataclasses.fields(self):
            setattr(self, field.name, _sum(getattr(self, field.name), getattr(other, field.name)))

    def image_sizes(self, column: str) -> ImageSizes | None:
        """How large a column's images are; None when it has none in train."""
        sizes = [[int(each) for each in size.split("x")] for size in self.sizes.get(column, {})]
        if not sizes:
            return None
        heights, widths, channels = zip(*sizes)
        return ImageSizes(
            height=(min(heights), max(heights)), width=(min(widths), max(widths)), channels=max(channels)
        )


def total(found: Iterable[dict[str, Any]]) -> Tally:
    """The sum of tallies that came as JSON."""
    whole = Tally()
    for each in found:
        whole.add(Tally(**each))
    return whole


def _sum(one: Any, other: Any) -> Any:
    if not isinstance(one, dict):
        return one + other
    merged = dict(one)
    for key, value in other.items():
        merged[key] = _sum(merged[key], value) if key in merged else value
    return merged
