"""The names that a served model gives to its raw inputs."""

from __future__ import annotations

import re
from collections.abc import Iterable

from components.errors import UserError


def input_names(columns: Iterable[str]) -> dict[str, str]:
    """Column to the name of its input of serving_raw, in which TensorFlow takes letters, digits and _ only.

    The rule is that of serving/names.py, by which clients find a column's input.

    Raises:
      UserError: when two columns would share a name.
    """
    names: dict[str, str] = {}
    for column in columns:
        name = re.sub(r"[^A-Za-z0-9_]", "_", column)
        if not re.match(r"[A-Za-z]", name) or name == "self":
            name = f"x_{name}"
        for other, taken in names.items():
            if taken == name:
                raise UserError(
                    f"columns {other!r} and {column!r} would both be the input {name!r} of the served model",
                    where="features",
                    fix="rename or exclude one of them",
                )
        names[column] = name
    return names
