"""What one and the same answer for every row would reach: less than that, and a model has learned nothing."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import apache_beam as beam
import numpy as np
import pyarrow as pa
from tfx.dsl.io import fileio

from components.evaluator.config import OF_A_CONSTANT
from components.evaluator.predictions import LABEL, WEIGHT
from components.moments import Moments

_FILE = "constant.json"


class WriteConstant(beam.PTransform):
    """Batches of labels to a file beside the evaluation: metric to its value for the best constant.

    That is the most frequent class or the mean, of the very rows that are evaluated.

    Args:
      task: binary, multiclass or regression; of others no metric has such a value.
      folder: of the evaluation.
    """

    def __init__(self, task: str, folder: str) -> None:
        super().__init__()
        self._task, self._path = task, f"{folder}/{_FILE}"

    def expand(self, batches: Any) -> Any:
        combine = _Numbers() if self._task == "regression" else _Classes()
        return (
            batches
            | beam.CombineGlobally(combine)
            | beam.Map(lambda found, path: _write(path, found), self._path)
        )


def constant(folder: str) -> dict[str, float]:
    """What `WriteConstant` has written there; nothing where no constant answers the task."""
    path = f"{folder}/{_FILE}"
    if not fileio.exists(path):
        return {}
    with fileio.open(path) as stream:
        return json.loads(stream.read())


def has_constant(task: str) -> bool:
    """Whether a constant can be held against a model of the task."""
    return bool(OF_A_CONSTANT.get(task))


def _write(path: str, found: dict[str, float]) -> None:
    with fileio.open(path, "w") as stream:
        stream.write(json.dumps(found))


def _columns(batch: pa.RecordBatch) -> tuple[np.ndarray, np.ndarray | None]:
    names = batch.schema.names
    label = batch.column(names.index(LABEL)).flatten().to_numpy(zero_copy_only=False)
    weight = batch.column(names.index(WEIGHT)).flatten().to_numpy() if WEIGHT in names else None
    return label, weight


class _Numbers(beam.CombineFn):
    def create_accumulator(self) -> Moments:
        return Moments()

    def add_input(self, found: Moments, batch: pa.RecordBatch) -> Moments:
        return found.plus(Moments.of(*_columns(batch)))

    def merge_accumulators(self, parts: Iterable[Moments]) -> Moments:
        total = Moments()
        for part in parts:
            total = total.plus(part)
        return total

    def extract_output(self, found: Moments) -> dict[str, float]:
        return {"rmse": found.deviation, "mse": found.deviation**2}


class _Classes(beam.CombineFn):
    """Class id to the weight of its rows; -1 is a class that the model does not know."""

    def create_accumulator(self) -> dict[int, float]:
        return {}

    def add_input(self, found: dict[int, float], batch: pa.RecordBatch) -> dict[int, float]:
        label, weight = _columns(batch)
        ids, places = np.unique(label.astype(np.int64), return_inverse=True)
        sums = np.bincount(places, weights=weight, minlength=len(ids))
        return self.merge_accumulators([found, dict(zip(ids.tolist(), sums.tolist()))])

    def merge_accumulators(self, parts: Iterable[dict[int, float]]) -> dict[int, float]:
        total: dict[int, float] = {}
        for part in parts:
            for number, weight in part.items():
                total[number] = total.get(number, 0.0) + weight
        return total

    def extract_output(self, found: dict[int, float]) -> dict[str, float]:
        known = max((weight for number, weight in found.items() if number >= 0), default=0.0)
        everything = sum(found.values())
        return {"accuracy": known / everything if everything else float("nan")}
