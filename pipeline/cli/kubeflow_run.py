"""`headrace kubeflow run`: the pipeline on the cluster."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from typing import Any

import click

from pipeline.cli.kubeflow_connection import cluster_options, connect, param_option
from pipeline.cli.options import json_option
from pipeline.exit_codes import DONE, FAILED
from pipeline.kubeflow.parameters import parse


@click.command("run")
@cluster_options
@param_option
@click.option("--wait", is_flag=True, help="Wait for the end, and show each task's state.")
@click.option("--every", default=5.0, show_default=True, help="Seconds between two looks at the run.")
@json_option
def command(parameters: tuple[str, ...], wait: bool, every: float, as_json: bool, **options: Any) -> int:
    """Send the pipeline of the project in PATH to the cluster, unless it is there, and run it.

    Exit codes: 0 started, or with --wait done; 1 the run failed; 2 the config or the cluster is at fault.

    With --json, one object at the end: run_id, state, tasks (name to state), error.
    """
    given = parse(parameters)
    connected = connect(**options)
    version = connected.upload(given)
    name = f"{connected.config.name} {datetime.now(timezone.utc):%Y-%m-%d %H:%M:%S}"
    run_id = connected.cluster.start(version, name, given, connected.config.kubeflow.root)
    if not as_json:
        click.echo(f"run {run_id}")
    states: dict[str, str] = {}
    run: dict[str, Any] = {"state": "PENDING"}

    def changed(task: str, state: str) -> None:
        states[task] = state
        if not as_json:
            click.echo(f"{task:18} {state}")

    if wait:
        run = connected.cluster.follow(run_id, changed, seconds=every)
    error = (run.get("error") or {}).get("message", "")
    if as_json:
        shown = {"run_id": run_id, "state": run["state"], "tasks": states, "error": error}
        click.echo(json.dumps(shown, indent=2))
    elif wait:
        click.echo(run["state"] + (f": {error}" if error else ""))
    return FAILED if run["state"] in ("FAILED", "CANCELED") else DONE
