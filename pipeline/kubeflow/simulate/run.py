"""A simulated run: every task of a compiled pipeline, one after the other, as driver and launcher do it."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pipeline.kubeflow.lint import Spec, check
from pipeline.kubeflow.mounts import to_path
from pipeline.kubeflow.parameters import complete
from pipeline.kubeflow.simulate import driver, placeholders
from pipeline.kubeflow.simulate.pod import Pod, check_possible
from pipeline.kubeflow.simulate.store import Store

# Where a cluster puts artifacts that nobody has named a place for.
_DEFAULT_ROOT = "minio://mlpipeline/v2/artifacts"


@dataclass(frozen=True)
class Ended:
    """How a task ended.

    Attributes:
      state: RUN, CACHED or FAILED.
      seconds: how long it took.
      artifacts: output key to KFP's RuntimeArtifact.
      log: what it printed; None when it did not run.
    """

    task: str
    state: Literal["RUN", "CACHED", "FAILED"]
    seconds: float
    artifacts: Mapping[str, Any] = field(default_factory=dict)
    log: Path | None = None


class Simulation:
    """A run of a compiled pipeline on this machine.

    Args:
      spec: the PipelineSpec.
      platform: the platform document; may be empty.
      home: the folder for all that it leaves.
      base: the root file system of the pods.

    Raises:
      UserError: a rule of the backend's is broken, or this machine cannot run pods.
    """

    def __init__(
        self,
        spec: Mapping[str, Any],
        platform: Mapping[str, Any],
        home: Path,
        *,
        base: Path = Path("/"),
    ) -> None:
        check(spec, platform)
        check_possible()
        self._spec = Spec(spec, platform)
        self._store = Store(home)
        self._base = base
        self._root = spec.get("defaultPipelineRoot", _DEFAULT_ROOT).rstrip("/")
        self._home = home

    def run(
        self,
        run_id: str,
        parameters: Mapping[str, str],
        *,
        cache: bool = True,
        ended: Callable[[Ended], None] = lambda _: None,
    ) -> list[Ended]:
        """Runs all tasks; stops after one that failed.

        Args:
          run_id: names the folder of logs, and of artifacts in the storage.
          parameters: of the run, where they are not to be the defaults.
          cache: whether what earlier runs gave may be taken.
          ended: called with each task's end as it comes.
        """
        values = complete(self._spec.spec, parameters)
        name = self._spec.spec["pipelineInfo"]["name"]
        logs = self._home / "logs" / run_id
        logs.mkdir(parents=True, exist_ok=True)
        given: dict[str, dict[str, Any]] = {}
        outcomes = []
        for number, task in enumerate(driver.order(self._spec.tasks), 1):
            outcome, gave = self._task(
                task, given, values, f"{self._root}/{name}/{run_id}/{task}/{number}", logs, cache
            )
            outcomes.append(outcome)
            ended(outcome)
            if outcome.state == "FAILED":
                break
            given[task] = gave
        return outcomes

    def _task(
        self,
        name: str,
        given: Mapping[str, Mapping[str, Any]],
        parameters: Mapping[str, Any],
        folder: str,
        logs: Path,
        cache: bool,
    ) -> tuple[Ended, dict[str, Any]]:
        began = time.monotonic()
        task, component = self._spec.tasks[name], self._spec.component_of(name)
        label = component["executorLabel"]
        request = driver.executor_input(task, component, given, parameters, folder)
        if "importer" in self._spec.executors[label]:
            gave = self._import(request)
            return Ended(name, "RUN", time.monotonic() - began, gave["artifacts"]), gave
        container, kubernetes = self._spec.containers[label], self._spec.pods.get(label, {})
        claims = {each["mountPath"]: each["constant"] for each in kubernetes.get("pvcMount", [])}
        volumes = {mount: self._store.claim(claim) for mount, claim in claims.items()}
        for secret in kubernetes.get("secretAsVolume", []):
            volumes[secret["mountPath"]] = self._store.secret_folder(secret["secretName"])
        key = ""
        if task.get("cachingOptions", {}).get("enableCache"):
            pipeline = self._spec.spec["pipelineInfo"]["name"]
            key = driver.fingerprint(pipeline, request, component, container, list(claims.values()))
            known = self._store.cached(key) if cache else None
            if known:
                return Ended(name, "CACHED", time.monotonic() - began, known["artifacts"]), known
        deadline = kubernetes.get("activeDeadlineSeconds")
        made: dict[str, Any] | None = None
        log = logs / f"{name}.log"
        for _ in range(1 + task.get("retryPolicy", {}).get("maxRetryCount", 0)):
            with Pod(
                self._home / "pods" / f"{logs.name}-{name}",
                volumes,
                self._environment(container, kubernetes),
                self._base,
            ) as pod:
                made = self._launch(pod, container, request, log, float(deadline) if deadline else None)
            if made is not None:
                break
        seconds = time.monotonic() - began
        if made is None:
            return Ended(name, "FAILED", seconds, log=log), {}
        self._store.remember(key, made)
        return Ended(name, "RUN", seconds, made["artifacts"], log), made

    def _import(self, request: Mapping[str, Any]) -> dict[str, Any]:
        uri = request["inputs"]["parameterValues"]["uri"]
        artifact = {"name": self._store.imported(uri), "uri": uri, "metadata": {}}
        return {"artifacts": {"artifact": artifact}, "parameters": {}}

    def _environment(self, container: Mapping[str, Any], kubernetes: Mapping[str, Any]) -> dict[str, str]:
        found = {each["name"]: each["value"] for each in container.get("env", [])}
        for secret in kubernetes.get("secretAsEnv", []):
            for each in secret["keyToEnv"]:
                found[each["envVar"]] = self._store.secret(secret["secretName"], each["secretKey"])
        return found

    def _launch(
        self,
        pod: Pod,
        container: Mapping[str, Any],
        request: Mapping[str, Any],
        log: Path,
        timeout: float | None,
    ) -> dict[str, Any] | None:
        """Fetches the inputs, runs the command and keeps the outputs; None when it failed."""
        for value in request["inputs"]["artifacts"].values():
            for artifact in value["artifacts"]:
                self._store.fetch(artifact["uri"], pod)
        outputs = request["outputs"]
        for value in outputs["artifacts"].values():
            for artifact in value["artifacts"]:
                pod.path(to_path(artifact["uri"])).parent.mkdir(parents=True, exist_ok=True)
        for value in outputs["parameters"].values():
            pod.path(value["outputFile"]).parent.mkdir(parents=True, exist_ok=True)
        command = placeholders.fill([*container["command"], *container.get("args", [])], request)
        if pod.run(command, log, timeout) != 0:
            return None
        answer = pod.path(driver.OUTPUT_FILE)
        said = json.loads(answer.read_text()) if answer.exists() else {}
        parameters = driver.output_parameters(outputs, said, pod.path)
        missing = [key for key, value in parameters.items() if value is None]
        if missing:
            _refuse(log, f"no value for the output parameter {missing[0]!r}")
            return None
        shutil.copyfile(log, pod.path(to_path(outputs["artifacts"][driver.LOGS]["artifacts"][0]["uri"])))
        artifacts = {}
        for key, value in outputs["artifacts"].items():
            artifact = driver.merged(value["artifacts"][0], said.get("artifacts", {}).get(key, {}))
            if not artifact["uri"].startswith(self._root):
                _refuse(log, f"{artifact['uri']} is not below {self._root}")
                return None
            self._store.keep(artifact["uri"], pod)
            artifacts[key] = {**artifact, "name": self._store.new_name()}
        # The next task is given all but the log.
        del artifacts[driver.LOGS]
        return {"artifacts": artifacts, "parameters": parameters}


def _refuse(log: Path, what: str) -> None:
    """Notes why the launcher would end a task whose command has succeeded."""
    with open(log, "a", encoding="utf-8") as stream:
        stream.write(f"error: the launcher: {what}\n")
