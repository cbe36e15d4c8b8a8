"""What changed since the data that passed before: columns, types, the label, and columns that ran dry."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, ConfigDict
from tfx.dsl.io import fileio

from components.example_gen.found import Found
from components.example_validator.findings import BEFORE, Finding
from components.example_validator.schema_checks import pb, received_type
from components.label import LabelSpec
from components.schema_gen.difference import listed

_Type = pb.AnomalyInfo
_FILE = "checked.json"
# A column ran dry, or became another type, when this many of its values were to be expected.
_EXPECTED = 10
# Fewer rows than this part of what there was is worth a word.
_FEW = 0.1
_ALIKE = 0.6


class Checked(BaseModel):
    """What the columns were when data was checked; kept as checked.json in the ExampleAnomalies artifact.

    Attributes:
      label: the label.
      types: each column's type.
      lists: the columns of which a row may have several values.
      rows: rows of train.
      present: how many of them have a value in each column.
      excluded: columns that were read, but not kept.
      derived, declared: what the config said of columns: a change of mind is no change of the data.
    """

    model_config = ConfigDict(frozen=True)

    label: LabelSpec
    types: dict[str, str]
    lists: tuple[str, ...] = ()
    rows: int
    present: dict[str, int]
    excluded: tuple[str, ...] = ()
    derived: tuple[str, ...] = ()
    declared: dict[str, str] = {}

    @classmethod
    def of(cls, found: Found, data: dict[str, Any]) -> Checked:
        """From what ingest found and the `data` section."""
        return cls(
            label=found.label,
            types=found.types,
            lists=found.lists,
            rows=found.rows.get("train", 0),
            present=found.present,
            excluded=found.excluded,
            derived=tuple(data["derive"]),
            declared=data["columns"],
        )

    def save(self, uri: str) -> None:
        with fileio.open(f"{uri}/{_FILE}", "w") as stream:
            stream.write(self.model_dump_json(indent=1))

    @classmethod
    def load(cls, uri: str) -> Checked | None:
        """From an ExampleAnomalies artifact; None when its files are gone."""
        if not fileio.exists(f"{uri}/{_FILE}"):
            return None
        with fileio.open(f"{uri}/{_FILE}") as stream:
            return cls.model_validate_json(stream.read())

    def expected(self, column: str, rows: int) -> float:
        """How many values of a column are to be expected among so many rows."""
        return self.present.get(column, 0) * rows / self.rows if self.rows else 0.0


def column_changes(before: Checked, now: Checked, seen: dict[str, Any]) -> Iterator[Finding]:
    """Columns that are gone, new, or of another type.

    Args:
      seen: column to TFDV's statistics of train.
    """
    meant = {before.label.name, now.label.name, *before.derived, *now.derived}
    gone = [name for name in before.types if name not in (*now.types, *now.excluded, *meant)]
    new = [name for name in now.types if name not in (*before.types, *before.excluded, *meant)]
    for name in gone:
        expected = f"a column of type {before.types[name]}"
        received = f"no such column{_renamed(name, new, before, now)}"
        yield Finding("missing_column", name, BEFORE, expected, received, reason=_Type.SCHEMA_MISSING_COLUMN)
    for name in new:
        received = f"one of type {received_type(now.types[name], seen.get(name))}"
        expected = "no such column"
        yield Finding("extra_column", name, BEFORE, expected, received, reason=_Type.SCHEMA_NEW_COLUMN)
    for name, was in before.types.items():
        kind = now.types.get(name)
        if kind is None or name == before.label.name or before.declared.get(name) != now.declared.get(name):
            continue
        # Too few values to tell a type by: a column that is empty is text.
        if min(before.present.get(name, 0), now.present.get(name, 0)) < _EXPECTED:
            continue
        if kind != was:
            expected, received = was, received_type(kind, seen.get(name))
        elif (name in before.lists) != (name in now.lists):
            one, many = f"one {kind} a row", f"several values of type {kind} a row"
            expected, received = (many, one) if name in before.lists else (one, many)
        else:
            continue
        yield Finding("type_change", name, BEFORE, expected, received, reason=_Type.UNEXPECTED_DATA_TYPE)


def row_changes(before: Checked, now: Checked) -> Iterator[Finding]:
    """Columns without values any more, far fewer rows."""
    for name in before.types:
        if name in now.types and not now.present.get(name, 0):
            wanted = before.expected(name, now.rows)
            if wanted >= _EXPECTED:
                yield Finding(
                    "empty",
                    name,
                    BEFORE,
                    f"about {wanted:,.0f} values in train",
                    "none",
                    reason=_Type.FEATURE_TYPE_NOT_PRESENT,
                )
    if now.rows < before.rows * _FEW:
        yield Finding(
            "other",
            "",
            BEFORE,
            f"about {before.rows:,} rows in train, as in {BEFORE}",
            f"{now.rows:,}",
            reason=_Type.COMPARATOR_LOW_NUM_EXAMPLES,
        )


def label_changes(before: LabelSpec, now: LabelSpec) -> Iterator[Finding]:
    """A label of another type or with other classes."""
    # Another label altogether is what the config says.
    if before.name != now.name:
        return
    expected, received = "", ""
    if before.type != now.type:
        expected, received = before.type, now.type
    elif (before.classes or now.classes) and before.classes != now.classes:
        new = [name for name in now.classes if name not in before.classes]
        gone = [name for name in before.classes if name not in now.classes]
        kinds = [f"new {listed(new)}"] * bool(new) + [f"no {listed(gone)}"] * bool(gone)
        expected = f"the classes {listed(before.classes)}"
        received = "; ".join(kinds) or f"the classes {listed(now.classes)}"
    if expected:
        yield Finding(
            "label", now.name, BEFORE, expected, received, reason=_Type.ENUM_TYPE_UNEXPECTED_STRING_VALUES
        )


def _renamed(name: str, new: list[str], before: Checked, now: Checked) -> str:
    """A hint when one of the new columns may be the old one by another name."""
    same = [each for each in new if now.types[each] == before.types[name]]
    near = difflib.get_close_matches(name, same, n=1, cutoff=_ALIKE)
    found = near[0] if near else same[0] if len(same) == 1 else None
    return f" ({found!r} is new, of the same type: was it renamed?)" if found else ""
