"""Deal whole groups of rows so that every split has its share of every stratum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from components.example_gen.splits.packing import packed, unpacked

_WAITING = 1 << 18
Entries = tuple[np.ndarray, np.ndarray, np.ndarray]


class GroupCounts:
    """How many rows of each stratum every group has."""

    def __init__(self) -> None:
        self._entries: Entries = (np.zeros(0, np.uint64), np.zeros(0, np.int64), np.zeros(0, np.int64))
        self._waiting: list[Entries] = []

    def add(self, groups: np.ndarray, strata: np.ndarray) -> None:
        """Counts rows, by the hash of the group and the number of the stratum of each."""
        self._take(_joined(groups, strata, np.ones(len(groups), np.int64)))

    def merge(self, other: GroupCounts) -> None:
        """Takes in what another has counted."""
        self._take(other.entries)

    @property
    def entries(self) -> Entries:
        """Groups, strata and rows: an entry for each stratum of each group, sorted."""
        if self._waiting:
            columns = zip(self._entries, *self._waiting)
            self._entries, self._waiting = _joined(*map(np.concatenate, columns)), []
        return self._entries

    def more_than(self, groups: int) -> bool:
        """Whether there are more groups than that."""
        at_most = sum(len(entries[0]) for entries in (self._entries, *self._waiting))
        return at_most > groups and len(np.unique(self.entries[0])) > groups

    def to_json(self) -> Any:
        return [packed(column) for column in self.entries]

    @classmethod
    def from_json(cls, found: Any) -> GroupCounts:
        counts = cls()
        groups, strata, rows = found
        counts._entries = unpacked(groups, np.uint64), unpacked(strata, np.int64), unpacked(rows, np.int64)
        return counts

    def _take(self, entries: Entries) -> None:
        """Sorted entries wait until there are many of them, since each merge sorts all."""
        self._waiting.append(entries)
        if sum(len(waiting[0]) for waiting in self._waiting) > max(_WAITING, len(self._entries[0])):
            self._entries = self.entries


def deal_groups(counts: GroupCounts, parts: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """The split of every group: the hashes of the groups, sorted, and the index of the split of each.

    Strata are taken from the rarest to the most frequent. The groups whose rarest stratum it is are cut,
    in the order of their hashes, where each split gets what it still lacks of that stratum. The first
    split gets some of every stratum, whatever the others lack then.
    """
    hashes, strata, rows = counts.entries
    groups, group = np.unique(hashes, return_inverse=True)
    total = np.bincount(strata, weights=rows)
    order = np.lexsort((np.arange(len(total)), total))
    rank = np.empty(len(total), np.int64)
    rank[order] = np.arange(len(total))
    turn_of = np.full(len(groups), len(total))
    np.minimum.at(turn_of, group, rank[strata])
    turns = turn_of[group]

    wanted = np.outer(total, np.array(parts, np.float64) / sum(parts))
    given = np.zeros_like(wanted)
    owed = np.zeros(len(parts))
    dealt = np.zeros(len(groups), np.int8)
    for turn, stratum in enumerate(order):
        now = np.flatnonzero(turns == turn)
        mine = now[strata[now] == stratum]
        if len(mine):
            # What splits lack for rounding is made up in the next strata, one group at a time.
            group_size = rows[mine].mean()
            lacking = wanted[stratum] - given[stratum] + np.clip(owed, -group_size, group_size)
            cuts = _cuts(rows[mine], np.maximum(lacking, 0), parts, needs_first=not given[stratum][0])
            dealt[group[mine]] = np.searchsorted(cuts, np.arange(len(mine)), side="right")
            np.add.at(given, (strata[now], dealt[group[now]]), rows[now])
        owed += wanted[stratum] - given[stratum]
    # A group of several strata was dealt in the turn of the rarest, when the others had no say.
    for stratum in order:
        of_it = np.flatnonzero(strata == stratum)
        if len(of_it) and dealt[group[of_it]].all():
            dealt[group[of_it[rows[of_it].argmin()]]] = 0
    return groups, dealt


def _cuts(rows: np.ndarray, lacking: np.ndarray, parts: Sequence[int], *, needs_first: bool) -> np.ndarray:
    """How many of the groups, in their order, lie before each cut."""
    if not lacking.any():
        lacking = np.array(parts, np.float64)
    below = np.concatenate(([0], np.cumsum(rows)))
    targets = np.cumsum(lacking)[:-1] / lacking.sum() * below[-1]
    cuts = np.array([np.abs(below - target).argmin() for target in targets])
    return np.maximum(cuts, 1) if needs_first else cuts


def _joined(groups: np.ndarray, strata: np.ndarray, rows: np.ndarray) -> Entries:
    """Sorted entries, each group with each stratum once."""
    if not len(groups):
        return groups, strata, rows
    order = np.lexsort((strata, groups))
    groups, strata, rows = groups[order], strata[order], rows[order]
    new = (groups[1:] != groups[:-1]) | (strata[1:] != strata[:-1])
    first = np.flatnonzero(np.concatenate(([True], new)))
    return groups[first], strata[first], np.add.reduceat(rows, first)
