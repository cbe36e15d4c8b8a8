"""`headrace kubeflow lint`: what the backend would break on."""

from __future__ import annotations

import click

from components.errors import UserError


@click.command("lint")
@click.argument("file", type=click.Path(dir_okay=False))
def command(file: str) -> None:
    """Check FILE, a compiled pipeline, against every rule; exit code 2 when one is broken."""
    from pipeline.kubeflow.documents import load
    from pipeline.kubeflow.lint import RULES, lint

    spec, platform = load(file)
    problems = lint(spec, platform)
    for problem in problems:
        click.echo(problem)
    if problems:
        raise UserError(
            f"{len(problems)} problems", where=file, fix="compile it with `headrace kubeflow compile`"
        )
    click.echo(f"{file}: {len(RULES)} rules, no problem")
