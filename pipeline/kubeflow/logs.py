"""The logs of a run's tasks: of the pods, as the API server or the UI's server has them.

The API tells of a run's Argo nodes: `Trainer` is the task, its child is the pod's node. Logs are asked for by
the name of the pod, which Argo makes of the workflow, the template and the node's number. The route is that
of the API server (it has stayed at v1alpha1); the UI's server does not pass that on, and has one of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from components.errors import UserError
from pipeline.kubeflow.client import Client

# What Kubeflow's compiler calls the template of a task's container, without and with a retry policy.
_TEMPLATES = ("system-container-impl", "retry-system-container-impl")
# Nodes of the workflow that are no tasks: itself, its root, drivers, the container in a task, its tries.
_OTHER = re.compile(r"[a-z0-9][-.a-z0-9]*-[a-z0-9]{5}|root|executor|.*-driver|.*\(\d+\)")
_FAILED = ("FAILED", "ERROR", "CANCELED", "RUNNING")


@dataclass(frozen=True)
class TaskState:
    """A task of a run.

    Attributes:
      state: PENDING, RUNNING, SUCCEEDED, SKIPPED, FAILED, CANCELED or another of the API's.
      error: what the API says of why it failed; may be empty.
      pods: names that its pods may have, the likeliest first; empty: it had none, as what is cached.
    """

    name: str
    state: str
    error: str
    pods: tuple[str, ...]


def tasks_of(run: Mapping[str, Any]) -> list[TaskState]:
    """The tasks of a run, as the API has it, in the order in which they started."""
    details = (run.get("run_details") or {}).get("task_details") or []
    by_id = {each.get("task_id", ""): each for each in details}
    return [
        TaskState(
            name=each["display_name"],
            state=each.get("state", ""),
            error=(each.get("error") or {}).get("message", ""),
            pods=tuple(dict.fromkeys(_pods(each, by_id))),
        )
        for each in sorted(details, key=lambda each: each.get("start_time") or "")
        if each.get("display_name") and not _OTHER.fullmatch(each["display_name"])
    ]


def _pods(task: Mapping[str, Any], by_id: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    own = task.get("executor_detail") or {}
    yield from [each for each in (own.get("main_job"), *(own.get("failed_main_jobs") or [])) if each]
    if task.get("pod_name"):
        yield task["pod_name"]
    for child in task.get("child_tasks") or []:
        if child.get("task_id") in by_id:
            yield from _pods(by_id[child["task_id"]], by_id)
        elif child.get("pod_name"):
            yield from _names(child["pod_name"])


def _names(node: str) -> Iterator[str]:
    """The pod's name by the name of Argo's node: between the workflow and the number stands the template."""
    workflow, _, number = node.rpartition("-")
    if number.isdigit() and not any(template in node for template in _TEMPLATES):
        yield from (f"{workflow}-{template}-{number}" for template in _TEMPLATES)
    yield node


def choose(tasks: Sequence[TaskState], step: str | None) -> list[TaskState]:
    """The tasks whose logs are meant: the one that is named, else those that failed or still run, else all.

    Raises:
      UserError: the run has no such task.
    """
    if step is None:
        return [task for task in tasks if task.state in _FAILED] or list(tasks)
    found = [task for task in tasks if task.name == step]
    if not found:
        names = ", ".join(task.name for task in tasks) or "none yet"
        raise UserError(f"the run has no task {step!r}", where="STEP", fix=f"name one of: {names}")
    return found


def read(client: Client, run: Mapping[str, Any], task: TaskState) -> str:
    """A task's log.

    Args:
      client: the connection.
      run: as the API has it.
      task: one of its tasks.

    Raises:
      UserError: the server has none; the fix is the command that asks Kubernetes.
    """
    refused: UserError | None = None
    run_id = run["run_id"]
    # By the day the UI's server finds logs that were archived.
    more = {"createdat": run.get("created_at", "")[:10], "podnamespace": client.namespace or ""}
    more = {name: value for name, value in more.items() if value}
    for pod in task.pods:
        for path, query in (
            (f"/apis/v1alpha1/runs/{run_id}/nodes/{pod}/log", None),
            ("/k8s/pod/logs", {"podname": pod, "runid": run_id, **more}),
        ):
            try:
                text = client.text(path, query)
            except UserError as error:
                refused = refused or error
                continue
            # A server of pages answers with its start page to whatever it does not know.
            if not text.lstrip().lower().startswith(("<!doctype html", "<html")):
                return text
    if not task.pods:
        raise UserError(
            f"{task.name} has no pod in this run" + (f" ({task.state})" if task.state else ""),
            where=run_id,
            fix="what came from the cache has its log in the run that made it",
        )
    raise UserError(
        f"the server has no log of {task.name}: {refused or 'it answers with a page'}",
        where=run_id,
        fix=kubectl(client, run_id, task),
    )


def kubectl(client: Client, run_id: str, task: TaskState) -> str:
    """The command that asks Kubernetes itself, by a label that all pods of a run have."""
    namespace = client.namespace or "kubeflow"
    return (
        f"kubectl -n {namespace} logs {task.pods[0]} -c main, or of all its pods: "
        f"kubectl -n {namespace} logs -l pipeline/runid={run_id} -c main --prefix --tail=-1"
    )
