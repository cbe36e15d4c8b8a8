"""The gate: metrics against their bounds, and a verdict in a sentence."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from components.evaluator.config import Threshold


@dataclass(frozen=True)
class Verdict:
    """Whether a model may be pushed, and why."""

    blessed: bool
    sentence: str


def judge(
    metrics: Mapping[str, float], baseline: Mapping[str, float] | None, gate: Mapping[str, Threshold]
) -> Verdict:
    """Holds each metric of the gate against its bounds.

    Args:
      metrics: of the candidate, on the whole test split; NaN holds no bound.
      baseline: the same of the latest blessed model on the same rows; None when there is none. NaN is no bar.
      gate: metric to bounds; every metric is in `metrics`.
    """
    held, broken = [], []
    for name, threshold in gate.items():
        before = None if baseline is None or math.isnan(baseline[name]) else baseline[name]
        reasons = _broken(name, metrics[name], threshold, before)
        broken.extend(reasons)
        if not reasons:
            held.append(_held(name, metrics[name], threshold, before))
    if broken:
        return Verdict(False, f"not blessed: {'; '.join(broken)}")
    first = "" if baseline is not None else "; no blessed model to compare with yet"
    return Verdict(True, f"blessed: {'; '.join(held)}{first}")


def _broken(name: str, value: float, bound: Threshold, before: float | None) -> list[str]:
    if math.isnan(value):
        return [f"{name} cannot be measured on these rows"]
    reasons = []
    if bound.min is not None and value < bound.min:
        reasons.append(f"{name} {value:.4f} is below the floor {bound.min:g}")
    if bound.max is not None and value > bound.max:
        reasons.append(f"{name} {value:.4f} is above the ceiling {bound.max:g}")
    if before is not None and bound.max_drop is not None and before - value > bound.max_drop:
        reasons.append(
            f"{name} {value:.4f} is {before - value:.4f} below the latest blessed model's {before:.4f}, "
            f"more than {bound.max_drop:g} allowed"
        )
    if before is not None and bound.max_rise is not None and value - before > bound.max_rise:
        reasons.append(
            f"{name} {value:.4f} is {value - before:.4f} above the latest blessed model's {before:.4f}, "
            f"more than {bound.max_rise:g} allowed"
        )
    return reasons


def _held(name: str, value: float, bound: Threshold, before: float | None) -> str:
    facts = []
    if bound.min is not None:
        facts.append(f"floor {bound.min:g}")
    if bound.max is not None:
        facts.append(f"ceiling {bound.max:g}")
    if before is not None and (bound.max_drop is not None or bound.max_rise is not None):
        facts.append(f"latest blessed model {before:.4f}")
    return f"{name} {value:.4f}" + (f" ({', '.join(facts)})" if facts else "")
