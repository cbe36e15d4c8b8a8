"""A SavedModel version in memory: its signatures, and calls to them with numpy arrays.

The only module that imports TensorFlow, and only when a model is loaded.
"""

from __future__ import annotations

import os
import re
import sys
import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from serving import memory
from serving.errors import ServingError, cut
from serving.manifest import Manifest, read_manifest
from serving.signature import Signature, TensorInfo
from serving.status import Code, StatusError, invalid
from serving.versions import GRAPH_FILE
from serving.warmup import warm_up

Arrays = Mapping[str, np.ndarray]
_NOT_NEEDED = ("googleapiclient", "keras")
_INIT_SIGNATURE = "__saved_model_init_op"  # listed in the file, called by the loader, not by us


class Model:
    """One loaded version.

    Args:
      path: its version directory.
      version: its number.
      signatures: everything the file lists, by name.
      functions: how to call a signature, by name.
      manifest: what the exporter wrote about it, if it did.
      definitions: the SignatureDef messages of the file, by name.
      load_seconds: how long it took to load, without the warm-up.
    """

    def __init__(
        self,
        *,
        path: Path,
        version: int,
        signatures: dict[str, Signature],
        functions: dict[str, Callable[[Arrays], dict[str, np.ndarray]]],
        manifest: Manifest | None,
        definitions: Mapping[str, Any] | None = None,
        load_seconds: float = 0.0,
    ) -> None:
        self.path, self.version, self.signatures, self.manifest = path, version, signatures, manifest
        self.definitions, self.load_seconds = definitions or {}, load_seconds
        self._functions = functions

    def signature(self, name: str) -> Signature:
        """The signature of this name, or TensorFlow Serving's error."""
        if name not in self._functions:
            raise invalid(f'Serving signature name: "{cut(name, 200)}" not found in signature def')
        return self.signatures[name]

    def call(self, name: str, inputs: Arrays) -> dict[str, np.ndarray]:
        """Calls a signature with one array an input; strings travel as object arrays of bytes."""
        self.check(name, inputs)
        return self.run(name, inputs)

    def check(self, name: str, inputs: Arrays) -> None:
        """Refuses inputs that the signature does not take."""
        signature = self.signature(name)
        if inputs.keys() != signature.inputs.keys():
            raise invalid(_wrong_inputs(set(inputs), set(signature.inputs)))
        for key, info in signature.inputs.items():
            if not info.accepts(inputs[key].shape):
                raise invalid(
                    f"input '{key}' of signature '{name}': got shape {_dims(inputs[key].shape)}, "
                    f"expected {_dims(info.shape or ())}"
                )

    def run(self, name: str, inputs: Arrays) -> dict[str, np.ndarray]:
        """Calls a signature with inputs that were checked."""
        return self._functions[name](inputs)


def load_model(path: Path, version: int) -> Model:
    """Loads a version directory; raises ServingError, with the reason, when that cannot be done."""
    manifest = read_manifest(path)
    tf = import_tensorflow()
    started = time.monotonic()
    try:
        definitions = _read_definitions(path / GRAPH_FILE)
        signatures = _describe(definitions)
        with memory.no_gradients_kept():
            loaded = tf.saved_model.load(str(path), tags="serve")
            functions = {
                name: _caller(tf, loaded, loaded.signatures[name], signatures[name])
                for name in signatures
                if name in loaded.signatures
            }
    except Exception as error:  # a damaged file shows as anything from OSError to TypeError
        raise ServingError(
            f"cannot load this SavedModel: {cut(_clean(str(error)), 300)}",
            str(path),
            "push the model again, or remove this version",
        ) from error
    model = Model(
        path=path,
        version=version,
        signatures=signatures,
        functions=functions,
        manifest=manifest,
        definitions=definitions,
        load_seconds=time.monotonic() - started,
    )
    warm_up(model)
    return model


