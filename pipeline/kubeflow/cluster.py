"""What is done on a cluster: versions of a pipeline, its runs and schedules. Twice is the same as once."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from components.errors import UserError
from pipeline.kubeflow import logs
from pipeline.kubeflow.client import Client

_ENDED = ("SUCCEEDED", "FAILED", "CANCELED", "SKIPPED")
_VERSION_LENGTH = 12


@dataclass(frozen=True)
class Version:
    """An uploaded pipeline.

    Attributes:
      new: whether this upload made it.
    """

    pipeline_id: str
    version_id: str
    name: str
    new: bool

    @property
    def reference(self) -> dict[str, str]:
        return {"pipeline_id": self.pipeline_id, "pipeline_version_id": self.version_id}


@dataclass(frozen=True)
class Schedule:
    """What a recurring run is to be.

    Attributes:
      name: a schedule of this name is replaced when it differs.
      trigger: as the API takes it.
      parameters: of each run, where they are not to be the defaults.
      catchup: whether runs that were missed are made up for.
      at_once: how many may run at the same time.
    """

    name: str
    trigger: Mapping[str, Any]
    parameters: Mapping[str, str]
    catchup: bool = False
    at_once: int = 1


def _named(name: str) -> str:
    """The API's filter for a display name; operation 1 is EQUALS."""
    predicate = {"operation": 1, "key": "display_name", "stringValue": name}
    return json.dumps({"predicates": [predicate]})


