"""Reads runs, steps and artifacts out of ML Metadata as TFX writes it on one machine.

TFX puts each execution into contexts of three types: `pipeline` (its name), `pipeline_run` (the run's id) and
`node` (PIPELINE.NODE). Events tie executions to artifacts, under the key of the input or output.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import ml_metadata
from google.protobuf import json_format
from ml_metadata import errors
from ml_metadata.proto import metadata_store_pb2

from components.errors import UserError
from pipeline.metadata.lock import live_run
from pipeline.metadata.records import ArtifactRecord, Run, RunState, StepRecord, StepState

DATABASE_NAME = "metadata.db"

pb: Any = metadata_store_pb2  # generated code, which says nothing of its types

_ERROR_KEY = "__execution_result__"  # where TFX puts the reason of a failure
_STATES: dict[int, StepState] = {
    pb.Execution.COMPLETE: "RUN",
    pb.Execution.CACHED: "CACHED",
    pb.Execution.FAILED: "FAILED",
    pb.Execution.CANCELED: "FAILED",
}
_INPUTS = (pb.Event.INPUT, pb.Event.DECLARED_INPUT, pb.Event.INTERNAL_INPUT)
_OUTPUTS = (pb.Event.OUTPUT, pb.Event.DECLARED_OUTPUT, pb.Event.INTERNAL_OUTPUT)


def open_store(home: Path) -> Store:
    """The store of the runs that left their metadata in `home`.

    Raises:
      UserError: nothing has been run there yet, or the database cannot be read.
    """
    database = home / DATABASE_NAME
    if not database.is_file():
        raise UserError(f"nothing has been run yet: there is no {database}", fix="start with `headrace run`")
    try:
        return Store(_connect(database, pb.SqliteMetadataSourceConfig.READONLY), home)
    except RuntimeError as error:
        # What a killed process left half written is rolled back by whoever opens the database for writing.
        if "readonly" not in str(error):
            raise _unreadable(database, error) from None
    try:
        return Store(_connect(database, pb.SqliteMetadataSourceConfig.READWRITE), home)
    except RuntimeError as error:
        raise _unreadable(database, error) from None


def _connect(database: Path, mode: int) -> Any:
    config = pb.ConnectionConfig()
    config.sqlite.filename_uri = str(database)
    config.sqlite.connection_mode = mode
    return ml_metadata.MetadataStore(config)


def _unreadable(database: Path, error: Exception) -> UserError:
    reason = str(error).removeprefix("Error when executing query: ").split(" query:")[0]
    return UserError(f"cannot be read as ML Metadata: {reason}", where=str(database))


class Store:
    """A view, for reading only, of the runs in one ML Metadata database.

    Args:
      mlmd: an open `ml_metadata.MetadataStore`.
      home: the folder whose run.lock says which run is alive.
    """

    def __init__(self, mlmd: Any, home: Path) -> None:
        self.home = home
        self._mlmd = mlmd

    def runs(self, limit: int | None = None) -> list[Run]:
        """The runs, newest first; at most `limit` of them."""
        live = live_run(self.home)
        return [self._run(context, live) for context in self._run_contexts()[:limit]]

    def find(self, prefix: str | None = None) -> Run:
        """The run whose id starts with `prefix`; the latest when there is none.

        Raises:
          UserError: no run is called that, or several are.
        """
        contexts = self._run_contexts()
        if not contexts:
            raise UserError(f"nothing has been run yet in {self.home}", fix="start with `headrace run`")
        wanted = prefix or contexts[0].name
        found = [context for context in contexts if context.name.startswith(wanted)]
        exact = [context for context in found if context.name == wanted]
        if len(found) != 1 and not exact:
            ids = [context.name for context in found or contexts]
            near = ids if found else difflib.get_close_matches(wanted, ids, n=3, cutoff=0.5) or ids
            many = f"{len(found)} runs start with" if found else "no run is called"
            raise UserError(f"{many} {wanted!r}", fix=f"there is {', '.join(near[:3])}")
        return self._run((exact or found)[0], live_run(self.home))

    def steps(self, run_id: str) -> list[StepRecord]:
        """The steps of a run in the order in which they started; of a step tried again, the last try.

        Raises:
          UserError: there is no such run.
        """
        context = self._mlmd.get_context_by_type_and_name("pipeline_run", run_id)
        if context is None:
            raise UserError(f"no run is called {run_id!r}")
        return self._steps(context, run_id == live_run(self.home))

    def _run_contexts(self) -> list[Any]:
        try:
            contexts = self._mlmd.get_contexts_by_type("pipeline_run")
        except errors.NotFoundError:
            return []
        return sorted(contexts, key=lambda each: (each.create_time_since_epoch, each.id), reverse=True)

    def _run(self, context: Any, live: str | None) -> Run:
        alive = context.name == live
        steps = self._steps(context, alive)
        executions = self._mlmd.get_executions_by_context(context.id)
        pipelines = self._contexts(executions[0].id, "pipeline") if executions else []
        stamps = [each.last_update_time_since_epoch for each in executions]
        counts: dict[str, int] = {}
        for step in steps:
            if not step.system:
                counts[step.state] = counts.get(step.state, 0) + 1
        return Run(
            id=context.name,
            pipeline=pipelines[0].name if pipelines else "",
            state=_run_state(steps, alive),
            started=_time(context.create_time_since_epoch),
            ended=None if alive else _time(max([context.create_time_since_epoch, *stamps])),
            counts=counts,
            outcome=_outcome(steps),
        )

    def _steps(self, context: Any, alive: bool) -> list[StepRecord]:
        executions = sorted(self._mlmd.get_executions_by_context(context.id), key=lambda each: each.id)
        if not executions:
            return []
        events = self._mlmd.get_events_by_execution_ids([each.id for each in executions])
        ids = sorted({event.artifact_id for event in events})
        artifacts = {each.id: _artifact(each) for each in self._mlmd.get_artifacts_by_id(ids)} if ids else {}
        steps: dict[str, StepRecord] = {}
        for execution in executions:
            own = [event for event in events if event.execution_id == execution.id]
            name = self._node_name(execution)
            steps.pop(name, None)
            steps[name] = _step(name, execution, own, artifacts, alive)
        return list(steps.values())

    def _node_name(self, execution: Any) -> str:
        contexts = self._mlmd.get_contexts_by_execution(execution.id)
        names = {each.type: each.name for each in contexts}
        node, pipeline = names.get("node", execution.type), names.get("pipeline", "")
        return node.removeprefix(f"{pipeline}.")

    def _contexts(self, execution_id: int, kind: str) -> list[Any]:
        return [each for each in self._mlmd.get_contexts_by_execution(execution_id) if each.type == kind]


def _run_state(steps: list[StepRecord], alive: bool) -> RunState:
    states = {step.state for step in steps}
    if alive:
        return "running"
    if "FAILED" in states:
        return "failed"
    if "ABANDONED" in states or not steps:
        return "abandoned"
    return "cached" if all(step.state == "CACHED" for step in steps if not step.system) else "done"


def _outcome(steps: list[StepRecord]) -> str:
    for step in steps:
        if step.state == "FAILED":
            return f"{step.name} failed" + (f": {step.reason}" if step.reason else "")
    return next((step.summary for step in reversed(steps) if step.type.endswith("Pusher")), "")


def _step(
    name: str, execution: Any, events: Iterable[Any], artifacts: dict[int, ArtifactRecord], alive: bool
) -> StepRecord:
    state = _STATES.get(execution.last_known_state, "RUNNING" if alive else "ABANDONED")
    started = _time(execution.create_time_since_epoch)
    ended = _time(execution.last_update_time_since_epoch)
    if state == "RUNNING":
        ended = datetime.now(timezone.utc)
    properties = {**_values(execution.properties), **_values(execution.custom_properties)}
    error = _error(properties.pop(_ERROR_KEY, ""))
    return StepRecord(
        name=name,
        id=execution.id,
        type=execution.type.rsplit(".", 1)[-1],
        state=state,
        started=started,
        seconds=None if state == "ABANDONED" else max(0.0, (ended - started).total_seconds()),
        properties=properties,
        inputs=_by_key(events, _INPUTS, artifacts),
        outputs=_by_key(events, _OUTPUTS, artifacts),
        error=error,
        system=execution.type.endswith(".Resolver"),
    )


def _by_key(
    events: Iterable[Any], kinds: tuple[int, ...], artifacts: dict[int, ArtifactRecord]
) -> dict[str, list[ArtifactRecord]]:
    found: dict[str, dict[int, ArtifactRecord]] = {}
    for event in events:
        if event.type in kinds and event.artifact_id in artifacts:
            key = next((part.key for part in event.path.steps if part.HasField("key")), "")
            index = next((part.index for part in event.path.steps if part.HasField("index")), 0)
            found.setdefault(key, {})[index] = artifacts[event.artifact_id]
    return {key: [by_index[index] for index in sorted(by_index)] for key, by_index in found.items()}


def _artifact(artifact: Any) -> ArtifactRecord:
    return ArtifactRecord(
        id=artifact.id,
        type=artifact.type,
        uri=artifact.uri,
        properties=_values(artifact.properties),
        custom_properties=_values(artifact.custom_properties),
    )


def _values(properties: Any) -> dict[str, Any]:
    return {key: _value(properties[key]) for key in sorted(properties)}


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind is None:
        return None
    if kind == "struct_value":  # TFX wraps lists and mappings, which it keeps as JSON
        plain = json_format.MessageToDict(value.struct_value)
        return plain.get("__value__", plain)
    if kind == "proto_value":
        return str(value.proto_value)
    return getattr(value, kind)


def _error(text: str) -> str:
    try:
        return str(json.loads(text).get("resultMessage", ""))
    except (ValueError, AttributeError):
        return text


def _time(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, timezone.utc)
