"""`headrace kubeflow list`, `pause`, `resume` and `delete`: the schedules that there are."""

from __future__ import annotations

import json
from typing import Any

import click

from pipeline.cli.kubeflow_connection import cluster_options, connect
from pipeline.cli.options import json_option

_name_option = click.option("--name", help="Of the schedule. [default: the pipeline's]")


@click.command("list")
@cluster_options
@json_option
def list_command(as_json: bool, **options: Any) -> None:
    """List the schedules of the pipeline of the project in PATH.

    With --json, an array of objects: name, id, status, trigger, max_concurrency.
    """
    rows = [
        {
            "name": each.get("display_name", ""),
            "id": each["recurring_run_id"],
            "status": each.get("status", ""),
            "trigger": each.get("trigger", {}),
            "max_concurrency": each.get("max_concurrency"),
        }
        for each in connect(**options).cluster.schedules()
    ]
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return
    for row in rows:
        click.echo(f"{row['name']:20} {row['status']:9} {_when(row['trigger']):24} {row['id']}")
    if not rows:
        click.echo("no schedules")


def _when(trigger: dict[str, Any]) -> str:
    cron = (trigger.get("cron_schedule") or {}).get("cron")
    return cron or f"every {(trigger.get('periodic_schedule') or {}).get('interval_second', '?')} s"


def _switch(command: str, to: str, done: str, text: str) -> click.Command:
    @click.command(command, help=text)
    @cluster_options
    @_name_option
    def switch(name: str | None, **options: Any) -> None:
        connected = connect(**options)
        for each in connected.cluster.switch(name or connected.config.name, to):
            click.echo(f"{done}: {each}")

    return switch


COMMANDS: dict[str, click.Command] = {
    "list": list_command,
    "pause": _switch("pause", "disable", "disabled", "Disable a schedule; what runs goes on."),
    "resume": _switch("resume", "enable", "enabled", "Enable the latest schedule of a name again."),
    "delete": _switch("delete", "delete", "deleted", "Delete a schedule; its runs stay."),
}
