"""The fingerprint of a step's code: what it covers, and so what is not taken from the cache."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from pipeline import code
from pipeline.config import load_config
from pipeline.graph import build_pipeline
from pipeline.inputs import gather

ROOT = Path(code.__file__).parent.parent


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the code that steps run, to be changed."""
    for package in ("components", "serving"):
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(code, "_ROOT", tmp_path)
    return tmp_path


def test_the_server_that_infra_validator_starts_is_part_of_its_code(source: Path) -> None:
    project = source / "project"
    project.mkdir()
    (project / "x.csv").write_text("x,y\n1,a\n2,b\n")
    (project / "pipeline.yaml").write_text("data: {source: x.csv}\nlabel: y\n")
    config = load_config(project)

    def codes() -> dict[str, dict[str, str]]:
        components = build_pipeline(config, gather(config), root=project).components
        return {
            each.id: json.loads(each.exec_properties["code"])
            for each in components
            if "code" in each.exec_properties
        }

    before = codes()
    changed = source / "serving" / "rest_json.py"
    changed.write_text(changed.read_text() + "# changed\n")
    after = codes()
    assert [name for name in before if before[name] != after[name]] == ["InfraValidator"]
    assert before["InfraValidator"].keys() == after["InfraValidator"].keys()
    # What only the client and `headrace deploy` use has no part in it.
    assert not any(path.startswith(("serving/client", "serving/deploy")) for path in after["InfraValidator"])
