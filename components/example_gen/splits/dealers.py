"""Deal rows to splits: one class for each way, each of which goes to the workers and sees all cells."""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from components.example_gen.hashing import cell_hashes, row_hashes
from components.example_gen.split_config import SPLITS
from components.example_gen.splits.rows import Rows
from components.example_gen.splits.time_keys import time_keys

# No split can take the row.
NOWHERE = -1


@dataclass(frozen=True)
class Dealt:
    """Where rows go.

    Attributes:
      splits: the index of each row's split, int8, or NOWHERE.
      remarks: what a person should know, with how often: the sum over all blocks stands for {n}.
    """

    splits: np.ndarray
    remarks: Mapping[str, int] = field(default_factory=dict)


class Dealer(abc.ABC):
    """Deals rows by what is in them: the same row always goes the same way, wherever it stands.

    Attributes:
      needs: the columns that decide, whose texts it wants to see.
    """

    needs: tuple[str, ...] = ()

    @abc.abstractmethod
    def deal(self, rows: Rows) -> Dealt:
        """Where the rows go."""


def even_bounds(parts: Sequence[int]) -> np.ndarray:
    """Where hashes that lie evenly are cut into parts: one uint64 less than there are parts."""
    total = sum(parts)
    return np.array([(sum(parts[: i + 1]) << 64) // total for i in range(len(parts) - 1)], np.uint64)


class Onto(Dealer):
    """Deals to some of the splits: those that have no files of their own.

    Args:
      dealer: deals to as many splits as `splits` names.
      splits: the names, in order.
    """

    def __init__(self, dealer: Dealer, splits: Sequence[str]) -> None:
        self._dealer, self.needs = dealer, dealer.needs
        self._indices = np.array([*map(SPLITS.index, splits), NOWHERE], np.int8)

    def deal(self, rows: Rows) -> Dealt:
        dealt = self._dealer.deal(rows)
        return Dealt(self._indices[dealt.splits], dealt.remarks)


class ByContent(Dealer):
    """By a hash of all cells: neither other rows nor their order matter, nor rows that come later.

    The cells count as they stand in the source, in excluded columns too, so that a column that is excluded
    or declared to be of another type does not move rows to other splits: a model can be compared with
    one that was trained before.
    """

    def __init__(self, parts: Sequence[int]) -> None:
        self._bounds = even_bounds(parts)

    def deal(self, rows: Rows) -> Dealt:
        return Dealt(_between(rows.hashes(), self._bounds))


class ByStratum(Dealer):
    """By a hash of all cells, cut for each stratum where the splits get their share of it.

    Args:
      column: whose values are the strata.
      kind: its type.
      bounds: stratum to the hashes at which it is cut; "" is that of the rows without a value.
      parts: how strata are cut that are not in `bounds`.
    """

    def __init__(
        self, column: str, kind: str, bounds: Mapping[str, np.ndarray], parts: Sequence[int]
    ) -> None:
        self._column, self._kind, self._bounds = column, kind, bounds
        self.needs = (column,)
        self._even = even_bounds(parts)

    def deal(self, rows: Rows) -> Dealt:
        codes, names = rows.names(self._column, self._kind)
        bounds = np.array([self._bounds.get(name, self._even) for name in [*names, ""]])
        return Dealt((rows.hashes()[:, None] >= bounds[codes]).sum(axis=1, dtype=np.int8))


class ByGroup(Dealer):
    """By a hash of one column, so that rows with the same value go together.

    A row without a value is a group of its own.

    Args:
      column: whose values are the groups.
      parts: of each split.
      dealt: hashes of groups, sorted, and the split of each; None: by the hash alone.
    """

    def __init__(
        self, column: str, parts: Sequence[int], dealt: tuple[np.ndarray, np.ndarray] | None = None
    ) -> None:
        self._column, self.needs = column, (column,)
        self._bounds = even_bounds(parts)
        self._dealt = dealt

    def deal(self, rows: Rows) -> Dealt:
        groups, alone = group_hashes(rows, self._column)
        remarks = {f"{{n}} rows have no {self._column!r} and are dealt one by one": alone} if alone else {}
        splits = _between(groups, self._bounds)
        if self._dealt is not None:
            known, its_split = self._dealt
            at = np.minimum(np.searchsorted(known, groups), len(known) - 1)
            splits = np.where(known[at] == groups, its_split[at], splits)
        return Dealt(splits, remarks)


class ByColumn(Dealer):
    """By what a column says.

    Args:
      column: whose values say it.
      kind: its type.
      splits: each value's split; a row without a value goes nowhere.
    """

    def __init__(self, column: str, kind: str, splits: Mapping[str, str]) -> None:
        self._column, self._kind, self._splits = column, kind, splits
        self.needs = (column,)

    def deal(self, rows: Rows) -> Dealt:
        codes, names = rows.names(self._column, self._kind)
        of_name = [SPLITS.index(self._splits[name]) if name in self._splits else NOWHERE for name in names]
        return _placed(np.array([*of_name, NOWHERE], np.int8)[codes], self._column)


class ByTime(Dealer):
    """By a point in time: what is older goes to train, what is newer to eval, and the newest to test.

    Args:
      column: holds the time; a row without one goes nowhere.
      kind: its type.
      bounds: the keys from which on rows go to eval and to test.
    """

    def __init__(self, column: str, kind: str, bounds: np.ndarray) -> None:
        self._column, self._kind, self._bounds = column, kind, bounds
        self.needs = (column,)

    def deal(self, rows: Rows) -> Dealt:
        keys, there = time_keys(rows.texts[self._column], self._kind)
        splits = np.where(there, _between(keys, self._bounds), np.int8(NOWHERE))
        return _placed(splits, self._column)


def group_hashes(rows: Rows, column: str) -> tuple[np.ndarray, int]:
    """The hash of each row's group, and how many rows are a group of their own for want of a value."""
    values = rows.texts[column]
    hashes = cell_hashes(values)
    if not values.null_count:
        return hashes, 0
    gone = values.is_null().to_numpy(zero_copy_only=False)
    alone = np.flatnonzero(gone)
    hashes[alone] = row_hashes(rows.cells.take(pa.array(alone)))
    return hashes, len(alone)


def _between(keys: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    return np.searchsorted(bounds, keys, side="right").astype(np.int8)


def _placed(splits: np.ndarray, column: str) -> Dealt:
    nowhere = int((splits == NOWHERE).sum())
    remark = f"{{n}} rows have no {column!r} to be split by and are left out"
    return Dealt(splits, {remark: nowhere} if nowhere else {})
