"""What stops data, what is said of it, and how it may pass, under the default policies and others."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from checked_tables import LABEL, Tables, changed, renamed, some_rows, without

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def passed(tmp_path_factory):
    """Tables of which the first one passed."""
    tables = Tables(tmp_path_factory.mktemp("tables"))
    checks = tables.take(some_rows())
    assert checks.error is None
    return tables


@pytest.fixture
def tables(passed):
    """Others that follow the same first one."""
    twin = passed.twin()
    twin.count, passed.count = passed.count, passed.count + 1
    return twin


def kinds(checks):
    """Policy to the kinds and columns of what was found."""
    found = json.loads(
        checks.error.files["anomalies.json"]
        if checks.error
        else Path(checks.anomalies.uri, "anomalies.json").read_text(encoding="utf-8")
    )
    assert found["verdict"] == ("fail" if checks.error else "pass")
    said: dict[str, set[tuple[str, str]]] = {}
    for finding in found["findings"]:
        said.setdefault(finding["policy"], set()).add((finding["kind"], finding["column"]))
    return said


def test_the_first_table_has_nothing_to_be_held_against(passed):
    assert kinds(passed.before) == {}
    assert passed.before.anomalies.get_string_custom_property("summary") == "no anomalies"


def test_another_sample_passes_without_a_word(tables):
    assert kinds(tables.take(some_rows(1500, seed=2))) == {}


@pytest.mark.parametrize(
    ("poison", "failed"),
    [
        (lambda rows: without(rows, "payment"), {("missing_column", "payment")}),
        (
            lambda rows: renamed(rows, "fare", "fare_usd"),
            {("missing_column", "fare"), ("extra_column", "fare_usd")},
        ),
        (lambda rows: [{**row, "more": "7"} for row in rows], {("extra_column", "more")}),
        (lambda rows: changed(rows, "fare", lambda fare: f"${fare}"), {("type_change", "fare")}),
        (lambda rows: changed(rows, "hour", lambda hour: f"{hour}.0"), {("type_change", "hour")}),
        (lambda rows: changed(rows, "flag", lambda flag: flag[0]), {("type_change", "flag")}),
        (lambda rows: changed(rows, "day", lambda day: day.replace("-", "/")), {("type_change", "day")}),
        (lambda rows: changed(rows, "fare", lambda _: ""), {("empty", "fare")}),
        (
            lambda rows: changed(rows, LABEL, lambda tipped: tipped.replace("bad", "worse")),
            {("label", LABEL)},
        ),
        (
            lambda rows: [
                {**row, LABEL: "fair" if number % 5 == 0 else row[LABEL]} for number, row in enumerate(rows)
            ],
            {("label", LABEL)},
        ),
    ],
)
def test_what_stops_by_default(tables, poison, failed):
    read = tables.read(poison(some_rows(seed=2)))
    checks = tables.check(read)
    assert kinds(checks)["fail"] == failed
    for kind, column in failed:
        assert f"{kind}: column {column!r}" in str(checks.error)
        assert f"--set validate.{kind}=warn" in checks.error.fix
    lenient = tables.check(read, **{kind: "warn" for kind, _ in failed})
    assert failed <= kinds(lenient)["warn"]
    (kind, column), *_ = failed
    assert f"{kind}: column {column!r}" in lenient.anomalies.get_string_custom_property("summary")


def test_a_policy_may_be_to_ignore(tables):
    read = tables.read(renamed(some_rows(seed=2), "fare", "fare_usd"))
    checks = tables.check(read, missing_column="ignore", extra_column="ignore")
    assert kinds(checks) == {}
    assert "no anomalies" in checks.report


@pytest.mark.parametrize(
    ("poison", "warned"),
    [
        (lambda rows: changed(rows, "fare", lambda fare: f"{float(fare) * 2.54:.2f}"), ("drift", "fare")),
        (lambda rows: changed(rows, "fare", lambda fare: f"{float(fare) + 20:.2f}"), ("drift", "fare")),
        (
            lambda rows: changed(rows, "payment", lambda by: {"Cash": "Card", "Card": "Cash"}.get(by, by)),
            ("drift", "payment"),
        ),
        (lambda rows: rows + [row for row in rows if row["payment"] == "Card"] * 3, ("drift", "payment")),
        (lambda rows: [{**rows[0], "fare": "99999999.5"}, *rows[1:]], ("range", "fare")),
    ],
)
def test_what_is_said_and_stops_when_it_shall(tables, passed, poison, warned):
    read = tables.read(poison(some_rows(seed=2)))
    checks = tables.check(read)
    assert warned in kinds(checks)["warn"]
    tables.before = passed.before
    strict = tables.check(read, **{warned[0]: "fail"})
    assert warned in kinds(strict)["fail"]


def test_drift_that_fails_shows_both_histograms_and_the_number(tables):
    rows = changed(some_rows(seed=2), "fare", lambda fare: f"{float(fare) + 20:.2f}")
    checks = tables.check(tables.read(rows), drift="fail")
    assert kinds(checks)["fail"] == {("drift", "fare")}
    said = str(checks.error)
    assert "drift: column 'fare' (train against the data before): Jensen-Shannon divergence 0." in said
    assert "above 0.02" in said
    assert re.search(r"as if shifted by (19|20)\.\d+, 3\.\d standard deviations", said)
    before, now = (line for line in said.splitlines() if "█" in line)
    assert before.strip().startswith("before  ")
    assert now.strip().startswith("now     ")
    assert checks.error.fix == "mend the data; or let it pass with --set validate.drift=warn"


def test_new_values_between_splits_are_said(tmp_path):
    rows = some_rows(1200)
    splits = ["train"] * 8 + ["eval", "test"]
    for number, row in enumerate(rows):
        row["part"] = splits[number % 10]
        if row["part"] == "eval" and number % 3 == 0:
            row["payment"] = "Voucher"
        if row["part"] == "test" and number % 4 == 1:
            row["fare"] = ""
    tables = Tables(tmp_path, {"split": {"by": "column", "column": "part"}})
    checks = tables.check(tables.read(rows))
    assert {("new_values", "payment"), ("missing_values", "fare")} <= kinds(checks)["warn"]
    assert "received 'Voucher' (" in checks.report


def test_columns_that_the_config_leaves_out_are_not_missed(tables):
    checks = tables.check(tables.read(some_rows(seed=2), exclude=["note", "payment"]))
    assert kinds(checks) == {}
    back = tables.check(tables.read(some_rows(seed=3)))
    assert kinds(back) == {}


def test_types_and_labels_that_the_config_changes_are_meant(tables):
    read = tables.read(some_rows(seed=2), columns={"hour": "float"}, label="flag")
    assert kinds(tables.check(read, {"columns": {"hour": "float"}})) == {}


def test_tfdv_reads_what_was_found(tables):
    from tensorflow_metadata.proto.v0 import anomalies_pb2

    rows = changed(without(some_rows(seed=2), "note"), "fare", lambda fare: f"{float(fare) * 9:.2f}")
    checks = tables.check(tables.read(rows), missing_column="warn")
    folder = Path(checks.anomalies.uri, "Split-train")
    anomalies = anomalies_pb2.Anomalies.FromString((folder / "SchemaDiff.pb").read_bytes())
    kind = anomalies_pb2.AnomalyInfo
    assert [each.type for each in anomalies.anomaly_info["note"].reason] == [kind.SCHEMA_MISSING_COLUMN]
    reasons = {each.type for each in anomalies.anomaly_info["fare"].reason}
    assert kind.COMPARATOR_JENSEN_SHANNON_DIVERGENCE_HIGH in reasons
    (drift,) = anomalies.drift_skew_info
    assert list(drift.path.step) == ["fare"]
    assert drift.drift_measurements[0].threshold == 0.02
    assert checks.anomalies.get_json_value_custom_property("blessed") == {"train": 0, "eval": 1, "test": 1}
