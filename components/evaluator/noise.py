"""How far a metric would be off on other rows of the same kind."""

from __future__ import annotations

import math

from components.evaluator.results import Measured


def standard_errors(found: Measured) -> dict[str, float]:
    """Metric to its standard error, of those that have a formula; of rows that all count the same.

    A share of n rows has sqrt(p (1 - p) / n). The area under the ROC curve has that of Hanley and McNeil,
    "The meaning and use of the area under a receiver operating characteristic (ROC) curve", Radiology 143,
    1982.
    """
    errors = {}
    accuracy = found.metrics.get("accuracy", math.nan)
    if found.rows and 0.0 <= accuracy <= 1.0:
        errors["accuracy"] = math.sqrt(accuracy * (1 - accuracy) / found.rows)
    area = found.metrics.get("auc", math.nan)
    counts = list(found.rows_of_classes.values())
    if len(counts) == 2 and min(counts) > 0 and 0.0 <= area <= 1.0:
        negative, positive = counts
        # Of two random positives, or negatives, that both are ranked right against one of the others.
        both_positive, both_negative = area / (2 - area), 2 * area**2 / (1 + area)
        variance = (
            area * (1 - area)
            + (positive - 1) * (both_positive - area**2)
            + (negative - 1) * (both_negative - area**2)
        ) / (positive * negative)
        errors["auc"] = math.sqrt(max(0.0, variance))
    return errors
