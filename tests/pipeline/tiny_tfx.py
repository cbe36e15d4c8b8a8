"""Runs small, real TFX pipelines: one that works, the same again, one that fails, one that is killed.

Called as a program by the tests of the metadata store, so that they need not load TensorFlow themselves.
"""

import contextlib
import os
import sys
from pathlib import Path

from tfx import v1 as tfx
from tfx.types import standard_artifacts


@tfx.dsl.components.component
def Pusher(
    statistics: tfx.dsl.components.InputArtifact[standard_artifacts.ExampleStatistics],
    ending: tfx.dsl.components.Parameter[str],
    pushed_model: tfx.dsl.components.OutputArtifact[standard_artifacts.PushedModel],
):
    """A stand-in that ends in the way it is told to."""
    if ending == "fail":
        raise ValueError("no such luck")
    if ending == "die":
        os._exit(9)
    pushed_model.set_string_custom_property("summary", "pushed as version 1")


def run(home: Path, data: Path, ending: str) -> None:
    examples = tfx.components.CsvExampleGen(input_base=str(data))
    baseline = tfx.dsl.Resolver(
        strategy_class=tfx.dsl.experimental.LatestBlessedModelStrategy,
        model=tfx.dsl.Channel(type=standard_artifacts.Model),
        model_blessing=tfx.dsl.Channel(type=standard_artifacts.ModelBlessing),
    ).with_id("baseline")
    statistics = tfx.components.StatisticsGen(examples=examples.outputs["examples"])
    pusher = Pusher(statistics=statistics.outputs["statistics"], ending=ending)
    pipeline = tfx.dsl.Pipeline(
        pipeline_name="tiny",
        pipeline_root=str(home / "artifacts"),
        components=[examples, baseline, statistics, pusher],
        enable_cache=True,
        metadata_connection_config=tfx.orchestration.metadata.sqlite_metadata_connection_config(
            str(home / "metadata.db")
        ),
    )
    tfx.orchestration.LocalDagRunner().run(pipeline)


if __name__ == "__main__":
    home, data = map(Path, sys.argv[1:3])
    for ending in sys.argv[3:]:
        with contextlib.suppress(ValueError):
            run(home, data, ending)
