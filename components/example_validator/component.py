"""ExampleValidator: what in the splits does not fit, and whether it may pass."""

from __future__ import annotations

from tfx.types import standard_artifacts
from tfx.types.component_spec import ChannelParameter, ComponentSpec

from components.base import Component, LazyExecutorSpec, text_parameters


class ExampleValidatorSpec(ComponentSpec):
    """TFX's ExampleValidator contract."""

    PARAMETERS = text_parameters("config", "log_fingerprint", "code")
    INPUTS = {
        "statistics": ChannelParameter(type=standard_artifacts.ExampleStatistics),
        "schema": ChannelParameter(type=standard_artifacts.Schema),
        "examples": ChannelParameter(type=standard_artifacts.Examples),
        "previous_statistics": ChannelParameter(type=standard_artifacts.ExampleStatistics, optional=True),
        "previous_anomalies": ChannelParameter(type=standard_artifacts.ExampleAnomalies, optional=True),
    }
    OUTPUTS = {
        "anomalies": ChannelParameter(type=standard_artifacts.ExampleAnomalies),
    }


class ExampleValidator(Component):
    """Holds the statistics of every split against the schema, train, and the data that passed before.

    Args:
      config: the `validate` section, and of `data` what it says of columns: derive and columns.
      log_fingerprint: of the contents of validate.serving_log; empty: there is none.
      examples: ingest's findings lie with them.
      previous_statistics: of the latest other data of this pipeline that passed, where there is one.
      previous_anomalies: what was found then; what the columns were lies with it.
    """

    TFX_TYPE = "tfx.components.example_validator.component.ExampleValidator"
    SPEC_CLASS = ExampleValidatorSpec
    EXECUTOR_SPEC = LazyExecutorSpec("components.example_validator.executor.Executor")
