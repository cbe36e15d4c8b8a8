"""Rows to the tensors of `serving_raw`, and its outputs to predictions.

Shared by the REST client and by predictions in this process, so that both read a row alike.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from serving.errors import ServingError, cut, some
from serving.names import input_name

Row = Mapping[str, Any]

MISSING_INTEGER = -(2**63)
_MISSING: dict[str, Any] = {"DT_STRING": "", "DT_FLOAT": math.nan, "DT_INT64": MISSING_INTEGER}
_EXPECTED = {"DT_STRING": "text", "DT_FLOAT": "a number (float32)", "DT_INT64": "a whole number (int64)"}
LIST = "[]"  # at the end of the type of an input that takes several values a row
_WORDS = {"true": 1, "yes": 1, "false": 0, "no": 0}  # as in the data that was trained on
_FLOAT32_MAX = 3.4028234663852886e38


@dataclass
class Columns:
    """Rows turned into one list of values an input; of an input of lists, into lists of the same length.

    `absent` are inputs that no row had, `ignored` are columns of the rows that the model does not know.
    """

    values: dict[str, list[Any]]
    absent: set[str] = field(default_factory=set)
    ignored: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class Prediction:
    """One row's answer: a class, or those that the row has, with the probability of each; or a number.

    A number may come with its quantiles, in order.
    """

    predicted_class: str | None = None
    probabilities: Mapping[str, float] = field(default_factory=dict)
    prediction: float | None = None
    predicted_classes: tuple[str, ...] | None = None
    quantiles: tuple[float, ...] = ()

    @property
    def probability(self) -> float:
        """The predicted class's probability."""
        return self.probabilities.get(self.predicted_class or "", math.nan)

    def to_json(self) -> dict[str, Any]:
        if self.predicted_classes is not None:
            return {
                "predicted_classes": list(self.predicted_classes),
                "probabilities": dict(self.probabilities),
            }
        if self.predicted_class is None:
            quantiles = {"quantiles": list(self.quantiles)} if self.quantiles else {}
            return {"prediction": self.prediction, **quantiles}
        return {"predicted_class": self.predicted_class, "probabilities": dict(self.probabilities)}


def input_type(dtype: str, rank: int) -> str:
    """An input's type as `to_columns` takes it: `DT_STRING`, or `DT_STRING[]` for [n, most]."""
    return dtype + LIST if rank == 2 else dtype


def to_columns(rows: Sequence[Row], inputs: Mapping[str, str], first: int = 1, source: str = "") -> Columns:
    """The tensors' values for some rows.

    Args:
      rows: raw column to value; a cell may be text, which is cast. Empty or absent cells become the
        input's missing marker, and so does what a list lacks to the longest one.
      inputs: input of `serving_raw` to its type (`DT_STRING`, `DT_FLOAT`, `DT_INT64`; `DT_STRING[]` takes a
        list).
      first: the number of the first row, for messages.
      source: where the rows come from, for messages.
    """
    for known, dtype in inputs.items():
        if dtype.removesuffix(LIST) not in _MISSING:
            raise ServingError(
                f"input {known!r} of the model has type {dtype}; expected {', '.join(_MISSING)}",
                fix="serve a model that this version of headrace has exported",
            )
    target: dict[str, str | None] = {}
    columns: dict[str, list[Any]] = {
        name: [[] if dtype.endswith(LIST) else _MISSING[dtype]] * len(rows) for name, dtype in inputs.items()
    }
    for index, row in enumerate(rows):
        for column, value in row.items():
            if column not in target:
                target[column] = next((n for n in (column, input_name(column)) if n in inputs), None)
            name = target[column]
            if name is None or value is None:
                continue
            try:
                columns[name][index] = _cell(value, inputs[name])
            except (ValueError, OverflowError) as error:
                place = f"row {first + index}, column {column!r}"
                raise ServingError(
                    f"{cut(repr(value))} is not {_expected(inputs[name])}",
                    f"{source}: {place}" if source else place,
                    "mend the value, or leave the cell empty",
                ) from error
    for name, dtype in inputs.items():
        if dtype.endswith(LIST):
            columns[name] = _same_length(columns[name], _MISSING[dtype.removesuffix(LIST)])
    present = {name for name in target.values() if name}
    ignored = {column for column, name in target.items() if name is None}
    return Columns(columns, set(inputs) - present, ignored)


