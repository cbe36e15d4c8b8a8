"""Taking versions back: they are moved aside, so that every server that serves the newest follows.

A server looks through the folder of versions by itself: it loads what is then the newest, switches to it
without a failed request, and lets go of what is not there any more. Nothing has to be told to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from components.errors import UserError
from components.pusher.versions import ROLLED_BACK, list_versions, turn


@dataclass(frozen=True)
class RolledBack:
    """What a rollback did.

    Attributes:
      serving: the version that is the newest now.
      aside: the versions that were moved aside, oldest first.
      restored: whether `serving` itself had been aside.
    """

    serving: int
    aside: tuple[int, ...] = ()
    restored: bool = False

    @property
    def sentence(self) -> str:
        """What was done."""
        back = "brought back and " if self.restored else ""
        if not self.aside:
            return f"version {self.serving} is {back or 'already '}the newest"
        moved = f"version{'s' if len(self.aside) > 1 else ''} {', '.join(map(str, self.aside))}"
        return f"version {self.serving} is {back}the newest now; {moved} moved to {ROLLED_BACK}/"


def roll_back(base: Path, version: int | None = None) -> RolledBack:
    """Makes a version the newest: those above it are moved aside; one that was aside comes back.

    Each version moves by one rename. They move in an order in which the newest that a server sees changes
    once, at the last rename: killed before that, nothing has changed for a server.

    Args:
      base: the folder of versions.
      version: the one to go to; None: the one before the newest.

    Raises:
      UserError: there is no such version, or the folder cannot be written.
    """
    try:
        if not base.is_dir():
            raise UserError("there is no version of a model here", where=str(base), fix="push one first")
        with turn(base):
            return _roll_back(base, version)
    except OSError as error:
        raise UserError(f"cannot move the versions: {error}", where=str(base)) from error


def _roll_back(base: Path, wanted: int | None) -> RolledBack:
    there = [int(path.name) for path in list_versions(base)]
    aside = [int(path.name) for path in list_versions(base / ROLLED_BACK)]
    if wanted is None:
        if len(there) < 2:
            raise UserError(
                f"there is no version before {there[-1]}" if there else "there is no version to go back from",
                where=str(base),
                fix=f"name one that was rolled back: {', '.join(map(str, aside))}"
                if aside
                else "push another first",
            )
        wanted = there[-2]
    if wanted not in (*there, *aside):
        raise UserError(
            f"there is no version {wanted}",
            where=str(base),
            fix=f"name one of {', '.join(map(str, sorted([*there, *aside])))}",
        )
    above = [number for number in there if number > wanted]
    (base / ROLLED_BACK).mkdir(exist_ok=True)
    restored = wanted not in there
    if restored:
        # It is not the newest yet, or it is so at once: either way a server sees one change.
        (base / ROLLED_BACK / str(wanted)).rename(base / str(wanted))
    for number in above:
        (base / str(number)).rename(base / ROLLED_BACK / str(number))
    return RolledBack(wanted, tuple(above), restored)
