"""How many logits a task asks for."""

from __future__ import annotations

from components.transform.plan import FeaturePlan


def output_units(plan: FeaturePlan) -> int:
    """Logits of the model: one for two classes and for a number, else one a class."""
    return len(plan.label.classes) if plan.label.task in ("multiclass", "multilabel") else 1
