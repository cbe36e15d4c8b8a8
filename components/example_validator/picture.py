"""Two distributions side by side, as text."""

from __future__ import annotations

import numpy as np

from components.errors import cut
from components.example_validator.distribution import Numbers, Shares

_LEVELS = "▁▂▃▄▅▆▇█"
_BINS = 24
_WIDTH = 12
_MOST_VALUES = 6


def histograms(before: Numbers, after: Numbers, names: tuple[str, str]) -> list[str]:
    """Both histograms over the same equal bins, the outer ones with the tails, a line each."""
    tails = np.array([0.01, 0.99])
    ends = np.concatenate((before.quantiles(tails), after.quantiles(tails)))
    low, high = float(ends.min()), float(ends.max())
    if high <= low:
        high = low + 1.0
    inner = np.linspace(low, high, _BINS + 1)[1:-1]
    masses = [
        np.diff(np.concatenate(([0.0], each.below(inner), [1.0]))).clip(min=0) for each in (before, after)
    ]
    top = max(float(mass.max()) for mass in masses)
    wide = max(map(len, names))
    return [
        f"{name:<{wide}}  {number(low)} {_bars(mass, top)} {number(high)}  "
        f"mean {number(each.mean)}, std {number(each.std)}, {each.count:,} values"
        for name, mass, each in zip(names, masses, (before, after))
    ]


def shares(before: Shares, after: Shares, names: tuple[str, str]) -> list[str]:
    """The shares of the values that are most frequent or changed most, a line each."""
    values = before.share.keys() | after.share.keys()

    def weight(value: str) -> float:
        was, now = before.share.get(value, 0.0), after.share.get(value, 0.0)
        return max(was, now) + abs(now - was)

    shown = sorted(values, key=lambda value: (-weight(value), value))[:_MOST_VALUES]
    wide = max(len(cut(value)) for value in shown)
    column = max(_WIDTH + 8, *map(len, names))
    lines = [f"{'':<{wide}}  {names[0]:<{column}}  {names[1]}"]
    for value in shown:
        was, now = (_share(each.share.get(value, 0.0)) for each in (before, after))
        lines.append(f"{cut(value):<{wide}}  {was:<{column}}  {now}".rstrip())
    if len(values) > len(shown):
        lines.append(f"{'…':<{wide}}  and {len(values) - len(shown):,} more")
    return lines


def number(value: float) -> str:
    """A number for a message, to four digits."""
    if value == int(value) and abs(value) < 1e6:
        return f"{int(value):,}"
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e9 else f"{value:.4g}"


def _bars(masses: np.ndarray, top: float) -> str:
    def bar(mass: float) -> str:
        return _LEVELS[min(len(_LEVELS) - 1, int(mass / top * len(_LEVELS)))] if mass > 0 else " "

    return "".join(bar(float(mass)) for mass in masses)


def _share(share: float) -> str:
    return f"{'█' * round(share * _WIDTH)}{' ' if round(share * _WIDTH) else ''}{share:.1%}"
