"""Training speed on the taxi table: the input pipeline by itself and in `fit`, and Trainer against stock.

Usage: .venv/bin/python benchmarks/training.py [--rows 60000] [--gpu]

First table, rows a second of `fit` with the same wide & deep model and batches of 512, each in a fresh
process: our input pipeline with each cache; batches that are tensors in memory already, the same 32 over
and over, which no pipeline can outrun; and the pipeline of most tutorials, which parses one example at a
time. The first epoch, which traces the graph and fills caches, does not count.

Second table, the Trainer executor against that of the example that TFX ships, on the example's 15,002
rows: as many steps, the same batches of 40, hidden layers of the same sizes.

--gpu adds precision mixed_float16, XLA and, with several GPUs, MirroredStrategy; nobody has run it yet.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import taxi_rows
import transform
from steps import measure

BATCH, EPOCHS = 512, 6
HIDDEN = [100, 70, 48, 34]  # as the example computes them
STOCK_BATCH, STOCK_EPOCHS = 40, 3


def feeds(files: list[str], plan: Any, way: str, train: Any, scratch: Path) -> tuple[Any, int, int]:
    """Batches of one way, the steps of an epoch, and those in one call."""
    import tensorflow as tf

    from components.trainer import data
    from components.trainer.feed import feed

    fed = feed(files, plan, train, scratch)
    if way not in ("in memory", "one by one"):
        return fed.batches, fed.steps, fed.steps_at_once
    if way == "in memory":
        return fed.batches.take(32).cache().repeat().prefetch(tf.data.AUTOTUNE), fed.steps, fed.steps_at_once
    spec = data.feature_spec(plan)

    def parse(record: Any) -> Any:
        features = tf.io.parse_single_example(record, spec)
        return features, features.pop(plan.label_input)

    made = tf.data.TFRecordDataset(files, "GZIP").map(parse).shuffle(10_000, seed=1).repeat().batch(BATCH)
    return made, fed.steps, 1


def fit(folder: Path, way: str, section: dict[str, Any]) -> float:
    """Rows a second of `fit` in this process, the first epoch apart."""
    import keras

    from components.trainer import devices, learning, models
    from components.trainer.config import ModelConfig, TrainConfig
    from components.trainer.learner import learner
    from components.transform.plan import FeaturePlan

    train = TrainConfig(epochs=EPOCHS, batch_size=BATCH, early_stopping=0, **section)
    used, train = devices.ready(train)
    plan = FeaturePlan.load(str(folder / "ours/transform/transform_graph"))
    examples = folder / "ours/transform/transformed_examples/Split-train"
    files = sorted(str(path) for path in examples.iterdir())
    with tempfile.TemporaryDirectory() as scratch:
        batches, steps, at_once = feeds(files, plan, way, train, Path(scratch))
        with used.strategy.scope():
            model = learner(models.build(plan, ModelConfig()), train, rows=batches.element_spec,
                            replicas=used.replicas)  # fmt: skip
            model.compile(
                learning.optimizer(train, steps * EPOCHS, used.precision),
                learning.loss(plan, train.loss),
                **learning.compiled_metrics(plan),
                steps_per_execution=at_once,
                jit_compile=train.xla,
            )
        times: list[float] = []
        clock = keras.callbacks.LambdaCallback(on_epoch_end=lambda *_: times.append(time.monotonic()))
        model.fit(batches, epochs=EPOCHS, steps_per_epoch=steps, callbacks=[clock], verbose=0)
    return (EPOCHS - 1) * steps * BATCH / (times[-1] - times[0])


def fits(folder: Path, way: str, section: dict[str, Any]) -> float:
    """The same in a process of its own."""
    command = [sys.executable, "-W", "ignore", __file__, "--one", str(folder), way, json.dumps(section)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{way} failed\n{done.stderr[-4000:]}")
    return float(done.stdout.strip().splitlines()[-1])


def compare_feeds(folder: Path, rows: int, gpu: bool) -> None:
    source = taxi_rows.write(folder / "taxi.csv", rows)
    given = transform.parameters(source)["ours"]
    for step in given:
        measure("ours", step, folder, given[step])
    ways: list[tuple[str, str, dict[str, Any]]] = [
        ("batches in memory", "in memory", {}),
        ("headrace, as it is", "ours", {}),
        ("headrace, cache: file", "ours", {"input": {"cache": "file"}}),
        ("headrace, cache: off", "ours", {"input": {"cache": "off"}}),
        ("one example at a time", "one by one", {}),
    ]
    if gpu:
        ways += [
            ("headrace, mixed_float16", "ours", {"precision": "mixed_float16"}),
            ("headrace, xla", "ours", {"xla": True}),
            ("headrace, mirrored", "ours", {"strategy": "mirrored"}),
        ]
    print(f"| {rows:,} rows, batches of {BATCH} | rows/s in fit | of in memory | to one at a time |")
    print("|---|---|---|---|")
    found = {name: fits(folder, way, section) for name, way, section in ways}
    for name, rate in found.items():
        whole, single = rate / found["batches in memory"], rate / found["one example at a time"]
        print(f"| {name} | {rate:,.0f} | {whole:.0%} | {single:.1f} |", flush=True)


def compare_trainers(folder: Path) -> None:
    source = taxi_rows.write(folder / "taxi.csv", 15_002)
    transform.transformed(folder, source)
    files = folder / "ours/transform/transformed_examples/Split-train"
    steps = -(-_rows(files) // STOCK_BATCH) * STOCK_EPOCHS
    ours = {
        "config": json.dumps(
            {
                "model": {"hidden": HIDDEN},
                "train": {"epochs": STOCK_EPOCHS, "batch_size": STOCK_BATCH, "early_stopping": 0},
            }
        ),
        "name": "taxi",
        "user_code": "",
    }
    stock = {
        "run_fn": f"{transform.EXAMPLE}.run_fn",
        "train_args": json.dumps({"num_steps": steps}),
        "eval_args": json.dumps({"num_steps": 150}),
        "custom_config": "null",
    }
    (theirs, their_peak), (mine, my_peak) = (
        measure(side, "trainer", folder, given) for side, given in (("stock", stock), ("ours", ours))
    )
    print(f"\n| {steps} steps of {STOCK_BATCH} rows, and the export | s | peak MiB | stock / this |")
    print("|---|---|---|---|")
    print(f"| stock Trainer, the taxi example's module | {theirs:.1f} | {their_peak:,.0f} | 1.0 |")
    print(f"| headrace Trainer | {mine:.1f} | {my_peak:,.0f} | {theirs / mine:.1f} |", flush=True)


def _rows(folder: Path) -> int:
    import tensorflow as tf

    files = [str(path) for path in folder.iterdir()]
    return sum(1 for _ in tf.data.TFRecordDataset(files, "GZIP"))


def main(rows: int, gpu: bool) -> None:
    print(f"TFX {version('tfx')}, TensorFlow {version('tensorflow')}, Keras {version('keras')}\n")
    with tempfile.TemporaryDirectory() as scratch:
        compare_feeds(Path(scratch), rows, gpu)
    with tempfile.TemporaryDirectory() as scratch:
        compare_trainers(Path(scratch))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        print(fit(Path(sys.argv[2]), sys.argv[3], json.loads(sys.argv[4])))
        sys.exit()
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=60_000)
    parser.add_argument("--gpu", action="store_true", help="also what needs a GPU")
    chosen = parser.parse_args()
    main(chosen.rows, chosen.gpu)
