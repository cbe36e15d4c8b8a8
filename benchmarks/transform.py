"""StatisticsGen and Transform on the taxi table, against TFX's own of the same stack, in one run.

Usage: .venv/bin/python benchmarks/transform.py [ROWS ...]      (15002 and 1000000 by default)

Both get the same Examples, which Headrace's ExampleGen writes, and each component runs in a fresh process
that has imported its libraries before the clock starts. Stock runs the example's preprocessing_fn of the
tfx package, named rather than packaged, on Beam in memory.
"""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import taxi_rows

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
STOCK_FUNCTION = "tfx.examples.chicago_taxi_pipeline.taxi_utils_native_keras.preprocessing_fn"
OUTPUTS = {
    "ours": {
        "example_gen": {"examples": "Examples"},
        "statistics_gen": {"statistics": "ExampleStatistics"},
        "schema_gen": {"schema": "Schema"},
        "transform": {"transform_graph": "TransformGraph", "transformed_examples": "Examples"},
    },
}
OUTPUTS["stock"] = {
    "statistics_gen": OUTPUTS["ours"]["statistics_gen"],
    "transform": {
        **OUTPUTS["ours"]["transform"],
        "updated_analyzer_cache": "TransformCache",
        "pre_transform_schema": "Schema",
        "pre_transform_stats": "ExampleStatistics",
        "post_transform_schema": "Schema",
        "post_transform_stats": "ExampleStatistics",
        "post_transform_anomalies": "ExampleAnomalies",
    },
}


def parameters(side: str, step: str, source: str) -> dict[str, Any]:
    """What the executor gets beside its artifacts."""
    if side == "stock":
        return (
            {"preprocessing_fn": STOCK_FUNCTION, "force_tf_compat_v1": 0, "disable_statistics": 0}
            if step == "transform"
            else {"exclude_splits": "[]"}
        )
    return {
        "example_gen": {
            # The stock example's preprocessing_fn wants its label, tips, among the columns.
            "config": json.dumps({"source": source}),
            "label": "big_tipper",
            "task": "",
            "fingerprint": "",
        },
        "statistics_gen": {"config": "{}"},
        "schema_gen": {"reviewed": ""},
        "transform": {"config": json.dumps(FEATURES), "options": "{}", "user_code": ""},
    }.get(step, {})


def child(side: str, step: str, folder: Path, source: str) -> None:
    """Runs one executor on the artifacts in `folder`; prints seconds and peak MiB."""
    import resource

    from tfx.dsl.components.base import base_beam_executor, base_executor
    from tfx.types import artifact_utils, standard_artifacts
    from tfx.utils import import_utils

    from pipeline.beam import BeamConfig

    root = "components" if side == "ours" else "tfx.components"
    executor = import_utils.import_class_by_path(f"{root}.{step}.executor.Executor")
    kept = folder / "artifacts.pkl"
    store = pickle.loads(kept.read_bytes()) if kept.exists() else {}
    wanted = {
        "statistics_gen": ["examples"],
        "schema_gen": ["statistics", "examples"],
        "transform": ["examples", "schema"],
    }.get(step, [])
    inputs = {}
    for key in wanted:
        type_name, message = store[key]
        artifact = getattr(standard_artifacts, type_name)()
        artifact.set_mlmd_artifact(message)
        inputs[key] = [artifact]
    outputs = {}
    for key, type_name in OUTPUTS[side][step].items():
        artifact = getattr(standard_artifacts, type_name)()
        artifact.uri = str(folder / side / step / key)
        Path(artifact.uri).mkdir(parents=True, exist_ok=True)
        if type_name == "Examples":
            artifact.split_names = artifact_utils.encode_split_names(["train", "eval", "test"])
        outputs[key] = [artifact]
    context: Any = base_executor.BaseExecutor.Context
    options: dict[str, Any] = {}
    if issubclass(executor, base_beam_executor.BaseBeamExecutor):
        context = base_beam_executor.BaseBeamExecutor.Context
        options = {"beam_pipeline_args": BeamConfig().pipeline_args()}
    scratch = folder / f"{side}-{step}-tmp"
    scratch.mkdir(exist_ok=True)
    made = executor(context(tmp_dir=str(scratch), unique_id="1", **options))
    began = time.monotonic()
    made.Do(inputs, outputs, parameters(side, step, source))
    seconds = time.monotonic() - began
    if side == "ours":
        for key, artifacts in outputs.items():
            store[key] = (type(artifacts[0]).__name__, artifacts[0].mlmd_artifact)
        kept.write_bytes(pickle.dumps(store))
    print(json.dumps([seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))


def measure(side: str, step: str, folder: Path, source: Path) -> tuple[float, float]:
    """Seconds and peak MiB of one executor in a process of its own."""
    command = [sys.executable, __file__, "--child", side, step, str(folder), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{side} {step} failed\n{done.stderr[-4000:]}")
    seconds, peak = json.loads(done.stdout.strip().splitlines()[-1])
    return seconds, peak


def main(sizes: list[int]) -> None:
    print(f"TFX {version('tfx')}, StatisticsGen + Transform")
    print("| rows | stock s | stock peak MiB | headrace s | headrace peak MiB | stock / headrace |")
    print("|---|---|---|---|---|---|")
    for rows in sizes:
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            source = taxi_rows.write(folder / "taxi.csv", rows)
            measure("ours", "example_gen", folder, source)
            ours = [measure("ours", "statistics_gen", folder, source)]
            measure("ours", "schema_gen", folder, source)
            ours.append(measure("ours", "transform", folder, source))
            stock = [measure("stock", step, folder, source) for step in ("statistics_gen", "transform")]
            times = [sum(seconds for seconds, _ in side) for side in (stock, ours)]
            peaks = [max(peak for _, peak in side) for side in (stock, ours)]
            print(
                f"| {rows:,} | {times[0]:.1f} | {peaks[0]:,.0f} | {times[1]:.1f} | {peaks[1]:,.0f} "
                f"| {times[0] / times[1]:.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2], sys.argv[3], Path(sys.argv[4]), sys.argv[5])
    else:
        main([int(size) for size in sys.argv[1:]] or [15_002, 1_000_000])
