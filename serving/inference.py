"""What TensorFlow Serving's Predict, Classify, Regress and MultiInference ask of a model, on its messages.

Texts and order of the checks are those of TensorFlow Serving, which does not look at a signature's
method name unless it is told to.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from serving.signature import DEFAULT_SIGNATURE, Signature, TensorInfo
from serving.status import Code, StatusError, invalid

if TYPE_CHECKING:
    from serving.model import Model

Kind = Literal["classify", "regress"]
METHODS: dict[str, Kind] = {
    "tensorflow/serving/classify": "classify",
    "tensorflow/serving/regress": "regress",
}
_MOST_VALUES = 2**26  # of one tensor
_INPUTS, _CLASSES, _SCORES, _OUTPUTS = "inputs", "classes", "scores", "outputs"


@dataclass(frozen=True)
class Job:
    """A signature that takes tf.Examples, and how its outputs become a result."""

    kind: Kind
    signature: Signature

    def inputs(self, serialized: Sequence[bytes]) -> dict[str, np.ndarray]:
        """The signature's input: string [n]."""
        array = np.empty(len(serialized), np.object_)
        array[:] = serialized
        return {_INPUTS: array}

    def result(self, outputs: Mapping[str, np.ndarray], count: int) -> Any:
        """A ClassificationResult or RegressionResult of `count` examples."""
        return _classifications(outputs, count) if self.kind == "classify" else _regressions(outputs, count)


def job(kind: Kind, model: Model, spec: Any) -> Job:
    """The signature that a ModelSpec message names, if it can do that."""
    name = spec.signature_name or DEFAULT_SIGNATURE
    if name not in model.signatures:
        raise invalid(f"No signature was found with the name: {name}")
    return _checked(kind, model.signature(name))


def jobs(model: Model, tasks: Iterable[Any]) -> list[Job]:
    """The signatures that a MultiInferenceRequest's tasks name."""
    found: dict[str, Job] = {}
    for task in tasks:
        name = task.model_spec.signature_name or DEFAULT_SIGNATURE
        if name in found:
            raise invalid(f"Duplicate evaluation of signature: {name}")
        if name not in model.signatures:
            raise invalid(f"Requested signature not found in model graph: {name}")
        if task.method_name not in METHODS:
            raise StatusError(Code.UNIMPLEMENTED, f"Unsupported signature method_name: {task.method_name}")
        found[name] = _checked(METHODS[task.method_name], model.signature(name))
    return list(found.values())


def examples(message: Any) -> list[bytes]:
    """The serialized tf.Examples of an Input message, each with the context's features."""
    kind = message.WhichOneof("kind")
    serialized: list[bytes] = []
    if kind == "example_list":
        serialized = [example.SerializeToString() for example in message.example_list.examples]
    elif kind == "example_list_with_context":
        given = message.example_list_with_context
        context = given.context.SerializeToString()  # messages merge when their bytes are put together
        serialized = [context + example.SerializeToString() for example in given.examples]
    if not serialized:
        raise invalid("Input is empty.")
    return serialized


