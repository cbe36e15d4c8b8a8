"""One step by itself: an invocation file in, artifacts and a result file out.

An invocation holds the executor's name, its Beam options and TFX's ExecutionInvocation: artifact
URIs and parameters. Nothing else of the parent reaches the step, so the same file runs it again
by hand, from any folder, with an empty environment: `headrace step FILE`.
"""

from __future__ import annotations

import base64
import json
import logging
import os
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from components.errors import UserError


@dataclass(frozen=True)
class Result:
    """How a step ended.

    Attributes:
      output: TFX's ExecutorOutput, serialized; empty when the step failed.
      error: why it failed, in a line or a few; empty when it did not.
      user_error: the error as the user's mistake, when it is one.
    """

    output: bytes = b""
    error: str = ""
    user_error: UserError | None = None

    def write(self, path: Path) -> None:
        """Leaves the result for the parent, whole or not at all."""
        partial = path.with_suffix(".partial")
        partial.write_text(
            json.dumps(
                {
                    "output": base64.b64encode(self.output).decode(),
                    "error": self.error,
                    "user_error": self.user_error.to_json() if self.user_error else None,
                }
            )
        )
        partial.rename(path)

    @classmethod
    def read(cls, path: Path) -> Result:
        fields = json.loads(path.read_text())
        user_error = UserError.from_json(fields["user_error"]) if fields["user_error"] else None
        return cls(base64.b64decode(fields["output"]), fields["error"], user_error)


def keep_files(result: Result, folder: Path, prefix: str = "") -> Path | None:
    """Writes what the step wants kept of its error; the first of the files, if there is one."""
    files = result.user_error.files if result.user_error else {}
    for name, content in files.items():
        (folder / f"{prefix}{name}").write_text(content, encoding="utf-8")
    return next((folder / f"{prefix}{name}" for name in files), None)


def write_invocation(
    path: Path, executor: str, beam_args: list[str] | None, execution: dict[str, Any]
) -> None:
    """Writes what `run` reads; `beam_args` is None for an executor that does not use Beam."""
    path.write_text(
        json.dumps({"executor": executor, "beam_args": beam_args, "execution": execution}, indent=1)
    )


def run(invocation: Path, outputs: Path | None = None) -> tuple[Result, dict[str, str]]:
    """Runs the step of an invocation file in this process.

    Args:
      invocation: the file.
      outputs: put the outputs below this folder instead of where the invocation says.

    Returns:
      How it ended, and the URI of each output.
    """
    # TensorFlow reads this when it is imported.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    try:
        uris, output = _execute(invocation, outputs)
        return Result(output=output), uris
    except UserError as error:
        return Result(error=str(error), user_error=error), {}
    except Exception as error:
        logging.getLogger(__name__).error("the step failed\n%s", traceback.format_exc())
        return Result(error=f"{type(error).__name__}: {error}"), {}


def _execute(invocation: Path, outputs: Path | None) -> tuple[dict[str, str], bytes]:
    import absl.logging
    from google.protobuf import json_format
    from tfx.dsl.components.base import base_beam_executor, base_executor
    from tfx.orchestration.portable import data_types, outputs_utils, python_executor_operator
    from tfx.proto.orchestration import execution_invocation_pb2
    from tfx.types import standard_artifacts  # noqa: F401  artifacts are read back by these classes
    from tfx.utils import import_utils

    absl.logging.set_verbosity(absl.logging.INFO)
    request = json.loads(invocation.read_text())
    executor_class = import_utils.import_class_by_path(request["executor"])
    proto = json_format.ParseDict(request["execution"], execution_invocation_pb2.ExecutionInvocation())
    info = data_types.ExecutionInfo.from_proto(proto)
    if outputs:
        _redirect(info, outputs)
    outputs_utils.make_output_dirs(info.output_dict)
    os.makedirs(info.tmp_dir, exist_ok=True)
    context_class: Any = base_executor.BaseExecutor.Context
    options: dict[str, Any] = {}
    if request["beam_args"] is not None:
        context_class = base_beam_executor.BaseBeamExecutor.Context
        options = {"beam_pipeline_args": request["beam_args"]}
    context = context_class(
        tmp_dir=info.tmp_dir,
        unique_id=str(info.execution_id),
        executor_output_uri=info.execution_output_uri,
        stateful_working_dir=info.stateful_working_dir,
        **options,
    )
    output = python_executor_operator.run_with_executor(info, executor_class(context))
    uris = {key: artifact.uri for key, artifacts in info.output_dict.items() for artifact in artifacts}
    return uris, output.SerializeToString()


def _redirect(info: Any, outputs: Path) -> None:
    for key, artifacts in info.output_dict.items():
        for artifact in artifacts:
            artifact.uri = str(outputs / key)
    info.tmp_dir = str(outputs / ".tmp")
    info.execution_output_uri = str(outputs / ".executor_output.pb")
    info.stateful_working_dir = str(outputs / ".tmp" / "stateful" / "step")
