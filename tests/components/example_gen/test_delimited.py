"""Delimited text: what stands in the file is what is read, and what cannot be is told with its line."""

from __future__ import annotations

import bz2
import gzip
import json

import pyarrow as pa
import pytest
from ingested import ingest, notes_of, survey_of, types_of

from components.errors import UserError

# Enough rows that no split stays empty.
ROWS = "".join(f"{i},{'yes' if i % 2 else 'no'}\n" for i in range(120))


def file_of(tmp_path, content: str | bytes, name: str = "data.csv") -> str:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


def refusal(data: dict) -> str:
    with pytest.raises(UserError) as caught:
        survey_of(data)
    return str(caught.value)


def column(source: str, name: str, **options) -> dict[str, int]:
    return survey_of({"source": source, **options}).columns[name].values


def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path):
    source = file_of(tmp_path, b"\xef\xbb\xbfid,y\n" + ROWS.encode())
    assert list(types_of({"source": source})) == ["id", "y"]
    assert ingest(tmp_path, {"source": source}).found.types == {"id": "integer", "y": "boolean"}


@pytest.mark.parametrize("header", [True, False])
def test_a_byte_order_mark_is_no_part_of_a_cell(tmp_path, header):
    source = file_of(tmp_path, b"\xef\xbb\xbf1,y\n2,z\n")
    assert list(column(source, "1" if header else "c0", header=header)) == (["2"] if header else ["1", "2"])


def test_a_quoted_name_may_hold_the_delimiter(tmp_path):
    source = file_of(tmp_path, '"last, first",y\n"Doe, Jane",1\n"Roe, Max",0\n')
    assert column(source, "last, first") == {"Doe, Jane": 1, "Roe, Max": 1}


def test_a_quoted_name_may_hold_a_line(tmp_path):
    source = file_of(tmp_path, '"a\nb",y\n1,2\n3\n')
    assert f"{source}:4: 1 cell instead of 2: '3'" in refusal({"source": source})


def test_names_are_trimmed_and_that_is_said_once(tmp_path):
    for name in ("a.csv", "b.csv"):
        file_of(tmp_path, " id,name ,y\n1,x,0\n", name)
    data = {"source": str(tmp_path / "*.csv")}
    assert list(types_of(data)) == ["id", "name", "y"]
    assert notes_of(data).count("column names trimmed of blanks: ' id', 'name '") == 1


def test_a_name_twice_is_refused_with_both_positions(tmp_path):
    source = file_of(tmp_path, "a,b,a \n1,2,3\n")
    said = refusal({"source": source})
    assert f"{source}:1: column name 'a' stands twice, at positions 1 and 3" in said


def test_a_column_without_a_name_is_refused(tmp_path):
    source = file_of(tmp_path, "a,,c\n1,2,3\n")
    assert f"{source}:1: column 2 has no name" in refusal({"source": source})


def test_a_header_that_looks_like_a_row_is_said(tmp_path):
    source = file_of(tmp_path, "5.1,3.5,0\n4.9,3.0,1\n")
    assert "data.header: false" in notes_of({"source": source})
    assert types_of({"source": source, "header": False}) == {"c0": "float", "c1": "float", "c2": "integer"}


def test_names_stand_in_for_a_header(tmp_path):
    source = file_of(tmp_path, "5.1,3.5,0\n4.9,3.0,1\n")
    named = {"source": source, "header": False, "names": ["a", "b", "c"]}
    assert list(types_of(named)) == ["a", "b", "c"]
    assert survey_of(named).rows == 2
    said = refusal({**named, "names": ["a", "b"]})
    assert f"{source}:1: the first row has 3 cells, data.names names 2" in said


def test_names_with_a_header_are_refused(tmp_path):
    with pytest.raises(ValueError, match="header: false"):
        types_of({"source": "x.csv", "names": ["a"]})


def test_a_quote_within_a_cell_is_taken_as_it_stands(tmp_path):
    source = file_of(tmp_path, 'a,y\n5" pipe,1\n6" pipe,2\n7" pipe,3\n')
    assert column(source, "a") == {'5" pipe': 1, '6" pipe': 1, '7" pipe': 1}


def test_quotes_can_be_plain_characters(tmp_path):
    source = file_of(tmp_path, 'a,y\n"pipe,1\nb",2\n')
    assert column(source, "a", quote=None) == {'"pipe': 1, 'b"': 1}


