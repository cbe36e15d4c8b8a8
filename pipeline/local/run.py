"""A whole run: config to graph to outcomes, and what came of it."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from components.errors import UserError
from components.pusher.remote import RemoteVersions, is_remote
from pipeline.config import PipelineConfig
from pipeline.fetch_hint import check_fetched
from pipeline.inputs import RunInputs, gather
from pipeline.local.lock import run_lock
from pipeline.local.quiet import stderr_to
from pipeline.local.workers import Workers
from pipeline.metadata.records import StepRecord
from pipeline.steps import ALL_STEPS

if TYPE_CHECKING:
    from pipeline.local.launch import Outcome


_OTHER_HOME = "choose another folder with --home DIR or HEADRACE_HOME"


@dataclass(frozen=True)
class Choice:
    """Which steps run, and which of them even though nothing changed.

    Attributes:
      no_cache: run every step anew.
      start: run this step and all that follow it anew.
      end: stop after this step.
    """

    no_cache: bool = False
    start: str | None = None
    end: str | None = None


@dataclass(frozen=True)
class Report:
    """What a run came to.

    Attributes:
      outcomes: one for each step, in topological order.
      records: what ML Metadata says of the steps that ran or were cached.
    """

    run_id: str
    outcomes: list[Outcome]
    records: dict[str, StepRecord] = field(default_factory=dict)

    @property
    def failed(self) -> Outcome | None:
        """The step that failed first, if one did."""
        return next((outcome for outcome in self.outcomes if outcome.state == "FAILED"), None)

    def is_system(self, name: str) -> bool:
        """Whether a node is machinery, such as a resolver, rather than a step."""
        return name not in ALL_STEPS

    def artifact_property(self, step: str, output: str, name: str) -> Any:
        """A custom property of a step's output; None when there is none."""
        record = self.records.get(step)
        artifacts = record.outputs.get(output, []) if record else []
        return artifacts[0].custom_properties.get(name) if artifacts else None


Listener = Callable[[str, str, Path], None]


def new_run_id(home: Path) -> str:
    """The time in UTC, such as 20260131-174502; with a count behind it when that is taken."""
    stamp = datetime.now(timezone.utc).strftime("%Y%m%d-%H%M%S")
    taken = {path.name for path in (home / "logs").glob(f"{stamp}*")}
    return next(name for n in range(len(taken) + 1) if (name := f"{stamp}-{n}" if n else stamp) not in taken)


def _check_writable(folder: Path, where: str, fix: str) -> None:
    """Looks whether a folder can be written to, or made, without making it.

    Raises:
      UserError: when it cannot; `where` goes before the folder's name in it.
    """
    nearest = next(path for path in (folder, *folder.parents) if path.exists())
    if nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK):
        return
    reason = "not permitted" if nearest.is_dir() else f"{nearest} is a file"
    raise UserError(f"cannot write here: {reason}", where=f"{where}{folder}", fix=fix)


def prepare_home(home: Path) -> None:
    """Makes the folder that everything of a run goes to.

    Raises:
      UserError: when it cannot be made or written to.
    """
    try:
        (home / "logs").mkdir(parents=True, exist_ok=True)
        probe = home / ".writable"
        probe.write_text("")
        probe.unlink()
    except OSError as error:
        raise UserError(
            f"cannot write here: {error.strerror or error}",
            where=str(home),
            fix=_OTHER_HOME,
        ) from error


def run_project(
    config: PipelineConfig,
    choice: Choice,
    *,
    started: Listener,
    ended: Callable[[Outcome], None],
) -> Report:
    """Runs the pipeline on this machine.

    Args:
      config: the resolved config.
      choice: which steps, and which of them anew.
      started: called with a step's name, the reason and its log when it begins to run.
      ended: called with each step's outcome.

    Raises:
      UserError: for what is found before the first step: the data, the code or the home is at fault.
    """
    check_fetched(config)
    _check_writable(config.home, "", _OTHER_HOME)
    if choice.end in (None, "Pusher"):
        if is_remote(config.push_to):
            RemoteVersions(config.push_to)  # refuses what Beam, with the packages that are here, cannot reach
        else:
            _check_writable(config.push_dir, "push.to: ", "choose another folder")
    inputs = gather(config)
    prepare_home(config.home)
    run_id = new_run_id(config.home)
    with run_lock(config.home, run_id):
        folder = config.home / "logs" / run_id
        folder.mkdir(parents=True)
        workers = Workers(folder / "workers.log")
        # The libraries load there while they load here.
        workers.warm_up()
        try:
            outcomes = _run(config, choice, run_id, inputs, workers, started, ended)
        finally:
            workers.stop()
    return Report(run_id, outcomes, _records(config.home, run_id))


def _run(
    config: PipelineConfig,
    choice: Choice,
    run_id: str,
    inputs: RunInputs,
    workers: Workers,
    started: Listener,
    ended: Callable[[Outcome], None],
) -> list[Outcome]:
    folder = config.home / "logs" / run_id
    _log_to(folder / "scheduler.log")
    with stderr_to(folder / "scheduler.log"):
        from tfx.dsl.compiler import compiler, constants
        from tfx.orchestration import metadata
        from tfx.orchestration.portable import runtime_parameter_utils

        from pipeline.graph import build_pipeline
        from pipeline.local import scheduler
        from pipeline.local.launch import Session

    graph = build_pipeline(config, inputs, root=config.home / "artifacts")
    compiled = compiler.Compiler().compile(graph)
    runtime_parameter_utils.substitute_runtime_parameter(
        compiled, {constants.PIPELINE_RUN_ID_PARAMETER_NAME: run_id}
    )
    forced = _forced(choice, scheduler, compiled)
    for node in compiled.nodes:
        if node.pipeline_node.node_info.id in forced:
            node.pipeline_node.execution_options.caching_options.enable_cache = False
    chosen = scheduler.ancestors(compiled, choice.end) if choice.end else set(scheduler.upstream(compiled))
    database = metadata.sqlite_metadata_connection_config(str(config.home / "metadata.db"))
    with metadata.Metadata(database) as handle:
        session = Session(handle, threading.RLock(), workers, folder, forced, started)
        return scheduler.run(compiled, chosen, session, ended)


def _forced(choice: Choice, scheduler: Any, compiled: Any) -> dict[str, str]:
    if choice.no_cache:
        return dict.fromkeys(scheduler.upstream(compiled), "--no-cache")
    if choice.start:
        return dict.fromkeys(scheduler.downstream(compiled, choice.start), f"--from {choice.start}")
    return {}


def _records(home: Path, run_id: str) -> dict[str, StepRecord]:
    from pipeline.metadata.store import open_store

    return {record.name: record for record in open_store(home).steps(run_id)}


def _log_to(path: Path) -> None:
    """Sends what the libraries log in this process to a file; the terminal is for the steps."""
    from absl import logging as absl_logging

    handler = logging.FileHandler(path)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    absl_logging.set_verbosity(absl_logging.WARNING)
