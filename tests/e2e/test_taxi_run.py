"""The taxi example from data to a pushed model, and what TFX's own tools make of what it left."""

from __future__ import annotations

from pathlib import Path

import pytest
from headrace_calls import headrace

from pipeline.steps import STEPS
from serving.versions import list_versions

pytestmark = pytest.mark.slow

ARTIFACT_TYPES = {
    ("ExampleGen", "examples"): "Examples",
    ("StatisticsGen", "statistics"): "ExampleStatistics",
    ("SchemaGen", "schema"): "Schema",
    ("ExampleValidator", "anomalies"): "ExampleAnomalies",
    ("Transform", "transform_graph"): "TransformGraph",
    ("Transform", "transformed_examples"): "Examples",
    ("Trainer", "model"): "Model",
    ("Trainer", "model_run"): "ModelRun",
    ("Evaluator", "evaluation"): "ModelEvaluation",
    ("Evaluator", "blessing"): "ModelBlessing",
    ("InfraValidator", "blessing"): "InfraBlessing",
    ("Pusher", "pushed_model"): "PushedModel",
}


@pytest.fixture(scope="module")
def mlmd(taxi):
    """ML Metadata's own client."""
    from ml_metadata import MetadataStore
    from tfx.orchestration.metadata import sqlite_metadata_connection_config

    return MetadataStore(sqlite_metadata_connection_config(str(taxi.home / "metadata.db")))


@pytest.fixture(scope="module")
def artifacts(taxi):
    """Step and output to the artifact as TFX's class, of the first run."""
    from tfx.types import standard_artifacts

    found = {}
    for step in taxi.store.steps(taxi.run_id):
        for key, records in step.outputs.items():
            if step.system:
                continue
            (record,) = records
            artifact = getattr(standard_artifacts, record.type)()
            artifact.uri, artifact.id = record.uri, record.id
            if "split_names" in record.properties:
                artifact.split_names = record.properties["split_names"]
            found[step.name, key] = artifact
    return found


def test_a_run_is_said_in_few_lines_that_end_with_what_to_do_next(taxi):
    lines = taxi.first.out.splitlines()
    assert len(lines) < 30
    assert taxi.first.err == ""
    assert lines[0] == "headrace taxi: 9 steps"
    for number, line in enumerate(lines[1:10], start=1):
        assert line.startswith(f"{number}/9  ")
        assert "RUN: first run" in line
    (version,) = list_versions(taxi.home / "models" / "taxi")
    assert lines[-3] == f"run {taxi.run_id}, version {version.path}"
    assert lines[-2] == "serve it:    headrace serve taxi"
    assert lines[-1] == f"look at it:  headrace show {taxi.run_id} taxi"
    assert any(line.startswith("Evaluator: blessed: auc 0.9") for line in lines)
    assert any(line.startswith("Pusher: pushed version ") for line in lines)


def test_a_second_run_does_nothing_and_says_so(taxi):
    assert taxi.second.code == 0, taxi.second.said
    lines = taxi.second.out.splitlines()
    assert all("CACHED: nothing changed" in line for line in lines[1:10])
    assert "Nothing changed: every step came from the cache, and nothing was pushed." in lines
    assert len(list_versions(taxi.home / "models" / "taxi")) == 1
    assert taxi.store.runs()[0].state == "cached"


def test_executions_have_the_type_names_of_tfx(taxi, mlmd):
    from tfx import components
    from tfx.components.example_gen.component import FileBasedExampleGen
    from tfx.dsl.components.common.resolver import Resolver

    # The resolvers find the baseline model and the data before.
    kinds = [FileBasedExampleGen, Resolver, Resolver, *(getattr(components, name) for name in STEPS[1:])]
    context = mlmd.get_context_by_type_and_name("pipeline_run", taxi.run_id)
    names = {each.id: each.name for each in mlmd.get_execution_types()}
    found = [names[execution.type_id] for execution in mlmd.get_executions_by_context(context.id)]
    assert sorted(found) == sorted(kind.get_class_type() for kind in kinds)


def test_artifacts_have_the_standard_types_and_are_there(artifacts):
    assert {key: artifact.type_name for key, artifact in artifacts.items()} == ARTIFACT_TYPES
    assert {name for name, _ in artifacts} == set(STEPS)
    for artifact in artifacts.values():
        assert Path(artifact.uri).is_dir()


def test_tfx_reads_the_examples(artifacts):
    import tensorflow as tf
    from tfx.types import artifact_utils

    rows = {}
    for split in ("train", "eval", "test"):
        folder = artifact_utils.get_split_uri([artifacts["ExampleGen", "examples"]], split)
        (file,) = Path(folder).iterdir()
        records = list(tf.data.TFRecordDataset(str(file), "GZIP").as_numpy_iterator())
        features = tf.train.Example.FromString(records[0]).features.feature
        assert "tips" not in features
        assert {"fare", "big_tipper"} <= set(features)
        rows[split] = len(records)
    assert sum(rows.values()) == 15_002
    assert rows["train"] > 7 * rows["eval"]


