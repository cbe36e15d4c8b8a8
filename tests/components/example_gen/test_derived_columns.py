"""Columns that are computed, and labels that are expressions."""

from __future__ import annotations

import pyarrow as pa
import pytest
from executors import execute

from components.errors import UserError
from components.example_gen.derive import Expression, as_label
from components.example_gen.found import Found

BATCH = pa.RecordBatch.from_pydict(
    {
        "fare": ["10", " 5.5 ", "", "0"],
        "tips": [3.0, 1.0, 2.0, None],
        "odd name": [1, 2, 3, 4],
        "status": ["late", "lost", "NA", "fine"],
        "open": [True, False, None, True],
    }
)
MISSING = pa.array(["", "NA"])


def compute(text: str) -> list:
    return Expression(text, "label").compute(BATCH, MISSING).to_pylist()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tips > 0.2 * fare", [True, False, None, None]),
        ("fare / 2 + 1", [6.0, 3.75, None, 1.0]),
        ("1 / fare", [0.1, 1 / 5.5, None, None]),  # nothing divides by zero
        ("`odd name` % 2 == 0", [False, True, False, True]),
        ("status == 'late'", [True, False, None, False]),
        ("status in ['late', 'lost'] and `odd name` < 2", [True, False, None, False]),
        ("status not in ['late']", [False, True, None, True]),
        ("not open", [False, True, None, False]),
        ("5 < fare <= 10", [True, True, None, False]),
        ("-`odd name` ** 2", [-1.0, -4.0, -9.0, -16.0]),
        ("fare > 1 or tips > 100", [True, True, None, None]),
    ],
)
def test_values(text, expected):
    assert compute(text) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("tipps > 1", ["'tipps'", "did you mean 'tips'?"]),
        ("status > 1", ["numbers in 'status'", "'late'", "in quotes"]),
        ("tips >", ["cannot be parsed"]),
        ("1 > 2", ["names no column"]),
        ("__import__('os').system('true') > fare", ["more than an expression may"]),
        ("[fare for fare in tips]", ["more than an expression may"]),
        ("fare.real", ["more than an expression may"]),
    ],
)
def test_mistakes(text, pieces):
    with pytest.raises(UserError) as caught:
        compute(text)
    assert all(piece in str(caught.value) for piece in pieces), str(caught.value)


def test_a_column_is_a_column_even_where_it_could_be_an_expression():
    assert as_label("a-b", ["a-b", "a", "b"]) is None
    assert as_label("a-b", ["a", "b"]).columns == ("a", "b")
    assert as_label("Went well?", ["a"]) is None


def _ingest(folder, config, label):
    (folder / "rows.csv").write_text(
        "fare,tips,zone\n" + "".join(f"{i % 17},{i % 5},{'abc'[i % 3]}\n" for i in range(300))
    )
    made = execute(
        "example_gen",
        folder,
        {},
        {"examples": "Examples"},
        config={"source": str(folder / "rows.csv"), **config},
        label=label,
        task="",
        fingerprint="",
    )
    return Found.load(made["examples"].uri)


def test_a_label_hides_what_it_is_made_of(tmp_path):
    found = _ingest(tmp_path, {}, "tips > 0.2 * fare")
    assert found.types == {"zone": "text", "tips > 0.2 * fare": "boolean"}
    assert (found.label.task, found.label.classes) == ("binary", ("false", "true"))


def test_what_is_kept_is_seen(tmp_path):
    found = _ingest(tmp_path, {"keep": ["fare"]}, "tips * 2")
    assert set(found.types) == {"fare", "zone", "tips * 2"}
    assert found.label.task == "regression"


def test_computed_columns_are_no_features(tmp_path):
    found = _ingest(
        tmp_path, {"derive": {"both": "fare + tips", "shown": "fare - tips"}, "keep": ["shown"]}, "zone"
    )
    assert set(found.types) == {"fare", "tips", "zone", "shown"}
