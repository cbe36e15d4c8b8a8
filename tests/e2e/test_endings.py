"""Runs that end badly: killed steps, Ctrl-C, a killed runner, a second runner."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import time
from pathlib import Path

import pytest
from headrace_calls import HEADRACE, environment, headrace, started

pytestmark = pytest.mark.slow


@pytest.fixture
def holding(own_model):
    """The project, in which training waits until the test lets it go."""
    own_model.hold.write_text("")
    yield own_model
    own_model.hold.unlink(missing_ok=True)


def descendants(pid: int) -> set[int]:
    """All processes below one, from /proc."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int(
                    entry.joinpath("stat").read_text().rpartition(")")[2].split()[1]
                )
            except OSError:
                continue
    found, added = {pid}, True
    while added:
        new = {child for child, parent in parents.items() if parent in found} - found
        found, added = found | new, bool(new)
    return found - {pid}


def all_end(pids: set[int], seconds: float) -> None:
    """Fails when one of them lives for longer."""
    deadline = time.monotonic() + seconds
    while alive := [pid for pid in pids if _lives(pid)]:
        names = [Path(f"/proc/{pid}/cmdline").read_text() for pid in alive if _lives(pid)]
        assert time.monotonic() < deadline, names
        time.sleep(0.05)


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _train_anew(seed):
    return ("run", "tips", "--to", "Trainer", "--set", f"train.seed={seed}")


def test_a_killed_step_is_one_message_with_the_command_that_resumes(holding):
    folder = holding.folder.parent
    with started(*_train_anew(11), cwd=folder) as process:
        step = holding.held()
        assert step in descendants(process.pid)

        second = headrace("run", "tips", cwd=folder)
        assert second.code == 2
        assert second.out == ""
        (run,) = holding.store.runs(1)
        assert run.state == "running"
        assert re.fullmatch(
            rf"error: \S+run\.lock: another run is going on here: {run.id}\n  fix: [^\n]+--home\n", second.err
        )

        os.kill(step, signal.SIGKILL)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 1
    assert err == ""
    assert "Traceback" not in out
    lines = out.splitlines()
    assert lines[-3] == (
        "Trainer failed: its process was killed (signal 9), most often because memory ran out"
    )
    assert Path(lines[-2].removeprefix("  its log: ")).is_file()
    assert lines[-1].startswith("resume with: headrace run tips ")
    assert holding.store.runs(1)[0].state == "failed"

    holding.hold.unlink()
    resume = shlex.split(lines[-1].removeprefix("resume with: "))
    resumed = subprocess.run(
        [HEADRACE, *resume[1:]], cwd=folder, env=environment(), capture_output=True, text=True, check=False
    )
    assert resumed.returncode in (0, 3), resumed.stdout + resumed.stderr
    assert re.search(r"5/9  Transform .*CACHED", resumed.stdout)
    assert re.search(r"6/9  Trainer .*RUN: --from Trainer", resumed.stdout)


def test_ctrl_c_ends_all_at_once(holding):
    with started(*_train_anew(12), cwd=holding.folder.parent) as process:
        holding.held()
        family = descendants(process.pid)
        assert len(family) >= 2
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        began = time.monotonic()
        _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert time.monotonic() - began < 8
    assert err.strip() == "interrupted"
    all_end(family, 3)
    assert holding.store.runs(1)[0].state in ("failed", "abandoned")


def test_a_killed_runner_takes_its_steps_along(holding):
    with started(*_train_anew(13), cwd=holding.folder.parent) as process:
        step = holding.held()
        family = descendants(process.pid)
        assert step in family
        process.kill()
        process.wait(10)
        all_end(family, 10)
    runs = json.loads(headrace("runs", "tips", "--json", cwd=holding.folder.parent).out)
    assert runs[0]["state"] == "abandoned"
    assert runs[0]["seconds"] is None


def test_the_next_run_works(own_model):
    done = own_model.run(*_train_anew(13)[2:])
    assert done.code == 0, done.said
    assert done.step("Trainer")["state"] == "RUN"
    assert done.step("Transform")["state"] == "CACHED"
