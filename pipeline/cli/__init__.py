"""The `headrace` command: one file a subcommand, imported only when it is called.

Nothing here, nor at the top of a subcommand's file, may import TensorFlow, TFX or Beam:
`headrace --help` answers at once.
"""

from __future__ import annotations

import difflib
import importlib
import sys

import click

from components.errors import UserError
from pipeline.exit_codes import FAILED, USER_ERROR

# Command to its one line of help, in the order in which a person meets them. The module is pipeline.cli.NAME.
COMMANDS = {
    "run": "Run the pipeline: from data to a gated, pushed model.",
    "init": "Write a commented pipeline.yaml for a data file.",
    "config": "Print the resolved configuration.",
    "features": "Print the feature plan: what becomes of each column, and why.",
    "schema": "Export, edit or accept the reviewed schema.",
    "runs": "List the runs.",
    "show": "Show a run: its steps, artifacts and paths.",
    "tensorboard": "Show the training of a run, or of several, in TensorBoard.",
    "serve": "Serve pushed models over TensorFlow Serving's REST and gRPC.",
    "predict": "Ask a served or a pushed model about rows.",
    "versions": "List the pushed versions of a model, and which one is served.",
    "rollback": "Serve the model of before again.",
    "deploy": "Render TensorFlow Serving for Docker Compose, Kubernetes or KServe; move labels.",
    "loadtest": "Measure how fast a server answers.",
    "kubeflow": "Compile, try out, run and schedule the pipeline on Kubeflow.",
    "step": "Run one step by itself from its invocation file.",
    "doctor": "Check this machine and explain.",
}


class _LazyGroup(click.Group):
    """Knows its commands by name and help; imports a command's module when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        return importlib.import_module(f"pipeline.cli.{cmd_name}").command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS:
            near = difflib.get_close_matches(args[0], COMMANDS, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else f" There are: {', '.join(COMMANDS)}."
            raise click.UsageError(f"No such command {args[0]!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(
    cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(package_name="headrace")
def cli() -> None:
    """From your data to a served TensorFlow model, through a real TFX pipeline."""


def main() -> None:
    """The console script: runs the command; a mistake of the user's is one message and exit code 2."""
    try:
        code = cli.main(standalone_mode=False)
    except UserError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(USER_ERROR)
    except click.ClickException as error:
        error.show()
        sys.exit(USER_ERROR)
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        sys.exit(130)
    except BrokenPipeError:
        sys.exit(FAILED)
    sys.exit(code if isinstance(code, int) else 0)
