"""Why a step ran: what differs from the last time that it did."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ml_metadata.proto import metadata_store_pb2

from pipeline.sections import differences

_SHOWN = 3
_DONE = (metadata_store_pb2.Execution.COMPLETE, metadata_store_pb2.Execution.CACHED)


def why(
    store: Any,
    context_name: str,
    execution_id: int,
    parameters: Mapping[str, Any],
    inputs: Mapping[str, Sequence[Any]],
) -> str:
    """The reason in a few words.

    Args:
      store: the MetadataStore.
      context_name: name of the node's context, PIPELINE.NODE.
      execution_id: of the execution that is about to run.
      parameters: its execution properties.
      inputs: its input artifacts by key.
    """
    context = store.get_context_by_type_and_name("node", context_name)
    past = store.get_executions_by_context(context.id) if context else []
    done = [e for e in past if e.id < execution_id and e.last_known_state in _DONE]
    if not done:
        failed = any(e.id < execution_id for e in past)
        return "it did not finish before" if failed else "first run"
    last = max(done, key=lambda e: e.id)
    changed = _parameters_changed(last, parameters) + _inputs_changed(store, last, inputs)
    if not changed:
        return "its earlier output is gone"
    more = f" and {len(changed) - _SHOWN} more" if len(changed) > _SHOWN else ""
    return ", ".join(changed[:_SHOWN]) + more


def _parameters_changed(last: metadata_store_pb2.Execution, parameters: Mapping[str, Any]) -> list[str]:
    changed: list[str] = []
    for name, value in sorted(parameters.items()):
        stored = last.custom_properties[name].string_value if name in last.custom_properties else ""
        if stored == value:
            continue
        if name == "fingerprint":
            changed.append("the data changed")
        elif name == "code":
            changed.extend(_code_changed(stored, value))
        elif name in ("config", "options"):
            changed.extend(differences(stored or "{}", value))
        elif name == "reviewed":
            verb = "changed" if stored and value else "is new" if value else "is gone"
            changed.append(f"the reviewed schema {verb}")
        elif name == "log_fingerprint":
            changed.append("the serving log changed")
        elif name != "user_code":  # its files are in `code`, by name
            changed.append(f"{name} {stored or 'unset'} -> {value or 'unset'}")
    return changed


def _code_changed(before: str, after: str) -> list[str]:
    old, new = json.loads(before or "{}"), json.loads(after)
    changed = []
    for name in sorted(old.keys() | new.keys()):
        if old.get(name) == new.get(name):
            continue
        if name.endswith(".py"):
            verb = "added" if name not in old else "removed" if name not in new else "changed"
            changed.append(f"{name} {verb}")
        else:
            changed.append(f"{name} {old.get(name)} -> {new.get(name)}")
    return changed


def _inputs_changed(
    store: Any, last: metadata_store_pb2.Execution, inputs: Mapping[str, Sequence[Any]]
) -> list[str]:
    before: dict[str, set[int]] = {}
    for event in store.get_events_by_execution_ids([last.id]):
        if event.type == metadata_store_pb2.Event.INPUT:
            before.setdefault(event.path.steps[0].key, set()).add(event.artifact_id)
    now = {key: {artifact.id for artifact in artifacts} for key, artifacts in inputs.items()}
    return [
        f"new {key.replace('_', ' ')}"
        for key in sorted(before.keys() | now.keys())
        if before.get(key, set()) != now.get(key, set())
    ]
