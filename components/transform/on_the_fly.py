"""Transformed features for an input pipeline, whether Transform has written them or not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf
import tensorflow_transform as tft
from tensorflow_transform.saved import saved_transform_io_v2

from components.transform.plan import FeaturePlan

Reader = Callable[[tf.Tensor], dict[str, tf.Tensor]]


def reader(plan: FeaturePlan, spec: Mapping[str, Any]) -> Reader:
    """What makes serialized examples, string [n], into transformed features, [n, length].

    Args:
      plan: of the examples' graph, as `FeaturePlan.load` gives it.
      spec: how transformed examples parse.
    """
    if plan.raw_graph is None:
        return lambda serialized: tf.io.parse_example(serialized, spec)
    transform = transformer(plan.raw_graph)

    def read(serialized: tf.Tensor) -> dict[str, tf.Tensor]:
        transformed = transform(serialized)
        return {name: tf.ensure_shape(transformed[name], [None, *spec[name].shape]) for name in spec}

    return read


def transformer(graph_uri: str) -> Reader:
    """The transform graph as a function of serialized raw examples; for tf.data's map, a batch at a time."""
    output = tft.TFTransformOutput(graph_uri)
    spec = output.raw_feature_spec()
    # Its vocabularies live as long as the function does, which holds the loader.
    loader = saved_transform_io_v2.SavedModelLoader(output.transform_savedmodel_dir)

    def transform(serialized: tf.Tensor) -> dict[str, tf.Tensor]:
        return dict(loader.apply_transform_model(tf.io.parse_example(serialized, spec)))

    return transform
