"""Predictions of exported models over serialized examples, in large batches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import apache_beam as beam
import numpy as np
import pyarrow as pa
from apache_beam.utils import shared

from components import manifest
from components.records import read_serialized

LABEL = "headrace_label"
WEIGHT = "headrace_weight"
_BATCH_ROWS = 4096
# As Keras does it.
_LEAST = np.float32(1e-7)


class Exported:
    """An exported model with its description.

    Attributes:
      path: the SavedModel's folder.
      about: what assets.extra/headrace.json says.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.about = manifest.read(path)

    @property
    def question(self) -> tuple[str, str, tuple[str, ...]]:
        """What the model answers: two models can be compared when it is the same."""
        return self.about["task"], self.about["label"], tuple(self.about.get("classes", ()))


class _Loaded:
    """A loaded SavedModel, in a class of its own since Beam's shared handle needs a weak reference."""

    def __init__(self, path: str) -> None:
        import tensorflow as tf

        self.model = tf.saved_model.load(path)
        self.signatures = self.model.signatures


class Predict(beam.DoFn):
    """Files of examples to record batches: slice columns, the label and each model's prediction.

    Of task multilabel, label and prediction are lists of one value a class.

    Args:
      models: name of the prediction's column to the SavedModel's folder; the first says what the labels are.
      known: column to the transformed feature that is put there: the label, and the weight if there is one.
      slices: raw columns to keep.
    """

    def __init__(self, models: dict[str, str], task: str, known: dict[str, str], slices: list[str]) -> None:
        self._models, self._task, self._known, self._slices = models, task, known, slices
        self._handles = {name: shared.Shared() for name in models}

    def setup(self) -> None:
        from tfx_bsl.coders import example_coder

        self._loaded = {
            name: self._handles[name].acquire(lambda path=path: _Loaded(path))
            for name, path in self._models.items()
        }
        self._decoder = example_coder.ExamplesToRecordBatchDecoder(serialized_schema=None)

    def process(self, path: str) -> Iterator[pa.RecordBatch]:
        import tensorflow as tf

        first = next(iter(self._loaded.values()))
        for serialized in read_serialized(path, _BATCH_ROWS):
            examples = tf.constant(serialized)
            features = first.signatures["transform_features"](examples=examples)
            columns = {
                column: _lists(features[name].numpy().reshape(len(serialized), -1))
                for column, name in self._known.items()
            }
            for name, loaded in self._loaded.items():
                columns[name] = _lists(self._scores(loaded.signatures["serving_default"](examples=examples)))
            if self._slices:
                decoded = self._decoder.DecodeBatch(serialized.tolist())
                for name in set(self._slices) & set(decoded.schema.names):
                    columns[name] = decoded.column(decoded.schema.get_field_index(name))
            yield pa.RecordBatch.from_arrays(list(columns.values()), list(columns))

    def _scores(self, outputs: dict[str, Any]) -> np.ndarray:
        """What TFMA calls the prediction: the positive class's probability, all of them, or the number."""
        if self._task == "regression":
            return outputs["predictions"].numpy().reshape(-1, 1)
        probabilities = outputs["probabilities"].numpy()
        if self._task == "multiclass":
            return probabilities
        # TFMA takes the logarithm of a yes and of a no as they are: of 0 and 1 the loss would be no number.
        probabilities = np.clip(probabilities, _LEAST, 1 - _LEAST)
        return probabilities[:, 1:] if self._task == "binary" else probabilities


def _lists(matrix: np.ndarray) -> pa.Array:
    offsets = np.arange(0, matrix.size + 1, matrix.shape[1], dtype=np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(matrix.ravel()))
