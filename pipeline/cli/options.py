"""The arguments that commands about a project share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

path_argument = click.argument("path", default=".", type=click.Path())

home_option = click.option(
    "--home",
    metavar="DIR",
    type=click.Path(),
    help="Where runs leave what they leave. [default: HEADRACE_HOME, else .headrace beside pipeline.yaml]",
)

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead.")


def project_options(function: F) -> F:
    """Adds what says which pipeline: `path`, `overrides`, `label` and `home`, as `load_config` takes them."""
    for option in (
        home_option,
        click.option(
            "--label",
            metavar="COLUMN",
            help="The column to predict; needed with a data file, wins over YAML.",
        ),
        click.option(
            "--set",
            "overrides",
            metavar="KEY=VALUE",
            multiple=True,
            help="Override an option, such as train.epochs=3; the value is YAML. Repeatable.",
        ),
        path_argument,
    ):
        function = option(function)
    return function
