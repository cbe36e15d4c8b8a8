"""From the `data.split` section to the way in which rows are dealt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from components.errors import UserError, cut
from components.example_gen.split_config import SPLITS, SplitConfig
from components.example_gen.splits.dealers import ByColumn, ByContent, ByGroup, ByTime, Dealer
from components.example_gen.splits.lookahead import GroupLookahead, Lookahead, StrataLookahead, TimeLookahead
from components.example_gen.splits.time_keys import TIME_TYPES, time_key
from components.example_gen.survey import no_column
from components.label import MOST_CLASSES, LabelSpec, class_name

_SHOWN = 5
# What other people call the splits, to propose a mapping.
_ALIASES = {
    "train": ("train", "training", "fit"),
    "eval": ("eval", "evaluation", "val", "valid", "validation", "dev"),
    "test": ("test", "testing", "holdout"),
}
_NAMEABLE = ("text", "integer", "float", "boolean", "date", "datetime")
_A = {"date": "a date", "datetime": "a date and time", "integer": "a whole number", "float": "a number"}


@dataclass(frozen=True)
class ColumnFacts:
    """What is known of a column.

    Attributes:
      kind: its type.
      values: each distinct value with its count; None when there are too many to be names.
      several: whether a row may have several values.
    """

    kind: str
    values: Mapping[str, int] | None
    several: bool = False


def choose(
    config: SplitConfig,
    columns: Mapping[str, ColumnFacts],
    label: LabelSpec,
    splits: Sequence[str] = SPLITS,
) -> Dealer | Lookahead:
    """How to deal the rows, or a look at all rows that will tell.

    Args:
      config: the `data.split` section.
      columns: all columns of the data, excluded ones too.
      label: what is predicted.
      splits: those to deal to; the others have files of their own. Splits are numbered as they stand here.

    Raises:
      UserError: when the data has no such column, or it cannot be split by.
    """
    parts = tuple(config.parts[split] for split in splits)
    if len(splits) == 1:
        return _all_given(config, parts)
    if len(splits) < len(SPLITS) and (config.by == "column" or config.eval_from):
        raise UserError(
            f"{'a column' if config.by == 'column' else 'eval_from'} says which rows are {_others(splits)}, "
            "and so do the files",
            where="data.split",
            fix="leave data.split out, or give data.source as one source",
        )
    if config.column is not None:
        facts = _facts(config.column, columns, "data.split.column")
        if config.by == "column":
            return ByColumn(config.column, facts.kind, _mapping(config, facts))
        if config.by == "time":
            return _by_time(config, facts, parts)
    if config.stratify is None:
        return ByGroup(config.column, parts) if config.column else ByContent(parts)
    column = label.name if config.stratify == "label" else config.stratify
    strata = _strata(column, columns, label)
    kind = columns[column].kind
    if config.column:
        return GroupLookahead(config.column, column, kind, parts, strata)
    return StrataLookahead(column, kind, parts, len(strata))


def held_back(config: SplitConfig, types: Mapping[str, str]) -> dict[str, str]:
    """The column that rows are split by where it is no feature by itself, and why not.

    Args:
      types: of the columns that are written.
    """
    why = {
        "column": "it says which split a row is in",
        "group": "its values are not in two splits",
        "time": "it is greater in later splits than all that train has",
    }
    if config.column is None or config.column not in types:
        return {}
    # Of a date the month and the weekday are features, which come again.
    if config.by != "column" and types[config.column] in ("date", "datetime"):
        return {}
    return {config.column: why[config.by]}


def _all_given(config: SplitConfig, parts: Sequence[int]) -> Dealer:
    """Every split has files of its own, so there is nothing to deal."""
    if config.column or config.stratify:
        raise UserError(
            "every split has files of its own, so no row is dealt",
            where="data.split",
            fix="leave data.split out, or give data.source as one source",
        )
    return ByContent(parts)


def _facts(name: str, columns: Mapping[str, ColumnFacts], where: str) -> ColumnFacts:
    if name not in columns:
        raise no_column(name, list(columns), where)
    if columns[name].several:
        raise UserError(
            f"a row has several values of {name!r}", where=where, fix="name a column with one value a row"
        )
    if columns[name].kind not in _NAMEABLE:
        raise UserError(
            f"column {name!r} is {columns[name].kind}, which says nothing of the split", where=where
        )
    return columns[name]


def _mapping(config: SplitConfig, facts: ColumnFacts) -> dict[str, str]:
    """The split of each value; values that no split takes are an error."""
    where = f"data.split.column: {config.column}"
    if facts.values is None:
        raise UserError(
            f"the column has more than {MOST_CLASSES:,} distinct values, too many to say which split each is",
            where=where,
            fix="use by: group to keep rows with the same value together, or by: time to split by order",
        )
    found: dict[str, int] = {}
    for value, count in facts.values.items():
        name = _name(facts.kind, value)
        found[name] = found.get(name, 0) + count
    given = config.values.splits if config.values else {split: split for split in SPLITS}
    mapping = {_name(facts.kind, value): split for value, split in given.items()}
    unknown = sorted(set(found) - set(mapping))
    if unknown:
        shown = ", ".join(f"{cut(name)!r} ({_rows(found[name])})" for name in unknown[:_SHOWN])
        more = f" and {len(unknown) - _SHOWN} more" if len(unknown) > _SHOWN else ""
        raise UserError(
            f"no split takes the values {shown}{more}; expected {', '.join(map(repr, list(mapping)[:20]))}",
            where=where,
            fix=f"say where each value goes: values: {_proposal(found, mapping)}",
        )
    return mapping


def _rows(number: int) -> str:
    return f"{number:,} row{'' if number == 1 else 's'}"


def _name(kind: str, value: str) -> str:
    try:
        return class_name(kind, value.strip())
    except (ValueError, OverflowError):
        return value.strip()


def _proposal(found: Mapping[str, int], mapping: Mapping[str, str]) -> str:
    """A mapping of the values to splits as far as their names tell, for the user to complete."""
    takers: dict[str, list[str]] = {split: [] for split in SPLITS}
    for value in sorted(found):
        split = mapping.get(value) or next(
            (split for split, aliases in _ALIASES.items() if value.lower() in aliases), ""
        )
        if split:
            takers[split].append(cut(value))
    return "{" + ", ".join(f"{split}: [{', '.join(takers[split]) or '…'}]" for split in SPLITS) + "}"


def _others(splits: Sequence[str]) -> str:
    return " and ".join(split for split in SPLITS if split not in splits)


def _by_time(config: SplitConfig, facts: ColumnFacts, parts: Sequence[int]) -> Dealer | Lookahead:
    assert config.column is not None
    if facts.kind not in TIME_TYPES:
        raise UserError(
            f"the column is {facts.kind}; by: time needs a date, a datetime or a number",
            where=f"data.split.column: {config.column}",
            fix=f"name another column, or declare its type: data.columns: {{{config.column}: datetime}}",
        )
    if config.eval_from is None or config.test_from is None:
        return TimeLookahead(config.column, facts.kind, parts)
    bounds = []
    for option, text in (("eval_from", config.eval_from), ("test_from", config.test_from)):
        key = time_key(text, facts.kind)
        if key is None:
            example = "2024-01-31" if facts.kind in ("date", "datetime") else "2024"
            raise UserError(
                f"expected {_A[facts.kind]} as in column {config.column!r}, received {cut(text)!r}",
                where=f"data.split.{option}",
                fix=f"write it like {example}",
            )
        bounds.append(key)
    if bounds[0] >= bounds[1]:
        raise UserError(
            f"eval_from {config.eval_from} is not before test_from {config.test_from}, so eval gets no rows",
            where="data.split",
            fix="rows before eval_from train, rows from test_from on test; what is between is eval",
        )
    return ByTime(config.column, facts.kind, np.array(bounds, np.uint64))


def _strata(column: str, columns: Mapping[str, ColumnFacts], label: LabelSpec) -> list[str]:
    if column == label.name and label.task == "multilabel":
        raise UserError(
            f"the rows have any number of classes of {column!r}, so none is the one to deal them by",
            where="data.split.stratify",
            fix="leave stratify out, or name a column with one value a row",
        )
    if column == label.name and label.task == "regression":
        raise UserError(
            f"the label {column!r} is a number to be predicted and has no classes to stratify by",
            where="data.split.stratify",
            fix="leave stratify out, or name a column with few values",
        )
    facts = _facts(column, columns, "data.split.stratify")
    if facts.values is None:
        raise UserError(
            f"column {column!r} has more than {MOST_CLASSES:,} distinct values, too many to stratify by",
            where="data.split.stratify",
            fix="name a column with fewer values",
        )
    return sorted({_name(facts.kind, value) for value in facts.values})
