"""Tables taken through ingest, statistics, schema and the checks, one after the other as runs would be."""

from __future__ import annotations

import csv
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from executors import artifact, execute

from components.errors import UserError

LABEL = "tipped"
Rows = list[dict[str, str]]


def some_rows(count: int = 1500, seed: int = 1) -> Rows:
    """Trips with numbers, whole numbers, a category, a truth, a day, a text, and a label."""
    deal = random.Random(seed)
    rows = []
    for number in range(count):
        miles = deal.expovariate(0.3)
        fare = 3 + 2 * miles + deal.gauss(0, 0.5)
        rows.append(
            {
                "fare": f"{fare:.2f}",
                "miles": f"{miles:.2f}" if deal.random() > 0.05 else "",
                "payment": deal.choice(["Cash"] * 6 + ["Card"] * 3 + ["Other"]),
                "hour": str(min(deal.randrange(24), deal.randrange(24))),
                "flag": deal.choice(["yes", "no", "no"]),
                "day": f"2026-0{deal.randrange(1, 7)}-{deal.randrange(1, 29):02}",
                "note": f"some words about trip number {number}",
                LABEL: "good" if fare + deal.gauss(0, 2) > 9 else "bad",
            }
        )
    return rows


def without(rows: Rows, column: str) -> Rows:
    """The rows without a column."""
    return [{name: value for name, value in row.items() if name != column} for row in rows]


def renamed(rows: Rows, column: str, name: str) -> Rows:
    """The rows with a column of another name."""
    return [{name if key == column else key: value for key, value in row.items()} for row in rows]


def changed(rows: Rows, column: str, function: Any) -> Rows:
    """The rows with the values of a column changed."""
    return [{**row, column: function(row[column])} for row in rows]


def _statistics(examples: Any, folder: Path) -> Any:
    """What StatisticsGen makes, without the seconds that Beam takes."""
    import pyarrow as pa
    from tensorflow_data_validation.statistics import stats_impl

    from components.example_gen.found import Found
    from components.records import split_files, splits_of
    from components.statistics_gen.batches import read
    from components.statistics_gen.config import StatisticsConfig
    from components.statistics_gen.executor import options_of
    from components.statistics_gen.files import path_of

    made = artifact("ExampleStatistics", folder, splits_of(examples))
    found = Found.load(examples.uri)
    options = options_of(StatisticsConfig(), found)
    for split in splits_of(examples):
        batches = [batch for file in split_files(examples, split) for batch in read(file, found.types)]
        (whole,) = pa.Table.from_batches(batches).combine_chunks().to_batches()
        path = Path(path_of(made.uri, split))
        path.parent.mkdir()
        statistics = stats_impl.generate_statistics_in_memory(whole, options)
        path.write_bytes(statistics.SerializeToString())
    return made


@dataclass
class Checks:
    """What one pass through the steps left."""

    examples: Any
    statistics: Any
    schema: Any
    anomalies: Any = None
    error: UserError | None = None

    @property
    def report(self) -> str:
        """The readable report, of data that passed or not."""
        if self.error:
            return self.error.files["anomalies.txt"]
        return Path(self.anomalies.uri, "anomalies.txt").read_text(encoding="utf-8")


@dataclass
class Tables:
    """Runs the steps on tables; each is compared with the last one that passed.

    Attributes:
      folder: where artifacts go.
      data: the `data` section of all of them.
    """

    folder: Path
    data: dict[str, Any] = field(default_factory=dict)
    before: Checks | None = None
    count: int = 0

    def read(self, rows: Rows, label: str = LABEL, reviewed: str = "", **data: Any) -> Checks:
        """Takes rows as far as the schema."""
        self.count += 1
        folder = self.folder / str(self.count)
        folder.mkdir(parents=True)
        with (folder / "rows.csv").open("w", newline="", encoding="utf-8") as stream:
            writer = csv.DictWriter(stream, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        made = execute(
            "example_gen",
            folder / "example_gen",
            {},
            {"examples": "Examples"},
            config={"source": str(folder / "rows.csv"), **self.data, **data},
            label=label,
            task="",
            fingerprint=str(self.count),
        )
        made["statistics"] = _statistics(made["examples"], folder / "statistics")
        made |= execute("schema_gen", folder / "schema_gen", made, {"schema": "Schema"}, reviewed=reviewed)
        return Checks(**made)

    def check(self, checks: Checks, data: dict[str, Any] | None = None, **policies: Any) -> Checks:
        """Holds what was read against the last table that passed."""
        self.count += 1
        before = self.before
        inputs = {key: getattr(checks, key) for key in ("examples", "statistics", "schema")}
        if before:
            inputs["previous_statistics"] = before.statistics
            inputs["previous_anomalies"] = before.anomalies
        folder = self.folder / str(self.count)
        folder.mkdir()
        try:
            made = execute(
                "example_validator",
                folder,
                inputs,
                {"anomalies": "ExampleAnomalies"},
                config={"validate": policies, "data": {"derive": [], "columns": {}, **(data or {})}},
            )
        except UserError as error:
            return Checks(**{key: inputs[key] for key in ("examples", "statistics", "schema")}, error=error)
        checks.anomalies = made["anomalies"]
        self.before = checks
        return checks

    def take(self, rows: Rows, **policies: Any) -> Checks:
        """Reads and checks."""
        return self.check(self.read(rows), **policies)

    def twin(self) -> Tables:
        """Another that goes on from here."""
        return Tables(self.folder / f"twin{self.count}", dict(self.data), self.before)
