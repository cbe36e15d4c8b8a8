"""Numbers far out of the range that was seen: a unit or a sentinel in a few rows moves no distribution."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from components.example_validator import distribution
from components.example_validator.drift import Comparison
from components.example_validator.findings import Finding
from components.example_validator.picture import number
from components.example_validator.schema_checks import pb

_Type = pb.AnomalyInfo
# So many times the whole range beyond its ends is far.
_FAR = 2.0
_EXPECTED = 10


def out_of_range(comparison: Comparison, types: dict[str, str]) -> Iterator[Finding]:
    """A finding for each numeric column with values far beyond the range of `before`."""
    before = distribution.features(comparison.before.statistics)
    after = distribution.features(comparison.after.statistics)
    for name, kind in types.items():
        if kind not in ("integer", "float") or name not in before or name not in after:
            continue
        held, seen = distribution.numbers(before[name]), distribution.numbers(after[name])
        if held is None or seen is None or held.count < _EXPECTED:
            continue
        low, high = _ends(before[name])
        least, largest = _ends(after[name])
        room = _FAR * ((high - low) or max(abs(low), abs(high), 1.0))
        if least >= low - room and largest <= high + room:
            continue
        far_up = largest > high + room
        yield Finding(
            "range",
            name,
            comparison.against,
            f"about {number(low)} to {number(high)}",
            f"{number(least)} to {number(largest)}",
            comparison.splits,
            reason=_Type.FLOAT_TYPE_BIG_FLOAT if far_up else _Type.FLOAT_TYPE_SMALL_FLOAT,
        )


def _ends(feature: Any) -> tuple[float, float]:
    return feature.num_stats.min, feature.num_stats.max
