"""The example projects: fetched as a sample, and through the data steps."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from components.example_gen.found import Found
from pipeline.config import load_config
from pipeline.metadata.store import open_store

ROOT = Path(__file__).resolve().parents[2]
HEADRACE = Path(sys.executable).parent / "headrace"
PROJECTS = sorted(path.parent.name for path in (ROOT / "data").glob("*/pipeline.yaml"))
LIMIT = 600


@dataclass(frozen=True)
class Sample:
    """What is fetched of a project for the tests.

    Attributes:
      rows: how many.
      target: the file or folder that they are in.
      types: some of the columns that ingest must find, with their types.
      classes: of the label.
      left_out: how many rows ingest may leave out.
    """

    rows: int
    target: str
    types: dict[str, str]
    classes: tuple[str, ...]
    left_out: int = 0


SAMPLES = {
    "flights": Sample(
        4000,
        "flights.csv",
        {
            "date": "date",
            "weekday": "text",
            "carrier": "text",
            "hour": "integer",
            "weather_temp": "float",
            "plane_year": "integer",
            "delayed": "boolean",
        },
        ("false", "true"),
        left_out=4000 // 20,
    ),
    "tweets": Sample(
        4000,
        "tweets.csv",
        {"text": "text", "confidence": "float", "sentiment": "text"},
        ("negative", "neutral", "positive"),
        left_out=4000 // 5,
    ),
    "fashion": Sample(
        1400,
        "images",
        {"image": "image", "image/height": "integer", "image/filename": "text", "kind": "text"},
        (
            *("ankle-boot", "bag", "coat", "dress", "pullover"),
            *("sandal", "shirt", "sneaker", "t-shirt", "trouser"),
        ),
    ),
}


def environment() -> dict[str, str]:
    """With the uv of this checkout, and without a home elsewhere."""
    kept = {name: value for name, value in os.environ.items() if name != "HEADRACE_HOME"}
    return {**kept, "PATH": f"{os.environ['PATH']}{os.pathsep}{ROOT / '.tools' / 'uv' / 'bin'}"}


def call(*command: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )


def copy_project(name: str, folder: Path) -> Path:
    """The files of a project that are under version control, in a folder of their own."""
    project = folder / name
    project.mkdir(parents=True)
    shutil.copy(ROOT / "data" / "downloads.py", folder)
    for file in ("fetch.py", "pipeline.yaml"):
        shutil.copy(ROOT / "data" / name / file, project)
    return project


def fetch(project: Path, rows: int) -> subprocess.CompletedProcess[str]:
    done = call(sys.executable, project / "fetch.py", "--rows", rows, cwd=project.parent)
    if "could not be downloaded" in done.stderr and not os.environ.get("CI"):
        pytest.skip(f"the packages that the data is in cannot be reached from here: {done.stderr}")
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture(scope="session", params=sorted(SAMPLES))
def project(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a sample of its data."""
    project = copy_project(request.param, tmp_path_factory.mktemp("data"))
    fetch(project, SAMPLES[request.param].rows)
    return project


@pytest.mark.parametrize("name", PROJECTS)
def test_every_project_is_whole(name: str) -> None:
    folder = ROOT / "data" / name
    config = load_config(folder)
    assert config.name == name
    readme = (folder / "README.md").read_text()
    for part in ("**Source**", "**Licence**", "**Fetch**", f"headrace run data/{name}"):
        assert part in readme, f"{name}/README.md lacks {part}"
    if name in SAMPLES:
        assert f"python data/{name}/fetch.py" in readme
        assert SAMPLES[name].target in (folder / ".gitignore").read_text()


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_a_run_without_the_data_says_how_to_get_it(name: str, tmp_path: Path) -> None:
    copy_project(name, tmp_path / "data")
    done = call(HEADRACE, "run", f"data/{name}", cwd=tmp_path)
    assert done.returncode == 2
    assert f"{SAMPLES[name].target} is not there yet" in done.stderr
    assert f"fix: get it first: python data/{name}/fetch.py" in done.stderr


@pytest.mark.slow
def test_fetching_again_changes_nothing(project: Path) -> None:
    sample = SAMPLES[project.name]
    before = contents(project)
    assert "is there already" in fetch(project, sample.rows).stdout
    assert contents(project) == before
    assert not list(project.glob(".fetch-*"))


@pytest.mark.slow
def test_a_sample_is_the_same_every_time(project: Path, tmp_path: Path) -> None:
    other = copy_project(project.name, tmp_path)
    fetch(other, SAMPLES[project.name].rows)
    assert contents(other) == contents(project)


@pytest.mark.slow
def test_the_data_passes_the_data_steps(project: Path) -> None:
    sample = SAMPLES[project.name]
    done = call(HEADRACE, "run", project, "--to", "ExampleValidator", "--json", cwd=project.parent)
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    steps = {step["name"]: step for step in report["steps"]}
    assert steps["ExampleValidator"]["state"] == "RUN"
    found = found_of(project, report)
    assert found.types.items() >= sample.types.items()
    assert found.label.classes == sample.classes
    assert sample.rows - sample.left_out <= sum(found.rows.values()) <= sample.rows
    assert set(found.classes["train"]) == set(sample.classes)


def found_of(project: Path, report: dict[str, Any]) -> Found:
    records = {record.name: record for record in open_store(project / ".headrace").steps(report["run_id"])}
    return Found.load(records["ExampleGen"].outputs["examples"][0].uri)


def contents(project: Path) -> dict[str, bytes]:
    """All files of the data, by their paths."""
    target = project / SAMPLES[project.name].target
    files = [target] if target.is_file() else sorted(path for path in target.rglob("*") if path.is_file())
    return {str(path.relative_to(project)): path.read_bytes() for path in files}
