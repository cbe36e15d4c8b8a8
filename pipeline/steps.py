"""The names of the steps, for commands that must not import the graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipeline.config import PipelineConfig

# All that there can be, in the order in which a person thinks of them; some may run at the same time.
ALL_STEPS = (
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
# Those of every pipeline; there is a Tuner where the config has something to search.
STEPS = tuple(name for name in ALL_STEPS if name != "Tuner")


def steps_of(config: PipelineConfig) -> tuple[str, ...]:
    """The steps of one pipeline."""
    return ALL_STEPS if config.tune.space else STEPS
