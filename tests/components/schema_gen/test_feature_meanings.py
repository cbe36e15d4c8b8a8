"""What ingest's types become in a schema, and back."""

from __future__ import annotations

import pytest
from tensorflow_metadata.proto.v0 import schema_pb2

from components.schema_gen.semantics import domain_values, meaning, time_format


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("date", "2026-01-31", "%Y-%m-%d"),
        ("datetime", "2026-01-31 12:30", "%Y-%m-%d %H:%M"),
        ("datetime", "2026-01-31T12:30:59", "%Y-%m-%dT%H:%M:%S"),
        ("datetime", "2026-01-31T12:30:59.5Z", "%Y-%m-%dT%H:%M:%S.%f%z"),
        ("datetime", "2026-01-31 12:30:59+02:00", "%Y-%m-%d %H:%M:%S%z"),
        ("datetime", "__BYTES_VALUE__", "%Y-%m-%dT%H:%M:%S"),
    ],
)
def test_the_format_of_times(kind, value, expected):
    assert time_format(kind, ["nonsense", value]) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("type: INT", "integer"),
        ("type: INT bool_domain {}", "boolean"),
        ("type: FLOAT float_domain { min: 0 }", "float"),
        ("type: BYTES", "bytes"),
        ('type: BYTES domain: "d"', "category"),
        ('type: BYTES string_domain { value: "a" }', "category"),
        ("type: BYTES natural_language_domain {}", "text"),
        ("type: BYTES image_domain {}", "image"),
        ('type: BYTES time_domain { string_format: "%Y-%m-%d" }', "date"),
        ('type: BYTES time_domain { string_format: "%Y-%m-%dT%H" }', "datetime"),
        ("type: STRUCT", "struct"),
    ],
)
def test_what_a_feature_means(text, expected):
    from google.protobuf import text_format

    assert meaning(text_format.Parse(text, schema_pb2.Feature())) == expected


def test_the_values_of_a_domain():
    schema = schema_pb2.Schema()
    schema.string_domain.add(name="d", value=["x"])
    named, own, none = schema.feature.add(domain="d"), schema.feature.add(), schema.feature.add(domain="e")
    own.string_domain.value.append("y")
    assert [list(domain_values(schema, each).value) for each in (named, own)] == [["x"], ["y"]]
    assert domain_values(schema, none) is None
