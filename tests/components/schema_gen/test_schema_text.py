"""Schemas as text: mistakes are explained, differences are said, and comments survive a change."""

from __future__ import annotations

import pytest
from tensorflow_metadata.proto.v0 import schema_pb2

from components.errors import UserError
from components.schema_gen.difference import sentences, unified
from components.schema_gen.patch import patch
from components.schema_gen.pbtxt import parse, render

TEXT = """\
# Reviewed by Ann.

# What the rider paid.
feature {
  name: "fare"   # in dollars
  type: FLOAT
}
# Two lines
# about the way of paying.
feature { name: "payment" type: BYTES domain: "payment" }
feature {
  name: "hour"
  type: INT
  int_domain { min: 0 max: 23 }
}

string_domain { name: "payment" value: "Cash" value: 'Card # 2' }
default_environment: "TRAINING"
default_environment: "SERVING"  # the end
"""


@pytest.mark.parametrize(
    ("before", "after", "line", "said"),
    [
        ("type: FLOAT", "tpye: FLOAT", 6, "Feature has no field 'tpye', did you mean 'type'?"),
        ("type: FLOAT", "type: FLOTA", 6, "FeatureType has no value 'FLOTA', did you mean 'FLOAT'?"),
        ("type: FLOAT", "type: float", 6, "FeatureType has no value 'float', did you mean 'FLOAT'?"),
        ("{ min: 0", "{ mim: 0", 14, "IntDomain has no field 'mim', did you mean 'min'?"),
        ('feature {\n  name: "hour"', 'featur {\n  name: "hour"', 11, "did you mean 'feature'?"),
        ("type: FLOAT", "type FLOAT", 6, "xpected"),
        ('domain: "payment"', 'domain: "paymant"', 10, "no string_domain is called 'paymant', did you mean"),
        ("min: 0", "min: 99", 12, "the least value 99 is above the largest 23"),
        ('name: "hour"', 'name: "fare"', 5, "feature 'fare' stands here twice"),
        ("  type: INT\n", "", 12, "feature 'hour' has no type: expected INT, FLOAT or BYTES"),
        ("type: INT", 'type: INT not_in_environment: "PROD"', 12, "default_environment does not list 'PROD'"),
    ],
)
def test_a_mistake_is_said_with_its_line(before, after, line, said):
    assert before in TEXT
    with pytest.raises(UserError) as caught:
        parse(TEXT.replace(before, after, 1), "schema.pbtxt")
    assert said in caught.value.what
    assert caught.value.where == f"schema.pbtxt:{line}"


def test_an_empty_text_is_a_schema_without_columns():
    assert not parse("", "schema.pbtxt").feature


def test_text_of_any_language_survives():
    schema = schema_pb2.Schema()
    schema.feature.add(name="größe 😀", type=schema_pb2.INT)
    assert "größe 😀" in render(schema)
    assert parse(render(schema), "schema.pbtxt") == schema


def test_nothing_changed_leaves_the_text():
    schema = parse(TEXT, "schema.pbtxt")
    assert patch(TEXT, schema, schema) == TEXT


def test_a_change_leaves_all_other_text():
    before = parse(TEXT, "schema.pbtxt")
    after = parse(TEXT, "schema.pbtxt")
    after.string_domain[0].value.append("Coupon")
    after.feature.add(name="zip", type=schema_pb2.BYTES)
    del after.feature[0]
    text = patch(TEXT, before, after)
    assert parse(text, "schema.pbtxt") == after
    assert "# Reviewed by Ann.\n" in text
    assert '# Two lines\n# about the way of paying.\nfeature { name: "payment" type: BYTES' in text
    assert "# the end\n" in text
    assert "fare" not in text
    assert "What the rider paid" not in text
    assert text.index('"hour"') < text.index('"zip"') < text.index("string_domain")
    assert "Card # 2" in text


def test_a_changed_feature_keeps_the_comment_above_it():
    before, after = parse(TEXT, "s"), parse(TEXT, "s")
    after.feature[0].type = schema_pb2.INT
    text = patch(TEXT, before, after)
    assert '# What the rider paid.\nfeature {\n  name: "fare"\n  type: INT\n}\n' in text
    assert "# Reviewed by Ann.\n\n" in text


def test_text_that_cannot_be_followed_is_written_anew():
    text = 'feature: [{ name: "a" type: INT }, { name: "b" type: INT }]'
    before, after = parse(text, "s"), parse(text, "s")
    after.feature[1].type = schema_pb2.FLOAT
    assert parse(patch(text, before, after), "s") == after


def test_differences_are_sentences():
    reviewed, data = parse(TEXT, "s"), parse(TEXT, "s")
    assert sentences(reviewed, data) == []
    data.feature[0].type = schema_pb2.BYTES
    data.feature[2].name = "minute"
    data.string_domain[0].value[:] = ["Cash", "Coupon"]
    assert sentences(reviewed, data) == [
        "column 'hour' is in the reviewed schema, but not in the data",
        "column 'fare': the reviewed schema says float, the data looks like bytes",
        "column 'payment': the reviewed schema lacks 'Coupon'",
        "column 'payment': train has no row with 'Card # 2'",
        "column 'minute' (integer) is in the data, but not in the reviewed schema",
    ]


def test_the_diff_ignores_the_order_of_columns():
    one, other = parse(TEXT, "s"), parse(TEXT, "s")
    features = list(other.feature)
    del other.feature[:]
    other.feature.extend(reversed(features))
    assert unified(one, other, "before", "after") == ""
    other.feature[0].int_domain.max = 24
    lines = unified(one, other, "before", "after").splitlines()
    assert lines[:2] == ["--- before", "+++ after"]
    assert "-    max: 23" in lines
    assert "+    max: 24" in lines
