"""New data with a new value: training begins with the blessed model of the data before."""

from __future__ import annotations

import pytest
from own_model import write_trips

from pipeline.metadata.store import open_store

pytestmark = pytest.mark.slow

CONFIG = """\
data: {source: trips.csv}
label: tip
features: {zone: {kind: category}}
model: {hidden: [8]}
evaluate: {gate: {auc: {min: 0.2}}}
train: {epochs: 3, batch_size: 64, warm_start: blessed}
"""


def test_blessed_of_other_data(tmp_path, warm):
    (tmp_path / "pipeline.yaml").write_text(CONFIG)
    data = tmp_path / "trips.csv"
    write_trips(data)
    run = lambda *more: warm("run", tmp_path, "--json", *more, cwd=tmp_path)  # noqa: E731
    first = run()
    assert first.code == 0, first.said
    assert "began with random weights: there is no blessed model" in first.step("Trainer")["summary"]
    # The model of these very rows is blessed now, and is not gone on with.
    assert set(run().states().values()) == {"CACHED"}

    data.write_text(data.read_text() + "3.1,20,new,yes\n9.1,11,new,no\n" * 30)
    second = run("--to", "Trainer")
    assert second.code == 0, second.said
    (base,) = (
        step.inputs["base_model"][0]
        for step in open_store(tmp_path / ".headrace").steps(second.json["run_id"])
        if step.name == "Trainer"
    )
    said = second.step("Trainer")["summary"]
    assert f" weights of {base.uri}/Format-Serving" in said
    assert " rows of embeddings new" in said
    # Two tables look at the zone, a wide and a deep one, and each has a row for the new value.
    assert ", 2 rows of embeddings new" in said

    pushed = first.json["version_path"]
    by_path = run("--to", "Trainer", "--set", f"train.warm_start={pushed}")
    assert by_path.code == 0, by_path.said
    assert f" weights of {pushed}, 2 rows" in by_path.step("Trainer")["summary"]
    nowhere = run("--to", "Trainer", "--set", "train.warm_start=nowhere")
    assert nowhere.code == 2
    assert f"no assets.extra/weights.npz in {tmp_path}/nowhere" in nowhere.step("Trainer")["error"]
