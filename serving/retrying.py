"""Calls that are tried again while there is time: what a server cannot do now, it may in a moment."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from serving.errors import ServingError

T = TypeVar("T")

_FIRST_WAIT, _LONGEST_WAIT = 0.05, 2.0  # seconds


class TryAgain(Exception):
    """A call that failed in a way that may pass.

    Args:
      error: what to raise when it does not.
      after: seconds that the server asks to wait.
    """

    def __init__(self, error: ServingError, after: float = 0.0) -> None:
        super().__init__(str(error))
        self.error, self.after = error, after


@dataclass(frozen=True)
class Retries:
    """How long a call may take in all, and how often it is tried.

    Waits double, and are drawn at random below that, so that many clients do not come back together.

    Args:
      timeout: seconds for all tries together.
      count: how many more tries after the first.
    """

    timeout: float = 30.0
    count: int = 3

    def call(self, once: Callable[[float], T]) -> T:
        """Calls `once` with the seconds left, again after each TryAgain; raises its error at the end."""
        deadline = time.monotonic() + self.timeout
        wait = _FIRST_WAIT
        for attempt in range(self.count + 1):
            try:
                return once(max(0.001, deadline - time.monotonic()))
            except TryAgain as problem:
                pause = max(problem.after, random.uniform(wait / 2, wait))
                if attempt == self.count or time.monotonic() + pause >= deadline:
                    raise problem.error from problem
            time.sleep(pause)
            wait = min(2 * wait, _LONGEST_WAIT)
        raise AssertionError("the last try returns or raises")
