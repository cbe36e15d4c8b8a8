"""Folders of texts through ExampleGen."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from ingested import Ingested, ingest

from components.errors import UserError


def write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _of_texts(got: Ingested) -> list[str]:
    """The notes, without that of splits as small as these."""
    return [note for note in got.found.notes if "mostly luck" not in note]


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    """75 texts of each of two classes."""
    for number in range(150):
        kind = ("ham", "spam")[number % 2]
        write(tmp_path / "texts" / kind / f"{number}.txt", f"Größe {number},\r\nzweite Zeile\n".encode())
    return tmp_path / "texts"


def test_a_folder_a_class(texts: Path, tmp_path: Path) -> None:
    got = ingest(tmp_path, {"source": str(texts), "format": "texts"}, label="kind")
    assert got.found.types == {"text": "text", "kind": "text"}
    assert got.found.label.classes == ("ham", "spam")
    assert sum(got.found.rows.values()) == 150
    assert _of_texts(got) == []
    assert "Größe 7,\r\nzweite Zeile\n" in got.column("text")
    row = next(row for row in got.rows() if row["text"][0].startswith("Größe 7,"))
    assert row["kind"] == ["spam"]


def test_the_format_is_told_by_the_names_also_compressed(tmp_path: Path) -> None:
    for number in range(150):
        content = gzip.compress(f"{number}".encode())
        write(tmp_path / "texts" / f"{number % 2}" / f"{number}.txt.gz", content)
    got = ingest(tmp_path, {"source": str(tmp_path / "texts")}, label="kind")
    assert got.found.types == {"text": "text", "kind": "text"}
    assert sorted(map(int, got.column("text"))) == list(range(150))


def test_encodings_and_broken_bytes_are_said(texts: Path, tmp_path: Path) -> None:
    write(texts / "ham" / "west.txt", "Größe".encode("cp1252"))
    write(texts / "ham" / "south.txt", "Größe".encode("cp1252") + b"\x81")
    write(texts / "spam" / "wide.txt", "weit ü".encode("utf-16"))
    write(texts / "spam" / "empty.txt", b"\n")
    got = ingest(tmp_path, {"source": str(texts)}, label="kind")
    assert sorted(_of_texts(got)) == [
        "bytes that mean nothing in cp1252, each read as \ufffd: 1",
        "texts that are empty: 1",
        "texts that are not UTF-8, read as Windows-1252 (data.encoding names another): 2",
    ]
    assert {"Größe", "Größe\ufffd", "weit ü", None} <= set(got.column("text"))


def test_a_declared_encoding_counts_what_is_broken(texts: Path, tmp_path: Path) -> None:
    write(texts / "ham" / "west.txt", "Größe".encode("cp1252"))
    got = ingest(tmp_path, {"source": str(texts), "encoding": "utf-8"}, label="kind")
    assert _of_texts(got) == ["bytes that mean nothing in utf-8, each read as \ufffd: 2"]


def test_what_is_no_text_stops_the_run_or_is_skipped(texts: Path, tmp_path: Path) -> None:
    for number in range(7):
        write(texts / "ham" / f"image{number}.txt", b"\x89PNG\r\n\x1a\n\0\0")
    with pytest.raises(UserError) as caught:
        ingest(tmp_path, {"source": str(texts)}, label="kind")
    assert "files that hold no text: 7" in str(caught.value)
    assert "and 2 more" in str(caught.value)
    got = ingest(tmp_path, {"source": str(texts), "on_bad_row": "skip"}, label="kind")
    assert sum(got.found.rows.values()) == 150
    assert "skipped 7 rows" in got.notes
    assert "ham/image3.txt" in (got.uri / "skipped_rows.jsonl").read_text()


def test_one_text_may_be_a_table(tmp_path: Path) -> None:
    write(tmp_path / "table.txt", b"a,y\n" + b"".join(f"{n},{n % 2}\n".encode() for n in range(100)))
    with pytest.raises(
        UserError, match=r"one text is one row\n  fix: if it holds a table: data\.format: csv"
    ):
        ingest(tmp_path, {"source": str(tmp_path / "table.txt")})
    got = ingest(tmp_path, {"source": str(tmp_path / "table.txt"), "format": "csv"})
    assert got.found.types == {"a": "integer", "y": "integer"}


def test_a_folder_that_is_called_as_the_column_of_texts(texts: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="'text' is the column of the texts themselves"):
        ingest(tmp_path, {"source": str(texts)}, label="text")
