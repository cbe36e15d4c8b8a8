"""Deal rows to splits, and check what each split got."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from components.errors import UserError, cut
from components.example_gen.row_hash import row_hashes


def by_content(batch: pa.RecordBatch, parts: Mapping[str, int]) -> np.ndarray:
    """The split's index of each row, by a hash of all its values: equal rows always go together.

    Args:
      batch: the typed columns.
      parts: split name to its parts of the whole.
    """
    bounds = np.cumsum(list(parts.values()))
    return np.searchsorted(bounds, row_hashes(batch) % np.uint64(bounds[-1]), side="right")


def check(rows: Mapping[str, int], classes: Mapping[str, Mapping[str, int]], label: str) -> None:
    """Refuses splits that cannot train or judge a model.

    Args:
      rows: split name to its number of rows.
      classes: split name to the count of each class; empty for regression.
      label: the label's column, for the message.

    Raises:
      UserError: for a split without rows or a class that train lacks.
    """
    counted = ", ".join(f"{split} {number:,}" for split, number in rows.items())
    for split, number in rows.items():
        if not number:
            raise UserError(
                f"the {split} split got no rows ({counted})",
                where="data.split",
                fix=f"use more rows, or give {split} a larger part",
            )
    known = {name for split in classes.values() for name in split}
    for name in sorted(known - set(classes.get("train", ()))):
        raise UserError(
            f"class {cut(name)!r} has no row in the train split ({counted})",
            where=f"label {label!r}",
            fix="remove the class, or add rows of it",
        )
