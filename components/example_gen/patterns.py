"""What cells of text look like when they are numbers, dates and so on."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_WHOLE = r"(?:0|[1-9][0-9]*)"
_DAY = r"[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"
_TIME = r"(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]+)?)?"
# The types that columns are found to be of, most specific first; what fits none is text.
INFERRED = ("integer", "float", "boolean", "date", "datetime")
# What a cell can be asked. Three serve other ends: `whole` tells a number that is too long for int64
# from what is no number; `round` (7.0 too) and `flag` (0 and 1 too) are what columns that are declared
# integer and boolean may hold.
TESTS = {
    "whole": rf"^[+-]?{_WHOLE}$",
    "integer": "",
    "round": "",
    "float": rf"^[+-]?(?:{_WHOLE}(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$",
    "boolean": r"^(?i:true|false|yes|no)$",
    "flag": r"^(?i:true|false|yes|no|0|1)$",
    "date": rf"^{_DAY}$",
    "datetime": rf"^{_DAY}[T ]{_TIME}(?:Z|[+-][0-9]{{2}}:?[0-9]{{2}})?$",
}
NUMBERS = ("whole", "integer", "round", "float")
_ROUND = rf"^[+-]?{_WHOLE}(?:\.0*)?$"
_NOT_FINITE = r"^[+-]?(?i:nan|inf|infinity)$"
_INT64_DIGITS = 18  # so many characters always fit int64


def test_of(kind: str) -> str:
    """The test that every cell of a column that is declared to be of a type must pass."""
    return {"boolean": "flag", "integer": "round"}.get(kind, kind)


def fits(text: pa.Array, test: str, passed: dict[str, np.ndarray]) -> np.ndarray:
    """Which of the texts, trimmed, pass a test.

    Args:
      passed: what is known already of these texts; `integer` follows from `whole`.
    """
    if test == "round":
        return _fits_int64(pc.replace_substring_regex(text, r"\.0*$", ""), matches(text, _ROUND))
    if test == "integer":
        return _fits_int64(text, passed["whole"] if "whole" in passed else matches(text, TESTS["whole"]))
    if test == "float" and "whole" in passed and passed["whole"].all():
        return passed["whole"]
    return matches(text, TESTS[test])


def is_whole(numbers: np.ndarray) -> np.ndarray:
    """Which of the floats are whole numbers that int64 can hold."""
    with np.errstate(invalid="ignore"):
        return (numbers == np.trunc(numbers)) & (np.abs(numbers) < 2.0**63)


def matches_not_finite(text: pa.Array) -> np.ndarray:
    """Which of the texts say nan or inf."""
    # The few that can are told by their length first: the pattern costs more.
    lengths = pc.binary_length(text).to_numpy(zero_copy_only=False)
    found = (lengths >= 3) & (lengths <= 9)
    if found.any():
        at = np.flatnonzero(found)
        found[at] = matches(text.take(pa.array(at)), _NOT_FINITE)
    return found


def matches(text: pa.Array, pattern: str) -> np.ndarray:
    """Which of the texts match."""
    return pc.match_substring_regex(text, pattern).to_numpy(zero_copy_only=False)


def _fits_int64(text: pa.Array, whole: np.ndarray) -> np.ndarray:
    fits = whole.copy()
    # Arrow cannot test a cast without doing it: only numbers this long can be too large.
    for i in np.flatnonzero(fits & (pc.binary_length(text).to_numpy(zero_copy_only=False) > _INT64_DIGITS)):
        fits[i] = -(2**63) <= int(text[int(i)].as_py()) < 2**63
    return fits
