"""What the spec and the container agree on: the entrypoint's flags, and what is declared with them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

MODULE = "pipeline.kubeflow.entrypoint"
# The launcher puts the task's inputs and outputs here, as JSON.
EXECUTOR_INPUT = "{{$}}"
# User code stands in the spec itself, so that nothing has to be uploaded beside it.
INLINE = "data:application/zip;base64,"


@dataclass(frozen=True)
class Declared:
    """A task as its container must know it, whatever the backend says or leaves out.

    Attributes:
      step: its name.
      executor: path of a TFX executor's class; empty: `task` says what it does.
      task: a function of pipeline.kubeflow.tasks.
      inputs: key to the artifact type's name.
      optional: inputs that may be missing.
      outputs: key to the artifact type's name.
      beam: options of Beam; None: the executor does not use it.
      keep: where what the next run needs is kept; empty: nowhere.
    """

    step: str
    executor: str = ""
    task: str = ""
    inputs: Mapping[str, str] = field(default_factory=dict)
    optional: tuple[str, ...] = ()
    outputs: Mapping[str, str] = field(default_factory=dict)
    beam: tuple[str, ...] | None = None
    keep: str = ""

    def arguments(self) -> list[str]:
        """The container's arguments."""
        return ["--declared", json.dumps(asdict(self), sort_keys=True), "--input", EXECUTOR_INPUT]

    @classmethod
    def parse(cls, text: str) -> Declared:
        fields = json.loads(text)
        beam = fields.pop("beam")
        return cls(
            **{**fields, "optional": tuple(fields["optional"])}, beam=None if beam is None else tuple(beam)
        )
