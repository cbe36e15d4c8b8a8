"""The search by each method, killed and continued; and the Tuner step, whose values Trainer takes."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

import keras_tuner
import pytest
from executors import run_steps

from components.errors import UserError
from components.trainer.config import ModelConfig, TrainConfig
from components.tuner.config import Range, TuneConfig
from components.tuner.search import Search, direction

SPACE = {
    "model.dropout": Range(range=(0.0, 0.9)),
    "train.learning_rate.peak": Range(log=(1e-4, 1e-1)),
}
SECTIONS = {
    "model": ModelConfig().model_dump(mode="json"),
    "train": TrainConfig(epochs=9).model_dump(mode="json"),
}


def bowl(model: ModelConfig, train: TrainConfig, trial: str) -> list[float]:
    """Best at dropout 0.3 and rate 0.01; better with every epoch."""
    distance = (model.dropout - 0.3) ** 2 + (math.log10(train.learning_rate.peak) + 2) ** 2 / 9
    return [distance + 1 / epoch for epoch in range(1, train.epochs + 1)]


def search(folder: Path, train=bowl, **options) -> Search:
    made = Search(TuneConfig(space=SPACE, **options), SECTIONS, train, str(folder), "loss")
    made.search(verbose=0)
    return made


@pytest.mark.parametrize("method", ["random", "bayesian"])
def test_the_best_trial_is_near_the_minimum(tmp_path, method):
    done = search(tmp_path, method=method, trials=25).done
    assert len(done) == 25
    assert [trial.score for trial in done] == sorted(trial.score for trial in done)
    assert done[0].score - 1 / 9 < 0.05


def test_hyperband_gives_all_epochs_to_the_best_alone(tmp_path):
    done = search(tmp_path, method="hyperband").done
    epochs = [trial.hyperparameters.values["tuner/epochs"] for trial in done]
    assert min(epochs) < max(epochs) == 9
    assert epochs[0] == 9
    assert epochs.count(9) < len(epochs) / 2


def test_the_same_seed_tries_the_same(tmp_path):
    tried = [
        [trial.hyperparameters.values for trial in search(tmp_path / name, method="random", trials=5).done]
        for name in "ab"
    ]
    assert tried[0] == tried[1]


def test_a_killed_search_makes_the_rest_of_its_trials(tmp_path):
    made = []

    def killed(model, train, trial):
        made.append(trial)
        if len(made) == 4:
            raise KeyboardInterrupt
        return bowl(model, train, trial)

    with pytest.raises(KeyboardInterrupt):
        search(tmp_path, killed, method="random", trials=6)
    ended = search(tmp_path, killed, method="random", trials=6)
    assert len(ended.done) == 6
    assert len(made) == 7
    whole = search(tmp_path / "whole", method="random", trials=6)
    assert [t.hyperparameters.values for t in ended.done] == [t.hyperparameters.values for t in whole.done]


def test_a_trial_that_fails_is_one_of_many(tmp_path):
    def mostly(model, train, trial):
        if model.dropout > 0.3:
            raise UserError("the loss became nan")
        return bowl(model, train, trial)

    ended = search(tmp_path, mostly, method="random", trials=12)
    assert len(ended.done) + len(ended.failed) == 12
    assert len(ended.failed) > 3
    assert ended.last_failure == "the loss became nan"


def test_what_goes_wrong_by_itself_is_raised(tmp_path):
    def broken(model, train, trial):
        raise TypeError("no such argument")

    with pytest.raises(RuntimeError, match="TypeError: no such argument"):
        search(tmp_path, broken, trials=3)


@pytest.mark.parametrize(
    ("objective", "expected"), [("auc", "max"), ("accuracy", "max"), ("loss", "min"), ("rmse", "min")]
)
def test_direction(objective, expected):
    assert direction(objective) == expected


@pytest.mark.slow
def test_trainer_takes_what_tuner_found(tmp_path):
    import keras  # noqa: F401  before tensorflow_transform, as in a step's process

    deal = random.Random(4)
    rows = [(deal.gauss(0, 1), deal.gauss(0, 1)) for _ in range(600)]
    lines = ["a,b,y", *(f"{a:.4f},{b:.4f},{'yes' if a + b > 0 else 'no'}" for a, b in rows)]
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n")
    made = run_steps(
        tmp_path / "rows.csv",
        "y",
        *("ExampleGen", "StatisticsGen", "SchemaGen", "Transform", "Tuner", "Trainer"),
        model={"architecture": "mlp"},
        train={"epochs": 2},
        tune={
            "method": "random",
            "trials": 3,
            "epochs": 1,
            "model.hidden": {"choice": [[4], [6, 3]]},
            "train.learning_rate.peak": {"log": [1e-3, 1e-1]},
        },
    )
    best = json.loads((Path(made["best_hyperparameters"].uri) / "values.json").read_text())
    trials = json.loads((Path(made["tuner_results"].uri) / "tuner_results.json").read_text())
    assert len(trials) == 3
    assert trials[0]["score"] == max(trial["score"] for trial in trials)
    assert trials[0]["train.learning_rate.peak"] == best["train.learning_rate.peak"]
    assert json.loads(trials[0]["model.hidden"]) == best["model.hidden"]
    stock = keras_tuner.HyperParameters.from_config(
        json.loads((Path(made["best_hyperparameters"].uri) / "best_hyperparameters.txt").read_text())
    )
    assert stock.get("train.learning_rate.peak") == best["train.learning_rate.peak"]
    inputs = {"[4]": 2 * 4 + 4 + 4 + 1, "[6, 3]": 2 * 6 + 6 + 6 * 3 + 3 + 3 + 1}
    said = made["model"].get_string_custom_property("summary")
    assert f"{inputs[str(best['model.hidden'])]} parameters, 2 epochs" in said
    assert f"tuned: hidden {best['model.hidden']}, learning_rate.peak " in said
    assert "3 trials; eval auc from " in made["best_hyperparameters"].get_string_custom_property("summary")
