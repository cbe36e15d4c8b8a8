"""Run Trainer: build, fit and export, under the strategy and the precision of the config."""

from __future__ import annotations

import json
from typing import Any

import keras
import tensorflow as tf
import tensorflow_transform as tft
from tfx.dsl.components.base import base_executor
from tfx.dsl.io import fileio
from tfx.types import artifact_utils
from tfx.utils import path_utils

from components.base import say
from components.records import split_files
from components.trainer import data, devices, learning, models
from components.trainer.callbacks import Pace, callbacks, refuse_nan
from components.trainer.config import ModelConfig, TrainConfig
from components.trainer.export import export
from components.trainer.feed import feed
from components.transform.plan import FeaturePlan

_EVAL_BATCH = 4096


class Executor(base_executor.BaseExecutor):
    """Writes Format-Serving/ in the model artifact and TensorBoard's logs in the model run."""

    def Do(self, input_dict: dict, output_dict: dict, exec_properties: dict) -> None:
        examples = artifact_utils.get_single_instance(input_dict["examples"])
        graph = artifact_utils.get_single_instance(input_dict["transform_graph"])
        model_artifact = artifact_utils.get_single_instance(output_dict["model"])
        run = artifact_utils.get_single_instance(output_dict["model_run"])
        sections = json.loads(exec_properties["config"])
        model_config = ModelConfig.model_validate(sections["model"])
        train = TrainConfig.model_validate(sections["train"])
        plan = FeaturePlan.load(graph.uri)
        build = models.builder(model_config, exec_properties["user_code"])

        keras.utils.set_random_seed(train.seed)
        precision = devices.precision(train.precision)
        keras.config.set_dtype_policy(precision)
        strategy = devices.strategy(train.strategy)
        fed = feed(split_files(examples, "train"), plan, train)
        with strategy.scope():
            model = build(plan, model_config)
            model.compile(
                learning.optimizer(train, fed.steps * train.epochs),
                learning.loss(plan),
                **learning.compiled_metrics(plan),
                steps_per_execution=fed.steps_at_once,
            )
        watched = data.load(split_files(examples, "eval"), plan)
        evaluation = tf.data.Dataset.from_tensor_slices(watched).batch(_EVAL_BATCH)
        pace = Pace(rows=fed.steps * fed.batch_size)
        history = model.fit(
            fed.batches,
            epochs=train.epochs,
            steps_per_epoch=fed.steps,
            validation_data=evaluation,
            callbacks=[*callbacks(train, run.uri), pace],
            verbose=0,
        ).history
        refuse_nan(history)

        folder = path_utils.serving_model_dir(model_artifact.uri)
        fileio.makedirs(folder)
        transform = tft.TFTransformOutput(graph.uri)
        export(
            _in_float32(model, build, plan, model_config, precision),
            plan,
            transform,
            exec_properties["name"],
            folder,
        )
        say(
            model_artifact,
            _account(history, plan, model, train, strategy, precision, pace.rows_a_second),
        )


def _in_float32(
    model: keras.Model, build: Any, plan: FeaturePlan, config: ModelConfig, precision: str
) -> keras.Model:
    """The same weights in float32 and outside any strategy: how it was trained does not show in serving."""
    keras.config.set_dtype_policy("float32")
    served = build(plan, config)
    served.set_weights(model.get_weights())
    return served


def _account(
    history: dict[str, list[float]],
    plan: FeaturePlan,
    model: keras.Model,
    train: TrainConfig,
    strategy: tf.distribute.Strategy,
    precision: str,
    pace: float,
) -> str:
    best = min(range(len(history["val_loss"])), key=history["val_loss"].__getitem__)
    if not train.early_stopping:
        best = len(history["val_loss"]) - 1
    measured = ", ".join(
        f"{name.removeprefix('val_')} {values[best]:.4f}"
        for name, values in history.items()
        if name.startswith("val_")
    )
    epochs = len(history["loss"])
    stopped = (
        f"stopped after {epochs} of {train.epochs} epochs" if epochs < train.epochs else f"{epochs} epochs"
    )
    replicas = strategy.num_replicas_in_sync
    return (
        f"{model.name}, {model.count_params():,} parameters, {stopped}; eval {measured} (epoch {best + 1}); "
        f"{pace:,.0f} rows/s, {precision} on {replicas} device{'s' if replicas > 1 else ''}"
    )
