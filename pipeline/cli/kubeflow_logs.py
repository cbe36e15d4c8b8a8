"""`headrace kubeflow logs`: how a run's tasks are, and what they have printed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from components.errors import UserError
from pipeline.cli.kubeflow_connection import cluster_options, connect
from pipeline.cli.options import json_option
from pipeline.exit_codes import DONE
from pipeline.kubeflow import logs


@click.command("logs")
@click.argument("run")
@click.argument("step", required=False)
@cluster_options
@json_option
def command(run: str, step: str | None, as_json: bool, path: str, **options: Any) -> int:
    """Print the states of the tasks of RUN, and the log of STEP.

    RUN is a run's id, as `headrace kubeflow run` prints it. Without STEP: the logs of the tasks that failed
    or still run. [default PATH: .]

    Exit codes: 0 done; 2 there is no such run or task, or the server has no log: then it says which command
    asks Kubernetes.

    With --json, an object: run_id, state, error, tasks (name, state, error, pods, log; null: not asked for or
    not to be had).
    """
    project, task_name = path, step
    if step is not None and path == "." and Path(step, "pipeline.yaml").exists():
        project, task_name = step, None
    connected = connect(path=project, **options)
    found = connected.cluster.run(run)
    tasks = logs.tasks_of(found)
    well = task_name is None and found.get("state") == "SUCCEEDED"
    asked = [] if well else logs.choose(tasks, task_name)
    if not as_json:
        _print_states(found, tasks)
    texts: dict[str, str] = {}
    refused: list[UserError] = []
    for task in asked:
        try:
            texts[task.name] = connected.cluster.log(found, task)
        except UserError as error:
            refused.append(error)
            continue
        if not as_json:
            click.echo(f"--- {task.name}")
            click.echo(texts[task.name].rstrip("\n"))
    if as_json:
        rows = [{**vars(task), "log": texts.get(task.name)} for task in tasks]
        shown = {"run_id": run, "state": found.get("state", ""), "error": _error(found), "tasks": rows}
        click.echo(json.dumps(shown, indent=2))
    for each in refused[:-1]:
        click.echo(f"error: {each}", err=True)
    if refused:
        raise refused[-1]
    return DONE


def _print_states(run: dict[str, Any], tasks: list[logs.TaskState]) -> None:
    error = _error(run)
    click.echo(f"run {run['run_id']}: {run.get('state', '')}" + (f": {error}" if error else ""))
    for task in tasks:
        click.echo(f"{task.name:18} {task.state:10} {task.error}".rstrip())


def _error(run: dict[str, Any]) -> str:
    return (run.get("error") or {}).get("message", "")
