"""Says in one sentence each what is wrong with a configuration, and where."""

from __future__ import annotations

import contextlib
import difflib
import math
from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import ValidationError

from components.errors import UserError, cut
from pipeline.config_schema import Schema
from pipeline.yaml_lines import Document, KeyPath, Problem, path_text

_MOST = 5


def fail(problems: Sequence[Problem]) -> None:
    """Raises one UserError for all problems, in the order of their lines; nothing when there are none."""
    ordered = sorted(problems, key=lambda problem: problem.order)
    if not ordered:
        return
    if len(ordered) == 1:
        raise UserError(ordered[0].sentence, where=str(ordered[0].place))
    lines = [f"  {problem}" for problem in ordered[:_MOST]]
    if len(ordered) > _MOST:
        lines.append(f"  and {len(ordered) - _MOST} more")
    raise UserError("\n".join([f"{len(ordered)} problems in the configuration", *lines]))


def near(name: str, known: Iterable[str]) -> str:
    """ ", did you mean 'x'?" for the known name that is most like `name`; "" when none is."""
    found = _near(name, known)
    return f", did you mean {found!r}?" if found else ""


def fit(document: Document, schema: Schema) -> None:
    """Reads values as their options mean them, before they are validated.

    A number where only text can stand (`label: 2020`) is the text as written; a section with nothing in it
    is all defaults; true, false, .nan and .inf where a number is expected become problems of the document.
    """
    root = schema.resolve(schema.root)
    document.data = _fit(document.data, (), root, document, schema)
    for name in root.get("required", ()):
        if name not in document.data and "properties" in (schema.child(root, name) or {}):
            document.data[name] = {}


def explain(error: ValidationError, document: Document, schema: Schema) -> list[Problem]:
    """The problems in a pydantic error: one an option, none where the document knows of one already."""
    known = [problem.path for problem in document.problems]
    found: dict[KeyPath, Problem] = {}
    for each in error.errors(include_url=False):
        path, text = _explain(each, document, schema)
        if not any(inner[: len(path)] == path for inner in known):
            found.setdefault(path, Problem(document.place(path), path, text))
    return list(found.values())


def _fit(value: Any, path: KeyPath, node: dict[str, Any], document: Document, schema: Schema) -> Any:
    kinds = schema.kinds(node)
    if kinds and isinstance(value, dict):
        node = kinds.get(value.get(node["discriminator"]["propertyName"], ""), {})
    types = schema.types(node)
    if isinstance(value, dict):
        fitted = {}
        for key, child in value.items():
            inner = schema.child(node, key)
            fitted[key] = child if inner is None else _fit(child, (*path, key), inner, document, schema)
        return fitted
    if isinstance(value, list):
        inner = schema.child(node, 0)
        if inner is None:
            return value
        return [_fit(child, (*path, i), inner, document, schema) for i, child in enumerate(value)]
    if value is None:
        section = "properties" in node or "additionalProperties" in node
        return {} if section and not _nullable(path, schema) else None
    if isinstance(value, int | float) and types == {"string"} and "enum" not in node and "const" not in node:
        return document.texts.get(path, str(value))
    odd = isinstance(value, bool) or (isinstance(value, float) and not math.isfinite(value))
    if odd and types & {"integer", "number"} and not (isinstance(value, bool) and "boolean" in types):
        text = f"expected {schema.describe(node)}, received {_shown(value)}"
        document.problems.append(Problem(document.place(path), path, text))
    return value


def _nullable(path: KeyPath, schema: Schema) -> bool:
    if not path:
        return False
    _, parent = schema.walk(path[:-1])
    raw = parent.get("properties", {}).get(path[-1], {})
    return any(branch.get("type") == "null" for branch in raw.get("anyOf", ()))


