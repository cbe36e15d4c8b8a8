"""`headrace kubeflow image`: the container image of the steps."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path

import click

from components.errors import UserError
from pipeline.exit_codes import DONE, FAILED

_CHECKOUT = Path(__file__).parents[2]
_ENGINES = ("docker", "podman", "buildah")
_KANIKO = "/kaniko/executor"


@click.command("image")
@click.option("--tag", required=True, metavar="IMAGE", help="Its name, such as registry.example/headrace:1.")
@click.option("--push", is_flag=True, help="Send it to its registry.")
@click.option("--dry-run", is_flag=True, help="Print the commands instead.")
def command(tag: str, push: bool, dry_run: bool) -> int:
    """Build the image from the checkout's Dockerfile, with docker, podman, buildah or kaniko.

    Then name it in pipeline.yaml: `kubeflow: {image: IMAGE}`.
    """
    for line in commands(tag, push, _engine()):
        click.echo(shlex.join(line))
        if not dry_run and subprocess.run(line).returncode:
            return FAILED
    return DONE


def _engine() -> str:
    found = next((path for name in _ENGINES if (path := shutil.which(name))), None)
    found = found or (_KANIKO if Path(_KANIKO).is_file() else None)
    if found is None:
        raise UserError(
            f"there is none of {', '.join(_ENGINES)} or {_KANIKO} here",
            where="kubeflow image",
            fix="build it where there is one; as root, `tools/image.sh build` makes the same tree without, "
            "for `headrace kubeflow simulate --rootfs`",
        )
    return found


def commands(tag: str, push: bool, engine: str, checkout: Path = _CHECKOUT) -> list[list[str]]:
    """What to call.

    Raises:
      UserError: this is no checkout, or kaniko is not to push, which it cannot.
    """
    if not (checkout / "Dockerfile").is_file():
        raise UserError(
            f"there is no Dockerfile in {checkout}",
            where="kubeflow image",
            fix="call it from a checkout of Headrace",
        )
    if engine == _KANIKO:
        if not push:
            raise UserError("kaniko can only push", where="kubeflow image", fix="add --push")
        return [[engine, "--context", str(checkout), "--destination", tag]]
    built = [engine, "build", "--tag", tag, "--file", str(checkout / "Dockerfile"), str(checkout)]
    return [built, *([[engine, "push", tag]] if push else [])]
