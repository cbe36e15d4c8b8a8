"""What every step's process needs, imported once: the fork server imports this, and steps fork from it.

Importing the libraries takes 5 to 15 s, a fork a tenth of a second.
"""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

# Keras before tensorflow_transform, which would make tf.keras the old Keras 2.
import keras  # noqa: F401, I001
import components.evaluator.executor
import components.example_gen.executor
import components.example_validator.executor
import components.infra_validator.executor
import components.pusher.executor
import components.schema_gen.executor
import components.statistics_gen.executor
import components.trainer.executor
import components.transform.executor  # noqa: F401
import tfx.orchestration.portable.python_executor_operator  # noqa: F401
from serving.memory import settle

# What is imported stays: a step's collector need not look through it, for a quarter of a second each time,
# nor write to its pages, which steps share.
settle()
