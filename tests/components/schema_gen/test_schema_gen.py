"""The schema of a table: what it says of the columns, and that a reviewed one wins."""

from __future__ import annotations

from pathlib import Path

import pytest
from checked_tables import LABEL, Tables, changed, renamed, some_rows, without
from tensorflow_metadata.proto.v0 import schema_pb2

from components.example_gen.found import Found
from components.schema_gen.accept import accept
from components.schema_gen.executor import load
from components.schema_gen.pbtxt import render
from components.schema_gen.semantics import meaning
from components.statistics_gen.files import load_splits

pytestmark = pytest.mark.slow


def rows_with_everything(seed=1):
    rows = some_rows(1200, seed)
    for number, row in enumerate(rows):
        row["zip"] = ["01234", "00501", "99999"][number % 3]
        row["at"] = f"2026-03-{number % 28 + 1:02} 12:{number % 60:02}:00"
        row["rare"] = "7" if number == 5 else ""
        row["id"] = f"trip-{number}"
    return rows


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    return Tables(tmp_path_factory.mktemp("tables"))


@pytest.fixture(scope="module")
def inferred(tables):
    return load(tables.read(rows_with_everything()).schema)


@pytest.fixture
def features(inferred):
    return {feature.name: feature for feature in inferred.feature}


def test_columns_mean_what_ingest_found(inferred, features):
    assert {name: meaning(feature) for name, feature in features.items()} == {
        "fare": "float",
        "miles": "float",
        "payment": "category",
        "hour": "integer",
        "flag": "boolean",
        "day": "date",
        "note": "text",
        LABEL: "category",
        "zip": "category",
        "at": "datetime",
        "rare": "integer",
        "id": "bytes",
    }
    assert features["at"].time_domain.string_format == "%Y-%m-%d %H:%M:%S"
    domains = {domain.name: list(domain.value) for domain in inferred.string_domain}
    assert domains == {
        "payment": ["Card", "Cash", "Other"],
        "zip": ["00501", "01234", "99999"],
        LABEL: ["bad", "good"],
    }


def test_columns_stand_as_in_the_data(inferred):
    assert [feature.name for feature in inferred.feature][:3] == ["fare", "miles", "payment"]


def test_the_label_is_not_asked_for_at_serving(inferred, features):
    assert list(inferred.default_environment) == ["TRAINING", "SERVING"]
    assert list(features[LABEL].not_in_environment) == ["SERVING"]
    assert not features["fare"].not_in_environment


def test_every_feature_may_be_left_out_of_a_request(features):
    assert not any(feature.HasField("shape") for feature in features.values())


def test_values_are_expected_where_that_is_more_than_chance(features):
    assert features["fare"].presence.min_fraction == 1
    assert features["miles"].presence.min_count == 1
    assert features["miles"].presence.min_fraction == 0
    assert not features["rare"].HasField("presence")


def test_the_file_is_alone_in_its_folder_as_tfx_wants_it(tables):
    checks = tables.read(rows_with_everything(), reviewed='feature { name: "fare" type: FLOAT }')
    assert [path.name for path in Path(checks.schema.uri).iterdir()] == ["schema.pbtxt"]


def test_a_reviewed_schema_wins_and_the_difference_is_kept(tables, inferred):
    reviewed = schema_pb2.Schema()
    reviewed.CopyFrom(inferred)
    reviewed.feature[0].float_domain.min = 0
    reviewed.string_domain[0].value.append("Coupon")
    checks = tables.read(without(rows_with_everything(), "note"), reviewed=render(reviewed))
    assert load(checks.schema) == reviewed
    assert checks.schema.get_string_custom_property("summary").endswith(
        "as reviewed, which differs from the data: column 'note' is in the reviewed schema, but not in the "
        "data; column 'payment': train has no row with 'Coupon'"
    )
    checks = tables.check(checks, missing_column="warn")
    difference = Path(checks.anomalies.uri, "schema.diff").read_text(encoding="utf-8")
    assert difference.startswith("# column 'note' is in the reviewed schema, but not in the data\n")
    assert '+  value: "Coupon"' in difference
    assert "missing_column: column 'note' (train, eval, test)" in checks.report
    assert "expected a column of type text, as in the reviewed schema" in checks.report


