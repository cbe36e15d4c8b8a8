"""Types of text cells: conservative, over the whole data, and every exception said."""

from __future__ import annotations

import pytest
from ingested import ingest, notes_of, survey_of, types_of

from components.errors import UserError


def csv_of(tmp_path, *cells: str, fill: str = "", times: int = 0) -> str:
    """A file with a column x of these cells, then of `fill`; n counts, y is 0 and 1 in turns."""
    rows = [*cells, *[fill] * times]
    path = tmp_path / "data.csv"
    path.write_text("x,n,y\n" + "".join(f"{cell},{i},{i % 2}\n" for i, cell in enumerate(rows)))
    return str(path)


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["1", "-2", "+3", " 4 "], "integer"),
        (["0", "-0", "9223372036854775807", "-9223372036854775808"], "integer"),
        (["1", "2.5"], "float"),
        (["1.", ".5", "-1e-3", "6.02E23", "+0.0"], "float"),
        (["9223372036854775808", "1.5"], "float"),
        (["true", "False", "YES", "no"], "boolean"),
        (["0", "1"], "integer"),
        (["2026-01-31", "2025-12-01"], "date"),
        (["2026-01-31 17:45", "2026-01-31T17:45:02.5Z", "2026-01-31T17:45:02+01:00"], "datetime"),
        (["1_000", "12_34"], "text"),
        (["01234", "56789"], "text"),
        (["00", "01"], "text"),
        (["007.5", "1.5"], "text"),
        (["1,5", "2,5"], "text"),
        (["0x1F", "1"], "text"),
        (["1e", "2"], "text"),
        (["2026-13-01", "2026-01-32"], "text"),
        (["2026-01-31", "2026-01-31 10:00"], "text"),
        (["true", "1"], "text"),
        (["", ""], "text"),
        (["NA", "null"], "text"),
        (["nan", "inf"], "text"),
        (["1", "nan", "-inf", "Infinity"], "integer"),
        (["1.5", "NA", "", "n/a", "None", "#N/A"], "float"),
        (["\uff11\uff12", "3"], "text"),  # digits, but not ASCII
    ],
)
def test_inferred_types(tmp_path, cells, kind):
    quoted = [f'"{cell}"' for cell in cells]
    assert types_of({"source": csv_of(tmp_path, *quoted)})["x"] == kind


def test_values_are_what_stands_in_the_file(tmp_path):
    path = tmp_path / "data.csv"
    rows = [
        ("+1", "1.", "true", "2026-01-31", "01234", " padded "),
        ("-2", ".5", "No", "2025-12-01", "1_000", "é"),
        ("NA", "nan", "", "null", "NA", ""),
    ]
    path.write_text(
        "i,f,b,d,z,t,n,y\n"
        + "".join(",".join([*row, str(n), str(n % 2)]) + "\n" for n, row in enumerate(rows * 40))
    )
    found = ingest(tmp_path, {"source": str(path)})
    assert found.found.types == {
        "i": "integer",
        "f": "float",
        "b": "boolean",
        "d": "date",
        "z": "text",
        "t": "text",
        "n": "integer",
        "y": "integer",
    }
    assert found.rows("train")[0].keys() <= found.found.types.keys()
    assert set(found.column("i")) == {1, -2, None}
    assert set(found.column("f")) == {1.0, 0.5, None}  # nan is a missing token
    assert set(found.column("b")) == {1, 0, None}
    assert set(found.column("d")) == {"2026-01-31", "2025-12-01", None}
    assert set(found.column("z")) == {"01234", "1_000", None}
    assert set(found.column("t")) == {" padded ", "é", None}
    assert "column 't': 40 texts begin or end with blanks, which they keep" in found.notes


def test_infinities_count_as_missing_and_that_is_said(tmp_path):
    source = csv_of(tmp_path, "inf", "-Infinity", "nan", fill="1.5", times=97)
    found = ingest(tmp_path, {"source": source, "missing": ["", "NA"]})
    assert set(found.column("x")) == {1.5, None}
    assert "column 'x': 3 cells say nan or inf and count as missing" in found.notes


def test_infinity_is_a_word_in_a_column_of_words(tmp_path):
    source = csv_of(tmp_path, "Infinity", fill="Zero", times=99)
    assert set(ingest(tmp_path, {"source": source}).column("x")) == {"Infinity", "Zero"}


def test_a_few_cells_that_make_a_column_text_are_named(tmp_path):
    source = csv_of(tmp_path, "1", '"2\n"', "unknown", fill="3", times=997)
    said = notes_of({"source": source})
    assert f"column 'x' is text because of 1 of 1,000 values, the first 'unknown' in {source}:5" in said
    assert "without them it is integer (add such tokens to data.missing)" in said
    assert types_of({"source": source, "missing": ["", "unknown"]})["x"] == "integer"


