"""Drives a headless Chromium over its DevTools protocol, with what is installed anyway."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp

FOUND = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
_ARGUMENTS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--no-proxy-server"),
    "--remote-debugging-port=0",
]


class Page:
    """A page whose JavaScript can be asked."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket, self._number = socket, 0
        self.requests: list[str] = []  # every URL that the page asked for
        self.errors: list[str] = []  # what JavaScript threw, and what the page's policy kept out

    async def send(self, method: str, **parameters: Any) -> Any:
        self._number += 1
        await self._socket.send_json({"id": self._number, "method": method, "params": parameters})
        while True:
            message = await self._socket.receive_json(timeout=20)
            if message.get("method") == "Network.requestWillBeSent":
                self.requests.append(message["params"]["request"]["url"])
            if message.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded"):
                self.errors.append(str(message["params"]))
            if message.get("id") == self._number:
                assert "error" not in message, message
                return message["result"]

    async def value(self, expression: str) -> Any:
        """What a JavaScript expression is."""
        result = await self.send(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    async def until(self, expression: str) -> Any:
        """Waits for an expression to be true; its value."""
        for _ in range(200):
            if found := await self.value(expression):
                return found
            await asyncio.sleep(0.05)
        raise AssertionError(
            f"{expression} does not become true: {await self.value('document.body.innerText')}"
        )


def visit(url: str, work: Callable[[Page], Awaitable[None]]) -> None:
    """Opens a URL in a fresh browser and does the work there."""
    # Its processes may write there to the last.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        log = Path(profile) / "log"
        with open(log, "w") as stderr:
            browser = subprocess.Popen(
                [str(FOUND), *_ARGUMENTS, f"--user-data-dir={profile}/data", "about:blank"],
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                start_new_session=True,
            )
        try:
            asyncio.run(_visit(url, log, work))
        finally:
            os.killpg(browser.pid, signal.SIGKILL)
            browser.wait()


async def _visit(url: str, log: Path, work: Callable[[Page], Awaitable[None]]) -> None:
    for _ in range(400):
        if found := re.search(r"listening on ws://(\S+?)/", log.read_text()):
            break
        await asyncio.sleep(0.05)
    else:
        raise AssertionError(log.read_text())
    async with aiohttp.ClientSession() as session:
        async with session.get(f"http://{found[1]}/json/list") as answer:
            target = next(one for one in await answer.json() if one["type"] == "page")
        async with session.ws_connect(target["webSocketDebuggerUrl"], max_msg_size=0) as socket:
            page = Page(socket)
            for domain in ("Page", "Runtime", "Network", "Log"):
                await page.send(f"{domain}.enable")
            await page.send("Page.navigate", url=url)
            await work(page)
