"""The examples of docs/your-code.md, trained and served; and models of texts, exported."""

from __future__ import annotations

import random
import re
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_transform as tft
from executors import run_steps
from mixed_plan import NUMBER, plan_of
from tfx.utils import path_utils

from components.errors import UserError
from components.records import read_serialized, split_files
from components.trainer import models
from components.trainer.config import ModelConfig
from components.trainer.export import export
from components.trainer.model_inputs import keras_inputs, model_inputs
from components.transform.plan import FeaturePlan
from components.user_code import bundle

pytestmark = pytest.mark.slow

_PAGE = Path(__file__).parents[3] / "docs" / "your-code.md"
WORDS = ("slow", "late", "rude", "kind", "quick", "clean", "the", "a", "driver", "car")


def examples() -> list[str]:
    """The model.py files that the page shows."""
    return [
        block
        for block in re.findall(r"```python\n(.*?)```", _PAGE.read_text(), re.S)
        if "# model.py" in block
    ]


def builder(folder: Path, source: str):
    """What the trainer builds a model with whose source this is."""
    (folder / "model.py").write_text(source)
    (folder / "code.zip").write_bytes(bundle(folder, "model.build_model")[0])
    return models.builder(ModelConfig(build="model.build_model"), str(folder / "code.zip"))


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A table with a text, taken through the steps, with the subclassed example as the model."""
    deal = random.Random(4)
    lines = ["note,miles,zone,tip"]
    for _ in range(600):
        words = deal.choices(WORDS, k=deal.randrange(0, 6))
        miles, zone = deal.expovariate(0.3), deal.choice("abc")
        score = sum((word in WORDS[3:6]) - (word in WORDS[:3]) for word in words) + miles / 10
        lines.append(f"{' '.join(words)},{miles:.2f},{zone},{'yes' if score > 0.3 else 'no'}")
    folder = tmp_path_factory.mktemp("own")
    (folder / "rows.csv").write_text("\n".join(lines) + "\n")
    (folder / "model.py").write_text(examples()[1])
    return run_steps(
        folder / "rows.csv",
        "tip",
        *("ExampleGen", "StatisticsGen", "SchemaGen", "Transform", "Trainer"),
        features={"note": {"kind": "text", "length": 8, "min_count": 1}},
        model={"build": "model.build_model", "hidden": [16], "dropout": 0.2},
        train={"epochs": 10, "batch_size": 32, "learning_rate": {"peak": 0.01}},
    )


@pytest.fixture(scope="module")
def plan(trained):
    return FeaturePlan.load(trained["transform_graph"].uri)


def eval_rows(artifact):
    return np.concatenate([rows for file in split_files(artifact, "eval") for rows in read_serialized(file)])


def test_the_subclassed_example_learns_and_is_served(trained, plan):
    loaded = tf.saved_model.load(path_utils.serving_model_path(trained["model"].uri))
    rows = tf.constant(eval_rows(trained["examples"]))
    answer = loaded.signatures["serving_default"](examples=rows)
    again = loaded.signatures["serving_default"](examples=rows)
    assert np.array_equal(answer["probabilities"], again["probabilities"])
    spec = tft.TFTransformOutput(trained["transform_graph"].uri).transformed_feature_spec()
    stored = tf.io.parse_example(eval_rows(trained["transformed_examples"]), spec)
    truth = stored[plan.label_input][:, 0]
    right = tf.equal(tf.argmax(answer["probabilities"], 1), truth)
    often = float(tf.reduce_mean(tf.cast(right, tf.float32)))
    assert often > 0.8
    assert 0.3 < float(tf.reduce_mean(tf.cast(truth, tf.float32))) < 0.7


def test_every_example_builds_for_every_kind_of_column(plan, tmp_path):
    assert len(examples()) == 2
    for source in examples():
        build = builder(tmp_path, source)
        first, second = (build(plan, ModelConfig(hidden=(4,))) for _ in range(2))
        assert first.built
        second.set_weights(first.get_weights())


@pytest.mark.parametrize(
    "options",
    [
        {"architecture": "transformer", "sequences": {"units": 8, "heads": 2, "dropout": 0.5}},
        {"architecture": "lstm", "sequences": {"units": 4, "layers": 2, "dropout": 0.5}},
        {"architecture": "dcn", "sequences": {"encoder": "gru", "units": 4}, "normalization": "batch"},
    ],
    ids=lambda options: options["architecture"],
)
def test_a_model_of_texts_is_served_as_it_is(trained, plan, options, tmp_path):
    model = models.build(plan, ModelConfig.model_validate({"hidden": (4,), "dropout": 0.5, **options}))
    transform = tft.TFTransformOutput(trained["transform_graph"].uri)
    export(model, plan, transform, "texts", str(tmp_path / "exported"))
    served = tf.saved_model.load(str(tmp_path / "exported"))
    rows = tf.constant(eval_rows(trained["examples"]))
    found = served.signatures["serving_default"](examples=rows)["probabilities"].numpy()
    assert np.array_equal(found, served.signatures["serving_default"](examples=rows)["probabilities"])
    stored = tf.io.parse_example(
        eval_rows(trained["transformed_examples"]), transform.transformed_feature_spec()
    )
    expected = tf.sigmoid(model(model_inputs(plan, stored)))
    np.testing.assert_allclose(found[:, 1:], expected, atol=1e-5)
    # A row alone, without a text.
    raw = served.signatures["serving_raw"](
        note=tf.constant([""]), miles=tf.constant([2.5]), zone=tf.constant(["a"])
    )
    assert np.isfinite(raw["probabilities"]).all()


@pytest.mark.parametrize(
    ("ending", "message"),
    [
        ("3", r"output has shape \(None, 3\), expected \(None, 1\)"),
        ('1, dtype="bfloat16"', "logits are bfloat16, expected float32"),
    ],
)
@pytest.mark.parametrize("subclassed", [False, True])
def test_a_model_with_a_wrong_output_is_refused(tmp_path, ending, message, subclassed):
    functional = f"""\
