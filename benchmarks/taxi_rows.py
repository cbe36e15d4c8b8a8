"""The taxi table at other sizes: its rows over and over, with the numbers jittered so that rows differ."""

from __future__ import annotations

import csv
import random
from pathlib import Path

import tfx

SOURCE = (
    Path(tfx.__file__).parent
    / "examples"
    / "chicago_taxi_pipeline"
    / "data"
    / "big_tipper_label"
    / "data.csv"
)
_JITTERED = ("fare", "trip_miles", "trip_seconds")


def write(path: Path, rows: int) -> Path:
    """Writes `rows` rows as CSV, unless the file is there already."""
    if path.exists():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(SOURCE, newline="") as stream:
        reader = csv.DictReader(stream)
        names, table = list(reader.fieldnames or ()), list(reader)
    deal = random.Random(1)
    partial = path.with_suffix(".partial")
    with open(partial, "w", newline="") as stream:
        writer = csv.DictWriter(stream, names)
        writer.writeheader()
        for number in range(rows):
            row = dict(table[number % len(table)])
            if number >= len(table):
                for name in _JITTERED:
                    if row[name]:
                        value = float(row[name]) * deal.uniform(0.95, 1.05)
                        row[name] = f"{value:.0f}" if name == "trip_seconds" else f"{value:.2f}"
            writer.writerow(row)
    partial.rename(path)
    return path
