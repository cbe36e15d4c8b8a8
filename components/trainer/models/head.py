"""How many logits a task asks for."""

from __future__ import annotations

from components.transform.plan import FeaturePlan


def output_units(plan: FeaturePlan) -> int:
    """Logits of the model: one for two classes, a number or each of its quantiles; else one a class."""
    if plan.label.task == "regression":
        return len(plan.label.quantiles) or 1
    return len(plan.label.classes) if plan.label.task in ("multiclass", "multilabel") else 1
