"""The embedded server against itself without batching, and against servers written by hand; in one run.

Usage: .venv/bin/python benchmarks/serve.py [VERSION_DIRECTORY] [SECONDS]

The model is the newest that `headrace run data/taxi` pushed, the rows are those of its table, one a request,
and all goes over the loopback of this machine, which the load shares. SECONDS (5 by default) is how long each
load takes. Prints the table, and exits with 1 when a figure misses its aim.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import taxi_rows

from pipeline.cli.rows import read_given
from serving.load_test import Load, Measured, rest_load
from serving.model import load_model
from serving.process import ServerProcess
from serving.rest_values import to_array
from serving.rows import to_columns
from serving.signature import RAW_SIGNATURE
from serving.versions import list_versions

PUSHED = Path(__file__).parent.parent / "data" / "taxi" / ".headrace" / "models" / "taxi"
CLIENTS, TURNS, SWAPS = 32, 5, 20
FAST_POLL = ["--poll", "0.2"]


@contextmanager
def by_hand(version: Path, how: str) -> Iterator[str]:
    """A server written by hand; its URL."""
    program = str(Path(__file__).parent / "plain_server.py")
    process = subprocess.Popen(
        [sys.executable, program, str(version), how],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout
    assert process.stdin
    try:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.stdin.close()
        process.wait(20)


class Bench:
    """The loads on one model.

    Args:
      version: its version directory.
      seconds: of each load.
    """

    def __init__(self, version: Path, seconds: float) -> None:
        self.version, self.seconds = version, seconds
        self.model = load_model(version, 1)
        inputs = {name: info.dtype for name, info in self.model.signatures[RAW_SIGNATURE].inputs.items()}
        rows = list(islice(read_given(str(taxi_rows.SOURCE)), 256))
        self.columns = [to_columns([row], inputs).values for row in rows]
        self.bodies = [
            json.dumps({"signature_name": RAW_SIGNATURE, "inputs": columns}).encode()
            for columns in self.columns
        ]

    def load(self, url: str, clients: int, seconds: float | None = None) -> Measured:
        """What a load on the server at `url` measured."""
        load = Load(clients=clients, seconds=seconds or self.seconds, requests=10_000_000)
        return rest_load(url, "/v1/models/taxi:predict", self.bodies, 1, load)

    def by_turns(self, urls: list[str]) -> list[Measured]:
        """The load on each server, in short turns: a machine that slows down then slows all of them."""
        parts: list[list[Measured]] = [[] for _ in urls]
        for _ in range(TURNS):
            for url, part in zip(urls, parts, strict=True):
                part.append(self.load(url, CLIENTS, self.seconds / TURNS))
        return [_together(part) for part in parts]

    def direct_p99(self) -> float:
        """The 99th percentile of a call of the signature in this process, in milliseconds."""
        signature = self.model.signatures[RAW_SIGNATURE]
        calls = [
            {name: to_array(columns[name], info) for name, info in signature.inputs.items()}
            for columns in self.columns
        ]
        taken = []
        for number in range(2000):
            started = time.perf_counter()
            self.model.run(RAW_SIGNATURE, calls[number % len(calls)])
            taken.append((time.perf_counter() - started) * 1e3)
        return statistics.quantiles(taken[100:], n=100)[98]

    def swaps(self) -> tuple[Measured, float, float]:
        """A load while versions are swapped, and the memory after 2 swaps and after all, in MiB."""
        with tempfile.TemporaryDirectory() as folder:
            base = Path(folder) / "taxi"
            shutil.copytree(self.version, base / "1")
            with ServerProcess(base, "taxi", options=FAST_POLL) as server:
                stop, memory = threading.Event(), []

                def swap() -> None:
                    for number in range(2, SWAPS + 2):
                        staged = base / f".{number}"
                        shutil.copytree(self.version, staged)
                        staged.rename(base / str(number))
                        _wait_for(server.url, number)
                        shutil.rmtree(base / str(number - 1))
                        if number in (3, SWAPS + 1):
                            time.sleep(2)  # until what the last requests held is let go
                            memory.append(_resident(server.pid))
                    stop.set()

                thread = threading.Thread(target=swap)
                thread.start()
                # Few clients: a swap needs a core for itself to be measured, not the load's queue.
                parts = []
                while not stop.is_set():
                    parts.append(self.load(server.url, 2, 1.0))
                thread.join()
        return _together(parts), memory[0], memory[1]


def _together(parts: list[Measured]) -> Measured:
    import numpy as np

    codes: dict[str, int] = {}
    for part in parts:
        for code, count in part.codes.items():
            codes[code] = codes.get(code, 0) + count
    return Measured(
        sum(part.requests for part in parts),
        sum(part.seconds for part in parts),
        1,
        np.concatenate([part.latencies for part in parts]),
        codes,
    )


def _wait_for(url: str, number: int) -> None:
    """Returns when a version is the one that answers."""
    from serving.client import Client

    client = Client(url, "taxi")
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        states = {int(each["version"]): each["state"] for each in client.status()}
        if states.get(number) == "AVAILABLE" and "AVAILABLE" not in (states.get(number - 1),):
            return
        time.sleep(0.1)
    raise TimeoutError(f"version {number} does not answer")


def _resident(pid: int) -> float:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def main() -> int:
    given = [argument for argument in sys.argv[1:] if not argument.replace(".", "").isdigit()]
    numbers = [float(argument) for argument in sys.argv[1:] if argument.replace(".", "").isdigit()]
    version = Path(given[0]) if given else list_versions(PUSHED)[0].path
    bench = Bench(version, numbers[0] if numbers else 5.0)
    rows: list[tuple[str, float, float, float]] = []

    def row(name: str, measured: Measured) -> float:
        assert not measured.errors, (name, measured.codes)
        speed = measured.requests / measured.seconds
        rows.append((name, speed, measured.percentile(50), measured.percentile(99)))
        return speed

    with (
        ServerProcess(version, "taxi") as server,
        ServerProcess(version, "taxi", options=["--no-batching"]) as without,
        by_hand(version, "signature") as plain,
    ):
        loads = bench.by_turns([server.url, without.url, plain])
        ours = row(f"headrace serve, {CLIENTS} clients", loads[0])
        alone = bench.load(server.url, 1)
        row("headrace serve, 1 client", alone)
        unbatched = row(f"the same without batching, {CLIENTS} clients", loads[1])
        by_signature = row(f"by hand, the signature, {CLIENTS} clients", loads[2])
    with by_hand(version, "predict") as url:
        by_predict = row(f"by hand, model.predict, {CLIENTS} clients", bench.load(url, CLIENTS))
    direct = bench.direct_p99()
    swapped, after_two, after_all = bench.swaps()
    with ServerProcess(version, "taxi") as server:
        quiet = bench.load(server.url, 2)
    row("while versions are swapped, 2 clients", swapped)
    row("without swaps, 2 clients", quiet)

    print(f"\nload of the machine before the run's end: {os.getloadavg()}, {os.cpu_count()} cores\n")
    print("| what | requests/s | p50 ms | p99 ms |\n|---|---|---|---|")
    for name, speed, p50, p99 in rows:
        print(f"| {name} | {speed:,.0f} | {p50:.2f} | {p99:.2f} |")
    aims: list[tuple[str, Any, str, bool]] = [
        ("with batching / without", f"{ours / unbatched:.1f}", "4 or more", ours >= 4 * unbatched),
        ("against the signature by hand", f"{ours / by_signature:.1f}", "-", True),
        ("against model.predict by hand", f"{ours / by_predict:.1f}", "3 or more", ours >= 3 * by_predict),
        (
            f"p99 of 1 client / of the direct call ({direct:.2f} ms)",
            f"{alone.percentile(99) / direct:.1f}",
            "below 3",
            alone.percentile(99) < 3 * direct,
        ),
        (
            f"failed requests in {SWAPS} swaps, of {swapped.requests:,}",
            swapped.errors,
            "0",
            not swapped.errors,
        ),
        (
            "p99 with swaps / without",
            f"{swapped.percentile(99) / quiet.percentile(99):.1f}",
            "below 5",
            swapped.percentile(99) < 5 * quiet.percentile(99),
        ),
        (
            f"memory after {SWAPS} swaps / after 2 ({after_two:,.0f} MiB)",
            f"{after_all / after_two:.2f}",
            "below 1.1",
            after_all < 1.1 * after_two,
        ),
    ]
    print("\n| figure | measured | aim | |\n|---|---|---|---|")
    for name, measured, aim, met in aims:
        print(f"| {name} | {measured} | {aim} | {'met' if met else 'missed'} |")
    return int(not all(met for *_, met in aims))


if __name__ == "__main__":
    sys.exit(main())