def test_tfdv_reads_statistics_schema_and_anomalies(artifacts):
    import tensorflow_data_validation as tfdv
    from tensorflow_metadata.proto.v0 import anomalies_pb2
    from tfx.types import artifact_utils
    from tfx.utils import io_utils

    folder = artifact_utils.get_split_uri([artifacts["StatisticsGen", "statistics"]], "train")
    statistics = tfdv.load_stats_binary(f"{folder}/FeatureStats.pb")
    assert tfdv.get_feature_stats(statistics.datasets[0], tfdv.FeaturePath(["fare"])).num_stats.mean > 5
    schema = io_utils.SchemaReader().read(f"{artifacts['SchemaGen', 'schema'].uri}/schema.pbtxt")
    assert {"fare", "company"} <= {feature.name for feature in schema.feature}
    folder = artifact_utils.get_split_uri([artifacts["ExampleValidator", "anomalies"]], "test")
    anomalies_pb2.Anomalies.FromString(Path(folder, "SchemaDiff.pb").read_bytes())
    assert not tfdv.validate_statistics(statistics, schema).anomaly_info


def test_tf_transform_reads_the_graph_and_the_transformed_examples(artifacts):
    import tensorflow as tf
    import tensorflow_transform as tft
    from tfx.types import artifact_utils

    output = tft.TFTransformOutput(artifacts["Transform", "transform_graph"].uri)
    assert output.vocabulary_size_by_name("vocabulary_company") <= 100
    folder = artifact_utils.get_split_uri([artifacts["Transform", "transformed_examples"]], "eval")
    files = [str(path) for path in Path(folder).iterdir()]
    rows = tf.data.TFRecordDataset(files, "GZIP").batch(8)
    parsed = tf.io.parse_example(next(iter(rows)), output.transformed_feature_spec())
    assert parsed["fare_xf"].shape == (8, 1)
    assert parsed["big_tipper_xf"].dtype == tf.int64


def test_the_model_loads_without_anything_of_ours(artifacts):
    import tensorflow as tf
    from tfx.utils import path_utils

    model = tf.saved_model.load(path_utils.serving_model_path(artifacts["Trainer", "model"].uri))
    assert sorted(model.signatures) == ["serving_default", "serving_raw", "transform_features"]
    empty = tf.train.Example().SerializeToString()
    answer = model.signatures["serving_default"](examples=tf.constant([empty, empty]))
    assert answer["classes"].numpy().tolist() == [[b"0", b"1"]] * 2
    assert answer["probabilities"].numpy().sum(axis=1) == pytest.approx([1, 1])


def test_tensorboard_finds_the_training_logs(artifacts):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    folder = next(Path(artifacts["Trainer", "model_run"].uri).rglob("validation"))
    events = EventAccumulator(str(folder))
    events.Reload()
    assert len(events.Tensors("epoch_loss")) == 3


def test_tfma_reads_the_evaluation(taxi, artifacts):
    import tensorflow_model_analysis as tfma

    result = tfma.load_eval_result(artifacts["Evaluator", "evaluation"].uri)
    overall = result.get_metrics_for_slice()
    assert overall["auc"]["doubleValue"] > 0.9
    assert overall["example_count"]["doubleValue"] > 1000
    slices = {key[0][0] for key in result.get_slice_names() if key}
    assert slices == {"payment_type", "trip_start_hour"}
    assert result.plots
    validation = tfma.load_validation_result(artifacts["Evaluator", "evaluation"].uri)
    assert validation.validation_ok


def test_the_stock_resolver_finds_the_blessed_model(mlmd, artifacts):
    from tfx.dsl.input_resolution.strategies.latest_blessed_model_strategy import LatestBlessedModelStrategy
    from tfx.types import artifact_utils

    def all_of(name):
        kind = mlmd.get_artifact_type(name)
        return [artifact_utils.deserialize_artifact(kind, a) for a in mlmd.get_artifacts_by_type(name)]

    found = LatestBlessedModelStrategy().resolve_artifacts(
        mlmd, {"model": all_of("Model"), "model_blessing": all_of("ModelBlessing")}
    )
    assert [artifact.uri for artifact in found["model"]] == [artifacts["Trainer", "model"].uri]


def test_stock_readers_understand_the_blessings(taxi, artifacts):
    from tfx.components.util import model_utils

    properties = {
        step.name: step.outputs["blessing"][0].custom_properties
        for step in taxi.store.steps(taxi.run_id)
        if "blessing" in step.outputs
    }
    for name, is_blessed in (
        ("Evaluator", model_utils.is_model_blessed),
        ("InfraValidator", model_utils.is_infra_validated),
    ):
        artifact = artifacts[name, "blessing"]
        for key, value in properties[name].items():
            kind = "int" if isinstance(value, int) else "string"
            getattr(artifact, f"set_{kind}_custom_property")(key, value)
        assert is_blessed(artifact)
        assert len(list(Path(artifact.uri).glob("*BLESSED"))) == 1


def test_the_pushed_version_holds_the_warm_up_and_knows_its_run(taxi, artifacts):
    from tfx.utils import path_utils

    (version,) = list_versions(taxi.home / "models" / "taxi")
    warmup = Path(path_utils.warmup_file_path(str(version.path)))
    stamped = path_utils.stamped_model_path(artifacts["InfraValidator", "blessing"].uri)
    assert warmup.read_bytes() == Path(path_utils.warmup_file_path(stamped)).read_bytes()
    (listed,) = headrace("versions", "taxi", "--json", cwd=taxi.project.parent).json
    assert (listed["version"], listed["state"], listed["run"]) == (version.number, "served", taxi.run_id)
    assert listed["metrics"]["auc"] > 0.9
