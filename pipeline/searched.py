"""Check the keys that a search is to change, and the values that it may try."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pydantic import ValidationError

from components.tuner.space import SECTIONS, put
from pipeline.config_problems import near
from pipeline.yaml_lines import KeyPath

if TYPE_CHECKING:
    from pipeline.config import PipelineConfig
    from pipeline.config_schema import Schema


def check_space(config: PipelineConfig, schema: Schema) -> Iterator[tuple[KeyPath, str]]:
    """What is wrong with the search: every key must be one that training has, every value one that it takes.

    Args:
      schema: of pipeline.yaml, which knows every option by its full name.
    """
    if not config.tune.space:
        return
    known = [option for option in schema.options() if option.partition(".")[0] in SECTIONS]
    sections = {name: getattr(config, name) for name in SECTIONS}
    plain = {name: section.model_dump(mode="json") for name, section in sections.items()}
    for key, allowed in config.tune.space.items():
        path: KeyPath = ("tune", key)
        if key.partition(".")[0] not in SECTIONS:
            yield path, f"a trial changes keys of {' and '.join(SECTIONS)} only"
        elif key not in known:
            yield path, f"no such key{near(key, known)}"
        else:
            name = key.partition(".")[0]
            for value in allowed.samples:
                try:
                    type(sections[name]).model_validate(put(plain, {key: value})[name])
                except ValidationError as error:
                    yield path, f"{value!r} cannot be its value: {error.errors(include_url=False)[0]['msg']}"
                    break
