"""SchemaGen: a schema inferred from the train split, or the one that a person has reviewed."""

from __future__ import annotations

from tfx.types import standard_artifacts
from tfx.types.component_spec import ChannelParameter, ComponentSpec

from components.base import Component, LazyExecutorSpec, text_parameters


class SchemaGenSpec(ComponentSpec):
    """TFX's SchemaGen contract."""

    PARAMETERS = text_parameters("reviewed", "code")
    INPUTS = {
        "statistics": ChannelParameter(type=standard_artifacts.ExampleStatistics),
        "examples": ChannelParameter(type=standard_artifacts.Examples),
    }
    OUTPUTS = {
        "schema": ChannelParameter(type=standard_artifacts.Schema),
    }


class SchemaGen(Component):
    """Infers a schema from the train split; a reviewed one wins, and how they differ is said.

    Args:
      examples: ingest's findings lie with them: what each column means, and what the label is.
      reviewed: the text of the reviewed schema; empty: there is none.
    """

    TFX_TYPE = "tfx.components.schema_gen.component.SchemaGen"
    SPEC_CLASS = SchemaGenSpec
    EXECUTOR_SPEC = LazyExecutorSpec("components.schema_gen.executor.Executor")
