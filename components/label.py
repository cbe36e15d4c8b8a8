"""What is predicted: the label's task and classes, found in the data."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from components.errors import UserError, cut

Task = Literal["binary", "multiclass", "multilabel", "regression"]

# An integer label with more distinct values than this is a quantity unless `task` says otherwise.
_MOST_INTEGER_CLASSES = 20
# More distinct values than this are no classes: a name, an id, free text.
MOST_CLASSES = 1000
TRUE_WORDS = ("true", "yes")


class LabelSpec(BaseModel):
    """The label as found.

    Attributes:
      name: the label's column.
      type: the column's type.
      task: what kind of prediction it asks for.
      classes: class names in the order of their ids; empty for regression. Of two classes the
        second is the positive one. A row of task multilabel has none, one or several of them.
      mean: of a label that is a number, over train; Trainer finds it, and what follows.
      spread: its standard deviation; the model answers in these, from the mean.
      quantiles: those of the number that the model answers with; empty: one number.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    type: str
    task: Task
    classes: tuple[str, ...] = ()
    mean: float = 0.0
    spread: float = 1.0
    quantiles: tuple[float, ...] = ()

    @property
    def width(self) -> int:
        """Values of a row's label once it is transformed: one a class for multilabel, else one."""
        return len(self.classes) if self.task == "multilabel" else 1


def find_label(
    name: str,
    column_type: str,
    values: dict[str, int] | None,
    task: Task | None,
    *,
    lists: bool = False,
    several: bool = False,
) -> LabelSpec:
    """Works out task and classes.

    Args:
      name: the label's column.
      column_type: integer, float, boolean, date, datetime or text.
      values: each distinct value with its count, or None when there are more than MOST_CLASSES.
      task: what the config says; None: infer it.
      lists: whether its cells are lists.
      several: whether some row has several values.

    Raises:
      UserError: when the label has one value only, or does not fit the task.
    """
    where = f"label {name!r}"
    if task == "multilabel" or (several and task is None):
        return _find_labels(name, column_type, values, lists)
    if several:
        raise UserError(
            f"task {task} takes one value a row, here some rows have several",
            where=where,
            fix="set task: multilabel or leave task out, or choose another label",
        )
    if values is not None:
        values = _canonical(column_type, values)
    if values is not None and len(values) < 2:
        only = f"only one value, {cut(next(iter(values)))!r}" if values else "no value at all"
        raise UserError(
            f"the column has {only}; nothing can be learned", where=where, fix="choose another label column"
        )
    found = task or _infer(column_type, values)
    if found == "regression":
        if column_type not in ("integer", "float"):
            raise UserError(
                f"task regression needs a number, the column is {column_type}",
                where=where,
                fix="set task: binary or multiclass, or choose another label",
            )
        return LabelSpec(name=name, type=column_type, task=found)
    if column_type in ("date", "datetime"):
        raise UserError(
            f"a {column_type} cannot be predicted as a class", where=where, fix="choose another label"
        )
    if values is None:
        raise UserError(
            f"more than {MOST_CLASSES} distinct values are no classes",
            where=where,
            fix="choose another label"
            + (", or set task: regression" if column_type in ("integer", "float") else ""),
        )
    if found == "binary" and len(values) != 2:
        shown = ", ".join(cut(value) for value in sorted(values)[:5])
        raise UserError(
            f"task binary needs 2 classes, the column has {len(values)}: {shown}",
            where=where,
            fix="set task: multiclass or regression, or leave task out",
        )
    key = float if column_type in ("integer", "float") else str
    return LabelSpec(name=name, type=column_type, task=found, classes=tuple(sorted(values, key=key)))


def _find_labels(name: str, column_type: str, values: dict[str, int] | None, lists: bool) -> LabelSpec:
    """The classes of rows that have any number of them."""
    where = f"label {name!r}"
    if not lists:
        raise UserError(
            f"task multilabel needs a list of classes in every row, the column has one {column_type}",
            where=where,
            fix='write lists, such as ["a", "b"] in JSON Lines, Parquet or Avro; of CSV say what parts the '
            f"classes of a cell: data.separate: {{{name}: '|'}}; or set task: multiclass",
        )
    if values is None and column_type in ("text", "integer"):
        raise UserError(
            f"more than {MOST_CLASSES} distinct values are no classes",
            where=where,
            fix="choose another label",
        )
    if column_type not in ("text", "integer"):
        raise UserError(
            f"the classes of a row are texts or integers, the lists hold values of type {column_type}",
            where=where,
            fix=f"declare them as text, data.columns: {{{name}: text}}, or choose another label",
        )
    classes = _canonical(column_type, values or {})
    if not classes:
        raise UserError("no row has a class", where=where, fix="choose another label column")
    key = int if column_type == "integer" else str
    return LabelSpec(name=name, type=column_type, task="multilabel", classes=tuple(sorted(classes, key=key)))


def class_name(column_type: str, value: object) -> str:
    """The class that a value belongs to: 1 and +1 are one class, so are Yes and true."""
    if column_type == "integer":
        return str(int(str(value)))
    if column_type == "float":
        return str(float(str(value)))
    if column_type == "boolean":
        return "true" if str(value).lower() in (*TRUE_WORDS, "1") else "false"
    return str(value)


def _canonical(column_type: str, values: dict[str, int]) -> dict[str, int]:
    merged: dict[str, int] = {}
    for value, count in values.items():
        name = class_name(column_type, value)
        merged[name] = merged.get(name, 0) + count
    return merged


def _infer(column_type: str, values: dict[str, int] | None) -> Task:
    if values is not None and len(values) == 2:
        return "binary"
    if column_type == "float":
        return "regression"
    if column_type == "integer":
        few = values is not None and len(values) <= _MOST_INTEGER_CLASSES
        return "multiclass" if few else "regression"
    return "multiclass"
