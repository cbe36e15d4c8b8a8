"""Runs the components' executors on artifacts, with nothing around them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tfx.dsl.components.base import base_beam_executor, base_executor
from tfx.types import Artifact, artifact_utils, standard_artifacts
from tfx.utils import import_utils

from pipeline.beam import BeamConfig
from pipeline.config import load_config
from pipeline.graph import build_pipeline
from pipeline.inputs import gather

_DEFAULTS: dict[str, Any] = {"config": {}, "reviewed": "", "log_fingerprint": ""}


def artifact(kind: str, uri: Path | str, splits: list[str] | None = None, number: int = 0) -> Any:
    """A standard artifact at a place."""
    made = getattr(standard_artifacts, kind)()
    made.uri = str(uri)
    made.id = number
    if splits:
        made.split_names = artifact_utils.encode_split_names(splits)
    Path(uri).mkdir(parents=True, exist_ok=True)
    return made


def execute(
    component: str, folder: Path, inputs: dict[str, Artifact], outputs: dict[str, str], **parameters: Any
) -> dict[str, Any]:
    """Runs the executor of `components.COMPONENT`.

    Args:
      component: the component's folder.
      folder: outputs go below it.
      inputs: key to the one artifact there.
      outputs: key to the artifact's type.
      parameters: text as it is, all else as JSON; a config that is left out is all defaults.

    Returns:
      Key to output artifact.
    """
    executor = import_utils.import_class_by_path(f"components.{component}.executor.Executor")
    base: Any = base_executor.BaseExecutor.Context
    options: dict[str, Any] = {}
    if issubclass(executor, base_beam_executor.BaseBeamExecutor):
        base = base_beam_executor.BaseBeamExecutor.Context
        options = {"beam_pipeline_args": BeamConfig().pipeline_args()}
    made = {key: artifact(kind, folder / key) for key, kind in outputs.items()}
    (folder / "tmp").mkdir(parents=True, exist_ok=True)
    kept = folder / ".system" / "stateful_working_dir" / "1"
    context = base(tmp_dir=str(folder / "tmp"), unique_id="1", stateful_working_dir=str(kept), **options)
    executor(context).Do(
        {key: [value] for key, value in inputs.items()},
        {key: [value] for key, value in made.items()},
        {
            key: value if isinstance(value, str) else json.dumps(value)
            for key, value in {**_DEFAULTS, **parameters}.items()
        },
    )
    return made


def run_steps(source: Path, label: str, *steps: str, **sections: Any) -> dict[str, Any]:
    """Runs the first steps of the graph on a table, one after the other, without ML Metadata.

    Args:
      source: the table; what the steps make goes beside it.
      label: its label.
      steps: names of components, in order.
      sections: of pipeline.yaml.

    Returns:
      Output key to artifact, of all steps.
    """
    folder = source.parent
    (folder / "pipeline.yaml").write_text(
        json.dumps({"data": {"source": source.name}, "label": label, **sections})
    )
    config = load_config(folder)
    graph = build_pipeline(config, gather(config), root=folder)
    components = {component.id: component for component in graph.components}
    made: dict[tuple[str, str], Any] = {}
    for name in steps:
        component = components[name]
        ties = {key: (tie.producer_component_id, tie.output_key) for key, tie in component.inputs.items()}
        outputs = execute(
            component.executor_spec._class_path.split(".")[1],
            folder / name,
            {key: made[tie] for key, tie in ties.items() if tie in made},
            {key: channel.type_name for key, channel in component.outputs.items()},
            **component.exec_properties,
        )
        made.update(((name, key), output) for key, output in outputs.items())
    return {key: output for (_, key), output in made.items()}
