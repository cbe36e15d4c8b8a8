"""`headrace predict` of large files: in chunks, by Beam, into shards."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from components.errors import UserError
from pipeline.bulk.chunks import open_rows
from pipeline.cli import predict_bulk
from pipeline.cli.predict import command
from pipeline.cli.rows import read_given
from serving.errors import ServingError
from serving.row_files import Csv

QUOTED = (
    "\ufeffcompany,hour,note\r\n\r\nBlue,1,\"two\r\nlines, and a \"\"quote\"\"\"\r\n\nRed,,5\" pipe\n"
    "\"Green\",3,\n,4\n\"\n\",5,end"
)  # fmt: skip
LINES = '\n{"hour": 1}\n\n{"hour": "2", "company": "Zoë"}\n{"company": null}'


def test_rows_are_those_of_the_whole_file_however_it_is_cut(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    files = {"a.csv": QUOTED, "a.tsv": QUOTED.replace(",", "\t"), "a.jsonl": LINES, "one.csv": "hour\n1"}
    for name, text in files.items():
        (tmp_path / name).write_text(text, newline="")
    pq.write_table(pa.table({"hour": range(10)}), tmp_path / "a.parquet", row_group_size=4)
    for name in [*files, "a.parquet"]:
        path = str(tmp_path / name)
        whole, rows = list(read_given(path)), open_rows(path)
        assert len(whole) in (1, 3, 5, 10)
        for size in (1, 2, 3, 100):
            chunks = rows.chunks(size)
            assert [row for chunk in chunks for row in rows.read(chunk)] == whole, (name, size)
            assert [chunk.first for chunk in chunks] == [
                1 + sum(chunk.rows for chunk in chunks[:number]) for number in range(len(chunks))
            ]
        assert [row for chunk in rows.chunks(2, limit=3) for row in rows.read(chunk)] == whole[:3]


def test_csv_as_a_project_writes_it(tmp_path: Path) -> None:
    form = Csv(";", "'", "latin-1", header=False, names=("company", "hour"), missing=frozenset({"?"}))
    path = tmp_path / "a.csv"
    path.write_bytes("Zoë;?\n'Blue;\n\n';2\n ? ;3\n".encode("latin-1"))
    whole, rows = list(read_given(str(path), form)), open_rows(str(path), form)
    assert whole == [
        {"company": "Zoë", "hour": None},
        {"company": "Blue;\n\n", "hour": "2"},
        {"company": None, "hour": "3"},
    ]
    for size in (1, 2, 9):
        assert [row for chunk in rows.chunks(size) for row in rows.read(chunk)] == whole


def test_rows_that_cannot_be_read_are_told_and_the_rest_goes_on(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b'hour,company\n1,a\n2,b,c\n3,"d"e\n4,\xff\n5,f\n')
    (tmp_path / "a.jsonl").write_bytes(b'{"hour": 1}\n{"hour"\n[3]\n{"hour": "\xff"}\n{"hour": 5}\n')
    for name in ("a.csv", "a.jsonl"):
        rows = open_rows(str(tmp_path / name))
        for size in (1, 2, 9):
            found = [row for chunk in rows.chunks(size) for row in rows.read(chunk)]
            assert [isinstance(row, ServingError) for row in found] == [False, True, True, True, False], found
            assert str(found[0]["hour"]) == "1"  # type: ignore[index]
            assert str(found[4]["hour"]) == "5"  # type: ignore[index]


def run(*arguments: object) -> Result:
    result = CliRunner().invoke(command, [*map(str, arguments)])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result


def write_rows(path: Path, numbers: Sequence[object]) -> Path:
    if path.suffix == ".csv":
        path.write_text(
            "hour,trip_miles,colour\n"
            + "".join(f"{hour},{index},red\n" for index, hour in enumerate(numbers))
        )
    else:
        rows = ({"hour": hour, "trip_miles": index, "colour": "red"} for index, hour in enumerate(numbers))
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    from pipeline.bulk import answer

    monkeypatch.setattr(answer, "SHARD_ROWS", 40)
    monkeypatch.setattr(answer, "_BATCH", 16)


def numbered(path: Path) -> dict[int, str]:
    """Row to the rest of its line in a CSV file of answers."""
    return {
        int(row): rest for row, rest in (line.split(",", 1) for line in path.read_text().splitlines()[1:])
    }


@pytest.mark.usefixtures("small_shards")
class TestBeam:
    def test_shards_are_what_one_file_would_be(self, binary_base: Path, tmp_path: Path) -> None:
        table, out = write_rows(tmp_path / "rows.csv", [*range(100)]), tmp_path / "out" / "answers.csv"
        run(binary_base, "--rows", table, "--out", tmp_path / "one.csv")
        said = run(binary_base, "--rows", table, "--out", out, "--beam").stderr
        assert said == (
            "missing in the rows, taken as missing values: company, pickup_zone\n"
            "not known to the model, ignored: colour\n"
            f"100 answers in 3 files: {out.with_name('answers-00000-of-00003.csv')} …\n"
        )
        shards = sorted(out.parent.iterdir())
        assert [shard.name for shard in shards] == [f"answers-{n:05}-of-00003.csv" for n in range(3)]
        one = (tmp_path / "one.csv").read_text().splitlines()
        lines = [shard.read_text().splitlines() for shard in shards]
        assert [each[0] for each in lines] == [one[0]] * 3
        assert [line.split(",")[:2] for each in lines for line in each[1:]] == [
            line.split(",")[:2] for line in one[1:]
        ]
        run(binary_base, "--rows", table, "--out", tmp_path / "some.jsonl", "--limit", 50, "--beam")
        (_, second) = sorted(tmp_path.glob("some-*.jsonl"))
        assert [json.loads(line)["row"] for line in second.read_text().splitlines()] == list(range(41, 51))

    def test_columns_by_the_names_of_the_inputs_are_known(self, binary_base: Path, tmp_path: Path) -> None:
        table, out = tmp_path / "rows.csv", tmp_path / "answers.csv"
        table.write_text("pickup_zone,colour\nA,red\n")  # the column is called `pickup zone`
        said = run(binary_base, "--rows", table, "--out", out, "--beam").stderr
        assert said.endswith(f"1 answer in {tmp_path / 'answers-00000-of-00001.csv'}\n")
        table.write_text("foo;hour\n1;2\n")
        with pytest.raises(UserError, match="no column is one that the model takes: received foo;hour; "):
            run(binary_base, "--rows", table, "--out", out, "--beam")

    def test_bad_rows_are_counted_and_left_out_where_that_is_wished(
        self, binary_base: Path, tmp_path: Path
    ) -> None:
        table = write_rows(tmp_path / "rows.jsonl", [*range(30), "noon", 31, [1], *range(33, 90)])
        with table.open("a") as stream:
            stream.write("{\n")
        said = "3 rows are bad: row 31, column 'hour': 'noon' is not a whole number (int64); row 33, "
        with pytest.raises(UserError, match=re.escape(said)) as raised:
            run(binary_base, "--rows", table, "--out", tmp_path / "answers.csv", "--beam")
        assert "row 91: not valid JSON" in str(raised.value)
        assert raised.value.fix == "mend them, or leave them out with --on-bad-row skip"
        assert [path.name for path in tmp_path.iterdir()] == ["rows.jsonl"]
        done = run(binary_base, "--rows", table, "--out", tmp_path / "answers.csv", "--on-bad-row", "skip")
        assert said in done.stderr
        assert done.stderr.splitlines()[-1].startswith("88 answers in 3 files: ")
        answers = [numbered(path) for path in sorted(tmp_path.glob("answers-*"))]
        assert [*answers[0], *answers[1], *answers[2]] == [n for n in range(1, 91) if n not in (31, 33)]

    def test_a_large_file_without_being_asked(
        self, binary_base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        monkeypatch.setattr(predict_bulk, "LARGE_MB", 0)
        pq.write_table(pa.table({"hour": range(50)}), tmp_path / "rows.parquet", row_group_size=30)
        run(binary_base / "17", "--rows", tmp_path / "rows.parquet", "--out", tmp_path / "a.parquet")
        first, second = (pq.read_table(path) for path in sorted(tmp_path.glob("a-*.parquet")))
        assert first["row"].to_pylist() + second["row"].to_pylist() == list(range(1, 51))
        assert first.schema == second.schema


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--rows", "{rows}", "--beam"), "are for a file of rows, answers in files"),
        (("--rows", "{rows}", "--row", "{{}}", "--out", "a.csv", "--beam"), "are for a file of rows"),
        (("--rows", "-", "--out", "a.csv", "--workers", "2"), "are for a file of rows"),
        (("--rows", "{rows}", "--out", "a.csv", "--beam", "--url", "http://127.0.0.1:9"), "on this machine"),
        (("--rows", "{rows}", "--out", "a.txt", "--beam"), "expected a name that ends with .csv"),
        (("--rows", "{list}", "--out", "a.csv", "--beam"), "a JSON list can only be read whole"),
        (("--rows", "{empty}", "--out", "a.csv", "--beam"), "there is no row"),
        (("--rows", "{none}", "--out", "a.csv", "--beam"), "cannot read it: No such file"),
    ],
)
def test_mistakes(binary_base: Path, tmp_path: Path, more: tuple[str, ...], message: str) -> None:
    names = {name: tmp_path / f"{name}.csv" for name in ("rows", "list", "empty", "none")}
    for name, text in (("rows", "hour\n1\n"), ("list", '[{"hour": 1}]'), ("empty", "hour\n")):
        names[name].write_text(text)
    with pytest.raises(UserError, match=re.escape(message)):
        run(binary_base, *(each.format(**names) for each in more))
