"""Which data the ExampleValidator compares with: the latest other data of this pipeline that passed."""

from __future__ import annotations

from typing import Any

from tfx.dsl.components.common import resolver

# Properties of an ExampleAnomalies artifact: which statistics it is about, of which data, and the
# anomalies of those that they were compared with; 0: with nothing.
STATISTICS_ID, DATA, PREVIOUS_ID = "statistics_id", "data", "previous_id"

_NOTHING: dict[str, list[Any]] = {"statistics": [], "anomalies": [], "current": []}


class LatestPassedOther(resolver.ResolverStrategy):
    """Resolves `statistics` and `anomalies` to those of the data that passed before the `current` data.

    Anomalies exist for data that passed only: a step that fails leaves none. Data that has passed
    already is compared with what it was compared with then, so that the same data gets the same
    verdict whenever it comes back, from the cache.
    """

    def resolve_artifacts(self, store: Any, input_dict: dict[str, list[Any]]) -> dict[str, list[Any]]:
        statistics = {artifact.id: artifact for artifact in input_dict["statistics"]}
        current = {artifact.get_string_custom_property("data") for artifact in input_dict["current"]}
        verdicts = _latest_first(store, input_dict["anomalies"])
        mine = [each for each in verdicts if each.get_string_custom_property(DATA) in current]
        if mine:
            before = mine[0].get_int_custom_property(PREVIOUS_ID)
            others = [each for each in verdicts if each.id == before]
        else:
            others = verdicts
        for verdict in others:
            found = statistics.get(verdict.get_int_custom_property(STATISTICS_ID))
            if found is not None:
                return {"statistics": [found], "anomalies": [verdict], "current": []}
        return _NOTHING


def _latest_first(store: Any, anomalies: list[Any]) -> list[Any]:
    """In the order of the latest execution that gave them: one from the cache counts as well."""
    used = {artifact.id: 0 for artifact in anomalies}
    for event in store.get_events_by_artifact_ids(list(used)) if used else ():
        if event.type in (event.OUTPUT, event.DECLARED_OUTPUT, event.INTERNAL_OUTPUT):
            used[event.artifact_id] = max(used[event.artifact_id], event.execution_id)
    return sorted(anomalies, key=lambda artifact: (used[artifact.id], artifact.id), reverse=True)
