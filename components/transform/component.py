"""Transform: raw columns into model features, by a graph that also serves."""

from __future__ import annotations

from tfx.types import standard_artifacts
from tfx.types.component_spec import ChannelParameter, ComponentSpec

from components.base import BeamComponent, LazyBeamExecutorSpec, text_parameters


class TransformSpec(ComponentSpec):
    """TFX's Transform contract."""

    PARAMETERS = text_parameters("config", "options", "user_code", "code")
    INPUTS = {
        "examples": ChannelParameter(type=standard_artifacts.Examples),
        "schema": ChannelParameter(type=standard_artifacts.Schema),
    }
    OUTPUTS = {
        "transform_graph": ChannelParameter(type=standard_artifacts.TransformGraph),
        "transformed_examples": ChannelParameter(type=standard_artifacts.Examples, optional=True),
    }


class Transform(BeamComponent):
    """Turns raw columns into features: analysed on train, applied to every split, kept as a graph.

    Args:
      config: the `features` section.
      options: the `transform` section.
      user_code: URI of the archive that holds the user's preprocessing_fn, or empty.
      without: `("transformed_examples",)` when `transform.materialize` is false, as in TFX.
    """

    TFX_TYPE = "tfx.components.transform.component.Transform"
    SPEC_CLASS = TransformSpec
    EXECUTOR_SPEC = LazyBeamExecutorSpec("components.transform.executor.Executor")
