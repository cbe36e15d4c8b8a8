"""What Kubeflow's backend would break on, found before it is sent: one small function, one sentence, a rule.

The backend checks little at the upload; most mistakes show when a run is created, or when its pods start.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from components.errors import UserError
from pipeline.kubeflow.container import EXECUTOR_INPUT, MODULE, Declared
from pipeline.kubeflow.mounts import FOLDERS, has_name, is_object

_MOST_BYTES = 1_000_000  # etcd takes 1.5 MB for a workflow, and Argo adds to the spec
_MOST_ARGUMENT = 120_000  # Linux takes 131,072 bytes in one argument; the artifacts of a task are in it, too
_TASK = re.compile(r"[a-zA-Z0-9][-a-zA-Z0-9]*")
_PIPELINE = re.compile(r"[a-z0-9]([-a-z0-9]{0,126}[a-z0-9])?")
_ENV = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SECRET_NAME = re.compile(r"password|passwd|secret|token|access_?key|api_?key|credential", re.IGNORECASE)
_SECRET_URL = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]{0,30}://[^/\s:@]+:[^/\s@]+@")
_DURATION = re.compile(r"[0-9]+(\.[0-9]+)?s")
_TITLE = re.compile(r"title: \S+")
_TAKEN = re.compile(r"\{\{|\$\$|\$\([A-Za-z_][-.\w]*\)")
_ROOT = re.compile(r"(gs|s3|minio)://[^/?*\[\s]+(/[^?*\[\s]*)?")

Found = Iterator[tuple[str, str]]


@dataclass(frozen=True)
class Spec:
    """A compiled pipeline, as the rules look at it."""

    spec: Mapping[str, Any]
    platform: Mapping[str, Any]

    @property
    def tasks(self) -> Mapping[str, Any]:
        return self.spec.get("root", {}).get("dag", {}).get("tasks", {})

    @property
    def components(self) -> Mapping[str, Any]:
        return self.spec.get("components", {})

    @property
    def executors(self) -> Mapping[str, Any]:
        return self.spec.get("deploymentSpec", {}).get("executors", {})

    @property
    def containers(self) -> Mapping[str, Any]:
        """Executor label to container."""
        return {name: each["container"] for name, each in self.executors.items() if "container" in each}

    @property
    def pods(self) -> Mapping[str, Any]:
        """Executor label to what the platform document says."""
        kubernetes = self.platform.get("platforms", {}).get("kubernetes", {})
        return kubernetes.get("deploymentSpec", {}).get("executors", {})

    def component_of(self, task: str) -> Mapping[str, Any]:
        name = self.tasks.get(task, {}).get("componentRef", {}).get("name", "")
        return self.components.get(name, {})

    def constants(self) -> Iterator[tuple[str, str]]:
        """Place and text of everything in the spec that is written into it."""
        for task, each in self.tasks.items():
            for key, value in each.get("inputs", {}).get("parameters", {}).items():
                constant = value.get("runtimeValue", {}).get("constant")
                if isinstance(constant, str):
                    yield f"{task}.{key}", constant
        for name, value in self._root_parameters().items():
            if isinstance(value.get("defaultValue"), str):
                yield name, value["defaultValue"]
        for label, container in self.containers.items():
            for number, text in enumerate(container.get("args", [])):
                yield f"{label}.args[{number}]", text
            for entry in container.get("env", []):
                yield f"{label}.env.{entry['name']}", entry["value"]

    def _root_parameters(self) -> Mapping[str, Any]:
        return self.spec.get("root", {}).get("inputDefinitions", {}).get("parameters", {})


def check_schema_version(spec: Spec) -> Found:
    """The backend runs schema version 2.1.0 only."""
    if spec.spec.get("schemaVersion") != "2.1.0":
        yield "schemaVersion", f"expected 2.1.0, received {spec.spec.get('schemaVersion')}"


def check_pipeline_name(spec: Spec) -> Found:
    """The pipeline's name becomes the workflow's: small letters, digits and dashes."""
    name = spec.spec.get("pipelineInfo", {}).get("name", "")
    if not _PIPELINE.fullmatch(name):
        yield "pipelineInfo.name", f"received {name!r}"


def check_task_names(spec: Spec) -> Found:
    """A task's name has letters, digits and dashes, and nothing else."""
    for name in spec.tasks:
        if not _TASK.fullmatch(name):
            yield name, "the backend cannot make a node of this name"