def predict_inputs(signature: Signature, tensors: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """The arrays of a PredictRequest's TensorProtos."""
    import tensorflow as tf
    from tensorflow.core.framework import types_pb2

    arrays = {}
    for index, (name, tensor) in enumerate(sorted(tensors.items())):
        info = signature.inputs.get(name)
        got = types_pb2.DataType.Name(tensor.dtype) if tensor.dtype in types_pb2.DataType.values() else "?"
        if info is not None and info.dtype != got:
            provided = TensorInfo("", got, None).short_dtype
            raise invalid(f"Expects arg[{index}] to be {info.short_dtype} but {provided} is provided")
        try:
            # A shape says how far the last value is repeated: a few bytes could ask for all memory.
            if math.prod(dim.size for dim in tensor.tensor_shape.dim) > _MOST_VALUES:
                raise ValueError
            arrays[name] = np.asarray(tf.make_ndarray(tensor))
        except (TypeError, ValueError) as error:
            raise invalid(f"tensor parsing error: {name}") from error
    return arrays


def predict_outputs(outputs: Mapping[str, np.ndarray], wanted: Sequence[str]) -> dict[str, Any]:
    """The outputs, or those of an output filter, as TensorProtos."""
    import tensorflow as tf

    return {name: tf.make_tensor_proto(outputs[name]) for name in wanted or outputs}


def check_filter(signature: Signature, wanted: Sequence[str]) -> None:
    """Refuses an output filter with names that the signature does not have."""
    for index, name in enumerate(wanted):
        if name not in signature.outputs:
            raise invalid(
                f"output tensor alias not found in signature: {name} Outputs expected to be in the set "
                f"{{{','.join(sorted(signature.outputs))}}}."
            )
        if name in wanted[:index]:
            raise invalid(f"duplicate output tensor alias: {name}")


def _checked(kind: Kind, signature: Signature) -> Job:
    if len(signature.inputs) != 1:
        raise invalid("Expected one input Tensor.")
    noun = "classification" if kind == "classify" else "regression"
    if kind == "classify" and len(signature.outputs) not in (1, 2):
        raise invalid(f"Expected one or two output Tensors, found {len(signature.outputs)}")
    if kind == "regress" and len(signature.outputs) != 1:
        raise invalid("Expected one output Tensor.")
    if _INPUTS not in signature.inputs:
        raise StatusError(
            Code.FAILED_PRECONDITION,
            f"No {noun} inputs found in SignatureDef: {signature.name} takes {', '.join(signature.inputs)}",
        )
    if kind == "classify" and not {_CLASSES, _SCORES} & signature.outputs.keys():
        raise StatusError(
            Code.FAILED_PRECONDITION,
            "Expected classification signature outputs to contain at least one of "
            f'"{_CLASSES}" or "{_SCORES}". Signature was: {signature.name} '
            f"with {', '.join(signature.outputs)}",
        )
    if kind == "regress" and _OUTPUTS not in signature.outputs:
        raise StatusError(
            Code.FAILED_PRECONDITION,
            f"No regression outputs found in SignatureDef: {signature.name} gives "
            f"{', '.join(signature.outputs)}",
        )
    return Job(kind, signature)


def _classifications(outputs: Mapping[str, np.ndarray], count: int) -> Any:
    from tensorflow_serving.apis import classification_pb2

    classes, scores = outputs.get(_CLASSES), outputs.get(_SCORES)
    if classes is not None:
        _expect(classes, "classes", np.object_, count)
    if scores is not None:
        _expect(scores, "scores", np.float32, count)
    if classes is not None and scores is not None and classes.shape[1] != scores.shape[1]:
        raise invalid(
            "Tensors class and score should match in dim_size(1). "
            f"Got {classes.shape[1]} vs. {scores.shape[1]}"
        )
    result = classification_pb2.ClassificationResult()
    for row in range(count):
        found = result.classifications.add().classes
        for column in range((classes if classes is not None else scores).shape[1]):  # type: ignore[union-attr]
            one = found.add()
            if classes is not None:
                one.label = classes[row, column].decode("utf-8", "replace")
            if scores is not None:
                one.score = float(scores[row, column])
    return result


def _expect(array: np.ndarray, name: str, dtype: Any, count: int) -> None:
    if array.ndim != 2:
        raise invalid(
            f"Expected Tensor shape: [batch_size num_classes] but got [{','.join(map(str, array.shape))}]"
        )
    if array.dtype != dtype:
        kind = "DT_STRING" if dtype is np.object_ else "DT_FLOAT"
        raise invalid(f"Expected {name} Tensor of {kind}. Got: {array.dtype}")
    if len(array) != count:
        raise invalid(f"Expected {name} output batch size of {count}. Got: {len(array)}")


def _regressions(outputs: Mapping[str, np.ndarray], count: int) -> Any:
    from tensorflow_serving.apis import regression_pb2

    values = outputs[_OUTPUTS]
    if values.shape not in ((count,), (count, 1)):
        raise invalid(
            "Expected output Tensor shape to be either [batch_size] or [batch_size, 1] but got "
            f"[{','.join(map(str, values.shape))}]"
        )
    if values.dtype != np.float32:
        raise invalid(f"Expected output Tensor of DT_FLOAT. Got: {values.dtype}")
    result = regression_pb2.RegressionResult()
    for value in values.ravel().tolist():
        result.regressions.add().value = value
    return result
