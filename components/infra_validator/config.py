"""The `infra_validate` section: the trial run of the exported model."""

from __future__ import annotations

from pydantic import Field, PositiveFloat, PositiveInt

from components.section import Section


class InfraValidateConfig(Section):
    """What the exported model must survive before it is pushed."""

    rows: PositiveInt = Field(64, description="raw rows of the test split sent to every signature")
    max_load_seconds: PositiveFloat = Field(120.0, description="the longest that loading may take")
