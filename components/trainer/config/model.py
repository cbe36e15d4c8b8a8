"""The `model` section."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, PositiveInt

from components.section import Section


class ModelConfig(Section):
    """What is trained."""

    architecture: Literal["wide_deep", "mlp"] = Field(
        "wide_deep",
        description="wide_deep: a linear model plus a deep net (Cheng et al. 2016); mlp: the deep net alone",
    )
    hidden: tuple[PositiveInt, ...] = Field((128, 64), description="units of each hidden layer")
    activation: Literal["relu", "swish", "mish", "gelu", "elu", "selu", "tanh"] = "swish"
    initializer: Literal["he_normal", "he_uniform", "glorot_normal", "glorot_uniform", "lecun_normal"] = (
        "he_normal"
    )
    dropout: float = Field(0.0, ge=0.0, lt=1.0, description="share of units dropped after each hidden layer")
    build: str | None = Field(
        None,
        pattern=r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)+$",
        description="your model: module.function of a file beside pipeline.yaml, called with (plan, config)",
    )
