"""Writes tiny SavedModels that keep the contract of exported models, for the tests of serving."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import tensorflow as tf

FEATURES = {"company": tf.string, "pickup_zone": tf.string, "hour": tf.int64, "trip_miles": tf.float32}
RAW_TYPES = {"company": "text", "pickup zone": "text", "hour": "integer", "trip_miles": "float"}
MISSING_HOUR = -(2**63)


def save_model(
    path: Path, task: str = "binary", bias: float = 0.0, name: str = "tips", *, quantiles: bool = False
) -> Path:
    """A version directory. Its score is miles / 10 + hour / 100 + bias, missing ones counting as zero;
    company `Blue` adds 0.05. Of task regression it may give two quantiles, half and twice that."""
    module = tf.Module()
    module.bias = tf.Variable(bias)
    options = {
        column: tf.io.FixedLenFeature([], dtype, _missing(dtype)) for column, dtype in FEATURES.items()
    }

    def score(features: dict[str, tf.Tensor]) -> tf.Tensor:
        miles, hour = features["trip_miles"], features["hour"]
        miles = tf.where(tf.math.is_nan(miles), 0.0, miles)
        hour = tf.where(hour == MISSING_HOUR, tf.zeros_like(hour), hour)
        blue = tf.where(features["company"] == "Blue", 0.05, 0.0)
        return miles / 10 + tf.cast(hour, tf.float32) / 100 + blue + module.bias

    def answer(features: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        yes = score(features)
        if task == "regression":
            return {
                "predictions": yes,
                **({"quantiles": tf.stack([yes / 2, yes * 2], 1)} if quantiles else {}),
            }
        yes = tf.clip_by_value(yes, 0.0, 1.0)
        classes = tf.tile([["no", "yes"]], [tf.size(yes), 1])
        return {
            "probabilities": tf.stack([1 - yes, yes], axis=1),
            "classes": classes,
            "predicted_class": tf.where(yes >= 0.5, "yes", "no"),
        }

    def examples(signature: Any) -> Any:
        spec = tf.TensorSpec([None], tf.string, name="examples")
        return tf.function(signature, input_signature=[spec])

    def raw(**features: tf.Tensor) -> dict[str, tf.Tensor]:
        return answer(features)

    specs = {column: tf.TensorSpec([None], dtype, name=column) for column, dtype in FEATURES.items()}
    signatures = {
        "serving_default": examples(lambda examples: answer(tf.io.parse_example(examples, options))),
        "serving_raw": tf.function(raw).get_concrete_function(**specs),
        "transform_features": examples(
            lambda examples: {"score": score(tf.io.parse_example(examples, options))}
        ),
        **_inference_signatures(
            lambda examples: tf.clip_by_value(score(tf.io.parse_example(examples, options)), 0.0, 1.0)
        ),
        **_odd_signatures(module),
    }
    tf.saved_model.save(module, str(path), signatures=signatures)
    manifest: dict[str, Any] = {
        "format": 1,
        "name": name,
        "task": task,
        "label": "tipped",
        "features": RAW_TYPES,
    }
    if task != "regression":
        manifest["classes"] = ["no", "yes"]
    (path / "assets.extra").mkdir()
    (path / "assets.extra" / "headrace.json").write_text(json.dumps(manifest))
    return path


def _inference_signatures(yes: Callable[[tf.Tensor], tf.Tensor]) -> dict[str, Any]:
    """Signatures for Classify and Regress, which take `inputs` and have outputs of known names."""

    def of(function: Any) -> Any:
        return tf.function(function, input_signature=[tf.TensorSpec([None], tf.string, name="inputs")])

    def scores(examples: tf.Tensor) -> tf.Tensor:
        return tf.stack([1 - yes(examples), yes(examples)], axis=1)

    def classes(examples: tf.Tensor) -> tf.Tensor:
        return tf.tile([["no", "yes"]], [tf.size(examples), 1])

    return {
        "classify": of(lambda inputs: {"classes": classes(inputs), "scores": scores(inputs)}),
        "only_scores": of(lambda inputs: {"scores": scores(inputs)}),
        "regress": of(lambda inputs: {"outputs": yes(inputs)}),
        "wrong_outputs": of(lambda inputs: {"other": yes(inputs)}),
    }


def _odd_signatures(module: tf.Module) -> dict[str, Any]:
    """Signatures that exported models do not have and the REST API must cope with."""

    def of(function: Any, **specs: tf.TensorSpec) -> Any:
        named = {name: tf.TensorSpec(spec.shape, spec.dtype, name=name) for name, spec in specs.items()}
        return tf.function(function).get_concrete_function(**named)

    floats, strings = tf.TensorSpec([None], tf.float32), tf.TensorSpec([None], tf.string)
    return {
        "matrix": of(lambda x: {"y": tf.reduce_sum(x, 1) + 0 * module.bias}, x=tf.TensorSpec([None, 2])),
        "copy": of(lambda data: {"data_bytes": data, "text": data}, data=strings),
        "add": of(lambda a, b: {"sum": a + b}, a=floats, b=floats),
        "logarithm": of(lambda x: {"log": tf.math.log(x), "twice": x * 2}, x=floats),
        "kinds": of(
            lambda **inputs: dict(inputs.items()),
            small=tf.TensorSpec([None], tf.int8),
            flag=tf.TensorSpec([None], tf.bool),
            wide=tf.TensorSpec([None], tf.float64),
            count=tf.TensorSpec([None], tf.uint32),
        ),
        "scalar": of(lambda x: {"total": tf.reduce_sum(_with_a_gradient(x))}, x=floats),
        "whole": of(lambda x: {"count": tf.fill([tf.size(x) * 2], 1.0)}, x=floats),
        # Takes as many milliseconds as the largest x says: for the limits.
        "slow": of(lambda x: {"y": x + 0 * _spin(tf.reduce_max(x))}, x=floats),
        "half": of(lambda x: {"y": x}, x=tf.TensorSpec([None], tf.float16)),
    }


@tf.custom_gradient
def _with_a_gradient(x: tf.Tensor) -> Any:
    """x; loading a model with such a function registers the gradient for ever, if nobody takes care."""
    return tf.identity(x), lambda upstream: upstream


def _spin(milliseconds: tf.Tensor) -> tf.Tensor:
    """0, after so many milliseconds of the clock: as long on a fast machine as on a slow one."""
    end = tf.timestamp() + tf.cast(milliseconds, tf.float64) / 1000

    def more(index: tf.Tensor, total: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return index + 1, total + tf.reduce_sum(tf.random.stateless_uniform([10_000], [index, 2])) * 1e-9

    start = (tf.constant(0), tf.constant(0.0))
    return tf.while_loop(lambda index, total: tf.timestamp() < end, more, start)[1]


def _missing(dtype: tf.DType) -> Any:
    return {tf.string: "", tf.int64: MISSING_HOUR, tf.float32: float("nan")}[dtype]