import keras

def build_model(plan, config):
    inputs = {{"miles_xf": keras.Input((1,), name="miles_xf")}}
    return keras.Model(inputs, keras.layers.Dense({ending})(inputs["miles_xf"]))
"""
    own = f"""\
import keras

class Own(keras.Model):
    def __init__(self):
        super().__init__()
        self.logits = keras.layers.Dense({ending})

    def call(self, inputs):
        return self.logits(inputs["miles_xf"])

def build_model(plan, config):
    return Own()
"""
    build = builder(tmp_path, own if subclassed else functional)
    with pytest.raises(UserError, match=message) as refused:
        build(plan_of(NUMBER), ModelConfig())
    assert refused.value.where == "model.build_model"
    assert "Dense(1" in refused.value.fix


def test_what_goes_wrong_in_a_subclassed_call_is_told_with_its_line(tmp_path):
    build = builder(
        tmp_path,
        "import keras\n\nclass Own(keras.Model):\n    def call(self, inputs):\n"
        '        return inputs["kilometres"]\n\ndef build_model(plan, config):\n    return Own()\n',
    )
    with pytest.raises(UserError, match="kilometres") as refused:
        build(plan_of(NUMBER), ModelConfig())
    assert refused.value.where == "model.py:5"


def test_a_lookup_table_of_a_models_own_is_exported(trained, plan, tmp_path):
    (zone,) = (tensor.name for tensor in plan.inputs if tensor.name.startswith("zone"))

    class Zones(keras.Model):
        def __init__(self):
            super().__init__()
            self.lookup = keras.layers.IntegerLookup(vocabulary=[1, 2], output_mode="multi_hot")
            self.dense = keras.layers.Dense(1)

        def call(self, inputs, training=False):
            return self.dense(self.lookup(inputs[zone]))

    model = Zones()
    model(keras_inputs(plan))
    transform = tft.TFTransformOutput(trained["transform_graph"].uri)
    export(model, plan, transform, "own", str(tmp_path / "exported"))
    served = tf.saved_model.load(str(tmp_path / "exported"))
    stored = tf.io.parse_example(
        eval_rows(trained["transformed_examples"]), transform.transformed_feature_spec()
    )
    found = served.signatures["serving_default"](examples=tf.constant(eval_rows(trained["examples"])))
    expected = tf.sigmoid(model(model_inputs(plan, stored)))
    np.testing.assert_allclose(found["probabilities"][:, 1:], expected, atol=1e-5)
