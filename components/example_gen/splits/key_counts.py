"""How often each key occurs, in bounded memory: enough to cut ordered keys at a share of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from components.example_gen.splits.packing import packed, unpacked

# No key is as large: nothing is beyond it.
_END = np.uint64(2**64 - 1)


class KeyCounts:
    """Counts of 64-bit keys, exact while there are at most `limit` distinct ones.

    With more, keys lose as many of their low bits as it takes, and a cut is off by at most the rows
    that share a shortened key. What is kept depends on the keys alone: neither on their order nor on
    how they were spread over files and workers.

    Args:
      limit: the most distinct keys that are kept; at least 2.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._shift = 0
        self._keys = np.zeros(0, np.uint64)
        self._counts = np.zeros(0, np.int64)
        self._waiting: list[tuple[np.ndarray, np.ndarray]] = []
        self._waiting_keys = 0

    def add(self, keys: np.ndarray) -> None:
        """Counts keys, uint64, each as often as it stands there."""
        self._take(*np.unique(keys, return_counts=True))

    def merge(self, other: KeyCounts) -> None:
        """Takes in what another has counted; both have the same limit."""
        other._settle()
        self._settle()
        self._shorten(max(0, other._shift - self._shift))
        self._take(other._keys << np.uint64(other._shift), other._counts)

    def cut(self, rows: Sequence[float], *, fill: bool = False) -> np.ndarray:
        """Keys at which so many rows lie below; equal keys stay together, so it is the nearest cut there is.

        Args:
          rows: how many rows should lie below each cut, ascending. Below the first there is always a key.
          fill: leave no part without a key while there are enough, however far that is from `rows`.

        Returns:
          One uint64 a cut: a key belongs below it when it is smaller.
        """
        self._settle()
        fill = fill and len(self._keys) > len(rows)
        below = np.concatenate(([0], np.cumsum(self._counts)))
        cuts: list[int] = []
        for number, wanted in enumerate(rows):
            nearest = int(np.abs(below - wanted).argmin())
            least = (cuts[-1] + fill) if cuts else 1
            most = len(self._keys) - (len(rows) - number if fill else 0)
            cuts.append(min(max(nearest, least), most))
        ends = np.append(self._keys << np.uint64(self._shift), _END)
        return ends[cuts]

    @property
    def total(self) -> int:
        """How many keys were counted."""
        self._settle()
        return int(self._counts.sum())

    def to_json(self) -> dict[str, Any]:
        """For the way from a worker to whoever merges."""
        self._settle()
        return {
            "limit": self.limit,
            "shift": self._shift,
            "keys": packed(np.diff(self._keys, prepend=np.zeros(1, np.uint64))),
            "counts": packed(self._counts),
        }

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> KeyCounts:
        counts = cls(found["limit"])
        counts._shift = found["shift"]
        counts._keys = np.cumsum(unpacked(found["keys"], np.uint64), dtype=np.uint64)
        counts._counts = unpacked(found["counts"], np.int64)
        return counts

    def _take(self, keys: np.ndarray, counts: np.ndarray) -> None:
        """Sorted distinct keys wait until there are many of them, since each merge sorts all."""
        if self._shift:
            keys = keys >> np.uint64(self._shift)
        self._waiting.append((keys, counts))
        self._waiting_keys += len(keys)
        if self._waiting_keys > self.limit:
            self._settle()

    def _settle(self) -> None:
        if not self._waiting:
            return
        keys = np.concatenate([self._keys, *(keys for keys, _ in self._waiting)])
        counts = np.concatenate([self._counts, *(counts for _, counts in self._waiting)])
        self._waiting, self._waiting_keys = [], 0
        order = np.argsort(keys, kind="stable")
        self._keys, self._counts = _joined(keys[order], counts[order])
        while len(self._keys) > self.limit:
            self._shorten(1)

    def _shorten(self, bits: int) -> None:
        if not bits:
            return
        self._shift += bits
        self._keys, self._counts = _joined(self._keys >> np.uint64(bits), self._counts)


def _joined(keys: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sorted keys, each once, with the sum of its counts."""
    if not len(keys):
        return keys, counts
    first = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))
    return keys[first], np.add.reduceat(counts, first)
