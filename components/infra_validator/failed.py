"""How a trial ends that the model does not pass."""

from __future__ import annotations


class Failed(Exception):
    """The model must not be pushed; says why, to follow `failed: `."""


class Refused(Failed):
    """The model itself does not answer these rows."""
