"""The preprocessing_fn of a feature plan.

Each raw column comes as a SparseTensor, with at most one value a row unless it is one of lists;
whatever a row lacks is missing, and so is NaN. What is learned, is learned from the values that are there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import tensorflow as tf
import tensorflow_transform as tft

from components.label import LabelSpec
from components.transform import categories, dates, images, lists, numeric, texts
from components.transform.columns import as_text, dense
from components.transform.config import (
    BooleanFeature,
    CategoriesFeature,
    CategoryFeature,
    CrossFeature,
    DateFeature,
    FeatureConfig,
    ImageFeature,
    NumbersFeature,
    NumericFeature,
    TextFeature,
)
from components.transform.plan import FeaturePlan, ModelInput, PlannedFeature, input_name, missing_name
from components.transform.vocabularies import vocabularies

Columns = Mapping[str, tf.SparseTensor]
_Kind = TypeVar("_Kind")


def sized(plan: FeaturePlan, graph: tft.TFTransformOutput) -> FeaturePlan:
    """The plan with the model's inputs, of which only the analysis can tell how many ids there are."""
    features = tuple(
        feature.model_copy(update={"inputs": _inputs(feature, graph)}) for feature in plan.features
    )
    return plan.model_copy(update={"features": features})


def _inputs(feature: PlannedFeature, graph: tft.TFTransformOutput) -> tuple[ModelInput, ...]:
    name, config = feature.name, feature.config
    if isinstance(config, NumericFeature):
        return numeric.model_inputs(name, config)
    indicator = (ModelInput(name=missing_name(name)),) if getattr(config, "indicator", False) else ()
    return (*_values(name, config, graph), *indicator)


def _values(name: str, config: FeatureConfig, graph: tft.TFTransformOutput) -> tuple[ModelInput, ...]:
    if isinstance(config, NumbersFeature):
        return lists.numbers_inputs(name, config)
    if isinstance(config, CategoriesFeature):
        return lists.categories_inputs(name, config, graph)
    if isinstance(config, ImageFeature):
        return (images.image_input(name, config),)
    if isinstance(config, CategoryFeature):
        return (categories.category_input(name, config, graph),)
    if isinstance(config, DateFeature):
        return (dates.date_input(name, config),)
    if isinstance(config, TextFeature):
        return texts.text_inputs(name, config, graph)
    if isinstance(config, CrossFeature):
        return (ModelInput(name=input_name(name), size=config.buckets + 1),)
    return (ModelInput(name=input_name(name)),) if isinstance(config, BooleanFeature) else ()


def apply(plan: FeaturePlan, inputs: Columns) -> dict[str, tf.Tensor]:
    """What the plan makes of the raw columns: model inputs [batch, length], without the label."""
    numbers = _of_kind(plan, NumericFeature)
    named = _of_kind(plan, CategoryFeature)
    written = _of_kind(plan, TextFeature)
    made = numeric.outputs({name: (inputs[name], config) for name, config in numbers.items()})
    several = _of_kind(plan, CategoriesFeature)
    wanted = {name: categories.vocabulary(inputs[name], config) for name, config in named.items()}
    wanted |= {name: lists.vocabulary(inputs[name], config) for name, config in several.items()}
    wanted |= {name: texts.vocabulary(inputs[name], config) for name, config in written.items()}
    paths = vocabularies({name: vocabulary for name, vocabulary in wanted.items() if vocabulary})
    for name, config in named.items():
        made[input_name(name)] = categories.category(inputs[name], config, paths.get(name))
    for name, text_config in written.items():
        made |= texts.text(name, inputs[name], text_config, paths[name])
    for name, set_config in several.items():
        made |= lists.categories(name, inputs[name], set_config, paths.get(name))
    for name, numbers_config in _of_kind(plan, NumbersFeature).items():
        made |= lists.numbers(name, inputs[name], numbers_config)
    for name, image_config in _of_kind(plan, ImageFeature).items():
        made[input_name(name)] = images.image(inputs[name], image_config)
    for name, yes_or_no in _of_kind(plan, BooleanFeature).items():
        made[input_name(name)] = categories.boolean(inputs[name], yes_or_no)
    for name, date_config in _of_kind(plan, DateFeature).items():
        made[input_name(name)] = dates.date(inputs[name], date_config)
    for name, cross_config in _of_kind(plan, CrossFeature).items():
        made[input_name(name)] = categories.cross(cross_config, inputs, made)
    return made | _indicators(plan, inputs)


def _indicators(plan: FeaturePlan, inputs: Columns) -> dict[str, tf.Tensor]:
    """1.0 where a value is missing, else 0.0, float32 [batch, 1]; numbers have made their own."""
    made = {}
    for feature in plan.used:
        if isinstance(feature.config, NumericFeature) or not getattr(feature.config, "indicator", False):
            continue
        column = inputs[feature.name]
        is_date = isinstance(feature.config, DateFeature)
        missing = dates.is_missing(column) if is_date else tf.equal(as_text(column), "")
        made[missing_name(feature.name)] = tf.cast(missing, tf.float32)[:, None]
    return made


def preprocess(plan: FeaturePlan, inputs: Columns) -> dict[str, tf.Tensor]:
    """What tf.Transform turns into a graph: raw columns to model inputs, the label and the weight."""
    return {**apply(plan, inputs), **known_later(plan, inputs)}


def known_later(plan: FeaturePlan, inputs: Columns) -> dict[str, tf.Tensor]:
    """What is not known yet when a model is asked: the label, and the weight if there is one."""
    made = {plan.label_input: label(inputs[plan.label.name], plan.label)}
    if plan.weight:
        made[plan.weight.input] = weight(inputs[plan.weight.column], plan.weight.mean)
    return made


def _of_kind(plan: FeaturePlan, kind: type[_Kind]) -> dict[str, _Kind]:
    return {feature.name: feature.config for feature in plan.used if isinstance(feature.config, kind)}


def weight(column: tf.SparseTensor, mean: float) -> tf.Tensor:
    """1 on average over train, so that the size of the loss and the learning rate do not depend on it."""
    values = tf.cast(column.values, tf.float32) / mean
    return dense(tf.SparseTensor(column.indices, values, column.dense_shape), 0.0)


def label(column: tf.SparseTensor, spec: LabelSpec) -> tf.Tensor:
    """The class's id as int64, or the number as float32, [batch, 1]; -1 for a class that is not known.

    Of task multilabel, int64 [batch, classes]: 1 for each class that the row has, else 0.
    """
    if spec.task == "regression":
        values = tf.cast(column.values, tf.float32)
        return dense(tf.SparseTensor(column.indices, values, column.dense_shape), 0.0)
    known: Any
    if spec.type == "boolean":
        known = tf.constant([0, 1], tf.int64)
    elif spec.type == "integer":
        known = tf.constant([int(name) for name in spec.classes], tf.int64)
    elif spec.type == "float":
        known = tf.constant([float(name) for name in spec.classes], tf.float32)
    else:
        known = tf.constant(spec.classes, tf.string)
    match = tf.equal(column.values[:, None], known[None, :])
    if spec.task == "multilabel":
        times = tf.math.unsorted_segment_sum(
            tf.cast(match, tf.int64), column.indices[:, 0], column.dense_shape[0]
        )
        return tf.ensure_shape(tf.minimum(times, 1), [None, spec.width])
    ids = tf.where(tf.reduce_any(match, 1), tf.argmax(tf.cast(match, tf.int32), 1), -1)
    return dense(tf.SparseTensor(column.indices, ids, column.dense_shape), tf.constant(-1, tf.int64))
