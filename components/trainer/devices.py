"""Which devices train, and in which precision."""

from __future__ import annotations

import tensorflow as tf

# From this compute capability on, GPUs have tensor cores.
_TENSOR_CORES = (7, 0)


def strategy(wanted: str) -> tf.distribute.Strategy:
    """The distribution strategy; `auto` mirrors over the GPUs when there is more than one."""
    gpus = tf.config.list_logical_devices("GPU")
    if wanted == "mirrored" or (wanted == "auto" and len(gpus) > 1):
        devices = gpus or tf.config.list_logical_devices("CPU")
        # NCCL is for GPUs only.
        across = None if gpus else tf.distribute.ReductionToOneDevice()
        return tf.distribute.MirroredStrategy([device.name for device in devices], across)
    # The default strategy: the first GPU, else the CPU. OneDeviceStrategy would wrap every iterator.
    return tf.distribute.get_strategy()


def precision(wanted: str) -> str:
    """The Keras dtype policy; `auto` is mixed_float16 where every GPU has tensor cores, else float32."""
    if wanted != "auto":
        return wanted
    gpus = tf.config.list_physical_devices("GPU")
    capable = [
        tf.config.experimental.get_device_details(gpu).get("compute_capability", (0, 0)) >= _TENSOR_CORES
        for gpu in gpus
    ]
    return "mixed_float16" if capable and all(capable) else "float32"
