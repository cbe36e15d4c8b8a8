"""The taxi example as TFX ships it, run by TFX's LocalDagRunner: the rival of benchmarks/taxi.py.

The graph is that of tfx/examples/chicago_taxi_pipeline/taxi_pipeline_native_keras.py: 1,000 steps of
40 rows. Two things favour it over the example as it stands: Beam runs in memory instead of in worker
processes, and its module is named instead of packaged and installed with pip by two of the steps.

Usage: python benchmarks/stock_taxi.py FOLDER
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import tensorflow_model_analysis as tfma  # noqa: F401
import tfx
from tensorflow_model_analysis.proto import config_pb2
from tfx import v1
from tfx.components import (
    CsvExampleGen,
    Evaluator,
    ExampleValidator,
    Pusher,
    SchemaGen,
    StatisticsGen,
    Trainer,
    Transform,
)

from pipeline.beam import BeamConfig

EXAMPLE = Path(tfx.__file__).parent / "examples" / "chicago_taxi_pipeline"
MODULE = "tfx.examples.chicago_taxi_pipeline.taxi_utils_native_keras"
STEPS = 1000


def build(folder: Path) -> v1.dsl.Pipeline:
    """The example's graph, with everything that it writes below `folder`."""
    example_gen = CsvExampleGen(input_base=str(EXAMPLE / "data" / "simple"))
    statistics_gen = StatisticsGen(examples=example_gen.outputs["examples"])
    schema_gen = SchemaGen(statistics=statistics_gen.outputs["statistics"], infer_feature_shape=True)
    validator = ExampleValidator(
        statistics=statistics_gen.outputs["statistics"], schema=schema_gen.outputs["schema"]
    )
    transform = Transform(
        examples=example_gen.outputs["examples"],
        schema=schema_gen.outputs["schema"],
        preprocessing_fn=f"{MODULE}.preprocessing_fn",
    )
    trainer = Trainer(
        run_fn=f"{MODULE}.run_fn",
        examples=transform.outputs["transformed_examples"],
        transform_graph=transform.outputs["transform_graph"],
        schema=schema_gen.outputs["schema"],
        train_args=v1.proto.TrainArgs(num_steps=STEPS),
        eval_args=v1.proto.EvalArgs(num_steps=150),
    )
    baseline = v1.dsl.Resolver(
        strategy_class=v1.dsl.experimental.LatestBlessedModelStrategy,
        model=v1.dsl.Channel(type=v1.types.standard_artifacts.Model),
        model_blessing=v1.dsl.Channel(type=v1.types.standard_artifacts.ModelBlessing),
    ).with_id("latest_blessed_model_resolver")
    config = config_pb2.EvalConfig()
    config.model_specs.add(
        signature_name="serving_default",
        label_key="tips_xf",
        preprocessing_function_names=["transform_features"],
    )
    config.slicing_specs.add()
    metric = config.metrics_specs.add().metrics.add(class_name="BinaryAccuracy")
    metric.threshold.value_threshold.lower_bound.value = 0.6
    evaluator = Evaluator(
        examples=example_gen.outputs["examples"],
        model=trainer.outputs["model"],
        baseline_model=baseline.outputs["model"],
        eval_config=config,
    )
    pusher = Pusher(
        model=trainer.outputs["model"],
        model_blessing=evaluator.outputs["blessing"],
        push_destination=v1.proto.PushDestination(
            filesystem=v1.proto.PushDestination.Filesystem(base_directory=str(folder / "pushed"))
        ),
    )
    return v1.dsl.Pipeline(
        pipeline_name="stock_taxi",
        pipeline_root=str(folder / "root"),
        components=[
            example_gen,
            statistics_gen,
            schema_gen,
            validator,
            transform,
            trainer,
            baseline,
            evaluator,
            pusher,
        ],
        enable_cache=True,
        metadata_connection_config=v1.orchestration.metadata.sqlite_metadata_connection_config(
            str(folder / "metadata.db")
        ),
        beam_pipeline_args=BeamConfig().pipeline_args(),
    )


if __name__ == "__main__":
    where = Path(sys.argv[1]).absolute()
    shutil.rmtree(where, ignore_errors=True)
    where.mkdir(parents=True)
    v1.orchestration.LocalDagRunner().run(build(where))
