"""What a container and a pod share: calling their programs, and waiting until the model answers."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import threading
import time
import urllib.request
from concurrent import futures
from urllib.parse import quote

from components.errors import UserError
from components.infra_validator.failed import Failed

REST, GRPC = 8501, 8500
PULL_SECONDS = 600.0  # what fetching the image and starting it may take
_CALL_SECONDS = 60.0
# kubectl's libraries log before it says what is wrong; docker warns, and advises to read its help.
_NOISE = re.compile(r"[EIW]\d{4} |Run 'docker |WARNING: ")


class Container:
    """Waits in a thread, so that what the caller does meanwhile does not count as loading.

    Attributes:
      url, grpc: where it answers.
      load_seconds: from when the server had the model to when the model answered, with the server's own
        start: TensorFlow Serving opens its ports only when it has loaded what it found.
    """

    def __init__(self, name: str) -> None:
        self.url = self.grpc = ""
        self.load_seconds = 0.0
        self._status = f"/v1/models/{quote(name, safe='')}"
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        self._stopped = threading.Event()
        self._loaded: futures.Future[None] | None = None

    def wait(self, seconds: float) -> None:
        """Returns when the model answers; Failed if it cannot be loaded, TimeoutError if it takes longer."""
        assert self._loaded is not None
        try:
            self._loaded.result(seconds)
        except futures.TimeoutError as error:
            if self._loaded.done():
                raise
            raise TimeoutError(f"the server was not ready within {seconds:.0f} s") from error

    def _watch(self) -> None:
        pool = futures.ThreadPoolExecutor(1)
        self._loaded = pool.submit(self._until_loaded)
        pool.shutdown(wait=False)

    def _watch_no_more(self) -> None:
        self._stopped.set()
        if self._loaded is not None:
            futures.wait([self._loaded], _CALL_SECONDS)

    def _until_loaded(self) -> None:
        began = look = time.monotonic()
        while not self._stopped.wait(0.1):
            if time.monotonic() >= look:
                self._keep_up()
                look = time.monotonic() + 1
            with contextlib.suppress(OSError, ValueError, KeyError):
                with self._opener.open(self.url + self._status, timeout=5) as answer:
                    (version,) = json.loads(answer.read())["model_version_status"]
                if version["state"] == "AVAILABLE":
                    self.load_seconds = time.monotonic() - began
                    return
                if version["status"]["error_code"] != "OK":
                    raise Failed(f"the model cannot be loaded: {version['status']['error_message']}")

    def _keep_up(self) -> None:
        """Raises when the server has ended; Failed where that is the model's fault."""
        raise NotImplementedError


def flags(name: str, folder: str) -> list[str]:
    """TensorFlow Serving's, for one model that is there as version 1 or will be.

    A model that cannot be loaded is tried once: by default, six times, a minute apart, with no port open.
    """
    return [
        f"--port={GRPC}",
        f"--rest_api_port={REST}",
        "--file_system_poll_wait_seconds=1",
        "--max_num_load_retries=0",
        f"--model_name={name}",
        f"--model_base_path={folder}",
    ]


def ended(code: int, log: str, image: str) -> Exception:
    """Why a server ended: of the image, when its shell did not find or could not start the program."""
    last = (log.strip().splitlines() or ["no output"])[-1].strip()
    if code in (125, 126, 127):
        return UserError(
            f"{image} did not start: {last}",
            where="infra_validate.image",
            fix="give an image of TensorFlow Serving, which has tensorflow_model_server",
        )
    return Failed(f"the model cannot be loaded: the server ended with code {code}: {last}")


def run(*command: str, seconds: float = _CALL_SECONDS) -> str:
    """What a program prints, without the white space around it.

    Raises:
      RuntimeError: it failed; with what it said.
      TimeoutError: it took longer.
    """
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired as error:
        raise TimeoutError(f"`{' '.join(command[:2])} …` took longer than {seconds:.0f} s") from error
    if done.returncode:
        raise RuntimeError(f"`{' '.join(command[:2])} …` failed: {complaint(done.stderr)}")
    return done.stdout.strip()


def complaint(said: str) -> str:
    """What a program said is wrong, on one line; the end is where the cause is named."""
    text = " ".join(" ".join(line for line in said.splitlines() if not _NOISE.match(line)).split())
    if len(text) > 400:
        text = f"{text[:150]} … {text[-250:]}"
    return text or "it says nothing"
