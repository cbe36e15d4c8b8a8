"""A look at every cell of the source: what its columns are, before anything is written."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from pydantic import TypeAdapter

from components.errors import UserError
from components.example_gen import arrow_types
from components.example_gen.columns import ColumnScan, Misfits
from components.example_gen.config import DataConfig
from components.example_gen.patterns import INFERRED, test_of
from components.example_gen.readers import Piece, Reader


@dataclass
class Survey:
    """What was seen of some rows.

    Attributes:
      rows: how many there are, without those that are skipped.
      remarks: what the reader says, with its counts.
    """

    rows: int = 0
    skipped: int = 0
    columns: dict[str, ColumnScan] = field(default_factory=dict)
    remarks: dict[str, int] = field(default_factory=dict)

    def to_json(self) -> str:
        return _ADAPTER.dump_json(self).decode()

    @classmethod
    def from_json(cls, text: str) -> Survey:
        return _ADAPTER.validate_json(text)

    def merge(self, other: Survey) -> None:
        """Takes in the survey of rows that follow these."""
        for name in {**self.columns, **other.columns}:
            if name not in self.columns:
                self.columns[name] = ColumnScan(name)
                self.columns[name].lacks(self.rows)
            if name in other.columns:
                self.columns[name].merge(other.columns[name])
            else:
                self.columns[name].lacks(other.rows)
        self.rows += other.rows
        self.skipped += other.skipped
        self.remarks = dict(Counter(self.remarks) + Counter(other.remarks))


_ADAPTER = TypeAdapter(Survey)


def infers(field: pa.Field, config: DataConfig, reader: Reader) -> tuple[str, ...]:
    """Which types the text cells of a column may be of; all of them: cells are read as in delimited text."""
    if field.metadata == arrow_types.MIXED or config.columns.get(field.name, "text") != "text":
        return INFERRED
    return reader.infers


def survey_piece(reader: Reader, piece: Piece, index: int, config: DataConfig) -> Survey:
    """Looks at one piece of the source.

    Args:
      index: of the piece among all.
    """
    missing = pa.array(list(config.missing), pa.string())
    total = Survey()
    for block in reader.blocks(piece):
        batch = arrow_types.flatten(block.batch)
        for name in total.columns.keys() - set(batch.schema.names):
            total.columns[name].lacks(len(block.rows))
        for field_, array in zip(batch.schema, batch.columns):
            name = field_.name
            if name not in total.columns:
                total.columns[name] = ColumnScan(name, declared=config.columns.get(name, ""))
                total.columns[name].lacks(total.rows)
            cells = arrow_types.plain(array)
            if cells is None:
                total.columns[name].unusable = str(array.type)
                total.columns[name].lacks(len(array))
            else:
                total.columns[name].see(cells, index, block.rows, infers(field_, config, reader), missing)
        total.rows += len(block.rows)
        total.skipped += len(block.skipped)
        total.remarks = dict(Counter(total.remarks) + Counter(block.remarks))
    return total


def merge_pieces(surveys: Sequence[Survey], pieces: Sequence[Piece], reader: Reader) -> Survey:
    """The survey of the whole source.

    Raises:
      UserError: when it has no rows, or pieces of a format whose files have the same columns do not.
    """
    total = Survey()
    for survey, piece in zip(surveys, pieces):
        first = total.columns
        if first and survey.columns and not reader.sparse and set(first) != set(survey.columns):
            raise _other_columns(list(first), list(survey.columns), pieces[0].path, piece.path)
        total.merge(survey)
    if not total.rows:
        what = f"all {total.skipped:,} rows are skipped" if total.skipped else "a header but no rows"
        raise UserError(
            what
            if total.skipped
            else f"the source has {what}"
            if total.columns
            else "the source has no rows",
            where=pieces[0].path if pieces else "data.source",
        )
    return total


def _other_columns(first: list[str], these: list[str], first_path: str, path: str) -> UserError:
    extra = [name for name in these if name not in first]
    lacking = [name for name in first if name not in these]
    parts = [
        f"{verb} {', '.join(map(repr, names[:5]))}{', …' if len(names) > 5 else ''}"
        for verb, names in (("also has", extra), ("lacks", lacking))
        if names
    ]
    return UserError(
        f"columns differ from those of {first_path}: it {' and '.join(parts)}",
        where=path,
        fix="give all files of a source the same columns",
    )


def column_types(
    survey: Survey, config: DataConfig, reader: Reader, pieces: Sequence[Piece]
) -> dict[str, str]:
    """Each column's type; declared types win.

    Raises:
      UserError: for a name in the config that no column has, and for cells that are not of their declared
        type unless data.on_bad_value says that they are missing.
    """
    for key, names in (("columns", config.columns), ("exclude", config.exclude)):
        for name in names:
            if name not in survey.columns:
                raise no_column(name, list(survey.columns), f"data.{key}")
    types = {}
    for name, scan in survey.columns.items():
        declared = config.columns.get(name)
        if scan.unusable:
            if declared:
                raise UserError(f"a {scan.unusable} cannot be a {declared}", where=f"data.columns.{name}")
            continue
        if declared == "image":
            _check_image(scan)
        elif declared and config.on_bad_value == "error":
            _check_declared(scan, declared, reader, pieces)
        numbers = {kind: place for kind, place in scan.kinds.items() if kind != "nothing"}
        if reader.one_type and len(numbers) > 1 and not declared and not numbers.keys() <= {"text", "bytes"}:
            raise _two_types(scan, numbers, reader, pieces)
        types[name] = declared or reader.types.get(name) or scan.inferred
    return types


def _check_declared(scan: ColumnScan, declared: str, reader: Reader, pieces: Sequence[Piece]) -> None:
    misfits = scan.misfits.get(test_of(declared))
    if misfits and declared != "text":
        raise UserError(
            f"column {scan.name!r}: {misfits.count:,} of {scan.present:,} values are not {declared}:"
            + examples(misfits, reader, pieces),
            where=places(misfits, reader, pieces)[0],
            fix=f"declare another type in data.columns.{scan.name}, add the tokens to data.missing, or let "
            "such values count as missing with data.on_bad_value: missing",
        )


def _check_image(scan: ColumnScan) -> None:
    odd = next((kind for kind in scan.kinds if kind not in ("text", "bytes", "nothing")), None)
    if odd or scan.longest > 1:
        raise UserError(
            f"{f'a {odd}' if odd else 'several values in a row'} cannot be an image; expected a path, or the "
            "bytes of an image file",
            where=f"data.columns.{scan.name}",
        )


def _two_types(
    scan: ColumnScan, kinds: dict[str, tuple[int, int]], reader: Reader, pieces: Sequence[Piece]
) -> UserError:
    shown = [
        f"{kind} in {reader.places(pieces[piece], [row])[0]}"
        for kind, (piece, row) in list(kinds.items())[:5]
    ]
    return UserError(
        f"feature {scan.name!r} is of two types: {', '.join(shown)}",
        where="data.source",
        fix=f"write it as one type, or declare it: data.columns: {{{scan.name}: float}}",
    )


def places(misfits: Misfits, reader: Reader, pieces: Sequence[Piece]) -> list[str]:
    """Where the first misfits stand."""
    found = []
    for piece in dict.fromkeys(each[0] for each in misfits.first):
        found.extend(reader.places(pieces[piece], [row for at, row, _ in misfits.first if at == piece]))
    return found


def examples(misfits: Misfits, reader: Reader, pieces: Sequence[Piece]) -> str:
    """The first misfits with their places, a line each, and how many more there are."""
    lines = [
        f"\n    {place}: {text!r}"
        for place, (_, _, text) in zip(places(misfits, reader, pieces), misfits.first)
    ]
    more = misfits.count - len(lines)
    return "".join(lines) + (f"\n    and {more:,} more" if more > 0 else "")


def no_column(name: str, known: list[str], where: str) -> UserError:
    """The error for a name that no column has."""
    near = difflib.get_close_matches(name, known, n=1)
    return UserError(
        f"the data has no column {name!r}" + (f", did you mean {near[0]!r}?" if near else ""),
        where=where,
        fix=f"name one of its columns: {', '.join(known[:20])}{', …' if len(known) > 20 else ''}",
    )
