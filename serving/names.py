"""Raw columns and the names that a signature can give to its inputs."""

from __future__ import annotations

import re


def input_name(column: str) -> str:
    """The input of `serving_raw` that takes a raw column.

    TensorFlow allows ASCII letters, digits and underscores, and a letter first; `self` is taken.

    Example:
      `input_name("Pickup zone")` is `"Pickup_zone"`; `input_name("2nd")` is `"x_2nd"`.
    """
    plain = re.sub(r"[^A-Za-z0-9_]", "_", column)
    return plain if re.match("[A-Za-z]", plain) and plain != "self" else f"x_{plain}"
