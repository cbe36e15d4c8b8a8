"""SchemaGen: a schema inferred from the train split."""

from __future__ import annotations

from tfx.types import standard_artifacts
from tfx.types.component_spec import ChannelParameter, ComponentSpec

from components.base import Component, LazyExecutorSpec, text_parameters


class SchemaGenSpec(ComponentSpec):
    """TFX's SchemaGen contract."""

    PARAMETERS = text_parameters("code")
    INPUTS = {
        "statistics": ChannelParameter(type=standard_artifacts.ExampleStatistics),
    }
    OUTPUTS = {
        "schema": ChannelParameter(type=standard_artifacts.Schema),
    }


class SchemaGen(Component):
    """Infers a schema from the statistics of the train split."""

    TFX_TYPE = "tfx.components.schema_gen.component.SchemaGen"
    SPEC_CLASS = SchemaGenSpec
    EXECUTOR_SPEC = LazyExecutorSpec("components.schema_gen.executor.Executor")
