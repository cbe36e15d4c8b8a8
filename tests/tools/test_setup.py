"""`tools/setup.sh` in a checkout of its own, with stand-ins for uv, the host and its interpreters."""

from __future__ import annotations

import fcntl
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SYSTEM_TOOLS = (
    "bash", "cat", "cut", "dirname", "flock", "id", "ls", "mkdir", "mv", "rm", "sed", "sha256sum", "shasum",
    "sort",
)  # fmt: skip
FAKE_UV = """#!/bin/bash
if [ "$1" = --version ]; then echo "uv 9.9.9"; exit; fi
echo "$@" >>"${0%/*}/uv-calls"
if [ -e "${0%/*}/offline" ]; then echo "no network" >&2; exit 2; fi
mkdir -p .venv/bin && rm -f .venv/bin/python
cat "${@: -1}" >.venv/bin/python && /bin/chmod +x .venv/bin/python
"""


class Host:
    """A checkout and a PATH on which there is only what a test puts there."""

    def __init__(self, folder: Path) -> None:
        self.checkout, self.bin = folder / "checkout", folder / "bin"
        self.pyenv = folder / "pyenv"
        (self.checkout / "tools").mkdir(parents=True)
        self.bin.mkdir()
        for name in ("uv.lock", "pyproject.toml", "setup.py", "tools/setup.sh"):
            shutil.copy(ROOT / name, self.checkout / name)
        for name in SYSTEM_TOOLS:
            if path := shutil.which(name):
                (self.bin / name).symlink_to(path)
        self.script("uname", "case $1 in -s) echo Linux ;; -m) echo x86_64 ;; esac")
        self.glibc("2.36")
        self.script("uv", FAKE_UV)
        self.script("g++", "")

    def script(self, name: str, text: str) -> Path:
        path = self.bin / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text if text.startswith("#!") else f"#!/bin/bash\n{text}\n")
        path.chmod(0o755)
        return path

    def glibc(self, version: str) -> None:
        self.script("getconf", f"echo glibc {version}")

    def python(self, name: str, version: str, headers: bool = True) -> Path:
        """Something that answers as an interpreter of this version would."""
        path = self.bin / name
        return self.script(
            name, f'case "$1" in -c) echo "{version}|{headers}|{path}" ;; -m) [ "$2" = compileall ] ;; esac'
        )

    def start(self, **env: str) -> subprocess.Popen[str]:
        env = {"PATH": str(self.bin), "HOME": str(self.bin), "PYENV_ROOT": str(self.pyenv), **env}
        command = [str(self.bin / "bash"), str(self.checkout / "tools/setup.sh")]
        pipe = subprocess.PIPE
        return subprocess.Popen(
            command, env=env, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True
        )

    def setup(self, **env: str) -> subprocess.CompletedProcess[str]:
        with self.start(**env) as process:
            out, err = process.communicate(timeout=60)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def synced_with(self) -> list[str]:
        """The interpreter of each `uv sync`."""
        calls = self.bin / "uv-calls"
        return [line.split()[-1] for line in calls.read_text().splitlines()] if calls.exists() else []


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


def test_first_run_installs_and_the_second_has_nothing_to_do(host: Host) -> None:
    python = host.python("python3.10", "3.10")
    first = host.setup()
    assert first.returncode == 0, first.stderr
    assert "older stack" in first.stdout
    assert "Python 3.10: glibc 2.36 is older than 2.39" in first.stdout
    assert host.synced_with() == [str(python)]
    calls = (host.bin / "uv-calls").read_text()
    assert "--frozen" in calls
    assert "--compile-bytecode" in calls

    second = host.setup()
    assert second.returncode == 0
    assert host.synced_with() == [str(python)]
    assert len(second.stdout.splitlines()) == 1
    assert "older stack" in second.stdout
    assert "up to date" in second.stdout


@pytest.mark.parametrize("file", ["uv.lock", "pyproject.toml", "tools/setup.sh"])
def test_a_change_is_installed(host: Host, file: str) -> None:
    host.python("python3.10", "3.10")
    host.setup()
    with (host.checkout / file).open("a") as f:
        f.write("\n# changed\n")
    assert "up to date" not in host.setup().stdout
    assert len(host.synced_with()) == 2


def test_a_failed_install_is_told_and_tried_again(host: Host) -> None:
    host.python("python3.10", "3.10")
    (host.bin / "offline").touch()
    failed = host.setup()
    assert failed.returncode != 0
    assert "no network" in failed.stderr
    assert "uv sync failed" in failed.stderr
    (host.bin / "offline").unlink()
    assert host.setup().returncode == 0
    assert len(host.synced_with()) == 2


@pytest.mark.parametrize(
    ("glibc", "expected"),
    [("2.31", "3.10"), ("2.38", "3.10"), ("2.39", "3.13"), ("2.41", "3.13"), ("3.0", "3.13")],
)
def test_glibc_decides_the_stack(host: Host, glibc: str, expected: str) -> None:
    for version in ("3.9", "3.10", "3.11", "3.12", "3.13", "3.14"):
        host.python(f"python{version}", version)
    host.glibc(glibc)
    done = host.setup()
    assert done.returncode == 0, done.stderr
    assert host.synced_with() == [str(host.bin / f"python{expected}")]