def test_a_zip_code_that_makes_a_column_text_is_named(tmp_path):
    source = csv_of(tmp_path, "01234", fill="12345", times=999)
    assert f"the first '01234' in {source}:2; without them it is integer" in notes_of({"source": source})


def test_many_other_cells_are_no_stray(tmp_path):
    source = csv_of(tmp_path, *["one"] * 50, fill="1", times=950)
    assert notes_of({"source": source}) == ""


@pytest.mark.parametrize("token", ["?", "-", "n.a.", "unknown"])
def test_a_token_in_many_cells_of_a_column_of_numbers_is_named(tmp_path, token):
    cells = [token if number % 14 == 0 else f"{number / 8}" for number in range(140)]
    source = csv_of(tmp_path, *cells)
    assert notes_of({"source": source}) == (
        f"column 'x' is text because 10 of 140 values (7.1%) are {token!r}, the first in {source}:2; without "
        f"them it is float (if they mean a missing value, add {token!r} to data.missing)"
    )
    assert types_of({"source": source, "missing": ["", token]})["x"] == "float"


def test_a_few_tokens_are_named_together(tmp_path):
    cells = [{0: "low", 1: "high"}.get(number % 10, str(number)) for number in range(100)]
    said = notes_of({"source": csv_of(tmp_path, *cells)})
    assert "20 of 100 values (20.0%) are 'low' or 'high'" in said
    assert notes_of({"source": csv_of(tmp_path, *[str(number % 20 or "?") for number in range(100)])})


@pytest.mark.parametrize("codes", [["1", "2", "A"], ["1", "2", "3", "A1", "A2", "A3", "A4"], ["?", "1"]])
def test_codes_with_letters_are_no_numbers(tmp_path, codes):
    assert notes_of({"source": csv_of(tmp_path, *codes * 50)}) == ""


@pytest.mark.parametrize(
    ("labels", "task", "said"),
    [
        (
            range(40),
            None,
            "task regression, inferred from 40 distinct whole numbers in 'x'; set task: multiclass",
        ),
        (
            range(5),
            None,
            "task multiclass, inferred from 5 distinct whole numbers in 'x'; set task: regression",
        ),
        (
            [1.5, 2.0, 2.5],
            None,
            "task regression, inferred from 3 distinct numbers in 'x'; set task: multiclass",
        ),
        (range(40), "regression", None),
        (range(40), "multiclass", None),
        (range(2), None, None),
        ("abc", None, None),
        ([number / 7 for number in range(40)], None, None),
    ],
)
def test_a_task_that_could_be_another_is_said(tmp_path, labels, task, said):
    source = csv_of(tmp_path, *map(str, [*labels] * 40))
    notes = ingest(tmp_path, {"source": source}, label="x", task=task).notes
    found = [note for note in notes.splitlines() if note.startswith("task ")]
    assert len(found) == (said is not None)
    assert not said or found[0].startswith(said)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("PassengerId", True),
        ("id", True),
        ("order_no", True),
        ("Unnamed: 0", True),
        ("age", False),
        ("paid", False),
    ],
)
def test_a_column_that_numbers_the_rows_is_said(tmp_path, name, said):
    path = tmp_path / "data.csv"
    path.write_text(f"{name},y\n" + "".join(f"{number},{number % 2}\n" for number in range(200)))
    notes = notes_of({"source": str(path)})
    assert (f"leave it out: data.exclude: [{name!r}]" in notes) is said
    assert notes_of({"source": str(path), "exclude": [name]}) == ""


