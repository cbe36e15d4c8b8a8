"""Deal rows to splits, and check what each split got."""

from __future__ import annotations

from collections.abc import Mapping

import farmhash
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from components.errors import UserError, cut

# Never part of a cell of delimited text that means anything.
_SEPARATOR = "\x1f"


def by_content(batch: pa.RecordBatch, parts: Mapping[str, int]) -> np.ndarray:
    """The split's index of each row, by a hash of all its cells: equal rows always go together.

    Args:
      batch: string columns, without nulls.
      parts: split name to its parts of the whole.
    """
    joined = pc.binary_join_element_wise(*batch.columns, _SEPARATOR)
    hashes = np.fromiter(map(farmhash.fingerprint64, joined.to_pylist()), np.uint64, len(joined))
    bounds = np.cumsum(list(parts.values()))
    return np.searchsorted(bounds, hashes % np.uint64(bounds[-1]), side="right")


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
