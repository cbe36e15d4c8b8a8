"""What the columns are: types inferred over the whole data, conservatively.

A column is of a type only when every cell that is not missing is. Numbers with leading zeros,
underscores or more than 64 bits stay text: they are identifiers more often than quantities.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from components.errors import cut
from components.example_gen.arrow_types import Cells
from components.example_gen.distinct import Distinct
from components.example_gen.patterns import (
    INFERRED,
    NUMBERS,
    TESTS,
    fits,
    is_whole,
    matches_not_finite,
    test_of,
)
from components.label import MOST_CLASSES

EXAMPLES = 5
_FEW_TEXTS = 3
# Which tests the values of a typed column pass.
_PASSES = {
    "integer": {"integer", "float", "whole", "round"},
    "float": {"float"},
    "boolean": {"boolean", "flag"},
    "date": {"date"},
    "datetime": {"datetime"},
}
# A test that more than this share of many cells fails is given up: the column is not of that type.
_HOPELESS, _MANY = 0.5, 10_000


@dataclass
class Misfits:
    """The cells that fail a test.

    Attributes:
      count: how many; at least so many when the test was given up.
      first: up to EXAMPLES of them: piece, row in the piece, text.
      texts: each distinct text with its count; None when there are more than a few, or they are no text.
    """

    count: int = 0
    first: list[tuple[int, int, str]] = field(default_factory=list)
    texts: dict[str, int] | None = field(default_factory=dict)

    def add_texts(self, texts: dict[str, int] | None) -> None:
        """Takes in distinct texts with their counts."""
        if self.texts is None or texts is None:
            self.texts = None
            return
        for text, count in texts.items():
            self.texts[text] = self.texts.get(text, 0) + count
        if len(self.texts) > _FEW_TEXTS:
            self.texts = None


@dataclass
class ColumnScan:
    """What was seen of one column so far.

    Attributes:
      rows: cells seen.
      missing: those that are null, or of delimited text empty or a missing-value token.
      not_finite: those that say nan or inf; they count as missing unless the column is text.
      words: how many words all texts have together.
      padded: texts that begin or end with blanks, which they keep.
      absent: cells in which nothing stands; an empty list is something.
      longest: the most values that a cell has; more than 1 in a column of lists only.
      lists: whether some cells are lists, of however many values.
      misfits: for each test of patterns.TESTS that some cell fails, those cells.
      values: each distinct value with its count; None when there are more than MOST_CLASSES.
      distinct: estimates how many there are.
      origins: Arrow types that do not survive as they are, such as decimal128(10, 2).
      text: whether some cells are text, or bytes, of a format that has other types too.
      bytes: whether some cells are bytes that are no text.
      unusable: the Arrow type, when no feature can have it.
      declared: the type that the config declares; what does not fit it is counted to the last.
      odd: texts among the not finite, with their counts.
      kinds: kinds of cells that were seen, as the format tells them, with piece and row of the first.
    """

    name: str
    rows: int = 0
    missing: int = 0
    not_finite: int = 0
    words: int = 0
    padded: int = 0
    absent: int = 0
    longest: int = 0
    lists: bool = False
    misfits: dict[str, Misfits] = field(default_factory=dict)
    values: dict[str, int] | None = field(default_factory=dict)
    distinct: Distinct = field(default_factory=Distinct)
    origins: list[str] = field(default_factory=list)
    text: bool = False
    bytes: bool = False
    unusable: str = ""
    declared: str = ""
    odd: dict[str, int] = field(default_factory=dict)
    kinds: dict[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def present(self) -> int:
        """Values that are there; of a column of lists each counts."""
        return self.rows - self.missing - self.not_finite

    @property
    def inferred(self) -> str:
        """The most specific type that every value fits; text when there is no value to tell by."""
        if self.bytes:
            return "bytes"
        if not self.present:
            return "text"
        if self.too_long:
            return "text"
        return next((kind for kind in INFERRED if kind not in self.misfits), "text")

    @property
    def too_long(self) -> int:
        """How many whole numbers int64 cannot hold, in a column of nothing but whole numbers."""
        return (
            self.misfits["integer"].count if "integer" in self.misfits and "whole" not in self.misfits else 0
        )

    def distinct_values(self, kind: str) -> dict[str, int] | None:
        """Distinct values with their counts if the column is of a type; None: more than MOST_CLASSES."""
        if self.values is None:
            return None
        if kind == "text":
            return {**self.values, **self.odd}
        merged: dict[str, int] = {}
        for value, count in self.values.items():
            merged[value.strip()] = merged.get(value.strip(), 0) + count
        return merged

    @property
    def distinct_count(self) -> int:
        """How many distinct values there are: exact up to MOST_CLASSES, an estimate beyond."""
        if self.values is not None:
            return len(self.values)
        return min(max(self.distinct.estimate(), MOST_CLASSES + 1), self.present)

    def see(
        self, cells: Cells, piece: int, rows: np.ndarray, infers: Sequence[str], missing: pa.Array
    ) -> None:
        """Takes in a block of cells.

        Args:
          piece: index of the piece that they stand in.
          rows: number of each in it.
          infers: which types text cells may be of; empty: they are text.
          missing: tokens that mean a missing value in text cells that may be of any type.
        """
        if cells.origin and cells.origin not in self.origins:
            self.origins.append(cells.origin)
        if cells.lengths is not None:
            self.lists = True
            self.absent += 0 if cells.absent is None else int(cells.absent.sum())
            self.longest = max(self.longest, int(cells.lengths.max(initial=0)))
            self.missing += int((cells.lengths == 0).sum())
            self.rows += int((cells.lengths == 0).sum())
            rows = np.repeat(rows, cells.lengths)
        else:
            self.longest = max(self.longest, 1)
            self.absent += cells.values.null_count
        self.rows += len(cells.values)
        if cells.kind not in self.kinds and cells.values.null_count < len(cells.values):
            first = int(np.flatnonzero(cells.values.is_valid().to_numpy(zero_copy_only=False))[0])
            self.kinds[cells.kind] = (piece, int(rows[first]))
        if cells.kind == "nothing":
            self.missing += len(cells.values)
        elif cells.kind == "text":
            self._see_text(cells.values, piece, rows, infers, missing)
        else:
            self._see_typed(cells, piece, rows)

    def _see_text(
        self, values: pa.Array, piece: int, rows: np.ndarray, infers: Sequence[str], missing: pa.Array
    ) -> None:
        encoded = values.dictionary_encode()
        raw, indices = encoded.dictionary, encoded.indices
        text = pc.utf8_trim_whitespace(raw)
        absent = len(values) if values.null_count == len(values) else values.null_count
        counts = np.bincount(indices.drop_null().to_numpy(), minlength=len(raw))
        everything = len(infers) == len(INFERRED)
        gone = (
            pc.is_in(text, value_set=missing).to_numpy(zero_copy_only=False)
            if everything
            else np.zeros(len(raw), bool)
        )
        not_finite = matches_not_finite(text) & ~gone if everything else gone
        self.text = self.text or not everything
        self.missing += absent + int(counts[gone].sum())
        self.not_finite += int(counts[not_finite].sum())
        for index in np.flatnonzero(not_finite)[:MOST_CLASSES]:
            self.odd[raw[int(index)].as_py()] = int(counts[index]) + self.odd.get(raw[int(index)].as_py(), 0)
        present = ~gone & ~not_finite
        self.padded += int(counts[present & pc.not_equal(text, raw).to_numpy(zero_copy_only=False)].sum())
        passed: dict[str, np.ndarray] = {}
        for test in TESTS:
            if test in ("round", "flag") and test != test_of(self.declared):
                continue
            if self._hopeless(test):
                self._misfits(test).count += int(counts[present].sum())
                self._misfits(test).add_texts(None)
                continue
            possible = (
                test in infers or (test in NUMBERS and "integer" in infers) or (test == "flag" and everything)
            )
            passed[test] = fits(text, test, passed) if possible else np.zeros(len(raw), bool)
            misfit = present & ~passed[test]
            if misfit.any():
                self._note_misfits(test, misfit, counts, encoded, piece, rows)
        self._count_values(raw, counts, present)

    def _see_typed(self, cells: Cells, piece: int, rows: np.ndarray) -> None:
        values = cells.values
        there = values.is_valid().to_numpy(zero_copy_only=False)
        self.missing += int((~there).sum())
        if cells.kind == "float":
            finite = pc.is_finite(values).fill_null(False).to_numpy(zero_copy_only=False)
            self.not_finite += int((there & ~finite).sum())
            there = there & finite
        self.bytes = self.bytes or cells.kind == "bytes"
        if not there.any():
            return
        for test in TESTS:
            if test in _PASSES.get(cells.kind, ()):
                continue
            misfit = there
            if cells.kind == "float" and test == "round":
                misfit = there & ~is_whole(values.fill_null(0).to_numpy(zero_copy_only=False))
            elif cells.kind == "integer" and test == "flag":
                misfit = there & ~np.isin(values.fill_null(0).to_numpy(zero_copy_only=False), (0, 1))
            if misfit.any():
                found = self._misfits(test)
                found.count += int(misfit.sum())
                found.add_texts(None)
                for index in np.flatnonzero(misfit)[: EXAMPLES - len(found.first)]:
                    found.first.append((piece, int(rows[index]), cut(values[int(index)].as_py())))
        if cells.kind == "bytes":
            self.values = None
            return
        counted = pc.value_counts(values.filter(pa.array(there)))
        distinct, counts = counted.field(0), counted.field(1).to_numpy()
        if self.values is not None and len(distinct) <= 4 * MOST_CLASSES:
            texts = pc.utf8_lower(distinct.cast(pa.string())) if cells.kind == "boolean" else distinct
            self._add_values({str(each): int(n) for each, n in zip(texts.to_pylist(), counts)})
        else:
            self.values = None
        self.distinct.add_column(distinct)

    def _hopeless(self, test: str) -> bool:
        if self.declared and test == test_of(self.declared):
            return False
        count = self.misfits[test].count if test in self.misfits else 0
        return count > _MANY and count > _HOPELESS * self.present

    def _misfits(self, test: str) -> Misfits:
        return self.misfits.setdefault(test, Misfits())

    def _note_misfits(
        self,
        test: str,
        misfit: np.ndarray,
        counts: np.ndarray,
        encoded: pa.DictionaryArray,
        piece: int,
        rows: np.ndarray,
    ) -> None:
        found = self._misfits(test)
        found.count += int(counts[misfit].sum())
        distinct = np.flatnonzero(misfit)
        few = len(distinct) <= _FEW_TEXTS
        found.add_texts(
            {cut(encoded.dictionary[int(i)].as_py()): int(counts[i]) for i in distinct} if few else None
        )
        if len(found.first) < EXAMPLES:
            indices = encoded.indices.fill_null(-1).to_numpy()
            for index in np.flatnonzero((indices >= 0) & misfit[indices])[: EXAMPLES - len(found.first)]:
                found.first.append((piece, int(rows[index]), cut(encoded[int(index)].as_py())))

    def _count_values(self, distinct: pa.Array, counts: np.ndarray, present: np.ndarray) -> None:
        number = int(present.sum())
        if self.values is not None:
            if number + len(self.values) > 4 * MOST_CLASSES:
                self.values = None
            else:
                at = np.flatnonzero(present)
                texts = distinct.take(pa.array(at)).to_pylist()
                self._add_values({text: int(counts[i]) for text, i in zip(texts, at)})
        # Of numbers with fractions and of dates nobody needs to know.
        kind = self.inferred
        if kind in ("text", "integer"):
            there = distinct.filter(pa.array(present))
            self.distinct.add_column(there)
            if kind == "text":
                words = pc.count_substring_regex(there, r"\S+").to_numpy(zero_copy_only=False)
                self.words += int(words @ counts[present])

    def _add_values(self, values: dict[str, int]) -> None:
        if self.values is None:
            return
        for value, count in values.items():
            self.values[value] = self.values.get(value, 0) + count
        if len(self.values) > MOST_CLASSES:
            self.values = None

    def lacks(self, rows: int) -> None:
        """Takes in rows that have no such column."""
        self.rows += rows
        self.missing += rows
        self.absent += rows

    def merge(self, other: ColumnScan) -> None:
        """Takes in the scan of rows that follow these."""
        for test, theirs in other.misfits.items():
            mine = self._misfits(test)
            mine.count += theirs.count
            mine.first.extend(theirs.first[: EXAMPLES - len(mine.first)])
            mine.add_texts(theirs.texts)
        self.rows += other.rows
        self.missing += other.missing
        self.not_finite += other.not_finite
        self.padded += other.padded
        self.words += other.words
        self.longest = max(self.longest, other.longest)
        self.absent += other.absent
        self.lists = self.lists or other.lists
        self.origins.extend(each for each in other.origins if each not in self.origins)
        self.text, self.bytes = self.text or other.text, self.bytes or other.bytes
        self.unusable = self.unusable or other.unusable
        self.distinct.merge(other.distinct)
        for kind, place in other.kinds.items():
            self.kinds.setdefault(kind, place)
        for text, count in other.odd.items():
            self.odd[text] = self.odd.get(text, 0) + count
        if other.values is None:
            self.values = None
        else:
            self._add_values(other.values)