def test_an_id_that_stands_in_many_rows_is_not(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("id,y\n" + "".join(f"{number % 50},{number % 2}\n" for number in range(200)))
    assert notes_of({"source": str(path)}) == ""


def test_whole_numbers_beyond_64_bits_stay_text_and_that_is_said(tmp_path):
    source = csv_of(tmp_path, "1", "9223372036854775808", "-9223372036854775809", fill="7", times=50)
    assert types_of({"source": source})["x"] == "text"
    said = notes_of({"source": source})
    assert (
        "column 'x' is text because of 2 whole numbers beyond 64 bits, the first 9223372036854775808" in said
    )
    assert f"in {source}:3; declare it float" in said
    assert types_of({"source": source, "columns": {"x": "float"}})["x"] == "float"


def test_numbers_that_float32_changes_are_counted(tmp_path):
    source = csv_of(tmp_path, "16777217.0", "16777216.0", "0.1", "1e-60", fill="1.5", times=96)
    found = ingest(tmp_path, {"source": source})
    assert "column 'x': float32 changes 2 numbers" in found.notes
    assert 16777216.0 in found.column("x")


def test_numbers_beyond_float32_count_as_missing_and_that_is_said(tmp_path):
    source = csv_of(tmp_path, "1e39", "-1e300", "1e999", fill="1.5", times=97)
    found = ingest(tmp_path, {"source": source})
    assert set(found.column("x")) == {1.5, None}
    assert "column 'x': 3 numbers are too large for float32 and count as missing" in found.notes


def test_missing_tokens_are_the_users(tmp_path):
    source = csv_of(tmp_path, "-", "?", "NA", fill="5", times=20)
    assert types_of({"source": source, "missing": ["-", "?"]})["x"] == "text"
    assert types_of({"source": source, "missing": ["-", "?", "NA"]})["x"] == "integer"


@pytest.mark.parametrize(
    ("kind", "fits", "not_fits"),
    [
        ("integer", "7", "7.5"),
        ("float", "7", "seven"),
        ("boolean", "1", "2"),
        ("date", "2026-01-31", "31.01.2026"),
        ("datetime", "2026-01-31 10:00", "2026-01-31"),
    ],
)
def test_a_cell_that_is_not_of_its_declared_type(tmp_path, kind, fits, not_fits):
    bad = [f'"{not_fits}\n"'] + [not_fits] * 6
    source = csv_of(tmp_path, *bad, fill=fits, times=93)
    data = {"source": source, "columns": {"x": kind}}
    with pytest.raises(UserError) as caught:
        types_of(data)
    said = str(caught.value)
    assert said.startswith(f"{source}:2: column 'x': 7 of 100 values are not {kind}:")
    for line in (2, 4, 5, 6, 7):
        assert f"{source}:{line}: '{not_fits}" in said
    assert "and 2 more" in said
    assert "data.on_bad_value: missing" in said
    found = ingest(tmp_path, {**data, "on_bad_value": "missing"})
    assert found.column("x").count(None) == 7
    assert f"column 'x': 7 values that are not {kind} count as missing, the first" in found.notes
    assert f"in {source}:2" in found.notes


def test_round_numbers_can_be_declared_integers(tmp_path):
    # What pandas makes of whole numbers with gaps.
    source = csv_of(tmp_path, "7.0", "", "-8.", "+9.00", fill="10.0", times=96)
    assert types_of({"source": source})["x"] == "float"
    found = ingest(tmp_path, {"source": source, "columns": {"x": "integer"}})
    assert set(found.column("x")) == {7, -8, 9, 10, None}


def test_long_values_are_cut_in_messages(tmp_path):
    source = csv_of(tmp_path, "x" * 100, fill="1", times=9)
    with pytest.raises(UserError, match=f"'{'x' * 39}…'"):
        types_of({"source": source, "columns": {"x": "integer"}})


def test_declared_text_stays_text(tmp_path):
    source = csv_of(tmp_path, "1", "2", fill="3", times=50)
    assert set(ingest(tmp_path, {"source": source, "columns": {"x": "text"}}).column("x")) == {"1", "2", "3"}


@pytest.mark.parametrize("key", ["columns", "exclude"])
def test_a_name_that_no_column_has_is_refused(tmp_path, key):
    source = csv_of(tmp_path, "1")
    value = {"xx": "integer"} if key == "columns" else ["xx"]
    with pytest.raises(UserError, match=f"data.{key}: the data has no column 'xx', did you mean 'x'"):
        types_of({"source": source, key: value})


def test_distinct_values_are_counted_and_beyond_a_thousand_estimated(tmp_path):
    few = csv_of(tmp_path, *[f"v{i % 900}" for i in range(3000)])
    scan = survey_of({"source": few}).columns["x"]
    assert scan.distinct_count == 900
    many = csv_of(tmp_path, *[f"v{i % 20_000}" for i in range(60_000)])
    scan = survey_of({"source": many}).columns["x"]
    assert scan.values is None
    assert scan.distinct_count == pytest.approx(20_000, rel=0.1)


def test_words_are_counted(tmp_path):
    source = csv_of(tmp_path, *["one two three", "four"] * 30)
    assert ingest(tmp_path, {"source": source}).found.words == {"x": 2.0}


def test_types_are_those_of_the_whole_data_not_of_its_beginning(tmp_path):
    cells = ["1"] * 500_000
    cells[450_000] = "2.5"
    source = csv_of(tmp_path, *cells)
    assert types_of({"source": source})["x"] == "float"
    cells[450_000] = "n.a."
    source = csv_of(tmp_path, *cells)
    assert types_of({"source": source})["x"] == "text"
    assert f"1 of 500,000 values, the first 'n.a.' in {source}:450002" in notes_of({"source": source})
