"""The whole taxi pipeline against the taxi example that TFX ships, on the same stack, in one run.

Usage: .venv/bin/python benchmarks/taxi.py [RUNS]

Prints wall seconds (the median of RUNS, 3 by default) of: the stock example; `headrace run` cold, with
the same batch size and at least as many steps; `headrace run` again with nothing changed; and
`headrace --help`. Stock and ours alternate, so that a machine whose speed drifts does not favour either.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).parent
HEADRACE = str(Path(sys.executable).parent / "headrace")
# 4 epochs of 12,016 rows in batches of 40 are 1,204 steps; the stock example makes 1,000.
OURS = ("--set", "train.epochs=4", "--set", "train.batch_size=40", "--set", "train.early_stopping=0")


def seconds(command: list[str], **environment: str) -> float:
    """Wall time of a command that must succeed."""
    began = time.monotonic()
    done = subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    took = time.monotonic() - began
    if done.returncode:
        sys.exit(
            f"{' '.join(command)} ended with {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-4000:]}"
        )
    return took


def main(runs: int) -> None:
    stock, cold, again, usage = [], [], [], []
    # Under Keras 3 the example of the older TFX fails in its Trainer.
    keras = {"TF_USE_LEGACY_KERAS": "1"} if version("tfx").startswith("1.16") else {}
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as scratch:
            stock.append(seconds([sys.executable, str(HERE / "stock_taxi.py"), f"{scratch}/stock"], **keras))
            ours = [HEADRACE, "run", str(HERE.parent / "data" / "taxi"), "--home", f"{scratch}/ours", *OURS]
            cold.append(seconds(ours))
            again.append(seconds(ours))
            usage.append(seconds([HEADRACE, "--help"]))
    base = statistics.median(stock)
    print(
        f"TFX {version('tfx')}, TensorFlow {version('tensorflow')}, {os.cpu_count()} cores, {runs} runs each"
    )
    print("| what | median s | min s | max s | stock / this |")
    print("|---|---|---|---|---|")
    for name, times in (
        ("stock taxi example, LocalDagRunner", stock),
        ("headrace run, cold", cold),
        ("headrace run, nothing changed", again),
        ("headrace --help", usage),
    ):
        middle = statistics.median(times)
        print(f"| {name} | {middle:.2f} | {min(times):.2f} | {max(times):.2f} | {base / middle:.1f} |")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
