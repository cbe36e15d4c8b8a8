"""What a model's signatures take and give, without TensorFlow: names, types and shapes."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

DEFAULT_SIGNATURE = "serving_default"
RAW_SIGNATURE = "serving_raw"

_COLUMN = (-1,)  # one value a row, by far the most usual

# TensorFlow's type to its name in messages and its numpy type, for the types that JSON can carry.
_TYPES: dict[str, tuple[str, Any]] = {
    "DT_FLOAT": ("float", np.float32),
    "DT_DOUBLE": ("double", np.float64),
    "DT_INT8": ("int8", np.int8),
    "DT_INT16": ("int16", np.int16),
    "DT_INT32": ("int32", np.int32),
    "DT_INT64": ("int64", np.int64),
    "DT_UINT8": ("uint8", np.uint8),
    "DT_UINT16": ("uint16", np.uint16),
    "DT_UINT32": ("uint32", np.uint32),
    "DT_UINT64": ("uint64", np.uint64),
    "DT_BOOL": ("bool", np.bool_),
    "DT_STRING": ("string", np.object_),
}


@dataclass(frozen=True)
class TensorInfo:
    """One input or output: its tensor in the graph, its type and its shape (-1: any size, None: any rank)."""

    tensor: str
    dtype: str
    shape: tuple[int, ...] | None

    @property
    def short_dtype(self) -> str:
        """The type as TensorFlow Serving's messages write it: `float`, `string`, `int64`."""
        return _TYPES[self.dtype][0] if self.dtype in _TYPES else self.dtype.removeprefix("DT_").lower()

    @cached_property
    def numpy_dtype(self) -> Any:
        """The numpy type of its values; None when JSON cannot carry them."""
        return _TYPES[self.dtype][1] if self.dtype in _TYPES else None

    def accepts(self, shape: tuple[int, ...]) -> bool:
        """Whether a tensor of this shape can be fed."""
        if self.shape is None or (self.shape == _COLUMN and len(shape) == 1):
            return True
        return len(shape) == len(self.shape) and all(
            wanted in (-1, got) for wanted, got in zip(self.shape, shape, strict=True)
        )

    def to_json(self) -> dict[str, Any]:
        """TensorFlow Serving's JSON form of a TensorInfo message."""
        dims = [{"size": str(size), "name": ""} for size in self.shape or ()]
        return {
            "dtype": self.dtype,
            "tensor_shape": {"dim": dims, "unknown_rank": self.shape is None},
            "name": self.tensor,
        }


@dataclass(frozen=True)
class Signature:
    """A named way to call a model."""

    name: str
    inputs: dict[str, TensorInfo]
    outputs: dict[str, TensorInfo] = field(default_factory=dict)
    method: str = ""

    @property
    def batchable(self) -> bool:
        """Whether every input and output has rows: a first dimension of any size."""
        tensors = (*self.inputs.values(), *self.outputs.values())
        return bool(self.inputs) and all(info.shape and info.shape[0] == -1 for info in tensors)

    def to_json(self) -> dict[str, Any]:
        """TensorFlow Serving's JSON form of a SignatureDef message."""
        return {
            "inputs": {name: info.to_json() for name, info in self.inputs.items()},
            "outputs": {name: info.to_json() for name, info in self.outputs.items()},
            "method_name": self.method,
            "defaults": {},
        }


def metadata_json(model: str, version: int, signatures: dict[str, Signature]) -> dict[str, Any]:
    """The answer of GET /v1/models/NAME/metadata."""
    described = {name: signature.to_json() for name, signature in signatures.items()}
    return {
        "model_spec": {"name": model, "signature_name": "", "version": str(version)},
        "metadata": {"signature_def": {"signature_def": described}},
    }
