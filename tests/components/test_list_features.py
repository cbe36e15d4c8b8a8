"""Columns of which a row has several values, and what missing values become."""

from __future__ import annotations

import json
import math
import random

import numpy as np
import pytest
from executors import run_steps
from served_features import check_served_as_stored, column, read, stored, transform, untrained

from components.errors import UserError
from components.example_gen.found import Found
from components.transform.config import CategoryFeature, CrossFeature, NumbersFeature, NumericFeature
from components.transform.infer import make_plan
from components.transform.plan import FeaturePlan
from serving.client import Client
from serving.errors import ServingError
from serving.grpc_client import GrpcClient
from serving.local import LocalModel
from serving.model import load_model
from serving.process import ServerProcess
from serving.rows import to_columns

pytestmark = pytest.mark.slow

BATCH = 32
FEATURES = {
    "prices": {"kind": "numbers", "length": 3, "scale": "min_max", "clip": [0, 50], "log": True},
    "place": {"kind": "numbers", "by_place": True},
    "words": {"kind": "categories", "vocabulary": 2, "oov": 2, "length": 2},
    "marks": {"kind": "categories", "hash": 9, "length": 3},
    "size": {"kind": "numeric", "impute": "most_frequent", "scale": "none"},
    "level": {"kind": "numeric", "impute": "most_frequent", "scale": "none"},
    "paid": {"kind": "category", "impute": {"constant": "cash"}, "indicator": True},
    "zone": {"kind": "category", "impute": {"constant": 99}},
    "when": {"kind": "date", "parts": ["weekday"], "impute": {"constant": "2020-02-29"}, "indicator": True},
    "note": {
        "kind": "text",
        "length": 3,
        "min_count": 1,
        "impute": {"constant": "No note"},
        "indicator": True,
    },
    "late": {"kind": "boolean", "impute": "true", "indicator": True},
}
LISTS = ("scores", "codes", "tags", "flags")


def _rows():
    deal = random.Random(13)
    for number in range(300):
        row = {
            "prices": [round(deal.expovariate(0.05), 2) for _ in range(deal.randrange(6))],
            # The first batches hold none.
            "scores": [deal.gauss(7, 3) for _ in range(deal.randrange(4))] if number > 2 * BATCH else [],
            "place": [deal.gauss(50, 1), deal.gauss(-1000, 20)],
            "codes": [deal.randrange(5) for _ in range(deal.randrange(4))],
            "tags": deal.sample(["red", "green", "blue", "grey"], deal.randrange(5)),
            "words": deal.choices(["a", "a", "b", "c", "d"], k=deal.randrange(4)),
            "marks": [f"m{deal.randrange(40)}" for _ in range(deal.randrange(4))],
            "flags": [deal.random() < 0.5 for _ in range(deal.randrange(3))],
            "size": deal.choice([1.5, 2.5, 2.5, 2.5, 10.0, 40.25]),
            "level": deal.choice([-3, -3, 4, 100]),
            "paid": deal.choice(["card", "cash", "other"]),
            "zone": deal.randrange(4),
            "when": f"2021-0{deal.randrange(1, 9)}-1{deal.randrange(9)}",
            "note": " ".join(deal.choices(["good", "bad", "trip", "again"], k=4)),
            "late": deal.random() < 0.5,
        }
        kept = {name: value for name, value in row.items() if isinstance(value, list) or deal.random() > 0.2}
        yield {**kept, "y": deal.choice(["up", "down"])}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The artifacts up to Transform."""
    folder = tmp_path_factory.mktemp("lists")
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in _rows()))
    return run_steps(
        folder / "rows.jsonl",
        "y",
        *("ExampleGen", "StatisticsGen", "SchemaGen", "Transform"),
        features=FEATURES,
        transform={"batch_rows": BATCH},
    )


@pytest.fixture(scope="module")
def plan(made):
    return FeaturePlan.load(made["transform_graph"].uri)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Of the export."""
    return tmp_path_factory.mktemp("exported")


@pytest.fixture(scope="module")
def exported(made, folder):
    """An untrained model with the transform inside."""
    return untrained(made, folder)


def _values(made, name):
    return [value for cell in column(made["examples"], name) for value in cell]


@pytest.mark.parametrize("split", ["train", "eval", "test"])
def test_served_as_trained(made, exported, split):
    check_served_as_stored(made, exported, split)


