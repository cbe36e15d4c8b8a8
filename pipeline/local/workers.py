"""Step processes, forked from a server that has the libraries imported already."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from multiprocessing import forkserver
from pathlib import Path

from components.processes import end_with_parent
from pipeline.local import step
from pipeline.local.quiet import stderr_to


class Workers:
    """Starts step processes and ends them.

    Args:
      log: where what the fork server itself prints goes.
    """

    def __init__(self, log: Path) -> None:
        self._context = multiprocessing.get_context("forkserver")
        self._log = log
        self._lock = threading.Lock()
        self._running: set[multiprocessing.process.BaseProcess] = set()
        self._stopping = False

    def warm_up(self) -> None:
        """Starts the server, which imports while the caller goes on."""
        self._context.set_forkserver_preload(["pipeline.local.preload"])
        self._log.parent.mkdir(parents=True, exist_ok=True)
        here = os.getcwd()
        os.chdir("/")  # the server looks for modules in its folder first, and a project may hold any
        try:
            with stderr_to(self._log):
                forkserver.ensure_running()
        finally:
            os.chdir(here)

    def run(self, invocation: Path, result: Path, log: Path) -> int:
        """Runs the step in a process of its own, and waits.

        Returns:
          The exit code; -N when signal N ended it.
        """
        process = self._context.Process(target=_child, args=(str(invocation), str(result), str(log)))
        with self._lock:
            if self._stopping:
                return -signal.SIGTERM
            process.start()
            self._running.add(process)
        process.join()
        with self._lock:
            self._running.discard(process)
        return process.exitcode or 0

    def stop(self) -> None:
        """Ends every step that is running, and starts no more."""
        with self._lock:
            self._stopping = True
            running = list(self._running)
        for process in running:
            process.kill()
        for process in running:
            process.join()


def _child(invocation: str, result: str, log: str) -> None:
    # A step must not outlive the runner, nor the fork server, through which the runner sees it.
    end_with_parent(os.getppid())
    threading.Thread(target=_end_with_runner, daemon=True).start()
    # The terminal's Ctrl-C goes to the parent, which then ends the steps.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with open(log, "ab") as stream:
        os.dup2(stream.fileno(), 1)
        os.dup2(stream.fileno(), 2)
    os.chdir("/")
    ended, _ = step.run(Path(invocation))
    ended.write(Path(result))
    sys.stdout.flush()
    sys.stderr.flush()
    # Threads of TensorFlow and Beam must not delay the end.
    os._exit(1 if ended.error else 0)


def _end_with_runner() -> None:
    # The fork server does not do it: it lives for as long as any process that it made.
    runner = multiprocessing.parent_process()
    assert runner
    runner.join()
    os.kill(os.getpid(), signal.SIGKILL)
