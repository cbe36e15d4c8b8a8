"""Hold the statistics of a split against the schema, as TFDV does, and say what it found in our terms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tensorflow_data_validation as tfdv
from tensorflow_metadata.proto.v0 import anomalies_pb2, statistics_pb2

from components.example_gen.found import Found
from components.example_validator import distribution
from components.example_validator.findings import Finding
from components.example_validator.picture import number
from components.schema_gen.difference import listed
from components.schema_gen.infer import TRAINING
from components.schema_gen.semantics import domain_values, meaning

pb: Any = anomalies_pb2
_Type = pb.AnomalyInfo.Type

_EMPTY = ("FEATURE_TYPE_NOT_PRESENT", "DATASET_LOW_NUM_EXAMPLES", "NO_DATA_IN_SPAN")
_NEW_VALUES = ("ENUM_TYPE_UNEXPECTED_STRING_VALUES", "BOOL_TYPE_UNEXPECTED_STRING")
_MISSING_VALUES = ("FEATURE_TYPE_LOW_FRACTION_PRESENT", "FEATURE_TYPE_LOW_NUMBER_PRESENT")
_RANGE = (
    "BOOL_TYPE_BIG_INT",
    "BOOL_TYPE_SMALL_INT",
    "BOOL_TYPE_UNEXPECTED_FLOAT",
    "FLOAT_TYPE_BIG_FLOAT",
    "FLOAT_TYPE_SMALL_FLOAT",
    "FLOAT_TYPE_HAS_NAN",
    "FLOAT_TYPE_HAS_INF",
    "INT_TYPE_BIG_INT",
    "INT_TYPE_SMALL_INT",
)
_TYPE_CHANGE = (
    "UNEXPECTED_DATA_TYPE",
    "VALUE_NESTEDNESS_MISMATCH",
    "BOOL_TYPE_BYTES_NOT_INT",
    "BOOL_TYPE_BYTES_NOT_STRING",
    "BOOL_TYPE_FLOAT_NOT_INT",
    "BOOL_TYPE_FLOAT_NOT_STRING",
    "BOOL_TYPE_INT_NOT_STRING",
    "BOOL_TYPE_STRING_NOT_INT",
    "ENUM_TYPE_BYTES_NOT_STRING",
    "ENUM_TYPE_FLOAT_NOT_STRING",
    "ENUM_TYPE_INT_NOT_STRING",
    "FLOAT_TYPE_NOT_FLOAT",
    "FLOAT_TYPE_STRING_NOT_FLOAT",
    "FLOAT_TYPE_NON_STRING",
    "FLOAT_TYPE_UNKNOWN_TYPE_NUMBER",
    "INT_TYPE_INT_EXPECTED",
    "INT_TYPE_NOT_INT_STRING",
    "INT_TYPE_NOT_STRING",
    "INT_TYPE_STRING_EXPECTED",
    "INT_TYPE_UNKNOWN_TYPE_NUMBER",
    "STRING_TYPE_NOW_FLOAT",
    "STRING_TYPE_NOW_INT",
)
# TFDV's type of anomaly to a kind of the `validate` section.
KINDS = {
    "SCHEMA_MISSING_COLUMN": "missing_column",
    "SCHEMA_NEW_COLUMN": "extra_column",
    **dict.fromkeys(_TYPE_CHANGE, "type_change"),
    **dict.fromkeys(_EMPTY, "empty"),
    **dict.fromkeys(_NEW_VALUES, "new_values"),
    **dict.fromkeys(_MISSING_VALUES, "missing_values"),
    **dict.fromkeys(_RANGE, "range"),
}
# Types of ingest that TFDV does not tell from other strings.
_NO_STRINGS = {"date": ("date",), "datetime": ("datetime",), "image": ("image", "bytes")}


class SchemaCheck:
    """The checks of one split.

    Args:
      split: its name.
      statistics: TFDV's, of all its rows.
      schema: what they are held against.
      found: what ingest found.
      against: the schema's name, for messages.
    """

    def __init__(self, split: str, statistics: Any, schema: Any, found: Found, against: str) -> None:
        self._split, self._statistics, self._schema = split, statistics, schema
        self._found, self._against = found, against
        self._features = {feature.name: feature for feature in schema.feature}
        self._seen = distribution.features(statistics)
        self.anomalies: Any = tfdv.validate_statistics(
            statistics_pb2.DatasetFeatureStatisticsList(datasets=[statistics]),
            schema,
            environment=TRAINING if TRAINING in schema.default_environment else None,
        )

    def findings(self) -> Iterator[Finding]:
        """What does not fit."""
        for name, info in sorted(self.anomalies.anomaly_info.items()):
            column = info.path.step[0] if info.path.step else name
            # What the config leaves out is not missing.
            if column not in self._found.excluded:
                for reason in info.reason:
                    yield self._finding(column, _Type.Name(reason.type), reason.description)
        for reason in self.anomalies.dataset_anomaly_info.reason:
            kind = KINDS.get(_Type.Name(reason.type), "other")
            yield self._make(kind, "", f"what fits {self._against}", _plain(reason.description))
        yield from self._disguised()
        yield from self._classes_gone()

    def _finding(self, column: str, reason: str, description: str) -> Finding:
        kind = KINDS.get(reason, "other")
        if kind == "missing_column" and column in self._found.types:
            kind = "empty"
        if kind == "missing_column":
            return self._make(kind, column, f"a column of type {self._meaning(column)}", "no such column")
        if kind == "extra_column":
            return self._make(kind, column, "no such column", f"one of type {self._found.types.get(column)}")
        if kind == "type_change":
            return self._make(kind, column, self._meaning(column), self._received(column))
        if kind == "empty":
            return self._make(kind, column, "a value in some row", "none in any row")
        if kind == "new_values":
            return self._new_values(column, description)
        if kind == "missing_values":
            return self._missing_values(column)
        if kind == "range":
            return self._range(column, description)
        return self._make(kind, column, f"what fits {self._against}", _plain(description))

    def _disguised(self) -> Iterator[Finding]:
        """Types that are all strings to TFDV."""
        for name, feature in self._features.items():
            fitting = _NO_STRINGS.get(meaning(feature))
            kind = self._found.types.get(name)
            if fitting and kind in ("text", "bytes", "date", "datetime", "image") and kind not in fitting:
                yield self._make("type_change", name, self._meaning(name), self._received(name))

    def _classes_gone(self) -> Iterator[Finding]:
        label = self._found.label
        feature = self._features.get(label.name)
        domain = None if feature is None else domain_values(self._schema, feature)
        held = [] if domain is None else list(domain.value)
        gone = [value for value in held if value not in label.classes]
        if gone and label.classes:
            expected = f"the classes {listed(held)}"
            yield self._make("label", label.name, expected, f"no {listed(gone)}")

    def _make(self, kind: str, column: str, expected: str, received: str) -> Finding:
        return Finding(kind, column, self._against, expected, received, (self._split,))

    def _meaning(self, column: str) -> str:
        return meaning(self._features[column]) if column in self._features else "another type"

    def _received(self, column: str) -> str:
        return received_type(self._found.types.get(column, "unknown"), self._seen.get(column))

    def _new_values(self, column: str, description: str) -> Finding:
        shares = distribution.strings(self._seen[column]) if column in self._seen else None
        domain = domain_values(self._schema, self._features[column])
        if shares is None or domain is None:
            return self._make("new_values", column, "known values", _plain(description))
        known = set(domain.value)
        new = [value for value in shares.share if value not in known]
        part = sum(shares.share[value] for value in new)
        expected = f"one of its {len(known):,} values"
        return self._make("new_values", column, expected, f"{listed(new)} ({part:.2%} of the values)")

    def _missing_values(self, column: str) -> Finding:
        share = distribution.missing_share(self._seen.get(column), int(self._statistics.num_examples))
        least = self._features[column].presence.min_fraction
        expected = "a value in every row" if least == 1 else f"a value in {least:.1%} of the rows"
        return self._make("missing_values", column, expected, f"none in {share:.2%} of them")

    def _range(self, column: str, description: str) -> Finding:
        feature, seen = self._features[column], self._seen[column]
        domain: Any = getattr(feature, feature.WhichOneof("domain_info") or "", None)
        low, high = getattr(domain, "min", None), getattr(domain, "max", None)
        stats = seen.num_stats
        if feature.WhichOneof("domain_info") == "bool_domain":
            expected = "0 or 1"
        elif low is None or high is None or seen.WhichOneof("stats") != "num_stats":
            return self._make("range", column, "a number in its range", _plain(description))
        else:
            expected = " and ".join(
                f"{word} {number(bound)}"
                for name, word, bound in (("min", "at least", low), ("max", "at most", high))
                if domain.HasField(name)
            )
        return self._make("range", column, expected, f"{number(stats.min)} to {number(stats.max)}")


def received_type(kind: str, seen: Any | None) -> str:
    """A column's type for a message, with some values where they tell why."""
    shares = distribution.strings(seen) if seen is not None and kind in ("text", "bytes") else None
    return f"{kind}, such as {listed(list(shares.share), 3)}" if shares else kind


def _plain(description: str) -> str:
    text = description.strip().rstrip(".")
    return text[:1].lower() + text[1:]
