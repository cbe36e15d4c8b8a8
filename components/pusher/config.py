"""The `push` section: where blessed models go."""

from __future__ import annotations

from pydantic import Field, PositiveInt

from components.section import Section


class PushConfig(Section):
    """Where blessed models go."""

    to: str | None = Field(
        None,
        description="folder of version directories, or a URL that Beam has a file system for, such as gs://; "
        "left out: .headrace/models/NAME beside pipeline.yaml",
    )
    keep: PositiveInt = Field(
        5, description="newest versions that stay; older ones are deleted, and it is said"
    )
