"""The config's metrics and gate as TFMA's EvalConfig."""

from __future__ import annotations

from collections.abc import Mapping

import tensorflow_model_analysis as tfma
from tensorflow_model_analysis.proto import config_pb2

from components.evaluator.config import FALLING, METRICS, Threshold, share_of
from components.evaluator.predictions import LABEL, WEIGHT

# Metric to TFMA's class for it, by task: a loss is another class for two classes than for many.
_CLASSES = {
    "binary": {
        "auc": "AUC",
        "auc_pr": "AUCPrecisionRecall",
        "accuracy": "BinaryAccuracy",
        "precision": "Precision",
        "recall": "Recall",
        "loss": "BinaryCrossEntropy",
        "calibration": "Calibration",
    },
    "multilabel": {
        "auc": "AUC",
        "auc_micro": "AUC",
        "auc_pr": "AUCPrecisionRecall",
        "accuracy": "BinaryAccuracy",
        "precision": "Precision",
        "recall": "Recall",
        "loss": "BinaryCrossEntropy",
        "calibration": "Calibration",
    },
    "multiclass": {"accuracy": "SparseCategoricalAccuracy", "loss": "SparseCategoricalCrossentropy"},
    "regression": {"rmse": "RootMeanSquaredError", "mae": "MeanAbsoluteError", "mse": "MeanSquaredError"},
}
# Metrics that each class has for itself.
OF_EACH_CLASS = {"multilabel": ("auc",)}
# Beside them the share of the rows that have the class; of two classes, the second.
SHARE = "share"
# How many rows there are, by TFMA's own name for it.
ROWS = "example_count"
_PLOTS = {"binary": ("CalibrationPlot", "ConfusionMatrixPlot")}


def eval_config(
    task: str,
    slices: tuple[tuple[str, ...], ...],
    gate: Mapping[str, Threshold],
    *,
    has_baseline: bool,
    weighted: bool,
    classes: int = 0,
) -> config_pb2.EvalConfig:
    """What TFMA computes, overall and by slice; the gate's thresholds hold overall only.

    Each metric goes by its own name in TFMA's results, those of each class under the class's id. Of lists of
    labels and predictions TFMA takes each pair for a case of its own, unless told to look at one class.
    Weights weigh the metrics, not the counts of rows.
    """
    config = config_pb2.EvalConfig()
    names = [tfma.CANDIDATE_KEY, tfma.BASELINE_KEY] if has_baseline else [""]
    for name in names:
        config.model_specs.add(
            name=name,
            label_key=LABEL,
            example_weight_key=WEIGHT if weighted else None,
            prediction_key=name or tfma.CANDIDATE_KEY,
            is_baseline=name == tfma.BASELINE_KEY,
        )
    config.slicing_specs.add()
    for columns in slices:
        config.slicing_specs.add(feature_keys=columns)
    counted = config.metrics_specs.add()
    counted.metrics.add(class_name="ExampleCount")
    if task == "binary":
        counted.metrics.add(class_name="MeanLabel", config=f'"name": "{SHARE}"')
    counted.example_weights.unweighted = True
    metrics = config.metrics_specs.add()
    of_each_class = OF_EACH_CLASS.get(task, ())
    for name in METRICS[task]:
        if name in of_each_class:
            continue
        metric = metrics.metrics.add(class_name=_CLASSES[task][name], config=f'"name": "{name}"')
        if name in gate:
            _threshold(metric, name, gate[name], has_baseline)
    if of_each_class:
        # TFMA's own average takes the AUC of a class that no row has for 0.
        binary = config.metrics_specs.add()
        binary.binarize.class_ids.values.extend(range(classes))
        for name in of_each_class:
            binary.metrics.add(class_name=_CLASSES[task][name], config=f'"name": "{name}"')
        binary.metrics.add(class_name="MeanLabel", config=f'"name": "{SHARE}"')
    for plot in _PLOTS.get(task, ()):
        metrics.metrics.add(class_name=plot)
    return config


def _threshold(metric: config_pb2.MetricConfig, name: str, bound: Threshold, has_baseline: bool) -> None:
    entry = metric.per_slice_thresholds.add()
    entry.slicing_specs.add()
    threshold = entry.threshold
    if bound.min is not None:
        threshold.value_threshold.lower_bound.value = bound.min
    if bound.max is not None:
        threshold.value_threshold.upper_bound.value = bound.max
    change = bound.max_rise if name in FALLING else bound.max_drop
    if has_baseline and change is not None:
        falling = name in FALLING
        threshold.change_threshold.direction = (
            config_pb2.MetricDirection.LOWER_IS_BETTER
            if falling
            else config_pb2.MetricDirection.HIGHER_IS_BETTER
        )
        way = 1.0 if falling else -1.0
        if isinstance(change, str):
            threshold.change_threshold.relative.value = way * share_of(change)
        else:
            threshold.change_threshold.absolute.value = way * change
