"""What is found: one anomaly of a column, in words that a person can act on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

REVIEWED = "the reviewed schema"
INFERRED = "the schema of train"
TRAIN = "train"
BEFORE = "the data before"
LOG = "the serving log"

# Kinds that a schema can accept; of the others only the policy can say that they may be.
_OF_SCHEMA = (
    "missing_column",
    "extra_column",
    "type_change",
    "missing_values",
    "new_values",
    "range",
    "label",
)


@dataclass(frozen=True)
class Finding:
    """One thing that does not fit.

    Attributes:
      kind: of anomaly, a key of the `validate` section.
      column: its name; empty: the data as a whole.
      against: what it was held against.
      expected, received: what should have been there, and what is.
      splits: where it was seen; empty: in the data as a whole.
      measure, distance, threshold: of drift and skew.
      picture: both distributions, a line each.
      reason: the type of the anomaly in TFDV's terms; None when TFDV itself has noted it.
    """

    kind: str
    column: str
    against: str
    expected: str
    received: str
    splits: tuple[str, ...] = ()
    measure: str = ""
    distance: float | None = None
    threshold: float | None = None
    picture: tuple[str, ...] = ()
    reason: int | None = None

    @property
    def head(self) -> str:
        """The kind, where it was seen and, of drift and skew, the distance."""
        column = f"column {self.column!r}" if self.column else "the data"
        where = ", ".join(self.splits)
        if self.distance is None:
            return f"{self.kind}: {column} ({where})" if where else f"{self.kind}: {column}"
        apart = f"{self.measure} {self.distance:.3g} above {self.threshold:g}"
        return f"{self.kind}: {column} ({where} against {self.against}): {apart}"

    @property
    def expectation(self) -> str:
        """What should have been there, and how that is known."""
        known = self.kind == "other" or self.distance is not None
        return self.expected if known else f"{self.expected}, as in {self.against}"

    @property
    def sentence(self) -> str:
        """All but the pictures."""
        return f"{self.head}: expected {self.expectation}, received {self.received}"

    def as_dict(self, policy: str) -> dict[str, Any]:
        """For anomalies.json; docs/checks.md documents the shape."""
        return {
            "kind": self.kind,
            "policy": policy,
            "column": self.column,
            "splits": list(self.splits),
            "against": self.against,
            "expected": self.expected,
            "received": self.received,
            "measure": self.measure or None,
            "distance": None if self.distance is None else round(self.distance, 6),
            "threshold": self.threshold,
            "picture": list(self.picture),
        }


def merged(findings: Iterable[Finding]) -> list[Finding]:
    """The findings, those that differ by their split alone put together."""
    together: dict[Finding, list[str]] = {}
    for finding in findings:
        splits = together.setdefault(replace(finding, splits=()), [])
        splits.extend(split for split in finding.splits if split not in splits)
    return [replace(finding, splits=tuple(splits)) for finding, splits in together.items()]


def as_label(finding: Finding, label: str) -> Finding:
    """The finding as one about the label, if it is of what the label is and not of how it is distributed."""
    is_distribution = finding.kind in ("drift", "skew") or finding.against in (TRAIN, BEFORE)
    if finding.column != label or is_distribution:
        return finding
    return replace(finding, kind="label")


def remedy(findings: Iterable[Finding]) -> str:
    """How to go on: mend the data, or say that it is meant."""
    kinds = list(dict.fromkeys(finding.kind for finding in findings))
    ways = ["mend the data"]
    if any(kind in _OF_SCHEMA for kind in kinds):
        ways.append("if it is meant, accept it with `headrace schema accept`")
    lets = " ".join(f"--set validate.{kind}=warn" for kind in kinds)
    ways.append(f"let it pass with {lets}")
    return "; or ".join(ways)
