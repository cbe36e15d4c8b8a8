"""Mean and variance of numbers that come in parts."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np


class Moments(NamedTuple):
    """Of weighed numbers: how much they weigh together, their mean, and the sum of squares around it."""

    weight: float = 0.0
    mean: float = 0.0
    squares: float = 0.0

    @classmethod
    def of(cls, values: np.ndarray, weights: np.ndarray | None = None) -> Moments:
        values = np.asarray(values, np.float64)
        total = float(values.size if weights is None else weights.sum())
        if not total:
            return cls()
        mean = float(np.average(values, weights=weights))
        return cls(total, mean, float(np.average((values - mean) ** 2, weights=weights)) * total)

    def plus(self, other: Moments) -> Moments:
        """Of both parts together, without losing digits (Chan, Golub and LeVeque 1983)."""
        weight = self.weight + other.weight
        if not weight:
            return self
        difference = other.mean - self.mean
        squares = self.squares + other.squares + difference**2 * self.weight * other.weight / weight
        return Moments(weight, self.mean + difference * other.weight / weight, squares)

    @property
    def deviation(self) -> float:
        """The standard deviation; NaN of nothing."""
        return math.sqrt(self.squares / self.weight) if self.weight else math.nan
