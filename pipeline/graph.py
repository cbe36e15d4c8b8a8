"""The pipeline as a TFX graph: the whole of it, on one screen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ml_metadata.proto import metadata_store_pb2
from tfx.dsl.components.common.resolver import Resolver
from tfx.orchestration.pipeline import Pipeline
from tfx.types import Channel
from tfx.types.standard_artifacts import ExampleAnomalies, ExampleStatistics, Model, ModelBlessing

from components.evaluator.baseline import LatestBlessedOther
from components.evaluator.component import Evaluator
from components.example_gen.component import ExampleGen
from components.example_validator.component import ExampleValidator
from components.example_validator.previous import LatestPassedOther
from components.infra_validator.component import InfraValidator
from components.pusher.component import Pusher
from components.schema_gen.component import SchemaGen
from components.statistics_gen.component import StatisticsGen
from components.trainer.component import Trainer
from components.trainer.warm_start.latest import LatestBlessedOfOtherData
from components.transform.component import Transform
from components.tuner.component import Tuner
from pipeline.code import step_code
from pipeline.config import PipelineConfig
from pipeline.inputs import RunInputs
from pipeline.sections import as_json


def build_pipeline(config: PipelineConfig, inputs: RunInputs, *, root: Path) -> Pipeline:
    """The graph. Each step gets artifacts and its sections of the config as JSON, and nothing else.

    Args:
      config: the resolved config.
      inputs: what the run takes in beside it.
      root: the folder below which artifacts are written.
    """
    user_code = inputs.user_code
    example_gen = ExampleGen(
        config=as_json(config.located_data),
        label=config.label,
        task=config.task or "",
        fingerprint=inputs.fingerprint,
        code=step_code("example_gen"),
    )
    examples = example_gen.outputs["examples"]
    statistics_gen = StatisticsGen(
        examples=examples,
        config=as_json(config.statistics),
        code=step_code("statistics_gen"),
    )
    statistics = statistics_gen.outputs["statistics"]
    schema_gen = SchemaGen(
        statistics=statistics,
        examples=examples,
        reviewed=inputs.reviewed_schema,
        code=step_code("schema_gen"),
    )
    schema = schema_gen.outputs["schema"]
    previous = Resolver(
        strategy_class=LatestPassedOther,
        statistics=Channel(type=ExampleStatistics),
        anomalies=Channel(type=ExampleAnomalies),
        current=statistics,
    ).with_id("Previous")
    example_validator = ExampleValidator(
        statistics=statistics,
        schema=schema,
        examples=examples,
        previous_statistics=previous.outputs["statistics"],
        previous_anomalies=previous.outputs["anomalies"],
        config=as_json(
            {
                "validate": config.located_validation,
                "data": {"derive": sorted(config.data.derive), "columns": config.data.columns},
            }
        ),
        log_fingerprint=inputs.serving_log,
        code=step_code("example_validator"),
    )
    transform = Transform(
        examples=examples,
        schema=schema,
        config=as_json(config.features),
        options=as_json(config.transform),
        user_code=user_code["transform"].uri,
        code=step_code("transform", user_code["transform"]),
        without=() if config.transform.materialize else ("transformed_examples",),
    )
    transformed = transform.outputs["transformed_examples"] if config.transform.materialize else examples
    # It waits for the verdict on the data, but a new verdict on the same data does not train anew.
    transform.add_upstream_node(example_validator)
    # What Trainer takes, and which nodes there are, only where the config asks for it.
    optional: dict[str, Any] = {"raw_examples": examples} if config.train.distill else {}
    more: list[Any] = []
    if config.tune.space:
        tuner = Tuner(
            examples=transformed,
            transform_graph=transform.outputs["transform_graph"],
            schema=schema,
            config=as_json({"tune": config.tune, "model": config.model, "train": config.located_train}),
            user_code=user_code["trainer"].uri,
            code=step_code("tuner", user_code["trainer"]),
        )
        more.append(tuner)
        optional["hyperparameters"] = tuner.outputs["best_hyperparameters"]
    if config.train.warm_start == "blessed":
        base = Resolver(
            strategy_class=LatestBlessedOfOtherData,
            model=Channel(type=Model),
            model_blessing=Channel(type=ModelBlessing),
            current=transformed,
        ).with_id("Base")
        more.append(base)
        optional["base_model"] = base.outputs["model"]
    trainer = Trainer(
        examples=transformed,
        transform_graph=transform.outputs["transform_graph"],
        schema=schema,
        **optional,
        config=as_json({"model": config.model, "train": config.located_train}),
        name=config.name,
        user_code=user_code["trainer"].uri,
        code=step_code("trainer", user_code["trainer"]),
    )
    model = trainer.outputs["model"]
    baseline = Resolver(
        strategy_class=LatestBlessedOther,
        model=Channel(type=Model),
        model_blessing=Channel(type=ModelBlessing),
        candidate=model,
    ).with_id("Baseline")
    evaluator = Evaluator(
        examples=examples,
        model=model,
        schema=schema,
        baseline_model=baseline.outputs["model"],
        config=as_json(config.evaluate),
        code=step_code("evaluator"),
    )
    infra_validator = InfraValidator(
        model=model,
        examples=examples,
        config=as_json(config.infra_validate),
        code=step_code("infra_validator", starts="serving"),
    )
    pusher = Pusher(
        model=model,
        model_blessing=evaluator.outputs["blessing"],
        infra_blessing=infra_validator.outputs["blessing"],
        config=as_json(config.push.model_copy(update={"to": config.push_to})),
        code=step_code("pusher"),
    )
    return Pipeline(
        pipeline_name=config.name,
        pipeline_root=str(root),
        components=[
            example_gen,
            statistics_gen,
            schema_gen,
            previous,
            example_validator,
            transform,
            *more,
            trainer,
            baseline,
            evaluator,
            infra_validator,
            pusher,
        ],
        enable_cache=True,
        metadata_connection_config=metadata_store_pb2.ConnectionConfig(),
        beam_pipeline_args=config.beam.pipeline_args(),
    )
