"""A reviewed schema that the data does not fit, for the steps that decode the data."""

from __future__ import annotations

import tensorflow as tf
from google.protobuf import text_format
from tensorflow_metadata.proto.v0 import schema_pb2
from tensorflow_transform.tf_metadata import schema_utils

from components.example_gen.found import Found
from components.label import LabelSpec
from components.schema_gen.stored import as_stored

REVIEWED = """
feature { name: "fare" type: FLOAT float_domain { min: 0 } }
feature { name: "zone" type: BYTES domain: "zones" presence { min_fraction: 1 } shape { dim { size: 1 } } }
feature { name: "gone" type: INT }
feature { name: "old" type: INT lifecycle_stage: DEPRECATED }
string_domain { name: "zones" value: "a" }
"""


def test_columns_and_types_are_those_of_the_data():
    types = {"zone": "text", "fare": "text", "old": "integer", "new": "float", "flag": "boolean"}
    label = LabelSpec(name="zone", type="text", task="binary", classes=("a", "b"))
    found = Found(label=label, types=types, values={}, rows={}, classes={}, present={}, notes=[])
    schema = text_format.Parse(REVIEWED, schema_pb2.Schema())
    stored = as_stored(schema, found)
    spec = schema_utils.schema_as_feature_spec(stored).feature_spec
    assert spec == {
        "zone": tf.io.VarLenFeature(tf.string),
        "fare": tf.io.VarLenFeature(tf.string),
        "old": tf.io.VarLenFeature(tf.int64),
        "new": tf.io.VarLenFeature(tf.float32),
        "flag": tf.io.VarLenFeature(tf.int64),
    }
    # What the schema knows of a column that fits stays.
    assert stored.feature[0].domain == "zones"
    assert not stored.feature[1].HasField("float_domain")
    assert text_format.Parse(REVIEWED, schema_pb2.Schema()) == schema
