"""What is run again after a change, what is not, and the reason that is given."""

from __future__ import annotations

import json
import os
import shutil
from contextlib import contextmanager

import pytest
from headrace_calls import headrace
from own_model import write_trips

from pipeline.steps import STEPS

pytestmark = pytest.mark.slow

GATE = "evaluate.gate={auc: {min: 0.6}}"


@contextmanager
def edited(path, before, after):
    """The file with a text replaced, until the end of the block; size and time may stay as they were."""
    original, times = path.read_text(), path.stat()
    assert before in original
    path.write_text(original.replace(before, after, 1))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    try:
        yield
    finally:
        path.write_text(original)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def test_nothing_changed(own_model):
    versions = own_model.versions
    done = own_model.run()
    assert done.code == 0, done.said
    assert done.states() == dict.fromkeys(STEPS, "CACHED")
    assert done.json["pushed"] is False
    assert own_model.versions == versions
    assert done.json["version_path"] == str(versions[0].path)


def test_json_is_one_object_with_the_documented_keys(own_model):
    done = own_model.run()
    assert done.err == ""
    assert set(done.json) == {
        *("run_id", "steps", "metrics", "blessed", "verdict", "pushed", "version_path", "exit_code")
    }
    assert sorted(step["name"] for step in done.json["steps"]) == sorted(STEPS)
    for step in done.json["steps"]:
        assert set(step) == {"name", "state", "reason", "seconds", "summary", "error", "log", "report"}
    assert done.json["metrics"]["auc"] > 0.5
    assert done.json["blessed"] is True
    assert done.json["verdict"].startswith("blessed: auc")
    assert done.json["exit_code"] == done.code == 0
    assert own_model.store.find(done.json["run_id"]).state == "cached"


def test_another_model_is_compared_and_pushed_beside_the_old_one(own_model):
    old = own_model.versions
    with edited(own_model.folder / "model.py", "plan.inputs if", "plan.inputs[:] if"):
        done = own_model.run("--set", "train.epochs=9", "--set", "train.seed=3", "--set", GATE)
    assert done.code == 0, done.said
    states = done.states()
    assert [name for name in STEPS if states[name] == "CACHED"] == list(STEPS[:5])
    assert [name for name in STEPS if states[name] == "RUN"] == list(STEPS[5:])
    assert done.step("Trainer")["reason"] == "model.py changed, train.epochs 8 -> 9, train.seed 1 -> 3"
    assert "new model" in done.step("Evaluator")["reason"]
    assert done.json["pushed"] is True
    assert done.json["version_path"] == str(own_model.versions[0].path)
    assert own_model.versions[1:] == old
    (evaluation,) = next(
        step for step in own_model.store.steps(done.json["run_id"]) if step.name == "Evaluator"
    ).outputs["evaluation"]
    assert set(json.loads(evaluation.custom_properties["baseline_metrics"])) == set(done.json["metrics"])


def test_a_module_that_the_model_imports_counts_as_well(own_model):
    with edited(own_model.folder / "helpers" / "layers.py", "Dense(1,", "Dense(1 ,"):
        done = own_model.run("--to", "Trainer")
    assert done.code == 0, done.said
    assert done.step("Trainer")["state"] == "RUN"
    assert "helpers/layers.py changed" in done.step("Trainer")["reason"]
    assert done.states()["Transform"] == "CACHED"
    assert {done.states()[name] for name in STEPS[6:]} == {"SKIPPED"}
    assert done.step("Pusher")["reason"] == "not asked for"
    assert done.json["metrics"] is None


def test_data_edited_in_place_with_the_same_size_and_time(own_model):
    data = own_model.folder / "trips.csv"
    row = data.read_text().splitlines()[7]
    other = row.replace(row[0], "8" if row[0] != "8" else "7", 1)
    before = data.stat()
    with edited(data, row, other):
        assert (data.stat().st_size, data.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
        done = own_model.run("--to", "StatisticsGen")
    assert done.step("ExampleGen")["reason"] == "the data changed"
    assert done.step("StatisticsGen")["reason"] == "new examples"
    assert done.states()["SchemaGen"] == "SKIPPED"
    assert own_model.run("--to", "StatisticsGen").states()["ExampleGen"] == "CACHED"


def test_from_a_step_on(own_model):
    versions = own_model.versions
    done = own_model.run("--from", "Evaluator")
    assert done.code == 0, done.said
    assert [name for name, state in done.states().items() if state == "RUN"] == ["Evaluator", "Pusher"]
    assert done.step("Evaluator")["reason"] == "--from Evaluator"
    assert own_model.versions == versions
    assert done.json["pushed"] is False
    assert "not pushed again" in done.step("Pusher")["summary"]


def test_a_deleted_artifact_is_made_again(own_model):
    steps = own_model.store.steps(own_model.run().json["run_id"])
    (anomalies,) = next(step for step in steps if step.name == "ExampleValidator").outputs["anomalies"]
    shutil.rmtree(anomalies.uri)
    done = own_model.run("--to", "Transform")
    assert done.step("ExampleValidator")["state"] == "RUN"
    assert done.step("ExampleValidator")["reason"] == "its earlier output is gone"
    assert done.states()["Transform"] == "CACHED"


def test_a_deleted_version_is_pushed_again(own_model):
    newest = own_model.versions[0]
    shutil.rmtree(own_model.home / "models")
    done = own_model.run()
    assert [name for name, state in done.states().items() if state == "RUN"] == ["Pusher"]
    assert done.step("Pusher")["reason"] == "its earlier output is gone"
    assert done.json["pushed"] is True
    (version,) = own_model.versions
    assert version.number > newest.number
    assert done.json["version_path"] == str(version.path)


def test_a_gate_that_says_no(own_model):
    versions = own_model.versions
    done = own_model.run("--set", "evaluate.gate={accuracy: {min: 0.9999}}")
    assert done.code == 3
    assert done.json["exit_code"] == 3
    assert done.json["blessed"] is False
    assert "is below the floor 0.9999" in done.json["verdict"]
    assert done.json["pushed"] is False
    assert done.json["version_path"] is None
    assert done.step("Pusher")["summary"].startswith(
        "not pushed because the model is not blessed: accuracy 0."
    )
    assert own_model.versions == versions
    again = own_model.run("--set", "evaluate.gate={accuracy: {min: 0.9999}}")
    assert again.code == 3
    assert set(again.states().values()) == {"CACHED"}


def test_no_cache_in_a_folder_with_modules_called_as_ours(warm, tmp_path):
    write_trips(tmp_path / "trips.csv")
    for name in ("pipeline", "components", "data", "keras", "tfx", "json"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(f"raise SystemExit('the wrong {name}')\n")
    arguments = ("run", "trips.csv", "--label", "tip", "--to", "ExampleGen", "--json")
    first = headrace(*arguments, cwd=tmp_path)
    assert first.code == 0, first.said
    assert first.states()["ExampleGen"] == "RUN"
    assert warm(*arguments, cwd=tmp_path).states()["ExampleGen"] == "CACHED"
    done = warm(*arguments, "--no-cache", cwd=tmp_path)
    assert done.step("ExampleGen")["state"] == "RUN"
    assert done.step("ExampleGen")["reason"] == "--no-cache"
