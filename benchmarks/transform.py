"""StatisticsGen and Transform on the taxi table, against TFX's own of the same stack, in one run.

Usage: .venv/bin/python benchmarks/transform.py [ROWS ...]      (15002 and 1000000 by default)

Both get the same Examples, which Headrace's ExampleGen writes, and each component runs in a fresh process
that has imported its libraries before the clock starts. Stock runs the example's preprocessing_fn of the
tfx package, named rather than packaged, on Beam in memory.
"""

from __future__ import annotations

import json
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import taxi_rows
from steps import measure

FEATURES = {
    "fare": {"kind": "numeric", "log": True},
    "trip_miles": {"kind": "numeric", "log": True},
    "trip_seconds": {"kind": "numeric", "log": True},
    **{
        name: {"kind": "numeric", "buckets": 10}
        for name in ("pickup_latitude", "pickup_longitude", "dropoff_latitude", "dropoff_longitude")
    },
    **{
        name: {"kind": "category"}
        for name in ("pickup_community_area", "dropoff_community_area", "dropoff_census_tract", "company")
    },
}
EXAMPLE = "tfx.examples.chicago_taxi_pipeline.taxi_utils_native_keras"


def parameters(source: Path) -> dict[str, dict[str, dict[str, Any]]]:
    """What each executor gets beside its artifacts: side to step to that."""
    return {
        "ours": {
            # The stock example's preprocessing_fn wants its label, tips, among the columns.
            "example_gen": {
                "config": json.dumps({"source": str(source)}),
                "label": "big_tipper",
                "task": "",
                "fingerprint": "",
            },
            "statistics_gen": {"config": "{}"},
            "schema_gen": {"reviewed": ""},
            "transform": {"config": json.dumps(FEATURES), "options": "{}", "user_code": ""},
        },
        "stock": {
            "statistics_gen": {"exclude_splits": "[]"},
            "transform": {
                "preprocessing_fn": f"{EXAMPLE}.preprocessing_fn",
                "force_tf_compat_v1": 0,
                "disable_statistics": 0,
            },
        },
    }


def transformed(folder: Path, source: Path) -> dict[tuple[str, str], tuple[float, float]]:
    """Takes the table through the steps of both sides; what each took, by side and step."""
    given = parameters(source)
    order = [("ours", step) for step in given["ours"]] + [("stock", step) for step in given["stock"]]
    return {(side, step): measure(side, step, folder, given[side][step]) for side, step in order}


def main(sizes: list[int]) -> None:
    print(f"TFX {version('tfx')}, StatisticsGen + Transform")
    print("| rows | stock s | stock peak MiB | headrace s | headrace peak MiB | stock / headrace |")
    print("|---|---|---|---|---|---|")
    for rows in sizes:
        with tempfile.TemporaryDirectory() as scratch:
            took = transformed(Path(scratch), taxi_rows.write(Path(scratch) / "taxi.csv", rows))
        sides = {
            side: [took[side, step] for step in ("statistics_gen", "transform")] for side in ("stock", "ours")
        }
        (stock, stock_peak), (ours, peak) = (
            (sum(seconds for seconds, _ in side), max(peak for _, peak in side)) for side in sides.values()
        )
        print(
            f"| {rows:,} | {stock:.1f} | {stock_peak:,.0f} | {ours:.1f} | {peak:,.0f} | {stock / ours:.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:]] or [15_002, 1_000_000])
