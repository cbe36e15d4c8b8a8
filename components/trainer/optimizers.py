"""Keras's optimizers, made to do the same on one device and on many."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf

from components.trainer.config import ClipConfig, OptimizerConfig, TrainConfig
from components.trainer.schedules import learning_rate

_CLASSES = {
    "sgd": "SGD",
    "adam": "Adam",
    "adamw": "AdamW",
    "rmsprop": "RMSprop",
    "lamb": "Lamb",
    "lion": "Lion",
    "adafactor": "Adafactor",
    "muon": "Muon",
}


class _OverReplicas:
    """Mixed into an optimizer: gradients are clipped once they are summed over all replicas.

    Keras clips those of each replica by itself, before the sum, which is another step than one device
    makes. The rows of IndexedSlices are summed too, since the optimizers would square the rows of an id
    that a batch has more than once one by one. And weights that shall not decay are found when the
    optimizer is built, by their paths; before that, a user's own model may have none.

    `_all_reduce_sum_gradients` is Keras's private name for the sum over replicas; the parity tests
    would notice if it changed.
    """

    clip: ClipConfig | None = None
    no_decay: Sequence[str] = ()

    def build(self, variables: Any) -> None:
        if not self.built and self.no_decay:  # type: ignore[attr-defined]
            pattern = re.compile("|".join(f"(?:{each})" for each in self.no_decay))
            kept = [v for v in variables if pattern.search(getattr(v, "path", v.name))]
            self.exclude_from_weight_decay(var_list=kept)  # type: ignore[attr-defined]
        super().build(variables)  # type: ignore[misc]

    def _apply_weight_decay(self, variables: Any) -> None:
        # Muon's own has one more rate for what is no matrix, and assigns past the strategy.
        keras.optimizers.Optimizer._apply_weight_decay(self, variables)

    def _all_reduce_sum_gradients(self, grads_and_vars: Any) -> Any:
        dense = [
            (tf.convert_to_tensor(gradient) if isinstance(gradient, tf.IndexedSlices) else gradient, variable)
            for gradient, variable in grads_and_vars
        ]
        pairs = super()._all_reduce_sum_gradients(dense)  # type: ignore[misc]
        if not self.clip:
            return pairs
        gradients, variables = zip(*pairs)
        return list(zip(clipped(list(gradients), self.clip), variables))


def clipped(gradients: list[tf.Tensor], clip: ClipConfig) -> list[tf.Tensor]:
    """Gradients within the bound."""
    if clip.global_norm:
        return tf.clip_by_global_norm(gradients, clip.global_norm)[0]
    if clip.norm:
        return [tf.clip_by_norm(gradient, clip.norm) for gradient in gradients]
    bound = clip.value or 0.0
    return [tf.clip_by_value(gradient, -bound, bound) for gradient in gradients]


class LossScale(keras.optimizers.LossScaleOptimizer):
    """Loss scaling for float16 in which one replica's overflow makes all of them leave the step out.

    Keras asks the first replica alone, and the others' infinities reach the weights.
    """

    def check_finite(self, grads: Any) -> Any:
        overflow = tf.cast(tf.logical_not(super().check_finite(grads)), tf.float32)
        replica = tf.distribute.get_replica_context()
        if replica is not None:
            overflow = replica.all_reduce(tf.distribute.ReduceOp.SUM, overflow)
        return tf.equal(overflow, 0.0)


def optimizer(train: TrainConfig, steps: int, precision: str = "float32") -> keras.optimizers.Optimizer:
    """The optimizer of the config, with its schedule over so many steps.

    The moving average of the weights is not its business but the learner's.
    """
    config = train.optimizer
    base = getattr(keras.optimizers, _CLASSES[config.name])
    made = type(base.__name__, (_OverReplicas, base), {"clip": config.clip, "no_decay": config.no_decay})(
        learning_rate(train.learning_rate, steps),
        # AdamW takes no None, and for the others Keras would multiply every weight by 1.
        weight_decay=config.decay if config.name == "adamw" else config.decay or None,
        name=base.__name__.lower(),
        **_arguments(config),
    )
    return LossScale(made, name="loss_scale") if precision == "mixed_float16" else made


def _arguments(config: OptimizerConfig) -> dict[str, Any]:
    """What the config says, else the defaults, by Keras's names."""
    given = {
        key: getattr(config, key)
        for key in ("momentum", "nesterov", "beta_1", "beta_2", "rho", "epsilon")
        if getattr(config, key) is not None
    }
    if config.name in ("sgd", "rmsprop"):
        given.setdefault("momentum", 0.9)
    if config.name == "muon":
        given = {{"beta_1": "adam_beta_1", "beta_2": "adam_beta_2"}.get(k, k): v for k, v in given.items()}
    return given
