"""What ExampleGen does to one piece of the source, as Beam maps."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from tfx.dsl.io import fileio
from tfx_bsl.coders import example_coder

from components.errors import UserError, cut
from components.example_gen import arrow_types, splits, survey
from components.example_gen.config import DataConfig
from components.example_gen.convert import Converted, convert
from components.example_gen.patterns import INFERRED
from components.example_gen.readers import Block, Piece, Reader, Skipped, make_reader
from components.example_gen.sources import SPLITS
from components.label import LabelSpec, class_name
from components.records import ShardWriter, shard_name

# A skipped row is kept so that it can be mended; a whole file behind an open quote need not be.
_LONGEST_SKIPPED = 10_000


@dataclasses.dataclass(frozen=True)
class Plan:
    """All that writing a piece needs to know.

    Attributes:
      format: of the source.
      types: of the columns that are written.
      lists: those of which a row may have several values.
      parts: of the splits that rows are dealt to, unless their piece says which is theirs.
      uri: of the Examples artifact.
      scratch: a folder for what the pieces leave to be put together.
      shards: how many pieces there are.
    """

    config: DataConfig
    format: str
    types: dict[str, str]
    lists: tuple[str, ...]
    label: LabelSpec
    parts: dict[str, int]
    uri: str
    scratch: str
    shards: int

    def skipped_file(self, index: int) -> str:
        """Where the skipped rows of a piece are listed."""
        return f"{self.scratch}/skipped-{index:05d}.jsonl"


@dataclasses.dataclass
class Tally:
    """What writing came to: rows and classes of each split, and what was not kept as it stood."""

    rows: dict[str, int]
    classes: dict[str, dict[str, int]]
    present: dict[str, int] = dataclasses.field(default_factory=dict)
    changed: dict[str, int] = dataclasses.field(default_factory=dict)
    too_large: dict[str, int] = dataclasses.field(default_factory=dict)
    unlabelled: int = 0
    skipped: int = 0


def total(tallies: list[dict[str, Any]]) -> Tally:
    """The sum of the pieces' tallies."""
    sums: dict[str, Counter[str]] = {key: Counter() for key in ("rows", "present", "changed", "too_large")}
    classes: dict[str, Counter[str]] = {}
    for tally in tallies:
        for key, counter in sums.items():
            counter.update(tally[key])
        for split, counts in tally["classes"].items():
            classes.setdefault(split, Counter()).update(counts)
    return Tally(
        classes={split: dict(counts) for split, counts in classes.items()},
        unlabelled=sum(tally["unlabelled"] for tally in tallies),
        skipped=sum(tally["skipped"] for tally in tallies),
        **{key: dict(counter) for key, counter in sums.items()},
    )


class _PerPiece(beam.DoFn):
    """One piece in, one line of JSON out; a mistake of the user's travels as a result, since Beam
    would wrap the exception in its own."""

    def __init__(self, config: DataConfig, format: str) -> None:
        self._config, self._format = config, format

    def process(self, element: tuple[int, Piece]) -> Iterator[str]:
        index, piece = element
        try:
            found = self.work(make_reader(self._config, self._format), index, piece)
            yield json.dumps({"index": index, "found": found})
        except UserError as error:
            yield json.dumps({"index": index, "error": error.to_json()})

    def work(self, reader: Reader, index: int, piece: Piece) -> Any:
        raise NotImplementedError


class Scan(_PerPiece):
    """Looks at every cell of a piece."""

    def work(self, reader: Reader, index: int, piece: Piece) -> str:
        return survey.survey_piece(reader, piece, index, self._config).to_json()


