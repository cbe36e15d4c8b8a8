"""The `model.cross` section."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, NonNegativeInt, PositiveInt

from components.section import Section


class CrossConfig(Section):
    """The cross layers of dcn: each multiplies the inputs by a linear map of what came before."""

    layers: PositiveInt = Field(2, description="n layers make products of up to n + 1 inputs")
    rank: NonNegativeInt = Field(
        0,
        description="write each layer's matrix as a product of two thin ones of this rank, which is "
        "cheaper for wide inputs; 0: the whole matrix",
    )
    structure: Literal["stacked", "parallel"] = Field(
        "stacked",
        description="stacked: the hidden layers take what the cross layers give; parallel: both take the "
        "inputs, and the output sees both",
    )
