"""Change the text of a schema where its meaning changes, and keep a person's comments everywhere else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from google.protobuf import text_format
from tensorflow_metadata.proto.v0 import schema_pb2

from components.schema_gen.pbtxt import render

pb: Any = schema_pb2

_NAMED = ("feature", "string_domain")
_TOKEN = re.compile(
    r"""(?P<comment>\#[^\n]*) | (?P<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
    | (?P<word>[A-Za-z_]\w*) | (?P<open>[{<]) | (?P<close>[}>]) | (?P<other>[^\s])""",
    re.VERBOSE,
)


@dataclass(frozen=True)
class _Block:
    """A feature or string_domain at the top of the text.

    Attributes:
      start, end: where it is, with the comment lines right above it and the line's end.
      kind: feature or string_domain.
      message: what it says.
    """

    start: int
    end: int
    kind: str
    message: Any


def patch(text: str, before: Any, after: Any) -> str:
    """The text of `after`, made of the text of `before`.

    Where the text is written in a way that this cannot follow, it is written anew, without comments.
    """
    try:
        changed = _patched(text, before, after)
        if _same(text_format.Parse(changed, pb.Schema()), after):
            return changed
    except (text_format.ParseError, IndexError):
        pass
    return render(after)


def _patched(text: str, before: Any, after: Any) -> str:
    wanted = {kind: {each.name: each for each in getattr(after, kind)} for kind in _NAMED}
    parts: list[str] = []
    at = 0
    # Where new ones go: behind the last of their kind.
    places: dict[str, int] = {}
    for block in _blocks(text):
        parts.append(text[at : block.start])
        at = block.end
        now = wanted[block.kind].pop(block.message.name, None)
        if now is None:
            continue
        whole = text[block.start : block.end]
        parts.append(whole if now == block.message else _comments(whole) + _render(block.kind, now))
        places[block.kind] = len(parts)
    rest = text[at:]
    if rest and not rest.endswith("\n"):
        rest += "\n"
    parts.append(rest)
    for kind in reversed(_NAMED):
        new = "".join(_render(kind, message) for message in wanted[kind].values())
        parts.insert(places.get(kind, len(parts)), new)
    return "".join(parts)


def _blocks(text: str) -> Iterator[_Block]:
    depth, word, start = 0, "", 0
    comments: int | None = None
    for token in _TOKEN.finditer(text):
        kind = token.lastgroup
        if depth == 0 and kind == "comment":
            alone = not text[text.rfind("\n", 0, token.start()) + 1 : token.start()].strip()
            apart = "\n\n" in text[text.rfind("#", 0, token.start()) + 1 : token.start()]
            comments = token.start() if alone and (comments is None or apart) else comments
            continue
        if kind == "open":
            depth += 1
        elif kind == "close":
            depth -= 1
            if depth == 0 and word in _NAMED:
                message = text_format.Parse(text[start : token.end()], pb.Schema())
                end = token.end() + (text[token.end() : token.end() + 1] == "\n")
                own = comments if comments is not None and "\n\n" not in text[comments:start] else start
                yield _Block(own, end, word, getattr(message, word)[0])
            if depth == 0:
                word, comments = "", None
        elif depth == 0 and kind == "word":
            word, start = token.group(), token.start()
        elif depth == 0 and kind == "string":
            word, comments = "", None


def _comments(block: str) -> str:
    """The comment lines above a block."""
    lines = block.splitlines(keepends=True)
    count = next((i for i, line in enumerate(lines) if not line.lstrip().startswith("#")), len(lines))
    return "".join(lines[:count])


def _render(kind: str, message: Any) -> str:
    holder = pb.Schema()
    getattr(holder, kind).append(message)
    return render(holder)


def _same(one: Any, other: Any) -> bool:
    """Whether two schemas say the same, in whatever order."""

    def in_order(schema: Any) -> Any:
        copy = pb.Schema()
        copy.CopyFrom(schema)
        for kind in _NAMED:
            messages = sorted(getattr(copy, kind), key=lambda each: each.name)
            copy.ClearField(kind)
            getattr(copy, kind).extend(messages)
        return copy

    return bool(in_order(one) == in_order(other))
