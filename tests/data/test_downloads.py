"""What the fetch.py scripts share."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import pytest

DATA = Path(__file__).resolve().parents[2] / "data"
sys.path.insert(0, str(DATA))

import downloads  # noqa: E402


def script(folder: Path, body: str) -> None:
    """A fetch.py whose `make` does what `body` says, called with the target's path."""
    (folder / "fetch.py").write_text(
        f"import sys\nsys.path.insert(0, {str(DATA)!r})\nimport downloads\n"
        f"def make(target, work, rows):\n    {body}\n    return f'{{rows}} rows'\n"
        "downloads.fetch('data.csv', 'source 1', make)\n"
    )


def run(folder: Path, *arguments: str) -> tuple[int, str]:
    import subprocess

    done = subprocess.run(
        [sys.executable, str(folder / "fetch.py"), *arguments], capture_output=True, text=True
    )
    return done.returncode, done.stdout + done.stderr


def test_the_target_appears_whole_and_once(tmp_path: Path) -> None:
    script(tmp_path, "target.write_text('a')")
    assert run(tmp_path) == (0, "data.csv: None rows\n")
    assert run(tmp_path) == (0, "data.csv is there already; remove it to fetch it again\n")
    assert run(tmp_path, "--rows", "3") == (0, "data.csv: 3 rows\n")
    assert run(tmp_path) == (0, "data.csv: None rows\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".fetched", "data.csv", "fetch.py"]


def test_a_failure_leaves_what_was_there(tmp_path: Path) -> None:
    script(tmp_path, "target.write_text('old')")
    run(tmp_path)
    script(tmp_path, "target.write_text('half'); raise downloads.FetchError('no luck')")
    assert run(tmp_path, "--rows", "3") == (1, "cannot make data.csv: no luck\n")
    assert (tmp_path / "data.csv").read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == [".fetched", "data.csv", "fetch.py"]


@pytest.mark.parametrize("rows", ["0", "-1", "x"])
def test_rows_must_be_a_number(rows: str, tmp_path: Path) -> None:
    script(tmp_path, "target.write_text('a')")
    code, said = run(tmp_path, "--rows", rows)
    assert code == 2
    assert "--rows" in said


def test_a_sample_is_spread_evenly() -> None:
    assert list(downloads.spread(range(10), 10, None)) == list(range(10))
    assert list(downloads.spread(range(10), 10, 12)) == list(range(10))
    assert list(downloads.spread(range(10), 10, 3)) == [3, 6, 9]
    assert len(list(downloads.spread(range(336_776), 336_776, 5000))) == 5000


def test_another_content_is_refused() -> None:
    assert downloads.verify(b"a", hashlib.sha256(b"a").hexdigest(), "file") == b"a"
    with pytest.raises(downloads.FetchError, match="file is not the file expected: its SHA-256 is"):
        downloads.verify(b"b", hashlib.sha256(b"a").hexdigest(), "file")


def test_without_a_client_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(downloads, "_clients", lambda: iter(()))
    with pytest.raises(downloads.FetchError, match="neither uv nor pip is here to download it"):
        downloads.install("a==1", "0" * 64, tmp_path)


def test_without_a_network_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = [sys.executable, "-c", "import sys; sys.exit('connection refused')"]
    monkeypatch.setattr(downloads, "_clients", lambda: iter([refused]))
    with pytest.raises(downloads.FetchError) as caught:
        downloads.install("a==1", "0" * 64, tmp_path)
    assert str(caught.value) == (
        "the package a==1 could not be downloaded:\n    connection refused\n"
        "  fix: check that this machine has a network, then run it again"
    )


def test_a_program_that_is_missing_is_named() -> None:
    with pytest.raises(downloads.FetchError, match="the list: no-such-program: No such file or directory"):
        downloads.run(["no-such-program"], "the list")
