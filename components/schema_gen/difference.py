"""How two schemas differ, for a person: a sentence a column, and the lines of the text."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from typing import Any

from tensorflow_metadata.proto.v0 import schema_pb2

from components.errors import cut
from components.schema_gen.pbtxt import render
from components.schema_gen.semantics import domain_values, meaning

pb: Any = schema_pb2

_SHOWN = 5


def sentences(reviewed: Any, data: Any) -> list[str]:
    """What a reviewed schema says otherwise than the data does, a sentence a column.

    Args:
      reviewed: the schema in force.
      data: the schema that was inferred from the data.
    """
    return list(_sentences(reviewed, data))


def unified(before: Any, after: Any, before_name: str, after_name: str) -> str:
    """A unified diff of two schemas' texts, their columns in the same order; empty when they agree."""
    order = {feature.name: index for index, feature in enumerate(after.feature)}
    lines = difflib.unified_diff(
        render(_ordered(before, order)).splitlines(keepends=True),
        render(after).splitlines(keepends=True),
        before_name,
        after_name,
    )
    return "".join(lines)


def listed(values: Sequence[object], most: int = _SHOWN) -> str:
    """Values for a message: quoted and cut, the first few."""
    shown = ", ".join(repr(cut(value)) for value in values[:most])
    return shown + (f" and {len(values) - most:,} more" if len(values) > most else "")


def _sentences(reviewed: Any, data: Any) -> Iterator[str]:
    held = {feature.name: feature for feature in reviewed.feature if not _is_retired(feature)}
    there = {feature.name: feature for feature in data.feature}
    for name in held.keys() - there.keys():
        yield f"column {name!r} is in the reviewed schema, but not in the data"
    for name, feature in there.items():
        if name not in held:
            yield f"column {name!r} ({meaning(feature)}) is in the data, but not in the reviewed schema"
            continue
        mine, other = meaning(held[name]), meaning(feature)
        if held[name].type != feature.type or mine != other:
            yield f"column {name!r}: the reviewed schema says {mine}, the data looks like {other}"
        yield from _values(name, domain_values(reviewed, held[name]), domain_values(data, feature))


def _values(name: str, held: Any, there: Any) -> Iterator[str]:
    if held is None or there is None:
        return
    new = [value for value in there.value if value not in set(held.value)]
    gone = [value for value in held.value if value not in set(there.value)]
    if new:
        yield f"column {name!r}: the reviewed schema lacks {listed(new)}"
    if gone:
        yield f"column {name!r}: train has no row with {listed(gone)}"


def _is_retired(feature: Any) -> bool:
    return feature.deprecated or feature.lifecycle_stage == pb.DEPRECATED


def _ordered(schema: Any, order: dict[str, int]) -> Any:
    ordered = pb.Schema()
    ordered.CopyFrom(schema)
    del ordered.feature[:]
    ordered.feature.extend(sorted(schema.feature, key=lambda each: order.get(each.name, len(order))))
    return ordered
