"""What ExampleGen does to one piece of the source, as Beam maps."""

from __future__ import annotations

import copy
import dataclasses
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import apache_beam as beam
import numpy as np
import pyarrow as pa
from tfx.dsl.io import fileio

from components.errors import UserError, cut
from components.example_encoder import encode
from components.example_gen import arrow_types, survey
from components.example_gen.config import DataConfig
from components.example_gen.images.load import load_images, path_column
from components.example_gen.readers import Block, Piece, Reader, Skipped, make_reader
from components.example_gen.split_shards import SplitPlan, SplitShards, is_dealt
from components.example_gen.splits.lookahead import Lookahead
from components.example_gen.splits.rows import Rows
from components.example_gen.typed import Typer

# A skipped row is kept so that it can be mended; a whole file behind an open quote need not be.
_LONGEST_SKIPPED = 10_000


@dataclasses.dataclass(frozen=True)
class Plan:
    """All that reading a piece needs to know once its columns are known.

    Attributes:
      format: of the source.
      types: of the columns that are written.
      lists: those of which a row may have several values.
      scratch: a folder for what the pieces leave to be put together.
    """

    config: DataConfig
    format: str
    types: dict[str, str]
    lists: tuple[str, ...]
    scratch: str

    def skipped_file(self, index: int) -> str:
        """Where the skipped rows of a piece are listed."""
        return f"{self.scratch}/skipped-{index:05d}.jsonl"

    def blocks(self, reader: Reader, piece: Piece) -> Iterator[Block]:
        """The rows of a piece, with the images that their cells name."""
        images = [name for name, kind in self.types.items() if kind == "image"]
        return load_images(reader.blocks(piece), images, reader, piece) if images else reader.blocks(piece)

    def content(self, cells: pa.RecordBatch) -> pa.RecordBatch:
        """What counts of a row: an image is the same wherever its file lies."""
        paths = {path_column(name) for name, kind in self.types.items() if kind == "image"}
        if not paths:
            return cells
        kept = [name for name in cells.schema.names if name not in paths]
        columns = [cells.column(cells.schema.get_field_index(name)) for name in kept]
        return pa.RecordBatch.from_arrays(columns, kept)

    def typer(self, reader: Reader, piece: Piece) -> Typer:
        """What gives the cells of a piece their types."""
        return Typer(self.config, reader, self.lists, piece.path)


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


class Look(_PerPiece):
    """Shows the rows of a piece that will be kept to whoever must know them all before they are dealt.

    Args:
      needed: columns without which a row is not kept.
    """

    def __init__(self, plan: Plan, lookahead: Lookahead, needed: Sequence[str]) -> None:
        super().__init__(plan.config, plan.format)
        self._plan, self._lookahead = plan, lookahead
        self._needed = {name: plan.types[name] for name in needed}

    def work(self, reader: Reader, index: int, piece: Piece) -> Any:
        reader.scanned = True
        typer = self._plan.typer(reader, piece)
        lookahead = copy.deepcopy(self._lookahead)
        for block in self._plan.blocks(reader, piece):
            if len(block.rows):
                cells = _cells(block)
                columns = typer.batch(cells, self._needed).columns
                keep = np.logical_and.reduce([each.is_valid() for each in columns])
                lookahead.add(Rows(self._plan.content(cells), typer.texts(cells, lookahead.needs)), keep)
        return lookahead.to_json()


class Write(_PerPiece):
    """Writes the rows of a piece as a shard of every split that they go to."""

    def __init__(self, plan: Plan, split: SplitPlan) -> None:
        super().__init__(plan.config, plan.format)
        self._plan, self._split = plan, split

    def work(self, reader: Reader, index: int, piece: Piece) -> dict[str, Any]:
        reader.scanned = True
        return _PieceWriter(self._plan, self._split, reader, index, piece).run()


class _PieceWriter:
    """One piece on its way to its shards."""

    def __init__(self, plan: Plan, split: SplitPlan, reader: Reader, index: int, piece: Piece) -> None:
        self._plan, self._reader, self._index, self._piece = plan, reader, index, piece
        self._needs = split.dealer.needs if is_dealt(piece.split, split.dealt) else ()
        self._shards = SplitShards(split, index)
        self._typer = plan.typer(reader, piece)
        self._skipped: list[Skipped] = []

    def run(self) -> dict[str, Any]:
        remarks: Counter[str] = Counter()
        for block in self._plan.blocks(self._reader, self._piece):
            remarks.update(block.remarks)
            self._skipped.extend(block.skipped)
            if len(block.rows):
                self._write(block)
        self._shards.close()
        self._list_skipped()
        tally = self._shards.tally
        tally.remarks = dict(remarks + Counter(tally.remarks))
        tally.changed, tally.too_large = self._typer.changed, self._typer.too_large
        return dataclasses.asdict(tally)

    def _write(self, block: Block) -> None:
        cells = _cells(block)
        typed = self._typer.batch(cells, self._plan.types)
        self._shards.write(
            Rows(self._plan.content(cells), self._typer.texts(cells, self._needs)),
            typed,
            np.array(encode(typed), dtype=object),
            given=self._piece.split,
            place=lambda row: self._reader.places(self._piece, [int(block.rows[row])])[0],
        )

    def _list_skipped(self) -> None:
        if not self._skipped:
            return
        self._shards.tally.skipped = len(self._skipped)
        self._skipped.sort(key=lambda each: each.row)
        places = self._reader.places(self._piece, [each.row for each in self._skipped])
        with fileio.open(self._plan.skipped_file(self._index), "w") as stream:
            for place, each in zip(places, self._skipped):
                row = {"where": place, "reason": each.reason, "text": cut(each.text, _LONGEST_SKIPPED)}
                stream.write(json.dumps(row, ensure_ascii=False) + "\n")


def _cells(block: Block) -> pa.RecordBatch:
    cells = arrow_types.flatten(block.batch)
    # A batch without a column does not know how many rows it has: objects without a key.
    return cells if cells.num_columns else pa.RecordBatch.from_arrays([pa.nulls(len(block.rows))], [""])
