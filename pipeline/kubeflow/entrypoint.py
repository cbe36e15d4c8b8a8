"""Runs one task in its container: python -m pipeline.kubeflow.entrypoint --declared JSON --input '{{$}}'.

TFX's own entrypoint cannot be called by the open-source backend. It takes artifact types from the executor
input, where the driver leaves them empty; it meets outputs that nobody declared (`executor-logs`) and gives
up; and it reads URIs through Beam, which knows neither minio:// nor s3://. This one takes types from its
own arguments, ignores what is not declared, and works on the files that the launcher has put in place.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from components.errors import UserError
from pipeline.exit_codes import DONE, FAILED, USER_ERROR
from pipeline.kubeflow.container import Declared
from pipeline.kubeflow.mounts import to_path


def main(arguments: list[str] | None = None) -> int:
    """Runs the task; the exit code says how it ended, and the log why."""
    # TensorFlow reads this when it is imported.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    parser = argparse.ArgumentParser(description="Runs one task of a pipeline in its container.")
    parser.add_argument("--declared", required=True, help="the task, as JSON")
    parser.add_argument("--input", required=True, help="KFP's executor input, as JSON")
    given = parser.parse_args(arguments)
    declared, request = Declared.parse(given.declared), json.loads(given.input)
    try:
        run(declared, request)
    except UserError as error:
        for name, content in error.files.items():
            if name.endswith((".txt", ".md", ".json")):
                print(f"--- {name}\n{content}", file=sys.stderr)
        print(f"error: {declared.step}: {error}", file=sys.stderr)
        return USER_ERROR
    except Exception:
        logging.getLogger(__name__).exception("%s failed", declared.step)
        return FAILED
    return DONE


def run(declared: Declared, request: dict[str, Any]) -> None:
    """Runs a task and writes KFP's executor output.

    Args:
      declared: the task.
      request: KFP's ExecutorInput.

    Raises:
      UserError: the user's config, data or code is at fault.
    """
    outputs = request.get("outputs", {})
    answer = Path(outputs["outputFile"])
    _clear(declared, outputs, answer)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        if declared.executor:
            from pipeline.kubeflow.execution import execute

            result = execute(declared, request, Path(scratch))
        else:
            from pipeline.kubeflow.tasks import TASKS

            result = TASKS[declared.task](declared, request)
    answer.parent.mkdir(parents=True, exist_ok=True)
    partial = answer.with_name(f"{answer.name}.partial")
    partial.write_text(json.dumps(result, sort_keys=True))
    partial.rename(answer)


def _clear(declared: Declared, outputs: dict[str, Any], answer: Path) -> None:
    """Removes what an earlier try in the same pod has left: it would be taken for this one's."""
    answer.unlink(missing_ok=True)
    for key in declared.outputs:
        for artifact in outputs.get("artifacts", {}).get(key, {}).get("artifacts", []):
            shutil.rmtree(to_path(artifact["uri"]), ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
