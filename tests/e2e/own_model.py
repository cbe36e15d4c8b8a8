"""A small project whose model is the user's own code, and can be held in the middle of training."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from pathlib import Path

from headrace_calls import Done, Warm

from pipeline.metadata.store import Store, open_store
from serving.versions import Version, list_versions

CONFIG = """\
data: {source: trips.csv}
label: tip
model: {build: model.build_model}
train: {epochs: 8, batch_size: 64, learning_rate: {peak: 0.1}}
"""
MODEL = """\
import os
import time

import keras

from helpers import layers

HOLD = "@HOLD@"


def build_model(plan, config):
    if os.path.exists(HOLD):
        with open(HOLD, "w") as stream:
            stream.write(str(os.getpid()))
    while os.path.exists(HOLD):
        time.sleep(0.05)
    inputs = {each.name: keras.Input((1,), name=each.name) for each in plan.inputs if not each.size}
    return keras.Model(inputs, layers.logit(list(inputs.values())))
"""
HELPER = """\
import keras


def logit(tensors):
    return keras.layers.Dense(1, kernel_initializer="zeros")(keras.layers.Concatenate()(tensors))
"""


def write_trips(path: Path, rows: int = 400) -> None:
    """A table from which a linear model can learn whether there is a tip."""
    deal = random.Random(5)
    lines = ["miles,fare,zone,tip"]
    for _ in range(rows):
        miles, fare = deal.expovariate(0.3), deal.uniform(3, 40)
        tip = "yes" if miles + fare / 10 + deal.gauss(0, 0.5) > 5 else "no"
        lines.append(f"{miles:.3f},{fare:.2f},{deal.choice('abc')},{tip}")
    path.write_text("\n".join(lines) + "\n")


@dataclass(frozen=True)
class OwnModel:
    """The project's folder and how to run it."""

    folder: Path
    warm: Warm

    @property
    def hold(self) -> Path:
        """While this file exists, training waits; the step's process id is written into it."""
        return self.folder.with_suffix(".hold")

    @property
    def home(self) -> Path:
        return self.folder / ".headrace"

    @property
    def store(self) -> Store:
        return open_store(self.home)

    @property
    def versions(self) -> list[Version]:
        """What has been pushed, newest first."""
        return list_versions(self.home / "models" / "tips")

    def write(self) -> None:
        """Makes the project's files."""
        (self.folder / "helpers").mkdir(parents=True)
        (self.folder / "pipeline.yaml").write_text(CONFIG)
        (self.folder / "model.py").write_text(MODEL.replace("@HOLD@", str(self.hold)))
        (self.folder / "helpers" / "layers.py").write_text(HELPER)
        write_trips(self.folder / "trips.csv")

    def run(self, *arguments: str) -> Done:
        """`headrace run --json`, in the process that stays."""
        return self.warm("run", self.folder, "--json", *arguments, cwd=self.folder.parent)

    def held(self, limit: float = 90) -> int:
        """Waits until training waits, and gives the process id of the step."""
        deadline = time.monotonic() + limit
        while not (text := self.hold.read_text()):
            assert time.monotonic() < deadline, "training did not begin"
            time.sleep(0.05)
        return int(text)
