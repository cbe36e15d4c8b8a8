"""`headrace run`: the pipeline, from data to a gated, pushed model."""

from __future__ import annotations

import difflib
import json
import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from components.errors import UserError
from pipeline.cli.options import json_option, project_options
from pipeline.exit_codes import DONE, FAILED, NOT_BLESSED, USER_ERROR

if TYPE_CHECKING:
    from pipeline.local.run import Report


@click.command("run")
@project_options
@click.option("--no-cache", is_flag=True, help="Run every step anew.")
@click.option("--from", "start", metavar="STEP", help="Run STEP and all that follow it anew.")
@click.option("--to", "end", metavar="STEP", help="Stop after STEP.")
@json_option
def command(
    path: str,
    overrides: tuple[str, ...],
    label: str | None,
    home: str | None,
    no_cache: bool,
    start: str | None,
    end: str | None,
    as_json: bool,
) -> int:
    """Run the pipeline of the project in PATH, or on the data file PATH with --label.

    Steps whose data, config and code did not change come from the cache. Steps are named as TFX's
    components: ExampleGen, StatisticsGen, SchemaGen, ExampleValidator, Transform, Tuner (where there is
    something to tune), Trainer, Evaluator, InfraValidator, Pusher.

    Exit codes: 0 done; 1 a step failed; 2 the config or the data is at fault; 3 the gate or the
    InfraValidator said no.

    With --json, one object at the end: run_id, steps (name, state, reason, seconds, summary, error, log,
    report), metrics, blessed, verdict, pushed, version_path, exit_code.
    """
    # TensorFlow reads this when it is imported.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    warnings.simplefilter("ignore")
    from pipeline.config import load_config
    from pipeline.local.run import Choice, run_project
    from pipeline.steps import steps_of

    config = load_config(path, overrides, label=label, home=home)
    steps = steps_of(config)
    choice = Choice(no_cache, _step(start, "--from", steps), _step(end, "--to", steps))
    from pipeline.cli.progress import Progress

    with Progress(config.name, steps, quiet=as_json) as progress:
        report = run_project(config, choice, started=progress.started, ended=progress.ended)
    code = _exit_code(report)
    if as_json:
        click.echo(json.dumps(_as_dict(report, code), indent=2))
    else:
        from pipeline.cli.summary import lines

        for line in lines(report, config, path, overrides, label, home):
            click.echo(line)
    return code


def _step(name: str | None, option: str, steps: tuple[str, ...]) -> str | None:
    """The step's proper name.

    Raises:
      UserError: when the pipeline has no such step.
    """
    if name is None or name in steps:
        return name
    if name == "Tuner":
        raise UserError("there is no Tuner without a search", where=option, fix="add a `tune` section")
    near = difflib.get_close_matches(name.lower(), [step.lower() for step in steps], n=1)
    meant = next((step for step in steps if [step.lower()] == near), None)
    raise UserError(
        f"no step {name!r}" + (f", did you mean {meant!r}?" if meant else ""),
        where=option,
        fix=f"name one of: {', '.join(steps)}",
    )


def _exit_code(report: Report) -> int:
    if report.failed:
        return USER_ERROR if report.failed.user_error else FAILED
    # None: the step was not asked to run.
    blessed = report.artifact_property("Evaluator", "blessing", "blessed")
    pushed = report.artifact_property("Pusher", "pushed_model", "pushed")
    return NOT_BLESSED if blessed == 0 or pushed == 0 else DONE


def _as_dict(report: Report, code: int) -> dict[str, Any]:
    def summary(name: str) -> str:
        record = report.records.get(name)
        return record.summary if record else ""

    metrics = report.artifact_property("Evaluator", "evaluation", "metrics")
    pushed = report.artifact_property("Pusher", "pushed_model", "pushed_destination")
    new = report.artifact_property("Pusher", "pushed_model", "new")
    blessed = report.artifact_property("Evaluator", "blessing", "blessed")
    return {
        "run_id": report.run_id,
        "steps": [
            {
                "name": outcome.name,
                "state": outcome.state,
                "reason": outcome.reason,
                "seconds": round(outcome.seconds, 3),
                "summary": summary(outcome.name),
                "error": outcome.error,
                "log": str(outcome.log) if outcome.log else None,
                "report": str(outcome.report) if outcome.report else None,
            }
            for outcome in report.outcomes
            if not report.is_system(outcome.name)
        ],
        "metrics": json.loads(metrics) if metrics else None,
        "blessed": None if blessed is None else bool(blessed),
        "verdict": report.artifact_property("Evaluator", "blessing", "reason"),
        "pushed": any(o.name == "Pusher" and o.state == "RUN" for o in report.outcomes) and bool(new),
        "version_path": pushed and str(Path(pushed)),
        "exit_code": code,
    }
