"""Tuner: the best values of the keys that the config leaves open."""

from __future__ import annotations

from tfx.types import standard_artifacts
from tfx.types.component_spec import ChannelParameter, ComponentSpec

from components.base import Component, LazyExecutorSpec, text_parameters


class TunerSpec(ComponentSpec):
    """TFX's Tuner contract."""

    PARAMETERS = text_parameters("config", "user_code", "code")
    INPUTS = {
        "examples": ChannelParameter(type=standard_artifacts.Examples),
        "transform_graph": ChannelParameter(type=standard_artifacts.TransformGraph),
        "schema": ChannelParameter(type=standard_artifacts.Schema),
    }
    OUTPUTS = {
        "best_hyperparameters": ChannelParameter(type=standard_artifacts.HyperParameters),
        "tuner_results": ChannelParameter(type=standard_artifacts.TunerResults),
    }


class Tuner(Component):
    """Trains with many sets of values and keeps the one that is best on the eval split.

    Args:
      config: `{"tune": …, "model": …, "train": …}`, the three sections.
      user_code: URI of the archive that holds the user's model code, or empty.
    """

    TFX_TYPE = "tfx.components.tuner.component.Tuner"
    SPEC_CLASS = TunerSpec
    EXECUTOR_SPEC = LazyExecutorSpec("components.tuner.executor.Executor")
