"""The `model` section."""

from __future__ import annotations

from typing import Literal, get_args

from pydantic import Field, NonNegativeFloat, PositiveInt, model_validator

from components.section import Section
from components.trainer.config.cross import CrossConfig
from components.trainer.config.images import INCEPTION_PARTS, ImageEncoder, ImagesConfig
from components.trainer.config.sequences import SequenceEncoder, SequencesConfig

Trunk = Literal["mlp", "wide_deep", "dcn"]
Activation = Literal[
    "relu", "relu6", "leaky_relu", "swish", "hard_swish", "mish", "gelu", "elu", "selu", "softplus", "tanh"
]
Initializer = Literal[
    "he_normal",
    "he_uniform",
    "glorot_normal",
    "glorot_uniform",
    "lecun_normal",
    "lecun_uniform",
    "orthogonal",
]
Normalization = Literal["none", "batch", "layer"]

# The keys of `model.sequences` that an encoder takes, besides dropout, which all take.
_SEQUENCE_KEYS: dict[str, tuple[str, ...]] = {
    "mean": (),
    "transformer": ("units", "layers", "heads"),
    "lstm": ("units", "layers", "bidirectional"),
    "gru": ("units", "layers", "bidirectional"),
}


class ModelConfig(Section):
    """What is trained."""

    architecture: Literal[
        "wide_deep", "mlp", "dcn", "cnn", "resnet", "inception", "mobile", "transformer", "lstm", "gru"
    ] = Field(
        "wide_deep",
        description="mlp: hidden layers; wide_deep: a linear model beside them; dcn: cross layers before "
        "or beside them; cnn, resnet, inception, mobile: hidden layers on top of a net for images; "
        "transformer, lstm, gru: on top of one for sequences. Each takes columns of all kinds",
    )
    hidden: tuple[PositiveInt, ...] = Field((128, 64), description="units of each hidden layer")
    activation: Activation = Field(
        "swish", description="of hidden layers, image nets and the transformer; lstm and gru have their own"
    )
    initializer: Initializer = Field("he_normal", description="of the weights of the same layers")
    normalization: Normalization = Field(
        "none",
        description="of each hidden layer before its activation: over the batch (that of all devices "
        "together), or over the units of each row",
    )
    dropout: float = Field(0.0, ge=0.0, lt=1.0, description="share of units dropped after each hidden layer")
    l2: NonNegativeFloat = Field(
        0.0,
        description="adds to the loss this times the sum of the squared weights of hidden, cross and "
        "convolution layers; adamw's weight_decay is the better way where adamw is used",
    )
    embedding: PositiveInt | None = Field(
        None,
        description="units of each column's embedding; left out: six times the fourth root of the number "
        "of ids, 32 at most. A transformer's are sequences.units",
    )
    cross: CrossConfig = Field(CrossConfig(), description="the cross layers of dcn")
    images: ImagesConfig = Field(ImagesConfig(), description="how images are read")
    sequences: SequencesConfig = Field(SequencesConfig(), description="how sequences of tokens are read")
    build: str | None = Field(
        None,
        pattern=r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)+$",
        description="your model: module.function of a file beside pipeline.yaml, called with (plan, config)",
    )

    @property
    def trunk(self) -> Trunk:
        """What takes the columns once each of them is a vector."""
        return self.architecture if self.architecture in get_args(Trunk) else "mlp"  # type: ignore[return-value]

    @property
    def image_encoder(self) -> ImageEncoder:
        """What makes a vector of an image."""
        if self.architecture in get_args(ImageEncoder):
            return self.architecture  # type: ignore[return-value]
        return self.images.encoder or "cnn"

    @property
    def sequence_encoder(self) -> SequenceEncoder:
        """What makes a vector of a sequence of tokens."""
        if self.architecture in get_args(SequenceEncoder):
            return self.architecture  # type: ignore[return-value]
        return self.sequences.encoder or "mean"

    @model_validator(mode="after")
    def _fits_together(self) -> ModelConfig:
        # A model of the user's own may read any key as it likes.
        if not self.build:
            self._check_encoders()
            self._check_keys_are_used()
            self._check_sizes()
        return self

    def _check_encoders(self) -> None:
        for key, chosen, used in (
            ("images", self.images.encoder, self.image_encoder),
            ("sequences", self.sequences.encoder, self.sequence_encoder),
        ):
            if chosen and chosen != used:
                raise ValueError(
                    f"architecture: {self.architecture} and {key}.encoder: {chosen} are two answers to one "
                    f"question; leave {key}.encoder out, or set architecture: wide_deep, mlp or dcn"
                )

    def _check_keys_are_used(self) -> None:
        if self.trunk != "dcn" and self.cross != CrossConfig():
            raise ValueError(f"cross is for architecture: dcn, not {self.architecture}; leave it out")
        for key in ("units", "layers", "heads", "bidirectional"):
            unset = SequencesConfig.model_fields[key].default
            if key not in _SEQUENCE_KEYS[self.sequence_encoder] and getattr(self.sequences, key) != unset:
                takes = [name for name, keys in _SEQUENCE_KEYS.items() if key in keys]
                raise ValueError(
                    f"sequences.{key} is for {', '.join(takes)}, not {self.sequence_encoder}; "
                    f"leave it out, or set sequences.encoder to one of those"
                )

    def _check_sizes(self) -> None:
        units, heads = self.sequences.units, self.sequences.heads
        if self.sequence_encoder == "transformer" and units % heads:
            raise ValueError(
                f"sequences.heads: {heads} does not divide sequences.units: {units}; "
                f"a head takes units / heads of them"
            )
        width, _ = self.images.size(self.image_encoder)
        if self.image_encoder == "inception" and width % INCEPTION_PARTS:
            raise ValueError(
                f"images.width: {width} is no multiple of {INCEPTION_PARTS}, and the branches of an "
                f"inception block share it in sixteenths"
            )
