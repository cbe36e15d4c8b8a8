"""What a person should know of how the rows were read, a sentence each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from components.example_gen.columns import ColumnScan, Misfits
from components.example_gen.config import DataConfig
from components.example_gen.patterns import INFERRED, test_of
from components.example_gen.readers import Piece, Reader
from components.example_gen.survey import Survey, places
from components.label import LabelSpec, Task

# Fewer other cells than this share are a stray that is worth naming, not another kind of column.
_STRAY_SHARE = 0.01
# With more distinct values than that, a few words among them hardly stand for values of the same kind.
_FEW_VALUES = 20
_NO_VALUE = re.compile(
    r"\W*|na|nil|none|null|nan|missing|unknown|unk|undefined|not available|tb[ad]|x+", re.I
)
# How columns that number the rows are called, pandas' index among them.
_ROW_NAME = re.compile(
    r"(.*[_\W])?(id|idx|index|key|no|nr|number|row|rowid|rownum|row_?number)"
    r"|unnamed: *0|(?-i:.*[a-z](Id|ID|No|Nr))",
    re.I,
)
_NEARLY = 0.9


def notes(
    survey: Survey, types: Mapping[str, str], config: DataConfig, reader: Reader, pieces: Sequence[Piece]
) -> list[str]:
    """All that the survey has to say; of the columns that are used."""
    said = [sentence(remark, count) for remark, count in survey.remarks.items()]
    if survey.skipped:
        said.append(f"skipped {survey.skipped:,} rows that cannot be read; see skipped_rows.jsonl")
    for name, scan in survey.columns.items():
        if name in config.exclude:
            continue
        if scan.unusable:
            said.append(f"column {name!r} is left out: a {scan.unusable} cannot be a feature")
        elif name in types:
            said.extend(_of_column(scan, types[name], config, reader, pieces))
    return said


def sentence(remark: str, count: int) -> str:
    """What a reader remarks, with how often."""
    return remark.replace("{n}", f"{count:,}")


def _of_column(
    scan: ColumnScan, kind: str, config: DataConfig, reader: Reader, pieces: Sequence[Piece]
) -> Iterator[str]:
    where = f"column {scan.name!r}"
    if scan.name in config.columns:
        misfits = scan.misfits.get(test_of(kind))
        if misfits and kind != "text":
            yield (
                f"{where}: {misfits.count:,} values that are not {kind} count as missing, the first "
                f"{misfits.first[0][2]!r} in {places(misfits, reader, pieces)[0]}"
            )
    elif kind == "text":
        stray = stray_cells(scan, reader, pieces)
        if stray:
            yield stray
    if scan.not_finite and kind in ("integer", "float", "boolean"):
        yield f"{where}: {scan.not_finite:,} cells say nan or inf and count as missing"
    if kind == "integer" and _ROW_NAME.fullmatch(scan.name) and scan.distinct_count > _NEARLY * scan.present:
        yield (
            f"{where} has another whole number in nearly every row and is taken for a quantity; if it only "
            f"names the row, leave it out: data.exclude: [{scan.name!r}]"
        )
    if scan.bytes and kind == "bytes":
        yield f"{where} holds bytes that are not text"
    if scan.padded and kind == "text" and scan.name not in reader.types:
        yield f"{where}: {scan.padded:,} texts begin or end with blanks, which they keep"
    for origin in scan.origins:
        yield f"{where}: {origin} is read as {kind}"


def stray_cells(scan: ColumnScan, reader: Reader, pieces: Sequence[Piece]) -> str | None:
    """A sentence when a few cells alone keep the column from a more useful type."""
    if scan.inferred != "text" or not scan.present or scan.bytes:
        return None
    if scan.too_long:
        misfits = scan.misfits["integer"]
        return (
            f"column {scan.name!r} is text because of {misfits.count:,} whole numbers beyond 64 bits, the "
            f"first {misfits.first[0][2]} in {places(misfits, reader, pieces)[0]}; declare it float to make "
            "numbers of all"
        )
    kind = min(INFERRED, key=lambda each: scan.misfits[each].count if each in scan.misfits else 0)
    misfits = scan.misfits[kind]
    if misfits.count * 2 >= scan.present:
        return None
    if misfits.count > max(1, _STRAY_SHARE * scan.present):
        return _words_among(scan, kind, misfits, places(misfits, reader, pieces)[0])
    return (
        f"column {scan.name!r} is text because of {misfits.count:,} of {scan.present:,} values, the first "
        f"{misfits.first[0][2]!r} in {places(misfits, reader, pieces)[0]}; without them it is {kind} (add "
        "such tokens to data.missing)"
    )


def _words_among(scan: ColumnScan, kind: str, misfits: Misfits, where: str) -> str | None:
    """A sentence when a word or two, again and again, keep the column from a more useful type."""
    texts = misfits.texts or {}
    mean_nothing = all(_NO_VALUE.fullmatch(text.strip()) for text in texts)
    if not texts or not (mean_nothing or scan.distinct_count > _FEW_VALUES):
        return None
    shown = " or ".join(repr(text) for text in texts)
    tokens = ", ".join(repr(text) for text in texts)
    return (
        f"column {scan.name!r} is text because {misfits.count:,} of {scan.present:,} values "
        f"({misfits.count / scan.present:.1%}) are {shown}, the first in {where}; without them it is {kind} "
        f"(if they mean a missing value, add {tokens} to data.missing)"
    )


def of_task(label: LabelSpec, declared: Task | None, values: Mapping[str, int] | None) -> list[str]:
    """What was taken for the task of a label of numbers, where the config leaves it open and others would do.

    Args:
      declared: the config's.
      values: the label's distinct values; None when they are too many for classes.
    """
    if declared or values is None or label.type not in ("integer", "float") or label.task == "binary":
        return []
    kind = "whole numbers" if label.type == "integer" else "numbers"
    if label.task == "regression":
        other = "task: multiclass if they are codes of classes"
        if label.type == "float" and len(values) > _FEW_VALUES:
            return []
    else:
        other = "task: regression if they are quantities"
    return [f"task {label.task}, inferred from {len(values)} distinct {kind} in {label.name!r}; set {other}"]
