"""Run Trainer: build, fit and export, under the strategy and the precision of the config."""

from __future__ import annotations

import json
import tempfile

import keras
import tensorflow as tf
import tensorflow_transform as tft
from tfx.dsl.components.base import base_executor
from tfx.dsl.io import fileio
from tfx.types import artifact_utils
from tfx.utils import path_utils

from components.base import say
from components.records import split_files
from components.trainer import data, devices, learning, models, multi_worker
from components.trainer.callbacks import Pace, callbacks, refuse_nan
from components.trainer.compiled import compiled, in_float32, said_of_classes
from components.trainer.config import ModelConfig, TrainConfig
from components.trainer.export import export
from components.trainer.feed import feed
from components.transform.plan import FeaturePlan

_EVAL_BATCH = 4096


class Executor(base_executor.BaseExecutor):
    """Writes Format-Serving/ in the model artifact and TensorBoard's logs in the model run.

    Of several workers, the first alone writes; the others only train with it.
    """

    def Do(self, input_dict: dict, output_dict: dict, exec_properties: dict) -> None:
        sections = json.loads(exec_properties["config"])
        model_config = ModelConfig.model_validate(sections["model"])
        train = TrainConfig.model_validate(sections["train"])
        # Before anything else: workers must meet before TensorFlow has done a thing.
        used, train = devices.ready(train)
        here = used.here

        examples = artifact_utils.get_single_instance(input_dict["examples"])
        graph = artifact_utils.get_single_instance(input_dict["transform_graph"])
        model_artifact = artifact_utils.get_single_instance(output_dict["model"])
        run = artifact_utils.get_single_instance(output_dict["model_run"])
        plan = FeaturePlan.load(graph.uri)
        build = models.builder(model_config, exec_properties["user_code"])

        train_files = split_files(examples, "train")
        class_weights = learning.class_weights(train.loss, plan, train_files)
        fed = feed(train_files, plan, train)
        model = compiled(build, plan, model_config, train, fed, used, class_weights)
        batches = fed.batches
        watched = data.load(split_files(examples, "eval"), plan)
        evaluation = tf.data.Dataset.from_tensor_slices(watched).batch(_EVAL_BATCH)
        if here.workers > 1:
            batches, evaluation = map(multi_worker.shared_out, (batches, evaluation))
        pace = Pace(rows=fed.steps * fed.batch_size)
        history = model.fit(
            batches,
            epochs=train.epochs,
            steps_per_epoch=fed.steps,
            validation_data=evaluation,
            callbacks=[*callbacks(train, run.uri if here.number == 0 else tempfile.mkdtemp()), pace],
            verbose=0,
        ).history
        refuse_nan(history)

        if here.number == 0:
            folder = path_utils.serving_model_dir(model_artifact.uri)
            fileio.makedirs(folder)
            served = in_float32(model, build, plan, model_config)
            export(served, plan, tft.TFTransformOutput(graph.uri), exec_properties["name"], folder)
            account = _account(history, served, train, used, pace.rows_a_second)
            say(model_artifact, account + said_of_classes(plan, train, class_weights))
        if here.workers > 1:
            multi_worker.wait_for_all(used.strategy)


def _account(
    history: dict[str, list[float]],
    model: keras.Model,
    train: TrainConfig,
    used: devices.Devices,
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
    return (
        f"{model.name}, {model.count_params():,} parameters, {stopped}; eval {measured} (epoch {best + 1}); "
        f"{pace:,.0f} rows/s, {used}"
    )


def _said_of_classes(plan: FeaturePlan, train: TrainConfig, weights: list[float] | None) -> str:
    """The balanced weights of a few classes; of more, the least and the greatest."""
    if weights is None or train.loss.class_weights != "balanced":
        return ""
    named = list(zip(plan.label.classes, weights))
    if len(named) > 5:
        named = [min(named, key=lambda each: each[1]), max(named, key=lambda each: each[1])]
    return "; balanced class weights " + ", ".join(f"{name} {weight:.3g}" for name, weight in named)
