"""ExampleValidator: what in the splits does not fit the schema."""

from __future__ import annotations

from tfx.types import standard_artifacts
from tfx.types.component_spec import ChannelParameter, ComponentSpec

from components.base import Component, LazyExecutorSpec, text_parameters


class ExampleValidatorSpec(ComponentSpec):
    """TFX's ExampleValidator contract."""

    PARAMETERS = text_parameters("code")
    INPUTS = {
        "statistics": ChannelParameter(type=standard_artifacts.ExampleStatistics),
        "schema": ChannelParameter(type=standard_artifacts.Schema),
    }
    OUTPUTS = {
        "anomalies": ChannelParameter(type=standard_artifacts.ExampleAnomalies),
    }


class ExampleValidator(Component):
    """Checks the statistics of every split against the schema."""

    TFX_TYPE = "tfx.components.example_validator.component.ExampleValidator"
    SPEC_CLASS = ExampleValidatorSpec
    EXECUTOR_SPEC = LazyExecutorSpec("components.example_validator.executor.Executor")
