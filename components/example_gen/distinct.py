"""How many distinct values a column has, without keeping them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from components.example_gen.hashing import cell_hashes

_KEPT = 1024  # the error is about 1 / sqrt(_KEPT)


@dataclass
class Distinct:
    """Keeps the smallest hashes: the closer they lie, the more distinct values there are.

    Bar-Yossef et al., Counting distinct elements in a data stream (2002), the first algorithm.
    """

    smallest: list[int] = field(default_factory=list)

    def add_column(self, values: pa.Array) -> None:
        """Takes in values without nulls."""
        self._add(cell_hashes(values))

    def merge(self, other: Distinct) -> None:
        """Takes in what another has seen."""
        self._add(np.array(other.smallest, np.uint64))

    def _add(self, hashes: np.ndarray) -> None:
        if len(self.smallest) == _KEPT:
            hashes = hashes[hashes < np.uint64(self.smallest[-1])]
        if len(hashes):
            merged = np.union1d(np.array(self.smallest, np.uint64), hashes)
            self.smallest = [int(each) for each in merged[:_KEPT]]

    def estimate(self) -> int:
        """About how many distinct values were seen; exact when they are few."""
        if len(self.smallest) < _KEPT:
            return len(self.smallest)
        return round((_KEPT - 1) / (self.smallest[-1] / 2**64))
