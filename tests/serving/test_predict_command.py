"""`headrace predict`: rows in, answers out."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from serve_process import Running
from tiny_models import save_model

from components.errors import UserError
from pipeline.cli.predict import command
from serving import client
from serving.errors import ServingError
from serving.process import ServerProcess

CSV = "company,pickup zone,hour,trip_miles,tipped,colour\nBlue,A,10,5.5,1,red\nRed,,,,0,red\n,,-20,1e1,0,\n"
YES = {"predicted_class": "yes", "probabilities": {"no": pytest.approx(0.3), "yes": pytest.approx(0.7)}}


def run(*arguments: str, stdin: str | None = None) -> Result:
    result = CliRunner().invoke(command, arguments, input=stdin)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result


def test_csv_here_and_from_the_server(server: Running, binary_base: Path, tmp_path: Path) -> None:
    rows = tmp_path / "rows.csv"
    rows.write_text(CSV)
    here = run(str(binary_base), "--rows", str(rows))
    assert re.fullmatch(
        r"row,predicted_class,probability\n1,yes,0\.(7|69999)\d*\n2,no,1\.0\n3,yes,0\.8\d*\n", here.stdout
    )
    assert here.stderr == "not known to the model, ignored: colour\n"
    there = run(str(binary_base), "--rows", str(rows), "--url", server.url)
    assert there.stderr == here.stderr
    cells = [[line.split(",") for line in text.splitlines()[1:]] for text in (here.stdout, there.stdout)]
    for ours, theirs in zip(*cells, strict=True):
        assert ours[:2] == theirs[:2]
        assert float(ours[2]) == pytest.approx(float(theirs[2]))


def test_json_lines_from_stdin(server: Running) -> None:
    rows = '{"company": "Blue", "pickup_zone": null, "hour": 10, "trip_miles": 5.5}\n\n{"hour": "10"}\n'
    result = run("--rows", "-", "--json", "--url", f"{server.url}/v1/models/tips", stdin=rows)
    first, second = map(json.loads, result.stdout.splitlines())
    assert first == YES
    assert second["predicted_class"] == "no"
    assert result.stderr == ""


def test_missing_columns_are_said_once(server: Running, binary_base: Path) -> None:
    result = run(
        str(binary_base), "--row", '{"trip_miles": "6"}', "--row", "{}", "--url", server.url, "--name", "tips"
    )
    assert result.stdout.startswith("row,predicted_class,probability\n1,yes,0.6")
    assert result.stderr == "missing in the rows, taken as missing values: company, hour, pickup_zone\n"


def test_limit_and_a_list_of_rows(server: Running) -> None:
    url = f"{server.url}/v1/models/tips"
    result = run("--rows", "-", "--limit", "2", "--json", "--url", url, stdin='[{"hour": 1}, {}, {}]')
    assert len(result.stdout.splitlines()) == 2


def test_regression_here(regression_base: Path) -> None:
    row = ["--row", '{"trip_miles": 20, "hour": null}']
    assert json.loads(run(str(regression_base / "3"), *row, "--json").stdout) == {"prediction": 2.0}
    assert run(str(regression_base), *row).stdout == "row,prediction\n1,2.0\n"


def test_quantiles_here(tmp_path: Path) -> None:
    model = save_model(tmp_path / "1", "regression", quantiles=True)
    row = ["--row", '{"trip_miles": 20}']
    answer = {"prediction": 2.0, "quantiles": [1.0, 4.0]}
    assert json.loads(run(str(model), *row, "--json").stdout) == answer
    assert run(str(model), *row).stdout == "row,prediction,quantiles\n1,2.0,1.0|4.0\n"
    for suffix, lines in (
        ("csv", "row,prediction,quantile_1,quantile_2\n1,2.0,1.0,4.0\n"),
        ("jsonl", json.dumps({"row": 1, **answer}) + "\n"),
    ):
        run(str(model), *row, "--out", str(tmp_path / f"answers.{suffix}"))
        assert (tmp_path / f"answers.{suffix}").read_text() == lines


BAD_ROWS = {
    "text for a number": ("hour,trip_miles\n1,2\n2,far\n", "row 2, column 'trip_miles': 'far' is not"),
    "a fraction": ("hour\n1.5\n", "row 1, column 'hour': '1.5' is not a whole number (int64)"),
    "beyond int64": ("hour\n9223372036854775808\n", "'9223372036854775808' is not a whole number"),
    "beyond float32": ("trip_miles\n1e39\n", "'1e39' is not a number (float32)"),
    "an underscore": ("trip_miles\n1_000\n", "'1_000' is not a number"),
    "a list": ('{"hour": [1]}', "column 'hour': [1] is not a whole number"),
    "a list as text": ('{"company": ["a"]}', "column 'company': ['a'] is not text"),
    "too many cells": ("hour,company\n1,a,b\n", "row 1 has 3 cells; the header has 2"),
    "columns twice": ("hour,hour\n1,2\n", "column 'hour' is there twice"),
    "an open quote": ('hour,company\n1,"a\n', "not valid CSV"),
    "broken JSON": ('{"hour": 1}\n{"hour"\n', "stdin:2: not valid JSON"),
    "no object": ("[1]", "item 1 is 1; expected a JSON object"),
    "no row": ("hour\n", "there is no row"),
    "nothing": ("", "there is no row"),
    "other columns": ("foo;hour\n1;2\n", "no column is one that the model takes: received foo;hour; "),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_ROWS)
def test_bad_rows(server: Running, case: str) -> None:
    text, message = BAD_ROWS[case]
    with pytest.raises(UserError, match=re.escape(message)):
        run("--rows", "-", "--url", f"{server.url}/v1/models/tips", stdin=text)


def test_csv_as_the_project_writes_it(binary_base: Path, tmp_path: Path) -> None:
    """Cells that were missing in training are no words of their own here."""
    (tmp_path / "pipeline.yaml").write_text(
        "data: {source: rows.csv, delimiter: ';', encoding: latin-1, quote: \"'\", missing: ['', '?']}\n"
        f"label: tipped\npush: {{to: {json.dumps(str(binary_base))}}}\n"
    )
    rows = tmp_path / "rows.csv.gz"
    text = "company; hour;trip_miles\nZoë;?;5.5\n'Blue;';10; ? \n?;;7\n"
    rows.write_bytes(gzip.compress(text.encode("latin-1")))
    said = run(str(tmp_path), "--rows", str(rows), "--json")
    same = [
        {"company": "Zoë", "trip_miles": 5.5},
        {"company": "Blue;", "hour": 10},
        {"trip_miles": 7},
    ]
    literals = [word for row in same for word in ("--row", json.dumps(row))]
    assert said.stdout == run(str(tmp_path), *literals, "--json").stdout
    assert said.stderr == "missing in the rows, taken as missing values: pickup_zone\n"

    plain = tmp_path / "plain.csv"
    plain.write_text("company,hour\nBlue,NA\n")
    out = run(str(binary_base), "--rows", str(plain), "--json").stdout
    assert out == run(str(binary_base), "--row", '{"company": "Blue"}', "--json").stdout


def test_files_that_are_no_rows(server: Running, tmp_path: Path) -> None:
    for name, content, message, fix in (
        ("a.csv.gz", gzip.compress(b"hour\n1\n")[:-9], "cannot read it: ", ""),
        ("a.csv.zst", b"\x28\xb5\x2f\xfd...", "cannot read it: ", ""),
        ("a.jsonl", b"\n", "there is no row", "write one JSON object a line"),
        ("a.parquet", b"", "there is no row", "write a table with at least one row"),
        ("a.csv", b"hour\n", "there is no row", "give a header and at least one row"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(UserError, match=message) as raised:
            run("--rows", str(tmp_path / name), "--url", f"{server.url}/v1/models/tips")
        assert fix in raised.value.fix


def test_other_mistakes(server: Running, tmp_path: Path) -> None:
    for arguments, message in {
        ("--url", server.url): "no rows given",
        ("--rows", "absent.csv"): "absent.csv: cannot read it: No such file or directory",
        ("--row", "[]", "--url", server.url): "--row: got []; expected a JSON object",
        ("--row", "{}", "--url", f"{server.url}/v1/models/foo"): "HTTP 404: Servable not found for request",
        ("--row", "{}", "--url", "http://127.0.0.1:9/v1/models/foo"): "no server answers: ",
        ("--row", "{}", "--url", "file:///v1/models/foo"): "got 'file://'; expected http://HOST:PORT",
        (str(tmp_path), "--row", "{}"): "no model to serve",
    }.items():
        with pytest.raises(UserError) as raised:
            run(*arguments)
        assert message in str(raised.value)


def test_the_client_from_python(server: Running) -> None:
    answers = client.predict(server.url, "tips", [{"trip_miles": "7", "pickup zone": "x"}, {"trip_miles": 1}])
    assert [answer.predicted_class for answer in answers] == ["yes", "no"]
    assert answers[0].probability == pytest.approx(0.7)
    assert client.Client(server.url, "tips").status()[0]["state"] == "AVAILABLE"
    with pytest.raises(ServingError, match="row 1, column 'hour'"):
        client.predict(server.url, "tips", [{"hour": "noon"}])


def test_classes_of_which_a_row_has_any_number(capsys: pytest.CaptureFixture[str]) -> None:
    from pipeline.cli.predict import _Table, _write_json
    from serving.rows import to_predictions

    outputs = {
        "probabilities": [[0.75, 0.5, 0.125], [0.25, 0.0, 0.0]],
        "classes": [["art", "music", "sport"]] * 2,
        "predicted": [[1, 1, 0], [0, 0, 0]],
    }
    found = to_predictions(outputs)
    _Table(aligned=False).write(1, found)
    _write_json(1, found[1:])
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == ["row,predicted_classes,probabilities", "1,art|music,0.75|0.5", "2,,"]
    nothing = {"predicted_classes": [], "probabilities": {"art": 0.25, "music": 0.0, "sport": 0.0}}
    assert json.loads(lines[3]) == nothing


def test_an_aligned_table(capsys: pytest.CaptureFixture[str]) -> None:
    from pipeline.cli.predict import _Table
    from serving.rows import Prediction

    table = _Table(aligned=True)
    table.write(1, [Prediction("no", {"no": 0.75, "maybe": 0.25}), Prediction("maybe", {"maybe": 0.5})])
    table.write(3, [Prediction("no", {"no": 1.0})])
    assert capsys.readouterr().out.splitlines() == [
        "row  predicted_class  probability",
        "1    no               0.7500",
        "2    maybe            0.5000",
        "3    no               1.0000",
    ]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """1,000 rows as Parquet, with types that CSV has not."""
    import datetime
    import decimal

    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "rows.parquet"
    columns = {
        "company": pa.array(["Blue", None, "Red", "Blue"] * 250).dictionary_encode(),
        "pickup zone": pa.array([b"A", b"B", None, b"A"] * 250),
        "hour": pa.array([10, None, 3, 10] * 250, pa.int8()),
        "trip_miles": pa.array(
            [decimal.Decimal("5.5"), None, decimal.Decimal("1"), decimal.Decimal("2")] * 250
        ),
        "when": pa.array([datetime.datetime(2026, 1, 2)] * 1000),
    }
    pq.write_table(pa.table(columns), path)
    return path


def test_parquet_in_bulk(server: Running, binary_base: Path, table: Path, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    out = {suffix: tmp_path / f"out.{suffix}" for suffix in ("parquet", "csv", "jsonl")}
    here = run(str(binary_base), "--rows", str(table), "--out", str(out["parquet"]))
    assert here.stdout == ""
    assert here.stderr == f"not known to the model, ignored: when\n1,000 answers in {out['parquet']}\n"
    answers = pq.read_table(out["parquet"])
    assert answers.schema.names == ["row", "predicted_class", "probability_no", "probability_yes"]
    assert answers["row"].to_pylist() == list(range(1, 1001))
    assert answers["predicted_class"].to_pylist() == ["yes", "no", "no", "no"] * 250
    assert answers["probability_yes"][:4].to_pylist() == pytest.approx([0.7, 0.0, 0.13, 0.35])

    url = f"{server.url}/v1/models/tips"
    run("--url", url, "--rows", str(table), "--out", str(out["csv"]))
    run("--url", url, "--rows", str(table), "--out", str(out["jsonl"]))
    lines = out["csv"].read_text().splitlines()
    assert lines[0] == "row,predicted_class,probability_no,probability_yes"
    assert [line.split(",")[:2] for line in lines[1:5]] == [
        ["1", "yes"],
        ["2", "no"],
        ["3", "no"],
        ["4", "no"],
    ]
    assert json.loads(out["jsonl"].read_text().splitlines()[999])["row"] == 1000


def test_a_file_of_answers_is_whole_or_not_there(binary_base: Path, tmp_path: Path) -> None:
    rows = tmp_path / "rows.csv"
    rows.write_text("hour\n" + "1\n" * 600 + "noon\n")
    out = tmp_path / "out.csv"
    with pytest.raises(UserError, match="row 601"):
        run(str(binary_base), "--rows", str(rows), "--out", str(out))
    with pytest.raises(UserError, match=r"expected a name that ends with \.csv, \.jsonl, \.parquet"):
        run(str(binary_base), "--row", "{}", "--out", str(tmp_path / "out.txt"))
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"PAR1 and nothing else PAR1")
    with pytest.raises(UserError, match="not valid Parquet"):
        run(str(binary_base), "--rows", str(broken))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["broken.parquet", "rows.csv"]


def test_a_server_that_asks_for_a_token(binary_base: Path, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("s3cret\n")
    with ServerProcess(binary_base, options=["--token-file", str(token)]) as server:
        arguments = ("--url", f"{server.url}/v1/models/tips", "--row", "{}")
        assert run(*arguments, "--token-file", str(token)).stdout.endswith("1,no,1.0\n")
        with pytest.raises(UserError, match="asks for a token"):
            run(*arguments)
