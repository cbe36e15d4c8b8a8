"""Training steps that Keras's `fit` has no argument for, around any model."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import tensorflow as tf

from components.errors import UserError
from components.trainer.config import DistillConfig, TrainConfig
from components.trainer.losses import teaching

_STEPS = ("train_step", "test_step", "compute_loss")


class Learner(keras.Model):
    """A model in training: its inner model is what is exported.

    What it keeps beside the inner model's weights is among its own weights, so a checkpoint holds it
    and early stopping restores it.

    Args:
      inner: a built model that takes features to logits.
      parts: the batch of a step is computed in so many parts, one after the other.
      ema: momentum of the weights' moving average; None: there is none. Evaluation uses the averages.
      rows: shapes and dtypes of a batch, for training under a strategy.
      distill: how a teacher is heard, whose logits stand beside the labels; None: there is none.
      label_width: how many values a row's label has.
    """

    def __init__(
        self,
        inner: keras.Model,
        *,
        parts: int = 1,
        ema: float | None = None,
        rows: Any = None,
        distill: DistillConfig | None = None,
        label_width: int = 1,
    ) -> None:
        # The inner model casts its inputs itself.
        super().__init__(name=inner.name, autocast=False)
        self.inner = inner
        self._parts, self._momentum, self._rows, self._distill = parts, ema, rows, distill
        self._width = label_width
        self._averages = [self._average_of(v) for v in inner.trainable_variables] if ema else []

    def _average_of(self, variable: keras.Variable) -> keras.Variable:
        return self.add_weight(
            name=f"{variable.path.replace('/', '_')}_average",
            shape=variable.shape,
            dtype=variable.dtype,
            initializer="zeros",
            trainable=False,
            # All replicas compute the same average.
            aggregation="only_first_replica",
        )

    def build(self, input_shape: Any) -> None:
        self.built = True

    def _maybe_symbolic_build(self, iterator: Any = None, data_batch: Any = None) -> None:
        """Builds metrics and loss from the batch's shapes.

        Keras's own takes the first batch for it and begins anew, with which rows are shuffled in another
        order than on one device; and with several workers it fails (keras#20585).
        """
        if self._rows is None:
            super()._maybe_symbolic_build(iterator=iterator, data_batch=data_batch)
        else:
            with self.distribute_strategy.scope():
                self._symbolic_build(data_batch=self._rows)

    def call(self, inputs: Any, training: bool | None = None) -> Any:
        if training or not self._averages:
            return self.inner(inputs, training=training)
        outputs, _ = self.inner.stateless_call(
            self._averages, self.inner.non_trainable_variables, inputs, training=False
        )
        return outputs

    def train_step(self, data: Any) -> dict[str, Any]:
        """One step of the optimizer on the gradient of the whole batch."""
        variables = self.trainable_variables
        total: list[Any] = [None] * len(variables)
        logs: dict[str, Any] = {}
        for part in self._split(data):
            # The parts are made to wait for each other: side by side they would need the memory of all.
            with tf.control_dependencies([gradient for gradient in total if gradient is not None]):
                gradients, logs = self._learn_from(part)
                total = [_plus(one, other) for one, other in zip(total, gradients)]
        self.optimizer.apply(
            [gradient if gradient is None else gradient / self._parts for gradient in total], variables
        )
        self._follow(variables)
        return logs

    def _learn_from(self, rows: Any) -> tuple[list[Any], dict[str, Any]]:
        x, y, weight = keras.utils.unpack_x_y_sample_weight(rows)
        with tf.GradientTape() as tape:
            answers = self(x, training=True)
            loss = self.compute_loss(x, y, answers, weight, training=True)
            scaled = self.optimizer.scale_loss(loss)
        gradients = tape.gradient(scaled, self.trainable_variables)
        # Under a strategy the loss is a replica's share of that of the whole batch.
        replicas = tf.distribute.get_strategy().num_replicas_in_sync
        self._loss_tracker.update_state(loss * replicas, sample_weight=tf.shape(tf.nest.flatten(x)[0])[0])
        return gradients, self.compute_metrics(x, y, answers, weight)

    def compute_loss(
        self,
        x: Any = None,
        y: Any = None,
        y_pred: Any = None,
        sample_weight: Any = None,
        training: bool = True,
    ) -> Any:
        """The loss, of which a teacher has a share where there are answers of it: evaluation has none."""
        if self._distill is None or y.shape[-1] == self._width:
            return super().compute_loss(x, y, y_pred, sample_weight, training=training)
        told = super().compute_loss(x, y[:, : self._width], y_pred, sample_weight, training=training)
        # One logit for each value of the label: none of them is a class among others.
        independent = y_pred.shape[-1] == self._width
        rows = teaching(self._distill, y[:, self._width :], y_pred, independent=independent)
        if sample_weight is not None:
            rows *= tf.reshape(sample_weight, [-1])
        # A replica's share of the mean over the whole batch, as Keras has it of `told`.
        taught = tf.reduce_mean(rows) / tf.distribute.get_strategy().num_replicas_in_sync
        return (1.0 - self._distill.weight) * told + self._distill.weight * taught

    def compute_metrics(self, x: Any, y: Any, y_pred: Any, sample_weight: Any = None) -> dict[str, Any]:
        told = y[:, : self._width] if self._distill else y
        return super().compute_metrics(x, told, y_pred, sample_weight)

    def _symbolic_build(self, iterator: Any = None, data_batch: Any = None) -> None:
        if self._distill:
            x, y, weight = keras.utils.unpack_x_y_sample_weight(data_batch)
            data_batch = keras.utils.pack_x_y_sample_weight(
                x, tf.TensorSpec([None, self._width], y.dtype), weight
            )
        super()._symbolic_build(iterator=iterator, data_batch=data_batch)

    def _split(self, data: Any) -> list[Any]:
        if self._parts == 1:
            return [data]

        def stacked(tensor: Any) -> Any:
            return tf.reshape(tensor, tf.concat([[self._parts, -1], tf.shape(tensor)[1:]], 0))

        flat = [stacked(tensor) if tensor is not None else None for tensor in tf.nest.flatten(data)]
        return [
            tf.nest.pack_sequence_as(data, [each if each is None else each[part] for each in flat])
            for part in range(self._parts)
        ]

    def _follow(self, variables: list[keras.Variable]) -> None:
        """average = momentum * average + (1 - momentum) * weight, from the weights of the first step on.

        The momentum grows to what is asked for as (1 + t) / (10 + t), which soon forgets the first weights
        (tf.train.ExponentialMovingAverage has it as num_updates).
        """
        if not self._momentum:
            return
        step = tf.cast(self.optimizer.iterations.value, tf.float32)
        momentum = tf.where(step > 1.0, tf.minimum(self._momentum, (1.0 + step) / (10.0 + step)), 0.0)
        for variable, average in zip(variables, self._averages):
            average.assign(momentum * average + (1.0 - momentum) * variable)

    def weights_to_serve(self) -> list[np.ndarray]:
        """What the inner model's `set_weights` takes: the averages where there are some."""
        averaged = dict(zip(map(id, self.inner.trainable_variables), self._averages))
        return [keras.ops.convert_to_numpy(averaged.get(id(v), v)) for v in self.inner.weights]


class WorkersLearner(Learner):
    """A Learner of which several processes train a copy each.

    Keras averages the logs of workers along an axis, which they have none of otherwise (keras#20585).
    """

    def train_step(self, data: Any) -> dict[str, Any]:
        return _with_axis(super().train_step(data))

    def test_step(self, data: Any) -> dict[str, Any]:
        return _with_axis(super().test_step(data))


def _with_axis(logs: dict[str, Any]) -> dict[str, Any]:
    return {name: tf.reshape(tf.convert_to_tensor(value), [1]) for name, value in logs.items()}


def _plus(one: Any, other: Any) -> Any:
    if one is None or other is None:
        return other if one is None else one
    return tf.convert_to_tensor(one) + tf.convert_to_tensor(other)


def weights_to_serve(model: keras.Model) -> list[np.ndarray]:
    """The weights of what is exported, in the order of the inner model's."""
    return model.weights_to_serve() if isinstance(model, Learner) else model.get_weights()


def learner(
    model: keras.Model,
    train: TrainConfig,
    *,
    rows: Any = None,
    replicas: int = 1,
    workers: int = 1,
    label_width: int = 1,
) -> keras.Model:
    """The model as it is to be trained: itself where Keras's own step will do, else a Learner around it.

    Args:
      model: built.
      train: the section.
      rows: shapes and dtypes of a batch.
      replicas: over how many devices it trains.
      workers: in how many processes.
      label_width: how many values a row's label has.

    Raises:
      UserError: the model has steps of its own, which a Learner's would replace.
    """
    asked = [
        key
        for key, on in (
            ("accumulate", train.accumulate > 1),
            ("ema", train.optimizer.ema),
            ("distill", train.distill),
        )
        if on
    ]
    asked += ["several workers"] if workers > 1 else []
    own = [name for name in _STEPS if getattr(type(model), name) is not getattr(keras.Model, name)]
    if own and asked:
        raise UserError(
            f"the model has a {own[0]} of its own, which {' and '.join(asked)} would replace",
            where="model.build",
            fix=f"take {own[0]} out of the model, or {' and '.join(asked)} out of train",
        )
    if own or (replicas == 1 and not asked):
        return model
    made = WorkersLearner if workers > 1 else Learner
    return made(
        model,
        parts=train.accumulate,
        ema=train.optimizer.ema,
        rows=rows if replicas > 1 else None,
        distill=train.distill,
        label_width=label_width,
    )
