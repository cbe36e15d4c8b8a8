"""A commented pipeline.yaml for data that has none: its columns, what becomes of them, what can be set."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from components.errors import cut

if TYPE_CHECKING:
    from components.example_gen.survey import Survey
    from components.transform.plan import FeaturePlan
    from pipeline.config import PipelineConfig

# Where comments begin, unless what they stand behind is longer.
_COMMENT_COLUMN, _WIDEST = 36, 60
_WIDTH, _TABLE_WIDTH = 120, 150
# Below, a column whose values all differ may do so by chance.
_FEW_ROWS = 100
# Words that YAML 1.1 or 1.2 takes for something else than a text.
_WORDS = {"", "null", "~", "true", "false", "yes", "no", "on", "off", "y", "n"}
_PLAIN = re.compile(r"[A-Za-z_/][\w ./*{}+-]*(?<! )")
_SECTIONS = ("model", "train", "evaluate", "push")
_DATA_KEYS = ("columns", "exclude", "on_bad_value", "on_bad_row", "weight", "split")
_CSV_KEYS = ("delimiter", "encoding", "header", "missing")


@dataclass(frozen=True)
class Look:
    """What a look at all rows has shown.

    Attributes:
      format: of the source.
      plan: what would become of each column.
      notes: what a person should know of how the rows were read.
    """

    survey: Survey
    format: str
    types: Mapping[str, str]
    plan: FeaturePlan
    notes: Sequence[str]


def starter(config: PipelineConfig, given: Mapping[str, Any], look: Look, command: str) -> str:
    """The text of a pipeline.yaml; it loads to `config`.

    Args:
      given: the options that were given, as they are to stand in the file.
      command: what made it, for its first line.
    """
    lines = [
        f"# Made by `{command}` from {look.survey.rows:,} rows.",
        "# A # right before a key shows an option with its default; `headrace config` prints all of them.",
        *_entry("name", config.name),
        "data:",
        *_entry("source", given["data"]["source"], indent=1),
        *_options(config.data, given["data"], (*(_CSV_KEYS if look.format == "csv" else ()), *_DATA_KEYS)),
        *(each for note in look.notes for each in _wrapped(f"note: {note}", indent=1)),
        *_entry("label", config.label, _of_label(look)),
        *_entry("task", look.plan.label.task),
        *_features(look),
    ]
    for name in _SECTIONS:
        section = getattr(config, name)
        options = _options(section, given.get(name) or {}, tuple(type(section).model_fields))
        lines += [f"{name}:", *options]
    rest = {key: value for key, value in given.items() if key not in (*_SECTIONS, *_WRITTEN)}
    for key, value in rest.items():
        lines += _entry(key, value)
    return "\n".join(lines) + "\n"


_WRITTEN = ("name", "data", "label", "task", "features")


def _features(look: Look) -> Iterator[str]:
    entries = {}
    for feature in look.plan.features:
        options = feature.config.model_dump(mode="json", exclude_defaults=True)
        entries[feature.name] = {"kind": feature.config.kind, **options}
    lengths = [len(line) + 2 for name in entries for line in _entry(name, entries[name], indent=1)]
    column = min(_WIDEST, max([_COMMENT_COLUMN, *lengths]))
    yield f"{'features:':<{column}}# a column that is not named here is inferred, as these were"
    for feature in look.plan.features:
        about = f"{', '.join([feature.type, *_facts(feature.name, look)])}; {feature.why}"
        yield from _entry(
            feature.name, entries[feature.name], about, indent=1, column=column, width=_TABLE_WIDTH
        )
    for name, scan in look.survey.columns.items():
        if scan.unusable:
            yield from _wrapped(f"{name}: a {scan.unusable}, which no feature can be", indent=1)


def _facts(name: str, look: Look) -> Iterator[str]:
    scan = look.survey.columns.get(name)
    if scan is None:
        return
    about = "" if scan.values is not None else "about "
    yield f"{about}{scan.distinct_count:,} distinct"
    gone = scan.missing + scan.not_finite
    if gone:
        share = 100 * gone / max(1, scan.rows)
        yield "missing in " + ("under 0.1 %" if share < 0.1 else f"{share:.1f} %")
    whole = look.types.get(name) == "integer" and scan.distinct_count > 0.95 * scan.present
    if whole and scan.present > _FEW_ROWS:
        yield "nearly every value differs: {kind: drop} if it is an identifier"


def _of_label(look: Look) -> str:
    label = look.plan.label
    scan = look.survey.columns[label.name]
    values = scan.distinct_values(label.type)
    if not label.classes or not values:
        return label.type
    from components.label import class_name

    counts: dict[str, int] = {}
    for value, count in values.items():
        name = class_name(label.type, value)
        counts[name] = counts.get(name, 0) + count
    total = look.survey.rows if label.task == "multilabel" else sum(counts.values())
    shown = [f"{cut(name, 20)} {100 * counts.get(name, 0) / total:.0f} %" for name in label.classes[:6]]
    return f"{len(label.classes)} classes: {', '.join(shown)}{', …' if len(label.classes) > 6 else ''}"


def _options(section: BaseModel, given: Mapping[str, Any], names: Sequence[str]) -> Iterator[str]:
    """The section's options: those that are given, and the named others behind a #."""
    fields = type(section).model_fields
    for name in dict.fromkeys([*given, *names]):
        if name == "source":
            continue
        about = fields[name].description if name in fields else ""
        if name in given:
            yield from _entry(name, given[name], about or "", indent=1)
        elif name in fields:
            value = section.model_dump(mode="json")[name]
            if isinstance(value, dict):
                value = {key: item for key, item in value.items() if item is not None}
            yield from _entry(name, value, about or "", indent=1, mark="#")


def _entry(
    key: str,
    value: Any,
    comment: str = "",
    *,
    indent: int = 0,
    mark: str = "",
    column: int = _COMMENT_COLUMN,
    width: int = _WIDTH,
) -> Iterator[str]:
    line = f"{'  ' * indent}{mark}{scalar(key)}: {flow(value)}"
    if not comment:
        yield line
        return
    comment = " ".join(comment.split())
    start = max(column, len(line) + 2)
    if start + len(comment) + 2 <= width:
        yield f"{line:<{start}}# {comment}"
        return
    # Too long to stand behind it: above it.
    yield from _wrapped(comment, indent=indent)
    yield line


def _wrapped(text: str, *, indent: int) -> Iterator[str]:
    head = "  " * indent + "# "
    line = ""
    for word in text.split():
        if line and len(head) + len(line) + len(word) + 1 > _WIDTH:
            yield head + line
            line = "  " if text.startswith("note") else ""
        line = f"{line}{' ' if line.strip() else ''}{word}"
    yield head + line


def flow(value: Any) -> str:
    """A value as YAML on one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{scalar(key)}: {flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(flow, value)) + "]"
    return scalar(value)


def scalar(value: Any) -> str:
    """A single value as YAML reads it back: texts in quotes where they need them."""
    if isinstance(value, str):
        plain = _PLAIN.fullmatch(value) and value.lower() not in _WORDS and "{" not in value
        return value if plain else json.dumps(value, ensure_ascii=False)
    if value is None:
        return "null"
    return json.dumps(value)
