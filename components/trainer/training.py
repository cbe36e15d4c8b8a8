"""One training, from the files of the rows to a model to be served: for Trainer once, for Tuner often."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import keras

from components.errors import UserError
from components.trainer import learning
from components.trainer.bottleneck import measure
from components.trainer.compiled import compiled, in_float32, said_of_classes
from components.trainer.config import ModelConfig, TrainConfig
from components.trainer.data import Rows
from components.trainer.devices import Devices
from components.trainer.distill import taught_feed
from components.trainer.feed import evaluation, feed
from components.trainer.fitting import Fitted, fit
from components.trainer.models import Builder
from components.trainer.target import with_target
from components.transform.plan import FeaturePlan


@contextlib.contextmanager
def scratch_folder(wanted: str) -> Iterator[Path]:
    """A local folder that goes with the block.

    Args:
      wanted: where TFX wants what is temporary; where that is no local folder, the system has one.
    """
    place = wanted if os.path.isdir(wanted) else None
    with tempfile.TemporaryDirectory(dir=place, ignore_cleanup_errors=True) as folder:
        yield Path(folder)


class Trained(NamedTuple):
    """What came of it.

    Attributes:
      model: to be served: float32, outside any strategy.
      history: what was measured to its value after each epoch.
      account: of the training, in a sentence.
      plan: with what was found of the label.
    """

    model: keras.Model
    history: dict[str, list[float]]
    account: str
    plan: FeaturePlan


def train(
    files: Mapping[str, list[str]],
    plan: FeaturePlan,
    model_config: ModelConfig,
    train: TrainConfig,
    build: Builder,
    used: Devices,
    *,
    run_uri: str,
    scratch: Path,
    checkpoint: str | None = None,
    taught: Rows | None = None,
    begin: Callable[[keras.Model], None] | None = None,
) -> Trained:
    """Trains on the transformed rows of `train`, and follows the metrics on those of `eval`.

    Args:
      files: split to its TFRecord files.
      used: what `devices.ready` has set up.
      run_uri: logs go there.
      scratch: a local folder for caches of the rows.
      checkpoint: where an interrupted training is continued from; None: from the start.
      taught: the train rows with a teacher's answers, for `train.distill`.
      begin: gives the built model its first weights; None: it keeps those that it was built with.

    Raises:
      UserError: what the config says does not fit the data, or the loss is no number any more.
    """
    if train.distill and taught is None:
        raise UserError(
            "there are no answers of a teacher in this step, only in Trainer",
            where="train.distill",
            fix="tune without distill, then train with it",
        )
    alone = used.here.workers == 1
    plan = with_target(plan, train.loss, files["train"])
    class_weights = learning.class_weights(train.loss, plan, files["train"])
    fed = feed(files["train"], plan, train, scratch) if taught is None else taught_feed(taught, train)
    watched = evaluation(files["eval"], plan, train, scratch)
    model = compiled(build, plan, model_config, train, fed, used, class_weights, begin)
    # Workers but the first leave their logs nowhere.
    logs = run_uri if used.here.number == 0 else tempfile.mkdtemp(dir=scratch)
    fitted = fit(model, fed, watched, plan, train, logs, checkpoint, used.here)
    served = in_float32(model, build, plan, model_config)
    # Workers would not agree how many steps the measurement takes.
    sides = measure(model, fed, rows_a_second=fitted.rows_a_second, seconds=fitted.seconds) if alone else None
    account = _account(fitted, served, train, used) + said_of_classes(plan, train, class_weights)
    return Trained(served, fitted.history, account + (f"; {sides}" if sides else ""), plan)


def _account(fitted: Fitted, model: keras.Model, train: TrainConfig, used: Devices) -> str:
    history = fitted.history
    epochs = len(history["loss"])
    best = epochs - 1
    if train.keep == "best":
        best = min(range(epochs), key=history["val_loss"].__getitem__)
    measured = ", ".join(
        f"{name.removeprefix('val_')} {values[best]:.4f}"
        for name, values in history.items()
        if name.startswith("val_")
    )
    stopped = (
        f"stopped after {epochs} of {train.epochs} epochs" if epochs < train.epochs else f"{epochs} epochs"
    )
    resumed = f", the first {fitted.resumed} before an interruption" if fitted.resumed else ""
    return (
        f"{model.name}, {model.count_params():,} parameters, {stopped}{resumed}; eval {measured} "
        f"(epoch {best + 1}); {fitted.rows_a_second:,.0f} rows/s, {used}"
    )
