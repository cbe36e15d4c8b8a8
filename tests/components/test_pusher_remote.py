"""Pushing where there is no rename: a version counts from its last object on."""

from __future__ import annotations

from pathlib import Path

import pytest
from flat_store import FlatStore
from test_pusher_versions import _model

from components.errors import UserError
from components.pusher.remote import RemoteVersions, exists, is_remote


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setattr(FlatStore, "root", tmp_path / "objects", raising=False)
    monkeypatch.setattr(FlatStore, "left", None)
    monkeypatch.setattr(FlatStore, "written", [])
    FlatStore.root.mkdir()
    return FlatStore


@pytest.fixture(params=["flat://bucket/tips", "{folder}/tips"])
def versions(request, store, tmp_path):
    """An object store, and Beam's local file system, which has folders."""
    return RemoteVersions(request.param.format(folder=tmp_path / "local"))


def _keys(store) -> list[str]:
    return sorted(each.path for each in FlatStore(None)._list(""))


def test_versions_come_whole_once_and_go(versions, tmp_path):
    first = versions.push(_model(tmp_path / "a", "a"), keep=2)
    assert first.new
    number = int(first.version.rpartition("/")[2])
    assert first.sentence == f"pushed version {number} to {versions.base}"
    assert versions.numbers() == [number]
    again = versions.push(_model(tmp_path / "copy", "a"), keep=2)
    assert (again.new, again.version) == (False, first.version)
    assert again.sentence == f"not pushed again: version {number} in {versions.base} has the same content"
    versions.push(_model(tmp_path / "b", "b"), keep=2)
    back = versions.push(tmp_path / "a", keep=2)
    assert back.sentence.endswith("is newer and is what is served")
    last = versions.push(_model(tmp_path / "c", "c"), keep=2)
    assert last.sentence.endswith(f"; deleted version {number} (keep: 2)")
    assert len(versions.numbers()) == 2
    assert not versions._match(f"{versions.base}/{number}/**")


def test_the_model_is_the_last_object(store, tmp_path):
    base = "flat://bucket/tips"
    pushed = RemoteVersions(base).push(_model(tmp_path / "a", "a", files=3), keep=2)
    number = pushed.version.rpartition("/")[2]
    assert store.written[-1] == f"{base}/{number}/saved_model.pb"
    assert next(key for key in store.written if "/saved_model.pb" in key).startswith(f"{base}/.staged-")
    assert _keys(store) == [
        f"{base}/.digests/{number}",
        f"{base}/{number}/saved_model.pb",
        *(f"{base}/{number}/variables/{each}.data" for each in range(3)),
    ]
    assert exists(pushed.version)
    assert not exists(f"{base}/1")


@pytest.mark.parametrize("writes", range(11))
def test_an_end_in_the_middle_leaves_the_old_version(store, tmp_path, writes):
    """Five files go up, and are copied, with a digest: wherever it ends, there is no half version."""
    versions = RemoteVersions("flat://bucket/tips")
    old = versions.push(_model(tmp_path / "old", "old"), keep=5)
    before = versions.numbers()
    model = _model(tmp_path / "new", "new", files=4)
    store.left = writes
    with pytest.raises(UserError, match="No space left on device"):
        versions.push(model, keep=5)
    assert versions.numbers() == before
    store.left = None
    done = versions.push(model, keep=5)
    assert done.new
    assert len(versions.numbers()) == 2
    assert not [key for key in _keys(store) if ".staged-" in key]
    folders = {key.split("/")[4] for key in _keys(store) if key.split("/")[4].isdigit()}
    assert folders == {old.version.rpartition("/")[2], done.version.rpartition("/")[2]}


def test_what_beam_does_not_know():
    with pytest.raises(UserError, match="no file system for it") as raised:
        RemoteVersions("nowhere://bucket/tips")
    assert raised.value.where == "push.to: nowhere://bucket/tips"


def test_what_is_a_url():
    assert is_remote("gs://bucket/x")
    assert not is_remote("models/taxi")
    assert not is_remote(str(Path("/models")))