def _explain(each: Any, document: Document, schema: Schema) -> tuple[KeyPath, str]:
    kind, loc = each["type"], tuple(each["loc"])
    path, node = schema.walk(loc)
    if kind == "extra_forbidden":
        return (*path, loc[-1]), _unknown(str(loc[-1]), path, node, loc, schema)
    if kind == "missing":
        about = node.get("description", "")
        return path, f"missing: {about}" if about else "missing"
    if schema.kinds(node) and kind not in ("value_error", "assertion_error"):
        return _kind(path, node, document, schema)
    if kind in ("value_error", "assertion_error"):
        return path, str(each["ctx"]["error"])
    return path, _mismatch(path, node, each["input"], document, schema)


def _mismatch(path: KeyPath, node: dict[str, Any], value: Any, document: Document, schema: Schema) -> str:
    with contextlib.suppress(KeyError, IndexError, TypeError):  # a default, or what a validator made
        value = document.value(path)
    hint = ""
    if isinstance(value, str):
        choices = [choice for branch in schema.alternatives(node) for choice in branch.get("enum", ())]
        hint = near(value, choices)
    if schema.types(node) == {"array"} and isinstance(value, str):
        hint = f"; write [{value}]"
    return f"expected {schema.describe(node)}, received {_shown(value)}{hint}"


def _kind(path: KeyPath, node: dict[str, Any], document: Document, schema: Schema) -> tuple[KeyPath, str]:
    tag = node["discriminator"]["propertyName"]
    kinds = schema.kinds(node)
    value = document.value(path)
    if isinstance(value, dict) and tag in value:
        given = value[tag]
        return (*path, tag), f"expected one of {', '.join(sorted(kinds))}, received {_shown(given)}" + (
            near(given, kinds) if isinstance(given, str) else ""
        )
    if not isinstance(value, dict):
        hint = near(value, kinds) if isinstance(value, str) and value not in kinds else ""
        hint = f"; write {{{tag}: {value}}}" if isinstance(value, str) and value in kinds else hint
        return path, f"expected {schema.describe(node)}, received {_shown(value)}{hint}"
    text = f"{tag} is missing: one of {', '.join(sorted(kinds))}"
    takers = [name for name, branch in kinds.items() if value and set(value) <= set(branch["properties"])]
    return path, text + (f"; {takers[0]} takes {', '.join(value)}" if len(takers) == 1 else "")


def _unknown(name: str, path: KeyPath, node: dict[str, Any], loc: KeyPath, schema: Schema) -> str:
    siblings = list(node.get("properties", ()))
    kinds = schema.kinds(schema.walk(path)[1])
    takers = [kind for kind, branch in kinds.items() if name in branch.get("properties", ())]
    if takers:
        take = "takes" if len(takers) == 1 else "take"
        return f"not an option of kind {loc[len(path)]}; {' and '.join(takers)} {take} it"
    options = schema.options()
    elsewhere = [each for each in options if each.rsplit(".", 1)[-1] == name]
    inside = [each for each in elsewhere if each.startswith(f"{path_text(path)}.")]
    if elsewhere:
        return f"unknown key, did you mean {' or '.join((inside or elsewhere)[:3])}?"
    close = _near(name, siblings)
    if close:
        return f"unknown key, did you mean {close!r}?"
    by_name = {each.rsplit(".", 1)[-1]: each for each in reversed(options)}
    far = _near(name, by_name, cutoff=0.8)
    if far:
        return f"unknown key, did you mean {by_name[far]}?"
    where = path_text(path) or "the top"
    return f"unknown key; {where} takes {', '.join(siblings)}"


def _near(name: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    plain = {_plain(each): each for each in known}
    found = difflib.get_close_matches(_plain(name), plain, n=1, cutoff=cutoff)
    return plain[found[0]] if found else None


def _plain(name: str) -> str:
    """batchSize, batch-size and batch_size are the same to someone who has forgotten which it is."""
    return name.lower().replace("_", "").replace("-", "")


def _shown(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    return cut(repr(value))
