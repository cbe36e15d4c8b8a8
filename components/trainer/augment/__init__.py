"""Augmentation of train batches in tf.data: vectorised over the batch, seeded by the number of the step.

It is no part of the model, so that neither evaluation nor the exported model can have it: Keras's own
augmentation layers stay random in what `model.export` writes.
"""

from __future__ import annotations

import tensorflow as tf

from components.errors import UserError
from components.trainer.augment.images import augment_image
from components.trainer.augment.mixing import mix, with_soft_labels
from components.trainer.augment.texts import augment_tokens
from components.trainer.config import AugmentConfig
from components.trainer.data import Rows
from components.transform.plan import FeaturePlan, ModelInput

__all__ = ["augmented", "check_augment", "with_soft_labels"]


def check_augment(config: AugmentConfig, plan: FeaturePlan) -> None:
    """Holds what is asked for against what the model gets.

    Raises:
      UserError: there is nothing that it could be done to.
    """
    images = [tensor for tensor in plan.inputs if tensor.image]
    others = [tensor.name for tensor in plan.inputs if not tensor.image]
    if config.for_images and not images:
        key = config.for_images[0]
        raise UserError(
            "is for images, and the model gets none", where=f"train.augment.{key}", fix="leave it out"
        )
    if config.for_texts and not any(map(_is_text, plan.inputs)):
        key = config.for_texts[0]
        raise UserError(
            "is for texts, and the model gets none", where=f"train.augment.{key}", fix="leave it out"
        )
    if config.color.saturation and not any(tensor.image[2] == 3 for tensor in images if tensor.image):
        raise UserError(
            "needs images of 3 channels, received "
            + ", ".join(f"{tensor.name} of {tensor.image[2]}" for tensor in images if tensor.image),
            where="train.augment.color.saturation",
            fix="leave it out",
        )
    ids = [tensor.name for tensor in plan.inputs if tensor.size]
    if config.mixup and ids:
        raise UserError(
            f"blends numbers, and these inputs are ids: {', '.join(ids[:5])}",
            where="train.augment.mixup",
            fix="leave it out, or drop those features",
        )
    if config.cutmix and (others or len(images) != 1):
        raise UserError(
            f"needs one image and nothing else, received {len(images)} images and {len(others)} other inputs",
            where="train.augment.cutmix",
            fix="leave it out, or use mixup",
        )


def augmented(
    batches: tf.data.Dataset, config: AugmentConfig, plan: FeaturePlan, *, seed: int, first: int
) -> tf.data.Dataset:
    """The batches with what the config asks for.

    Args:
      first: the number of the first batch since the beginning of training; what is drawn for a batch
        depends on the seed and its number alone.
    """
    if not (config.for_images or config.for_texts):
        return batches

    def augment(number: tf.Tensor, rows: Rows) -> Rows:
        seeds = tf.random.experimental.stateless_split([seed, number], len(plan.inputs) + 1)
        inputs = dict(rows[0])
        for i, tensor in enumerate(plan.inputs):
            if tensor.image:
                inputs[tensor.name] = augment_image(inputs[tensor.name], config, seeds[i])
            elif _is_text(tensor):
                inputs[tensor.name] = augment_tokens(inputs[tensor.name], config, seeds[i])
        changed: Rows = (inputs, *rows[1:])
        return mix(changed, config, plan, seeds[-1]) if config.mixes else changed

    return batches.enumerate(first).map(augment, num_parallel_calls=tf.data.AUTOTUNE)


def _is_text(tensor: ModelInput) -> bool:
    return bool(tensor.size) and tensor.length > 1
