"""The kinds of inputs that a plan has, and whether the architecture can do without some."""

from __future__ import annotations

from typing import NamedTuple, get_args

from components.errors import UserError
from components.trainer.config import ModelConfig
from components.trainer.config.images import ImageEncoder
from components.trainer.config.sequences import SequenceEncoder
from components.transform.plan import FeaturePlan, ModelInput


class Kinds(NamedTuple):
    """The model's inputs by kind.

    Attributes:
      numbers: float32 [batch, length].
      ids: int64 [batch, length]: categories of length 1, and sequences.
      images: uint8 [batch, height, width, channels].
    """

    numbers: tuple[ModelInput, ...]
    ids: tuple[ModelInput, ...]
    images: tuple[ModelInput, ...]

    @property
    def sequences(self) -> tuple[ModelInput, ...]:
        return tuple(tensor for tensor in self.ids if tensor.length > 1)


def kinds(plan: FeaturePlan) -> Kinds:
    """Sorts the plan's inputs, each kind in the plan's order."""
    return Kinds(
        numbers=tuple(tensor for tensor in plan.inputs if not tensor.size and not tensor.image),
        ids=tuple(tensor for tensor in plan.inputs if tensor.size),
        images=tuple(tensor for tensor in plan.inputs if tensor.image),
    )


def check_inputs(plan: FeaturePlan, config: ModelConfig) -> None:
    """Raises UserError when the architecture is one for a kind of input that the plan lacks."""
    found, chosen = kinds(plan), config.architecture
    if not plan.inputs:
        raise UserError(
            "no column reaches the model", where="features", fix="give at least one a kind other than drop"
        )
    for encoders, there, kind in (
        (get_args(ImageEncoder), found.images, "image"),
        (get_args(SequenceEncoder), found.sequences, "text"),
    ):
        if chosen in encoders and not there:
            raise UserError(
                f"{chosen} needs a column of kind {kind}, and the model has none; it has {_count(found)}",
                where="model.architecture",
                fix=f"set it to mlp, wide_deep or dcn, or give a column {{kind: {kind}}} in features",
            )


def _count(found: Kinds) -> str:
    sequences = len(found.sequences)
    counts = {
        "numeric": len(found.numbers),
        "category": len(found.ids) - sequences,
        "sequence": sequences,
        "image": len(found.images),
    }
    return ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
