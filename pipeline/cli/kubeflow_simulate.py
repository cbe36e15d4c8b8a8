"""`headrace kubeflow simulate`: the compiled pipeline, run here as Kubeflow would."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pipeline.cli.kubeflow_connection import param_option
from pipeline.cli.options import json_option, project_options
from pipeline.exit_codes import DONE, FAILED, NOT_BLESSED
from pipeline.kubeflow.parameters import parse

if TYPE_CHECKING:
    from pipeline.kubeflow.simulate.run import Ended

_LAST_LINES = 15


@click.command("simulate")
@project_options
@param_option
@click.option("--no-cache", is_flag=True, help="Run every task anew.")
@click.option(
    "--rootfs",
    type=click.Path(exists=True, file_okay=False),
    help="Run the tasks in a root file system of `tools/image.sh build` instead of this machine's.",
)
@json_option
def command(
    parameters: tuple[str, ...], no_cache: bool, rootfs: str | None, as_json: bool, **project: Any
) -> int:
    """Run the pipeline of the project in PATH here as Kubeflow would: what passes here runs there.

    It is compiled and checked; then each task's own command runs in a file system of its own, with an empty
    environment and nothing but the inputs that the launcher would fetch. Object storage, claims, secrets and
    the cache are folders in .headrace/kubeflow.

    Exit codes: 0 done; 1 a task failed; 2 the config is at fault; 3 the gate or the InfraValidator said no.

    With --json, one object at the end: run_id, tasks (name, state, seconds, summary, log), exit_code.
    """
    from pipeline.config import load_config
    from pipeline.latest_data import quiet_libraries

    config = load_config(**project)
    with quiet_libraries():
        from pipeline.kubeflow.compile import compile_pipeline
        from pipeline.kubeflow.simulate.run import Simulation
        from pipeline.local.run import new_run_id

        compiled = compile_pipeline(config)
    home = config.home / "kubeflow"
    simulation = Simulation(
        compiled.spec,
        compiled.platform,
        home,
        base=Path(rootfs or "/").absolute(),
    )
    number = len(compiled.spec["root"]["dag"]["tasks"])
    shown: list[str] = []

    def ended(task: Ended) -> None:
        shown.append(task.task)
        if not as_json:
            click.echo(f"{len(shown)}/{number}  {task.task:18} {task.seconds:6.1f} s  {task.state}")

    run_id = new_run_id(home)
    outcomes = simulation.run(run_id, parse(parameters), cache=not no_cache, ended=ended)
    failed = next((each for each in outcomes if each.state == "FAILED"), None)
    code = FAILED if failed else _verdict(outcomes)
    if as_json:
        click.echo(
            json.dumps({"run_id": run_id, "tasks": [_row(each) for each in outcomes], "exit_code": code})
        )
        return code
    click.echo("")
    for each in outcomes:
        if summary := _summary(each):
            click.echo(f"{each.task}: {summary}")
    if failed and failed.log:
        _explain(failed.task, failed.log)
    return code


def _summary(task: Ended) -> str:
    """A step's one-sentence account."""
    said = (artifact["metadata"].get("summary") for artifact in task.artifacts.values())
    # Of a look-up it would be the account of another run.
    looked_up = any("found" in artifact["metadata"] for artifact in task.artifacts.values())
    return "" if looked_up else next((each for each in said if each), "")


def _verdict(outcomes: list[Ended]) -> int:
    artifacts = {(each.task, key): value for each in outcomes for key, value in each.artifacts.items()}
    blessed = artifacts[("Evaluator", "blessing")]["metadata"].get("blessed")
    pushed = artifacts[("Pusher", "pushed_model")]["metadata"].get("pushed")
    return DONE if blessed and pushed else NOT_BLESSED


def _row(task: Ended) -> dict[str, Any]:
    return {
        "name": task.task,
        "state": task.state,
        "seconds": round(task.seconds, 3),
        "summary": _summary(task),
        "artifacts": {key: value["uri"] for key, value in task.artifacts.items()},
        "log": str(task.log) if task.log else None,
    }


def _explain(task: str, log: Path) -> None:
    """The end of the log of a task that failed, and how to go on."""
    lines = log.read_text(errors="replace").splitlines()
    click.echo(f"{task} failed; its log {log} ends with:", err=True)
    for line in lines[-_LAST_LINES:]:
        click.echo(f"  {line}", err=True)
    resume = shlex.join(["headrace", *sys.argv[1:]])
    click.echo(f"go on with: {resume}\n  what is done comes from the cache", err=True)
