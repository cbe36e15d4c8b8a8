"""Run InfraValidator: load the export in a fresh process and call every signature with real rows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from absl import logging
from tfx.dsl.components.base import base_executor
from tfx.dsl.io import fileio
from tfx.types import artifact_utils
from tfx.utils import path_utils

from components.base import say
from components.infra_validator import trial
from components.infra_validator.config import InfraValidateConfig
from components.records import read_serialized, split_files

_SPLIT = "test"
# A trial that hangs must not hang the pipeline: loading may take its limit, calling as long again and more.
_GRACE_SECONDS = 60


class Executor(base_executor.BaseExecutor):
    """Writes INFRA_BLESSED or INFRA_NOT_BLESSED, as TFX's InfraValidator does."""

    def Do(self, input_dict: dict, output_dict: dict, exec_properties: dict) -> None:
        config = InfraValidateConfig.model_validate_json(exec_properties["config"])
        examples = artifact_utils.get_single_instance(input_dict["examples"])
        model = artifact_utils.get_single_instance(input_dict["model"])
        blessing = artifact_utils.get_single_instance(output_dict["blessing"])
        rows = _first_rows(split_files(examples, _SPLIT), config.rows)
        found = _try_out(path_utils.serving_model_path(model.uri), rows, config)
        blessed = not found.get("problem")
        blessing.set_int_custom_property("blessed", int(blessed))
        fileio.makedirs(blessing.uri)
        name = "INFRA_BLESSED" if blessed else "INFRA_NOT_BLESSED"
        with fileio.open(f"{blessing.uri}/{name}", "w") as stream:
            stream.write("")
        sentence = (
            f"passed: loaded in {found['load_seconds']:.1f} s, "
            f"{len(found['called'])} signatures answered {len(rows)} rows"
            if blessed
            else f"failed: {found['problem']}"
        )
        logging.info("%s", sentence)
        say(blessing, sentence)


def _first_rows(files: list[str], most: int) -> list[bytes]:
    """Serialized examples from the first files that have any."""
    rows: list[bytes] = []
    for file in files:
        batch = next(read_serialized(file, most - len(rows)), None)
        rows.extend(batch.tolist() if batch is not None else [])
        if len(rows) == most:
            break
    return rows


def _try_out(model: str, rows: list[bytes], config: InfraValidateConfig) -> dict:
    """What the trial process found; `problem` says what failed."""
    with tempfile.TemporaryDirectory() as scratch:
        request = Path(scratch) / "request.json"
        request.write_text(json.dumps({"model": model, "rows": [row.hex() for row in rows]}))
        answer = Path(scratch) / "answer.json"
        try:
            # -I: neither the current folder nor PYTHON variables decide what the trial imports.
            ended = subprocess.run(
                [sys.executable, "-I", "-m", trial.__name__, str(request), str(answer), str(os.getpid())],
                capture_output=True,
                text=True,
                timeout=config.max_load_seconds + _GRACE_SECONDS,
                cwd=scratch,
            )
        except subprocess.TimeoutExpired as expired:
            return {"problem": f"no answer within {expired.timeout:.0f} s"}
        logging.info("trial: %s", ended.stderr)
        if ended.returncode or not answer.exists():
            last = (ended.stderr.strip().splitlines() or ["no output"])[-1]
            return {"problem": f"the trial process ended with code {ended.returncode}: {last}"}
        found = json.loads(answer.read_text())
    if not found.get("problem") and found["load_seconds"] > config.max_load_seconds:
        found["problem"] = (
            f"loading took {found['load_seconds']:.1f} s, allowed {config.max_load_seconds:g} s"
        )
    return found
