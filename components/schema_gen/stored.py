"""The schema of the data as it is stored, for the steps that decode it."""

from __future__ import annotations

from typing import Any

from tensorflow_metadata.proto.v0 import schema_pb2

from components.example_gen.found import Found
from components.schema_gen.semantics import STORED

pb: Any = schema_pb2


def as_stored(schema: Any, found: Found) -> Any:
    """The schema with the columns and types that the data has.

    A reviewed schema may say otherwise of data that the `validate` policies let pass, and may fix shapes;
    decoded by that, the data would be refused, or a column missing.
    """
    held = {feature.name: feature for feature in schema.feature}
    stored = pb.Schema()
    stored.CopyFrom(schema)
    del stored.feature[:]
    for name, kind in found.types.items():
        feature = stored.feature.add(name=name, type=STORED.get(kind, pb.BYTES))
        if name in held and held[name].type == feature.type:
            feature.CopyFrom(held[name])
            for fixed in ("shape", "deprecated", "lifecycle_stage"):
                feature.ClearField(fixed)
    return stored