def import_tensorflow() -> Any:
    """TensorFlow, without its remarks about the machine, which look like errors and are none.

    And without what it imports when it is installed, which takes half of the time: a server needs neither
    Keras nor Google's cluster API. Whoever wants them can import them afterwards.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    modules: dict[str, Any] = sys.modules
    without = [name for name in _NOT_NEEDED if name not in modules]
    modules.update(dict.fromkeys(without))  # None: such an import fails as if it was not installed
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            import tensorflow as tf
    finally:
        for name in without:
            del modules[name]
    return tf


def _read_definitions(graph_file: Path) -> dict[str, Any]:
    """The SignatureDef messages as the file spells them, with names that Python cannot say."""
    from tensorflow.core.protobuf import saved_model_pb2

    content = saved_model_pb2.SavedModel.FromString(graph_file.read_bytes())
    graphs = [graph for graph in content.meta_graphs if "serve" in graph.meta_info_def.tags]
    if not graphs:
        raise ServingError("it has no graph tagged 'serve'")
    return {
        name: definition
        for name, definition in sorted(graphs[0].signature_def.items())
        if name != _INIT_SIGNATURE
    }


def _describe(definitions: Mapping[str, Any]) -> dict[str, Signature]:
    from tensorflow.core.framework import types_pb2

    def describe(tensors: Any) -> dict[str, TensorInfo]:
        return {
            name: TensorInfo(
                tensor=info.name,
                dtype=types_pb2.DataType.Name(info.dtype),
                shape=None
                if info.tensor_shape.unknown_rank
                else tuple(dim.size for dim in info.tensor_shape.dim),
            )
            for name, info in sorted(tensors.items())
        }

    return {
        name: Signature(name, describe(proto.inputs), describe(proto.outputs), proto.method_name)
        for name, proto in definitions.items()
    }


def _caller(
    tf: Any, loaded: Any, concrete: Any, signature: Signature
) -> Callable[[Arrays], dict[str, np.ndarray]]:
    """A plain function over arrays.

    The signature is wrapped once more, in a concrete function of positional tensors: its call path is the
    shortest that Python has. `loaded` is kept: a concrete function alone does not keep its variables.
    """
    names = list(signature.inputs)
    specs = [
        tf.TensorSpec(
            _unknown_as_none(info.shape), tf.dtypes.as_dtype(info.dtype.removeprefix("DT_").lower())
        )
        for info in signature.inputs.values()
    ]

    def by_name(*tensors: Any) -> Any:
        return concrete(**dict(zip(names, tensors, strict=True)))

    positional = tf.function(by_name, input_signature=specs, autograph=False).get_concrete_function()

    def call(inputs: Arrays, _keep: Any = loaded) -> dict[str, np.ndarray]:
        try:
            outputs = positional(*(tf.constant(inputs[name]) for name in names))
            return {name: tensor.numpy() for name, tensor in outputs.items()}
        except tf.errors.OpError as error:
            code = Code(error.error_code) if error.error_code in set(Code) else Code.UNKNOWN
            raise StatusError(code, _clean(error.message)) from error
        except UnicodeDecodeError as error:  # the message quotes bytes of the request, and the code is lost
            raise invalid(_clean(error.object.decode("utf-8", "replace"))) from error

    return call


def _unknown_as_none(shape: tuple[int, ...] | None) -> list[int | None] | None:
    return None if shape is None else [None if size == -1 else size for size in shape]


def _clean(message: str) -> str:
    """TensorFlow's message without the generated function names that Python adds to it."""
    message = re.sub(r"\{\{function_node [^}]*\}\}\s*", "", message)
    return re.sub(r"\s*\[Op:[^\]]*\].*\Z", "", message, flags=re.S).strip()


def _dims(shape: tuple[int, ...]) -> str:
    return "[" + ",".join(str(size) for size in shape) + "]"


def _wrong_inputs(sent: set[str], wanted: set[str]) -> str:
    def listed(names: set[str]) -> str:
        return "{" + ",".join(sorted(names)) + "}"

    return (
        f"input size does not match signature: {len(sent)}!={len(wanted)} len({listed(sent)}) != "
        f"len({listed(wanted)}). Sent extra: {listed(sent - wanted)}. "
        f"Missing but required: {listed(wanted - sent)}."
    )
