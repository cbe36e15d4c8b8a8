"""Models whose versions are at a URL: fetched into a folder, for as long as a command needs them."""

from __future__ import annotations

import logging
import re
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from components.errors import UserError
from components.pusher.remote import is_remote
from pipeline.cli.model_path import ModelPath, is_project
from serving.versions import list_versions

if TYPE_CHECKING:
    from components.pusher.mirror import Mirror

log = logging.getLogger("serving")


def url_of(path: Path, home: str | None = None) -> tuple[str, str]:
    """The URL that PATH means, as one or by its project, and the project's name; "" for what is not known."""
    from pipeline.config import load_config

    if given := re.fullmatch(r"([A-Za-z][A-Za-z0-9+.-]*):/+(.+)", str(path)):  # a Path has one slash of two
        return f"{given[1]}://{given[2]}", ""
    if is_project(path):
        config = load_config(path, home=home)
        if is_remote(config.push_to):
            return config.push_to, config.name
    return "", ""


@contextmanager
def as_folder(path: Path, home: str | None = None) -> Iterator[Path]:
    """PATH itself, or a folder with the newest version of where it means."""
    url, _ = url_of(path, home)
    if not url:
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="headrace-") as scratch:
        yield _fetched(url, scratch, lambda numbers: numbers[-1:])[1]


@contextmanager
def followed(
    url: str, name: str, choose: Callable[[list[int]], list[int]], seconds: float
) -> Iterator[ModelPath]:
    """A folder with the chosen versions at a URL, which follows it.

    Args:
      choose: which of the versions are wanted, lowest first.
      seconds: between two looks.
    """
    with tempfile.TemporaryDirectory(prefix="headrace-") as scratch:
        mirror, folder = _fetched(url, scratch, choose)
        with mirror.following(seconds, lambda error: log.error("cannot look at %s: %s", url, error)):
            yield ModelPath(folder, name)


def _fetched(url: str, scratch: str, choose: Callable[[list[int]], list[int]]) -> tuple[Mirror, Path]:
    warnings.simplefilter("ignore", FutureWarning)  # of Google's clients, about Python's age
    from components.pusher.mirror import Mirror

    folder = Path(scratch) / (url.rstrip("/").rpartition("/")[2] or "model")
    mirror = Mirror(url, folder, choose)
    try:
        mirror.update()
    except (OSError, RuntimeError) as error:  # Beam's own, and those of the stores' clients
        raise UserError(f"cannot fetch the model: {error}", where=url) from error
    if not list_versions(folder):
        raise UserError("no version that is wanted is here", where=url, fix="see `headrace versions`")
    return mirror, folder
