"""What ExampleGen does to one file, as Beam maps, and what it leaves for later steps to read."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import BaseModel
from tfx.dsl.io import fileio
from tfx_bsl.coders import example_coder

from components.errors import UserError
from components.example_gen import columns, csv_reader, splits
from components.example_gen.config import DataConfig
from components.label import LabelSpec, class_name
from components.records import ShardWriter, shard_name

_FOUND = "ingest.json"


class Found(BaseModel):
    """What ingest found out; kept as ingest.json in the Examples artifact.

    Attributes:
      label: the label, its task and classes.
      types: each column's type.
      values: how many distinct values each column has; None: more than can be classes.
      rows: rows of each split.
      classes: count of each class in each split; empty for regression.
      present: how many rows of train have a value in each column.
      words: how many words the values of each text column have on average.
      notes: what a person should know of how the rows were read.
    """

    label: LabelSpec
    types: dict[str, str]
    values: dict[str, int | None]
    rows: dict[str, int]
    classes: dict[str, dict[str, int]]
    present: dict[str, int]
    words: dict[str, float] = {}
    notes: list[str]

    def save(self, examples_uri: str) -> None:
        with fileio.open(f"{examples_uri}/{_FOUND}", "w") as stream:
            stream.write(self.model_dump_json(indent=1))

    @classmethod
    def load(cls, examples_uri: str) -> Found:
        with fileio.open(f"{examples_uri}/{_FOUND}") as stream:
            return cls.model_validate_json(stream.read())


@dataclasses.dataclass(frozen=True)
class Plan:
    """All that writing a file needs to know."""

    config: DataConfig
    types: dict[str, str]
    label: LabelSpec
    uri: str
    shards: int


@dataclasses.dataclass
class Tally:
    """What writing came to: rows and classes of each split, and what was not kept as it stood."""

    rows: dict[str, int]
    classes: dict[str, dict[str, int]]
    present: dict[str, int] = dataclasses.field(default_factory=dict)
    narrowed: dict[str, int] = dataclasses.field(default_factory=dict)
    unlabelled: int = 0


def total(tallies: list[dict[str, Any]]) -> Tally:
    """The sum of the files' tallies."""
    rows: Counter[str] = Counter()
    present: Counter[str] = Counter()
    narrowed: Counter[str] = Counter()
    classes: dict[str, Counter[str]] = {}
    for tally in tallies:
        rows.update(tally["rows"])
        present.update(tally["present"])
        narrowed.update(tally["narrowed"])
        for split, counts in tally["classes"].items():
            classes.setdefault(split, Counter()).update(counts)
    return Tally(
        rows=dict(rows),
        classes={split: dict(counts) for split, counts in classes.items()},
        present=dict(present),
        narrowed=dict(narrowed),
        unlabelled=sum(tally["unlabelled"] for tally in tallies),
    )


class _PerFile(beam.DoFn):
    """One file in, one line of JSON out; a mistake of the user's travels as a result, since Beam
    would wrap the exception in its own."""

    def process(self, element: tuple[int, str]) -> Iterator[str]:
        index, path = element
        try:
            yield json.dumps({"index": index, "found": self.work(index, Path(path))})
        except UserError as error:
            yield json.dumps({"index": index, "error": error.to_json()})

    def work(self, index: int, path: Path) -> dict[str, Any]:
        raise NotImplementedError


class Scan(_PerFile):
    """Looks at every cell of a file."""

    def __init__(self, config: DataConfig) -> None:
        self._config = config

    def work(self, index: int, path: Path) -> dict[str, Any]:
        blocks = csv_reader.read_blocks(path, csv_reader.delimiter_of(path, self._config.delimiter))
        scans = columns.scan(blocks, self._config.missing)
        if not scans or not next(iter(scans.values())).rows:
            raise UserError("the file has a header but no rows", where=str(path))
        return {
            "file": str(path),
            "columns": {name: dataclasses.asdict(scan) for name, scan in scans.items()},
        }


class Write(_PerFile):
    """Writes the rows of a file as a shard of every split."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    def work(self, index: int, path: Path) -> dict[str, Any]:
        plan = self._plan
        names = list(plan.config.split.parts)
        writers = [
            ShardWriter(f"{plan.uri}/Split-{split}/{shard_name(index, plan.shards)}") for split in names
        ]
        tally = Tally(rows=dict.fromkeys(names, 0), classes={split: {} for split in names})
        encoder = example_coder.RecordBatchToExamplesEncoder()
        for before, cells in csv_reader.read_blocks(
            path, csv_reader.delimiter_of(path, plan.config.delimiter)
        ):
            batch = self._typed(cells, path, before, tally)
            records = np.array(encoder.encode(_as_lists(batch)), dtype=object)
            label = batch.column(batch.schema.get_field_index(plan.label.name))
            labelled = label.is_valid().to_numpy(zero_copy_only=False)
            tally.unlabelled += int((~labelled).sum())
            dealt = splits.by_content(cells, plan.config.split.parts)
            for number, split in enumerate(names):
                mine = (dealt == number) & labelled
                writers[number].write(records[mine])
                tally.rows[split] += int(mine.sum())
                if split == "train":
                    _count_present(batch, mine, tally.present)
                if plan.label.classes:
                    self._count_classes(label.filter(pa.array(mine)), tally.classes[split])
        for writer in writers:
            writer.close()
        return dataclasses.asdict(tally)

    def _typed(self, cells: pa.RecordBatch, path: Path, before: int, tally: Tally) -> pa.RecordBatch:
        missing = pa.array(list(self._plan.config.missing), pa.string())
        typed = []
        for name, kind in self._plan.types.items():
            column = cells.column(cells.schema.get_field_index(name))
            values, narrowed = columns.convert(
                column, kind, missing, name=name, before=before, where=str(path)
            )
            if narrowed:
                tally.narrowed[name] = tally.narrowed.get(name, 0) + narrowed
            typed.append(values)
        return pa.RecordBatch.from_arrays(typed, list(self._plan.types))

    def _count_classes(self, values: pa.Array, counts: dict[str, int]) -> None:
        for item in pc.value_counts(values).to_pylist():
            name = class_name(self._plan.label.type, item["values"])
            counts[name] = counts.get(name, 0) + item["counts"]


def _count_present(batch: pa.RecordBatch, mine: np.ndarray, present: dict[str, int]) -> None:
    for name, column in zip(batch.schema.names, batch.columns):
        there = column.is_valid().to_numpy(zero_copy_only=False)
        present[name] = present.get(name, 0) + int((there & mine).sum())


def _as_lists(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Every value as a list of one, and a missing one as an empty list: what tf.Example can say."""
    lists = []
    for column in batch.columns:
        lengths = column.is_valid().to_numpy(zero_copy_only=False)
        offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
        values = column.drop_null()
        if pa.types.is_string(values.type):
            values = values.cast(pa.binary())
        lists.append(pa.ListArray.from_arrays(pa.array(offsets), values))
    return pa.RecordBatch.from_arrays(lists, batch.schema.names)
