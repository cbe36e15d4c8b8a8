"""StatisticsGen: TFDV statistics of every split."""

from __future__ import annotations

from tfx.types import standard_artifacts
from tfx.types.component_spec import ChannelParameter, ComponentSpec

from components.base import BeamComponent, LazyBeamExecutorSpec, text_parameters


class StatisticsGenSpec(ComponentSpec):
    """TFX's StatisticsGen contract."""

    PARAMETERS = text_parameters("config", "code")
    INPUTS = {
        "examples": ChannelParameter(type=standard_artifacts.Examples),
    }
    OUTPUTS = {
        "statistics": ChannelParameter(type=standard_artifacts.ExampleStatistics),
    }


class StatisticsGen(BeamComponent):
    """Computes TFDV statistics of every split of `examples`, weighted when rows have weights.

    Args:
      config: the `statistics` section.
    """

    TFX_TYPE = "tfx.components.statistics_gen.component.StatisticsGen"
    SPEC_CLASS = StatisticsGenSpec
    EXECUTOR_SPEC = LazyBeamExecutorSpec("components.statistics_gen.executor.Executor")
