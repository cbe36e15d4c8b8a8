"""Change a reviewed schema so that data which does not fit it does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import tensorflow_data_validation as tfdv
from tensorflow_metadata.proto.v0 import schema_pb2, statistics_pb2

from components.example_gen.found import Found
from components.schema_gen.difference import listed
from components.schema_gen.semantics import domain_values, meaning

pb: Any = schema_pb2

# TFDV would drop a domain that grows beyond a hundred values; a person has reviewed this one.
_MOST_VALUES = 100_000
_STRINGS = ("category", "bytes")


@dataclass(frozen=True)
class Change:
    """One change of the schema.

    Attributes:
      column: its name.
      kind: of the anomaly that it ends, a key of the `validate` section.
      change: what is done, in words.
    """

    column: str
    kind: str
    change: str


def accept(
    reviewed: Any, inferred: Any, statistics: Mapping[str, Any], found: Found
) -> tuple[Any, list[Change]]:
    """The schema that takes the data as it is, and what had to be changed for that.

    Args:
      reviewed: the schema in force; it stays as it is.
      inferred: the one that the data's train split looks like.
      statistics: split to TFDV's statistics.
      found: what ingest found.
    """
    schema = pb.Schema()
    schema.CopyFrom(reviewed)
    changes = [*_columns(schema, inferred), *_classes(schema, found)]
    for dataset in statistics.values():
        schema = _fitted(schema, dataset)
    changes.extend(_widened(reviewed, schema, {change.column for change in changes}))
    return schema, changes


def _columns(schema: Any, inferred: Any) -> Iterator[Change]:
    there = {feature.name: feature for feature in inferred.feature}
    for feature in list(schema.feature):
        if feature.name not in there and feature.lifecycle_stage != pb.DEPRECATED:
            _remove(schema, feature.name)
            yield Change(feature.name, "missing_column", "taken out: the data has no such column")
    held = {feature.name: feature for feature in schema.feature}
    for name, feature in there.items():
        if name not in held:
            schema.feature.append(feature)
            _take_domain(schema, inferred, feature)
            yield Change(name, "extra_column", f"added as {meaning(feature)}")
        elif _other_type(held[name], feature):
            was = meaning(held[name])
            kept = [*held[name].not_in_environment]
            held[name].CopyFrom(feature)
            held[name].not_in_environment[:] = kept
            _take_domain(schema, inferred, feature)
            yield Change(name, "type_change", f"{was} becomes {meaning(feature)}")


def _classes(schema: Any, found: Found) -> Iterator[Change]:
    """The label's values are its classes, no more and no less."""
    name = found.label.name
    feature = next((each for each in schema.feature if each.name == name), None)
    domain = None if feature is None else domain_values(schema, feature)
    if domain is None or not found.label.classes or set(domain.value) == set(found.label.classes):
        return
    was = list(domain.value)
    domain.value[:] = found.label.classes
    yield Change(name, "label", f"the classes {listed(was)} become {listed(found.label.classes)}")


def _other_type(held: Any, there: Any) -> bool:
    if held.type != there.type:
        return True
    mine, other = meaning(held), meaning(there)
    return held.type == pb.BYTES and mine != other and mine not in _STRINGS and mine != "text"


def _fitted(schema: Any, dataset: Any) -> Any:
    """What TFDV makes of the schema, but that it retires no column for having no value in one split."""
    listed_one = statistics_pb2.DatasetFeatureStatisticsList(datasets=[dataset])
    updated = tfdv.update_schema(schema, listed_one, max_string_domain_size=_MOST_VALUES)
    before = {feature.name: feature for feature in schema.feature}
    for feature in updated.feature:
        was = before.get(feature.name)
        if was is not None and feature.lifecycle_stage != was.lifecycle_stage:
            feature.CopyFrom(was)
            feature.ClearField("presence")
    return updated


def _widened(before: Any, after: Any, told: set[str]) -> Iterator[Change]:
    held = {feature.name: feature for feature in before.feature}
    for feature in after.feature:
        was = held.get(feature.name)
        if was is None or feature.name in told:
            continue
        old, new = domain_values(before, was), domain_values(after, feature)
        if old is not None and new is not None and set(old.value) != set(new.value):
            more = [value for value in new.value if value not in set(old.value)]
            yield Change(feature.name, "new_values", f"{listed(more)} added to its values")
        if was.presence != feature.presence:
            yield Change(feature.name, "missing_values", "may lack values in some rows")
        if _range(was) != _range(feature):
            yield Change(feature.name, "range", f"its range becomes {_range(feature) or 'any'}")
        if was.value_count != feature.value_count or was.shape != feature.shape:
            yield Change(feature.name, "other", "may have another number of values in a row")


def _range(feature: Any) -> str:
    domain = feature.WhichOneof("domain_info")
    if domain == "bool_domain":
        return "0 or 1"
    if domain not in ("int_domain", "float_domain"):
        return ""
    bounds = getattr(feature, domain)
    low = bounds.min if bounds.HasField("min") else ""
    high = bounds.max if bounds.HasField("max") else ""
    return f"{low} to {high}"


def _remove(schema: Any, name: str) -> None:
    kept = [feature for feature in schema.feature if feature.name != name]
    gone = next(feature for feature in schema.feature if feature.name == name)
    used = {feature.domain for feature in kept if feature.HasField("domain")}
    domains = [each for each in schema.string_domain if each.name in used or each.name != gone.domain]
    del schema.feature[:], schema.string_domain[:]
    schema.feature.extend(kept)
    schema.string_domain.extend(domains)


def _take_domain(schema: Any, source: Any, feature: Any) -> None:
    """The named domain of a feature that was taken over."""
    domain = domain_values(source, feature) if feature.HasField("domain") else None
    if domain is None:
        return
    others = [each for each in schema.string_domain if each.name != domain.name]
    del schema.string_domain[:]
    schema.string_domain.extend([*others, domain])
