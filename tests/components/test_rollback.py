"""Versions taken back: moved aside, brought back, and not pushed again behind a person's back."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from executors import artifact, execute
from test_pusher_versions import _model

from components.errors import UserError
from components.pusher.rollback import roll_back
from components.pusher.versions import ROLLED_BACK, digest, list_versions, push


@pytest.fixture
def base(tmp_path) -> Path:
    return tmp_path / "models" / "tips"


def _push(tmp_path, base, names, keep=5) -> list[int]:
    return [int(push(_model(tmp_path / name, name), base, keep).version.name) for name in names]


def _numbers(folder: Path) -> list[int]:
    return [int(path.name) for path in list_versions(folder)]


def test_back_and_forth(tmp_path, base):
    a, b, c = _push(tmp_path, base, "abc")
    done = roll_back(base)
    assert done.sentence == f"version {b} is the newest now; version {c} moved to .rolled_back/"
    assert _numbers(base) == [a, b]
    assert digest(base / ROLLED_BACK / str(c)) == digest(tmp_path / "c")
    assert roll_back(base, a).aside == (b,)
    assert roll_back(base, a).sentence == f"version {a} is already the newest"
    done = roll_back(base, c)
    assert done.sentence == f"version {c} is brought back and the newest"
    assert _numbers(base) == [a, c]
    done = roll_back(base, b)
    assert (
        done.sentence == f"version {b} is brought back and the newest now; version {c} moved to .rolled_back/"
    )
    assert _numbers(base) == [a, b]


def test_what_was_rolled_back_is_not_pushed_again(tmp_path, base):
    a, b = _push(tmp_path, base, "ab")
    roll_back(base)
    again = push(tmp_path / "b", base, keep=5)
    assert not again.new
    assert again.rolled_back
    assert again.sentence == (
        f"not pushed: version {b} in {base} has the same content and was rolled back; "
        f"`headrace rollback {b}` brings it back"
    )
    assert _numbers(base) == [a]
    (c,) = _push(tmp_path, base, "c")
    assert c > b


def test_the_step_says_that_it_leaves_it_aside(tmp_path, base):
    """And does not name it as what it pushed: the next run finds nothing changed."""
    model = artifact("Model", tmp_path / "model")
    _model(tmp_path / "model" / "Format-Serving", "a")
    good = {"model_blessing": artifact("ModelBlessing", tmp_path / "blessing")}
    good["infra_blessing"] = artifact("InfraBlessing", tmp_path / "infra")
    for blessing in good.values():
        blessing.set_int_custom_property("blessed", 1)

    def run(folder):
        made = execute(
            "pusher", tmp_path / folder, {"model": model, **good}, {"pushed_model": "PushedModel"},
            config={"to": str(base)},
        )  # fmt: skip
        return made["pushed_model"]

    _push(tmp_path, base, ["old"])
    first = run("first")
    assert first.get_int_custom_property("pushed") == 1
    assert first.get_string_custom_property("pushed_destination") == str(list_versions(base)[-1])
    roll_back(base)
    again = run("again")
    assert again.get_int_custom_property("pushed") == 0
    assert again.get_string_custom_property("pushed_destination") == ""
    assert again.get_string_custom_property("summary").startswith("not pushed: version ")


def test_those_aside_are_kept_as_long_as_the_others(tmp_path, base):
    numbers = _push(tmp_path, base, "abcd")
    roll_back(base, numbers[0])
    done = push(_model(tmp_path / "e", "e"), base, keep=2)
    assert _numbers(base / ROLLED_BACK) == numbers[2:]
    assert done.sentence.endswith(f"; deleted version {numbers[1]} (keep: 2)")


def test_refusals(tmp_path, base):
    with pytest.raises(UserError, match="there is no version of a model here"):
        roll_back(base)
    (a,) = _push(tmp_path, base, "a")
    with pytest.raises(UserError, match=f"there is no version before {a}") as raised:
        roll_back(base)
    assert raised.value.fix == "push another first"
    with pytest.raises(UserError, match="there is no version 5") as raised:
        roll_back(base, 5)
    assert raised.value.fix == f"name one of {a}"
    assert _numbers(base) == [a]


def test_a_server_sees_one_change(tmp_path, base):
    """The newest version is the old one until the last rename; seen by looking after each."""
    a, b, c, d = _push(tmp_path, base, "abcd")
    seen = []

    def watched(event, arguments):
        if event == "os.rename" and str(base) in str(arguments[0]):
            seen.append(max(_numbers(base)))

    sys.addaudithook(watched)  # tells of each rename just before it is done
    roll_back(base, a)
    assert seen == [d, d, d]
    assert _numbers(base) == [a]
    assert _numbers(base / ROLLED_BACK) == [b, c, d]


def test_a_full_disk_leaves_the_old_state(tmp_path, base):
    """A push into a file system with no room left, which the kernel says in the middle of a file."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)]
    if os.geteuid() or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("needs the right to mount")
    try:
        here = folder / "tips"
        old = push(_model(tmp_path / "old", "old"), here, keep=5)
        large = _model(tmp_path / "large", "large")
        (large / "variables" / "weights").write_bytes(os.urandom(1 << 20))
        with pytest.raises(UserError, match="No space left on device") as raised:
            push(large, here, keep=5)
        assert raised.value.fix == "free space, or choose another folder"
        assert list_versions(here) == [old.version]
        assert digest(old.version) == digest(tmp_path / "old")
        assert [path.name for path in here.iterdir() if path.name.startswith(".")] == [".push.lock"]
        shutil.rmtree(large / "variables")
        assert push(large, here, keep=5).new
    finally:
        subprocess.run(["umount", str(folder)], check=True)
