"""A TFX executor between KFP's executor input and output."""

from __future__ import annotations

import base64
import hashlib
import json
import logging
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pipeline.kubeflow.artifact_types import class_of
from pipeline.kubeflow.container import INLINE, Declared
from pipeline.kubeflow.kept import DATA, MODELS, Kept
from pipeline.kubeflow.mounts import to_path, to_uri

# What the launcher notes down for itself; no properties of the artifact.
_BOOKKEEPING = ("store_session_info", "display_name", "_kfp_")
# Says of a looked-up artifact that there was none to be found, and of one that there was where it is kept.
FOUND, KEPT_AS = "found", "kept_as"
# A model's property: URI of the examples that it has learned from.
TRAINED_ON = "trained_on"
_EXACT_IN_DOUBLE = 2**53


def execute(declared: Declared, request: Mapping[str, Any], scratch: Path) -> dict[str, Any]:
    """Runs the executor.

    Args:
      declared: the task.
      request: KFP's ExecutorInput.
      scratch: an empty folder for what need not last.

    Returns:
      KFP's ExecutorOutput, as JSON.
    """
    import absl.logging
    from tfx.dsl.components.base import base_beam_executor, base_executor
    from tfx.orchestration.portable import outputs_utils
    from tfx.utils import import_utils

    absl.logging.set_verbosity(absl.logging.INFO)
    given = request.get("inputs", {})
    inputs = dict(_inputs(declared, given))
    outputs = {
        key: [_artifact(name, entry) for entry in request["outputs"]["artifacts"][key]["artifacts"]]
        for key, name in declared.outputs.items()
    }
    parameters = dict(given.get("parameterValues", {}))
    _fit(parameters, outputs)
    outputs_utils.make_output_dirs(outputs)
    context_class: Any = base_executor.BaseExecutor.Context
    options: dict[str, Any] = {}
    if declared.beam is not None:
        context_class = base_beam_executor.BaseBeamExecutor.Context
        options = {"beam_pipeline_args": list(declared.beam)}
    context = context_class(
        tmp_dir=str(scratch / "tmp"),
        unique_id="1",
        stateful_working_dir=_lasting(declared, scratch),
        **options,
    )
    os.makedirs(context.get_tmp_path(), exist_ok=True)
    os.makedirs(scratch / "tmp", exist_ok=True)
    executor = import_utils.import_class_by_path(declared.executor)(context)
    executor.Do(inputs, outputs, parameters)
    if declared.step == "Trainer":
        for model in outputs["model"]:
            model.set_string_custom_property(TRAINED_ON, to_uri(inputs["examples"][0].uri))
    _keep(declared, inputs, outputs)
    return {
        "artifacts": {
            key: {
                "artifacts": [{"uri": to_uri(each.uri), "metadata": metadata_of(each)} for each in artifacts]
            }
            for key, artifacts in outputs.items()
        }
    }


def _inputs(declared: Declared, given: Mapping[str, Any]) -> Iterator[tuple[str, list[Any]]]:
    """Key to artifacts; an optional one for which nothing was found is left out."""
    for key, name in declared.inputs.items():
        entries = given.get("artifacts", {}).get(key, {}).get("artifacts", [])
        if key in declared.optional:
            entries = [entry for entry in entries if (entry.get("metadata") or {}).get(FOUND) != "no"]
        elif not entries:
            raise ValueError(f"the input {key!r} is missing")
        if entries:
            yield key, [_artifact(name, entry) for entry in entries]


def _artifact(name: str, entry: Mapping[str, Any]) -> Any:
    """KFP's RuntimeArtifact as a TFX artifact of the declared type, its URI the local path."""
    artifact = class_of(name)()
    artifact.uri = to_path(entry["uri"])
    artifact.id = _number(entry.get("name", ""))
    for key, value in (entry.get("metadata") or {}).items():
        if key.startswith(_BOOKKEEPING):
            continue
        declared = (artifact.PROPERTIES or {}).get(key)
        if declared is None:
            _set_custom(artifact, key, value)
        else:
            # JSON has no whole numbers.
            setattr(artifact, key, int(value) if declared.type.name == "INT" else value)
    return artifact


