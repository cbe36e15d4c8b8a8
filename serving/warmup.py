"""Warm-up: a version answers the requests in its assets.extra before it serves anyone."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any

from serving.errors import ServingError
from serving.signature import DEFAULT_SIGNATURE
from serving.status import StatusError

if TYPE_CHECKING:
    from serving.model import Model

log = logging.getLogger("serving")

WARMUP_FILE = "assets.extra/tf_serving_warmup_requests"
_MOST = 1000  # records, as in TensorFlow Serving


def warm_up(model: Model) -> None:
    """Answers the recorded requests; raises ServingError when the file or a request in it is bad."""
    path = model.path / WARMUP_FILE
    if not path.is_file():
        return
    import tensorflow as tf
    from tensorflow_serving.apis import prediction_log_pb2

    started, count = time.monotonic(), 0
    try:
        for record in tf.data.TFRecordDataset(str(path)).as_numpy_iterator():
            if count == _MOST:
                raise ServingError(
                    f"more than {_MOST} warm-up requests", str(path), "record fewer: each delays the start"
                )
            _answer(model, prediction_log_pb2.PredictionLog.FromString(record))
            count += 1
    except StatusError as error:
        raise ServingError(f"warm-up request {count + 1} failed: {error.message}", str(path)) from error
    except ServingError:
        raise
    except Exception as error:  # the stacks' protobufs raise different ones
        raise ServingError(
            f"warm-up request {count + 1} cannot be read: {error}",
            str(path),
            "expected a TFRecord file of PredictionLog",
        ) from error
    if not count and path.stat().st_size:
        raise ServingError("no warm-up request can be read", str(path), "expected a TFRecord file")
    log.info("warmed up with %d requests in %.1f s: %s", count, time.monotonic() - started, model.path)


def _answer(model: Model, record: Any) -> None:
    from serving import inference

    kind = record.WhichOneof("log_type")
    if kind == "predict_log":
        request = record.predict_log.request
        name = request.model_spec.signature_name or DEFAULT_SIGNATURE
        model.call(name, inference.predict_inputs(model.signature(name), request.inputs))
    elif kind in ("classify_log", "regress_log"):
        request = getattr(record, kind).request
        job = inference.job("classify" if kind == "classify_log" else "regress", model, request.model_spec)
        model.call(job.signature.name, job.inputs(inference.examples(request.input)))
    elif kind == "multi_inference_log":
        request = record.multi_inference_log.request
        for job in inference.jobs(model, request.tasks):
            model.call(job.signature.name, job.inputs(inference.examples(request.input)))
    else:
        raise ServingError(f"it is a {kind or 'PredictionLog without a request'}; expected a prediction")
