"""What a search may try, and what is said of what it may not."""

from __future__ import annotations

import pytest

from components.errors import UserError
from components.tuner.config import Range, TuneConfig
from components.tuner.space import described, hyperparameters, put, values_of
from pipeline.config import dump, load_config


@pytest.fixture
def project(tmp_path):
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n")

    def load(*tune: str):
        lines = ["data: {source: rows.csv}", "label: b", "tune:", *(f"  {line}" for line in tune)]
        (tmp_path / "pipeline.yaml").write_text("\n".join(lines))
        return load_config(tmp_path)

    return load


def test_keys_stand_beside_the_options(project):
    tune = project(
        "trials: 3", "model.hidden: {choice: [[64], [128, 64]]}", "train.epochs: {range: [1, 5]}"
    ).tune
    assert tune.trials == 3
    assert tune.space["model.hidden"].samples == ((64,), (128, 64))
    assert tune.space["train.epochs"].samples == (1, 5)
    assert tune.space["train.epochs"].whole


def test_what_is_printed_reads_back(project, tmp_path):
    config = project("model.dropout: {range: [0, 0.5]}")
    (tmp_path / "pipeline.yaml").write_text(dump(config))
    assert load_config(tmp_path).tune == config.tune


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("trails: 3", "tune.trails: unknown key, did you mean 'trials'?"),
        ("model.hiden: {choice: [[64], [32]]}", "no such key, did you mean 'model.hidden'?"),
        ("model.hidden: {choice: [[64], [-1]]}", "(-1,) cannot be its value: Input should be greater than 0"),
        ("model.hidden: {choose: [[64], [32]]}", "choose: unknown key, did you mean 'choice'?"),
        ("model.dropout: {range: [0.5, 0.1]}", "range: 0.5 is not below 0.1"),
        ("model.dropout: {range: [0.0, 1.5]}", "1.5 cannot be its value: Input should be less than 1"),
        ("train.learning_rate.peak: {log: [0, 1]}", "log: 0 is not above 0"),
        ("features.x: {range: [0, 1]}", "a trial changes keys of model and train only"),
        ("model.dropout: {}", "give one of choice, range and log, received none"),
        ("model.dropout: {range: [0, 0.5], log: [0.1, 0.5]}", "received range and log"),
    ],
)
def test_what_cannot_be_tried_is_refused(project, line, said):
    with pytest.raises(UserError) as caught:
        project(line)
    assert said in str(caught.value)
    assert "pipeline.yaml:" in str(caught.value)


def test_values_come_back_as_the_config_has_them():
    space = {
        "model.hidden": Range(choice=((64,), (128, 64))),
        "model.activation": Range(choice=("relu", "swish")),
        "train.batch_size": Range(choice=(None, 64)),
        "train.epochs": Range(range=(2, 9)),
        "train.learning_rate.peak": Range(log=(1e-4, 1e-2)),
    }
    tried = hyperparameters(space)
    values = values_of(tried.values, space)
    assert values["model.hidden"] == [64]
    assert values["train.batch_size"] is None
    assert values["train.epochs"] == 2
    filled = put({"model": {"dropout": 0.1}, "train": {"learning_rate": None}}, values)
    assert filled["model"] == {"dropout": 0.1, "hidden": [64], "activation": "relu"}
    assert filled["train"]["learning_rate"] == {"peak": 1e-4}
    assert described(values).startswith(
        "hidden [64], activation relu, batch_size None, epochs 2, learning_rate.peak 0.0001"
    )


def test_an_empty_search_is_none():
    assert TuneConfig().space == {}
