"""Spans and versions of data, as TFX's ExampleGen defines them: day-{SPAN}/v-{VERSION}/*.csv.

A span is a number, or a date written {YYYY}, {MM}, {DD}, whose number is its days since 1970-01-01.
Of each span the latest version counts. https://www.tensorflow.org/tfx/guide/examplegen#span
"""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass

from components.errors import UserError
from components.example_gen import files
from components.example_gen.config import LastSpans, SpanChoice
from components.example_gen.files import FileStat

_SPEC = re.compile(r"\{(SPAN|VERSION)(?::(\d+))?\}|\{(YYYY|MM|DD)\}")
_WIDTHS = {"YYYY": 4, "MM": 2, "DD": 2}
_EPOCH = datetime.date(1970, 1, 1)


@dataclass(frozen=True)
class Spanned:
    """The files of the spans that are wanted.

    Attributes:
      spans: their numbers, ascending.
      version: that of the last span; None when the pattern has no {VERSION}.
    """

    files: tuple[FileStat, ...]
    spans: tuple[int, ...]
    version: int | None


def has_span(pattern: str) -> bool:
    """Whether a source names spans."""
    return _SPEC.search(pattern) is not None


def span_number(value: int | str) -> int:
    """A span's number: as it is, or of a date such as 2026-01-31."""
    return value if isinstance(value, int) else (datetime.date.fromisoformat(value) - _EPOCH).days


def find(pattern: str, choice: SpanChoice) -> Spanned:
    """The files of the chosen spans.

    Raises:
      UserError: for a pattern that makes no sense, or when it matches nothing.
    """
    regex, wildcard = _compile(pattern)
    matched: dict[int, dict[int | None, list[FileStat]]] = {}
    for stat in files.match(wildcard):
        found = regex.fullmatch(stat.path)
        if found:
            span, version = _numbers(found, stat.path)
            matched.setdefault(span, {}).setdefault(version, []).append(stat)
    if not matched:
        raise UserError(
            f"no file matches {pattern}",
            where="data.source",
            fix="check the pattern; {SPAN} and {VERSION} stand for whole numbers",
        )
    spans = _chosen(sorted(matched), choice)
    # None, where there are no versions, is alone.
    latest = {span: max(matched[span], key=lambda version: version or 0) for span in spans}
    return Spanned(
        tuple(stat for span in spans for stat in matched[span][latest[span]]), spans, latest[spans[-1]]
    )


def _compile(pattern: str) -> tuple[re.Pattern[str], str]:
    specs = [match[1] or match[3] for match in _SPEC.finditer(pattern)]
    dates = [spec for spec in specs if spec in _WIDTHS]
    if len(set(specs)) < len(specs):
        raise UserError(f"a placeholder stands twice in {pattern}", where="data.source")
    if dates and ("SPAN" in specs or len(dates) < len(_WIDTHS)):
        raise UserError(
            f"expected {{SPAN}}, or all of {{YYYY}}, {{MM}} and {{DD}}, in {pattern}", where="data.source"
        )
    if not dates and "SPAN" not in specs:
        raise UserError(f"{{VERSION}} without {{SPAN}} in {pattern}", where="data.source")
    regex, wildcard, end = "", "", 0
    for match in _SPEC.finditer(pattern):
        between = pattern[end : match.start()]
        spec, width = match[1] or match[3], match[2] or _WIDTHS.get(match[3] or "")
        digits = rf"\d{{{width}}}" if width else r"\d+"
        regex += _glob_regex(between) + rf"(?P<{spec}>{digits})"
        wildcard += between + "*"
        end = match.end()
    return re.compile(regex + _glob_regex(pattern[end:])), wildcard + pattern[end:]


def _glob_regex(part: str) -> str:
    return re.escape(part).replace(r"\*", "[^/]*").replace(r"\?", "[^/]")


def _numbers(found: re.Match[str], path: str) -> tuple[int, int | None]:
    parts = found.groupdict()
    version = int(parts["VERSION"]) if "VERSION" in parts else None
    if "SPAN" in parts:
        return int(parts["SPAN"]), version
    try:
        day = datetime.date(int(parts["YYYY"]), int(parts["MM"]), int(parts["DD"]))
    except ValueError as error:
        raise UserError(f"not a date in the path: {error}", where=path) from error
    return (day - _EPOCH).days, version


def _chosen(available: list[int], choice: SpanChoice) -> tuple[int, ...]:
    first, last = _bounds(available[-1], choice)
    spans = tuple(span for span in available if first <= span <= last)
    if not spans:
        wanted = f"span {first}" if first == last else f"span from {first} to {last}"
        raise UserError(
            f"there is no {wanted}; there are {available[0]} to {available[-1]}",
            where="data.span",
            fix="name spans that exist, or `latest`",
        )
    return spans


def _bounds(newest: int, choice: SpanChoice) -> tuple[int, int]:
    if choice == "latest":
        return newest, newest
    if isinstance(choice, LastSpans):
        return newest - choice.last + 1, newest
    if isinstance(choice, (int, str)):
        return span_number(choice), span_number(choice)
    return span_number(choice[0]), span_number(choice[1])
