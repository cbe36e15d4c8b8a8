"""The report of the checks: for a person, for a program, and for TFX's own viewers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from components.errors import UserError
from components.example_validator.config import ValidateConfig
from components.example_validator.distance import L_INFINITY
from components.example_validator.findings import Finding, remedy
from components.example_validator.schema_checks import pb

TEXT_FILE, JSON_FILE = "anomalies.txt", "anomalies.json"
_SHOWN = 5
_SUMMED = 3
_ORDER = ("fail", "warn")


class Report:
    """What was found, by what the config says of it.

    Args:
      findings: all of them.
      config: the `validate` section.
    """

    def __init__(self, findings: Sequence[Finding], config: ValidateConfig) -> None:
        self._policy = config
        heard = [finding for finding in findings if self.policy(finding) != "ignore"]
        self.findings = sorted(heard, key=lambda each: _ORDER.index(self.policy(each)))

    def policy(self, finding: Finding) -> str:
        """What the config says of findings of this kind."""
        return str(getattr(self._policy, finding.kind))

    @property
    def failures(self) -> list[Finding]:
        return [finding for finding in self.findings if self.policy(finding) == "fail"]

    @property
    def warnings(self) -> list[Finding]:
        return [finding for finding in self.findings if self.policy(finding) == "warn"]

    @property
    def counted(self) -> str:
        """How many there are: 1 failure, 2 warnings."""
        kinds = [(len(self.failures), "failure"), (len(self.warnings), "warning")]
        return ", ".join(f"{n} {word}{'s' if n > 1 else ''}" for n, word in kinds if n) or "no anomalies"

    @property
    def summary(self) -> str:
        """One sentence."""
        said = [finding.sentence for finding in self.findings]
        more = f"; and {len(said) - _SUMMED} more" if len(said) > _SUMMED else ""
        return f"{self.counted}: {'; '.join(said[:_SUMMED])}{more}" if said else self.counted

    def text(self) -> str:
        """All of it, for a person."""
        lines = [f"The data: {self.counted}."]
        for finding in self.findings:
            lines += ["", *_paragraph(finding, self.policy(finding).upper())]
        if self.failures:
            lines += ["", f"To go on: {remedy(self.failures)}."]
        return "\n".join(lines) + "\n"

    def json(self) -> str:
        """All of it, for a program."""
        return json.dumps(
            {
                "verdict": "fail" if self.failures else "pass",
                "findings": [finding.as_dict(self.policy(finding)) for finding in self.findings],
            },
            indent=1,
            ensure_ascii=False,
        )

    def files(self) -> dict[str, str]:
        """Name to content of the report's files."""
        return {TEXT_FILE: self.text(), JSON_FILE: self.json()}

    def error(self) -> UserError:
        """The failures as the error that ends the step, with the whole report in it."""
        failures = self.failures
        lines = [
            f"{len(failures)} of the checks of the data failed"
            if len(failures) > 1
            else "a check of the data failed"
        ]
        for finding in failures[:_SHOWN]:
            lines += [f"  {line}" for line in _paragraph(finding, "")]
        if len(failures) > _SHOWN:
            lines.append(f"  … and {len(failures) - _SHOWN} more; the report has them all")
        return UserError("\n".join(lines), fix=remedy(failures), files=self.files())


def into_proto(finding: Finding, policy: str, anomalies: Any) -> None:
    """Notes a finding of ours in TFDV's record of a split, for TFX's own viewers."""
    if finding.reason is None:
        return
    info = anomalies.anomaly_info[finding.column] if finding.column else anomalies.dataset_anomaly_info
    short = finding.kind.replace("_", " ")
    said = f"Expected {finding.expectation}; received {finding.received}."
    info.reason.add(type=finding.reason, short_description=short, description=said)
    many = len(info.reason) > 1
    info.short_description = "Multiple errors" if many else short
    info.description = " ".join(reason.description for reason in info.reason)
    severity = pb.AnomalyInfo.ERROR if policy == "fail" else pb.AnomalyInfo.WARNING
    info.severity = max(info.severity, severity)
    if finding.column:
        info.path.step[:] = [finding.column]
    if finding.distance is not None:
        drift = anomalies.drift_skew_info.add()
        drift.path.step.append(finding.column)
        measured = drift.drift_measurements if finding.kind == "drift" else drift.skew_measurements
        kind = "L_INFTY" if finding.measure == L_INFINITY else "JENSEN_SHANNON_DIVERGENCE"
        measured.add(type=kind, value=finding.distance, threshold=finding.threshold)


def _paragraph(finding: Finding, policy: str) -> Iterator[str]:
    yield f"{policy}  {finding.head}".strip()
    yield f"  expected {finding.expectation}"
    yield f"  received {finding.received}"
    for line in finding.picture:
        yield f"    {line}"
