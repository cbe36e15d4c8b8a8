"""A small table in which every kind of feature has every kind of trouble."""

from __future__ import annotations

import csv
import random
from pathlib import Path
from typing import Any

LABEL = "Went well?"
FEATURES: dict[str, dict[str, Any]] = {
    "trip miles": {"kind": "numeric"},
    "100% share": {"kind": "numeric", "impute": "mean", "scale": "min_max"},
    "in/out": {"kind": "numeric", "impute": 0, "scale": "none", "log": True},
    "über": {"kind": "numeric", "buckets": 4},
    "2nd": {"kind": "numeric", "impute": "median", "scale": "none"},
    "same": {"kind": "numeric"},
    "Pickup zone": {"kind": "category", "vocabulary": 3, "oov": 2},
    "self": {"kind": "category", "min_count": 20},
    "flag": {"kind": "boolean"},
    "bit": {"kind": "boolean"},
    "note": {"kind": "drop"},
}
ROWS = 600


def make_rows() -> list[dict[str, str]]:
    """The rows as the text that stands in the file."""
    deal = random.Random(7)

    def often(value: object) -> str:
        return "" if deal.random() < 0.1 else str(value)

    rows = []
    for number in range(ROWS):
        miles = deal.expovariate(0.3)
        rows.append(
            {
                "trip miles": "nan" if number % 50 == 7 else often(f"{miles:.3f}"),
                "100% share": often(f"{deal.uniform(-50, 50):.2f}"),
                "in/out": often(f"{deal.gauss(3, 3):.3f}"),
                "über": often(f"{deal.gauss(0, 10):.4f}"),
                "2nd": often(deal.randrange(-1000, 1000)),
                "same": often("4.5"),
                "Pickup zone": often(
                    deal.choice(["Loop"] * 6 + ["O'Hare"] * 4 + ["Hyde Park"] * 3 + ["é", "y"])
                ),
                "self": often(min(deal.randrange(9), deal.randrange(9))),
                "flag": often(deal.choice(["yes", "no"])),
                "bit": often(deal.randrange(2)),
                "note": f"free text {number}",
                LABEL: "good" if miles + deal.gauss(0, 1) > 2.5 else "bad",
            }
        )
    return rows


def write_rows(path: Path) -> Path:
    """Writes the table as CSV."""
    rows = make_rows()
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path
