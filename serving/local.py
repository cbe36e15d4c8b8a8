"""Predictions in this process, without a server, from a pushed version."""

from __future__ import annotations

from serving.errors import ServingError
from serving.model import Model
from serving.rest_answer import to_lists
from serving.rest_json import to_tensor
from serving.rows import Columns, Prediction, input_type, to_predictions
from serving.signature import RAW_SIGNATURE
from serving.status import StatusError


class LocalModel:
    """Asks a loaded model what `serving.client.Client` asks a server."""

    def __init__(self, model: Model) -> None:
        if RAW_SIGNATURE not in model.signatures:
            raise ServingError(
                f"the model has no signature {RAW_SIGNATURE!r}; it has {', '.join(sorted(model.signatures))}",
                str(model.path),
                "predict with a model that headrace has exported",
            )
        self._model = model
        self._signature = model.signatures[RAW_SIGNATURE]

    def inputs(self) -> dict[str, str]:
        """The raw features that the model takes, and their types."""
        return {
            name: input_type(info.dtype, len(info.shape or ()))
            for name, info in self._signature.inputs.items()
        }

    def predict_columns(self, columns: Columns) -> list[Prediction]:
        """Answers for rows already cast by `to_columns`."""
        try:
            arrays = {
                name: to_tensor(columns.values[name], info) for name, info in self._signature.inputs.items()
            }
            outputs = self._model.call(RAW_SIGNATURE, arrays)
        except StatusError as error:
            raise ServingError(f"{error.code.name}: {error.message}", str(self._model.path)) from error
        return to_predictions({name: to_lists(array) for name, array in outputs.items()})
