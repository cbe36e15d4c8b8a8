"""The losses, on logits and in float32; each row's, which Keras weighs and averages.

Labels are class ids int64 or numbers float32, [batch, 1], or for multilabel 0 and 1 for each class,
[batch, classes], as Transform writes them. The loss of a number is in the label's standard deviations, so
that mse is 1 for who always says the mean.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf

from components.errors import UserError
from components.records import read_serialized
from components.trainer.config import DistillConfig, LossConfig
from components.trainer.config.loss import misfit
from components.transform.on_the_fly import reader
from components.transform.plan import FeaturePlan

# Among the counts of class ids.
_EVERY_ROW = -1


class RowLoss(keras.losses.Loss):
    """A loss of each row; the mean over the batch is Keras's.

    Args:
      config: the section.
      task: what the label asks for.
      class_weights: one number a class, which a row's loss is multiplied by; for multilabel, what the loss
        of a class is multiplied by in the rows that have it. None: all count the same.
      soft_labels: labels of several classes are probabilities, float32 [batch, classes].
      mean: of a label that is a number, over train.
      spread: its standard deviation.
    """

    def __init__(
        self,
        config: LossConfig,
        task: str,
        class_weights: Sequence[float] | None = None,
        soft_labels: bool = False,
        mean: float = 0.0,
        spread: float = 1.0,
    ) -> None:
        super().__init__(name=config.chosen(task), dtype="float32")
        self._config, self._task, self._weights, self._soft = config, task, class_weights, soft_labels
        self._mean, self._spread = mean, spread

    def call(self, y_true: Any, y_pred: Any) -> Any:
        logits = tf.cast(y_pred, tf.float32)
        truth = tf.cast(y_true, tf.float32)
        if self._task == "regression":
            return self._of_numbers((truth - self._mean) / self._spread - logits)
        if self._task == "multiclass":
            if not self._soft:
                truth = tf.one_hot(tf.cast(tf.reshape(y_true, [-1]), tf.int32), logits.shape[-1])
            rows = self._of_classes(truth, logits)
            if self._weights is not None:
                rows *= tf.linalg.matvec(truth, tf.constant(self._weights, tf.float32))
            return rows
        rows = self._of_yes_and_no(truth, logits)
        if self._weights is not None:
            no, yes = (1.0, tf.constant(self._weights)) if self._task == "multilabel" else self._weights
            rows *= no + (yes - no) * truth
        # One logit a question; several are several yes-or-no questions about the row.
        return tf.reduce_mean(rows, axis=-1)

    def _of_numbers(self, error: tf.Tensor) -> tf.Tensor:
        size = tf.abs(error)
        match self._config.chosen(self._task):
            case "mae":
                rows = size
            case "huber":
                delta = self._config.delta / self._spread if self._config.delta else 1.0
                rows = tf.where(size <= delta, 0.5 * error * error, delta * (size - 0.5 * delta))
            case "quantile":
                share = tf.constant(self._config.quantile or 0.5)
                rows = tf.maximum(share * error, (share - 1.0) * error)
            case _:
                rows = error * error
        return tf.reduce_mean(rows, axis=-1)

    def _of_classes(self, truth: tf.Tensor, logits: tf.Tensor) -> tf.Tensor:
        if self._config.name == "focal":
            return tf.reduce_sum(truth * self._focal(-tf.nn.log_softmax(logits)), axis=-1)
        smoothing = self._config.label_smoothing
        target = truth * (1.0 - smoothing) + smoothing / logits.shape[-1]
        return tf.nn.softmax_cross_entropy_with_logits(target, logits)

    def _of_yes_and_no(self, truth: tf.Tensor, logits: tf.Tensor) -> tf.Tensor:
        if self._config.name == "focal":
            yes, no = self._focal(tf.nn.softplus(-logits)), self._focal(tf.nn.softplus(logits))
            share = self._config.alpha
            if share is None:
                return truth * yes + (1.0 - truth) * no
            return share * truth * yes + (1.0 - share) * (1.0 - truth) * no
        smoothing = self._config.label_smoothing
        return tf.nn.sigmoid_cross_entropy_with_logits(truth * (1.0 - smoothing) + 0.5 * smoothing, logits)

    def _focal(self, surprise: tf.Tensor) -> tf.Tensor:
        """(1 - p) ** gamma * -log(p), of -log(p) with p the probability of what is true."""
        gamma = 2.0 if self._config.gamma is None else self._config.gamma
        # 1 - exp(-x) by expm1, which does not round small values to 0.
        return tf.pow(tf.maximum(-tf.math.expm1(-surprise), 1e-12), gamma) * surprise

    def get_config(self) -> dict[str, Any]:
        return {
            "config": self._config.model_dump(),
            "task": self._task,
            "class_weights": self._weights,
            "soft_labels": self._soft,
            "mean": self._mean,
            "spread": self._spread,
        }

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> RowLoss:
        return cls(**{**config, "config": LossConfig.model_validate(config["config"])})


def teaching(config: DistillConfig, taught: Any, logits: Any, *, independent: bool) -> tf.Tensor:
    """How far a student is from its teacher, of each row: float32 [batch].

    The cross-entropy of both models' probabilities at the temperature t, times t squared, which keeps
    the gradient's size whatever t is.

    Args:
      config: the section.
      taught: the teacher's logits.
      logits: the student's, of the same shape.
      independent: whether each logit is a question of its own, answered yes or no, rather than a class of
        which a row has one.
    """
    t = config.temperature
    taught, logits = tf.cast(taught, tf.float32) / t, tf.cast(logits, tf.float32) / t
    if independent:
        rows = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(tf.sigmoid(taught), logits), axis=-1)
    else:
        rows = tf.nn.softmax_cross_entropy_with_logits(tf.nn.softmax(taught), logits)
    return t * t * rows


def loss(
    plan: FeaturePlan,
    config: LossConfig | None = None,
    class_weights: Sequence[float] | None = None,
    *,
    soft_labels: bool = False,
) -> RowLoss:
    """The loss of the config, for the plan's task.

    Raises:
      UserError: it does not fit the task.
    """
    config = config or LossConfig()
    reason = misfit(config, plan.label.task)
    if reason:
        raise UserError(reason, where="train.loss", fix="leave train.loss out, or change it")
    label = plan.label
    return RowLoss(config, label.task, class_weights, soft_labels, mean=label.mean, spread=label.spread)


def class_weights(config: LossConfig, plan: FeaturePlan, train_files: Sequence[str]) -> list[float] | None:
    """One weight a class, in the order of the ids; None when all classes count the same.

    Raises:
      UserError: the config names a class that the label does not have.
    """
    if config.class_weights is None or misfit(config, plan.label.task):
        return None
    classes = plan.label.classes
    if config.class_weights == "balanced":
        counts = _counts(plan, train_files)
        if plan.label.task == "multilabel":
            everything = counts.pop(_EVERY_ROW, 0)
            # As much for the rows that have a class as for those that do not.
            return [
                (everything - counts[i]) / counts[i] if 0 < counts[i] < everything else 1.0
                for i in range(len(classes))
            ]
        rows, there = sum(counts.values()), sum(1 for count in counts.values() if count)
        return [rows / (there * counts[i]) if counts[i] else 1.0 for i in range(len(classes))]
    unknown = sorted(set(config.class_weights) - set(classes))
    if unknown:
        raise UserError(
            f"there is no class {unknown[0]!r}; the classes are {', '.join(map(repr, classes[:5]))}"
            + (", …" if len(classes) > 5 else ""),
            where="train.loss.class_weights",
        )
    return [config.class_weights.get(name, 1.0) for name in classes]


def _counts(plan: FeaturePlan, files: Sequence[str]) -> Counter[int]:
    """How many train rows each class id has; for multilabel also how many there are, as _EVERY_ROW."""
    read = reader(plan, {plan.label_input: tf.io.FixedLenFeature([plan.label.width], tf.int64)})
    counts: Counter[int] = Counter()
    for file in files:
        for serialized in read_serialized(file):
            labels = read(tf.constant(serialized))[plan.label_input].numpy()
            if plan.label.task == "multilabel":
                counts.update(dict(enumerate(labels.sum(0).tolist())))
                counts[_EVERY_ROW] += len(labels)
            else:
                counts.update(labels.ravel().tolist())
    return counts
