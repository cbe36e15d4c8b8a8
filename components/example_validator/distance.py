"""How far two distributions are apart, and how far apart chance alone could put them.

Numbers: the Jensen-Shannon divergence with logarithms to base 2, of 0 (equal) to 1 (nothing in common),
JSD(P, Q) = KL(P, M) / 2 + KL(Q, M) / 2 with M = (P + Q) / 2 (Lin, "Divergence measures based on the Shannon
entropy", IEEE Transactions on Information Theory 37, 1991). P and Q are the masses of ten bins that hold a
tenth each of both together, so that neither the scale nor a long tail decides what is seen. The infinity
norm of TFDV has nothing to say of numbers: it is 0.0 whatever they do.

Categories: the L-infinity distance, the largest change of the share of one value; all values that are new
together count as one value, and so do all that are gone, as far as chance does not explain them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from components.example_validator.distribution import Numbers, Shares

JENSEN_SHANNON = "Jensen-Shannon divergence"
L_INFINITY = "L-infinity distance"

_BINS = 10
# Samples of one distribution are farther apart than this so many standard deviations once in 30,000 times.
_NORMAL_QUANTILE = 4.0
# Rows that are alike come together: in a sample with replacement, as good as each comes twice.
_ALIKE = 2
# Values of a column that occur this often on average are expected to occur again.
_RECURRING = 5
# Quantiles are known to about a percent.
_PRECISION = 0.005


@dataclass(frozen=True)
class Distance:
    """How far apart two distributions are.

    Attributes:
      measure: the distance's name.
      value: 0 to 1.
      chance: how large it may be by chance alone, given how many values there are.
      at: the value whose share changed most, of categories.
      group: "new" or "gone" when it is that of all such values together.
    """

    measure: str
    value: float
    chance: float
    at: str = ""
    group: str = ""

    def exceeds(self, threshold: float) -> bool:
        """Whether it is above the threshold, and above chance."""
        return self.value > threshold and self.value > self.chance


def jensen_shannon(before: Numbers, after: Numbers) -> Distance:
    """The distance of two distributions of numbers."""
    bounds = _bounds(before, after)
    p = np.diff(before.below(bounds), prepend=0.0)
    q = np.diff(after.below(bounds), prepend=0.0)
    freedom = max(1, len(bounds) - 1)
    # For samples of one distribution, 8 ln 2 JSD / (1/n + 1/m) is distributed as chi-square.
    chance = _chi_square(freedom) * _spread(before.count, after.count) / (8 * math.log(2))
    return Distance(JENSEN_SHANNON, divergence(p, q), max(chance, _PRECISION))


def divergence(p: np.ndarray, q: np.ndarray) -> float:
    """The Jensen-Shannon divergence of two vectors of masses, to base 2."""
    middle = (p + q) / 2

    def kl(masses: np.ndarray) -> float:
        there = masses > 0
        return float((masses[there] * np.log2(masses[there] / middle[there])).sum())

    return min(1.0, max(0.0, (kl(p) + kl(q)) / 2))


def l_infinity(before: Shares, after: Shares) -> Distance:
    """The distance of two distributions over values."""
    spread = _spread(before.count, after.count)
    best = Distance(L_INFINITY, 0.0, _PRECISION)
    for value in before.share.keys() | after.share.keys():
        was, now = before.share.get(value, 0.0), after.share.get(value, 0.0)
        if abs(now - was) > best.value:
            best = Distance(L_INFINITY, abs(now - was), _chance((was + now) / 2, spread), value)
    for found in (_new(before, after), _gone(before, after)):
        if found and found.value > best.value and found.value > found.chance:
            best = found
    return best


def missing(before: float, after: float, rows_before: int, rows_after: int) -> Distance:
    """The distance of two shares of missing values."""
    chance = _chance((before + after) / 2, _spread(rows_before, rows_after))
    return Distance(L_INFINITY, abs(after - before), chance)


def _new(before: Shares, after: Shares) -> Distance | None:
    """The share of all values that were not there before, beyond what had to be expected."""
    if not _recurs(before):
        return None
    unseen = 1.0 - sum(share for value, share in after.share.items() if value in before.share)
    return Distance(
        L_INFINITY, unseen - before.once, _chance(unseen, _spread(before.count, after.count)), group="new"
    )


def _gone(before: Shares, after: Shares) -> Distance | None:
    """The share of all values that are no longer there, beyond those too rare for so few rows."""
    if not _recurs(before) or not after.complete:
        return None
    gone = sum(share for value, share in before.share.items() if value not in after.share)
    draws = after.count / _ALIKE
    expected = sum(share * (1 - share) ** draws for share in before.share.values())
    return Distance(
        L_INFINITY, gone - expected, _chance(gone, _spread(before.count, after.count)), group="gone"
    )


def _recurs(shares: Shares) -> bool:
    """Whether the values come again and again, so that it says something when they do not."""
    return shares.complete and len(shares.share) * _RECURRING <= shares.count


def _bounds(before: Numbers, after: Numbers) -> np.ndarray:
    """The upper bounds of bins that hold a tenth each of both distributions together."""
    points = np.unique(np.concatenate((before.low, before.high, after.low, after.high)))
    pooled = (before.below(points) + after.below(points)) / 2
    wanted = np.arange(1, _BINS + 1) / _BINS
    at = np.minimum(np.searchsorted(pooled, wanted - 1e-9), len(points) - 1)
    return np.unique(np.append(points[at], points[-1]))


def _spread(before: int, after: int) -> float:
    """What the variance of a difference of two shares is a multiple of."""
    return _ALIKE * (1 / before + 1 / after)


def _chance(share: float, spread: float) -> float:
    """How far two estimates of one share lie apart at most by chance."""
    share = min(1.0, max(0.0, share))
    return max(_PRECISION, _NORMAL_QUANTILE * math.sqrt(share * (1 - share) * spread))


def _chi_square(freedom: int) -> float:
    """The quantile beyond which chance does not go, by Wilson and Hilferty's approximation."""
    spread = 2 / (9 * freedom)
    return freedom * (1 - spread + _NORMAL_QUANTILE * math.sqrt(spread)) ** 3
