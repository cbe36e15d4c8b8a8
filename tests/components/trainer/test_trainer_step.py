"""The Trainer step on a table with a text: what it leaves, and that what it serves is not augmented."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from executors import run_steps

pytestmark = pytest.mark.slow

WORDS = ["late", "early", "kind", "rude", "lost", "found", "warm", "cold", "long", "short"]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    import keras  # noqa: F401  before tensorflow_transform, as in a step's process

    folder = tmp_path_factory.mktemp("texts")
    deal = random.Random(3)
    lines = ["said,good"]
    for _ in range(600):
        words = deal.choices(WORDS, k=deal.randint(4, 12))
        lines.append(f"{' '.join(words)},{'yes' if words.count('kind') + words.count('warm') > 1 else 'no'}")
    (folder / "rows.csv").write_text("\n".join(lines) + "\n")
    return run_steps(
        folder / "rows.csv",
        "good",
        *("ExampleGen", "StatisticsGen", "SchemaGen", "Transform", "Trainer"),
        features={"said": {"kind": "text", "vocabulary": 50, "length": 12}},
        model={"hidden": [8]},
        train={
            "epochs": 3,
            "batch_size": 64,
            "augment": {"token_drop": 0.5, "token_swap": 0.5},
            "input": {"cache": "file"},
            "tensorboard": {"histograms": 1},
        },
    )


def test_the_exported_model_is_not_augmented(trained):
    import tensorflow as tf
    from tfx.utils import path_utils

    model = tf.saved_model.load(path_utils.serving_model_path(trained["model"].uri))
    rows = tf.constant(["kind warm late lost", "rude cold long short found"] * 50)
    (name,) = model.signatures["serving_raw"].structured_input_signature[1]
    answers = [model.signatures["serving_raw"](**{name: rows})["probabilities"].numpy() for _ in range(3)]
    for answer in answers:
        # Rows of a batch may differ in the last bit, by where in the batch they stand.
        np.testing.assert_allclose(answer, answers[0], rtol=0, atol=1e-6)
        np.testing.assert_allclose(answer[::2], np.broadcast_to(answer[0], answer[::2].shape), atol=1e-6)


def test_what_it_leaves(trained):
    run = Path(trained["model_run"].uri)
    table = (run / "epochs.csv").read_text().splitlines()
    assert len(table) == 4
    assert table[0].startswith("epoch,")
    assert "val_loss" in table[0]
    assert list((run / "train").iterdir())
    assert ", 3 epochs; eval " in trained["model"].get_string_custom_property("summary")
    # The cache of parsed rows is gone.
    assert not list(run.parent.glob("tmp/**/rows*"))
    assert not [path for path in run.parent.glob("tmp/**/*") if path.is_file()]