def check_executor_kinds(spec: Spec) -> Found:
    """The backend runs containers and importers; resolvers it refuses when the run is created."""
    for label, executor in spec.executors.items():
        if "container" not in executor and "importer" not in executor:
            yield label, f"received {', '.join(executor) or 'nothing'}"


def check_references(spec: Spec) -> Found:
    """Every task has a component, and every component an executor."""
    for name, task in spec.tasks.items():
        component = spec.components.get(task.get("componentRef", {}).get("name"))
        if component is None:
            yield name, "its component is not there"
        elif component.get("executorLabel") not in spec.executors:
            yield name, f"its executor {component.get('executorLabel')} is not there"


def check_entrypoint(spec: Spec) -> Found:
    """A container runs our entrypoint: TFX's own stops at empty artifact types and at `executor-logs`."""
    for label, container in spec.containers.items():
        if container.get("command", [])[-2:] != ["-m", MODULE]:
            yield label, f"received the command {' '.join(container.get('command', []))!r}"


def check_declarations(spec: Spec) -> Found:
    """A container is told what its component declares, since the driver does not tell it."""
    for name in spec.tasks:
        component = spec.component_of(name)
        container = spec.containers.get(component.get("executorLabel", ""))
        if container is None:
            continue
        arguments = container.get("args", [])
        if "--declared" not in arguments:
            yield name, "its container is not told what it takes and gives"
            continue
        declared = Declared.parse(arguments[arguments.index("--declared") + 1])
        for side, told in (("inputDefinitions", declared.inputs), ("outputDefinitions", declared.outputs)):
            missing = set(told) ^ set(component.get(side, {}).get("artifacts", {}))
            # ExampleGen has its source for the launcher's sake only.
            if missing - {"source"}:
                yield name, f"{side} and the container's arguments differ in {', '.join(sorted(missing))}"


def check_hooks(spec: Spec) -> Found:
    """The backend ignores lifecycle hooks, so nothing may rely on one."""
    for label, container in spec.containers.items():
        if container.get("lifecycle"):
            yield label, "has a lifecycle hook"


def check_artifact_types(spec: Spec) -> Found:
    """Every artifact has a type with a title: the launcher ends itself at one without."""
    for name, component in spec.components.items():
        for side in ("inputDefinitions", "outputDefinitions"):
            for key, artifact in component.get(side, {}).get("artifacts", {}).items():
                kind = artifact.get("artifactType", {})
                if not kind.get("schemaTitle") and not _TITLE.match(kind.get("instanceSchema", "")):
                    yield f"{name}.{key}", f"received {json.dumps(kind)}"


def check_producers(spec: Spec) -> Found:
    """What a task takes from another is there, of the same type, and waited for."""
    for name, task in spec.tasks.items():
        inputs = task.get("inputs", {})
        wanted = [
            ("artifacts", key, each["taskOutputArtifact"], "outputArtifactKey")
            for key, each in inputs.get("artifacts", {}).items()
            if "taskOutputArtifact" in each
        ] + [
            ("parameters", key, each["taskOutputParameter"], "outputParameterKey")
            for key, each in inputs.get("parameters", {}).items()
            if "taskOutputParameter" in each
        ]
        for side, key, source, named in wanted:
            producer = source["producerTask"]
            given = spec.component_of(producer).get("outputDefinitions", {}).get(side, {}).get(source[named])
            taken = spec.component_of(name).get("inputDefinitions", {}).get(side, {}).get(key, {})
            if given is None:
                yield f"{name}.{key}", f"{producer} gives no {source[named]}"
            elif side == "artifacts" and given.get("artifactType") != taken.get("artifactType"):
                yield f"{name}.{key}", f"{producer} gives another type of artifact"
            if producer not in task.get("dependentTasks", []):
                yield f"{name}.{key}", f"does not wait for {producer}"


