"""The names of the steps, for commands that must not import the graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipeline.config import PipelineConfig

# In the order in which a person thinks of them; the graph allows some to run at the same time.
STEPS = (
    "ExampleGen",
    "StatisticsGen",
    "SchemaGen",
    "ExampleValidator",
    "Transform",
    "Tuner",
    "Trainer",
    "Evaluator",
    "InfraValidator",
    "Pusher",
)


def steps_of(config: PipelineConfig) -> tuple[str, ...]:
    """The steps of a pipeline: there is a Tuner where the config has something to search."""
    return tuple(name for name in STEPS if name != "Tuner" or config.tune.space)