class Write(_PerPiece):
    """Writes the rows of a piece as a shard of every split that they go to."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan.config, plan.format)
        self._plan = plan

    def work(self, reader: Reader, index: int, piece: Piece) -> dict[str, Any]:
        reader.scanned = True
        return _PieceWriter(self._plan, reader, index, piece).run()


class _PieceWriter:
    """One piece on its way to its shards."""

    def __init__(self, plan: Plan, reader: Reader, index: int, piece: Piece) -> None:
        self._plan, self._reader, self._index, self._piece = plan, reader, index, piece
        self._missing = pa.array(list(plan.config.missing), pa.string())
        self._tally = Tally(rows=dict.fromkeys(SPLITS, 0), classes={split: {} for split in SPLITS})
        self._encoder = example_coder.RecordBatchToExamplesEncoder()
        self._writers: dict[str, ShardWriter] = {}
        self._skipped: list[Skipped] = []

    def run(self) -> dict[str, Any]:
        for block in self._reader.blocks(self._piece):
            self._skipped.extend(block.skipped)
            if len(block.rows):
                self._write(self._typed(block))
        for writer in self._writers.values():
            writer.close()
        self._list_skipped()
        return dataclasses.asdict(self._tally)

    def _write(self, batch: pa.RecordBatch) -> None:
        plan, tally = self._plan, self._tally
        label = batch.column(batch.schema.get_field_index(plan.label.name))
        labelled = label.is_valid().to_numpy(zero_copy_only=False)
        tally.unlabelled += int((~labelled).sum())
        records = np.array(self._encoder.encode(_as_lists(batch)), dtype=object)
        for split, mine in self._deal(batch):
            mine &= labelled
            if not mine.any():
                continue
            self._writer(split).write(records[mine])
            tally.rows[split] += int(mine.sum())
            if split == "train":
                _count_present(batch, mine, tally.present)
            if plan.label.classes:
                self._count_classes(label.filter(pa.array(mine)), tally.classes[split])

    def _deal(self, batch: pa.RecordBatch) -> Iterator[tuple[str, np.ndarray]]:
        """Each split with which of the rows are its own."""
        parts, given = self._plan.parts, self._piece.split
        if given and (given != "train" or len(parts) == 1):
            yield given, np.ones(batch.num_rows, bool)
            return
        dealt = splits.by_content(batch, parts)
        for number, split in enumerate(parts):
            yield split, dealt == number

    def _writer(self, split: str) -> ShardWriter:
        if split not in self._writers:
            shard = shard_name(self._index, self._plan.shards)
            self._writers[split] = ShardWriter(f"{self._plan.uri}/Split-{split}/{shard}")
        return self._writers[split]

    def _typed(self, block: Block) -> pa.RecordBatch:
        """The columns that are written, each of its type."""
        batch = arrow_types.flatten(block.batch)
        typed = []
        for name, kind in self._plan.types.items():
            at = batch.schema.get_field_index(name)
            if at < 0:
                typed.append(
                    convert(
                        arrow_types.Cells("nothing", pa.nulls(len(block.rows))), kind, self._missing, False
                    ).values
                )
                continue
            cells = arrow_types.plain(batch.column(at))
            if cells is None:
                raise UserError(f"column {name!r} is a {batch.column(at).type} here", where=self._piece.path)
            parse = survey.infers(batch.schema.field(at), self._plan.config, self._reader) == INFERRED
            converted = convert(cells, kind, self._missing, parse)
            self._count_lost(name, converted)
            typed.append(self._shaped(name, converted.values, cells.lengths))
        return pa.RecordBatch.from_arrays(typed, list(self._plan.types))

    def _shaped(self, name: str, values: pa.Array, lengths: np.ndarray | None) -> pa.Array:
        if lengths is None:
            return values
        offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
        lists = pa.ListArray.from_arrays(pa.array(offsets), values)
        if name in self._plan.lists:
            return lists
        # No row has more than one value.
        places = np.where(lengths > 0, offsets[:-1], 0)
        return values.take(pa.array(places, mask=lengths == 0))

    def _count_lost(self, name: str, converted: Converted) -> None:
        for number, counts in (
            (converted.changed, self._tally.changed),
            (converted.too_large, self._tally.too_large),
        ):
            if number:
                counts[name] = counts.get(name, 0) + number

    def _count_classes(self, values: pa.Array, counts: dict[str, int]) -> None:
        for item in pc.value_counts(values).to_pylist():
            name = class_name(self._plan.label.type, item["values"])
            counts[name] = counts.get(name, 0) + item["counts"]

    def _list_skipped(self) -> None:
        if not self._skipped:
            return
        self._tally.skipped = len(self._skipped)
        self._skipped.sort(key=lambda each: each.row)
        places = self._reader.places(self._piece, [each.row for each in self._skipped])
        with fileio.open(self._plan.skipped_file(self._index), "w") as stream:
            for place, each in zip(places, self._skipped):
                row = {"where": place, "reason": each.reason, "text": cut(each.text, _LONGEST_SKIPPED)}
                stream.write(json.dumps(row, ensure_ascii=False) + "\n")


def _count_present(batch: pa.RecordBatch, mine: np.ndarray, present: dict[str, int]) -> None:
    for name, column in zip(batch.schema.names, batch.columns):
        there = column.is_valid().to_numpy(zero_copy_only=False)
        if pa.types.is_list(column.type):
            there = column.value_lengths().to_numpy(zero_copy_only=False) > 0
        present[name] = present.get(name, 0) + int((there & mine).sum())


def _as_lists(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Every value as a list of one, and a missing one as an empty list: what tf.Example can say."""
    lists = []
    for column in batch.columns:
        if pa.types.is_list(column.type):
            lists.append(column)
            continue
        lengths = column.is_valid().to_numpy(zero_copy_only=False)
        offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
        lists.append(pa.ListArray.from_arrays(pa.array(offsets), column.drop_null()))
    encodable = [
        column.cast(pa.list_(pa.binary())) if pa.types.is_string(column.type.value_type) else column
        for column in lists
    ]
    return pa.RecordBatch.from_arrays(encodable, batch.schema.names)
