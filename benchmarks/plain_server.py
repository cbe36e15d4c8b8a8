"""What people write by hand: a web server that calls the model once a request.

Usage: .venv/bin/python benchmarks/plain_server.py VERSION_DIRECTORY signature|predict

aiohttp stands for FastAPI, which is not among the dependencies and does more for a request. It takes the body
that TensorFlow Serving takes ({"inputs": {column: [values]}}), so that the same load asks both. `signature`
calls the SavedModel's serving_raw, `predict` a Keras model around it: model.predict. Like a FastAPI endpoint
that is no coroutine, the call runs in a thread. Prints its port when it is ready, and ends with its stdin.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from aiohttp import web

KEPT: list[Any] = []


def load(folder: str, how: str) -> Callable[[dict[str, list[Any]]], dict[str, Any]]:
    """Columns to outputs."""
    import keras
    import tensorflow as tf

    loaded = tf.saved_model.load(folder)
    KEPT.append(loaded)  # a signature does not keep its variables
    signature = loaded.signatures["serving_raw"]
    dtypes = {name: spec.dtype for name, spec in signature.structured_input_signature[1].items()}

    def tensors(columns: dict[str, list[Any]]) -> dict[str, tf.Tensor]:
        return {name: tf.constant(values, dtypes[name]) for name, values in columns.items()}

    if how == "signature":
        return lambda columns: signature(**tensors(columns))

    class Model(keras.Model):
        """The SavedModel as a Keras model."""

        def call(self, inputs: Any) -> Any:
            return signature(**inputs)

    model = Model()
    return lambda columns: model.predict(tensors(columns), verbose=0)


def plain(value: Any) -> Any:
    """A tensor, or an array, as JSON takes it."""
    array = value.numpy() if hasattr(value, "numpy") else value
    return [each.decode() if isinstance(each, bytes) else float(each) for each in array.reshape(-1)]


async def main() -> None:
    answer = load(sys.argv[1], sys.argv[2])

    async def predict(request: web.Request) -> web.Response:
        columns = (await request.json())["inputs"]
        outputs = await asyncio.to_thread(answer, columns)
        return web.json_response({"outputs": {name: plain(value) for name, value in outputs.items()}})

    app = web.Application()
    app.router.add_post("/{path:.*}", predict)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.to_thread(sys.stdin.read)
    await runner.cleanup()


if __name__ == "__main__":
    asyncio.run(main())
