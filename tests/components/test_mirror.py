"""A folder that follows a URL, and a server that serves what is in it."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest
from flat_store import FlatStore
from test_pusher_versions import _model

from components.errors import UserError
from components.pusher.mirror import Mirror
from components.pusher.remote import RemoteVersions
from components.pusher.rollback import roll_back
from components.pusher.versions import digest, list_versions
from serving.client import Client
from serving.process import ServerProcess
from serving.spec import VersionPolicy

URL = "flat://bucket/tips"


@pytest.fixture(autouse=True)
def versions(tmp_path, monkeypatch) -> RemoteVersions:
    monkeypatch.setattr(FlatStore, "root", tmp_path / "objects", raising=False)
    monkeypatch.setattr(FlatStore, "left", None)
    FlatStore.root.mkdir()
    return RemoteVersions(URL)


def _push(versions, folder: Path) -> int:
    return int(versions.push(folder, keep=5).version.rpartition("/")[2])


def _here(folder: Path) -> list[int]:
    return [int(path.name) for path in list_versions(folder)]


def test_it_has_what_is_wanted_of_what_is_there(versions, tmp_path):
    folder = tmp_path / "here"
    newest, two = Mirror(URL, folder), Mirror(URL, tmp_path / "two", VersionPolicy("latest", 2).numbers)
    newest.update()
    assert _here(folder) == []
    numbers = [_push(versions, _model(tmp_path / name, name, files=2)) for name in "abc"]
    newest.update()
    two.update()
    assert (_here(folder), _here(tmp_path / "two")) == (numbers[2:], numbers[1:])
    assert digest(folder / str(numbers[2])) == digest(tmp_path / "c")
    roll_back(URL, numbers[0])
    (folder / ".staged-1").mkdir()  # as one that was killed leaves
    newest.update()
    two.update()
    assert (_here(folder), _here(tmp_path / "two")) == (numbers[:1], numbers[:1])
    versions.set_aside(numbers[0])
    newest.update()
    assert _here(folder) == numbers[:1]


def test_what_is_not_what_was_pushed_stays_away(versions, tmp_path):
    a, b = (_push(versions, _model(tmp_path / name, name)) for name in "ab")
    mirror = Mirror(URL, tmp_path / "here", lambda numbers: [*reversed(numbers)])
    versions._write(f"{URL}/{a}/variables/0.data", b"other")
    with pytest.raises(UserError, match=f"version {a} is not what was pushed"):
        mirror.update()
    assert _here(tmp_path / "here") == [b]


@pytest.mark.slow
def test_a_server_follows_what_is_pushed_and_taken_back(versions, serving_folder, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(serving_folder, other)
    (other / "assets.extra" / "note").write_text("other content, so another version")
    folder, failures = tmp_path / "here", []
    a = _push(versions, Path(serving_folder))
    mirror = Mirror(URL, folder)
    mirror.update()
    with (
        mirror.following(0.2, failures.append),
        ServerProcess(folder, "tips", options=["--poll", "0.2"]) as server,
    ):
        client = Client(server.url, "tips", retries=0)

        def wait_for(version: int) -> None:
            deadline = time.monotonic() + 60
            while {int(each["version"]): each["state"] for each in client.status()}.get(
                version
            ) != "AVAILABLE":
                client.predict([{}])  # an error in between is raised
                assert time.monotonic() < deadline

        wait_for(a)
        b = _push(versions, other)
        wait_for(b)
        roll_back(URL)
        wait_for(a)
        roll_back(URL, b)
        wait_for(b)
    assert not failures
