"""Which model the Evaluator compares with: the latest blessed one of this pipeline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tfx.dsl.components.common import resolver


class LatestBlessedOther(resolver.ResolverStrategy):
    """Resolves `model` to the latest blessed model that is not the `candidate` itself.

    TFX's LatestBlessedModelStrategy takes the candidate too: once a model is blessed, evaluating
    it again compares it with itself, so nothing is ever the same twice and nothing is cached.
    """

    def resolve_artifacts(self, store: Any, input_dict: dict[str, list[Any]]) -> dict[str, list[Any]]:
        candidates = {artifact.id for artifact in input_dict["candidate"]}
        for model, blessing in blessed_latest_first(input_dict):
            if model.id not in candidates:
                return {"model": [model], "model_blessing": [blessing], "candidate": []}
        return {"model": [], "model_blessing": [], "candidate": []}


def blessed_latest_first(input_dict: Mapping[str, Sequence[Any]]) -> Iterator[tuple[Any, Any]]:
    """Blessed models among those under `model`, each with its blessing under `model_blessing`."""
    models = {artifact.id: artifact for artifact in input_dict["model"]}
    for blessing in sorted(input_dict["model_blessing"], key=lambda artifact: artifact.id, reverse=True):
        model = models.get(blessing.get_int_custom_property("current_model_id"))
        if model is not None and blessing.get_int_custom_property("blessed") == 1:
            yield model, blessing
