"""The pipeline as Kubeflow's PipelineSpec 2.1, and the platform document beside it."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.config import PipelineConfig
from pipeline.kubeflow import artifact_types, pods
from pipeline.kubeflow.container import MODULE, Declared
from pipeline.kubeflow.graph_tasks import DATA_TASK, SOURCE_TASK, From, Runtime, Task, step_tasks
from pipeline.kubeflow.inputs import gather, keep_of, source_of
from pipeline.kubeflow.mounts import is_object
from pipeline.sections import as_json

SCHEMA_VERSION = "2.1.0"
SOURCE, SPAN = "data_source", "data_span"
_STRING = {"parameterType": "STRING"}


@dataclass(frozen=True)
class Compiled:
    """What goes to the cluster.

    Attributes:
      spec: the PipelineSpec, as JSON has it.
      platform: what of the pods is Kubernetes' own; empty: nothing.
      notes: what a person should know of it.
    """

    spec: dict[str, Any]
    platform: dict[str, Any]
    notes: tuple[str, ...] = ()

    def text(self) -> str:
        """Both as YAML; the same pipeline is the same text."""
        from ruamel.yaml import YAML

        yaml = YAML()
        yaml.width = 1 << 20
        stream = io.StringIO()
        documents = [_quoted(self.spec), *([_quoted(self.platform)] if self.platform else [])]
        yaml.dump_all(documents, stream)
        return stream.getvalue()


def compile_pipeline(config: PipelineConfig) -> Compiled:
    """Compiles a pipeline for Kubeflow.

    Raises:
      UserError: something that it needs is not there, or can only be reached from this machine.
    """
    inputs = gather(config)
    keep = keep_of(config)
    from tfx.dsl.compiler import compiler

    from pipeline.graph import build_pipeline

    graph = build_pipeline(config, inputs, root=Path("/unused"))
    tasks = {task.declared.step: task for task in step_tasks(compiler.Compiler().compile(graph), keep)}
    source, inside = source_of(config)
    imports = is_object(source)
    _feed(tasks, config, source, inside, imports)
    parameters = {SPAN: {**_STRING, "defaultValue": _span_text(config)}}
    if source:
        parameters[SOURCE] = {**_STRING, "defaultValue": source}
    return Compiled(
        spec=_spec(config, tasks, parameters, imports),
        platform=pods.platform_document(config, _executors(tasks)),
        notes=tuple(_notes(config, keep)),
    )


def _span_text(config: PipelineConfig) -> str:
    span = config.data.model_dump(mode="json")["span"]
    return span if isinstance(span, str) else json.dumps(span)


def _feed(tasks: dict[str, Task], config: PipelineConfig, source: str, inside: str, imports: bool) -> None:
    """Adds the task that looks at the data, and lets the steps take from it what it finds."""
    looking = Task(
        Declared(step=DATA_TASK, task="look_at_data", inputs={"source": "Dataset"} if imports else {}),
        parameters={"config": as_json(config.located_data), "span": Runtime(SPAN)},
        results=("config", "fingerprint", "serving_log"),
        cached=False,
    )
    log = config.located_validation.serving_log
    looking.parameters["serving_log"] = str(log or "")
    generate = tasks["ExampleGen"]
    if imports:
        looking.artifacts["source"] = generate.artifacts["source"] = From(SOURCE_TASK, "artifact")
        looking.parameters["inside"] = inside
    elif source:
        looking.parameters["source"] = Runtime(SOURCE)
    generate.parameters.update(config=From(DATA_TASK, "config"), fingerprint=From(DATA_TASK, "fingerprint"))
    tasks["ExampleValidator"].parameters["log_fingerprint"] = From(DATA_TASK, "serving_log")
    if not config.push.to:
        # The container puts the versions into the artifact instead.
        push = json.loads(str(tasks["Pusher"].parameters["config"]))
        tasks["Pusher"].parameters["config"] = json.dumps({**push, "to": None}, sort_keys=True)
    tasks[DATA_TASK] = looking


def _spec(
    config: PipelineConfig, tasks: Mapping[str, Task], parameters: dict[str, Any], imports: bool
) -> dict[str, Any]:
    components = {name: _component(name, task) for name, task in tasks.items()}
    written = {name: _task(name, task, config) for name, task in tasks.items()}
    executors = {_label(name): {"container": _container(name, task, config)} for name, task in tasks.items()}
    if imports:
        components[SOURCE_TASK] = {
            "executorLabel": _label(SOURCE_TASK),
            "inputDefinitions": {"parameters": {"uri": _STRING}},
            "outputDefinitions": {"artifacts": {"artifact": {"artifactType": artifact_types.DATASET}}},
        }
        written[SOURCE_TASK] = {
            "taskInfo": {"name": SOURCE_TASK},
            "componentRef": {"name": SOURCE_TASK},
            "cachingOptions": {},
            "inputs": {"parameters": {"uri": {"componentInputParameter": SOURCE}}},
        }
        executors[_label(SOURCE_TASK)] = {
            "importer": {
                "artifactUri": {"runtimeParameter": "uri"},
                "typeSchema": artifact_types.DATASET,
            }
        }
    return {
        "schemaVersion": SCHEMA_VERSION,
        "sdkVersion": "headrace",
        "pipelineInfo": {"name": config.name.lower()},
        **({"defaultPipelineRoot": config.kubeflow.root} if config.kubeflow.root else {}),
        "root": {"inputDefinitions": {"parameters": parameters}, "dag": {"tasks": written}},
        "components": components,
        "deploymentSpec": {"executors": executors},
    }


def _label(name: str) -> str:
    return f"{name}_executor"


def _executors(tasks: Mapping[str, Task]) -> dict[str, str]:
    """Executor label to the step whose pod it is like."""
    return {_label(name): pods.step_of(name) for name in tasks}


def _component(name: str, task: Task) -> dict[str, Any]:
    inputs: dict[str, Any] = {}
    if task.artifacts:
        inputs["artifacts"] = {key: _input_artifact(task.declared, key) for key in task.artifacts}
    if task.parameters:
        inputs["parameters"] = dict.fromkeys(task.parameters, _STRING)
    outputs: dict[str, Any] = {}
    if task.declared.outputs:
        outputs["artifacts"] = {
            key: {"artifactType": artifact_types.schema_of(kind)}
            for key, kind in task.declared.outputs.items()
        }
    if task.results:
        outputs["parameters"] = dict.fromkeys(task.results, _STRING)
    return {
        "executorLabel": _label(name),
        **({"inputDefinitions": inputs} if inputs else {}),
        **({"outputDefinitions": outputs} if outputs else {}),
    }


def _input_artifact(declared: Declared, key: str) -> dict[str, Any]:
    if key == "source":
        return {"artifactType": artifact_types.DATASET}
    optional = {"isOptional": True} if key in declared.optional else {}
    return {"artifactType": artifact_types.schema_of(declared.inputs[key]), **optional}


def _task(name: str, task: Task, config: PipelineConfig) -> dict[str, Any]:
    inputs: dict[str, Any] = {}
    if task.artifacts:
        inputs["artifacts"] = {
            key: {"taskOutputArtifact": {"producerTask": each.task, "outputArtifactKey": each.key}}
            for key, each in task.artifacts.items()
        }
    if task.parameters:
        inputs["parameters"] = {key: _value(each) for key, each in task.parameters.items()}
    taken = [*task.artifacts.values(), *(each for each in task.parameters.values() if isinstance(each, From))]
    waits = sorted({each.task for each in taken} | set(task.after))
    return {
        "taskInfo": {"name": name},
        "componentRef": {"name": name},
        "cachingOptions": {"enableCache": True} if task.cached else {},
        **({"dependentTasks": waits} if waits else {}),
        **({"inputs": inputs} if inputs else {}),
        **pods.retry_policy(config.kubeflow.pod(pods.step_of(name))),
    }


def _value(value: str | From | Runtime) -> dict[str, Any]:
    if isinstance(value, From):
        return {"taskOutputParameter": {"producerTask": value.task, "outputParameterKey": value.key}}
    if isinstance(value, Runtime):
        return {"componentInputParameter": value.name}
    return {"runtimeValue": {"constant": value}}


def _container(name: str, task: Task, config: PipelineConfig) -> dict[str, Any]:
    pod = config.kubeflow.pod(pods.step_of(name))
    return {
        "image": config.kubeflow.image,
        "command": ["python", "-m", MODULE],
        "args": task.declared.arguments(),
        **pods.environment(pod),
        # A task beside the steps needs next to nothing, and no accelerator.
        **(pods.resources(pod) if task.declared.executor else {}),
    }


def _notes(config: PipelineConfig, keep: str) -> list[str]:
    said = []
    if not keep:
        said.append(
            "kubeflow.keep is not set: no model is held against the one before, and no data either; "
            "only the floors of evaluate.gate hold"
        )
    if not config.push.to:
        said.append(
            "push.to is not set: each pushed version lies in its run's artifact `pushed_model`; "
            "name a folder on a claim to have them side by side"
        )
    return said


def _quoted(value: Any) -> Any:
    """The same value with sorted keys, all text in quotes: YAML 1.1 takes `on` and 1:30 for other things."""
    from ruamel.yaml.scalarstring import DoubleQuotedScalarString

    if isinstance(value, Mapping):
        return {_key(key): _quoted(value[key]) for key in sorted(value)}
    if isinstance(value, list | tuple):
        return [_quoted(each) for each in value]
    return DoubleQuotedScalarString(value) if isinstance(value, str) else value


def _key(key: str) -> str:
    from ruamel.yaml.scalarstring import DoubleQuotedScalarString

    plain = re.fullmatch(r"[A-Za-z][-A-Za-z0-9_./]{3,}", key) and key.lower() not in ("true", "false", "null")
    return key if plain else DoubleQuotedScalarString(key)
