"""The `model.sequences` section."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, PositiveInt

from components.section import Section

SequenceEncoder = Literal["mean", "transformer", "lstm", "gru"]


class SequencesConfig(Section):
    """How the model reads a sequence of tokens, such as a text."""

    encoder: SequenceEncoder | None = Field(
        None,
        description="mean: the mean of the tokens' embeddings; transformer, lstm, gru: a net that heeds "
        "their order; left out: the architecture if it is one of these, else mean",
    )
    units: PositiveInt = Field(
        64, description="of a transformer's vectors, or of an lstm's or gru's state in each direction"
    )
    layers: PositiveInt = Field(1, description="of transformer, lstm and gru, one on top of the other")
    heads: PositiveInt = Field(4, description="attention heads of a transformer; they divide the units")
    bidirectional: bool = Field(True, description="lstm and gru also read from the end to the beginning")
    dropout: float = Field(
        0.0,
        ge=0.0,
        lt=1.0,
        description="share of the embedding's dimensions dropped, for a whole sequence at once; in a "
        "transformer also of what each sublayer adds, and of the attention",
    )
