"""What stands in a command for the task's inputs and outputs, filled in as the launcher does it.

See getPlaceholders in backend/src/v2/component/launcher_v2.go of Kubeflow Pipelines.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pipeline.kubeflow.container import EXECUTOR_INPUT
from pipeline.kubeflow.mounts import to_path


def fill(command: Sequence[str], request: Mapping[str, Any]) -> list[str]:
    """The command with everything in place.

    Args:
      command: as the spec has it.
      request: KFP's ExecutorInput.

    >>> fill(["echo", "{{$.inputs.parameters['rate']}}"], {"inputs": {"parameterValues": {"rate": 3}}})
    ['echo', '3']
    """
    found = list(command)
    for placeholder, value in _values(request):
        found = [part.replace(placeholder, value) for part in found]
    return found


def _values(request: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    inputs, outputs = request.get("inputs", {}), request.get("outputs", {})
    for side, slots in (("inputs", inputs), ("outputs", outputs)):
        for key, value in slots.get("artifacts", {}).items():
            for artifact in value["artifacts"][:1]:
                yield f"{{{{$.{side}.artifacts['{key}'].uri}}}}", artifact["uri"]
                yield f"{{{{$.{side}.artifacts['{key}'].path}}}}", to_path(artifact["uri"])
    for key, value in inputs.get("parameterValues", {}).items():
        yield f"{{{{$.inputs.parameters['{key}']}}}}", as_text(value)
    for key, value in outputs.get("parameters", {}).items():
        yield f"{{{{$.outputs.parameters['{key}'].output_file}}}}", value["outputFile"]
    # Last, so that what a parameter holds is not taken for a placeholder.
    yield EXECUTOR_INPUT, json.dumps(request)


def as_text(value: Any) -> str:
    """A parameter as Go writes it: 3 for 3.0, true, JSON without blanks."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(int(value)) if float(value).is_integer() else repr(float(value))
    if isinstance(value, list | dict):
        return json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    raise ValueError(f"a parameter cannot be {value!r}")