def test_plain_json_holds_lists(made, plan, exported, folder):
    """Rows as clients have them: lists of any length, or one value, or none."""
    names = plan.columns
    cells = {name: column(made["examples"], name, "test") for name in names}
    rows = [
        {
            name: _plain(cell if name in plan.lists else cell[0])
            for name, cell in zip(names, row, strict=True)
            if cell
        }
        for row in zip(*cells.values(), strict=True)
    ]
    assert {len(row["prices"]) for row in rows if "prices" in row} >= {1, 5}
    answer = exported.signatures["serving_default"](examples=read(made["examples"], "test"))
    expected = answer["probabilities"].numpy()[:, 1]

    def second(predictions):
        return [list(each.probabilities.values())[1] for each in predictions]

    local = LocalModel(load_model(folder, 1))
    assert local.inputs()["tags"] == "DT_STRING[]"
    assert local.inputs()["size"] == "DT_FLOAT"
    np.testing.assert_allclose(
        second(local.predict_columns(to_columns(rows, local.inputs()))), expected, atol=1e-6
    )
    with ServerProcess(folder, "lists") as server, GrpcClient(server.grpc, "lists") as grpc:
        for client in (Client(server.url, "lists"), grpc):
            assert client.inputs() == local.inputs()
            np.testing.assert_allclose(second(client.predict(rows)), expected, atol=1e-6)
            alone = client.predict([{"tags": "red"}, {"tags": ["red", None]}, {"tags": []}, {}])
            assert alone[0] == alone[1] != alone[2] == alone[3]
    with pytest.raises(ServingError, match=r"\[2, 'x'\] is not a number \(float32\), or a list of such"):
        to_columns([{"prices": [2, "x"]}], local.inputs())
    with pytest.raises(ServingError, match=r"column 'size': \[2\] is not a number \(float32\)"):
        to_columns([{"size": [2]}], local.inputs())


def _plain(cell):
    if isinstance(cell, list):
        return [_plain(value) for value in cell]
    return cell.decode() if isinstance(cell, bytes) else cell


def test_what_is_inferred(plan):
    kinds = {feature.name: feature.config.kind for feature in plan.features if feature.name in LISTS}
    assert kinds == {"scores": "numbers", "codes": "categories", "tags": "categories", "flags": "numbers"}
    lengths = {feature.name: feature.config.length for feature in plan.features if feature.name in LISTS}
    assert lengths == {"scores": 3, "codes": 3, "tags": 4, "flags": 2}
    assert set(plan.lists) == {*LISTS, "prices", "place", "words", "marks"}


def test_numbers_are_scaled_alike_and_padded_with_zero(made, exported):
    there = np.array(_values(made, "scores"), np.float64)
    lists = [[10.0], [1.0, 2.0, 3.0, 99.0], None, [math.nan, 5.0], 4.0]
    found = transform(exported, scores=lists)
    scale = [(value - there.mean()) / there.std() for value in (10, 1, 2, 3, 5, 4)]
    expected = [[scale[0], 0, 0], scale[1:4], [0, 0, 0], [0, scale[4], 0], [scale[5], 0, 0]]
    assert found["scores_xf"] == pytest.approx(np.array(expected), abs=1e-5)
    assert found["scores_xf_count"][:, 0] == pytest.approx(np.log1p([1, 4, 0, 2, 1]), abs=1e-6)


def test_numbers_are_clipped_logged_and_cut_before_they_are_scaled(made, exported):
    cells = [cell[:3] for cell in column(made["examples"], "prices")]
    there = np.log1p(np.clip([value for cell in cells for value in cell], 0, 50))
    found = transform(exported, prices=[[1.0, -5.0, 1e9, 7.0], [20.0]])["prices_xf"]
    low, width = there.min(), there.max() - there.min()
    expected = [
        [(math.log1p(value) - low) / width for value in (1, 0, 50)],
        [(math.log1p(20) - low) / width, 0, 0],
    ]
    assert found == pytest.approx(np.array(expected), abs=1e-6)


def test_places_are_scaled_by_themselves(made, exported):
    there = np.array(column(made["examples"], "place"), np.float64)
    found = transform(exported, place=[[51.0, -1000.0], [51.0], None])["place_xf"]
    expected = (np.array([51, -1000]) - there.mean(0)) / there.std(0)
    assert found == pytest.approx(np.array([expected, [expected[0], 0], [0, 0]]), abs=1e-4)


