"""Transformed examples in files, as Transform writes them, and images among them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from components.label import LabelSpec
from components.records import ShardWriter, shard_name
from components.transform.config import NumericFeature
from components.transform.plan import FeaturePlan, ModelInput, PlannedFeature, RowWeight


def write_examples(folder: Path, columns: dict[str, np.ndarray], files: int = 3) -> list[str]:
    """The rows [n, length] of each column, dealt to so many files; their paths."""
    rows = len(next(iter(columns.values())))
    paths = []
    for i in range(files):
        path = str(folder / shard_name(i, files))
        writer = ShardWriter(path)
        writer.write([_example(columns, row).SerializeToString() for row in range(i, rows, files)])
        writer.close()
        paths.append(path)
    return paths


def _example(columns: dict[str, np.ndarray], row: int) -> tf.train.Example:
    example = tf.train.Example()
    for name, values in columns.items():
        kind = "int64_list" if values.dtype.kind in "iu" else "float_list"
        getattr(example.features.feature[name], kind).value.extend(values[row].ravel().tolist())
    return example


def plan_of(
    *inputs: ModelInput,
    task: Any = "binary",
    classes: tuple[str, ...] = ("no", "yes"),
    weight: RowWeight | None = None,
) -> FeaturePlan:
    """A plan with these model inputs, each of a column of its own."""
    return FeaturePlan(
        label=LabelSpec(name="y", type="integer", task=task, classes=() if task == "regression" else classes),
        label_input="y_xf",
        features=tuple(
            PlannedFeature(
                name=tensor.name.removesuffix("_xf"),
                type="float",
                config=NumericFeature(),
                why="declared",
                inputs=(tensor,),
            )
            for tensor in inputs
        ),
        types={tensor.name.removesuffix("_xf"): "float" for tensor in inputs},
        weight=weight,
    )
