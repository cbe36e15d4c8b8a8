"""The parameters of a run: what the spec has defaults for, and what is given."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

from components.errors import UserError


def parse(given: Iterable[str]) -> dict[str, str]:
    """Parameters as they stand on the command line: NAME=VALUE.

    Raises:
      UserError: one is not.
    """
    found = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals:
            raise UserError(f"expected NAME=VALUE, received {text!r}", where="--param")
        found[name] = value
    return found


def complete(spec: Mapping[str, Any], given: Mapping[str, str]) -> dict[str, Any]:
    """Every parameter of the pipeline with its value.

    Raises:
      UserError: one is given that the pipeline has not.
    """
    known = spec["root"].get("inputDefinitions", {}).get("parameters", {})
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            raise UserError(
                f"the pipeline has no parameter {name!r}" + (f", did you mean {near[0]!r}?" if near else ""),
                where="--param",
                fix=f"name one of: {', '.join(known)}; what the config says is changed with --set",
            )
    return {name: given.get(name, each["defaultValue"]) for name, each in known.items()}
