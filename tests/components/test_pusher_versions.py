"""Version directories: whole or not there, numbered once, the same content once."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from components.errors import UserError
from components.pusher import versions
from components.pusher.versions import digest, list_versions, push


@pytest.fixture
def base(tmp_path) -> Path:
    return tmp_path / "models" / "tips"


def _model(folder: Path, content: str, files: int = 1) -> Path:
    (folder / "variables").mkdir(parents=True)
    (folder / "saved_model.pb").write_text(content)
    for number in range(files):
        (folder / "variables" / f"{number}.data").write_text(f"{content} {number}")
    return folder


def test_a_push_copies_the_whole_model(tmp_path, base):
    model = _model(tmp_path / "a", "a")
    os.utime(model, (1, 1))
    before = int(time.time())
    done = push(model, base, keep=5)
    assert done.version.stat().st_mtime >= before
    assert done.new
    assert done.version == base / done.version.name
    assert before <= int(done.version.name) <= time.time()
    assert digest(done.version) == digest(model)
    assert done.sentence == f"pushed version {done.version.name} to {base}"
    assert [path.name for path in base.iterdir() if not path.name.startswith(".")] == [done.version.name]


def test_the_same_content_is_not_pushed_twice(tmp_path, base):
    first = push(_model(tmp_path / "a", "a"), base, keep=5)
    again = push(_model(tmp_path / "copy", "a"), base, keep=5)
    assert not again.new
    assert again.version == first.version
    assert again.sentence == f"not pushed again: version {first.version.name} in {base} has the same content"
    second = push(_model(tmp_path / "b", "b"), base, keep=5)
    back = push(tmp_path / "a", base, keep=5)
    assert back.version == first.version
    assert back.sentence.endswith(f"; version {second.version.name} is newer and is what is served")
    assert len(list_versions(base)) == 2


@pytest.mark.parametrize("change", ["renamed", "moved", "edited"])
def test_any_difference_is_another_content(tmp_path, change):
    one, two = _model(tmp_path / "a", "a"), _model(tmp_path / "b", "a")
    assert digest(one) == digest(two)
    file = two / "variables" / "0.data"
    if change == "renamed":
        file.rename(file.with_name("1.data"))
    elif change == "moved":
        file.rename(two / "0.data")
    else:
        file.write_text("a 1")
    assert digest(one) != digest(two)


def test_the_newest_versions_stay(tmp_path, base):
    pushed = [push(_model(tmp_path / name, name), base, keep=2) for name in "abcd"]
    assert list_versions(base) == [pushed[2].version, pushed[3].version]
    assert pushed[3].sentence.endswith(f"; deleted version {pushed[1].version.name} (keep: 2)")
    assert [path.name for path in base.iterdir() if path.name.startswith(".")] == [".push.lock"]


def test_a_number_is_never_used_again(tmp_path, base):
    numbers = []
    for name in "abc":
        numbers.append(int(push(_model(tmp_path / name, name), base, keep=1).version.name))
        shutil.rmtree(base / str(numbers[-1]))
    assert numbers == sorted(set(numbers))


def test_numbers_rise_above_what_is_there(tmp_path, base):
    _model(base / "99999999999", "by hand")
    (base / "²").mkdir()
    (base / "notes").mkdir()
    assert push(_model(tmp_path / "a", "a"), base, keep=5).version.name == "100000000000"


def test_a_file_in_the_place_of_the_folder(tmp_path, base):
    base.parent.mkdir()
    base.write_text("not a folder")
    with pytest.raises(UserError, match="cannot write the model") as raised:
        push(_model(tmp_path / "a", "a"), base, keep=5)
    assert raised.value.where == f"push.to: {base}"
    assert base.read_text() == "not a folder"


def test_a_model_that_cannot_be_read_leaves_nothing(tmp_path, base):
    model = _model(tmp_path / "a", "a")
    (model / "variables" / "dangling").symlink_to(tmp_path / "nowhere")
    with pytest.raises(UserError):
        push(model, base, keep=5)
    assert [path.name for path in base.iterdir()] == [".push.lock"]


def test_a_push_killed_in_the_middle_leaves_no_version_and_the_next_tidies_up(tmp_path, base):
    model = _model(tmp_path / "a", "a", files=1500)
    old = push(_model(tmp_path / "old", "old"), base, keep=5)
    call = (
        "import sys; from pathlib import Path; from components.pusher.versions import push; "
        "push(Path(sys.argv[1]), Path(sys.argv[2]), 5)"
    )
    process = subprocess.Popen([sys.executable, "-c", call, str(model), str(base)])
    while not list(base.glob(f"{versions._STAGED}*")):
        assert process.poll() is None
    process.kill()
    assert process.wait() == -9
    (staged,) = base.glob(f"{versions._STAGED}*")
    assert len(list(staged.rglob("*"))) < 1502
    assert list_versions(base) == [old.version]
    done = push(model, base, keep=5)
    assert done.new
    assert digest(done.version) == digest(model)
    assert not staged.exists()


def test_two_pushes_at_once_take_turns(tmp_path, base):
    models = [_model(tmp_path / name, name, files=300) for name in "abc"]
    call = (
        "import sys; from pathlib import Path; from components.pusher.versions import push; "
        "print(push(Path(sys.argv[1]), Path(sys.argv[2]), 5).version)"
    )
    running = [
        subprocess.Popen(
            [sys.executable, "-c", call, str(model), str(base)], stdout=subprocess.PIPE, text=True
        )
        for model in models
    ]
    said = [Path(process.communicate(timeout=60)[0].strip()) for process in running]
    assert sorted(said) == list_versions(base)
    assert [digest(version) for version in said] == [digest(model) for model in models]
