"""Transform without transformed examples: the graph alone, and an input pipeline that applies it."""

from __future__ import annotations

import json
import random

import pytest
import tensorflow as tf
import tensorflow_transform as tft
from executors import run_steps
from served_features import on_the_fly, read

from components.transform.on_the_fly import reader
from components.transform.plan import FeaturePlan
from pipeline.config import load_config
from pipeline.graph import build_pipeline
from pipeline.inputs import gather


@pytest.fixture
def folder(tmp_path):
    deal = random.Random(17)
    rows = [f"{deal.gauss(0, 1):.3f},{deal.choice('abc')},{deal.choice(['up', 'down'])}" for _ in range(80)]
    (tmp_path / "rows.csv").write_text("\n".join(["n,zone,y", *rows]) + "\n")
    return tmp_path


@pytest.mark.slow
def test_the_plan_says_that_the_graph_is_to_be_applied(folder):
    steps = ("ExampleGen", "StatisticsGen", "SchemaGen", "Transform")
    made = run_steps(folder / "rows.csv", "y", *steps, transform={"materialize": False})
    assert "transformed_examples" not in made
    uri = made["transform_graph"].uri
    plan = FeaturePlan.load(uri)
    assert plan.raw_graph == uri
    graph = tft.TFTransformOutput(uri)
    rows = tf.constant(read(made["examples"], "train"))
    found = reader(plan, graph.transformed_feature_spec())(rows)
    assert set(found) == {"n_xf", "zone_xf", "y_xf"}
    layer = graph.transform_features_layer()
    expected = layer(tf.io.parse_example(rows, graph.raw_feature_spec()))
    for name, values in found.items():
        assert values.shape == (len(rows), 1)
        assert values.numpy().tobytes() == expected[name].numpy().tobytes()
    assert on_the_fly(made, "train")["n_xf"].tobytes() == found["n_xf"].numpy().tobytes()


@pytest.mark.parametrize("materialize", [True, False])
def test_trainer_takes_the_examples_that_there_are(folder, materialize):
    content = {"data": {"source": "rows.csv"}, "label": "y", "transform": {"materialize": materialize}}
    (folder / "pipeline.yaml").write_text(json.dumps(content))
    config = load_config(folder)
    steps = {step.id: step for step in build_pipeline(config, gather(config), root=folder).components}
    assert ("transformed_examples" in steps["Transform"].outputs) == materialize
    tie = steps["Trainer"].inputs["examples"]
    expected = ("Transform", "transformed_examples") if materialize else ("ExampleGen", "examples")
    assert (tie.producer_component_id, tie.output_key) == expected
