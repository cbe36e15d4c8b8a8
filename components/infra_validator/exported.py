"""The export loaded here: what it answers by itself, which a server's answers are held against."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from components import manifest
from components.infra_validator.failed import Failed, Refused
from components.served_names import input_names

DEFAULT, RAW, TRANSFORM = "serving_default", "serving_raw", "transform_features"
_NEAR = 1e-5  # a batch of another size may round the last digits otherwise

Answers = dict[str, np.ndarray]


class Exported:
    """An exported model in this process.

    Args:
      folder: its SavedModel.

    Attributes:
      name: of the model.
      inputs: raw column to the name of its input of serving_raw.
      signatures: name to the function.

    Raises:
      Failed: it cannot be loaded, or lacks a signature.
    """

    def __init__(self, folder: str) -> None:
        import tensorflow as tf

        try:
            self._loaded = tf.saved_model.load(folder)  # kept: signatures do not keep their variables
            about = manifest.read(folder)
            columns = list(about["features"])
        except Exception as error:
            raise Failed(f"the model cannot be loaded: {error}") from error
        self.name: str = about.get("name") or "model"
        self.inputs = input_names(columns)
        self.signatures: dict[str, Any] = dict(self._loaded.signatures)
        for wanted in (DEFAULT, RAW):
            if wanted not in self.signatures:
                raise Failed(f"the model has no signature {wanted}; it has {', '.join(self.signatures)}")

    @property
    def raw_types(self) -> dict[str, Any]:
        """Input of serving_raw to its TensorFlow type."""
        specs = self.signatures[RAW].structured_input_signature[1]
        return {name: specs[name].dtype for name in self.inputs.values()}

    @property
    def lists(self) -> set[str]:
        """The inputs of serving_raw that take several values a row."""
        specs = self.signatures[RAW].structured_input_signature[1]
        return {name for name in self.inputs.values() if specs[name].shape.rank == 2}

    def answer(self, signature: str, serialized: Sequence[bytes]) -> Answers:
        """The answers of a signature that takes tf.Examples, one row of each output for each example.

        Raises:
          Refused: it does not answer these.
          Failed: its answers are none.
        """
        import tensorflow as tf

        try:
            outputs = self.signatures[signature](examples=tf.constant(list(serialized), tf.string))
        except Exception as error:
            raise Refused(f"signature {signature} failed: {error}") from error
        answers = {name: value.numpy() for name, value in outputs.items()}
        for name, value in answers.items():
            if value.shape[:1] != (len(serialized),):
                raise Failed(f"{signature}: {name} has {(*value.shape, 0)[0]} rows for {len(serialized)}")
            if signature != TRANSFORM and value.dtype.kind == "f" and not np.isfinite(value).all():
                raise Failed(f"{signature}: {name} holds a value that is not finite")
        return answers


def difference(expected: Answers, received: Answers) -> str:
    """What two answers for the same rows differ in, with the first such row; "" when they agree."""
    if expected.keys() != received.keys():
        return f"outputs {', '.join(sorted(received))} instead of {', '.join(sorted(expected))}"
    undecided = _undecided(expected)
    for name, left in expected.items():
        right = received[name]
        if left.shape != right.shape:
            return f"{name} of shape {list(right.shape)} instead of {list(left.shape)}"
        if left.dtype.kind == "f":
            same = np.isclose(left, right.astype(left.dtype), rtol=_NEAR, atol=_NEAR, equal_nan=True)
        else:
            same = left == right
        rows = np.asarray(same).reshape(len(left), -1).all(axis=1)
        if name == "predicted_class" and len(undecided) == len(rows):
            rows |= undecided
        if not rows.all():
            row = int(np.argmin(rows))
            return f"{name} of row {row + 1} is {_short(right[row])} instead of {_short(left[row])}"
    return ""


def _undecided(answers: Answers) -> np.ndarray:
    """Rows whose two most probable classes are as good as equal: rounding decides between them."""
    probabilities = answers.get("probabilities")
    if probabilities is None or probabilities.ndim != 2 or probabilities.shape[1] < 2:
        return np.zeros(0, bool)
    best = np.sort(probabilities, axis=1)
    return (best[:, -1] - best[:, -2]) < 2 * _NEAR


def _short(value: Any) -> str:
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(np.asarray(value).tolist())
    return text if len(text) <= 60 else f"{text[:59]}…"
