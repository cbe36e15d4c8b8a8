"""Pushing where there is no rename: a version counts from its last object on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from flat_store import FlatStore
from test_pusher_versions import _model

from components.errors import UserError
from components.pusher.remote import RemoteVersions, exists, is_remote
from components.pusher.rollback import roll_back
from pipeline.cli.rollback import command as rollback_command
from pipeline.cli.versions import command as list_command


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


def _push(versions, tmp_path, *names, keep=5) -> list[int]:
    pushed = (versions.push(_model(tmp_path / name, name, files=2), keep) for name in names)
    return [int(each.version.rpartition("/")[2]) for each in pushed]


def test_back_and_forth(versions, tmp_path):
    a, b, c = _push(versions, tmp_path, "a", "b", "c")
    if is_remote(versions.base):
        done = roll_back(versions.base)
        assert done.sentence == f"version {b} is the newest now; version {c} moved to .rolled_back/"
        assert not exists(f"{versions.base}/{c}")
    else:  # a path is not Beam's for the command
        versions.set_aside(c)
    assert (versions.numbers(), versions.aside()) == ([a, b], [c])
    back = versions.push(tmp_path / "c", keep=5)
    assert back.rolled_back
    assert back.sentence == (
        f"not pushed: version {c} in {versions.base} has the same content and was rolled back; "
        f"`headrace rollback {c}` brings it back"
    )
    versions.bring_back(c)
    assert (versions.numbers(), versions.aside()) == ([a, b, c], [])
    assert versions.push(tmp_path / "c", keep=5).sentence.endswith(" has the same content")
    assert versions.moment(c).timestamp() == pytest.approx(c, abs=60)
    versions.set_aside(c)
    (d,) = _push(versions, tmp_path, "d", keep=2)
    assert (versions.numbers(), versions.aside()) == ([b, d], [c])
    versions.set_aside(b)
    (e,) = _push(versions, tmp_path, "e", keep=1)
    assert (versions.numbers(), versions.aside()) == ([e], [c])


@pytest.mark.parametrize("writes", range(3))
def test_a_rollback_that_is_killed_can_be_done_again(store, tmp_path, writes):
    """Three objects are copied; until the last is there and the first deleted, the version is the newest."""
    versions = RemoteVersions("flat://bucket/tips")
    a, b = _push(versions, tmp_path, "a", "b")
    store.left = writes
    with pytest.raises(UserError, match="cannot move the versions"):
        roll_back(versions.base)
    assert (versions.numbers(), versions.aside()) == ([a, b], [])
    store.left = None
    assert roll_back(versions.base).aside == (b,)
    assert (versions.numbers(), versions.aside()) == ([a], [b])
    assert not [key for key in _keys(store) if f"/tips/{b}/" in key]


def test_what_was_left_on_its_way_aside(store, tmp_path):
    """A store tells servers of a folder for as long as there is an object in it."""
    versions = RemoteVersions("flat://bucket/tips")
    a, b = _push(versions, tmp_path, "a", "b")
    roll_back(versions.base)
    left = store(None)._file(f"{versions.base}/{b}/variables/0.data")
    left.write_text("left")
    with pytest.raises(UserError, match=f"there is no version before {a}"):
        roll_back(versions.base)
    assert not left.exists()
    assert roll_back(versions.base, b).restored
    assert versions.numbers() == [a, b]


def test_the_commands_at_a_url(store, tmp_path, monkeypatch):
    monkeypatch.setattr("pipeline.config._PUSH_SCHEMES", ("flat",))
    (tmp_path / "pipeline.yaml").write_text(
        "data: {source: x.csv}\nlabel: y\npush: {to: flat://bucket/tips}\n"
    )
    (tmp_path / "x.csv").write_text("x,y\n1,a\n")
    versions = RemoteVersions("flat://bucket/tips")
    call = lambda command, *more: CliRunner().invoke(command, more, catch_exceptions=False).output  # noqa: E731
    with pytest.raises(UserError, match="no version is here"):
        call(list_command, str(tmp_path))
    a, b = _push(versions, tmp_path, "a", "b")
    for where in (str(tmp_path), "flat://bucket/tips"):
        listed = json.loads(call(list_command, where, "--json"))
        assert [(each["version"], each["state"]) for each in listed] == [(b, "served"), (a, "kept")]
    done = call(rollback_command, str(tmp_path))
    assert done == f"version {a} is the newest now; version {b} moved to .rolled_back/\n"
    lines = call(list_command, "flat://bucket/tips").splitlines()
    assert [line.split()[0] for line in lines[1:]] == [str(b), str(a)]
    assert ["rolled back" in line for line in lines[1:]] == [True, False]
    assert json.loads(call(rollback_command, str(b), "flat://bucket/tips", "--json"))["restored"]
    with pytest.raises(UserError, match="there is no version 5"):
        call(rollback_command, "5", "flat://bucket/tips")


def test_what_beam_does_not_know():
    with pytest.raises(UserError, match="no file system for it") as raised:
        RemoteVersions("nowhere://bucket/tips")
    assert raised.value.where == "push.to: nowhere://bucket/tips"


def test_what_is_a_url():
    assert is_remote("gs://bucket/x")
    assert not is_remote("models/taxi")
    assert not is_remote(str(Path("/models")))
