"""What the exported transform makes of rows, and what Transform stored of the same rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf
import tensorflow_transform as tft

from components.records import read_serialized, split_files
from components.trainer import models
from components.trainer.config import ModelConfig
from components.trainer.export import export
from components.transform.on_the_fly import reader
from components.transform.plan import FeaturePlan

Features = dict[str, np.ndarray]


def untrained(made: dict[str, Any], folder: Any) -> Any:
    """A small model that has learned nothing, exported to `folder` with the transform inside, loaded.

    Args:
      made: the artifacts up to Transform.
    """
    plan = FeaturePlan.load(made["transform_graph"].uri)
    graph = tft.TFTransformOutput(made["transform_graph"].uri)
    export(models.build(plan, ModelConfig(hidden=(4,))), plan, graph, "untrained", str(folder))
    return tf.saved_model.load(str(folder))


def read(artifact: Any, split: str) -> np.ndarray:
    """All serialized rows of a split."""
    return np.concatenate([rows for file in split_files(artifact, split) for rows in read_serialized(file)])


def column(artifact: Any, name: str, split: str = "train") -> list[list[Any]]:
    """The values of each row, as the examples hold them."""
    cells = []
    for row in read(artifact, split).tolist():
        feature = tf.train.Example.FromString(row).features.feature[name]
        kind = feature.WhichOneof("kind")
        cells.append(list(getattr(feature, kind).value) if kind else [])
    return cells


def transform(exported: Any, **columns: list[Any]) -> Features:
    """The transformed features of rows, [rows, length].

    Args:
      exported: a loaded model.
      columns: a cell for each row; None is left out of it, a list holds several values.
    """
    rows = []
    for cells in zip(*columns.values(), strict=True):
        example = tf.train.Example()
        for name, cell in zip(columns, cells):
            for value in cell if isinstance(cell, list) else [] if cell is None else [cell]:
                feature = example.features.feature[name]
                if isinstance(value, str | bytes):
                    feature.bytes_list.value.append(value.encode() if isinstance(value, str) else value)
                elif isinstance(value, float):
                    feature.float_list.value.append(value)
                else:
                    feature.int64_list.value.append(value)
        rows.append(example.SerializeToString())
    return served(exported, rows)


def served(exported: Any, rows: Any) -> Features:
    """The transformed features of serialized rows."""
    answer = exported.signatures["transform_features"](examples=tf.constant(rows))
    return {name: tensor.numpy() for name, tensor in answer.items()}


def stored(made: dict[str, Any], split: str) -> Features:
    """What Transform wrote of a split."""
    spec = tft.TFTransformOutput(made["transform_graph"].uri).transformed_feature_spec()
    parsed = tf.io.parse_example(read(made["transformed_examples"], split), spec)
    return {name: tensor.numpy() for name, tensor in parsed.items()}


def on_the_fly(made: dict[str, Any], split: str, rows: int = 7) -> Features:
    """What an input pipeline makes of the raw rows of a split, so many at a time."""
    uri = made["transform_graph"].uri
    plan = FeaturePlan.load(uri).model_copy(update={"raw_graph": uri})
    spec = tft.TFTransformOutput(uri).transformed_feature_spec()
    batches = tf.data.Dataset.from_tensor_slices(read(made["examples"], split)).batch(rows)
    features = list(batches.map(reader(plan, spec), num_parallel_calls=2).as_numpy_iterator())
    return {name: np.concatenate([batch[name] for batch in features]) for name in features[0]}


def check_served_as_stored(made: dict[str, Any], exported: Any, split: str) -> None:
    """Bit for bit, as transformed on the fly, and nothing else than the plan says."""
    plan = FeaturePlan.load(made["transform_graph"].uri)
    written, answered = stored(made, split), served(exported, read(made["examples"], split))
    assert set(written) == {tensor.name for tensor in plan.inputs} | {plan.label_input}
    assert set(answered) == set(written)
    for name, values in on_the_fly(made, split).items():
        assert values.tobytes() == written[name].tobytes(), name
    for name, values in written.items():
        assert answered[name].tobytes() == values.tobytes(), name
        assert np.isfinite(values).all(), name
    for tensor in plan.inputs:
        values = written[tensor.name]
        assert (values.shape[1], values.dtype.name) == (tensor.length, tensor.dtype), tensor.name
        if tensor.size:
            assert 0 <= values.min() <= values.max() < tensor.size, tensor.name
