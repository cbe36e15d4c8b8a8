"""What an earlier process measured, in TensorBoard's logs of this one."""

from __future__ import annotations

import tensorflow as tf


def write_earlier_epochs(run_uri: str, history: dict[str, list[float]]) -> None:
    """Writes the scalars of epochs that are done, as Keras's TensorBoard callback names them."""
    if not history:
        return
    for folder, mine in (("train", False), ("validation", True)):
        with tf.summary.create_file_writer(f"{run_uri}/{folder}").as_default():
            for name, values in history.items():
                if name.startswith("val_") == mine:
                    for epoch, value in enumerate(values):
                        tf.summary.scalar(f"epoch_{name.removeprefix('val_')}", value, step=epoch)
