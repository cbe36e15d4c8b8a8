"""A folder that follows the versions at a URL, for who reads folders alone."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from components.errors import UserError
from components.pusher.remote import RemoteVersions
from components.pusher.versions import digest, list_versions

_STAGED, _GONE = ".staged-", ".gone-"  # names that no server takes for a version


class Mirror:
    """Fetches versions, whole, and removes those that are not at the URL any more.

    Args:
      url: of the folder of versions.
      folder: here; made when it is not there.
      choose: which of the versions there are wanted, lowest first in both.

    Raises:
      UserError: nothing here can read the URL.
    """

    def __init__(
        self, url: str, folder: Path, choose: Callable[[list[int]], list[int]] = lambda numbers: numbers[-1:]
    ) -> None:
        self._there, self._folder, self._choose = RemoteVersions(url), folder, choose
        folder.mkdir(parents=True, exist_ok=True)

    def update(self) -> None:
        """Makes the folder what the URL has; what is new is there before anything goes.

        When nothing is there any more, all stays.

        Raises:
          UserError: a version is not what was pushed.
        """
        wanted = self._choose(self._there.numbers())
        have = {int(path.name) for path in list_versions(self._folder)}
        for number in wanted:
            if number not in have:
                self._fetch(number)
        for number in have - {*wanted} if wanted else ():
            gone = self._folder / f"{_GONE}{number}"
            (self._folder / str(number)).rename(gone)
            shutil.rmtree(gone)

    @contextmanager
    def following(self, seconds: float, on_error: Callable[[Exception], None]) -> Iterator[None]:
        """Updates again and again in a thread of its own, whatever goes wrong in between.

        Args:
          seconds: between two looks.
          on_error: told what went wrong, once for each that follows another.
        """
        stop = threading.Event()

        def follow() -> None:
            said = ""
            while not stop.wait(seconds):
                try:
                    self.update()
                    said = ""
                except Exception as error:  # each store has its own
                    if repr(error) != said:
                        on_error(error)
                    said = repr(error)

        thread = threading.Thread(target=follow, name="mirror", daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join(seconds + 1)

    def _fetch(self, number: int) -> None:
        staged = self._folder / f"{_STAGED}{number}"
        shutil.rmtree(staged, ignore_errors=True)
        self._there.fetch(number, staged)
        pushed = self._there.digest(number)
        if pushed and digest(staged) != pushed:
            raise UserError(
                f"version {number} is not what was pushed: its SHA-256 differs",
                where=self._there.base,
                fix="remove it, and push the model again",
            )
        staged.rename(self._folder / str(number))
