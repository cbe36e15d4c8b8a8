"""What a run takes in beside the config: contents, by their hash or as text, and archives."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from components.errors import UserError
from components.example_gen import sources
from pipeline.code import UserCode, keep_user_code
from pipeline.config import PipelineConfig
from pipeline.reviewed_schema import reviewed_text


@dataclass(frozen=True)
class RunInputs:
    """What the graph is built from beside the config.

    Attributes:
      fingerprint: of the contents of the data source.
      user_code: step's folder to the archive of the user's code that it runs.
      reviewed_schema: its text; empty: there is none.
      serving_log: fingerprint of the logged requests; empty: there are none.
    """

    fingerprint: str
    user_code: Mapping[str, UserCode]
    reviewed_schema: str = ""
    serving_log: str = ""


def gather(config: PipelineConfig) -> RunInputs:
    """Looks at the data, the user's code and the reviewed schema, and keeps what steps will need.

    Raises:
      UserError: one of them is not there, or cannot be read.
    """
    return RunInputs(
        fingerprint=sources.fingerprint(config.located_data),
        user_code={
            "trainer": keep_user_code(config.project_dir, config.model.build, config.home),
            "transform": keep_user_code(config.project_dir, config.transform.function, config.home),
        },
        reviewed_schema=reviewed_text(config),
        serving_log=_log_fingerprint(config),
    )


def _log_fingerprint(config: PipelineConfig) -> str:
    path = config.located_validation.serving_log
    if path is None:
        return ""
    digest = hashlib.sha256()
    try:
        with open(path, "rb") as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
    except OSError as error:
        raise UserError(
            f"{path} cannot be read: {error.strerror}",
            where="validate.serving_log",
            fix="name a TFRecord file of logged requests, or take the key out",
        ) from None
    return digest.hexdigest()
