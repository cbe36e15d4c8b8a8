"""The `train.input` section."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, PositiveInt

from components.section import Section


class InputConfig(Section):
    """How the rows reach the model."""

    cache: Literal["auto", "memory", "file", "off"] = Field(
        "auto",
        description="where parsed rows are kept from one epoch to the next; auto: in memory up to `memory`, "
        "beyond it in a file in a scratch folder where the disk has room for it, else off",
    )
    memory: PositiveInt = Field(
        1024, description="MiB of parsed rows up to which auto keeps them in memory; each split by itself"
    )
    shuffle: PositiveInt = Field(
        128, description="MiB of rows that are shuffled at a time, when they are not kept in memory"
    )
