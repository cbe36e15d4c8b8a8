"""Evaluator: measures the model and decides whether it may be pushed."""

from __future__ import annotations

from tfx.types import standard_artifacts
from tfx.types.component_spec import ChannelParameter, ComponentSpec

from components.base import BeamComponent, LazyBeamExecutorSpec, text_parameters


class EvaluatorSpec(ComponentSpec):
    """TFX's Evaluator contract."""

    PARAMETERS = text_parameters("config", "code")
    INPUTS = {
        "examples": ChannelParameter(type=standard_artifacts.Examples),
        "model": ChannelParameter(type=standard_artifacts.Model),
        "schema": ChannelParameter(type=standard_artifacts.Schema),
        "baseline_model": ChannelParameter(type=standard_artifacts.Model, optional=True),
    }
    OUTPUTS = {
        "evaluation": ChannelParameter(type=standard_artifacts.ModelEvaluation),
        "blessing": ChannelParameter(type=standard_artifacts.ModelBlessing),
    }


class Evaluator(BeamComponent):
    """Measures the model on the test split with TFMA and holds it against the gate.

    Args:
      config: the `evaluate` section.
      baseline_model: the latest blessed model of this pipeline, where there is one.
    """

    TFX_TYPE = "tfx.components.evaluator.component.Evaluator"
    SPEC_CLASS = EvaluatorSpec
    EXECUTOR_SPEC = LazyBeamExecutorSpec("components.evaluator.executor.Executor")
