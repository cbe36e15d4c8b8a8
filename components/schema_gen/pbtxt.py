"""Schemas as text: read with the user's mistakes explained, and written."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from typing import Any

from google.protobuf import text_format
from tensorflow_metadata.proto.v0 import schema_pb2

from components.errors import UserError

pb: Any = schema_pb2

_NO_FIELD = re.compile(r'Message type "([\w.]+)" (?:has no|should not have) field (?:named )?"?(\w+)"?')
_NO_VALUE = re.compile(r'Enum type "([\w.]+)" has no value named (\w+)')


def parse(text: str, where: str) -> Any:
    """The schema that a text says.

    Args:
      text: a `schema.pbtxt`: protocol buffer text format.
      where: the file, for messages.

    Raises:
      UserError: for text that is no schema, with the line, or for a schema that contradicts itself.
    """
    try:
        schema = text_format.Parse(text, pb.Schema())
    except text_format.ParseError as error:
        line = f"{where}:{error.GetLine()}" if error.GetLine() else where
        raise UserError(_explain(error), where=line, fix="mend that line") from None
    problem = next(_contradictions(schema), None)
    if problem:
        name, what = problem
        raise UserError(what, where=f"{where}:{line_of(text, name)}", fix="mend that line")
    return schema


def render(schema: Any) -> str:
    """The schema as text."""
    return text_format.MessageToString(schema, as_utf8=True)


def line_of(text: str, name: str) -> int:
    """The line, from 1, of the first field called `name` whose value is that text."""
    quoted = re.compile(rf"""name\s*:\s*(["']){re.escape(name)}\1""")
    match = quoted.search(text)
    return text.count("\n", 0, match.start()) + 1 if match else 1


def _explain(error: text_format.ParseError) -> str:
    message = str(error)
    for pattern, kind in ((_NO_FIELD, "field"), (_NO_VALUE, "value")):
        match = pattern.search(message)
        if match:
            known = _names(match[1], kind)
            near = difflib.get_close_matches(match[2], known, n=1) or difflib.get_close_matches(
                match[2].upper(), known, n=1
            )
            meant = f", did you mean {near[0]!r}?" if near else f"; there is {', '.join(known[:12])}"
            return f"{match[1].rpartition('.')[2]} has no {kind} {match[2]!r}{meant}"
    return re.sub(r"^\d+:\d+ : ", "", message).strip().rstrip(".")


def _names(full_name: str, kind: str) -> list[str]:
    pool = pb.Schema.DESCRIPTOR.file.pool
    if kind == "field":
        return [field.name for field in pool.FindMessageTypeByName(full_name).fields]
    return [value.name for value in pool.FindEnumTypeByName(full_name).values]


def _contradictions(schema: Any) -> Iterator[tuple[str, str]]:
    """The feature's name and what is wrong with it."""
    domains = {domain.name for domain in schema.string_domain}
    seen: set[str] = set()
    for feature in schema.feature:
        name = feature.name
        if not name:
            yield name, "a feature has no name"
        if name in seen:
            yield name, f"feature {name!r} stands here twice"
        seen.add(name)
        if feature.type == pb.TYPE_UNKNOWN:
            yield name, f"feature {name!r} has no type: expected INT, FLOAT or BYTES"
        if feature.HasField("domain") and feature.domain not in domains:
            near = difflib.get_close_matches(feature.domain, domains, n=1)
            meant = f", did you mean {near[0]!r}?" if near else ""
            yield name, f"feature {name!r}: no string_domain is called {feature.domain!r}{meant}"
        for kind in ("int_domain", "float_domain"):
            domain = getattr(feature, kind)
            both = feature.HasField(kind) and domain.HasField("min") and domain.HasField("max")
            if both and domain.min > domain.max:
                yield (
                    name,
                    f"feature {name!r}: the least value {domain.min} is above the largest {domain.max}",
                )
        for place in (*feature.in_environment, *feature.not_in_environment):
            if place not in schema.default_environment:
                yield name, f"feature {name!r}: default_environment does not list {place!r}"