@pytest.mark.parametrize(
    ("text", "line", "how"),
    [
        ('a,y\n1,2\n3,"open\n5,6\n', 3, "before the file does"),
        ('a,y\n1,2\n"open,4\n5,6\n7,8\n', 3, "before the file does"),
        ('a,y\n1,2\n3,"open\n5,"6"\n7,8\n', 3, "well in line 4"),
        ('a,y\n1,"2\n3"\n3,"open\n5,"end\n', 4, "well in line 5"),
        ('a,y\n1,"', 2, "before the file does"),
    ],
)
def test_a_quote_that_swallows_lines_is_refused_with_the_line_it_opens_in(tmp_path, text, line, how):
    source = file_of(tmp_path, text)
    said = refusal({"source": source})
    assert f"{source}:{line}: " in said
    assert "does not end " + how in said or "cell instead of" in said


def test_cells_may_hold_lines_of_any_kind(tmp_path):
    source = file_of(tmp_path, b'a,y\r\n"one\r\ntwo",1\r\n"three\nfour",2\r\n')
    assert column(source, "a") == {"one\r\ntwo": 1, "three\nfour": 1}
    assert column(source, "y") == {"1": 1, "2": 1}


def test_lines_may_end_in_carriage_returns_alone(tmp_path):
    assert column(file_of(tmp_path, b"a,y\r1,2\r3,4\r"), "a") == {"1": 1, "3": 1}


def test_blank_lines_are_no_rows_but_count_as_lines(tmp_path):
    source = file_of(tmp_path, "a,y\n\n1,2\n\n\n3\n")
    assert f"{source}:6: 1 cell instead of 2: '3'" in refusal({"source": source})


def test_ragged_rows_are_refused_with_their_lines_five_of_them(tmp_path):
    body = "".join(f"{i},x\n" if i % 3 else f'"{i}\n",x,y,z\n' for i in range(30))
    source = file_of(tmp_path, "a,b\n" + body)
    said = refusal({"source": source})
    assert said.startswith(f"{source}:2: 10 rows do not have 2 cells:")
    # A row over two lines moves those behind it on.
    assert f"{source}:2: 4 cells instead of 2" in said
    assert f"{source}:6: 4 cells instead of 2" in said
    assert f"{source}:18: 4 cells instead of 2" in said
    assert said.count("instead of 2") == 5
    assert "and 5 more" in said
    assert "data.on_bad_row: skip" in said


def test_ragged_rows_far_into_a_file_have_their_lines(tmp_path):
    rows = [f'{i},"{i}\n"' for i in range(400_000)]
    rows[399_990] = "1"
    source = file_of(tmp_path, "a,b\n" + "\n".join(rows) + "\n")
    assert f"{source}:{2 * 399_990 + 2}: 1 cell instead of 2" in refusal({"source": source})


def test_bytes_that_are_not_utf8_are_refused_with_line_and_column(tmp_path):
    source = file_of(tmp_path, b'name,y\n"x\ny",1\nJos\xe9,2\nRen\xe9,3\n')
    said = refusal({"source": source})
    assert f"{source}:4: byte 0xe9 in column 'name' is not UTF-8: 'José'" in said
    assert said.startswith(f"{source}:4: 2 rows hold bytes that are not UTF-8")
    assert "data.encoding: latin-1" in said


def test_bytes_of_a_header_that_are_not_utf8_are_refused(tmp_path):
    source = file_of(tmp_path, b"id,pr\xe9nom\n1,2\n")
    assert f"{source}:1: byte 0xe9 at column 6 is not UTF-8, near 'id,prénom'" in refusal({"source": source})


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-16-le", "shift_jis"])
def test_encodings_can_be_declared(tmp_path, encoding):
    name = "名前" if encoding == "shift_jis" else "José"
    source = file_of(tmp_path, f"name,y\n{name},1\nb,2\n".encode(encoding))
    assert column(source, "name", encoding=encoding) == {name: 1, "b": 1}


def test_utf16_is_told_by_its_byte_order_mark(tmp_path):
    source = file_of(tmp_path, "name,y\nJosé,1\nb,2\n".encode("utf-16"))
    assert column(source, "name") == {"José": 1, "b": 1}


def test_an_encoding_that_does_not_fit_is_refused_with_the_line(tmp_path):
    source = file_of(tmp_path, b"name,y\na,1\n\x81,2\n")
    said = refusal({"source": source, "encoding": "cp1252"})
    assert f"{source}:3: byte 0x81 at column 1 is not CP1252" in said


def test_an_encoding_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match="no encoding is called 'utf-99'"):
        types_of({"source": "x.csv", "encoding": "utf-99"})


