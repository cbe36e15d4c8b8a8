"""What a feature of a schema means: TFMD's domains and ingest's types, each in terms of the other.

| type | feature |
|---|---|
| integer, float | INT, FLOAT |
| boolean | INT with a bool_domain |
| date, datetime | BYTES with a time_domain, whose format has hours or not |
| category | BYTES, with the string_domain of its values when they are few |
| text | BYTES with a natural_language_domain |
| image | BYTES with an image_domain |
| bytes | BYTES |
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from tensorflow_metadata.proto.v0 import schema_pb2

from components.example_gen.found import Found

pb: Any = schema_pb2  # generated code, which says nothing of its types

STORED = {"integer": pb.INT, "float": pb.FLOAT, "boolean": pb.INT}

_DATE = "%Y-%m-%d"
# Texts with at least so many words on average are texts; shorter ones that all differ are names or ids.
_WORDS = 3.0
_TIME = re.compile(
    r"^\d{4}-\d\d-\d\d(?P<between>[T ])\d\d:\d\d(?P<seconds>:\d\d(?P<fraction>\.\d+)?)?(?P<zone>Z|[+-].*)?$"
)


def is_prose(found: Found, name: str) -> bool:
    """Whether the values of a text column are texts rather than names of categories."""
    distinct = found.values.get(name)
    differs = distinct is None or distinct * 2 > sum(found.rows.values())
    return differs and found.words.get(name, 0.0) >= _WORDS


def meaning(feature: Any) -> str:
    """The type of a feature, in words: the left column of this module's table."""
    domain = feature.WhichOneof("domain_info")
    if feature.type == pb.INT:
        return "boolean" if domain == "bool_domain" else "integer"
    if feature.type == pb.FLOAT:
        return "float"
    if domain == "time_domain":
        return "datetime" if "%H" in feature.time_domain.string_format else "date"
    if domain in ("domain", "string_domain"):
        return "category"
    if domain == "natural_language_domain":
        return "text"
    if domain == "image_domain":
        return "image"
    return {pb.BYTES: "bytes"}.get(feature.type, pb.FeatureType.Name(feature.type).lower())


def time_format(kind: str, samples: Iterable[str]) -> str:
    """The strptime format of a date or datetime column, told by some of its values."""
    if kind == "date":
        return _DATE
    match = next(filter(None, map(_TIME.match, samples)), None)
    if not match:
        return f"{_DATE}T%H:%M:%S"
    seconds = ":%S" if match["seconds"] else ""
    fraction = ".%f" if match["fraction"] else ""
    zone = "%z" if match["zone"] else ""
    return f"{_DATE}{match['between']}%H:%M{seconds}{fraction}{zone}"


def domain_values(schema: Any, feature: Any) -> Any | None:
    """The string_domain of a feature, its own or one of the schema's; None when it has none."""
    which = feature.WhichOneof("domain_info")
    if which == "string_domain":
        return feature.string_domain
    if which == "domain":
        return next((each for each in schema.string_domain if each.name == feature.domain), None)
    return None
