"""`headrace kubeflow`: the same pipeline on Kubeflow Pipelines."""

from __future__ import annotations

import importlib

import click

# Command to its one line of help. The module is pipeline.cli.kubeflow_NAME.
COMMANDS = {
    "compile": "Write the pipeline as Kubeflow's YAML, checked.",
    "lint": "Check a YAML file for what Kubeflow's backend would break on.",
    "simulate": "Run the compiled pipeline here, as Kubeflow would.",
    "image": "Build the container image of the steps.",
    "tfjob": "Print a TFJob for a Trainer on several workers.",
    "upload": "Send the pipeline to the cluster.",
    "run": "Run the pipeline on the cluster.",
    "logs": "Show how a run's tasks are, and what they have printed.",
    "schedule": "Run the pipeline at times, or every so often.",
    "list": "List the pipeline's schedules.",
    "pause": "Disable a schedule.",
    "resume": "Enable a schedule again.",
    "delete": "Delete a schedule.",
}
# Commands that are too short for a file of their own.
_IN_SCHEDULES = ("list", "pause", "resume", "delete")


class _Group(click.Group):
    """Imports a command's module when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        if cmd_name in _IN_SCHEDULES:
            return importlib.import_module("pipeline.cli.kubeflow_schedules").COMMANDS[cmd_name]
        return importlib.import_module(f"pipeline.cli.kubeflow_{cmd_name}").command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group("kubeflow", cls=_Group)
def command() -> None:
    """Compile the pipeline for Kubeflow Pipelines, try it out here, run and schedule it there.

    Each step runs in a container of its own; the `kubeflow` section of pipeline.yaml says in which image,
    and what each pod gets.
    """
