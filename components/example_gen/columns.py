"""What the columns are: types inferred over the whole data, conservatively, and cells turned into them.

A column is of a type only when every cell that is not missing is. Numbers with leading zeros,
underscores or more than 64 bits stay text: they are identifiers more often than quantities.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from components.errors import UserError, cut
from components.label import MOST_CLASSES, TRUE_WORDS

_WHOLE = r"(?:0|[1-9][0-9]*)"
_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIME = r"[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?"
# Most specific first; the first that fits every cell is the column's type, else it is text.
PATTERNS = {
    "integer": rf"^[+-]?{_WHOLE}$",
    "float": rf"^[+-]?(?:{_WHOLE}\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$",
    "boolean": r"^(?i:true|false|yes|no)$",
    "date": rf"^{_DAY}$",
    "datetime": rf"^{_DAY}[T ]{_TIME}(?:Z|[+-][0-9]{{2}}:?[0-9]{{2}})?$",
}
_NOT_FINITE = r"^[+-]?(?i:nan|inf|infinity)$"
_TRUE = pa.array(TRUE_WORDS)
_INT64_DIGITS = 18  # so many digits always fit int64
# Fewer other cells than this share are a stray that is worth naming, not another kind of column.
_STRAY_SHARE = 0.01


@dataclass
class ColumnScan:
    """What was seen of one column so far.

    Attributes:
      rows: cells seen.
      missing: those that are empty or a missing-value token.
      not_finite: those that say nan or inf; they count as missing.
      misfits: for each type, how many cells do not fit it, the first one's row (from 1) and text.
      values: each distinct value with its count; None when there are more than MOST_CLASSES.
    """

    name: str
    rows: int = 0
    missing: int = 0
    not_finite: int = 0
    misfits: dict[str, tuple[int, int, str]] = field(default_factory=dict)
    values: dict[str, int] | None = field(default_factory=dict)

    def see(self, cells: pa.Array, before: int, missing: pa.Array) -> None:
        """Takes in a block of cells that follows `before` rows."""
        self.rows += len(cells)
        encoded = pc.dictionary_encode(pc.utf8_trim_whitespace(cells))
        distinct = encoded.dictionary
        counts = np.bincount(encoded.indices.to_numpy(), minlength=len(distinct))
        gone = pc.is_in(distinct, value_set=missing).to_numpy(zero_copy_only=False)
        not_finite = _matches(distinct, _NOT_FINITE) & ~gone
        self.missing += int(counts[gone].sum())
        self.not_finite += int(counts[not_finite].sum())
        present = ~gone & ~not_finite
        for kind in PATTERNS:
            misfit = present & ~_fits(distinct, kind)
            if misfit.any():
                self._misfit(kind, misfit, counts, encoded, before)
        self._count_values(distinct, counts, present)

    def _misfit(
        self, kind: str, misfit: np.ndarray, counts: np.ndarray, encoded: pa.DictionaryArray, before: int
    ) -> None:
        number, row, text = self.misfits.get(kind, (0, 0, ""))
        if not number:
            first = int(np.flatnonzero(misfit[encoded.indices.to_numpy()])[0])
            row, text = before + first + 1, cut(encoded[first].as_py())
        self.misfits[kind] = (number + int(counts[misfit].sum()), row, text)

    def _count_values(self, distinct: pa.Array, counts: np.ndarray, present: np.ndarray) -> None:
        if self.values is None:
            return
        if int(present.sum()) + len(self.values) > 4 * MOST_CLASSES:
            self.values = None
            return
        for i in np.flatnonzero(present):
            value = distinct[int(i)].as_py()
            self.values[value] = self.values.get(value, 0) + int(counts[i])
        if len(self.values) > MOST_CLASSES:
            self.values = None

    @property
    def present(self) -> int:
        """Cells that hold a value."""
        return self.rows - self.missing - self.not_finite

    @property
    def inferred(self) -> str:
        """The most specific type that every cell fits; text when there is no cell to tell by."""
        if not self.present:
            return "text"
        return next((kind for kind in PATTERNS if kind not in self.misfits), "text")

    def stray(self) -> str | None:
        """A sentence when a few cells alone keep the column from a more useful type."""
        if self.inferred != "text" or not self.present:
            return None
        kind = min(self.misfits, key=lambda k: self.misfits[k][0])
        number, row, text = self.misfits[kind]
        if number > max(1, _STRAY_SHARE * self.present) or number * 2 >= self.present:
            return None
        return (
            f"column {self.name!r} is text because of {number:,} of {self.present:,} values, the first "
            f"{text!r} in row {row:,}; without them it is {kind} (add such tokens to data.missing)"
        )

    def merge(self, other: ColumnScan) -> None:
        """Takes in the scan of rows that follow these."""
        for kind, (number, row, text) in other.misfits.items():
            mine = self.misfits.get(kind)
            self.misfits[kind] = (mine[0] + number, *mine[1:]) if mine else (number, self.rows + row, text)
        self.rows += other.rows
        self.missing += other.missing
        self.not_finite += other.not_finite
        if self.values is None or other.values is None:
            self.values = None
            return
        for value, count in other.values.items():
            self.values[value] = self.values.get(value, 0) + count
        if len(self.values) > MOST_CLASSES:
            self.values = None


def scan(blocks: Iterable[tuple[int, pa.RecordBatch]], missing: Iterable[str]) -> dict[str, ColumnScan]:
    """Looks at every cell of every block and says what was seen of each column."""
    tokens = pa.array(list(missing), pa.string())
    scans: dict[str, ColumnScan] = {}
    for before, batch in blocks:
        for name, cells in zip(batch.schema.names, batch.columns):
            scans.setdefault(name, ColumnScan(name)).see(cells, before, tokens)
    return scans


def convert(
    cells: pa.Array, kind: str, missing: pa.Array, *, name: str, before: int, where: str
) -> tuple[pa.Array, int]:
    """Cells as values: int64, float32 or string, null where missing; and how many float32 changed.

    A whole number that float32 cannot hold counts as changed; rounding a fraction's last digits does not.

    Raises:
      UserError: for a cell that is not of the declared type.
    """
    text = pc.utf8_trim_whitespace(cells)
    gone = pc.is_in(text, value_set=missing)
    if kind in ("integer", "float", "boolean"):
        gone = pc.or_(gone, pc.match_substring_regex(text, _NOT_FINITE))
    present = pc.if_else(gone, pa.scalar(None, pa.string()), text)
    if kind == "text":
        return pc.if_else(gone, pa.scalar(None, pa.string()), cells), 0
    misfit = np.flatnonzero(~(_fits(text, kind) | gone.to_numpy(zero_copy_only=False)))
    if len(misfit):
        row = int(misfit[0])
        raise UserError(
            f"column {name!r}: {len(misfit)} values are not {kind}, the first {cut(text[row].as_py())!r}",
            where=f"{where}: row {before + row + 1}",
            fix=f"declare another type in data.columns.{name}, or add the token to data.missing",
        )
    if kind == "integer":
        return pc.cast(pc.replace_substring_regex(present, r"^\+", ""), pa.int64()), 0
    if kind == "boolean":
        is_true = pc.is_in(pc.utf8_lower(text), value_set=_TRUE)
        return pc.if_else(gone, pa.scalar(None, pa.int64()), pc.cast(is_true, pa.int64())), 0
    if kind == "float":
        wide = pc.cast(present, pa.float64())
        narrow = pc.cast(wide, pa.float32(), safe=False)
        values = wide.to_numpy(zero_copy_only=False)
        kept = narrow.to_numpy(zero_copy_only=False).astype(np.float64)
        whole = np.isfinite(values) & (values == np.trunc(values))
        return narrow, int((whole & (kept != values)).sum())
    return present, 0


def _matches(text: pa.Array, pattern: str) -> np.ndarray:
    return pc.match_substring_regex(text, pattern).to_numpy(zero_copy_only=False)


def _fits(text: pa.Array, kind: str) -> np.ndarray:
    fits = _matches(text, PATTERNS[kind])
    if kind != "integer":
        return fits
    # Arrow cannot test a cast without doing it: only numbers this long can be too large.
    for i in np.flatnonzero(fits & (pc.utf8_length(text).to_numpy(zero_copy_only=False) > _INT64_DIGITS)):
        fits[i] = -(2**63) <= int(text[int(i)].as_py()) < 2**63
    return fits
