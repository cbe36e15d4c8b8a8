"""Share the rows of every stratum out among the splits, so that each split looks like the whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np


def apportion(rows: Mapping[str, int], parts: Sequence[int]) -> dict[str, np.ndarray]:
    """How many rows of each stratum go to each split.

    Each number is within one row of its exact share. What rounding gives to a split in one stratum it
    takes back in the next, so that the sums stay close to their shares as well. A stratum is never
    without a row in the first split, which is the one that is learned from.

    Args:
      rows: stratum to its number of rows.
      parts: of each split.
    """
    shares = np.array(parts, np.float64) / sum(parts)
    owed = np.zeros(len(parts))
    dealt = {}
    for name in rarest_first(rows):
        exact = rows[name] * shares
        given = np.floor(exact + 1e-9).astype(np.int64)
        owed += exact - given
        left = rows[name] - int(given.sum())
        # A split whose share is a whole number has nothing to be rounded up.
        open_splits = [split for split in range(len(parts)) if exact[split] - given[split] > 1e-9]
        if not given[0] and left:
            open_splits.remove(0)
            given[0] += 1
            owed[0] -= 1
            left -= 1
        for split in sorted(open_splits, key=lambda split: -owed[split])[:left]:
            given[split] += 1
            owed[split] -= 1
        dealt[name] = given
    return dealt


def rarest_first(rows: Mapping[str, int]) -> list[str]:
    """The strata from the smallest to the largest, equal ones by name."""
    return sorted(rows, key=lambda name: (rows[name], name))