@pytest.mark.parametrize("name", ["d.csv.gz", "d.csv.bz2", "d.csv.zst", "d.tsv.gz", "D.CSV.GZ"])
def test_compressed_files_are_read(tmp_path, name):
    text = ("a\ty\n1\t2\n" if "tsv" in name else "a,y\n1,2\n").encode()
    squeeze = {
        "gz": gzip.compress,
        "bz2": bz2.compress,
        "zst": lambda data: pa.compress(data, "zstd", asbytes=True),
    }[name.lower().rsplit(".", 1)[-1]]
    assert column(file_of(tmp_path, squeeze(text), name), "y") == {"2": 1}


def test_a_gzip_file_may_have_several_members(tmp_path):
    source = file_of(tmp_path, gzip.compress(b"a,y\n1,2\n") + gzip.compress(b"3,4\n"), "d.csv.gz")
    assert column(source, "a") == {"1": 1, "3": 1}


def test_a_compressed_file_that_is_cut_off_is_refused(tmp_path):
    whole = gzip.compress(("a,y\n" + "".join(f"{i * 7919},{i}\n" for i in range(9999))).encode())
    source = file_of(tmp_path, whole[: len(whole) // 2], "d.csv.gz")
    said = refusal({"source": source})
    assert said.startswith(f"{source}: cannot be read: ")
    assert "cut off" in said


def test_a_delimiter_can_be_declared(tmp_path):
    source = file_of(tmp_path, "a;y\n1,5;2\n")
    assert column(source, "a", delimiter=";") == {"1,5": 1}
    assert "data.delimiter: ';'" in refusal({"source": source})


@pytest.mark.parametrize(
    ("content", "what"), [("", "is empty"), ("\n\n", "is empty"), ("\ufeff", "is empty")]
)
def test_an_empty_file_is_refused(tmp_path, content, what):
    source = file_of(tmp_path, content)
    assert f"{source}: the file {what}" in refusal({"source": source})


@pytest.mark.parametrize("content", ["a,y", "a,y\n", "a,y\r\n\r\n"])
def test_a_header_without_rows_is_refused(tmp_path, content):
    source = file_of(tmp_path, content)
    assert f"{source}: the source has a header but no rows" in refusal({"source": source})


@pytest.mark.parametrize(
    ("start", "what"),
    [(b"PAR1xxxx", "a Parquet file"), (b"PK\x03\x04xx", "Excel"), (b"\x1f\x8b\x08xx", "gzip")],
)
def test_a_file_that_is_no_text_is_told_what_it_is(tmp_path, start, what):
    said = refusal({"source": file_of(tmp_path, start)})
    assert "not text" in said
    assert what in said


def test_a_row_longer_than_a_block_is_read(tmp_path):
    long = "x" * (9 << 20)
    source = file_of(tmp_path, f"a,y\n1,2\n{long},3\n" + "4,5\n" * 10)
    survey = survey_of({"source": source})
    assert survey.rows == 12
    assert survey.columns["y"].values == {"2": 1, "3": 1, "5": 10}


def test_an_open_quote_in_a_large_file_is_found(tmp_path):
    rows = "".join(f"{i},text {i}\n" for i in range(500_000))
    source = file_of(tmp_path, f'a,y\n1,2\n"3,4\n{rows}')
    assert f"{source}:3: a quoted cell that begins here" in refusal({"source": source})


def test_bad_rows_can_be_skipped_and_are_listed(tmp_path):
    text = b"n,y\n" + ROWS.encode() + b'too,many,cells\n"a\nb",Ren\xe9\nfew\n' + ROWS.encode() + b"last\n"
    source = file_of(tmp_path, text)
    found = ingest(tmp_path, {"source": source, "on_bad_row": "skip", "columns": {"n": "integer"}})
    assert sum(found.found.rows.values()) == 240
    assert found.found.skipped == 4
    assert "skipped 4 rows that cannot be read; see skipped_rows.jsonl" in found.notes
    listed = [json.loads(line) for line in (found.uri / "skipped_rows.jsonl").read_text().splitlines()]
    assert listed == [
        {"where": f"{source}:122", "reason": "3 cells instead of 2", "text": "too,many,cells"},
        {"where": f"{source}:123", "reason": "byte 0xe9 in column 'y' is not UTF-8", "text": "René"},
        {"where": f"{source}:125", "reason": "1 cell instead of 2", "text": "few"},
        {"where": f"{source}:246", "reason": "1 cell instead of 2", "text": "last"},
    ]


def test_when_all_rows_are_skipped_there_is_nothing_left(tmp_path):
    source = file_of(tmp_path, "a,y\n1\n2\n")
    assert "all 2 rows are skipped" in refusal({"source": source, "on_bad_row": "skip"})
