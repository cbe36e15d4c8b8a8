"""TFMA's results, by the names of the config."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import tensorflow_model_analysis as tfma

from components.errors import cut
from components.evaluator.config import METRICS
from components.evaluator.eval_config import OF_EACH_CLASS, ROWS, SHARE
from components.evaluator.predictions import Exported

_SHOWN = 5
# What of two classes compares the one with the other: without rows of both TFMA says 0 or 1.
_OF_BOTH = ("auc", "auc_pr")
# With fewer rows of a class, what is measured is mostly luck.
_FEW = 10


@dataclass(frozen=True)
class Measured:
    """What one model reached on all rows.

    Attributes:
      metrics: metric to its value; NaN when the rows cannot tell.
      of_classes: metric to its value for each class, of those that each class has for itself. Its value in
        `metrics` is their mean over the classes that the rows can tell of.
      rows: how many there are, whatever they weigh.
      rows_of_classes: of two classes, class to the number of its rows.
    """

    metrics: dict[str, float]
    of_classes: dict[str, dict[str, float]] = field(default_factory=dict)
    rows: int = 0
    rows_of_classes: dict[str, int] = field(default_factory=dict)

    @property
    def extent(self) -> str:
        """On how many rows this rests, and of which class there are hardly any."""
        few = [
            f", {f'only {number}' if number else 'none'} of class {cut(name)!r}"
            for name, number in self.rows_of_classes.items()
            if number < _FEW
        ]
        return f"{self.rows:,} rows{''.join(few)}"

    @property
    def unmeasured(self) -> str:
        """The end of a sentence about classes that the rows tell nothing of; empty when there are none."""
        names = sorted({name for each in self.of_classes.values() for name in each if math.isnan(each[name])})
        if not names:
            return ""
        shown = ", ".join(repr(cut(name)) for name in names[:_SHOWN])
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        return f"; {', '.join(self.of_classes)} without {shown}{more}, which no row or every row has"


def measured(folder: str, model: str, exported: Exported) -> Measured:
    """The overall metrics of one model.

    Args:
      folder: of the evaluation.
      model: its name there.
      exported: says what the task and the classes are.
    """
    task, classes = exported.about["task"], exported.about.get("classes", ())
    result = tfma.load_eval_result(folder, model_name=model)
    overall = next(found for key, found in result.slicing_metrics if key == ())[""]
    of_classes = {
        name: {label: _of_class(overall[f"classId:{i}"], name) for i, label in enumerate(classes)}
        for name in OF_EACH_CLASS.get(task, ())
    }
    metrics = {
        name: _mean(of_classes[name]) if name in of_classes else _value(overall[""][name])
        for name in METRICS[task]
    }
    rows, counts = round(_value(overall[""][ROWS])), {}
    if task == "binary":
        second = round(rows * _value(overall[""][SHARE]))
        counts = dict(zip(classes, (rows - second, second)))
        if 0 in counts.values():
            metrics.update(dict.fromkeys(_OF_BOTH, math.nan))
    return Measured(metrics, of_classes, rows, counts)


def _of_class(found: dict[str, Any], name: str) -> float:
    """A class that no row has, or every row, cannot be told from what it is not."""
    return _value(found[name]) if 0.0 < _value(found[SHARE]) < 1.0 else math.nan


def _value(found: dict[str, Any]) -> float:
    return float(found["doubleValue"])


def _mean(values: dict[str, float]) -> float:
    known = [value for value in values.values() if not math.isnan(value)]
    return sum(known) / len(known) if known else math.nan
