"""Which model a training begins with: the latest blessed one that has learned from other data."""

from __future__ import annotations

from typing import Any

from tfx.dsl.components.common import resolver

from components.evaluator.baseline import blessed_latest_first


class LatestBlessedOfOtherData(resolver.ResolverStrategy):
    """Resolves `model` to the latest blessed model that was not trained on the `current` examples.

    One that was would make the input of the next run another, and so on: nothing would ever come from
    the cache, and the number of runs would decide how often the same rows are learned.
    """

    def resolve_artifacts(self, store: Any, input_dict: dict[str, list[Any]]) -> dict[str, list[Any]]:
        current = {artifact.id for artifact in input_dict["current"]}
        for model, blessing in blessed_latest_first(input_dict):
            if not current & _inputs_of(store, model.id):
                return {"model": [model], "model_blessing": [blessing], "current": []}
        return {"model": [], "model_blessing": [], "current": []}


def _inputs_of(store: Any, artifact_id: int) -> set[int]:
    """The artifacts that went into the executions which this one came out of."""
    from ml_metadata.proto import metadata_store_pb2

    event: Any = metadata_store_pb2.Event
    made = [
        each.execution_id
        for each in store.get_events_by_artifact_ids([artifact_id])
        if each.type == event.OUTPUT
    ]
    return {each.artifact_id for each in store.get_events_by_execution_ids(made) if each.type == event.INPUT}
