"""Training by several processes, each with its part of every batch.

Each worker reads all rows in the same order, which the seed decides, and takes its part of each batch:
together they make the steps that one device makes with the whole batch.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf


def wait_for_all(strategy: tf.distribute.Strategy) -> None:
    """Returns once every worker has come here."""

    def meet() -> Any:
        replica = tf.distribute.get_replica_context()
        return replica.all_reduce(tf.distribute.ReduceOp.SUM, tf.constant(1.0))

    tf.function(lambda: strategy.run(meet))()
