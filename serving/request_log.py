"""Answered requests, sampled, as gzip TFRecords of PredictionLog: for skew checks and for warm-up."""

from __future__ import annotations

import logging
import os
import queue
import random
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from serving.errors import ServingError

log = logging.getLogger("serving")

_WAITING = 1000  # records that may wait for the disk
_A_FILE = 100_000  # records
_A_FILE_SECONDS = 3600.0
_FLUSH_SECONDS = 5.0  # what a killed server loses
_END = ".tfrecord.gz"


class RequestLog:
    """Writes a sample of the requests to files in a folder.

    A file is named `requests-TIME-PID-NUMBER.tfrecord.gz` and appears whole, when it is full, an hour old, or
    the server stops; until then its name ends with `.part`, and it is written every few seconds. What the
    disk cannot keep up with is dropped and counted: a log never delays an answer.

    Args:
      folder: where the files go.
      rate: the share of the requests to keep, 0 to 1.
    """

    def __init__(self, folder: Path, rate: float) -> None:
        self._folder, self._rate = folder, rate
        self.dropped = 0
        self._records: queue.Queue[Callable[[], Any] | None] = queue.Queue(_WAITING)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            probe = folder / f".probe-{os.getpid()}"
            probe.write_bytes(b"")
            probe.unlink()
        except OSError as error:
            raise ServingError(
                f"cannot write here: {error.strerror}",
                str(folder),
                "--log-requests takes a folder to write to",
            ) from error
        self._writer = threading.Thread(target=self._write, name="request-log", daemon=True)
        self._writer.start()

    def samples(self, rate: float | None = None) -> bool:
        """Whether to keep this request; `rate` is the model's own share, if it has one."""
        return random.random() < (self._rate if rate is None else rate)

    def offer(self, make: Callable[[], Any]) -> bool:
        """Keeps a record; `make` gives the PredictionLog, later and in the writer's thread."""
        try:
            self._records.put_nowait(make)
        except queue.Full:
            if not self.dropped:
                log.warning("the request log cannot keep up: requests are dropped from it")
            self.dropped += 1
            return False
        return True

    def close(self) -> None:
        """Writes what waits and finishes the file."""
        self._records.put(None)
        self._writer.join(30)

    def _write(self) -> None:
        number, ended = 0, False
        while not ended:
            first = self._records.get()
            if first is None:
                return
            stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
            path = self._folder / f"requests-{stamp}-{os.getpid()}-{number}{_END}"
            try:
                ended = self._write_file(path, first)
            except Exception as error:
                log.error("the request log cannot be written: %s; one file is lost", error)
            number += 1

    def _write_file(self, path: Path, first: Callable[[], Any]) -> bool:
        """Fills one file; whether it was the last."""
        import tensorflow as tf

        part = path.with_name(path.name + ".part")
        deadline = time.monotonic() + _A_FILE_SECONDS
        with tf.io.TFRecordWriter(str(part), tf.io.TFRecordOptions(compression_type="GZIP")) as writer:
            writer.write(first().SerializeToString())
            ended = self._fill(writer, deadline)
        part.rename(path)
        return ended

    def _fill(self, writer: Any, deadline: float) -> bool:
        """Writes what comes, until the file is full or old or the server stops; whether it does."""
        count, on_disk, flushed = 1, 0, time.monotonic()
        while count < _A_FILE and (now := time.monotonic()) < deadline:
            if count > on_disk and now - flushed >= _FLUSH_SECONDS:
                writer.flush()
                on_disk, flushed = count, now
            try:
                make = self._records.get(timeout=min(_FLUSH_SECONDS, deadline - now))
            except queue.Empty:
                continue
            if make is None:
                return True
            writer.write(make().SerializeToString())
            count += 1
        return False
