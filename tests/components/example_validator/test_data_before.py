"""Which data is the data before: the latest other that passed, and for the same data always the same."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from executors import artifact
from ml_metadata.proto import metadata_store_pb2

from components.example_validator.previous import DATA, PREVIOUS_ID, STATISTICS_ID, LatestPassedOther


@dataclass
class History:
    """Runs as ML Metadata would have them: statistics of every one, anomalies of those that passed."""

    folder: Any
    statistics: list[Any] = field(default_factory=list)
    anomalies: list[Any] = field(default_factory=list)
    events: list[Any] = field(default_factory=list)
    executions: int = 0

    def computed(self, data: str) -> Any:
        """Statistics of some data."""
        made = artifact("ExampleStatistics", self.folder / "s", number=len(self.statistics) + 1)
        made.set_string_custom_property("data", data)
        self.statistics.append(made)
        return made

    def resolve(self, current: Any) -> tuple[Any, Any]:
        """The statistics and the anomalies that the current ones are compared with."""
        inputs = {"statistics": self.statistics, "anomalies": self.anomalies, "current": [current]}
        found = LatestPassedOther().resolve_artifacts(self, inputs)
        assert found["current"] == []
        return tuple(next(iter(found[key]), None) for key in ("statistics", "anomalies"))

    def passes(self, current: Any) -> Any:
        """Checks the data, which passes."""
        _, before = self.resolve(current)
        made = artifact("ExampleAnomalies", self.folder / "a", number=100 + len(self.anomalies))
        made.set_string_custom_property(DATA, current.get_string_custom_property("data"))
        made.set_int_custom_property(STATISTICS_ID, current.id)
        made.set_int_custom_property(PREVIOUS_ID, before.id if before else 0)
        self.anomalies.append(made)
        self.used(made)
        return made

    def used(self, anomalies: Any) -> None:
        """An execution had these anomalies as its output, made or from the cache."""
        self.executions += 1
        event = metadata_store_pb2.Event(artifact_id=anomalies.id, execution_id=self.executions)
        event.type = metadata_store_pb2.Event.OUTPUT
        self.events.append(event)

    def get_events_by_artifact_ids(self, ids: list[int]) -> list[Any]:
        return [event for event in self.events if event.artifact_id in ids]


@pytest.fixture
def history(tmp_path):
    return History(tmp_path)


def test_the_first_data_has_none_before_it(history):
    first = history.computed("a")
    assert history.resolve(first) == (None, None)
    history.passes(first)
    assert history.resolve(first) == (None, None)


def test_other_data_is_compared_with_the_latest_that_passed(history):
    first, second = history.computed("a"), history.computed("b")
    verdict = history.passes(first)
    history.computed("c")  # did not pass
    assert history.resolve(second) == (first, verdict)
    history.passes(second)
    assert history.resolve(history.computed("d"))[0] is second


def test_the_same_data_is_always_compared_with_the_same(history):
    first, second, third = (history.computed(each) for each in "abc")
    for each in (first, second, third):
        history.passes(each)
    assert history.resolve(second)[0] is first
    assert history.resolve(first) == (None, None)
    # Computed again, by other code perhaps.
    assert history.resolve(history.computed("c"))[0] is second


def test_the_latest_is_the_one_last_used(history):
    first, second = history.computed("a"), history.computed("b")
    verdict = history.passes(first)
    history.passes(second)
    history.used(verdict)  # the first data came back, and its verdict from the cache
    assert history.resolve(history.computed("c")) == (first, verdict)


def test_what_was_pruned_is_not_compared_with(history):
    first, second = history.computed("a"), history.computed("b")
    history.passes(first)
    history.passes(second)
    history.statistics.remove(first)
    assert history.resolve(second) == (None, None)
