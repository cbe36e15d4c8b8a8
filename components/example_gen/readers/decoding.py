"""Whole files of text: in which encoding they are, and what of them is broken."""

from __future__ import annotations

import codecs
from collections import Counter

# What text that is no UTF-8 is most often in; it has a character for nearly every byte.
_GUESS = "cp1252"
# The longer mark first: that of UTF-16 is its beginning.
_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


class NoText(ValueError):
    """A file holds no text; says why."""


def decode(content: bytes, declared: str | None) -> tuple[str, Counter[str]]:
    """The text, and what a person should know of how it was read, as a `Block` has remarks.

    Args:
      declared: the encoding that the config names; None: it is told by a byte order mark, is UTF-8, or else
        is taken to be Windows-1252, which is said.

    Raises:
      NoText: the bytes are certainly something else.
    """
    remarks: Counter[str] = Counter()
    encoding = next((name for mark, name in _MARKS.items() if content.startswith(mark)), None)
    if encoding is None or (declared and not encoding.startswith(declared)):
        encoding = declared or "utf-8"
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError:
        if b"\0" in content and not encoding.startswith(("utf-16", "utf-32")):
            raise NoText("not text: it holds bytes of zero") from None
        if declared is None and encoding == "utf-8":
            encoding = _GUESS
            remarks["texts that are not UTF-8, read as Windows-1252 (data.encoding names another): {n}"] = 1
        text = content.decode(encoding, errors="replace")
        if broken := text.count("\ufffd") - content.decode(encoding, errors="ignore").count("\ufffd"):
            remarks[f"bytes that mean nothing in {encoding}, each read as \ufffd: {{n}}"] = broken
    text = text.removeprefix("\ufeff")
    if "\0" in text:
        raise NoText("not text: it holds characters of zero")
    if not text.strip():
        remarks["texts that are empty: {n}"] = 1
        text = ""
    return text, remarks
