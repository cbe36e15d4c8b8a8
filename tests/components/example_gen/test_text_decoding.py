"""In which encoding a file of text is, and what of it is broken."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.example_gen.readers.decoding import NoText, decode

TEXT = "Größe: 5 µm, “naïve”\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_an_encoding_that_can_be_told_is_told(encoding: str) -> None:
    assert decode(TEXT.encode(encoding), None) == (TEXT, {})


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "cp1252", "cp1250"])
def test_a_declared_encoding_holds(encoding: str) -> None:
    text = TEXT.replace("ï", "i")
    assert decode(text.encode(encoding), encoding) == (text, {})
    assert decode(("\ufeff" + text).encode("utf-16-le"), "utf-16-le") == (text, {})


def test_a_guessed_encoding_is_said() -> None:
    text, remarks = decode(TEXT.encode("cp1252"), None)
    assert text == TEXT
    assert remarks == {"texts that are not UTF-8, read as Windows-1252 (data.encoding names another): {n}": 1}


def test_broken_bytes_are_counted() -> None:
    text, remarks = decode(b"a\xffb\xfec\xef\xbf\xbd", "utf-8")
    assert text == "a\ufffdb\ufffdc\ufffd"
    assert remarks == {"bytes that mean nothing in utf-8, each read as \ufffd: {n}": 2}
    text, remarks = decode(b"\x81caf\xe9", None)
    assert text == "\ufffdcafé"
    assert remarks["bytes that mean nothing in cp1252, each read as \ufffd: {n}"] == 1


@pytest.mark.parametrize("content", [b"", b" \n", b"\xef\xbb\xbf"])
def test_an_empty_text_is_missing(content: bytes) -> None:
    assert decode(content, None) == ("", {"texts that are empty: {n}": 1})


@pytest.mark.parametrize("content", [b"\x89PNG\r\n\0\0", "utf 16".encode("utf-16-le"), b"\xff\0\x01"])
def test_what_is_no_text_says_so(content: bytes) -> None:
    with pytest.raises(NoText, match="not text: it holds"):
        decode(content, None)


@given(st.binary(max_size=100), st.sampled_from([None, "utf-8", "cp1252", "utf-16", "ascii", "shift_jis"]))
def test_any_bytes_are_text_or_said_to_be_none(content: bytes, declared: str | None) -> None:
    try:
        text, _ = decode(content, declared)
    except NoText:
        return
    text.encode()
