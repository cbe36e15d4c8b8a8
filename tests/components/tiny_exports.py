"""Exported models whose predictions are known: they answer what the examples hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from executors import artifact

from components.records import ShardWriter

CLASSES = {
    "binary": ["no", "yes"],
    "multiclass": ["a", "b", "c"],
    "multilabel": ["a", "b", "c"],
    "regression": [],
}


def save_export(folder: Path, task: str, *, shift: float = 0.0, width: int = 3, **about: Any) -> Any:
    """A Model artifact that answers column `x` plus `shift`: a probability, several, or a number."""
    import tensorflow as tf

    model = artifact("Model", folder, number=about.pop("number", 1))
    spec = {
        "x": tf.io.FixedLenFeature([width if task in ("multiclass", "multilabel") else 1], tf.float32),
        "y": tf.io.FixedLenFeature(
            [width if task == "multilabel" else 1], tf.float32 if task == "regression" else tf.int64
        ),
    }

    def answer(examples):
        x = tf.io.parse_example(examples, spec)["x"] + shift
        if task == "regression":
            return {"predictions": tf.reshape(x, [-1])}
        return {"probabilities": tf.concat([1 - x, x], 1) if task == "binary" else x}

    module = tf.Module()
    rows = tf.TensorSpec([None], tf.string, name="examples")
    module.answer = tf.function(answer, [rows])
    module.transform = tf.function(
        lambda examples: {"y_xf": tf.io.parse_example(examples, spec)["y"]}, [rows]
    )
    path = Path(model.uri) / "Format-Serving"
    tf.saved_model.save(
        module, str(path), {"serving_default": module.answer, "transform_features": module.transform}
    )
    (path / "assets.extra").mkdir()
    described = {"task": task, "label": "y", "label_input": "y_xf", "classes": CLASSES[task]}
    described["features"] = {"x": "float"}
    (path / "assets.extra" / "headrace.json").write_text(json.dumps({**described, **about}))
    return model


def save_examples(folder: Path, x: np.ndarray, y: np.ndarray, groups: list[str], files: int = 2) -> Any:
    """An Examples artifact whose test split holds these rows in so many files."""
    import tensorflow as tf

    examples = artifact("Examples", folder, ["train", "eval", "test"])
    for number, part in enumerate(np.array_split(np.arange(len(y)), files)):
        records = []
        for row in part:
            example = tf.train.Example()
            feature = example.features.feature
            feature["x"].float_list.value.extend(np.ravel(x[row]).tolist())
            if y.dtype.kind == "f":
                feature["y"].float_list.value.append(y[row])
            else:
                feature["y"].int64_list.value.extend(np.ravel(y[row]))
            feature["group"].bytes_list.value.append(groups[row].encode())
            records.append(example.SerializeToString())
        writer = ShardWriter(f"{examples.uri}/Split-test/data_tfrecord-{number:05d}-of-{files:05d}.gz")
        writer.write(records)
        writer.close()
    return examples


def save_schema(folder: Path, label_is_float: bool) -> Any:
    """The Schema artifact of those rows."""
    schema = artifact("Schema", folder)
    kinds = {"x": "FLOAT", "y": "FLOAT" if label_is_float else "INT", "group": "BYTES"}
    text = "".join(f'feature {{ name: "{name}" type: {kind} }}\n' for name, kind in kinds.items())
    (folder / "schema.pbtxt").write_text(text)
    return schema
