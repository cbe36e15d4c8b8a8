"""`headrace kubeflow schedule`: the pipeline at times, or every so often."""

from __future__ import annotations

import itertools
import json
import re
from datetime import datetime, timezone
from typing import Any

import click

from components.errors import UserError
from pipeline.cli.kubeflow_connection import cluster_options, connect, param_option
from pipeline.cli.options import json_option
from pipeline.kubeflow import cron as schedules
from pipeline.kubeflow.cluster import Schedule
from pipeline.kubeflow.parameters import parse

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


@click.command("schedule")
@cluster_options
@param_option
@click.option("--name", help="Of the schedule. [default: the pipeline's]")
@click.option("--cron", help="Six fields, seconds first, UTC: '0 30 2 * * *' is every night at 02:30.")
@click.option("--interval", metavar="TIME", help="Every so often: 90m, 6h, 1d.")
@click.option("--catchup", is_flag=True, help="Make up for runs that were missed.")
@click.option(
    "--max-concurrency",
    type=click.IntRange(1, 10),
    default=1,
    show_default=True,
    help="Runs at the same time.",
)
@json_option
def command(
    parameters: tuple[str, ...],
    name: str | None,
    cron: str | None,
    interval: str | None,
    catchup: bool,
    max_concurrency: int,
    as_json: bool,
    **options: Any,
) -> None:
    """Run the pipeline of the project in PATH on the cluster at times, or every so often.

    A schedule of the same name is replaced when it differs: the new one is made, then the old one disabled.

    With --json, an object: name, done, disabled, next.
    """
    trigger, times = _trigger(cron, interval)
    given = parse(parameters)
    connected = connect(**options)
    version = connected.upload(given)
    wanted = Schedule(name or connected.config.name, trigger, given, catchup, max_concurrency)
    done, disabled = connected.cluster.schedule(wanted, version, connected.config.kubeflow.root)
    if as_json:
        shown = {"name": wanted.name, "done": done, "disabled": disabled, "next": times}
        click.echo(json.dumps(shown, indent=2))
        return
    click.echo(f"schedule {wanted.name}, {done}")
    for each in disabled:
        click.echo(f"disabled: {each}")
    for each in times:
        click.echo(f"  next: {each}")


def _trigger(cron: str | None, interval: str | None) -> tuple[dict[str, Any], list[str]]:
    """The schedule as the API takes it, and the next times that are known."""
    if bool(cron) == bool(interval):
        raise UserError("give either --cron or --interval", where="kubeflow schedule")
    if cron:
        coming = itertools.islice(schedules.parse(cron).times(datetime.now(timezone.utc)), 5)
        times = [each.strftime("%a %Y-%m-%d %H:%M:%S UTC") for each in coming]
        return {"cron_schedule": {"cron": cron}}, times
    match = re.fullmatch(r"([1-9][0-9]*)([smhd])", interval or "")
    if not match:
        raise UserError(f"expected a time such as 90m, 6h or 1d, received {interval!r}", where="--interval")
    return {"periodic_schedule": {"interval_second": str(int(match[1]) * _UNITS[match[2]])}}, []
