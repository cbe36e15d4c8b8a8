"""`headrace doctor`, called as a person calls it, in whichever environment runs these tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from pipeline import doctor

HEADRACE = Path(sys.executable).with_name("headrace")
KERAS_VARIABLES = ("KERAS_BACKEND", "KERAS_HOME", "TF_USE_LEGACY_KERAS")


def call(*args: str, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if name not in KERAS_VARIABLES}
    return subprocess.run(
        [str(HEADRACE), "doctor", *args],
        cwd=cwd,
        env={**clean, **env},
        capture_output=True,
        text=True,
        timeout=300,
    )


def findings(*args: str, cwd: Path, **env: str) -> dict[str, dict[str, Any]]:
    done = call("--json", *args, cwd=cwd, KERAS_HOME=str(cwd), **env)
    answer = json.loads(done.stdout)
    assert answer["ok"] == all(finding["state"] != "fix" for finding in answer["findings"])
    assert done.returncode == (0 if answer["ok"] else 1)
    return {finding["name"]: finding for finding in answer["findings"]}


def test_this_installation_is_sound(tmp_path: Path) -> None:
    found = findings(cwd=tmp_path)
    assert {finding["state"] for finding in found.values()} <= {"ok", "fix", "note"}
    # The machine may be short of memory or disk while tests run; the installation must be whole.
    broken = {name for name, finding in found.items() if finding["state"] == "fix"}
    assert broken <= {"disk", "memory"}
    for name in doctor.LIBRARIES:
        assert found[name]["found"] == metadata.version(name)
    assert sys.executable in found["python"]["found"]
    assert ("current" if sys.version_info >= (3, 11) else "older") in found["stack"]["found"]
    assert ("dill" in found) == (sys.version_info < (3, 11))


def test_text_has_a_line_a_finding(tmp_path: Path) -> None:
    lines = call(cwd=tmp_path, KERAS_BACKEND="jax").stdout.splitlines()
    assert any(line.split() == ["ok", "tensorflow", metadata.version("tensorflow")] for line in lines)
    at = next(i for i, line in enumerate(lines) if line.startswith("fix") and "keras backend" in line)
    assert lines[at + 1].strip() == "fix: unset KERAS_BACKEND"


def test_it_imports_no_heavy_library(tmp_path: Path) -> None:
    program = (
        "import sys; from pipeline.doctor import look; list(look());"
        "print([m for m in ('tensorflow', 'keras', 'tfx', 'apache_beam', 'numpy') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.stdout.strip() == "[]", done.stderr


def test_another_keras_backend_needs_a_fix(tmp_path: Path) -> None:
    backend = findings(cwd=tmp_path, KERAS_BACKEND="torch")["keras backend"]
    assert backend["state"] == "fix"
    assert backend["fix"] == "unset KERAS_BACKEND"

    (tmp_path / "keras.json").write_text('{"backend": "jax"}')
    backend = findings(cwd=tmp_path)["keras backend"]
    assert backend["state"] == "fix"
    assert str(tmp_path / "keras.json") in backend["fix"]
    # The variable has the last word, as in Keras itself.
    assert findings(cwd=tmp_path, KERAS_BACKEND="tensorflow")["keras backend"]["state"] == "ok"


def test_legacy_keras_is_explained(tmp_path: Path) -> None:
    assert "legacy keras" not in findings(cwd=tmp_path)
    legacy = findings(cwd=tmp_path, TF_USE_LEGACY_KERAS="1")["legacy keras"]
    assert legacy["state"] == "note"
    assert "tf.keras" in legacy["found"]


def test_what_only_some_need_is_a_note(tmp_path: Path) -> None:
    found = findings(cwd=tmp_path, PATH=str(tmp_path))
    assert found["c++ compiler"]["state"] == "note"
    assert found["java"]["state"] == "note"


def test_too_little_memory_and_disk_need_a_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "MIN_DISK_GIB", 1e9)
    monkeypatch.setattr(doctor, "_memory_available", lambda: 2**30)
    assert doctor.disk().state == "fix"
    memory = doctor.memory()
    assert memory.state == "fix"
    assert memory.found == "1.0 GiB available"


def test_a_wrong_or_missing_library_needs_a_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    versions = {name: doctor._version(name) for name in doctor.LIBRARIES} | {"tfx": "0.1", "keras": None}
    monkeypatch.setattr(doctor, "_version", versions.get)
    found = {finding.name: finding for finding in doctor.libraries()}
    assert found["tfx"].state == "fix"
    assert found["tfx"].found.startswith("0.1, and headrace needs ==1.")
    assert found["keras"].state == "fix"
    assert "missing" in found["keras"].found
    assert found["tensorflow"].state == "ok"


@pytest.mark.parametrize(
    ("glibc", "older", "current"),
    [((2, 36), "ok", "fix"), ((2, 39), "note", "ok"), (None, "fix", "fix")],
)
def test_stack_and_glibc_must_fit(
    monkeypatch: pytest.MonkeyPatch, glibc: tuple[int, int] | None, older: str, current: str
) -> None:
    monkeypatch.setattr(doctor, "_glibc", lambda: glibc)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(sys, "version_info", (3, 10, 13))
    assert doctor.stack().state == older
    monkeypatch.setattr(sys, "version_info", (3, 13, 0))
    assert doctor.stack().state == current


def test_uncompiled_bytecode_needs_a_fix(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path))
    bytecode = doctor.bytecode()
    assert bytecode.state == "fix"
    assert "compileall" in bytecode.fix


@pytest.mark.slow
def test_deep_imports_and_tries_the_libraries(tmp_path: Path) -> None:
    found = findings("--deep", cwd=tmp_path)
    assert "CPU:0" in found["tensorflow devices"]["found"]
    assert metadata.version("keras") in found["keras works"]["found"]
    assert found["ml-metadata works"]["state"] == "ok"
    assert metadata.version("tfx") in found["tfx imports"]["found"]


@pytest.mark.slow
def test_deep_tells_which_part_fails(tmp_path: Path) -> None:
    found = findings("--deep", cwd=tmp_path, KERAS_BACKEND="no_such")
    assert found["keras works"]["state"] == "fix"
    assert "no_such" in found["keras works"]["found"]
    assert found["ml-metadata works"]["state"] == "ok"
