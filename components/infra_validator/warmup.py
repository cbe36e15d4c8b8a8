"""The model with a warm-up file, as TFX's InfraValidator leaves it in the InfraBlessing on `make_warmup`.

https://www.tensorflow.org/tfx/serving/saved_model_warmup
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

from tfx.utils import io_utils, path_utils

from components.infra_validator.calls import predict_request
from components.infra_validator.exported import DEFAULT, RAW, Exported
from components.infra_validator.rows import Rows

HAS_MODEL = "has_model"  # the property by which TFX's Pusher finds such a model
_LARGE = 16  # rows in every other request: batches are warmed up, too


def write_warmup_model(blessing: Any, folder: str, model: Exported, rows: Rows, count: int) -> None:
    """Puts a copy of the model, with `count` requests to be answered before it serves, into the blessing."""
    import tensorflow as tf

    target = path_utils.stamped_model_path(blessing.uri)
    _copy(folder, target)
    path = path_utils.warmup_file_path(target)
    with tf.io.TFRecordWriter(path) as writer:
        for number in range(count):
            record = _record(model, rows, number)
            # Deterministic: the same model with the same rows is the same content, and is not pushed twice.
            writer.write(record.SerializeToString(deterministic=True))
    blessing.set_int_custom_property(HAS_MODEL, 1)


def _record(model: Exported, rows: Rows, number: int) -> Any:
    """Request number so and so: by turns of either signature, with one row and with several."""
    import numpy as np
    from tensorflow_serving.apis import prediction_log_pb2

    plain = number % 2 == 0 and bool(rows.plain)
    indexes = rows.plain if plain else list(range(len(rows.serialized)))
    start = number // 4 * _LARGE % len(indexes)
    wanted = indexes[start : start + (_LARGE if number % 4 >= 2 else 1)]
    part = next(rows.chunks(wanted))
    if plain:
        inputs = {name: values[part] for name, values in rows.raw.items()}
    else:
        inputs = {"examples": np.array([rows.serialized[index] for index in part], np.object_)}
    request = predict_request(model.name, RAW if plain else DEFAULT, inputs)
    record = prediction_log_pb2.PredictionLog()
    record.predict_log.request.CopyFrom(request)
    return record


def _copy(source: str, target: str) -> None:
    """Copies a folder; on one local disk its files get a second name, which takes no space."""
    if "://" in source or "://" in target:
        io_utils.copy_dir(source, target)
        return
    shutil.copytree(source, target, copy_function=_link, dirs_exist_ok=True)
    Path(path_utils.warmup_file_path(target)).unlink(missing_ok=True)


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # another disk, or a file system without links
        shutil.copy2(source, target)
