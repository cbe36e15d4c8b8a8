"""Weights beside an exported model, and what a new model takes of them."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

import keras
import numpy as np
from tfx.dsl.io import fileio

from components.errors import UserError
from components.label import LabelSpec

_FILE = "assets.extra/weights.npz"
_SHOWN = 3
Names = Mapping[str, Sequence[str]]


def keep_weights(weights: Mapping[str, np.ndarray], names: Names, label: LabelSpec, folder: str) -> None:
    """Writes the weights by their paths, and what ids and classes stand for, beside the exported model."""
    about = {
        "paths": list(weights),
        "ids": {name: list(each) for name, each in names.items()},
        "label": [label.name, label.task],
        "classes": list(label.classes),
    }
    content = io.BytesIO()
    np.savez(
        content,
        about=np.array(json.dumps(about)),
        **{f"weight_{i}": values for i, values in enumerate(weights.values())},
    )
    with fileio.open(f"{folder}/{_FILE}", "wb") as stream:
        stream.write(content.getvalue())


def take_weights(model: keras.Model, names: Names, label: LabelSpec, folder: str) -> str:
    """Gives the model the weights of the exported one in `folder`, wherever path and shape are the same.

    The rows of an embedding of ids go by what the ids stand for: a value that was known keeps its row,
    wherever it is in the vocabulary now; a new one has the row that the model was made with.

    Args:
      names: model input to what its ids stand for.

    Returns:
      What was taken, for the step's account.

    Raises:
      UserError: there are no weights, they are of another task, or what ids or classes stand for has changed
        in a way that the weights cannot follow.
    """
    if not fileio.exists(f"{folder}/{_FILE}"):
        raise UserError(
            f"no {_FILE} in {folder}",
            where="train.warm_start",
            fix="name a version directory that this version of Headrace pushed, or set it to off",
        )
    with fileio.open(f"{folder}/{_FILE}", "rb") as stream, np.load(io.BytesIO(stream.read())) as file:
        about = json.loads(str(file["about"]))
        before = {path: file[f"weight_{i}"] for i, path in enumerate(about["paths"])}
    _check_label(about, label, folder)
    tables = _tables(model, names)
    changed = [name for name in names if name in about["ids"] and list(names[name]) != about["ids"][name]]
    lost = [name for name in changed if name not in tables.values()]
    if lost:
        raise UserError(
            f"the ids of {', '.join(lost[:_SHOWN])} stand for other values than before, and no Embedding "
            "layer is applied to them directly, so that their weights cannot be told apart",
            where="train.warm_start",
            fix="set it to off",
        )
    fresh, rows = [], 0
    for variable in model.weights:
        values, name = before.get(variable.path), tables.get(variable.path)
        if values is not None and name is not None and name in about["ids"]:
            values, added = _by_name(variable, values, names[name], about["ids"][name])
            rows += added
        if values is None or values.shape != tuple(variable.shape):
            fresh.append(variable.path)
        else:
            variable.assign(values)
    taken = len(model.weights) - len(fresh)
    more = f" and {len(fresh) - _SHOWN} more" if len(fresh) > _SHOWN else ""
    return (
        f"began with {taken} of {len(model.weights)} weights of {folder}"
        + (f", {rows} rows of embeddings new" if rows else "")
        + (f"; not {', '.join(fresh[:_SHOWN])}{more}" if fresh else "")
    )


def _check_label(about: dict[str, Any], label: LabelSpec, folder: str) -> None:
    fix = "set it to off, or name a model of the same question"
    if about["label"] != [label.name, label.task]:
        was, task = about["label"]
        raise UserError(
            f"the model in {folder} predicts {was} ({task}), this one {label.name} ({label.task})",
            where="train.warm_start", fix=fix,
        )  # fmt: skip
    # Of another number of classes the last layer has another shape, and is not taken.
    if about["classes"] != list(label.classes) and len(about["classes"]) == len(label.classes):
        raise UserError(
            f"the classes were {', '.join(about['classes'][:5])}, they are {', '.join(label.classes[:5])}",
            where="train.warm_start", fix=fix,
        )  # fmt: skip


def _tables(model: keras.Model, names: Names) -> dict[str, str]:
    """Path of each embedding's table to the model input whose ids it is applied to."""
    found = {}
    for layer in model.layers:
        if isinstance(layer, keras.layers.Embedding) and getattr(layer, "_inbound_nodes", None):
            given = layer.input
            if getattr(given, "name", None) in names:
                found[layer.embeddings.path] = given.name
    return found


def _by_name(
    variable: Any, values: np.ndarray, now: Sequence[str], then: Sequence[str]
) -> tuple[np.ndarray | None, int]:
    """The table with the rows known by name, and how many are not; None when its width is another."""
    if values.shape[1:] != tuple(variable.shape[1:]):
        return None, 0
    places = {name: i for i, name in enumerate(then)}
    found = np.array([places.get(name, -1) for name in now])
    table = np.array(keras.ops.convert_to_numpy(variable))
    table[found >= 0] = values[found[found >= 0]]
    return table, int((found < 0).sum())
