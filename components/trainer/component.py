"""Trainer: a trained model, exported for serving."""

from __future__ import annotations

from tfx.types import standard_artifacts
from tfx.types.component_spec import ChannelParameter, ComponentSpec

from components.base import Component, LazyExecutorSpec, text_parameters


class TrainerSpec(ComponentSpec):
    """TFX's Trainer contract."""

    PARAMETERS = text_parameters("config", "name", "user_code", "code")
    INPUTS = {
        "examples": ChannelParameter(type=standard_artifacts.Examples),
        "transform_graph": ChannelParameter(type=standard_artifacts.TransformGraph),
        "schema": ChannelParameter(type=standard_artifacts.Schema),
        "hyperparameters": ChannelParameter(type=standard_artifacts.HyperParameters, optional=True),
        "raw_examples": ChannelParameter(type=standard_artifacts.Examples, optional=True),
        "base_model": ChannelParameter(type=standard_artifacts.Model, optional=True),
    }
    OUTPUTS = {
        "model": ChannelParameter(type=standard_artifacts.Model),
        "model_run": ChannelParameter(type=standard_artifacts.ModelRun),
    }


class Trainer(Component):
    """Trains on the transformed examples and exports the model with its raw-data signatures.

    What Tuner found wins over the config.

    Args:
      config: `{"model": …, "train": …}`, the two sections.
      raw_examples: what `examples` were made of, for train.distill: a teacher answers raw rows.
      name: the pipeline's name, which the export carries.
      user_code: URI of the archive that holds the user's model code, or empty.
    """

    TFX_TYPE = "tfx.components.trainer.component.Trainer"
    SPEC_CLASS = TrainerSpec
    EXECUTOR_SPEC = LazyExecutorSpec("components.trainer.executor.Executor")
