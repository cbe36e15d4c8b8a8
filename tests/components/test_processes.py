"""Processes that end with those who started them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux only")

CHILD = (
    "import sys, time; from components.processes import end_with_parent; end_with_parent(int(sys.argv[1]))"
)


def lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


PARENT = """
import os, subprocess, sys
call = [sys.executable, "-c", sys.argv[1] + "; print(0, flush=True); time.sleep(60)", str(os.getpid())]
child = subprocess.Popen(call, stdout=subprocess.PIPE)
child.stdout.readline()
print(child.pid, flush=True)
child.wait()
"""


def test_a_child_ends_when_its_parent_is_killed():
    parent = subprocess.Popen([sys.executable, "-c", PARENT, CHILD], stdout=subprocess.PIPE, text=True)
    assert parent.stdout
    child = int(parent.stdout.readline())
    assert lives(child)
    parent.kill()
    parent.wait()
    deadline = time.monotonic() + 5
    while lives(child):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_child_whose_starter_is_gone_already_ends_at_once():
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    done = subprocess.run([sys.executable, "-c", CHILD, str(gone.pid)], timeout=30, check=False)
    assert done.returncode == 1
    done = subprocess.run([sys.executable, "-c", CHILD, str(os.getpid())], timeout=30, check=False)
    assert done.returncode == 0
