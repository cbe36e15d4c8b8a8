"""One node of the graph through TFX's launcher, with the executor in a process of its own."""

from __future__ import annotations

import functools
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from google.protobuf import json_format
from tfx.orchestration import metadata
from tfx.orchestration.portable import base_executor_operator, launcher
from tfx.proto.orchestration import executable_spec_pb2, execution_result_pb2, pipeline_pb2

from components.errors import UserError
from components.pusher.remote import exists
from pipeline.local import reasons, step
from pipeline.local.workers import Workers

State = Literal["RUN", "CACHED", "FAILED", "SKIPPED"]


@dataclass(frozen=True)
class Outcome:
    """What became of a step.

    Attributes:
      state: RUN, CACHED, FAILED, or SKIPPED because of one that failed or of --to.
      reason: why it ran, or why not.
      seconds: how long it took.
      error: what failed.
      user_error: the error as the user's mistake, when it is one.
      log: the step's log, when it ran.
      report: the file to read about the error, when the step left one.
    """

    name: str
    state: State
    reason: str
    seconds: float = 0.0
    error: str = ""
    user_error: UserError | None = None
    log: Path | None = None
    report: Path | None = None


@dataclass
class Session:
    """What all launches of a run share.

    Attributes:
      handle: the ML Metadata connection; whoever uses it holds `lock`.
      folder: where invocations, results and logs of this run lie.
      forced: step to the reason why it must run even though nothing changed.
      started: called with a step's name, the reason and its log when it begins to run.
    """

    handle: metadata.Metadata
    lock: threading.RLock
    workers: Workers
    folder: Path
    forced: dict[str, str]
    started: Callable[[str, str, Path], None]


class _StepOperator(base_executor_operator.BaseExecutorOperator):
    """Runs a Python executor, Beam or not, as a step process."""

    SUPPORTED_EXECUTOR_SPEC_TYPE = [
        executable_spec_pb2.PythonClassExecutableSpec,
        executable_spec_pb2.BeamExecutableSpec,
    ]
    SUPPORTED_PLATFORM_CONFIG_TYPE: list[Any] = []

    def __init__(
        self, executor_spec: Any, platform_config: Any = None, *, session: Session, ended: dict[str, Any]
    ) -> None:
        super().__init__(executor_spec, platform_config)
        self._session, self._ended = session, ended

    def run_executor(self, execution_info: Any) -> execution_result_pb2.ExecutorOutput:
        session, name = self._session, execution_info.pipeline_node.node_info.id
        with session.lock:
            reason = session.forced.get(name) or reasons.why(
                session.handle.store,
                f"{execution_info.pipeline_info.id}.{name}",
                execution_info.execution_id,
                execution_info.exec_properties,
                execution_info.input_dict,
            )
        self._ended["reason"] = reason
        session.started(name, reason, session.folder / f"{name}.log")
        result = self._run(name, execution_info)
        self._ended["result"] = result
        if result.error:
            failed = execution_result_pb2.ExecutorOutput()
            failed.execution_result.code = 1
            failed.execution_result.result_message = result.error
            return failed
        return execution_result_pb2.ExecutorOutput.FromString(result.output)

    def _run(self, name: str, execution_info: Any) -> step.Result:
        folder = self._session.folder
        invocation, result, log = (folder / f"{name}.{kind}" for kind in ("json", "result", "log"))
        spec, beam_args = self._executor_spec, None
        if isinstance(spec, executable_spec_pb2.BeamExecutableSpec):
            beam_args = [arg.value.string_value for arg in spec.beam_pipeline_args_placeholders]
            spec = spec.python_executor_spec
        proto = execution_info.to_proto()
        # The graph around the step is none of its business.
        proto.ClearField("pipeline_node")
        step.write_invocation(invocation, spec.class_path, beam_args, json_format.MessageToDict(proto))
        code = self._session.workers.run(invocation, result, log)
        if result.exists():
            ended = step.Result.read(result)
            result.unlink()
            self._ended["report"] = step.keep_files(ended, folder, f"{name}.")
            return ended
        return step.Result(error=_sudden_end(code))


def _sudden_end(code: int) -> str:
    if code == -signal.SIGKILL:
        return "its process was killed (signal 9), most often because memory ran out"
    if code < 0:
        return f"its process was ended by signal {-code} ({signal.Signals(-code).name})"
    return f"its process ended with code {code} and left no result"


_cached_outputs = launcher.cache_utils.get_cached_outputs


def _cached_and_still_there(*args: Any, **kwargs: Any) -> Any:
    """TFX asks whether cached artifacts exist; a pushed version that they point to must exist too."""
    outputs = _cached_outputs(*args, **kwargs)
    for artifact in (artifact for artifacts in (outputs or {}).values() for artifact in artifacts):
        pushed = artifact.get_string_custom_property("pushed_destination")
        if pushed and not exists(pushed):
            return None
    return outputs


launcher.cache_utils.get_cached_outputs = _cached_and_still_there


class _Launcher(launcher.Launcher):
    """TFX's launcher, taking turns with others at ML Metadata: SQLite lets one write at a time."""

    def __init__(self, *args: Any, lock: threading.RLock, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._turn = lock

    def _prepare_execution(self) -> Any:
        with self._turn:
            return super()._prepare_execution()

    def _publish_successful_execution(self, *args: Any, **kwargs: Any) -> None:
        with self._turn:
            super()._publish_successful_execution(*args, **kwargs)

    def _publish_failed_execution(self, *args: Any, **kwargs: Any) -> None:
        with self._turn:
            super()._publish_failed_execution(*args, **kwargs)


def launch(
    node: pipeline_pb2.PipelineNode, executor_spec: Any, pipeline: pipeline_pb2.Pipeline, session: Session
) -> Outcome:
    """Takes one node from its inputs to published outputs, or finds them in the cache."""
    name, began = node.node_info.id, time.monotonic()
    ended: dict[str, Any] = {}
    operator = functools.partial(_StepOperator, session=session, ended=ended)
    specs: list[Any] = [executable_spec_pb2.PythonClassExecutableSpec, executable_spec_pb2.BeamExecutableSpec]
    launched = _Launcher(
        pipeline_node=node,
        mlmd_connection=session.handle,
        pipeline_info=pipeline.pipeline_info,
        pipeline_runtime_spec=pipeline.runtime_spec,
        executor_spec=executor_spec,
        custom_executor_operators=dict.fromkeys(specs, operator),
        lock=session.lock,
    )
    error, execution = "", None
    try:
        if executor_spec is None:  # a resolver, which is nothing but ML Metadata
            with session.lock:
                execution = launched.launch()
        else:
            execution = launched.launch()
    except Exception as problem:  # the launcher raises what it likes; what failed is in `ended`
        error = f"{type(problem).__name__}: {problem}"
    seconds = time.monotonic() - began
    result: step.Result | None = ended.get("result")
    log = session.folder / f"{name}.log"
    if result and result.error:
        return Outcome(
            name,
            "FAILED",
            ended["reason"],
            seconds,
            error=result.error,
            user_error=result.user_error,
            log=log,
            report=ended.get("report"),
        )
    if error:
        return Outcome(name, "FAILED", ended.get("reason", ""), seconds, error, None, log)
    if result:
        return Outcome(name, "RUN", ended["reason"], seconds, log=log)
    if executor_spec is not None and not (execution and execution.execution_id):
        return Outcome(name, "FAILED", "", seconds, "its inputs could not be found in ML Metadata")
    return Outcome(name, "CACHED", "nothing changed", seconds)