def test_a_reviewed_schema_decides_rather_than_the_data_before(tables, inferred):
    tables = Tables(tables.folder / "reviewed")
    tables.take(renamed(rows_with_everything(), "fare", "price"))
    assert tables.take(rows_with_everything()).error is not None
    assert tables.check(tables.read(rows_with_everything(), reviewed=render(inferred))).error is None


def test_a_range_of_the_reviewed_schema_is_held(tables, inferred):
    reviewed = schema_pb2.Schema()
    reviewed.CopyFrom(inferred)
    (hour,) = (feature for feature in reviewed.feature if feature.name == "hour")
    hour.int_domain.min, hour.int_domain.max = 3, 20
    tables = Tables(tables.folder / "range")
    read = tables.read(rows_with_everything(), reviewed=render(reviewed))
    assert "range: column 'hour' (train" in tables.check(read).report
    checks = tables.check(read, range="fail")
    assert "expected at least 3 and at most 20, as in the reviewed schema" in str(checks.error)
    assert "received 0 to 2" in str(checks.error)
    assert "headrace schema accept" in checks.error.fix


def test_a_label_without_one_of_its_reviewed_classes_stops(tables, inferred):
    rows = changed(rows_with_everything(), LABEL, lambda tipped: tipped.replace("good", "fine"))
    tables = Tables(tables.folder / "label")
    checks = tables.check(tables.read(rows, reviewed=render(inferred)))
    assert "label: column 'tipped' (train, eval, test)" in str(checks.error)
    assert "no 'good'" in str(checks.error)
    assert "'fine'" in str(checks.error)


def test_what_does_not_fit_is_accepted(tables, inferred):
    reviewed = schema_pb2.Schema()
    reviewed.CopyFrom(inferred)
    features = {feature.name: feature for feature in reviewed.feature}
    features["hour"].int_domain.min, features["hour"].int_domain.max = 3, 20
    features["fare"].drift_comparator.jensen_shannon_divergence.threshold = 0.5
    rows = renamed(rows_with_everything(), "note", "remark")
    rows = changed(rows, "payment", lambda by: {"Other": "Voucher"}.get(by, by))
    rows = changed(rows, "miles", lambda miles: f"{miles} mi" if miles else "")
    rows = changed(rows, "day", lambda day: day.replace("-", "/"))
    rows = changed(rows, LABEL, lambda tipped: tipped.replace("good", "fine"))
    for row in rows[::2]:
        row["fare"] = ""
    read = tables.read(rows, reviewed=render(reviewed))
    found = Found.load(read.examples.uri)
    data = load(tables.read(rows).schema)
    before = reviewed.SerializeToString()
    accepted, changes = accept(reviewed, data, load_splits(read.statistics), found)
    assert reviewed.SerializeToString() == before
    assert {(change.column, change.kind, change.change) for change in changes} == {
        ("note", "missing_column", "taken out: the data has no such column"),
        ("remark", "extra_column", "added as text"),
        ("miles", "type_change", "float becomes bytes"),
        (
            "day",
            "type_change",
            "date becomes category" if len({r["day"] for r in rows}) < 101 else "date becomes bytes",
        ),
        ("payment", "new_values", "'Voucher' added to its values"),
        ("hour", "range", "its range becomes 0 to 23"),
        ("fare", "missing_values", "may lack values in some rows"),
        (LABEL, "label", "the classes 'bad', 'good' become 'bad', 'fine'"),
    }
    (fare,) = (feature for feature in accepted.feature if feature.name == "fare")
    assert fare.drift_comparator.jensen_shannon_divergence.threshold == 0.5
    fresh = Tables(tables.folder / "accepted")
    checks = fresh.check(fresh.read(rows, reviewed=render(accepted)))
    assert "no anomalies" in checks.report
    again, changes = accept(accepted, data, load_splits(read.statistics), found)
    assert changes == []
    assert again == accepted
