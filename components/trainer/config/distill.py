"""The `train.distill` section."""

from __future__ import annotations

from pydantic import Field, PositiveFloat

from components.section import Section

PUSHED = "pushed"


class DistillConfig(Section):
    """Learning from the probabilities of another model, the teacher (Hinton et al. 2015)."""

    teacher: str = Field(
        min_length=1,
        description="the teacher: pushed (this pipeline's newest version), a folder of pushed versions "
        "(its newest) or the folder of one version",
    )
    temperature: PositiveFloat = Field(
        2.0,
        description="what the logits of both are divided by; the higher, the more small probabilities tell",
    )
    weight: float = Field(
        0.5, gt=0.0, le=1.0, description="share of the teacher in the loss; the labels have the rest"
    )
