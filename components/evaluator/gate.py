"""The gate: metrics against their bounds, and a verdict in a sentence."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from components.evaluator.config import FALLING, Threshold, share_of

# The answer that is the same for every row.
_SAME = {
    "accuracy": "always the most frequent class",
    "rmse": "always the mean",
    "mse": "always the mean",
}


@dataclass(frozen=True)
class Verdict:
    """Whether a model may be pushed, and why."""

    blessed: bool
    sentence: str


def judge(
    metrics: Mapping[str, float],
    baseline: Mapping[str, float] | None,
    gate: Mapping[str, Threshold],
    constant: Mapping[str, float] | None = None,
    errors: Mapping[str, float] | None = None,
) -> Verdict:
    """Holds each metric of the gate against its bounds.

    Args:
      metrics: of the candidate, on the whole test split; NaN holds no bound.
      baseline: the same of the latest blessed model on the same rows; None when there is none. NaN is no bar.
      gate: metric to bounds; every metric is in `metrics`.
      constant: the same of one answer for all rows, where it has any.
      errors: metric to its standard error on these rows, where it is known: it changes no verdict.
    """
    held, broken = [], []
    for name, threshold in gate.items():
        before = None if baseline is None or math.isnan(baseline[name]) else baseline[name]
        same = (constant or {}).get(name) if threshold.beats_constant else None
        reasons = _broken(name, metrics[name], threshold, before, same, (errors or {}).get(name))
        broken.extend(reasons)
        if not reasons:
            held.append(_held(name, metrics[name], threshold, before, same))
    if broken:
        return Verdict(False, f"not blessed: {'; '.join(broken)}")
    first = "" if baseline is not None else "; no blessed model to compare with yet"
    return Verdict(True, f"blessed: {'; '.join(held)}{first}")


def _broken(
    name: str,
    value: float,
    bound: Threshold,
    before: float | None,
    constant: float | None,
    error: float | None,
) -> list[str]:
    if math.isnan(value):
        return [f"{name} cannot be measured on these rows"]
    reasons = []
    if bound.min is not None and value < bound.min:
        reasons.append(f"{name} {value:.4f} is below the floor {bound.min:g}")
    if bound.max is not None and value > bound.max:
        reasons.append(f"{name} {value:.4f} is above the ceiling {bound.max:g}")
    if constant is not None and not (value < constant if name in FALLING else value > constant):
        reasons.append(f"{name} {value:.4f} is no better than {constant:.4f}, which {_SAME[name]} reaches")
    if before is None:
        return reasons
    for change, step, side in (
        (bound.max_drop, before - value, "below"),
        (bound.max_rise, value - before, "above"),
    ):
        allowed = share_of(change) * abs(before) if isinstance(change, str) else change
        if allowed is not None and step > allowed:
            reasons.append(
                f"{name} {value:.4f} is {step:.4f} {side} the latest blessed model's {before:.4f}, "
                f"more than {change if isinstance(change, str) else f'{change:g}'} allowed"
                + (
                    f" (but on so few rows {name} is only known to ±{error:.2g}, its standard error)"
                    if error is not None and step < error
                    else ""
                )
            )
    return reasons


def _held(name: str, value: float, bound: Threshold, before: float | None, constant: float | None) -> str:
    facts = []
    if bound.min is not None:
        facts.append(f"floor {bound.min:g}")
    if bound.max is not None:
        facts.append(f"ceiling {bound.max:g}")
    if constant is not None:
        facts.append(f"{_SAME[name]} {constant:.4f}")
    if before is not None and (bound.max_drop is not None or bound.max_rise is not None):
        facts.append(f"latest blessed model {before:.4f}")
    return f"{name} {value:.4f}" + (f" ({', '.join(facts)})" if facts else "")
