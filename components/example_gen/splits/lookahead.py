"""What some ways of dealing must know of all rows first; one more pass over the files, for those only."""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from components.errors import UserError
from components.example_gen.splits.apportion import apportion
from components.example_gen.splits.dealers import ByGroup, ByStratum, ByTime, Dealer, group_hashes
from components.example_gen.splits.group_deal import GroupCounts, deal_groups
from components.example_gen.splits.key_counts import KeyCounts
from components.example_gen.splits.rows import Rows
from components.example_gen.splits.time_keys import time_keys

# Keys kept over all strata together: 16 bytes each.
_MOST_KEYS = 1 << 20
_MOST_KEYS_OF_A_STRATUM = 1 << 16
_LEAST_KEYS_OF_A_STRATUM = 1 << 10
MOST_GROUPS = 1_000_000


class Lookahead(abc.ABC):
    """Sees all rows that will be kept, and then knows how to deal them.

    What it finds out depends on the rows alone: not on their order, nor on how they are spread over files.

    Attributes:
      needs: the columns whose texts it wants to see.
    """

    needs: tuple[str, ...] = ()

    @abc.abstractmethod
    def add(self, rows: Rows, keep: np.ndarray) -> None:
        """Looks at those rows of which `keep` is true."""

    @abc.abstractmethod
    def to_json(self) -> Any:
        """What was seen, for the way from a worker to whoever merges."""

    @abc.abstractmethod
    def merge(self, found: Any) -> None:
        """Takes in what another has seen, as its `to_json` gives it."""

    @abc.abstractmethod
    def dealer(self) -> Dealer:
        """How to deal the rows, once all are seen."""


class TimeLookahead(Lookahead):
    """Where points in time are cut so that the splits have their parts; equal ones stay together."""

    def __init__(self, column: str, kind: str, parts: Sequence[int]) -> None:
        self._column, self._kind, self._parts = column, kind, parts
        self.needs = (column,)
        self._times = KeyCounts(_MOST_KEYS_OF_A_STRATUM)

    def add(self, rows: Rows, keep: np.ndarray) -> None:
        keys, there = time_keys(rows.texts[self._column], self._kind)
        self._times.add(keys[there & keep])

    def to_json(self) -> Any:
        return self._times.to_json()

    def merge(self, found: Any) -> None:
        self._times.merge(KeyCounts.from_json(found))

    def dealer(self) -> Dealer:
        shares = np.cumsum(self._parts)[:-1] / sum(self._parts)
        bounds = self._times.cut(list(shares * self._times.total), fill=True)
        return ByTime(self._column, self._kind, bounds)


class StrataLookahead(Lookahead):
    """Where the hashes of each stratum are cut; exact while a stratum has no more rows than keys are kept."""

    def __init__(self, column: str, kind: str, parts: Sequence[int], strata: int) -> None:
        self._column, self._kind, self._parts = column, kind, parts
        self.needs = (column,)
        self._limit = max(
            _LEAST_KEYS_OF_A_STRATUM, min(_MOST_KEYS_OF_A_STRATUM, _MOST_KEYS // max(1, strata))
        )
        self._strata: dict[str, KeyCounts] = {}

    def add(self, rows: Rows, keep: np.ndarray) -> None:
        codes, names = rows.names(self._column, self._kind)
        codes, hashes = codes[keep], rows.hashes()[keep]
        order = np.argsort(codes, kind="stable")
        codes, hashes = codes[order], hashes[order]
        ends = np.searchsorted(codes, np.arange(-1, len(names)), side="right")
        for name, start, end in zip(["", *names], [0, *ends], ends):
            if end > start:
                self._stratum(name).add(hashes[start:end])

    def _stratum(self, name: str) -> KeyCounts:
        return self._strata.setdefault(name, KeyCounts(self._limit))

    def to_json(self) -> Any:
        return {name: counts.to_json() for name, counts in self._strata.items()}

    def merge(self, found: Mapping[str, Any]) -> None:
        for name, counts in found.items():
            self._stratum(name).merge(KeyCounts.from_json(counts))

    def dealer(self) -> Dealer:
        given = apportion({name: counts.total for name, counts in self._strata.items()}, self._parts)
        bounds = {name: self._strata[name].cut(np.cumsum(rows)[:-1]) for name, rows in given.items()}
        return ByStratum(self._column, self._kind, bounds, self._parts)


class GroupLookahead(Lookahead):
    """Which split each group goes to, by the strata of its rows.

    Args:
      column: whose values are the groups.
      stratify: the column of the strata.
      kind: that column's type.
      strata: the names of all strata.
    """

    def __init__(
        self, column: str, stratify: str, kind: str, parts: Sequence[int], strata: Sequence[str]
    ) -> None:
        self._column, self._stratify, self._kind, self._parts = column, stratify, kind, parts
        self.needs = (column, stratify)
        self._numbers = {name: number for number, name in enumerate(sorted(strata))}
        self._counts = GroupCounts()

    def add(self, rows: Rows, keep: np.ndarray) -> None:
        codes, names = rows.names(self._stratify, self._kind)
        number = np.array([*(self._numbers[name] for name in names), len(self._numbers)])
        groups, _ = group_hashes(rows, self._column)
        self._counts.add(groups[keep], number[codes][keep])
        self._refuse_too_many()

    def _refuse_too_many(self) -> None:
        if self._counts.more_than(MOST_GROUPS):
            raise UserError(
                f"column {self._column!r} has more than {MOST_GROUPS:,} groups, too many to stratify",
                where="data.split.stratify",
                fix="leave stratify out: the shares of so many groups come close by themselves",
            )

    def to_json(self) -> Any:
        return self._counts.to_json()

    def merge(self, found: Any) -> None:
        self._counts.merge(GroupCounts.from_json(found))
        self._refuse_too_many()

    def dealer(self) -> Dealer:
        dealt = deal_groups(self._counts, self._parts)
        return ByGroup(self._column, self._parts, dealt)
