"""The search: keras-tuner decides what to try, a trial is a training of ours."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import keras_tuner
from absl import logging
from keras_tuner.engine import base_tuner
from keras_tuner.engine import trial as trials
from pydantic import ValidationError

from components.errors import UserError
from components.evaluator.config import FALLING
from components.trainer.config import ModelConfig, TrainConfig
from components.tuner.config import TuneConfig
from components.tuner.space import described, hyperparameters, put, values_of

# Trains, with the name of the trial, and returns the objective on the eval split after each epoch.
Train = Callable[[ModelConfig, TrainConfig, str], list[float]]


def direction(objective: str) -> str:
    """Whether the objective is to fall ("min") or to rise ("max")."""
    return "min" if objective in FALLING else "max"


class Search(base_tuner.BaseTuner):
    """Tries sets of values until the oracle has seen enough.

    Its state is on disk after each trial: a search that was interrupted makes the rest of its trials.

    Args:
      config: what to search, and how.
      sections: the `model` and `train` sections, whose values hold where the space says nothing.
      train: trains with the two sections.
      folder: where the state is kept.
      objective: the metric's name.
    """

    def __init__(
        self, config: TuneConfig, sections: Mapping[str, Any], train: Train, folder: str, objective: str
    ) -> None:
        self._config, self._sections, self._train = config, sections, train
        self._epochs = config.epochs or sections["train"]["epochs"]
        self._better = min if direction(objective) == "min" else max
        self.last_failure = ""
        super().__init__(_oracle(config, objective, self._epochs), directory=folder, project_name="search")

    def run_trial(self, trial: trials.Trial, *args: Any, **kwargs: Any) -> dict[str, float]:
        """Trains once; the trial counts by its best epoch."""
        tried = trial.hyperparameters.values
        values = values_of(tried, self._config.space)
        epochs = tried.get("tuner/epochs", self._epochs)
        filled = put(self._sections, {**values, "train.epochs": epochs})
        began = time.monotonic()
        try:
            model, train = (
                ModelConfig.model_validate(filled["model"]),
                TrainConfig.model_validate(filled["train"]),
            )
            curve = self._train(model, train, trial.trial_id)
        except (UserError, ValidationError) as error:
            # Values that do not go together, or a rate at which the loss is no number any more.
            self.last_failure = str(error)
            logging.warning("trial %s  %s: failed: %s", trial.trial_id, described(values), error)
            raise keras_tuner.errors.FailedTrialError(str(error)) from error
        except Exception as error:
            # keras-tuner would count it as a failed trial and go on.
            raise keras_tuner.errors.FatalRuntimeError(f"{type(error).__name__}: {error}") from error
        best = self._better(curve)
        seconds = time.monotonic() - began
        logging.info(
            "trial %s  %s %.4f  %d epochs  %.1f s  %s",
            trial.trial_id,
            self.oracle.objective.name,
            best,
            len(curve),
            seconds,
            described(values),
        )
        return {self.oracle.objective.name: best}

    @property
    def done(self) -> list[trials.Trial]:
        """The trials that came to an end, the best first."""
        ended = [each for each in self.oracle.trials.values() if each.status == "COMPLETED"]
        return sorted(ended, key=lambda each: each.score, reverse=self._better is max)

    @property
    def failed(self) -> list[trials.Trial]:
        """The trials that did not."""
        return [each for each in self.oracle.trials.values() if each.status in ("FAILED", "INVALID")]


def _oracle(config: TuneConfig, objective: str, epochs: int) -> keras_tuner.Oracle:
    common: dict[str, Any] = {
        "objective": keras_tuner.Objective(objective, direction(objective)),
        "hyperparameters": hyperparameters(config.space),
        "seed": config.seed,
        "allow_new_entries": False,
        # A trial that fails is one of many; keras-tuner would stop at the third in a row.
        "max_consecutive_failed_trials": config.trials + 1,
    }
    if config.method == "hyperband":
        return keras_tuner.oracles.HyperbandOracle(max_epochs=epochs, **common)
    kind = {
        "random": keras_tuner.oracles.RandomSearchOracle,
        "bayesian": keras_tuner.oracles.BayesianOptimizationOracle,
    }[config.method]
    return kind(max_trials=config.trials, **common)
