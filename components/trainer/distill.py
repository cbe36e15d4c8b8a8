"""Distillation: the train rows with what a teacher says of them.

A teacher answers raw examples, so the train rows are transformed here, from the raw ones, and each
stays with its answer. The answers go beside the labels: a label is float32 [batch, 1 + k], the id and
then the teacher's logits, one of the positive class or one a class. Of task multilabel, 0 and 1 for each
class stand where the id does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from components import manifest
from components.errors import UserError
from components.records import read_serialized
from components.trainer import learning
from components.trainer.config import TrainConfig
from components.trainer.data import Rows, batches_in_memory, rows_a_block
from components.trainer.data.blocks import row_bytes
from components.trainer.feed import Fed, sharded_by_row
from components.trainer.model_inputs import model_inputs
from components.transform.on_the_fly import transformer
from components.transform.plan import FeaturePlan

_WHERE = "train.distill.teacher"
_MIB = 1 << 20
# Probabilities are float32: nearer to 0 than this they are rounding.
_LEAST = 1e-7


class Teacher:
    """An exported model that answers the question of a plan.

    Args:
      path: the folder of its SavedModel.
      plan: of the student.

    Raises:
      UserError: it answers another question, or it is no model of Headrace.
    """

    def __init__(self, path: str, plan: FeaturePlan) -> None:
        try:
            about = manifest.read(path)
        except FileNotFoundError:
            raise UserError(
                f"{path} is no model that Headrace exported: it has no {manifest.FILE}",
                where=_WHERE,
                fix="name a folder below push.to, or `pushed`",
            ) from None
        theirs = about["task"], about["label"], set(about.get("classes", ()))
        ours = plan.label.task, plan.label.name, set(plan.label.classes)
        if theirs != ours or not ours[2]:
            raise UserError(
                f"the teacher answers {_question(*theirs)}, the student {_question(*ours)}"
                if theirs != ours
                else "a teacher's probabilities are needed, and a model of task regression has none",
                where=_WHERE,
                fix="name a teacher for the same label and classes, or take train.distill out",
            )
        # The signatures are of no use once the model is gone.
        self._model = tf.saved_model.load(path)
        self._order = [about["classes"].index(name) for name in plan.label.classes]
        self._task = plan.label.task

    def logits(self, examples: tf.Tensor) -> np.ndarray:
        """Of serialized examples: float32 [n, 1] for binary, else [n, classes]."""
        answer = self._model.signatures["serving_default"](examples=examples)
        probabilities = answer["probabilities"].numpy()[:, self._order]
        logs = np.log(np.maximum(probabilities, _LEAST))
        if self._task == "multilabel":
            return logs - np.log(np.maximum(1.0 - probabilities, _LEAST))
        return logs[:, 1:] - logs[:, :1] if self._task == "binary" else logs


def _question(task: str, label: str, classes: set[str]) -> str:
    return f"{task} {label!r} of {len(classes)} classes" if classes else f"{task} {label!r}"


def taught_rows(files: Sequence[str], plan: FeaturePlan, graph_uri: str, train: TrainConfig) -> Rows:
    """All rows of raw example files in memory, transformed, with the teacher's logits beside the labels.

    Args:
      graph_uri: of the transform.
      train: with the folder of the teacher.

    Raises:
      UserError: the teacher is none, or the rows are too many.
    """
    assert train.distill
    teacher = Teacher(train.distill.teacher, plan)
    transform = transformer(graph_uri)
    parts: list[Any] = []
    left = train.input.memory * _MIB
    for file in files:
        for serialized in read_serialized(file, rows_a_block(plan)):
            left -= len(serialized) * row_bytes(plan)
            if left < 0 and train.input.cache != "memory":
                raise UserError(
                    f"the train rows take more than {train.input.memory} MiB, and distillation keeps all "
                    "of them in memory",
                    where="train.input.memory",
                    fix="raise it, or take train.distill out",
                )
            examples = tf.constant(serialized)
            features = transform(examples)
            label = tf.cast(tf.reshape(features[plan.label_input], [-1, plan.label.width]), tf.float32)
            labels = tf.concat([label, teacher.logits(examples)], axis=1)
            weight = (tf.reshape(features[plan.weight_input], [-1, 1]),) if plan.weight_input else ()
            parts.append((model_inputs(plan, features), labels, *weight))
    return tf.nest.map_structure(lambda *tensors: tf.concat(tensors, 0), *parts)


def taught_feed(rows: Rows, train: TrainConfig) -> Fed:
    """The rows in batches."""
    count = int(rows[1].shape[0])
    size = train.rows_a_step(count)
    steps, at_once = learning.steps_of_an_epoch(count, size, train.steps_per_execution)

    def batches_from(epoch: int) -> tf.data.Dataset:
        batches = batches_in_memory(rows, batch_size=size, steps=steps, seed=train.seed, first_epoch=epoch)
        return sharded_by_row(batches.prefetch(tf.data.AUTOTUNE))

    return Fed(batches_from, count, size, steps, at_once, "memory", soft_labels=False)