def test_a_shim_of_another_version_is_not_believed(host: Host) -> None:
    host.script("python3.10", "echo 'pyenv: python3.10: command not found' >&2; exit 127")
    host.python("python3", "3.9")
    for patch in ("3.10.9", "3.10.13"):
        host.python(f"{host.pyenv}/versions/{patch}/bin/python", "3.10")
    done = host.setup()
    assert done.returncode == 0, done.stderr
    assert host.synced_with() == [f"{host.pyenv}/versions/3.10.13/bin/python"]


def test_venv_of_another_python_is_rebuilt(host: Host) -> None:
    host.glibc("2.41")
    host.python("python3.12", "3.12")
    host.setup()
    left = host.checkout / ".venv/left"
    left.touch()
    newer = host.python("newer", "3.13")
    done = host.setup(HEADRACE_PYTHON=str(newer))
    assert "rebuilding .venv" in done.stdout
    assert not left.exists()
    # What was asked for once stays, also when something else changes later.
    (host.checkout / "uv.lock").write_text("")
    host.setup()
    assert [Path(path).name for path in host.synced_with()] == ["python3.12", "newer", "newer"]


def test_headrace_python_can_choose_the_older_stack(host: Host) -> None:
    host.glibc("2.41")
    done = host.setup(HEADRACE_PYTHON=str(host.python("mine", "3.10")))
    assert "older stack" in done.stdout
    assert "HEADRACE_PYTHON asked for it" in done.stdout


def test_headrace_python_of_a_wrong_version_is_an_error(host: Host) -> None:
    wrong = host.python("wrong", "3.12")
    done = host.setup(HEADRACE_PYTHON=str(wrong))
    assert done.returncode != 0
    assert f"HEADRACE_PYTHON={wrong} is Python 3.12, and this host can use 3.10 (glibc 2.36" in done.stderr
    assert host.synced_with() == []


def test_headrace_python_that_does_not_run_is_an_error(host: Host) -> None:
    done = host.setup(HEADRACE_PYTHON="/no/such/python")
    assert done.returncode != 0
    assert "HEADRACE_PYTHON=/no/such/python does not run" in done.stderr


@pytest.mark.parametrize(
    ("manager", "command"),
    [("apt-get", "apt-get install -y g++"), ("dnf", "dnf install -y gcc-c++")],
)
def test_no_compiler_says_what_to_install(host: Host, manager: str, command: str) -> None:
    host.python("python3.10", "3.10")
    (host.bin / "g++").unlink()
    host.script(manager, "")
    done = host.setup()
    assert done.returncode != 0
    assert "no C++ compiler" in done.stderr
    assert command in done.stderr
    assert host.synced_with() == []


def test_no_headers_says_what_to_install(host: Host) -> None:
    host.python("python3.10", "3.10", headers=False)
    host.script("apt-get", "")
    done = host.setup()
    assert done.returncode != 0
    assert "Python.h" in done.stderr
    assert "apt-get install -y python3.10-dev" in done.stderr


def test_no_uv_and_no_pip_says_what_to_install(host: Host) -> None:
    host.python("python3.10", "3.10")
    (host.bin / "uv").unlink()
    host.script("apt-get", "")
    done = host.setup()
    assert done.returncode != 0
    assert "https://astral.sh/uv/install.sh" in done.stderr
    assert "apt-get install -y python3-pip" in done.stderr


def test_no_interpreter_and_no_download_says_what_to_do(host: Host) -> None:
    (host.bin / "offline").touch()
    done = host.setup()
    assert done.returncode != 0
    assert "found no Python 3.10, and the download failed" in done.stderr
    assert "HEADRACE_PYTHON" in done.stderr


def test_the_versions_it_names_are_the_pinned_ones() -> None:
    pins = (ROOT / "pyproject.toml").read_text()
    named = re.findall(r"TFX ([\d.]+), TensorFlow ([\d.]+)\)", (ROOT / "tools/setup.sh").read_text())
    assert len(named) == 2
    for tfx, tensorflow in named:
        assert f'"tfx=={tfx}.' in pins
        assert f'"tensorflow=={tensorflow}.' in pins


@pytest.mark.skipif(not shutil.which("flock"), reason="without util-linux's flock, set-ups take no lock")
def test_a_second_set_up_waits_for_the_first(host: Host) -> None:
    host.python("python3.10", "3.10")
    (host.checkout / ".tools").mkdir()
    with (host.checkout / ".tools/setup.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        second = host.start()
        assert second.stdout is not None
        assert "waiting for another set-up" in second.stdout.readline()
        assert host.synced_with() == []
    out, err = second.communicate(timeout=60)
    assert second.returncode == 0, err
    assert "done" in out
