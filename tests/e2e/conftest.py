"""Whole runs, each made once and looked at by many tests."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from headrace_calls import Done, Warm, headrace
from own_model import OwnModel

from pipeline.metadata.store import Store, open_store

TAXI = Path(__file__).parents[2] / "data" / "taxi" / "pipeline.yaml"


@pytest.fixture(scope="session")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warm]:
    """The command in a process that stays."""
    process = Warm(tmp_path_factory.mktemp("warm"))
    yield process
    process.close()


@dataclass(frozen=True)
class Taxi:
    """The taxi example after two runs of which the second had nothing to do."""

    project: Path
    first: Done
    second: Done

    @property
    def home(self) -> Path:
        return self.project / ".headrace"

    @property
    def store(self) -> Store:
        return open_store(self.home)

    @property
    def run_id(self) -> str:
        """Of the first run."""
        return self.store.runs()[-1].id


@pytest.fixture(scope="session")
def taxi(tmp_path_factory: pytest.TempPathFactory) -> Taxi:
    """Two runs of the taxi example with few epochs, in a folder of its own."""
    project = tmp_path_factory.mktemp("projects") / "taxi"
    project.mkdir()
    shutil.copy(TAXI, project)
    few = ("--set", "train.epochs=3")
    first = headrace("run", "taxi", *few, cwd=project.parent)
    assert first.code == 0, first.said
    return Taxi(project, first, headrace("run", "taxi", *few, cwd=project.parent))


@pytest.fixture(scope="session")
def own_model(tmp_path_factory: pytest.TempPathFactory, warm: Warm) -> OwnModel:
    """A small project with a model of its own, run once."""
    project = OwnModel(tmp_path_factory.mktemp("own") / "tips", warm)
    project.write()
    first = project.run()
    assert first.code == 0, first.said
    return project
