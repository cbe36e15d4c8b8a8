"""Which model the Evaluator compares with: the latest blessed one of this pipeline."""

from __future__ import annotations

from typing import Any

from tfx.dsl.components.common import resolver


class LatestBlessedOther(resolver.ResolverStrategy):
    """Resolves `model` to the latest blessed model that is not the `candidate` itself.

    TFX's LatestBlessedModelStrategy takes the candidate too: once a model is blessed, evaluating
    it again compares it with itself, so nothing is ever the same twice and nothing is cached.
    """

    def resolve_artifacts(self, store: Any, input_dict: dict[str, list[Any]]) -> dict[str, list[Any]]:
        candidates = {artifact.id for artifact in input_dict["candidate"]}
        models = {artifact.id: artifact for artifact in input_dict["model"]}
        blessings = sorted(input_dict["model_blessing"], key=lambda artifact: artifact.id, reverse=True)
        for blessing in blessings:
            model_id = blessing.get_int_custom_property("current_model_id")
            blessed = blessing.get_int_custom_property("blessed") == 1
            if blessed and model_id in models and model_id not in candidates:
                return {"model": [models[model_id]], "model_blessing": [blessing], "candidate": []}
        return {"model": [], "model_blessing": [], "candidate": []}
