"""Options of the configuration given on the command line: --set train.epochs=3."""

from __future__ import annotations

import re
from typing import Any

from components.errors import UserError
from pipeline.yaml_lines import Document, KeyPath, Place, Problem, path_text, read_value

# A part of a path: plain, or in double quotes when the name of a column has a dot or an equals sign.
_PART = re.compile(r'"([^"]+)"|([^."=]+)')


def apply(text: str, document: Document) -> None:
    """Puts one `a.b=value` into the document; the value is read as YAML and replaces what was there.

    What is wrong with it goes to the document's problems.
    """
    place = Place(f"--set {text}")
    try:
        path, raw = _split(text)
        holder = _holder(document, path, place)
        value = read_value(raw, place, path, document)
    except UserError as error:
        document.problems.append(Problem(place, (), f"{error.what}{'; ' if error.fix else ''}{error.fix}"))
        return
    holder[path[-1]] = value


def put(path: KeyPath, value: Any, option: str, document: Document) -> None:
    """Puts a value that a command line option of its own gives, such as --label."""
    document.forget(path)
    place = document.places[path] = Place(option)
    _holder(document, path, place)[path[-1]] = value


def _split(text: str) -> tuple[KeyPath, str]:
    path: list[str] = []
    end = 0
    while True:
        match = _PART.match(text, end)
        if not match:
            break
        path.append((match[1] or match[2]).strip())
        end = match.end()
        if text[end : end + 1] != ".":
            break
        end += 1
    if not path or text[end : end + 1] != "=":
        raise UserError("expected KEY=VALUE, such as train.epochs=3")
    return tuple(path), text[end + 1 :]


def _holder(document: Document, path: KeyPath, place: Place) -> Any:
    """The mapping that the last part of the path goes into; mappings on the way are made."""
    holder: dict[Any, Any] = document.data
    for depth, part in enumerate(path[:-1], start=1):
        inner = holder.get(part)
        if inner is None:
            inner = holder[part] = {}
            document.places[path[:depth]] = place
        if not isinstance(inner, dict):
            kind = "a list; give all of it" if isinstance(inner, list) else "a single value"
            raise UserError(f"{path_text(path[:depth])} is {kind}")
        holder = inner
    return holder
