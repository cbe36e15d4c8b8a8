"""Run InfraValidator: serve the export from a fresh process and hold its answers against the model's own."""

from __future__ import annotations

import contextlib
from typing import Any

from absl import logging
from tfx.dsl.components.base import base_executor
from tfx.dsl.io import fileio
from tfx.types import artifact_utils
from tfx.utils import path_utils

from components import manifest
from components.base import say
from components.infra_validator.config import InfraValidateConfig
from components.infra_validator.embedded import EmbeddedServer
from components.infra_validator.exported import Exported
from components.infra_validator.failed import Failed
from components.infra_validator.rows import Rows, read_rows
from components.infra_validator.trial import Figures, expectations, try_out
from components.infra_validator.warmup import write_warmup_model
from components.local_folder import local_folder
from components.records import read_serialized, split_files

_SPLIT = "test"
# What a server needs before it loads: its process, and the libraries.
_GRACE_SECONDS = 60


class Executor(base_executor.BaseExecutor):
    """Writes INFRA_BLESSED, and the model with a warm-up file, or INFRA_NOT_BLESSED, as TFX's does.

    A trial that runs out of time says nothing of the model: the step fails, and no cache keeps that.
    """

    def Do(self, input_dict: dict, output_dict: dict, exec_properties: dict) -> None:
        config = InfraValidateConfig.model_validate_json(exec_properties["config"])
        examples = artifact_utils.get_single_instance(input_dict["examples"])
        model = artifact_utils.get_single_instance(input_dict["model"])
        blessing = artifact_utils.get_single_instance(output_dict["blessing"])
        serialized = _first_rows(split_files(examples, _SPLIT), config.rows)
        folder = path_utils.serving_model_path(model.uri)
        fileio.makedirs(blessing.uri)
        try:
            exported, rows, figures = _try_out(folder, serialized, config)
            if config.warmup_requests:
                write_warmup_model(blessing, folder, exported, rows, config.warmup_requests)
            sentence = _passed(len(rows.serialized), figures)
            name = "INFRA_BLESSED"
        except Failed as problem:
            sentence, name = f"failed: {problem}", "INFRA_NOT_BLESSED"
        blessing.set_int_custom_property("blessed", int(name == "INFRA_BLESSED"))
        with fileio.open(f"{blessing.uri}/{name}", "w") as stream:
            stream.write("")
        logging.info("%s", sentence)
        say(blessing, sentence)


def _try_out(
    folder: str, serialized: list[bytes], config: InfraValidateConfig
) -> tuple[Exported, Rows, Figures]:
    if not serialized:
        raise Failed(f"there is no row in split {_SPLIT} to try it with")
    with local_folder(folder) as here, contextlib.ExitStack() as stack:
        server: Any
        if config.backend == "embedded":
            # While it starts, the model is loaded here, too.
            server = EmbeddedServer(here, _name(here))
        else:
            from components.infra_validator.containers import start

            server = start(config, here, _name(here))
        stack.callback(server.stop)
        try:
            exported = Exported(here)
        except Failed as problem:
            server.wait(config.max_load_seconds + _GRACE_SECONDS)  # says more, if it fails as well
            raise problem
        rows = read_rows(serialized, exported)
        expected = expectations(exported, rows)
        server.wait(config.max_load_seconds + _GRACE_SECONDS)
        return exported, rows, try_out(server, exported, rows, expected, config)


def _passed(count: int, figures: Figures) -> str:
    memory = f", {figures.memory_mb:,.0f} MiB" if figures.memory_mb else ""
    return (
        f"passed: {count} rows by REST JSON, REST tf.Example and gRPC answered as by the model itself; "
        f"loaded in {figures.load_seconds:.1f} s, p50 {figures.p50_ms:.1f} ms, p99 {figures.p99_ms:.1f} ms"
        f"{memory}"
    )


def _name(folder: str) -> str:
    """The model's name, as the export says it."""
    try:
        return str(manifest.read(folder)["name"])
    except (OSError, ValueError, KeyError):
        return "model"


def _first_rows(files: list[str], most: int) -> list[bytes]:
    """Serialized examples from the first files that have any."""
    rows: list[bytes] = []
    for file in files:
        batch = next(read_serialized(file, most - len(rows)), None)
        rows.extend(batch.tolist() if batch is not None else [])
        if len(rows) == most:
            break
    return rows
