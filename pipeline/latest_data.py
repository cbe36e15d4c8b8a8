"""What the latest run of a pipeline saw of its data, for commands about the schema."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from components.errors import UserError
from pipeline.config import PipelineConfig
from pipeline.local.quiet import stderr_to
from pipeline.metadata.records import Run, StepRecord
from pipeline.metadata.store import open_store

if TYPE_CHECKING:
    from components.example_gen.found import Found


@dataclass(frozen=True)
class LatestData:
    """The data of the latest run that got as far as statistics.

    Attributes:
      run_id: the run.
      found: what ingest found.
      statistics: split to TFDV's statistics.
      inferred: the schema that the train split looks like.
    """

    run_id: str
    found: Found
    statistics: dict[str, Any]
    inferred: Any


def latest_data(config: PipelineConfig) -> LatestData:
    """Reads it from ML Metadata and the artifacts.

    Raises:
      UserError: there was no such run, or its files are gone.
    """
    run, steps = _latest(config)
    examples = steps["ExampleGen"].outputs["examples"][0].uri
    statistics = steps["StatisticsGen"].outputs["statistics"][0].uri
    if not Path(statistics).is_dir() or not Path(examples).is_dir():
        raise UserError(f"the files of run {run.id} are gone", fix="run the pipeline again")
    with quiet_libraries():
        from components.example_gen.found import Found
        from components.schema_gen.infer import infer
        from components.statistics_gen.files import load

        found = Found.load(examples)
        loaded = {split: load(statistics, split) for split in found.rows}
        return LatestData(run.id, found, loaded, infer(loaded["train"], found))


@contextmanager
def quiet_libraries() -> Iterator[None]:
    """Keeps what the libraries print when they load off the terminal."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    with warnings.catch_warnings(), stderr_to(Path(os.devnull)):
        warnings.simplefilter("ignore")
        yield


def _latest(config: PipelineConfig) -> tuple[Run, dict[str, StepRecord]]:
    store = open_store(config.home)
    for run in store.runs():
        if run.pipeline != config.name:
            continue
        steps = {step.name: step for step in store.steps(run.id)}
        made = steps.get("StatisticsGen")
        if made and made.outputs.get("statistics") and "ExampleGen" in steps:
            return run, steps
    raise UserError(f"no run of {config.name} has got as far as statistics", fix="start with `headrace run`")