def test_values_of_a_set_are_a_sequence_of_ids(made, exported):
    values = [value.decode() for value in _values(made, "words")]
    known = sorted(set(values), key=lambda value: (-values.count(value), value))[:2]
    found = transform(exported, words=[known, [known[1]], None, ["new", known[0], "x"], [""]])
    assert found["words_xf"][:3].tolist() == [[1, 2], [2, 0], [0, 0]]
    assert found["words_xf"][3, 0] in (3, 4)
    assert found["words_xf"][3, 1] == 1
    assert found["words_xf"][4].tolist() == [0, 0]
    assert found["words_xf_count"][:4, 0] == pytest.approx(np.log1p([2, 1, 0, 3]))
    marks = transform(exported, marks=[["m1", "m1", "x"], ["m1"]])["marks_xf"]
    assert marks[0, 0] == marks[0, 1] == marks[1, 0]
    assert (marks[0] >= 1).all()
    assert (marks[0] <= 9).all()
    assert marks[1, 1:].tolist() == [0, 0]


def test_whole_numbers_of_a_set(made, exported):
    values = _values(made, "codes")
    known = sorted(set(values), key=lambda value: (-values.count(value), str(value)))
    assert transform(exported, codes=[known[:3], [77]])["codes_xf"].tolist() == [[1, 2, 3], [6, 0, 0]]


def test_a_missing_number_takes_the_most_frequent(made, exported):
    for name in ("size", "level"):
        values = _values(made, name)
        expected = min(set(values), key=lambda value: (-values.count(value), value))
        cell = 1.0 if name == "size" else 1
        assert transform(exported, **{name: [None, cell]})[f"{name}_xf"][:, 0].tolist() == [expected, 1]


def test_a_missing_category_takes_a_constant(made, exported):
    found = transform(exported, paid=[None, "cash", "card", "", "cheque"])
    ids = found["paid_xf"][:, 0]
    assert ids[0] == ids[1] == ids[3]
    assert ids[0] != ids[2]
    # The constant counts as a value of train: it is the most frequent one here.
    assert ids[0] == 1
    assert found["paid_xf_missing"][:, 0].tolist() == [1, 0, 0, 1, 0]
    zones = transform(exported, zone=[None, 99, 98, 1])["zone_xf"][:, 0]
    assert zones[0] == zones[1] != zones[2]
    assert 0 < zones[0] <= 5 < zones[2]


def test_a_missing_date_takes_a_constant(exported):
    found = transform(exported, when=[None, "2020-02-29", "no date", "2021-03-01"])
    assert found["when_xf"][0].tolist() == found["when_xf"][1].tolist() == found["when_xf"][2].tolist()
    assert found["when_xf"][0, :2] == pytest.approx(
        [math.sin(2 * math.pi * 5 / 7), math.cos(2 * math.pi * 5 / 7)]
    )
    assert found["when_xf_missing"][:, 0].tolist() == [1, 0, 1, 0]


def test_a_missing_text_takes_a_constant(exported):
    found = transform(exported, note=[None, "no NOTE!", "good"])
    assert found["note_xf"][0].tolist() == found["note_xf"][1].tolist()
    assert (found["note_xf"][0, :2] > 0).all()
    assert found["note_xf_missing"][:, 0].tolist() == [1, 0, 0]


def test_whether_a_truth_is_missing(exported):
    found = transform(exported, late=[None, 0, 1])
    assert found["late_xf"][:, 0].tolist() == [1, 0, 1]
    assert found["late_xf_missing"][:, 0].tolist() == [1, 0, 0]


def test_rows_of_train_are_imputed_as_served_ones(made):
    cells = column(made["examples"], "late")
    found = stored(made, "train")["late_xf"][:, 0]
    assert found.tolist() == [cell[0] if cell else 1 for cell in cells]
    assert [] in cells


@pytest.mark.parametrize(
    ("features", "sentence"),
    [
        ({"scores": NumericFeature()}, "use kind: numbers or categories, or drop it"),
        ({"tags": NumbersFeature()}, "use kind: categories, or declare data.columns.tags"),
        ({"tags": CategoryFeature()}, "use kind: categories, or drop it"),
        ({"both": CrossFeature(of=("tags", "zone"))}, "'tags' has several values a row"),
    ],
)
def test_a_kind_that_does_not_fit_is_refused(made, features, sentence):
    with pytest.raises(UserError) as caught:
        make_plan(Found.load(made["examples"].uri), features)
    assert sentence in str(caught.value) + caught.value.fix
