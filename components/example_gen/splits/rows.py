"""Rows of a block as they are dealt: their cells, and the columns that decide as texts."""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from components.example_gen.hashing import mixed, row_sums
from components.label import class_name


@dataclass(frozen=True)
class Rows:
    """Some rows.

    Attributes:
      cells: all columns as they stand in the source, excluded ones too.
      texts: trimmed texts of the columns that decide where rows go; null where a value is missing.
    """

    cells: pa.RecordBatch
    texts: Mapping[str, pa.Array] = field(default_factory=dict)

    def hashes(self, without: Collection[str] = ()) -> np.ndarray:
        """The hash of each row's content.

        Args:
          without: columns that do not count.
        """
        return mixed(self._sums - row_sums(self.cells, without))

    @functools.cached_property
    def _sums(self) -> np.ndarray:
        return row_sums(self.cells)

    def names(self, column: str, kind: str) -> tuple[np.ndarray, list[str]]:
        """The number of each row's name, -1 where it has none, and the names.

        Args:
          column: one of `texts`.
          kind: its type; 1 and +1 are one name of an integer column.
        """
        encoded = pc.dictionary_encode(self.texts[column])
        numbers: dict[str, int] = {}
        of_code = []
        for text in encoded.dictionary.to_pylist():
            try:
                of_code.append(numbers.setdefault(class_name(kind, text), len(numbers)))
            except (ValueError, OverflowError):
                of_code.append(-1)  # no value of the type that was declared
        codes = pc.fill_null(encoded.indices, len(of_code)).to_numpy(zero_copy_only=False)
        return np.array([*of_code, -1])[codes], list(numbers)