def check_order(spec: Spec) -> Found:
    """No task waits for itself, over whatever others, or for one that is not there."""
    waits = {name: set(task.get("dependentTasks", [])) for name, task in spec.tasks.items()}
    for name, needs in waits.items():
        for other in sorted(needs - waits.keys()):
            yield name, f"waits for {other}, which is not there"
    left = {name: needs & waits.keys() for name, needs in waits.items()}
    while ready := {name for name, needs in left.items() if not needs}:
        left = {name: needs - ready for name, needs in left.items() if name not in ready}
    if left:
        yield ", ".join(sorted(left)), "wait for each other"


def check_parameters(spec: Spec) -> Found:
    """Every parameter of a component gets a value, and every parameter of the run has a default."""
    of_run = spec._root_parameters()
    for name, value in of_run.items():
        if "defaultValue" not in value:
            yield name, "has no default, and a schedule gives none"
    for name, task in spec.tasks.items():
        given = task.get("inputs", {}).get("parameters", {})
        declared = spec.component_of(name).get("inputDefinitions", {}).get("parameters", {})
        for key in sorted(set(declared) ^ set(given)):
            yield f"{name}.{key}", "is declared and not given" if key in declared else "is not declared"
        for key, value in given.items():
            runtime = value.get("componentInputParameter")
            if runtime is not None and runtime not in of_run:
                yield f"{name}.{key}", f"the run has no parameter {runtime}"


def check_importers(spec: Spec) -> Found:
    """What is fetched has a name in its bucket: of a whole bucket the launcher fetches nothing."""
    for name, task in spec.tasks.items():
        executor = spec.executors.get(spec.component_of(name).get("executorLabel", ""), {})
        uri = executor.get("importer", {}).get("artifactUri", {})
        given = task.get("inputs", {}).get("parameters", {}).get(uri.get("runtimeParameter", ""), {})
        of_run = spec._root_parameters().get(given.get("componentInputParameter", ""), {})
        found = uri.get("constant") or of_run.get("defaultValue", "")
        if "importer" in executor and not (is_object(found) and has_name(found)):
            yield name, f"received {found!r}"


def check_root(spec: Spec) -> Found:
    """Artifacts go to gs://, s3:// or minio://, to a path without the characters of patterns."""
    root = spec.spec.get("defaultPipelineRoot", "")
    if root and not _ROOT.fullmatch(root):
        yield "defaultPipelineRoot", f"received {root!r}"


def check_placeholders(spec: Spec) -> Found:
    """Braces stand for the executor input only: Argo takes {{ for its own, and Kubernetes $$ and $(NAME)."""
    for place, text in spec.constants():
        for found in [] if text == EXECUTOR_INPUT else _TAKEN.findall(text)[:1]:
            yield place, f"has {found} in it"


def check_resources(spec: Spec) -> Found:
    """A pod asks for at least a thousandth of a core and of 1e9 bytes: smaller numbers are no quantities."""
    for label, container in spec.containers.items():
        for key, value in container.get("resources", {}).items():
            if key != "accelerator" and not (isinstance(value, int | float) and value >= 0.001):
                yield f"{label}.{key}", f"received {value!r}"


def check_caching(spec: Spec) -> Found:
    """What looks at the data or at earlier runs is never cached, and ExampleGen goes by what it finds."""
    for name, task in spec.tasks.items():
        container = spec.containers.get(spec.component_of(name).get("executorLabel", ""), {})
        arguments = " ".join(container.get("args", []))
        looks = any(f'"task": "{each}"' in arguments for each in ("look_at_data", "find_kept"))
        if looks and task.get("cachingOptions", {}).get("enableCache"):
            yield name, "is cached, so schedules would never see new data"
    fingerprint = (
        spec.tasks.get("ExampleGen", {}).get("inputs", {}).get("parameters", {}).get("fingerprint", {})
    )
    if "taskOutputParameter" not in fingerprint:
        yield "ExampleGen.fingerprint", "is fixed, so schedules would take yesterday's data from the cache"


def check_secrets(spec: Spec) -> Found:
    """No secret stands in the spec: everyone who may see a run can read it."""
    for place, text in spec.constants():
        name = place.rpartition(".env.")[2]
        if ".env." in place and _SECRET_NAME.search(name):
            yield place, "looks like a secret; name it in kubeflow.secrets instead of kubeflow.env"
        elif _SECRET_URL.search(text):
            yield place, "has a URL with a password in it; put it into the environment by kubeflow.secrets"


