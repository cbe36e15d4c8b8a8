"""The base of every section of pipeline.yaml."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """A section of pipeline.yaml: frozen, and an unknown key is an error.

    Field descriptions are the reference: they end up in the JSON Schema, in the file that
    `headrace init` writes and in the docs. A key that pydantic itself has a method for, such as
    `schema`, is the alias of a field with another name.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True, serialize_by_alias=True)
