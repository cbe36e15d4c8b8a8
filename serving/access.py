"""Who may ask (a token), over what (TLS), and one line in the log for each who did."""

from __future__ import annotations

import hmac
import ipaddress
import logging
import ssl
from pathlib import Path

from aiohttp import web
from aiohttp.abc import AbstractAccessLogger

from serving.errors import ServingError
from serving.status import Code, StatusError

access_log = logging.getLogger("serving.access")
_SCHEME = "Bearer "


def check_token(token: str, header: str | None) -> None:
    """Refuses a request whose Authorization header does not carry the token; "" lets everyone in."""
    if not token:
        return
    sent = header or ""
    if not sent.startswith(_SCHEME):
        raise StatusError(
            Code.UNAUTHENTICATED,
            "This server asks for a token: send the header 'Authorization: Bearer TOKEN'",
        )
    if not hmac.compare_digest(sent[len(_SCHEME) :].strip().encode(), token.encode()):
        raise StatusError(Code.UNAUTHENTICATED, "The token is not the one that this server was started with")


def read_token(path: Path) -> str:
    """The token in a file: its text without the white space around it."""
    try:
        token = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ServingError(f"cannot read the token: {error}", str(path)) from error
    if not token or any(letter.isspace() for letter in token) or not token.isascii():
        raise ServingError(
            "expected one word of ASCII letters, digits and signs",
            str(path),
            f"python3 -c 'import secrets; print(secrets.token_urlsafe())' > {path}",
        )
    return token


def ssl_context(cert: Path, key: Path) -> ssl.SSLContext:
    """The TLS settings of a certificate (chain) and its private key."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    for path in (cert, key):
        if not path.is_file():
            raise ServingError("no such file", str(path), "--tls-cert and --tls-key take PEM files")
    try:
        context.load_cert_chain(cert, key, password="")
    except (ssl.SSLError, OSError, ValueError) as error:
        raise ServingError(
            f"not a certificate and its private key: {error}",
            f"{cert}, {key}",
            "give PEM files; the key must belong to the certificate and have no password",
        ) from error
    return context


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches the address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class AccessLogger(AbstractAccessLogger):
    """One line a request: who, what, the answer's code and size, and how long it took."""

    @property
    def enabled(self) -> bool:
        return self.logger.isEnabledFor(logging.INFO)

    def log(self, request: web.BaseRequest, response: web.StreamResponse, time: float) -> None:
        self.logger.info(
            "%s %s %s %d %d B %.1f ms",
            request.remote, request.method, request.rel_url.raw_path, response.status, response.body_length,
            time * 1e3,
        )  # fmt: skip


def log_lightly() -> None:
    """Leaves thread, process and place of the call out of log records: no line here shows them.

    They take half of the time of a line (Python's logging HOWTO, "Optimization").
    """
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    logging._srcfile = None


def tells_more(record: logging.LogRecord) -> bool:
    """Whether a record of aiohttp says more than that a body cannot be read: its request has a line already.

    aiohttp reads the rest of a body after the answer, and logs a traceback if it is broken.
    """
    return not (record.exc_info and isinstance(record.exc_info[1], web.RequestPayloadError))


def log_call(peer: str, method: str, code: str, seconds: float) -> None:
    """The same line for a gRPC call."""
    access_log.info("%s gRPC %s %s %.1f ms", peer, method, code, seconds * 1e3)