def check_environment(spec: Spec) -> Found:
    """An environment variable has letters, digits and underscores, and stands once in a pod."""
    for label, container in spec.containers.items():
        own = [entry["name"] for entry in container.get("env", [])]
        for secret in spec.pods.get(label, {}).get("secretAsEnv", []):
            own += [entry["envVar"] for entry in secret["keyToEnv"]]
        for name in own:
            if not _ENV.fullmatch(name):
                yield label, f"{name!r} cannot be one"
        for name in sorted({name for name in own if own.count(name) > 1}):
            yield label, f"{name} stands twice"


def check_images(spec: Spec) -> Found:
    """Every container has an image without blanks."""
    for label, container in spec.containers.items():
        if not re.fullmatch(r"\S+", container.get("image", "")):
            yield label, f"received {container.get('image', '')!r}"


def check_mounts(spec: Spec) -> Found:
    """What is mounted into a pod has a folder of its own, away from those that the launcher works in."""
    reserved = [f"/{each}" for each in (*FOLDERS, "tmp", "kfp-launcher")]
    for label, pod in spec.pods.items():
        paths = [each["mountPath"] for key in ("pvcMount", "secretAsVolume") for each in pod.get(key, [])]
        for path in paths:
            if not path.startswith("/") or any(
                path == each or path.startswith(f"{each}/") for each in reserved
            ):
                yield label, f"{path} cannot be mounted there"
        for path in sorted({path for path in paths if paths.count(path) > 1}):
            yield label, f"{path} is mounted twice"


def check_platform(spec: Spec) -> Found:
    """The platform document speaks of executors of this spec."""
    for label in spec.pods:
        if label not in spec.executors:
            yield label, "is not in the spec"


def check_retries(spec: Spec) -> Found:
    """A retry waits for so many seconds, written as 30s."""
    for name, task in spec.tasks.items():
        policy = task.get("retryPolicy", {})
        if policy and not _DURATION.fullmatch(policy.get("backoffDuration", "")):
            yield name, f"received {policy.get('backoffDuration')!r}"


def check_arguments(spec: Spec) -> Found:
    """What a task gets fits into one argument of its command: it is called with all of it as JSON."""
    for name, task in spec.tasks.items():
        values = task.get("inputs", {}).get("parameters", {})
        size = len(json.dumps([each.get("runtimeValue", {}).get("constant", "") for each in values.values()]))
        if size > _MOST_ARGUMENT:
            largest = max(values, key=lambda key: len(json.dumps(values[key])))
            yield name, f"has {size:,} bytes, most of them in {largest}; allowed {_MOST_ARGUMENT:,}"


def check_size(spec: Spec) -> Found:
    """The whole spec fits into a workflow."""
    size = len(json.dumps(spec.spec)) + len(json.dumps(spec.platform))
    if size > _MOST_BYTES:
        yield "the spec", f"has {size:,} bytes, allowed {_MOST_BYTES:,}"


RULES: tuple[Callable[[Spec], Found], ...] = (
    check_schema_version,
    check_pipeline_name,
    check_task_names,
    check_executor_kinds,
    check_references,
    check_entrypoint,
    check_declarations,
    check_hooks,
    check_artifact_types,
    check_producers,
    check_order,
    check_parameters,
    check_importers,
    check_root,
    check_placeholders,
    check_resources,
    check_caching,
    check_secrets,
    check_environment,
    check_images,
    check_mounts,
    check_platform,
    check_retries,
    check_arguments,
    check_size,
)


def lint(spec: Mapping[str, Any], platform: Mapping[str, Any]) -> list[str]:
    """Every problem as a line: the place, the rule, and what breaks it."""
    looked_at = Spec(spec, platform)
    return [
        f"{place}: {(rule.__doc__ or '').strip()} {what[:1].upper()}{what[1:]}."
        for rule in RULES
        for place, what in rule(looked_at)
    ]


def check(spec: Mapping[str, Any], platform: Mapping[str, Any]) -> None:
    """Raises UserError when a rule is broken."""
    problems = lint(spec, platform)
    if problems:
        more = f"\n… and {len(problems) - 5} more" if len(problems) > 5 else ""
        raise UserError(
            "the backend would not run this pipeline\n" + "\n".join(problems[:5]) + more,
            fix="change pipeline.yaml as the rules say",
        )
