"""`tools/image.sh`, as far as it goes without making a root file system; `make test-image` is the rest."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def image(*args: str, path: Path | None = None) -> subprocess.CompletedProcess[str]:
    env = dict(os.environ, PATH=f"{path}:{os.environ['PATH']}" if path else os.environ["PATH"])
    return subprocess.run(
        [str(ROOT / "tools/image.sh"), *args], env=env, capture_output=True, text=True, timeout=60
    )


def stand_in(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)


def test_a_host_that_runs_the_current_stack_has_nothing_to_do(tmp_path: Path) -> None:
    stand_in(tmp_path, "getconf", "echo glibc 2.39")
    done = image("test", path=tmp_path)
    assert done.returncode == 0
    assert "nothing to do" in done.stdout


def test_without_root_it_says_what_to_do(tmp_path: Path) -> None:
    stand_in(tmp_path, "id", "echo 1000")
    stand_in(tmp_path, "uname", "echo Linux")
    done = image("run", "--", "true", path=tmp_path)
    assert done.returncode != 0
    assert "need root" in done.stderr
    assert "sudo" in done.stderr


def test_without_mounts_it_says_so(tmp_path: Path) -> None:
    stand_in(tmp_path, "id", "echo 0")
    stand_in(tmp_path, "uname", "echo Linux")
    stand_in(tmp_path, "unshare", "exit 1")
    done = image("build", path=tmp_path)
    assert done.returncode != 0
    assert "permits no mounts" in done.stderr


def test_without_a_command_it_shows_how_to_use_it() -> None:
    done = image()
    assert done.returncode == 2
    assert "tools/image.sh run -- CMD" in done.stdout
