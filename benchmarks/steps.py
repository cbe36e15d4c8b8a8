"""Executors of ours and of stock TFX, each in a fresh process that has imported its libraries first.

`python benchmarks/steps.py SIDE STEP FOLDER PARAMETERS` runs one on the artifacts that lie in FOLDER, and
prints its seconds and its peak memory in MiB. Both sides read the Examples that our ExampleGen writes.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

INPUTS = {
    "example_gen": {},
    "statistics_gen": {"examples": "ours/examples"},
    "schema_gen": {"statistics": "ours/statistics", "examples": "ours/examples"},
    "transform": {"examples": "ours/examples", "schema": "ours/schema"},
    "trainer": {
        "examples": "{side}/transformed_examples",
        "transform_graph": "{side}/transform_graph",
        "schema": "ours/schema",
    },
}
_COMMON = {
    "example_gen": {"examples": "Examples"},
    "statistics_gen": {"statistics": "ExampleStatistics"},
    "schema_gen": {"schema": "Schema"},
    "transform": {"transform_graph": "TransformGraph", "transformed_examples": "Examples"},
    "trainer": {"model": "Model", "model_run": "ModelRun"},
}
OUTPUTS = {
    "ours": _COMMON,
    "stock": {
        **_COMMON,
        "transform": {
            **_COMMON["transform"],
            "updated_analyzer_cache": "TransformCache",
            "pre_transform_schema": "Schema",
            "pre_transform_stats": "ExampleStatistics",
            "post_transform_schema": "Schema",
            "post_transform_stats": "ExampleStatistics",
            "post_transform_anomalies": "ExampleAnomalies",
        },
    },
}
# TFX's Trainer has two executors; the components use the generic one.
_CLASSES = {("stock", "trainer"): "tfx.components.trainer.executor.GenericExecutor"}


def measure(side: str, step: str, folder: Path, parameters: dict[str, Any]) -> tuple[float, float]:
    """Seconds and peak MiB of one executor in a process of its own."""
    command = [sys.executable, "-W", "ignore", __file__, side, step, str(folder), json.dumps(parameters)]
    # Under Keras 3 the example of the older TFX fails in its Trainer.
    old = side == "stock" and version("tfx").startswith("1.16")
    environment = {**os.environ, **({"TF_USE_LEGACY_KERAS": "1"} if old else {})}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        sys.exit(f"{side} {step} failed\n{done.stderr[-4000:]}")
    seconds, peak = json.loads(done.stdout.strip().splitlines()[-1])
    return seconds, peak


def run(side: str, step: str, folder: Path, parameters: dict[str, Any]) -> None:
    """Runs one executor in this process; prints seconds and peak MiB."""
    import resource

    from tfx.dsl.components.base import base_beam_executor, base_executor
    from tfx.types import artifact_utils, standard_artifacts
    from tfx.utils import import_utils

    from pipeline.beam import BeamConfig

    package = "components" if side == "ours" else "tfx.components"
    executor = import_utils.import_class_by_path(
        _CLASSES.get((side, step), f"{package}.{step}.executor.Executor")
    )
    kept = folder / "artifacts.pkl"
    store = pickle.loads(kept.read_bytes()) if kept.exists() else {}
    inputs = {}
    for key, place in INPUTS[step].items():
        type_name, message = store[place.format(side=side)]
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
    made.Do(inputs, outputs, parameters)
    seconds = time.monotonic() - began
    for key, artifacts in outputs.items():
        store[f"{side}/{key}"] = (type(artifacts[0]).__name__, artifacts[0].mlmd_artifact)
    kept.write_bytes(pickle.dumps(store))
    print(json.dumps([seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))


if __name__ == "__main__":
    run(sys.argv[1], sys.argv[2], Path(sys.argv[3]), json.loads(sys.argv[4]))
