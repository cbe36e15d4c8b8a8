"""Versions on disk, and what a project's PATH means."""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path

import pytest

from components.errors import UserError
from pipeline.cli.model_path import find_model
from serving import memory
from serving.errors import ServingError
from serving.hosted import HostedModel
from serving.model import Model
from serving.versions import Version, list_versions


def make_version(base: Path, name: str) -> Path:
    path = base / name
    path.mkdir(parents=True)
    (path / "saved_model.pb").write_bytes(b"")
    return path


def test_newest_first_and_only_whole_ones(tmp_path: Path) -> None:
    for name in ("9", "10", ".11.tmp", "11.tmp", "v12", "-13", "²"):
        make_version(tmp_path, name)
    (tmp_path / "14").mkdir()
    (tmp_path / "15").write_text("")
    assert [version.number for version in list_versions(tmp_path)] == [10, 9]
    assert list_versions(tmp_path / "absent") == []


def test_last_change_sees_nested_files(tmp_path: Path) -> None:
    path = make_version(tmp_path, "1")
    before = Version(1, path).last_change()
    os.utime(path / "saved_model.pb", ns=(before, before + 10))
    assert Version(1, path).last_change() == before + 10


def test_a_failed_version_is_tried_again_when_it_changes(tmp_path: Path) -> None:
    broken = {2}
    tried: list[int] = []

    def load(path: Path, number: int) -> Model:
        tried.append(number)
        if number in broken:
            raise ServingError("half copied")
        return Model(path=path, version=number, signatures={}, functions={}, manifest=None)

    make_version(tmp_path, "1")
    newer = make_version(tmp_path, "2")
    hosted = HostedModel(tmp_path, "m", load)
    assert hosted.start().version == 1
    assert not hosted.poll()
    assert tried == [2, 1]
    broken.clear()
    (newer / "variables").mkdir()
    os.utime(newer, ns=(0, 2**61))
    assert hosted.poll()
    assert (tried, hosted.current.version) == ([2, 1, 2], 2)


def test_a_project_leads_to_its_pushed_models(tmp_path: Path) -> None:
    (tmp_path / "pipeline.yaml").write_text("name: trips\ndata: {source: trips.csv}\nlabel: tipped\n")
    base = tmp_path / ".headrace" / "models" / "trips"
    make_version(base, "1")
    for path in (tmp_path, tmp_path / "pipeline.yaml"):
        found = find_model(path)
        assert (found.path, found.name, found.label) == (base, "trips", "tipped")


def test_a_data_file_leads_to_its_pushed_models(tmp_path: Path) -> None:
    (tmp_path / "trips.csv").write_text("a,b\n1,2\n")
    base = tmp_path / ".headrace" / "models" / "trips"
    make_version(base, "1")
    for path in (tmp_path, tmp_path / "trips.csv"):
        assert find_model(path).path == base
    make_version(tmp_path / ".headrace" / "models" / "fares", "1")
    with pytest.raises(UserError, match="several models were pushed here: fares, trips"):
        find_model(tmp_path)


def test_loading_gives_way_and_what_it_changed_is_as_before() -> None:
    before = sys.getswitchinterval()
    with memory.giving_way():
        assert sys.getswitchinterval() < before / 10
        assert not gc.isenabled()
    assert sys.getswitchinterval() == before
    assert gc.isenabled()
