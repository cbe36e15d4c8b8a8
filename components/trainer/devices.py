"""Which devices train, and in which precision."""

from __future__ import annotations

import os
from typing import NamedTuple

import keras
import tensorflow as tf

from components.errors import UserError
from components.trainer import rendezvous
from components.trainer.config import TrainConfig
from components.trainer.rendezvous import Place

# From this compute capability on, GPUs have tensor cores.
_TENSOR_CORES = (7, 0)


class Devices(NamedTuple):
    """What this process trains on.

    Attributes:
      strategy: how the devices share the work.
      here: this process's place among the workers.
      precision: the Keras dtype policy.
    """

    strategy: tf.distribute.Strategy
    here: Place
    precision: str

    @property
    def replicas(self) -> int:
        """On how many devices there is a copy of the model, over all workers."""
        return self.strategy.num_replicas_in_sync

    def __str__(self) -> str:
        devices = f"{self.replicas} device{'s' * (self.replicas > 1)}"
        return f"{self.precision} on {devices}" + (
            f" of {self.here.workers} workers" if self.here.workers > 1 else ""
        )


def ready(train: TrainConfig) -> tuple[Devices, TrainConfig]:
    """Sets devices, precision and seed of this process; workers meet here.

    With several workers it comes before TensorFlow has done anything else.

    Returns:
      What it trains on, and the section as it then can be.
    """
    here = place(train.strategy)
    made = strategy(train.strategy)
    if here.workers > 1:
        # Keras's fit cannot make several steps a call with workers.
        train = train.model_copy(update={"steps_per_execution": 1})
    devices = Devices(made, here, precision(train.precision))
    check_xla(train.xla, devices.replicas)
    keras.utils.set_random_seed(train.seed)
    keras.config.set_dtype_policy(devices.precision)
    return devices, train


def place(wanted: str) -> Place:
    """This process's place among the workers, where several train together.

    Raises:
      UserError: workers are asked for and nothing names them, or the other way round.
    """
    here = rendezvous.place(os.environ)
    if wanted == "multi_worker" and here.workers == 1:
        raise UserError(
            "strategy multi_worker needs several workers, and nothing names them",
            where="train.strategy",
            fix="run it as a TFJob (TF_CONFIG) or a PyTorchJob (MASTER_ADDR, MASTER_PORT, RANK, WORLD_SIZE), "
            "or set another strategy",
        )
    if wanted not in ("auto", "multi_worker") and here.workers > 1:
        raise UserError(
            f"the environment names {here.workers} workers, and strategy {wanted} is for one process: "
            "each would train the whole model by itself",
            where="train.strategy",
            fix="set strategy: multi_worker, or start one process without TF_CONFIG and RANK",
        )
    return here


def strategy(wanted: str) -> tf.distribute.Strategy:
    """The distribution strategy; with several workers it is to be made before TensorFlow does anything else.

    `auto` is multi_worker where the environment names several workers, and mirrors over the GPUs when
    there is more than one.
    """
    if place(wanted).workers > 1:
        rendezvous.gather()
        return tf.distribute.MultiWorkerMirroredStrategy()
    if wanted == "tpu":
        return _tpu()
    gpus = tf.config.list_logical_devices("GPU")
    if wanted == "mirrored" or (wanted == "auto" and len(gpus) > 1):
        devices = gpus or tf.config.list_logical_devices("CPU")
        # NCCL is for GPUs only.
        across = None if gpus else tf.distribute.ReductionToOneDevice()
        return tf.distribute.MirroredStrategy([device.name for device in devices], across)
    # The default strategy: the first GPU, else the CPU. OneDeviceStrategy would wrap every iterator.
    return tf.distribute.get_strategy()


def _tpu() -> tf.distribute.Strategy:
    try:
        # "local" on a TPU VM, else the name that the variable gives.
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver(os.environ.get("TPU_NAME", "local"))
        tf.config.experimental_connect_to_cluster(resolver)
        tf.tpu.experimental.initialize_tpu_system(resolver)
        return tf.distribute.TPUStrategy(resolver)
    except (ValueError, RuntimeError, tf.errors.OpError) as error:
        raise UserError(
            f"no TPU was found: {str(error).splitlines()[0]}",
            where="train.strategy",
            fix="run it where a TPU is, with TensorFlow's TPU build, or set strategy: auto",
        ) from None


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


def check_xla(wanted: str | bool, replicas: int) -> None:
    """Stops where XLA is asked for and cannot be had.

    Raises:
      UserError: several replicas on one CPU (keras#20763).
    """
    if wanted is True and replicas > 1 and not tf.config.list_logical_devices("GPU"):
        raise UserError(
            f"XLA cannot compile a step over {replicas} logical CPU devices",
            where="train.xla",
            fix="take xla out, or set strategy: one_device",
        )


def check_batch(rows: int, replicas: int, parts: int) -> None:
    """Stops where the devices would not get equal parts of a batch: their mean would not be the batch's.

    Raises:
      UserError: so it is.
    """
    if rows % (replicas * parts):
        raise UserError(
            f"a batch of {rows} rows cannot be shared evenly by {replicas} device{'s' * (replicas > 1)}"
            + (f" in {parts} parts each" if parts > 1 else ""),
            where="train.batch_size",
            fix=f"set a multiple of {replicas * parts}",
        )
