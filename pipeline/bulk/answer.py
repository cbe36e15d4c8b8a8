"""A model's answers for a large file, by Beam: one shard of the file at a time, each written whole."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions

from components.errors import UserError
from pipeline.bulk.chunks import Chunk, Row, RowFile
from pipeline.cli.answer_files import open_answers
from pipeline.cli.image_cells import with_images
from serving.errors import ServingError
from serving.local import LocalModel
from serving.model import load_model
from serving.rows import Prediction, to_columns

SHARD_ROWS = 100_000  # of CSV and JSON Lines; of Parquet it is a row group
_BATCH = 1024
_NAMED = 5  # bad rows in a message


@dataclass(frozen=True)
class Job:
    """What is asked, and where the answers go.

    Attributes:
      rows: the file.
      model: a version directory.
      version: its number.
      images: columns whose cells may name files, relative to the file of rows.
      out: the name that shards are named after; its ending says the format.
    """

    rows: RowFile
    model: Path
    version: int
    images: tuple[str, ...]
    out: Path


@dataclass
class Tally:
    """What became of rows.

    Attributes:
      answered, bad: how many.
      problems: the first bad rows, each with its number and what is wrong.
      absent: features that no row had.
      ignored: columns that the model does not know.
      error: why there are no answers at all.
    """

    answered: int = 0
    bad: int = 0
    problems: list[str] = field(default_factory=list)
    absent: set[str] = field(default_factory=set)
    ignored: set[str] = field(default_factory=set)
    error: str = ""

    def add(self, other: Tally) -> None:
        """Takes in what became of other rows, which come after these."""
        if other.answered:
            self.absent = self.absent & other.absent if self.answered else other.absent
        self.answered += other.answered
        self.bad += other.bad
        self.problems = (self.problems + other.problems)[:_NAMED]
        self.ignored |= other.ignored
        self.error = self.error or other.error

    def write(self, path: Path) -> None:
        content = {**asdict(self), "absent": sorted(self.absent), "ignored": sorted(self.ignored)}
        path.write_text(json.dumps(content))

    @classmethod
    def read(cls, path: Path) -> Tally:
        content = json.loads(path.read_text())
        return cls(**{**content, "absent": set(content["absent"]), "ignored": set(content["ignored"])})


def answer_file(
    job: Job, *, beam_args: Sequence[str], limit: int | None = None, skip_bad: bool = False
) -> tuple[list[Path], Tally]:
    """Answers every row of a file.

    Args:
      job: what is asked.
      beam_args: Beam's options.
      limit: answer so many rows only.
      skip_bad: leave rows out that the model cannot be asked about.

    Returns:
      The shards, in the order of the rows, and what became of the rows.

    Raises:
      UserError: there are bad rows that may not be left out, or the model does not answer. No shard is there
        then.
    """
    chunks = job.rows.chunks(SHARD_ROWS, limit)
    # Beside the shards: taking their names is then a rename.
    job.out.parent.mkdir(parents=True, exist_ok=True)
    staged = Path(tempfile.mkdtemp(prefix=f".{job.out.name}.", dir=job.out.parent))
    try:
        with beam.Pipeline(options=PipelineOptions([*beam_args])) as pipeline:
            (
                pipeline
                | "Chunks" >> beam.Create(chunks)
                | "Spread" >> beam.Reshuffle()
                | "Answer" >> beam.ParDo(_Answer(job, str(staged)))
            )
        total = Tally()
        for chunk in chunks:
            total.add(Tally.read(staged / f"{chunk.index}.json"))
        _refuse(total, job, skip_bad)
        shards = [chunk for chunk in chunks if _staged(staged, job, chunk).exists()]
        names = [
            job.out.with_name(f"{job.out.stem}-{number:05}-of-{len(shards):05}{job.out.suffix}")
            for number in range(len(shards))
        ]
        for chunk, name in zip(shards, names):
            os.replace(_staged(staged, job, chunk), name)
        return names, total
    finally:
        shutil.rmtree(staged, ignore_errors=True)


def _refuse(total: Tally, job: Job, skip_bad: bool) -> None:
    if total.error:
        raise UserError(total.error, where=job.rows.path)
    if total.bad and (not skip_bad or not total.answered):
        raise UserError(
            f"{said_of_bad(total)}; nothing is written",
            where=job.rows.path,
            fix="mend them, or leave them out with --on-bad-row skip" if total.answered else "mend them",
        )


def said_of_bad(total: Tally) -> str:
    """How many rows are bad, and what is wrong with the first."""
    rows = "row is" if total.bad == 1 else "rows are"
    more = f"; and {total.bad - _NAMED:,} more" if total.bad > _NAMED else ""
    return f"{total.bad:,} {rows} bad: {'; '.join(total.problems)}{more}"


def _staged(folder: Path, job: Job, chunk: Chunk) -> Path:
    return folder / f"{chunk.index}{job.out.suffix}"


class _Answer(beam.DoFn):
    """A chunk to a shard and a tally; done again, it writes the same files."""

    def __init__(self, job: Job, staged: str) -> None:
        self._job, self._staged = job, Path(staged)
        self._loaded: LocalModel | None = None

    def setup(self) -> None:
        self._loaded = LocalModel(load_model(self._job.model, self._job.version))

    def teardown(self) -> None:
        self._loaded = None  # else TensorFlow lets go of it when the interpreter is half gone, and complains

    def process(self, chunk: Chunk) -> None:
        tally = Tally()
        try:
            self._answer(chunk, tally)
        except (ServingError, UserError) as error:
            tally.error = str(error)
        tally.write(self._staged / f"{chunk.index}.json")

    def _answer(self, chunk: Chunk, tally: Tally) -> None:
        rows = iter(enumerate(self._job.rows.read(chunk), chunk.first))
        out = _staged(self._staged, self._job, chunk)
        with open_answers(str(out)) as write:
            while batch := list(islice(rows, _BATCH)):
                for number, answers in self._runs(batch, tally):
                    write(number, answers)
        if not tally.answered:
            out.unlink()

    def _runs(
        self, batch: list[tuple[int, Row | ServingError]], tally: Tally
    ) -> Iterator[tuple[int, list[Prediction]]]:
        """The answers of rows that follow each other, with the number of the first."""
        part: list[tuple[int, Row]] = []
        for number, row in batch:
            if isinstance(row, ServingError):
                _count(tally, number, row)
                yield from self._ask(part, tally)
                part = []
            else:
                part.append((number, row))
        yield from self._ask(part, tally)

    def _ask(self, part: list[tuple[int, Row]], tally: Tally) -> Iterator[tuple[int, list[Prediction]]]:
        """Asks about rows at once; when that fails, about either half, until it shows which row it is."""
        if not part:
            return
        model = self._loaded
        assert model
        first, rows = part[0][0], [row for _, row in part]
        try:
            whole = list(with_images(rows, self._job.images, Path(self._job.rows.path).parent, first))
            columns = to_columns(whole, model.inputs(), first)
            answers = model.predict_columns(columns)
        except (ServingError, UserError) as error:
            if len(part) == 1:
                _count(tally, first, error)
                return
            middle = len(part) // 2
            yield from self._ask(part[:middle], tally)
            yield from self._ask(part[middle:], tally)
            return
        tally.add(Tally(len(rows), absent=columns.absent, ignored=columns.ignored))
        yield first, answers


def _count(tally: Tally, number: int, error: ServingError | UserError) -> None:
    tally.bad += 1
    if len(tally.problems) < _NAMED:
        where = error.where or ""  # it names the column, too, where one is at fault
        tally.problems.append(f"{where if where.startswith('row ') else f'row {number}'}: {error.what}")
