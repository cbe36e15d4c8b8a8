"""Infer a schema: TFDV's view of the train split, and what ingest knows of the columns."""

from __future__ import annotations

from typing import Any

import tensorflow_data_validation as tfdv
from tensorflow_metadata.proto.v0 import schema_pb2, statistics_pb2

from components.example_gen.found import Found
from components.schema_gen.semantics import STORED, is_prose, time_format

pb: Any = schema_pb2

TRAINING, SERVING = "TRAINING", "SERVING"

# A column is expected in every split when so many of its values are to be expected in the smallest one.
_EXPECTED = 10
# A column of text with at most so many distinct values has a domain, as TFDV decides it.
_MOST_VALUES = 100


def infer(train: Any, found: Found) -> Any:
    """A schema in the order of the data's columns.

    No feature has a fixed shape, so that a request may leave any out; the label and the weight are
    not in the environment SERVING.

    Args:
      train: TFDV's statistics of the train split.
      found: what ingest found.
    """
    listed = statistics_pb2.DatasetFeatureStatisticsList(datasets=[train])
    inferred = tfdv.infer_schema(listed, infer_feature_shape=False, max_string_domain_size=_MOST_VALUES)
    by_name = {feature.name: feature for feature in inferred.feature}
    seen = {each.path.step[0]: each for each in train.features}
    schema = pb.Schema(default_environment=[TRAINING, SERVING])
    for name, kind in found.types.items():
        feature = schema.feature.add(name=name, type=STORED.get(kind, pb.BYTES))
        if name in by_name:
            _keep_counts(feature, by_name[name], found)
        _add_domain(schema, feature, kind, by_name.get(name), seen.get(name), found)
        if name in (found.label.name, found.weight):
            feature.not_in_environment.append(SERVING)
    return schema


def strings(feature: Any, most: int | None = None) -> list[str] | None:
    """The distinct values of a string feature; None when they are more than `most` or not all known."""
    if feature is None or feature.WhichOneof("stats") != "string_stats":
        return None
    values = [bucket.label for bucket in feature.string_stats.rank_histogram.buckets]
    whole = len(values) == feature.string_stats.unique
    return values if whole and (most is None or len(values) <= most) else None


def _keep_counts(feature: Any, inferred: Any, found: Found) -> None:
    """Takes over how often a column has a value, where that is more than chance."""
    name = feature.name
    rows = found.rows.get("train", 0)
    share = found.present.get(name, 0) / rows if rows else 0.0
    if inferred.HasField("presence") and share * min(found.rows.values()) >= _EXPECTED:
        feature.presence.CopyFrom(inferred.presence)
    if inferred.HasField("value_count") and name not in found.lists:
        feature.value_count.CopyFrom(inferred.value_count)


def _add_domain(schema: Any, feature: Any, kind: str, inferred: Any, seen: Any, found: Found) -> None:
    label = found.label
    if feature.name == label.name and label.classes and kind in ("text", "integer"):
        if kind == "text":
            _set_values(schema, feature, label.classes)
            return
        if set(label.classes) != {"0", "1"}:
            low, high = min(map(int, label.classes)), max(map(int, label.classes))
            feature.int_domain.CopyFrom(pb.IntDomain(min=low, max=high, is_categorical=True))
            return
    if kind == "boolean" or (inferred and kind == "integer" and inferred.HasField("bool_domain")):
        feature.bool_domain.SetInParent()
    elif kind in ("date", "datetime"):
        samples = [] if seen is None else [each.value for each in seen.string_stats.top_values]
        feature.time_domain.string_format = time_format(kind, samples)
    elif kind == "image":
        feature.image_domain.SetInParent()
    elif kind == "text" and is_prose(found, feature.name):
        feature.natural_language_domain.SetInParent()
    elif kind == "text" and (values := strings(seen, _MOST_VALUES)):
        _set_values(schema, feature, values)


def _set_values(schema: Any, feature: Any, values: Any) -> None:
    domain = schema.string_domain.add(name=feature.name)
    domain.value.extend(sorted(values))
    feature.domain = feature.name