class Cluster:
    """A cluster on which one pipeline runs.

    Args:
      client: the connection.
      pipeline: the pipeline's name.
    """

    def __init__(self, client: Client, pipeline: str) -> None:
        self._client, self._pipeline = client, pipeline

    def upload(self, text: str) -> Version:
        """Makes the pipeline, or a version of it that is named by its content, unless it is there."""
        name = hashlib.sha256(text.encode()).hexdigest()[:_VERSION_LENGTH]
        found = self._find("/pipelines", "pipelines", self._pipeline)
        if found is None:
            # The server names the version in it after the pipeline; the one named by content comes beside it.
            query = {"name": self._pipeline, "display_name": self._pipeline, **self._client.scope()}
            found = self._client.upload("/pipelines/upload", text, query)
        pipeline_id = found["pipeline_id"]
        versions = f"/pipelines/{pipeline_id}/versions"
        for each in self._client.all(versions, "pipeline_versions"):
            if each.get("display_name") == name:
                return Version(pipeline_id, each["pipeline_version_id"], name, new=False)
        made = self._client.upload(
            "/pipelines/upload_version", text, {"name": name, "pipelineid": pipeline_id}
        )
        return Version(pipeline_id, made["pipeline_version_id"], name, new=True)

    def start(self, version: Version, name: str, parameters: Mapping[str, str], root: str | None) -> str:
        """Starts a run; its id."""
        body = {
            "display_name": name,
            "experiment_id": self._experiment(),
            "pipeline_version_reference": version.reference,
            "runtime_config": _runtime(parameters, root),
        }
        return self._client.call("POST", "/runs", body)["run_id"]

    def follow(
        self, run_id: str, changed: Callable[[str, str], None], *, seconds: float = 5.0
    ) -> dict[str, Any]:
        """Waits for a run's end.

        Args:
          run_id: the run.
          changed: called with a task and its new state.
          seconds: between two looks.

        Returns:
          The run, with `state` and, where it has one, `error`.
        """
        seen: dict[str, str] = {}
        while True:
            run = self.run(run_id)
            for task in logs.tasks_of(run):
                if task.state and seen.get(task.name) != task.state:
                    seen[task.name] = task.state
                    changed(task.name, task.state)
            if run.get("state") in _ENDED:
                return run
            time.sleep(seconds)

    def run(self, run_id: str) -> dict[str, Any]:
        """A run, with its `state` and its `run_details`."""
        return self._client.call("GET", f"/runs/{run_id}")

    def log(self, run: Mapping[str, Any], task: logs.TaskState) -> str:
        """What a task of a run has printed."""
        return logs.read(self._client, run, task)

    def schedule(self, wanted: Schedule, version: Version, root: str | None) -> tuple[str, list[str]]:
        """Makes a schedule as it is wanted; one that is so already stays as it is.

        The API cannot change a schedule. The new one is made before the old ones are disabled, so that no
        run is missed when something goes wrong between.

        Returns:
          What was done, and the ids of those that were disabled.
        """
        experiment = self._experiment()
        body = {
            "display_name": wanted.name,
            "experiment_id": experiment,
            "mode": "ENABLE",
            "max_concurrency": str(wanted.at_once),
            "no_catchup": not wanted.catchup,
            "trigger": dict(wanted.trigger),
            "pipeline_version_reference": version.reference,
            "runtime_config": _runtime(wanted.parameters, root),
        }
        enabled = [each for each in self.schedules() if each.get("display_name") == wanted.name]
        enabled = [each for each in enabled if each.get("status") != "DISABLED"]
        same = next((each for each in enabled if _same(each, body)), None)
        if same is None:
            made = self._client.call("POST", "/recurringruns", body)["recurring_run_id"]
        others = [each["recurring_run_id"] for each in enabled if each is not same]
        for each in others:
            self._client.call("POST", f"/recurringruns/{each}:disable")
        if same is not None:
            return f"unchanged: {same['recurring_run_id']}", others
        return f"made: {made}", others

    def schedules(self) -> list[dict[str, Any]]:
        """The schedules of the pipeline."""
        experiment = self._find("/experiments", "experiments", self._pipeline)
        if experiment is None:
            return []
        query = {"experiment_id": experiment["experiment_id"], **self._client.scope()}
        return list(self._client.all("/recurringruns", "recurringRuns", query))

    def switch(self, name: str, to: str) -> list[str]:
        """Enables the latest schedule of a name, disables all of them, or deletes all; the ids.

        Args:
          name: of the schedule.
          to: enable, disable or delete.

        Raises:
          UserError: there is none.
        """
        found = [each for each in self.schedules() if each.get("display_name") == name]
        if not found:
            known = sorted({each.get("display_name", "") for each in self.schedules()})
            raise UserError(
                f"there is no schedule {name!r}",
                fix=f"name one of: {', '.join(known)}"
                if known
                else "make one with `headrace kubeflow schedule`",
            )
        if to == "enable":
            found = sorted(found, key=lambda each: each.get("created_at", ""))[-1:]
        for each in found:
            place = f"/recurringruns/{each['recurring_run_id']}"
            if to == "delete":
                self._client.call("DELETE", place)
            else:
                self._client.call("POST", f"{place}:{to}")
        return [each["recurring_run_id"] for each in found]

    def _experiment(self) -> str:
        """The experiment of the pipeline's name, which is made when it is not there."""
        found = self._find("/experiments", "experiments", self._pipeline)
        if found is None:
            body = {"display_name": self._pipeline, **self._client.scope()}
            found = self._client.call("POST", "/experiments", body)
        return found["experiment_id"]

    def _find(self, path: str, key: str, name: str) -> dict[str, Any] | None:
        query = {**self._client.scope(), "filter": _named(name)}
        found: Iterator[dict[str, Any]] = self._client.all(path, key, query)
        return next((each for each in found if each.get("display_name") == name), None)


def _runtime(parameters: Mapping[str, str], root: str | None) -> dict[str, Any]:
    return {"parameters": dict(parameters), **({"pipeline_root": root} if root else {})}


def _same(there: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether a schedule is as it is wanted; the server leaves out what is empty or false."""
    for key in ("trigger", "pipeline_version_reference", "runtime_config"):
        if _filled(there.get(key)) != _filled(wanted[key]):
            return False
    concurrency = str(there.get("max_concurrency", ""))
    return concurrency == wanted["max_concurrency"] and bool(there.get("no_catchup")) == wanted["no_catchup"]


def _filled(value: Any) -> Any:
    """A value without what is empty in it, numbers as text, as the server may give them."""
    if isinstance(value, Mapping):
        return {key: filled for key, each in value.items() if (filled := _filled(each)) not in ({}, "")}
    return "" if value in (None, False) else str(value)
