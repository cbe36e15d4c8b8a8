"""`headrace deploy`: TensorFlow Serving in production, from what was pushed."""

from __future__ import annotations

from pathlib import Path

import click

from components.errors import UserError
from pipeline.cli.options import home_option
from pipeline.cli.serve_options import LabelParameter
from serving.deploy.settings import IMAGE
from serving.errors import ServingError

_TARGETS = ("compose", "kubernetes", "kserve")


@click.group("deploy")
def command() -> None:
    """Render TensorFlow Serving for Docker Compose, Kubernetes or KServe; move labels."""


@command.command("render")
@click.argument("path", type=click.Path(path_type=Path), default=".")
@click.option("--to", "target", type=click.Choice(_TARGETS), required=True, help="What runs it.")
@click.option("--out", metavar="DIR", type=click.Path(path_type=Path), help="[default: deploy/TARGET]")
@click.option(
    "--store",
    help="Where servers find the versions: a folder, pvc://CLAIM/FOLDER, gs://… (kserve: any that it knows). "
    "[default: the folder of PATH]",
)
@click.option("--name", default="", help="The model's name in requests. [default: as PATH says]")
@click.option("--image", default=IMAGE, show_default=True, help="TensorFlow Serving's.")
@click.option("--replicas", type=click.IntRange(1), default=2, show_default=True, help="So many at least.")
@click.option(
    "--max-replicas", type=click.IntRange(1), default=6, show_default=True, help="So many under load."
)
@click.option("--cpu", default="1", show_default=True, help="Cores for one server, such as 2 or 500m.")
@click.option("--memory", default="2Gi", show_default=True, help="Memory for one server.")
@click.option("--namespace", default="default", show_default=True, help="Of Kubernetes' objects.")
@click.option("--service-account", default="", help="By which pods may read an object store.")
@click.option("--force", is_flag=True, help="Write over files that were changed.")
@home_option
def render_command(
    path: Path,
    target: str,
    out: Path | None,
    store: str | None,
    name: str,
    image: str,
    replicas: int,
    max_replicas: int,
    cpu: str,
    memory: str,
    namespace: str,
    service_account: str,
    force: bool,
    home: str | None,
) -> None:
    """Write the files that serve the model of PATH with TensorFlow Serving.

    PATH is a project, a data file that was run without one, or a folder of version directories; with --store
    and --name it need not be there. [default: .]
    """
    from serving.deploy.render import render, write
    from serving.deploy.settings import Deployment

    if not (store and name):
        from pipeline.cli.model_path import find_model, newest_manifest

        try:
            found = find_model(path, home)
        except UserError as error:
            fix = "give the model's name with --name: then nothing has to be here" if store else error.fix
            raise UserError(error.what, where=error.where, fix=fix) from error
        manifest = newest_manifest(found)
        name = name or found.name or (manifest.name if manifest else found.path.resolve().name)
        store = store or str(found.path)
    try:
        deployment = Deployment(
            model=name,
            store=store,
            image=image,
            replicas=replicas,
            most_replicas=max_replicas,
            cpu=cpu,
            memory=memory,
            namespace=namespace,
            service_account=service_account,
        )
        for file in write(render(deployment, target), out or Path("deploy") / target, force):
            click.echo(file)
    except ServingError as error:
        raise UserError(error.what, where=error.where, fix=error.fix) from error


@command.command("label")
@click.argument("labels", type=LabelParameter(), nargs=-1)
@click.option(
    "--config",
    "file",
    metavar="FILE",
    required=True,
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="The models.config of the servers.",
)
@click.option("--remove", "removed", multiple=True, metavar="LABEL", help="A label to take away. Repeatable.")
@click.option("--model", default="", help="Which model of the file. [default: the only one]")
def label_command(
    labels: tuple[tuple[str, int], ...], file: Path, removed: tuple[str, ...], model: str
) -> None:
    """Move labels such as stable=17 canary=18 in a models.config.

    Servers that watch the file follow: `headrace serve FILE --reload-config 5`, and TensorFlow Serving with
    --model_config_file_poll_wait_seconds. They serve the versions that have a label; without labels, the
    newest.
    """
    from serving.deploy.labels import move_labels

    if not labels and not removed:
        raise UserError("no label given", fix="give LABEL=VERSION, or --remove LABEL")
    for label, number in labels:
        if dict(labels)[label] != number:
            raise UserError(f"label {label} is given twice", fix="give it one version")
    try:
        after = move_labels(file, dict(labels), removed, model)
    except ServingError as error:
        raise UserError(error.what, where=error.where, fix=error.fix) from error
    shown = ", ".join(f"{label}={version}" for label, version in sorted(after.items()))
    click.echo(f"{file}: {shown or 'no labels; the newest version is served'}")
