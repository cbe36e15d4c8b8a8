"""Sockets, and what is said when one cannot be had."""

from __future__ import annotations

import errno
import socket

from serving.errors import ServingError


def bind(host: str, port: int, option: str = "--port") -> socket.socket:
    """A socket bound to the address, not yet listening; `option` is what to change when it is taken."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError as error:
        raise listen_error(error, host, port, option) from error
    return listener


def listen_error(error: OSError, host: str, port: int, option: str = "--port") -> ServingError:
    """Why the address cannot be listened on."""
    where = f"{host}:{port}"
    if error.errno == errno.EADDRINUSE:
        return ServingError(
            f"port {port} is taken by another process", where, f"choose another with {option}"
        )
    if error.errno == errno.EACCES:
        return ServingError(
            f"port {port} needs more rights than this user has", where, f"choose one above 1023 with {option}"
        )
    return ServingError(
        f"cannot listen here: {error.strerror or error}", where, "--host takes an address of this machine"
    )


def reachable(host: str, port: int) -> str:
    """HOST:PORT as a client on this machine reaches it."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"{f'[{host}]' if ':' in host else host}:{port}"
