"""A step started by hand, from another folder and with an empty environment, makes the same artifact."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from headrace_calls import headrace

pytestmark = pytest.mark.slow


def alone(taxi, name, folder):
    """Runs the step from its invocation, and gives output key to where it was put and where it was."""
    folder.mkdir()
    done = headrace("step", taxi.home / "logs" / taxi.run_id / f"{name}.json", cwd=folder, env={})
    assert done.code == 0, done.said
    here = dict(line.split("  ") for line in done.out.splitlines())
    (step,) = (step for step in taxi.store.steps(taxi.run_id) if step.name == name)
    assert here == {key: str(folder / f"{name}.outputs" / key) for key in step.outputs}
    return {key: (here[key], artifact.uri) for key, (artifact,) in step.outputs.items()}


def test_transform(taxi, tmp_path):
    import tensorflow as tf

    outputs = alone(taxi, "Transform", tmp_path / "elsewhere")
    here, there = map(Path, outputs["transform_graph"])
    files = ["plan.json", *(str(p.relative_to(there)) for p in there.rglob("vocabulary_*"))]
    assert len(files) > 5
    for file in files:
        assert (here / file).read_bytes() == (there / file).read_bytes()
    here, there = outputs["transformed_examples"]
    for split in ("train", "eval", "test"):
        rows = []
        for folder in (here, there):
            files = [str(path) for path in sorted(Path(folder, f"Split-{split}").iterdir())]
            serialized = tf.data.TFRecordDataset(files, "GZIP").as_numpy_iterator()
            # Parsed, since the features of an example have no order.
            rows.append([tf.train.Example.FromString(row) for row in serialized])
        assert len(rows[0]) > 1000
        assert rows[0] == rows[1]


def test_trainer(taxi, tmp_path):
    import numpy as np
    import tensorflow as tf
    from tfx.utils import path_utils

    outputs = alone(taxi, "Trainer", tmp_path / "elsewhere")
    rows = tf.constant([tf.train.Example().SerializeToString()])
    answers, descriptions = [], []
    for uri in outputs["model"]:
        path = path_utils.serving_model_path(uri)
        model = tf.saved_model.load(path)
        answers.append(model.signatures["serving_default"](examples=rows)["probabilities"].numpy())
        with open(f"{path}/assets.extra/headrace.json") as stream:
            descriptions.append(json.load(stream))
    np.testing.assert_allclose(*answers, rtol=1e-5)
    assert descriptions[0] == descriptions[1]


def test_the_outputs_of_the_run_stay(taxi, tmp_path):
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "file").touch()
    invocation = taxi.home / "logs" / taxi.run_id / "SchemaGen.json"
    done = headrace("step", invocation, "--output", "taken", cwd=tmp_path)
    assert done.code == 2
    assert "the folder is not empty" in done.err
    assert headrace("step", "nowhere.json", cwd=tmp_path).code == 2
