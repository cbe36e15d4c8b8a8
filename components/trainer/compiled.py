"""The model, built and compiled under the strategy, with all that the config says of learning."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import keras

from components.trainer import devices, learning
from components.trainer.config import ModelConfig, TrainConfig
from components.trainer.devices import Devices
from components.trainer.feed import Fed
from components.trainer.learner import learner, weights_to_serve
from components.trainer.models import Builder
from components.transform.plan import FeaturePlan


def compiled(
    build: Builder,
    plan: FeaturePlan,
    config: ModelConfig,
    train: TrainConfig,
    fed: Fed,
    used: Devices,
    class_weights: Sequence[float] | None,
    begin: Callable[[keras.Model], None] | None = None,
) -> keras.Model:
    """The model as `fit` takes it; `begin` gives it its first weights."""
    devices.check_batch(fed.batch_size, used.replicas, train.accumulate)
    loss = learning.loss(plan, train.loss, class_weights, soft_labels=fed.soft_labels)
    with used.strategy.scope():
        plain = build(plan, config)
        if begin:
            begin(plain)
        model = learner(
            plain,
            train,
            rows=fed.batches.element_spec,
            replicas=used.replicas,
            workers=used.here.workers,
            label_width=plan.label.width,
        )
        model.compile(
            learning.optimizer(train, fed.steps * train.epochs, used.precision),
            loss,
            **learning.compiled_metrics(plan, soft_labels=fed.soft_labels),
            steps_per_execution=fed.steps_at_once,
            jit_compile=train.xla,
        )
    return model


def in_float32(model: keras.Model, build: Builder, plan: FeaturePlan, config: ModelConfig) -> keras.Model:
    """What is served: the same weights in float32, outside any strategy, as if trained so."""
    keras.config.set_dtype_policy("float32")
    served = build(plan, config)
    served.set_weights(weights_to_serve(model))
    return served


def said_of_classes(plan: FeaturePlan, train: TrainConfig, weights: Sequence[float] | None) -> str:
    """For the account, the balanced weights of a few classes; of more, the least and the greatest."""
    if weights is None or train.loss.class_weights != "balanced":
        return ""
    named = list(zip(plan.label.classes, weights))
    if len(named) > 5:
        named = [min(named, key=lambda each: each[1]), max(named, key=lambda each: each[1])]
    return "; balanced class weights " + ", ".join(f"{name} {weight:.3g}" for name, weight in named)
