"""Files of text as streams of UTF-8."""

from __future__ import annotations

import codecs
import io
from typing import Any

import pyarrow as pa

from components.errors import UserError
from components.example_gen import files


class Utf8Stream(io.RawIOBase):
    """Bytes of UTF-8 without a byte order mark.

    Args:
      source: what follows `start`.
      counted: a character to be counted as it goes by.

    Attributes:
      count: how often it did.
      ended: whether a read has said that there is no more.
    """

    def __init__(self, source: pa.NativeFile, start: bytes, counted: str | None = None) -> None:
        self._source, self._start = source, start
        self._counted = (counted or "").encode()
        self.count = 0
        self.ended = False
        self._is_over = False

    def readable(self) -> bool:
        return True

    def end(self) -> None:
        """Says from now on that there is no more."""
        self._is_over = True

    def read(self, size: int = -1) -> bytes:
        data = b"" if self._is_over else self._read(size)
        self.ended = self.ended or (not data and size != 0)
        return data

    def _read(self, size: int) -> bytes:
        if self._start:
            data, self._start = self._start, b""
            if size < 0:
                data += self._source.read()
            elif len(data) > size:
                data, self._start = data[:size], data[size:]
            elif len(data) < size:
                data += self._source.read(size - len(data))
        else:
            data = self._source.read(size if size >= 0 else None)
        if self._counted:
            self.count += data.count(self._counted)
        return data

    def readinto(self, buffer: Any) -> int:
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._source.close()
        super().close()


def encoding_of(start: bytes, declared: str | None) -> str:
    """The encoding that a byte order mark tells, else the declared one, else UTF-8."""
    if start.startswith(codecs.BOM_UTF8) and declared in (None, "utf-8"):
        return "utf-8-sig"
    if declared is None and start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    return declared or "utf-8"


def open_utf8(path: str, declared: str | None, counted: str | None = None) -> Utf8Stream:
    """The file's text, decompressed and in UTF-8.

    Args:
      declared: the encoding that the config names.
      counted: a character that the stream counts.

    Raises:
      UserError: for a file that is certainly something else: an Excel workbook that is named .csv.
    """
    with files.reading(path):
        source = files.open_bytes(path)
        start = source.read(64) or b""
        what = files.what_it_is(start)
        if what:
            raise UserError(
                f"this is {what}, not text", where=path, fix="name it as what it is, or export it as CSV"
            )
        encoding = encoding_of(start, declared)
        if encoding == "utf-8-sig":
            return Utf8Stream(source, start.removeprefix(codecs.BOM_UTF8), counted)
        if encoding == "utf-8":
            return Utf8Stream(source, start, counted)
        source.close()
        return Utf8Stream(
            pa.transcoding_input_stream(files.open_bytes(path), encoding, "utf-8"), b"", counted
        )
