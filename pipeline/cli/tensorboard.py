"""`headrace tensorboard`: the training of runs, in TensorBoard."""

from __future__ import annotations

import logging
import os
import signal
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import click

from components.errors import UserError
from pipeline.cli.options import home_option
from pipeline.config import home_of

if TYPE_CHECKING:
    from pipeline.metadata.store import Store

_HOST = "127.0.0.1"


@click.command("tensorboard")
@click.argument("runs", metavar="[RUN]... [PATH]", nargs=-1)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=6006, show_default=True, help="0 takes a free one."
)
@home_option
def command(runs: tuple[str, ...], port: int, home: str | None) -> None:
    """Show how the model of each RUN of the project in PATH learned, at 127.0.0.1, until Ctrl-C.

    RUN is a run's id or the start of one; left out: the latest run that trained or took a trained model
    from the cache. Several are shown together, for comparison. [default PATH: .]
    """
    from pipeline.metadata.store import open_store

    path = "."
    if runs and Path(runs[-1]).exists():
        *runs, path = runs  # type: ignore[assignment]
    found = logs(open_store(home_of(path, home)), tuple(runs))
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    with tempfile.TemporaryDirectory(prefix="headrace-tensorboard-") as folder:
        # Links, since TensorBoard takes one folder, and names a run by its path below that.
        for run, logged in found.items():
            Path(folder, run).symlink_to(logged, target_is_directory=True)
        _serve(folder, port, list(found))


def logs(store: Store, wanted: tuple[str, ...]) -> dict[str, Path]:
    """Run to the folder of TensorBoard's logs, of each run that is wanted; none: of the latest that has some.

    Raises:
      UserError: there is no such run, or it has no logs.
    """
    if not wanted:
        for run in store.runs():
            folder = _logs_of(store, run.id)
            if folder:
                return {run.id: folder}
        raise UserError("no run has trained a model yet", fix="start with `headrace run`")
    found = {}
    for prefix in wanted:
        run = store.find(prefix)
        folder = _logs_of(store, run.id)
        if folder is None:
            raise UserError(
                f"run {run.id} has no logs of a training: its Trainer did not end well, or they were deleted",
                where=prefix,
                fix="name another one of `headrace runs`",
            )
        found[run.id] = folder
    return found


def _logs_of(store: Store, run_id: str) -> Path | None:
    for step in store.steps(run_id):
        for artifact in step.outputs.get("model_run", []):
            folder = Path(artifact.uri)
            if step.state in ("RUN", "CACHED") and folder.is_dir():
                return folder
    return None


def _serve(folder: str, port: int, runs: list[str]) -> None:
    """Serves until the process is asked to end."""
    from tensorboard import program

    logging.getLogger("tensorboard").setLevel(logging.ERROR)
    board = program.TensorBoard()
    # Loading in this process: the other loader is a server of its own.
    arguments = ["", "--logdir", folder, "--host", _HOST, "--port", str(port), "--load_fast", "false"]
    board.configure(argv=arguments)
    try:
        url = board.launch()
    except program.TensorBoardServerException as error:
        raise UserError(
            str(getattr(error, "msg", error)), where="--port", fix="choose another one; 0 takes a free one"
        ) from None
    ended = threading.Event()
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, lambda *_: ended.set())
    click.echo(f"TensorBoard of {', '.join(runs)} at {url}")
    ended.wait()