def check_known(columns: Columns, source: str = "") -> None:
    """Refuses rows of which no column is one of the model: another table, or another delimiter.

    Their answers would be those for a row without any value.
    """
    if columns.ignored and columns.absent == columns.values.keys():
        received, expected = (some(names) for names in (columns.ignored, columns.absent))
        raise ServingError(
            f"no column is one that the model takes: received {received}; expected {expected}",
            source,
            "name the columns as in the data that was trained on; CSV has commas between them",
        )


def to_predictions(outputs: Mapping[str, Iterable[Any]]) -> list[Prediction]:
    """The outputs of `serving_raw`, one list an output, as one prediction a row."""
    if {"probabilities", "classes", "predicted_class"} <= outputs.keys():
        return [
            Prediction(predicted, dict(zip(classes, map(float, probabilities), strict=True)))
            for predicted, classes, probabilities in zip(
                outputs["predicted_class"], outputs["classes"], outputs["probabilities"], strict=True
            )
        ]
    if {"probabilities", "classes", "predicted"} <= outputs.keys():
        return [
            Prediction(
                predicted_classes=tuple(name for name, has in zip(classes, predicted, strict=True) if has),
                probabilities=dict(zip(classes, map(float, probabilities), strict=True)),
            )
            for predicted, classes, probabilities in zip(
                outputs["predicted"], outputs["classes"], outputs["probabilities"], strict=True
            )
        ]
    if "predictions" in outputs:
        numbers = [float(value) for value in outputs["predictions"]]
        quantiles = [tuple(map(float, row)) for row in outputs.get("quantiles", ())] or [()] * len(numbers)
        return [
            Prediction(prediction=number, quantiles=row)
            for number, row in zip(numbers, quantiles, strict=True)
        ]
    raise ServingError(
        f"the model answers with {', '.join(sorted(outputs)) or 'nothing'}; expected probabilities, classes "
        "and predicted_class or predicted, or predictions",
        fix="serve a model that headrace has exported",
    )


def _expected(dtype: str) -> str:
    one = _EXPECTED[dtype.removesuffix(LIST)]
    return f"{one}, or a list of such" if dtype.endswith(LIST) else one


def _cell(value: Any, dtype: str) -> Any:
    """A cell as its input takes it; raises ValueError when it cannot be."""
    if not dtype.endswith(LIST):
        return _cast(value, dtype)
    values = value if isinstance(value, list) else [value]
    return [_cast(one, dtype.removesuffix(LIST)) for one in values if one is not None]


def _same_length(lists: list[list[Any]], missing: Any) -> list[list[Any]]:
    most = max(1, *map(len, lists)) if lists else 1
    return [values + [missing] * (most - len(values)) for values in lists]


def _cast(value: Any, dtype: str) -> Any:
    """A cell in the input's type; raises ValueError when it cannot be."""
    if dtype == "DT_STRING":
        return _as_text(value)
    if isinstance(value, str):
        value = value.strip()
        if not value:
            return _MISSING[dtype]
    elif not isinstance(value, (bool, int, float)):
        raise ValueError
    return _as_float(value) if dtype == "DT_FLOAT" else _as_integer(value)


def _as_text(value: Any) -> Any:
    if isinstance(value, dict) and isinstance(value.get("b64"), str) and len(value) == 1:
        return value  # bytes, such as those of an image, as the REST API takes them
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (str, int, float)):
        return str(value)
    raise ValueError


def _as_float(value: str | float) -> float:
    if isinstance(value, str) and ("_" in value or not value.isascii()):
        raise ValueError  # Python reads 1_000
    number = float(value)
    if math.isfinite(number) and abs(number) > _FLOAT32_MAX:
        raise ValueError
    return number


def _as_integer(value: str | float) -> int:
    if isinstance(value, str):
        if value.lower() in _WORDS:
            return _WORDS[value.lower()]
        number = int(value) if re.fullmatch(r"[+-]?[0-9]{1,19}", value) else _whole(_as_float(value))
    else:
        number = value if isinstance(value, int) else _whole(value)
    if not -(2**63) <= number < 2**63:
        raise ValueError
    return int(number)


def _whole(number: float) -> int:
    if not number.is_integer():
        raise ValueError
    return int(number)
