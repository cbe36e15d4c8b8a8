"""Compare the distributions of the columns of two data sets, and say which are apart, and how."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from components.example_gen.found import Found
from components.example_validator import distance, distribution, picture
from components.example_validator.config import DriftThresholds
from components.example_validator.distance import L_INFINITY, Distance
from components.example_validator.distribution import Numbers, Shares
from components.example_validator.findings import Finding
from components.example_validator.picture import number
from components.example_validator.schema_checks import pb
from components.schema_gen.semantics import is_prose

_Type = pb.AnomalyInfo
# Columns whose values differ from day to day as a matter of course.
_UNEQUAL = ("date", "datetime", "image", "bytes")
# A pattern in the quantiles must be this clear to be named.
_SAME_RATIO = 1.2
_SAME_STEP = 0.5
_DECILES = np.arange(1, 10) / 10
_SAME_SHARE = 0.03


@dataclass(frozen=True)
class Side:
    """One of the two data sets.

    Attributes:
      name: what it is called beside its histograms.
      statistics: TFDV's, of all its rows.
    """

    name: str
    statistics: Any

    @property
    def rows(self) -> int:
        return int(self.statistics.num_examples)


@dataclass(frozen=True)
class Comparison:
    """A comparison to be made.

    Attributes:
      kind: drift or skew.
      before, after: the data sets.
      against: the name of `before` in messages.
      splits: where a finding is said to be.
    """

    kind: str
    before: Side
    after: Side
    against: str
    splits: tuple[str, ...]


def compare(
    comparison: Comparison, found: Found, thresholds: DriftThresholds, schema: Any
) -> Iterator[Finding]:
    """A finding for each column whose distributions are apart."""
    before = distribution.features(comparison.before.statistics)
    after = distribution.features(comparison.after.statistics)
    limits = _schema_limits(schema, comparison.kind)
    for name, kind in found.types.items():
        if name not in before or name not in after:
            continue
        own = thresholds.columns.get(name, limits.get(name))
        numeric = thresholds.numeric if own is None else own
        category = thresholds.category if own is None else own
        pair = _Pair(comparison, name, before[name], after[name])
        if kind not in _UNEQUAL and not (kind == "text" and is_prose(found, name)):
            yield from pair.values(kind, numeric, category)
        yield from pair.missing(category)


class _Pair:
    """One column in two data sets."""

    def __init__(self, comparison: Comparison, name: str, before: Any, after: Any) -> None:
        self._comparison, self._name = comparison, name
        self._before, self._after = before, after

    @property
    def _names(self) -> tuple[str, str]:
        return self._comparison.before.name, self._comparison.after.name

    def values(self, kind: str, numeric: float, category: float) -> Iterator[Finding]:
        """At most one finding about the values."""
        if kind == "text":
            yield from self._shares(
                distribution.strings(self._before), distribution.strings(self._after), category
            )
            return
        before, after = distribution.numbers(self._before), distribution.numbers(self._after)
        if before is None or after is None:
            return
        if kind == "boolean":
            yield from self._shares(
                distribution.truths(self._before), distribution.truths(self._after), category
            )
            return
        apart = distance.jensen_shannon(before, after)
        if apart.exceeds(numeric):
            drawn = picture.histograms(before, after, self._names)
            was, now = (f"a mean of {number(each.mean)}" for each in (before, after))
            yield self._finding(apart, numeric, was, now + _how_numbers(before, after), drawn)
            return
        yield from self._shares(before.codes(), after.codes(), category)

    def missing(self, threshold: float) -> Iterator[Finding]:
        """A finding when another part of the rows has no value."""
        rows = self._comparison.before.rows, self._comparison.after.rows
        if not all(rows):
            return
        was = distribution.missing_share(self._before, rows[0])
        now = distribution.missing_share(self._after, rows[1])
        apart = distance.missing(was, now, *rows)
        if apart.exceeds(threshold):
            yield self._finding(
                apart, threshold, f"no value in {was:.1%} of the rows", f"none in {now:.1%}", []
            )

    def _shares(self, before: Shares | None, after: Shares | None, threshold: float) -> Iterator[Finding]:
        if before is None or after is None:
            return
        apart = distance.l_infinity(before, after)
        if apart.exceeds(threshold):
            drawn = picture.shares(before, after, self._names)
            was, now = _how_shares(before, after, apart)
            yield self._finding(apart, threshold, was, now, drawn)

    def _finding(self, apart: Distance, threshold: float, was: str, now: str, drawn: list[str]) -> Finding:
        return Finding(
            kind=self._comparison.kind,
            column=self._name,
            against=self._comparison.against,
            expected=was,
            received=now,
            splits=self._comparison.splits,
            measure=apart.measure,
            distance=apart.value,
            threshold=threshold,
            picture=tuple(drawn),
            reason=_Type.COMPARATOR_L_INFTY_HIGH
            if apart.measure == L_INFINITY
            else _Type.COMPARATOR_JENSEN_SHANNON_DIVERGENCE_HIGH,
        )


def _schema_limits(schema: Any, kind: str) -> dict[str, float]:
    """The thresholds that a reviewed schema sets itself, in drift_comparator or skew_comparator."""
    limits = {}
    for feature in schema.feature:
        comparator = getattr(feature, f"{kind}_comparator")
        for measure in ("jensen_shannon_divergence", "infinity_norm"):
            if comparator.HasField(measure):
                limits[feature.name] = getattr(comparator, measure).threshold
    return limits


def _how_numbers(before: Numbers, after: Numbers) -> str:
    """What happened to the numbers when the quantiles show it; empty when they do not."""
    was, now = before.quantiles(_DECILES), after.quantiles(_DECILES)
    if len(np.unique(was)) < 4:
        return ""
    if (was * now > 0).all():
        ratio = now / was
        middle = float(np.median(ratio))
        if ratio.max() / ratio.min() < _SAME_RATIO and abs(np.log(middle)) > np.log(_SAME_RATIO):
            return f", as if multiplied by {number(middle)}"
    step = now - was
    middle = float(np.median(step))
    if before.std > 0 and np.ptp(step) < _SAME_STEP * before.std and abs(middle) > _SAME_STEP * before.std:
        return f", as if shifted by {number(middle)}, {abs(middle) / before.std:.1f} standard deviations"
    return ""


def _how_shares(before: Shares, after: Shares, apart: Distance) -> tuple[str, str]:
    """The share that changed most, before and after."""
    if apart.group:
        more = f"{apart.value:.1%} more values that are {apart.group} than chance explains"
        return "the values that there were", more
    was, now = before.share.get(apart.at, 0.0), after.share.get(apart.at, 0.0)
    swapped = [
        value
        for value, share in before.share.items()
        if value != apart.at
        and abs(after.share.get(value, 0.0) - was) < _SAME_SHARE
        and abs(share - now) < _SAME_SHARE
    ]
    hint = f", as if swapped with {swapped[0]!r}" if len(swapped) == 1 else ""
    return f"{apart.at!r} {was:.1%}", f"{now:.1%}{hint}"
