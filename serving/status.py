"""The status codes that TensorFlow, gRPC and TensorFlow Serving share, and their HTTP codes."""

from __future__ import annotations

import enum


class Code(enum.IntEnum):
    """A canonical status code; the numbers are those of gRPC and of TensorFlow's `OpError.error_code`."""

    OK = 0
    CANCELLED = 1
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    ABORTED = 10
    OUT_OF_RANGE = 11
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    DATA_LOSS = 15
    UNAUTHENTICATED = 16

    @property
    def http(self) -> int:
        """The HTTP code with which TensorFlow Serving answers."""
        return _HTTP.get(self, 500)


_HTTP = {
    Code.OK: 200,
    Code.CANCELLED: 499,
    Code.INVALID_ARGUMENT: 400,
    Code.DEADLINE_EXCEEDED: 504,
    Code.NOT_FOUND: 404,
    Code.ALREADY_EXISTS: 409,
    Code.PERMISSION_DENIED: 403,
    Code.RESOURCE_EXHAUSTED: 429,
    Code.FAILED_PRECONDITION: 400,
    Code.ABORTED: 409,
    Code.OUT_OF_RANGE: 400,
    Code.UNIMPLEMENTED: 501,
    Code.UNAVAILABLE: 503,
    Code.UNAUTHENTICATED: 401,
}


class StatusError(Exception):
    """A request that cannot be answered; becomes TensorFlow Serving's `{"error": message}`."""

    def __init__(self, code: Code, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


def invalid(message: str) -> StatusError:
    """The request is at fault (HTTP 400)."""
    return StatusError(Code.INVALID_ARGUMENT, message)
