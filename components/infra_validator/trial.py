"""The trial process: TensorFlow and the export, nothing of the pipeline.

Usage: python -I -m components.infra_validator.trial REQUEST.json ANSWER.json PARENT_PID
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from components.processes import end_with_parent
from components.served_names import input_names


def _raw_tensors(serialized: list[bytes], signature: Any, columns: list[str]) -> dict[str, Any]:
    """The rows' columns as the tensors of serving_raw, with its markers where a value is missing."""
    import tensorflow as tf

    names = input_names(columns)
    markers = {tf.string: b"", tf.float32: float("nan"), tf.int64: tf.int64.min}
    specs = signature.structured_input_signature[1]
    parsed = tf.io.parse_example(
        serialized, {column: tf.io.VarLenFeature(specs[name].dtype) for column, name in names.items()}
    )
    tensors = {}
    for column_name, column in parsed.items():
        single = tf.SparseTensor(column.indices, column.values, [len(serialized), 1])
        tensors[names[column_name]] = tf.reshape(tf.sparse.to_dense(single, markers[column.dtype]), [-1])
    return tensors


def _differ(a: dict[str, Any], b: dict[str, Any]) -> str:
    """The name of an output that two answers differ in; empty when they agree."""
    import numpy as np

    for name, value in a.items():
        left, right = value.numpy(), b[name].numpy()
        same = np.allclose(left, right, atol=1e-5) if left.dtype.kind == "f" else np.array_equal(left, right)
        if not same:
            return name
    return ""


def try_out(model: str, serialized: list[bytes]) -> dict[str, Any]:
    """Loads the export and calls every signature; says how long loading took, or what the problem is."""
    import numpy as np
    import tensorflow as tf

    started = time.monotonic()
    try:
        loaded = tf.saved_model.load(model)
        with tf.io.gfile.GFile(f"{model}/assets.extra/headrace.json") as stream:
            columns = list(json.loads(stream.read())["features"])
    except Exception as error:
        return {"problem": f"the model cannot be loaded: {error}"}
    found: dict[str, Any] = {"load_seconds": time.monotonic() - started, "called": []}
    examples = tf.constant(serialized)
    answers = {}
    for name, signature in loaded.signatures.items():
        try:
            if name == "serving_raw":
                answers[name] = signature(**_raw_tensors(serialized, signature, columns))
            else:
                answers[name] = signature(examples=examples)
        except Exception as error:
            return {**found, "problem": f"signature {name} failed: {error}"}
        for output, value in answers[name].items():
            if value.shape[0] != len(serialized):
                return {
                    **found,
                    "problem": f"{name}: {output} has {value.shape[0]} rows for {len(serialized)}",
                }
            if (
                name != "transform_features"
                and value.dtype.is_floating
                and not np.isfinite(value.numpy()).all()
            ):
                return {**found, "problem": f"{name}: {output} holds a value that is not finite"}
        found["called"].append(name)
    odd = _differ(answers["serving_default"], answers["serving_raw"])
    if odd:
        found["problem"] = f"serving_default and serving_raw answer the same rows with different {odd}"
    return found


def main() -> None:
    end_with_parent(int(sys.argv[3]))
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    request = json.loads(Path(sys.argv[1]).read_text())
    found = try_out(request["model"], [bytes.fromhex(row) for row in request["rows"]])
    Path(sys.argv[2]).write_text(json.dumps(found))


if __name__ == "__main__":
    main()
