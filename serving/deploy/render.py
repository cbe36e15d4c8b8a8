"""Everything of a deployment, for one target."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from serving.deploy import compose, kserve, kubernetes
from serving.deploy.grafana import dashboard
from serving.deploy.settings import Deployment
from serving.errors import ServingError

TARGETS: Mapping[str, Callable[[Deployment], dict[str, str]]] = {
    "compose": compose.render,
    "kubernetes": kubernetes.render,
    "kserve": kserve.render,
}


def render(deployment: Deployment, target: str) -> dict[str, str]:
    """File name to text; raises ServingError for what the target cannot do."""
    return {**TARGETS[target](deployment), "dashboard.json": dashboard(deployment.model)}


def write(files: Mapping[str, str], folder: Path, force: bool = False) -> list[Path]:
    """Writes the files; those that a person has changed since are refused without `force`."""
    try:
        return _write(files, folder, force)
    except OSError as error:
        raise ServingError(
            f"cannot write there: {error.strerror or error}",
            str(error.filename or folder),
            "give another folder with --out",
        ) from error


def _write(files: Mapping[str, str], folder: Path, force: bool) -> list[Path]:
    changed = [
        name
        for name, text in files.items()
        if (folder / name).exists() and (folder / name).read_bytes() != text.encode()
    ]
    if changed and not force:
        raise ServingError(
            f"{', '.join(changed)} would be written anew, and differ from what would be written",
            str(folder),
            "give --force, or another folder with --out",
        )
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return [folder / name for name in files]
