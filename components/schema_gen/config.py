"""The `schema` section: the schema that a person has reviewed."""

from __future__ import annotations

from pydantic import Field

from components.section import Section


class SchemaConfig(Section):
    """Which schema the data is held against."""

    file: str | None = Field(
        None,
        min_length=1,
        description="a reviewed schema, which wins over what the data looks like; left out: schema.pbtxt "
        "beside pipeline.yaml, if it is there (`headrace schema export` writes it)",
    )
