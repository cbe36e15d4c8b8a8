"""What the commands that speak to a cluster share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeVar

import click

from components.errors import UserError
from pipeline.cli.options import project_options
from pipeline.config import PipelineConfig
from pipeline.kubeflow.client import Client
from pipeline.kubeflow.cluster import Cluster, Version
from pipeline.kubeflow.parameters import complete

F = TypeVar("F", bound=Callable[..., Any])


def cluster_options(function: F) -> F:
    """Adds what says which pipeline and which cluster: the arguments of `connect`."""
    for option in (
        click.option("--ca", type=click.Path(exists=True), help="Certificate authorities of the cluster."),
        click.option("--namespace", help="Of the runs. [default: kubeflow.namespace]"),
        click.option("--endpoint", help="URL of Kubeflow Pipelines. [default: kubeflow.endpoint]"),
        project_options,
    ):
        function = option(function)
    return function


@dataclass(frozen=True)
class Connected:
    """A project and its cluster."""

    config: PipelineConfig
    cluster: Cluster

    def upload(self, parameters: Mapping[str, str] = MappingProxyType({})) -> Version:
        """Compiles, checks and sends the pipeline.

        Raises:
          UserError: a rule is broken, or the pipeline has no such parameter.
        """
        from pipeline.latest_data import quiet_libraries

        with quiet_libraries():
            from pipeline.kubeflow import lint
            from pipeline.kubeflow.compile import compile_pipeline

            compiled = compile_pipeline(self.config)
        lint.check(compiled.spec, compiled.platform)
        complete(compiled.spec, parameters)
        for note in compiled.notes:
            click.echo(f"note: {note}", err=True)
        version = self.cluster.upload(compiled.text())
        click.echo(f"version {version.name}: {'uploaded' if version.new else 'there already'}", err=True)
        return version


def connect(endpoint: str | None, namespace: str | None, ca: str | None, **project: Any) -> Connected:
    """Reads the config and looks whether the cluster answers.

    Raises:
      UserError: the config is wrong, or nothing answers.
    """
    from pipeline.config import load_config

    config = load_config(**project)
    url = endpoint or config.kubeflow.endpoint
    if not url:
        raise UserError(
            "which cluster?",
            where="--endpoint",
            fix="set kubeflow.endpoint; for a cluster without an address of its own, "
            "`kubectl -n kubeflow port-forward svc/ml-pipeline-ui 8080:80` and http://127.0.0.1:8080",
        )
    client = Client(url, namespace or config.kubeflow.namespace, ca)
    client.check()
    return Connected(config, Cluster(client, config.name.lower()))


param_option = click.option(
    "--param", "parameters", metavar="NAME=VALUE", multiple=True, help="A parameter of the run. Repeatable."
)
