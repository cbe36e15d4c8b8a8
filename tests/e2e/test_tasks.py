"""A table without a pipeline.yaml, of every task, from rows to predictions."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path

import pytest
import tensorflow as tf

from serving.names import input_name
from serving.versions import list_versions

pytestmark = pytest.mark.slow

COLUMNS = ["Größe in cm", "2nd choice", "self", "when?", "price/unit", "100%"]


def write_rows(path: Path, label: str, value_of) -> None:
    """A table with odd names and missing values everywhere, the label's column included."""
    deal = random.Random(3)
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow([*COLUMNS, label])
        for _ in range(500):
            size, kind = deal.gauss(0, 1), deal.choice("xyz")
            row = [
                *(f"{size:.4f}", kind, deal.randrange(2), f"2024-0{deal.randrange(1, 9)}-11"),
                *(f"{deal.random():.3f}", deal.choice(["yes", "no"])),
            ]
            cells = ["" if deal.random() < 0.08 else cell for cell in row]
            writer.writerow([*cells, "" if deal.random() < 0.03 else value_of(size, kind, deal)])


def run(warm, path, label, *more):
    done = warm("run", path, "--label", label, "--json", *more, cwd=path.parent)
    assert done.code == 0, done.said
    return done


def predict(warm, path, *rows):
    """The predictions for rows of JSON."""
    literals = [part for row in rows for part in ("--row", json.dumps(row))]
    done = warm("predict", path, "--json", *literals, cwd=path.parent)
    assert done.code == 0, done.said
    return [json.loads(line) for line in done.out.splitlines()]


def raw_inputs(base):
    """The names of the newest version's raw inputs."""
    model = tf.saved_model.load(str(list_versions(base)[0].path))
    return set(model.signatures["serving_raw"].structured_input_signature[1])


def test_classes_that_are_text(warm, tmp_path):
    path = tmp_path / "reviews.csv"
    classes = ["ganz schlecht", "naja", "très bien"]

    def review(size, kind, deal):
        return classes[min(2, max(0, round(size + deal.gauss(0, 0.3) + 1)))]

    write_rows(path, "Wie war's?", review)
    done = run(warm, path, "Wie war's?")
    assert "dropped" in done.step("ExampleGen")["summary"]
    assert set(done.json["metrics"]) == {"accuracy", "loss"}
    assert done.json["metrics"]["accuracy"] > 0.5
    assert raw_inputs(tmp_path / ".headrace" / "models" / "reviews") == {
        input_name(name) for name in COLUMNS if name != "when?"
    } | ({input_name("when?")} if "date" in done.step("Transform")["summary"] else set())

    low, high, empty = predict(
        *(warm, path, {"Größe in cm": -2.5, "2nd choice": "x"}, {"Größe in cm": 2.5, "100%": "yes"}, {})
    )
    assert low["predicted_class"] == "ganz schlecht"
    assert high["predicted_class"] == "très bien"
    assert empty["predicted_class"] in classes
    assert sum(empty["probabilities"].values()) == pytest.approx(1)
    assert set(empty["probabilities"]) == set(classes)


def test_a_number(warm, tmp_path):
    path = tmp_path / "prices.csv"
    write_rows(path, "price", lambda size, kind, deal: f"{100 + 30 * size + 10 * (kind == 'x'):.2f}")
    more = ("--set", "train.epochs=60", "--set", "train.learning_rate.peak=0.05")
    done = run(warm, path, "price", *more)
    assert set(done.json["metrics"]) == {"rmse", "mae", "mse"}
    assert done.json["metrics"]["rmse"] < 25
    low, high, empty = predict(warm, path, {"Größe in cm": -1.5}, {"Größe in cm": 1.5, "self": 1}, {})
    assert low["prediction"] < empty["prediction"] < high["prediction"]


def test_any_number_of_classes(warm, tmp_path):
    path = tmp_path / "dishes.jsonl"
    deal = random.Random(4)
    with path.open("w", encoding="utf-8") as stream:
        for _ in range(600):
            heat, sugar = deal.gauss(0, 1), deal.gauss(0, 1)
            tastes = ["scharf"] * (heat > 0.3) + ["süß"] * (sugar > 0)
            stream.write(json.dumps({"heat": heat, "sugar": sugar, "tastes": tastes}) + "\n")
    more = ("--set", "train.epochs=30", "--set", "train.learning_rate.peak=0.02")
    done = run(warm, path, "tastes", *more)
    assert done.step("ExampleGen")["summary"].count("none of the classes")
    assert done.json["metrics"]["auc"] > 0.9
    assert done.json["metrics"]["precision"] > 0.7
    both, neither = predict(warm, path, {"heat": 2, "sugar": 2.5}, {"heat": -2, "sugar": -2})
    assert both["predicted_classes"] == ["scharf", "süß"]
    assert neither["predicted_classes"] == []
    assert set(neither["probabilities"]) == {"scharf", "süß"}


def test_yes_or_no_and_rows_of_a_file(own_model, tmp_path):
    own_model.run()
    rows = tmp_path / "rows.csv"
    rows.write_text("fare,miles,zone\n40,20,a\n3,,\n")
    done = own_model.warm("predict", own_model.folder, "--rows", rows, "--json", cwd=tmp_path)
    assert done.code == 0, done.said
    first, second = (json.loads(line) for line in done.out.splitlines())
    assert (first["predicted_class"], second["predicted_class"]) == ("true", "false")
