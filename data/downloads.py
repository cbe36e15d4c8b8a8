"""What the fetch.py scripts of the example projects share: plain Python, any interpreter runs them."""

from __future__ import annotations

import argparse
import hashlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

_STAMP = ".fetched"
_LAST_LINES = 4
_Row = TypeVar("_Row")


class FetchError(Exception):
    """The data cannot be had; says why and what to do."""


def fetch(target: str, source: str, make: Callable[[Path, Path, int | None], str]) -> None:
    """The command line of a fetch.py: makes `target` beside it, whole or not at all, and only once.

    Args:
      target: the file or folder to make.
      source: what it is made from, with the version; another one makes the target anew.
      make: gets the path to write, an empty folder for downloads and how many rows are wanted (None: all),
        and returns a sentence about what it wrote.
    """
    parser = argparse.ArgumentParser(description=f"Makes {target} from {source}.")
    parser.add_argument("--rows", type=_positive, metavar="N", help="a sample of N rows; default: all")
    rows = parser.parse_args().rows
    folder = Path(sys.argv[0]).resolve().parent
    wanted = f"{target} from {source}, {rows or 'all'} rows\n"
    stamp = folder / _STAMP
    if (folder / target).exists() and stamp.is_file() and stamp.read_text() == wanted:
        print(f"{target} is there already; remove it to fetch it again")
        return
    try:
        with tempfile.TemporaryDirectory(prefix=".fetch-", dir=folder) as name:
            work = Path(name)
            (work / "downloads").mkdir()
            said = make(work / target, work / "downloads", rows)
            stamp.unlink(missing_ok=True)
            if (folder / target).exists():
                (folder / target).rename(work / "old")
            (work / target).rename(folder / target)
            stamp.write_text(wanted)
    except FetchError as error:
        sys.exit(f"cannot make {target}: {error}")
    print(f"{target}: {said}")


def install(requirement: str, sha256: str, into: Path) -> Path:
    """Unpacks a pinned Python package, without what it depends on, into an empty folder.

    Args:
      requirement: NAME==VERSION.
      sha256: of the package's file; the client refuses any other.
      into: the folder.

    Raises:
      FetchError: there is no client, or it could not reach or verify the package.
    """
    pin = into / "requirements.txt"
    pin.write_text(f"{requirement} --hash=sha256:{sha256}\n")
    arguments = ["--quiet", "--no-deps", "--require-hashes"]
    arguments += ["--target", str(into / "package"), "--requirement", str(pin)]
    client = next(_clients(), None)
    if client is None:
        raise FetchError(
            "neither uv nor pip is here to download it\n  fix: run `make setup`, which brings uv"
        )
    run([*client, *arguments], f"the package {requirement} could not be downloaded")
    return into / "package"


def run(command: list[str], failed: str, cwd: Path | None = None) -> None:
    """Runs a program of the system.

    Raises:
      FetchError: it is missing or failed; its last lines are shown under `failed`.
    """
    try:
        done = subprocess.run(
            command, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace"
        )
    except OSError as error:
        raise FetchError(f"{failed}: {command[0]}: {error.strerror}") from None
    if done.returncode:
        lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        shown = "".join(f"\n    {line}" for line in lines[-_LAST_LINES:])
        raise FetchError(f"{failed}:{shown}\n  fix: check that this machine has a network, then run it again")


def verify(content: bytes, sha256: str, name: str) -> bytes:
    """The content, when it is the one expected.

    Raises:
      FetchError: it is another.
    """
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise FetchError(f"{name} is not the file expected: its SHA-256 is {found}, expected {sha256}")
    return content


def spread(rows: Iterable[_Row], total: int, wanted: int | None) -> Iterator[_Row]:
    """As many of the rows as wanted, evenly spread over all of them; always the same ones."""
    if wanted is None or wanted >= total:
        yield from rows
        return
    for index, row in enumerate(rows):
        if (index + 1) * wanted // total > index * wanted // total:
            yield row


def _clients() -> Iterator[list[str]]:
    """The commands that install Python packages here, best first."""
    own = Path(__file__).resolve().parents[1] / ".tools" / "uv" / "bin" / "uv"
    for uv in (shutil.which("uv"), str(own)):
        if uv and Path(uv).is_file():
            yield [uv, "pip", "install", "--python", sys.executable]
    for python in (sys.executable, shutil.which("python3")):
        if python and _has_pip(python):
            yield [python, "-m", "pip", "install", "--disable-pip-version-check"]


def _has_pip(python: str) -> bool:
    return not subprocess.run([python, "-m", "pip", "--version"], capture_output=True).returncode


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError
    return number
