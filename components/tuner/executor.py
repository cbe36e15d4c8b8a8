"""Run Tuner: search, and leave the best values for Trainer."""

from __future__ import annotations

import gc
import json
from typing import Any

import keras
from tfx.dsl.components.base import base_executor
from tfx.dsl.io import fileio
from tfx.types import artifact_utils

from components.base import say
from components.errors import UserError
from components.records import split_files
from components.trainer import checkpoints, devices, learning, models, training
from components.trainer.config import ModelConfig, TrainConfig
from components.transform.plan import FeaturePlan
from components.tuner.config import TuneConfig
from components.tuner.search import Search
from components.tuner.space import BEST_FILE, RESULTS_FILE, VALUES_FILE, described, values_of


class Executor(base_executor.BaseExecutor):
    """Writes what TFX's Tuner writes, the best values as the config has them, and the trials' logs.

    A search that was killed goes on after the last trial that ended.
    """

    def Do(self, input_dict: dict, output_dict: dict, exec_properties: dict) -> None:
        examples = artifact_utils.get_single_instance(input_dict["examples"])
        graph = artifact_utils.get_single_instance(input_dict["transform_graph"])
        best = artifact_utils.get_single_instance(output_dict["best_hyperparameters"])
        results = artifact_utils.get_single_instance(output_dict["tuner_results"])
        sections = json.loads(exec_properties["config"])
        tune = TuneConfig.model_validate(sections.pop("tune"))
        plan = FeaturePlan.load(graph.uri)
        objective = _objective(tune.objective, plan)
        files = {split: split_files(examples, split) for split in ("train", "eval")}

        with training.scratch_folder(self._get_tmp_dir()) as scratch:

            def train(model: ModelConfig, train: TrainConfig, trial: str) -> list[float]:
                keras.backend.clear_session()
                gc.collect()
                used, train = devices.ready(train)
                trained = training.train(
                    files,
                    plan,
                    model,
                    train,
                    models.builder(model, exec_properties["user_code"]),
                    used,
                    run_uri=f"{results.uri}/logs/{trial}",
                    scratch=scratch / trial,
                )
                return trained.history[f"val_{objective}"]

            place = checkpoints.place(self._context, input_dict, exec_properties)
            search = Search(tune, sections, train, f"{place or scratch}.search", objective)
            search.search(verbose=0)
        if place:
            checkpoints.remove(place)
        if not search.done:
            raise UserError(
                f"every one of {len(search.failed)} trials failed, the last with: {search.last_failure}",
                where="tune",
                fix="narrow the values down, and see the step's log",
            )
        _write(search, tune, best.uri, results.uri)
        say(best, _account(search, tune, objective))


def _objective(wanted: str | None, plan: FeaturePlan) -> str:
    """The metric that decides: the first that training follows, unless the config names one."""
    followed = [metric.name for metric in learning.metrics(plan)]
    if wanted is not None and wanted not in (*followed, "loss"):
        raise UserError(
            f"training does not follow {wanted!r}",
            where="tune.objective",
            fix=f"choose one of {', '.join(followed)}, loss",
        )
    return wanted or followed[0]


def _write(search: Search, tune: TuneConfig, best_uri: str, results_uri: str) -> None:
    first = search.done[0].hyperparameters
    _dump(f"{best_uri}/{BEST_FILE}", first.get_config())
    _dump(f"{best_uri}/{VALUES_FILE}", values_of(first.values, tune.space))
    # pandas.read_json takes it as it is.
    rows = [
        {"trial_id": trial.trial_id, "score": trial.score, **trial.hyperparameters.values}
        for trial in search.done
    ]
    _dump(f"{results_uri}/{RESULTS_FILE}", rows)


def _dump(path: str, value: Any) -> None:
    with fileio.open(path, "w") as stream:
        stream.write(json.dumps(value, indent=1))


def _account(search: Search, tune: TuneConfig, objective: str) -> str:
    best, last = search.done[0], search.done[-1]
    failed = f", {len(search.failed)} failed" if search.failed else ""
    values = described(values_of(best.hyperparameters.values, tune.space))
    return (
        f"{len(search.done)} trials{failed}; eval {objective} from {last.score:.4f} to {best.score:.4f}, "
        f"that with {values}"
    )
