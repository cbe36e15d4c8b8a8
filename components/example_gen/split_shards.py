"""The shards that one worker writes: rows in, each to the shard of its split, and all of it counted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from components.errors import UserError
from components.example_gen.split_config import SPLITS
from components.example_gen.splits.dealers import NOWHERE, Dealer
from components.example_gen.splits.rows import Rows
from components.example_gen.splits.straddling import HashWriter, Straddling
from components.example_gen.tally import Tally
from components.label import LabelSpec, class_name
from components.records import ShardWriter, shard_name


def is_dealt(given: str | None, dealt: Sequence[str]) -> bool:
    """Whether the rows of a piece are dealt.

    Args:
      given: the split that the source says they are of; None: it does not say.
      dealt: the splits that rows are dealt to; the others have files of their own.
    """
    return given is None or (given == "train" and len(dealt) > 1)


@dataclass(frozen=True)
class SplitPlan:
    """How rows become shards.

    Attributes:
      uri: of the Examples artifact.
      shards: how many each split may have.
      label: what is predicted; rows without it are left out.
      unlabelled: how many there are, when that is an error; else 0.
      weight: the column that weighs the rows; rows without it are left out.
      dealt: the splits that rows are dealt to; the others have files of their own.
      dealer: who says which split a row goes to.
      straddling: where to leave hashes of the rows' contents, to be compared; None: do not.
      not_content: columns that do not count as content.
    """

    uri: str
    shards: int
    label: LabelSpec
    unlabelled: int
    weight: str | None
    dealt: tuple[str, ...]
    dealer: Dealer
    straddling: Straddling | None = None
    not_content: tuple[str, ...] = ()


class SplitShards:
    """One shard of every split.

    Args:
      plan: how rows become shards.
      index: number of the shard.
    """

    def __init__(self, plan: SplitPlan, index: int) -> None:
        self._plan, self._index = plan, index
        self._shards: dict[str, ShardWriter] = {}
        self._contents: dict[str, HashWriter] = {}
        self.tally = Tally(dict.fromkeys(SPLITS, 0), {split: {} for split in SPLITS})
        if plan.weight:
            self.tally.weights = dict.fromkeys(SPLITS, 0.0)

    def write(
        self,
        rows: Rows,
        typed: pa.RecordBatch,
        records: np.ndarray,
        *,
        given: str | None,
        place: Callable[[int], str],
    ) -> None:
        """Writes a block of rows.

        Args:
          rows: as they stand in the source.
          typed: the columns that are written, null where missing.
          records: the rows encoded.
          given: the split that the source says they are of.
          place: where the row of an index stands, for messages.

        Raises:
          UserError: for a negative weight, and for a missing label where that is an error.
        """
        keep = self._labelled(typed, place) & self._weighted(typed, place)
        if is_dealt(given, self._plan.dealt):
            dealt = self._plan.dealer.deal(rows)
            splits = np.where(keep, dealt.splits, NOWHERE)
            for remark, number in dealt.remarks.items():
                self.tally.remarks[remark] = self.tally.remarks.get(remark, 0) + number
        else:
            splits = np.where(keep, SPLITS.index(given or "train"), NOWHERE)
        contents = rows.hashes(self._plan.not_content) if self._plan.straddling else None
        for number, split in enumerate(SPLITS):
            mine = splits == number
            if mine.any():
                self._shard(split).write(records[mine])
                if contents is not None:
                    self._content(split).write(contents[mine])
                self._count(split, typed, mine)

    def close(self) -> None:
        """Ends the files."""
        for shard in self._shards.values():
            shard.close()
        for content in self._contents.values():
            content.close()

    def _shard(self, split: str) -> ShardWriter:
        if split not in self._shards:
            name = shard_name(self._index, self._plan.shards)
            self._shards[split] = ShardWriter(f"{self._plan.uri}/Split-{split}/{name}")
        return self._shards[split]

    def _content(self, split: str) -> HashWriter:
        if split not in self._contents:
            assert self._plan.straddling is not None
            self._contents[split] = self._plan.straddling.writer(split, self._index)
        return self._contents[split]

    def _labelled(self, typed: pa.RecordBatch, place: Callable[[int], str]) -> np.ndarray:
        label = self._plan.label
        if label.task == "multilabel":
            # An empty list says that the row has none of the classes.
            column = typed.column(typed.schema.get_field_index(label.name))
            there = column.is_valid().to_numpy(zero_copy_only=False)
        else:
            there = _valid(typed, label.name)
        gone = np.flatnonzero(~there)
        if len(gone) and self._plan.unlabelled:
            raise UserError(
                f"the label {self._plan.label.name!r} is missing"
                + (f", as in {self._plan.unlabelled:,} rows in all" if self._plan.unlabelled > 1 else ""),
                where=place(int(gone[0])),
                fix="fill it in, or leave such rows out with data.on_missing_label: drop",
            )
        self.tally.unlabelled += len(gone)
        return there

    def _weighted(self, typed: pa.RecordBatch, place: Callable[[int], str]) -> np.ndarray:
        if not self._plan.weight:
            return np.ones(typed.num_rows, bool)
        there = _valid(typed, self._plan.weight)
        weights = _numbers(typed, self._plan.weight)
        negative = np.flatnonzero(weights < 0)
        if len(negative):
            raise UserError(
                f"the weight {self._plan.weight!r} is {weights[negative[0]]:g}; expected 0 or more",
                where=place(int(negative[0])),
                fix="mend the row; a weight of 0 makes it count for nothing",
            )
        self.tally.unweighted += int((~there).sum())
        return there

    def _count(self, split: str, typed: pa.RecordBatch, mine: np.ndarray) -> None:
        tally, plan = self.tally, self._plan
        tally.rows[split] += int(mine.sum())
        if split == "train":
            for name in typed.schema.names:
                tally.present[name] = tally.present.get(name, 0) + int((_valid(typed, name) & mine).sum())
                _count_sizes(tally.sizes, typed, name, mine)
        if plan.weight:
            tally.weights[split] += float(_numbers(typed, plan.weight)[mine].sum(dtype=np.float64))
        if plan.label.classes:
            label = typed.column(typed.schema.get_field_index(plan.label.name))
            label = label.filter(pa.array(mine))
            if pa.types.is_list(label.type):
                tally.classless += int((label.value_lengths().to_numpy(zero_copy_only=False) == 0).sum())
                label = _once_a_row(label)
            counts = tally.classes[split]
            for item in pc.value_counts(label).to_pylist():
                # As it was written: 0.1, not the float32's 0.10000000149011612.
                value = np.float32(item["values"]) if plan.label.type == "float" else item["values"]
                name = class_name(plan.label.type, value)
                counts[name] = counts.get(name, 0) + item["counts"]


def _count_sizes(
    sizes: dict[str, dict[str, int]], typed: pa.RecordBatch, name: str, mine: np.ndarray
) -> None:
    """Counts the sizes of a column's images, where it is one of images: their measures stand beside it."""
    measures = [typed.schema.get_field_index(f"{name}/{fact}") for fact in ("height", "width", "channels")]
    if min(measures) < 0:
        return
    there = pa.array(mine & _valid(typed, name))
    texts = [typed.column(at).filter(there).cast(pa.string()) for at in measures]
    counts = sizes.setdefault(name, {})
    for item in pc.value_counts(pc.binary_join_element_wise(*texts, "x")).to_pylist():
        counts[item["values"]] = counts.get(item["values"], 0) + item["counts"]


def _once_a_row(lists: pa.Array) -> pa.Array:
    """The values of all rows, each once a row in which it stands."""
    encoded = lists.flatten().dictionary_encode()
    rows = pc.list_parent_indices(lists).to_numpy(zero_copy_only=False).astype(np.int64)
    size = max(1, len(encoded.dictionary))
    pairs = np.unique(rows * size + encoded.indices.to_numpy(zero_copy_only=False))
    return encoded.dictionary.take(pa.array(pairs % size))


def _valid(typed: pa.RecordBatch, name: str) -> np.ndarray:
    """Which rows have a value in a column."""
    column = typed.column(typed.schema.get_field_index(name))
    if pa.types.is_list(column.type):
        return column.value_lengths().to_numpy(zero_copy_only=False) > 0
    return column.is_valid().to_numpy(zero_copy_only=False)


def _numbers(typed: pa.RecordBatch, name: str) -> np.ndarray:
    """The values of a column of numbers, 0 where there is none."""
    column = typed.column(typed.schema.get_field_index(name))
    return pc.fill_null(column, 0).to_numpy(zero_copy_only=False)