def _set_custom(artifact: Any, key: str, value: Any) -> None:
    """Sets a custom property of the type that the step had given it, as far as JSON tells."""
    if isinstance(value, str):
        artifact.set_string_custom_property(key, value)
    elif isinstance(value, bool | dict | list) or value is None:
        artifact.set_json_value_custom_property(key, value)
    elif float(value).is_integer():
        artifact.set_int_custom_property(key, int(value))
    else:
        artifact.set_float_custom_property(key, value)


def _number(name: str) -> int:
    """An artifact's name as the number that TFX takes for its id; JSON can keep it exactly."""
    if name.isdigit():
        return int(name)
    return int(hashlib.sha256(name.encode()).hexdigest(), 16) % _EXACT_IN_DOUBLE


def metadata_of(artifact: Any) -> dict[str, Any]:
    """The properties of an artifact, and the custom ones, as JSON; paths in the pod become URIs."""
    from tfx.types import artifact as artifacts

    found: dict[str, Any] = {}
    proto = artifact.mlmd_artifact
    for key, value in (*proto.properties.items(), *proto.custom_properties.items()):
        kind = value.WhichOneof("value")
        if kind == "struct_value":
            found[key] = artifacts._decode_struct_value(value.struct_value)
        elif kind:
            found[key] = getattr(value, kind)
        if isinstance(found.get(key), str):
            found[key] = to_uri(found[key])
    return found


def _fit(parameters: dict[str, Any], outputs: Mapping[str, list[Any]]) -> None:
    """Puts into the parameters what only the pod knows."""
    code = parameters.get("user_code", "")
    if code.startswith(INLINE):
        content = base64.b64decode(code.removeprefix(INLINE))
        # The same place in every pod: a checkpoint is found by the parameters.
        archive = Path(tempfile.gettempdir(), "headrace", f"{hashlib.sha256(content).hexdigest()}.zip")
        archive.parent.mkdir(exist_ok=True)
        archive.write_bytes(content)
        parameters["user_code"] = str(archive)
    if "pushed_model" in outputs:
        config = json.loads(parameters["config"])
        # Without a folder on a claim, the versions go into the artifact.
        config["to"] = config["to"] or outputs["pushed_model"][0].uri
        parameters["config"] = json.dumps(config)


def _lasting(declared: Declared, scratch: Path) -> str:
    """Where a training finds its checkpoint after its pod was lost: on a claim, if there is one."""
    base = declared.keep if declared.keep.startswith("/") else str(scratch)
    return f"{base}/{declared.step}/.system/stateful_working_dir/1"


def _keep(declared: Declared, inputs: Mapping[str, list[Any]], outputs: Mapping[str, list[Any]]) -> None:
    """Keeps for the next run what it will be compared with."""
    if not declared.keep:
        return
    if declared.step == "Evaluator":
        model, blessing = inputs["model"][0], outputs["blessing"][0]
        if not blessing.get_int_custom_property("blessed"):
            return
        record = Kept(declared.keep).put(
            MODELS,
            to_uri(model.uri),
            {"model": model.uri},
            facts={TRAINED_ON: model.get_string_custom_property(TRAINED_ON)},
            metadata={"model": metadata_of(model)},
        )
    elif declared.step == "ExampleValidator":
        statistics, anomalies = inputs["statistics"][0], outputs["anomalies"][0]
        before = inputs.get("previous_statistics", [])
        record = Kept(declared.keep).put(
            DATA,
            statistics.get_string_custom_property("data"),
            {"statistics": statistics.uri, "anomalies": anomalies.uri},
            facts={"previous": before[0].get_string_custom_property(KEPT_AS) if before else ""},
            metadata={"statistics": metadata_of(statistics), "anomalies": metadata_of(anomalies)},
        )
    else:
        return
    logging.getLogger(__name__).info("kept as %s in %s", record.key, declared.keep)
