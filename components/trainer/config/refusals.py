"""Combinations of `train` that cannot work, each with the reason; all are checked when the config is read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from components.trainer.config.loss import OF_NUMBERS

if TYPE_CHECKING:
    from components.trainer.config.train import TrainConfig


def _plateau_needs_a_settable_rate(train: TrainConfig) -> str | None:
    if train.reduce_on_plateau and not train.learning_rate.settable:
        return (
            "reduce_on_plateau sets the learning rate, which a schedule or a warm-up sets too, received "
            f"schedule: {train.learning_rate.schedule}, warmup_steps: {train.learning_rate.warmup_steps}: "
            "use learning_rate: {schedule: constant} without warmup_steps, or take reduce_on_plateau out"
        )
    return None


def _workers_make_single_steps(train: TrainConfig) -> str | None:
    if train.strategy == "multi_worker" and train.steps_per_execution > 1:
        return (
            f"strategy multi_worker makes one step a call, received steps_per_execution "
            f"{train.steps_per_execution}: leave it out"
        )
    return None


def _workers_without_xla(train: TrainConfig) -> str | None:
    if train.strategy == "multi_worker" and train.xla is True:
        return "XLA cannot compile what workers exchange: take xla out, or choose another strategy"
    return None


def _tpus_have_no_float16(train: TrainConfig) -> str | None:
    if train.strategy == "tpu" and train.precision == "mixed_float16":
        return "TPUs compute in bfloat16, not in float16: set precision: mixed_bfloat16"
    return None


def _equal_parts(train: TrainConfig) -> str | None:
    if train.batch_size and train.batch_size % train.accumulate:
        return f"batch_size {train.batch_size} cannot be split into accumulate {train.accumulate} equal parts"
    return None


def _numbers_have_no_teacher(train: TrainConfig) -> str | None:
    if train.distill and train.loss.name in OF_NUMBERS:
        return f"distill needs a teacher's probabilities; {train.loss.name} is a loss of numbers"
    return None


def _taught_rows_are_not_augmented(train: TrainConfig) -> str | None:
    augment = train.augment
    if train.distill and (augment.for_images or augment.for_texts):
        return "distill has the teacher's answers for the rows as they are: take augment or distill out"
    return None


def _taught_rows_are_in_memory(train: TrainConfig) -> str | None:
    if train.distill and train.input.cache in ("file", "off"):
        return f"distill keeps the rows in memory, received input.cache {train.input.cache}: leave it out"
    return None


REFUSALS = (
    _plateau_needs_a_settable_rate,
    _workers_make_single_steps,
    _workers_without_xla,
    _tpus_have_no_float16,
    _equal_parts,
    _numbers_have_no_teacher,
    _taught_rows_are_not_augmented,
    _taught_rows_are_in_memory,
)


def refuse(train: TrainConfig) -> Iterator[str]:
    """Every reason why this cannot be trained."""
    for check in REFUSALS:
        reason = check(train)
        if reason:
            yield reason
