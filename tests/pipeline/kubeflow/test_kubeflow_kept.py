"""What one run leaves for the next."""

from __future__ import annotations

from pathlib import Path

import pytest

from components.errors import UserError
from pipeline.kubeflow.kept import MODELS, Kept
from pipeline.kubeflow.mounts import to_path, to_uri
from pipeline.kubeflow.tasks import _CHOICES


@pytest.fixture
def model(tmp_path: Path) -> Path:
    (tmp_path / "model" / "variables").mkdir(parents=True)
    (tmp_path / "model" / "saved_model.pb").write_bytes(b"\x00graph")
    (tmp_path / "model" / "variables" / "data").write_bytes(b"weights")
    return tmp_path / "model"


def _put(kept: Kept, uri: str, model: Path, trained_on: str = "s3://b/examples") -> str:
    facts = {"trained_on": trained_on}
    return kept.put(
        MODELS, uri, {"model": str(model)}, facts=facts, metadata={"model": {"n": 1, "uri": uri}}
    ).key


def test_a_model_comes_back_as_it_was(tmp_path: Path, model: Path) -> None:
    kept = Kept(str(tmp_path / "kept"))
    assert kept.records(MODELS) == []
    key = _put(kept, "s3://b/m1", model)
    record = kept.get(MODELS, key, {"model": str(tmp_path / "back")})
    assert record.metadata == {"model": {"n": 1, "uri": "s3://b/m1"}}
    assert (tmp_path / "back" / "saved_model.pb").read_bytes() == b"\x00graph"
    assert (tmp_path / "back" / "variables" / "data").read_bytes() == b"weights"


def test_keeping_again_changes_nothing(tmp_path: Path, model: Path) -> None:
    kept = Kept(str(tmp_path / "kept"))
    first = _put(kept, "s3://b/m1", model)
    _put(kept, "s3://b/m2", model)
    assert _put(kept, "s3://b/m1", model) == first
    assert [record.identity for record in kept.records(MODELS)] == ["s3://b/m2", "s3://b/m1"]


def test_the_oldest_go_and_half_of_one_is_not_there(tmp_path: Path, model: Path) -> None:
    kept = Kept(str(tmp_path / "kept"))
    for number in range(5):
        _put(kept, f"s3://b/m{number}", model)
    assert [record.identity for record in kept.records(MODELS)] == ["s3://b/m4", "s3://b/m3", "s3://b/m2"]
    assert len(list((tmp_path / "kept" / "models").iterdir())) == 3
    (tmp_path / "kept" / "models" / kept.records(MODELS)[0].key / "record.json").unlink()
    assert [record.identity for record in kept.records(MODELS)] == ["s3://b/m3", "s3://b/m2"]


def test_what_is_gone_and_what_cannot_be_reached_are_told(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no longer kept"):
        Kept(str(tmp_path)).get(MODELS, "0123", {"model": str(tmp_path / "back")})
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot be used") as refused:
        _put(Kept(str(tmp_path / "file")), "s3://b/m", tmp_path)
    assert "kubeflow.keep" in str(refused.value)


def test_the_choice_is_that_of_a_local_run(tmp_path: Path, model: Path) -> None:
    kept = Kept(str(tmp_path / "kept"))
    _put(kept, "s3://b/m1", model, trained_on="s3://b/old")
    _put(kept, "s3://b/m2", model, trained_on="s3://b/new")
    records = kept.records(MODELS)
    baseline, base = _CHOICES["Baseline"], _CHOICES["Base"]
    assert baseline(records, {"uri": "s3://b/m3"}).identity == "s3://b/m2"
    assert baseline(records, {"uri": "s3://b/m2"}).identity == "s3://b/m1"
    assert base(records, {"uri": "s3://b/new"}).identity == "s3://b/m1"
    assert baseline(records[:1], {"uri": "s3://b/m2"}) is None


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("gs://b/x", "/gcs/b/x"),
        ("minio://b/x", "/minio/b/x"),
        ("s3://b/x", "/s3/b/x"),
        ("/data/x", "/data/x"),
    ],
)
def test_uris_are_paths_in_a_pod(uri: str, path: str) -> None:
    assert to_path(uri) == path
    assert to_uri(path) == uri
