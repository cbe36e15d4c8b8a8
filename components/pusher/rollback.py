"""Taking versions back: they are moved aside, so that every server that serves the newest follows.

A server looks through the folder of versions by itself: it loads what is then the newest, switches to it
without a failed request, and lets go of what is not there any more. Nothing has to be told to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from components.errors import UserError
from components.pusher.places import Versions, open_versions
from components.pusher.versions import ROLLED_BACK


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


def roll_back(place: Path | str, version: int | None = None) -> RolledBack:
    """Makes a version the newest: those above it are moved aside; one that was aside comes back.

    They move in an order in which the newest that a server sees changes once, with the last one: killed
    before that, nothing has changed for a server.

    Args:
      place: the folder of versions, or its URL.
      version: the one to go to; None: the one before the newest.

    Raises:
      UserError: there is no such version, or they cannot be moved.
    """
    versions = open_versions(place)
    try:
        with versions.turn():
            return _roll_back(versions, str(place), version)
    except (OSError, RuntimeError) as error:  # RuntimeError: Beam's own
        raise UserError(f"cannot move the versions: {error}", where=str(place)) from error


def _roll_back(versions: Versions, place: str, wanted: int | None) -> RolledBack:
    there, aside = versions.numbers(), versions.aside()
    if not there and not aside:
        raise UserError("there is no version of a model here", where=place, fix="push one first")
    if wanted is None:
        if len(there) < 2:
            raise UserError(
                f"there is no version before {there[-1]}" if there else "there is no version to go back from",
                where=place,
                fix=f"name one that was rolled back: {', '.join(map(str, aside))}"
                if aside
                else "push another first",
            )
        wanted = there[-2]
    if wanted not in (*there, *aside):
        raise UserError(
            f"there is no version {wanted}",
            where=place,
            fix=f"name one of {', '.join(map(str, sorted([*there, *aside])))}",
        )
    above = [number for number in sorted((*there, *versions.empty())) if number > wanted]
    restored = wanted not in there
    if restored:
        # It is not the newest yet, or it is so at once: either way a server sees one change.
        versions.bring_back(wanted)
    for number in above:
        versions.set_aside(number)
    return RolledBack(wanted, tuple(above), restored)
