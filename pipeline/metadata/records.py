"""What is read from ML Metadata: runs, their steps, and artifacts."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

RunState = Literal["done", "cached", "failed", "running", "abandoned"]
StepState = Literal["RUN", "CACHED", "FAILED", "RUNNING", "ABANDONED"]


@dataclass(frozen=True)
class ArtifactRecord:
    """A thing that a step made or used."""

    id: int
    type: str
    uri: str
    properties: dict[str, Any] = field(default_factory=dict)
    custom_properties: dict[str, Any] = field(default_factory=dict)

    @property
    def summary(self) -> str:
        """The sentence that the step said about it; "" when it said none."""
        return str(self.custom_properties.get("summary", ""))


@dataclass(frozen=True)
class StepRecord:
    """One step of one run.

    Attributes:
      name: the node's id in the pipeline.
      id: of its execution in ML Metadata.
      type: of its component, such as StatisticsGen.
      state: RUN, CACHED (took the outputs of an earlier run), FAILED, RUNNING, or ABANDONED: its process
        died before it could say how it went.
      started: in UTC.
      seconds: how long it took, or has been taking; None when nobody knows.
      properties: the parameters that it was run with.
      inputs, outputs: key to artifacts.
      error: why it failed, when that was recorded.
      system: part of the machinery, such as a resolver, rather than a step that someone asked for.
    """

    name: str
    id: int
    type: str
    state: StepState
    started: datetime
    seconds: float | None
    properties: dict[str, Any] = field(default_factory=dict)
    inputs: dict[str, list[ArtifactRecord]] = field(default_factory=dict)
    outputs: dict[str, list[ArtifactRecord]] = field(default_factory=dict)
    error: str = ""
    system: bool = False

    @property
    def summary(self) -> str:
        """The sentence that the step left on one of its outputs; "" when it left none."""
        said = (artifact.summary for artifacts in self.outputs.values() for artifact in artifacts)
        return next(filter(None, said), "")

    @property
    def reason(self) -> str:
        """The line of `error` that says what it was: the last one of a traceback, else the first."""
        lines = self.error.strip().splitlines() or [""]
        return lines[-1 if lines[0].startswith("Traceback") else 0]

    def as_dict(self) -> dict[str, Any]:
        """For JSON; the shape that `headrace show --json` documents."""
        fields = dataclasses.asdict(self)
        return {**fields, "started": self.started.isoformat(), "summary": self.summary}


@dataclass(frozen=True)
class Run:
    """One run of a pipeline.

    Attributes:
      id: unique in its store.
      pipeline: its name.
      state: done, cached (nothing had to be run), failed, running, or abandoned: its process died.
      started, ended: in UTC; ended is None while it runs, and the last sign of life when it was abandoned.
      counts: state to number of steps, without those of the machinery.
      outcome: what the Pusher decided, or else which step failed and why; "" when there is neither.
    """

    id: str
    pipeline: str
    state: RunState
    started: datetime
    ended: datetime | None
    counts: dict[str, int] = field(default_factory=dict)
    outcome: str = ""

    @property
    def seconds(self) -> float | None:
        """From start to end; None while it runs, and when nobody saw the end."""
        return (
            None
            if self.ended is None or self.state == "abandoned"
            else (self.ended - self.started).total_seconds()
        )

    def as_dict(self) -> dict[str, Any]:
        """For JSON; the shape that `headrace runs --json` documents."""
        return {
            "id": self.id,
            "pipeline": self.pipeline,
            "state": self.state,
            "started": self.started.isoformat(),
            "ended": None if self.ended is None else self.ended.isoformat(),
            "seconds": self.seconds,
            "counts": {state.lower(): count for state, count in self.counts.items()},
            "outcome": self.outcome,
        }
