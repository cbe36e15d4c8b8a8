"""Training by several processes, each with its part of every batch.

Each worker reads all rows in the same order, which the seed decides, and takes its part of each batch:
together they make the steps that one device makes with the whole batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from components.trainer.rendezvous import Place

_WIDTH = 8  # bytes of the integers that are sent


def wait_for_all(strategy: tf.distribute.Strategy) -> None:
    """Returns once every worker has come here."""
    _of_first(strategy, [0])


def of_first(strategy: tf.distribute.Strategy, here: Place, content: bytes | None) -> bytes | None:
    """What worker 0 holds, for every worker; None where it holds nothing."""
    mine = content if here.number == 0 and content else b""
    size = int(_of_first(strategy, [len(mine)])[0])
    if not size:
        return None
    held = np.zeros(-(-size // _WIDTH), np.int64)
    held.view(np.uint8)[: len(mine)] = np.frombuffer(mine, np.uint8)
    return _of_first(strategy, held).tobytes()[:size]


def _of_first(strategy: tf.distribute.Strategy, numbers: Sequence[int] | np.ndarray) -> np.ndarray:
    """The numbers, int64 [n], of the very first replica; others give as many, which do not matter."""

    def meet() -> tf.Tensor:
        replica = tf.distribute.get_replica_context()
        first = tf.cast(replica.replica_id_in_sync_group == 0, tf.int64)
        return replica.all_reduce(tf.distribute.ReduceOp.SUM, first * tf.constant(numbers, tf.int64))

    given: Any = tf.function(lambda: strategy.run(meet))()
    return strategy.experimental_local_results(given)[0].numpy()
