"""Reads YAML into plain values and remembers the line that each came from."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Union

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from components.errors import UserError, cut

KeyPath = tuple[Union[str, int], ...]

_TAG = "tag:yaml.org,2002:"
_TYPED = {_TAG + name for name in ("int", "float", "bool", "null")}
# Kept as they are written: an option that wants a date takes its text.
_TEXT = {_TAG + name for name in ("str", "timestamp", "value")}


@dataclass(frozen=True)
class Place:
    """Where a value came from: a line of a file, or a command line option (no line)."""

    name: str
    line: int | None = None

    def __str__(self) -> str:
        return self.name if self.line is None else f"{self.name}:{self.line}"


@dataclass(frozen=True)
class Problem:
    """One mistake: where, in which option (none when it is not about one), and what."""

    place: Place
    path: KeyPath
    text: str

    @property
    def sentence(self) -> str:
        return f"{path_text(self.path)}: {self.text}" if self.path else self.text

    def __str__(self) -> str:
        return f"{self.place}: {self.sentence}"

    @property
    def order(self) -> float:
        """Sorts by line; what no line has come from comes last."""
        return math.inf if self.place.line is None else self.place.line


@dataclass
class Document:
    """A mapping of plain values, with the place and the written text of each."""

    name: str
    data: dict[str, Any] = field(default_factory=dict)
    places: dict[KeyPath, Place] = field(default_factory=dict)
    texts: dict[KeyPath, str] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def place(self, path: KeyPath) -> Place:
        """The place of the value at `path`, or of the nearest thing around it."""
        for end in range(len(path), 0, -1):
            if path[:end] in self.places:
                return self.places[path[:end]]
        return Place(self.name)

    def value(self, path: KeyPath) -> Any:
        """The value at `path`; KeyError, IndexError or TypeError when there is none."""
        value: Any = self.data
        for part in path:
            value = value[part]
        return value

    def forget(self, path: KeyPath) -> None:
        """Drops the places and texts of the value at `path` and of all inside it."""
        for table in (self.places, self.texts):
            for known in [key for key in table if key[: len(path)] == path]:
                del table[known]


def path_text(path: KeyPath) -> str:
    """A path as it is shown: evaluate.slices[0]."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def read(raw: bytes, name: str) -> Document:
    """The document in `raw`, called `name` in messages.

    What leaves the rest readable (a duplicate key, an unknown tag) is in its `problems`.

    Raises:
      UserError: it is not UTF-8, not YAML, empty, or not a mapping.
    """
    node = _compose(_decode(raw, name), name)
    if node is None:
        raise UserError(
            "the file is empty",
            where=name,
            fix="it needs at least data: {source: FILE} and label: COLUMN",
        )
    if not isinstance(node, MappingNode):
        kind = "a list" if isinstance(node, SequenceNode) else cut(repr(node.value))
        raise UserError(
            f"expected a mapping such as `label: COLUMN`, received {kind}",
            where=f"{name}:{node.start_mark.line + 1}",
        )
    document = Document(name)
    document.data = _Builder(document).build(node, ())
    return document


def read_value(text: str, place: Place, path: KeyPath, document: Document) -> Any:
    """One value out of the command line, noted in `document` as coming from `place`.

    Raises:
      UserError: it is not YAML.
    """
    node = _compose(text, str(place))
    document.forget(path)
    document.places[path] = place
    return None if node is None else _Builder(document, place).build(node, path)


def _decode(raw: bytes, name: str) -> str:
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise UserError("the file is UTF-16", where=name, fix="save it as UTF-8")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise UserError(
            f"the file is not UTF-8: byte 0x{raw[error.start]:02x}",
            where=f"{name}:{line}",
            fix="save it as UTF-8",
        ) from None


def _compose(text: str, name: str) -> Node | None:
    try:
        return YAML(typ="safe", pure=True).compose(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        what = error.problem or error.context or "cannot be read"
        if what == "but found another document":
            what = "found a second document"
        elif error.context_mark and error.context_mark.line != (mark and mark.line):
            what += f" ({error.context}, which starts on line {error.context_mark.line + 1})"
        where = name if name.startswith("--") or mark is None else f"{name}:{mark.line + 1}:{mark.column + 1}"
        raise UserError(f"not valid YAML: {what}", where=where, fix=_syntax_hint(text, error)) from None
    except YAMLError as error:
        position = getattr(error, "position", 0)
        where = name if name.startswith("--") else f"{name}:{text.count(chr(10), 0, position) + 1}"
        reason = getattr(error, "reason", str(error))
        raise UserError(f"not valid YAML: {reason}", where=where) from None


def _syntax_hint(text: str, error: MarkedYAMLError) -> str:
    problem = error.problem or ""
    if "'\\t'" in problem:
        return "YAML does not take tabs: indent with spaces"
    if "cannot start any token" in problem:
        return "put the value in quotes"
    if "mapping values are not allowed" in problem:
        return (
            "put a text that has `: ` in it in quotes; check the indentation of this line and the one above"
        )
    if "another document" in problem:
        return "one document a file: delete the `---` between them"
    return ""


class _Builder:
    """Turns the nodes of one document into plain values."""

    def __init__(self, document: Document, place: Place | None = None) -> None:
        self._document = document
        self._place = place
        self._open: set[int] = set()
        self._scalars = YAML(typ="safe", pure=True).constructor

    def build(self, node: Any, path: KeyPath) -> Any:
        if path and path not in self._document.places:
            self._document.places[path] = self._at(node)
        if id(node) in self._open:
            return self._wrong(node, path, "an alias that contains itself")
        self._open.add(id(node))
        try:
            if isinstance(node, MappingNode):
                return self._mapping(node, path)
            if isinstance(node, SequenceNode):
                return [self.build(item, (*path, index)) for index, item in enumerate(node.value)]
            return self._scalar(node, path)
        finally:
            self._open.discard(id(node))

    def _at(self, node: Node) -> Place:
        return self._place or Place(self._document.name, node.start_mark.line + 1)

    def _wrong(self, node: Node, path: KeyPath, text: str) -> None:
        self._document.problems.append(Problem(self._at(node), path, text))

    def _mapping(self, node: MappingNode, path: KeyPath) -> dict[str, Any]:
        values: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        lines: dict[str, int] = {}
        for key, value in node.value:
            if key.tag == _TAG + "merge":
                bases = value.value if isinstance(value, SequenceNode) else [value]
                for base in bases:
                    if isinstance(base, MappingNode):
                        merged = {**self._mapping(base, path), **merged}
                    else:
                        self._wrong(key, path, "`<<` takes a mapping, such as `<<: *name`")
                continue
            if not isinstance(key, ScalarNode):
                self._wrong(key, path, "a key must be plain text")
                continue
            name = str(key.value)
            here = (*path, name)
            if name in lines:
                first, again = lines[name], key.start_mark.line + 1
                self._wrong(key, here, f"given twice, on line {first} and on line {again}")
            lines[name] = key.start_mark.line + 1
            self._document.forget(here)
            self._document.places[here] = self._at(key)
            values[name] = self.build(value, here)
        return {**{name: merged[name] for name in merged if name not in values}, **values}

    def _scalar(self, node: ScalarNode, path: KeyPath) -> Any:
        self._document.texts[path] = node.value
        if node.tag in _TEXT:
            return node.value
        if node.tag not in _TYPED:
            return self._wrong(node, path, f"the tag {str(node.tag).replace(_TAG, '!!')} is not supported")
        try:
            return self._scalars.construct_object(node)
        except (ValueError, YAMLError):
            return self._wrong(node, path, f"{cut(repr(node.value))} is not of the type that its tag says")
