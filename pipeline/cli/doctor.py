"""`headrace doctor`: what this machine and this installation are, and what to mend."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict

import click

from pipeline import doctor
from pipeline.exit_codes import DONE, FAILED


@click.command()
@click.option(
    "--deep", is_flag=True, help="Also import TensorFlow, Keras, TFX and ML Metadata, and try them."
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object: findings, and whether all is well."
)
def command(deep: bool, as_json: bool) -> int:
    """Check this machine and explain. Exit code 1 when something needs a fix."""

    def findings() -> Iterator[doctor.Finding]:
        yield from doctor.look()
        if deep:
            yield from doctor.look_deep()

    if as_json:
        found = list(findings())
    elif sys.stdout.isatty():
        found = _show(findings())
    else:
        found = []
        for finding in findings():
            found.append(finding)
            click.echo(f"{finding.state:<4}  {finding.name:<26}  {finding.found}")
            if finding.fix:
                click.echo(f"{'':<34}fix: {finding.fix}")
    ok = all(finding.state != doctor.FIX for finding in found)
    if as_json:
        click.echo(json.dumps({"findings": [asdict(finding) for finding in found], "ok": ok}))
    return DONE if ok else FAILED


def _show(findings: Iterator[doctor.Finding]) -> list[doctor.Finding]:
    """A row as each check ends, wrapped to the terminal."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    styles = {doctor.OK: "green", doctor.FIX: "bold red", doctor.NOTE: "cyan"}
    console = Console(highlight=False)
    found = []
    for finding in findings:
        found.append(finding)
        text = Text(finding.found)
        if finding.fix:
            text.append(f"\nfix: {finding.fix}", style="bold")
        row = Table.grid(padding=(0, 2))
        row.add_column(width=4)
        row.add_column(width=26)
        row.add_column(overflow="fold")
        row.add_row(Text(finding.state, style=styles[finding.state]), finding.name, text)
        console.print(row)
    return found
