"""A model begins with another's weights: by path and shape; rows of embeddings by what ids stand for."""

from __future__ import annotations

import keras
import numpy as np
import pytest

from components.errors import UserError
from components.label import LabelSpec
from components.trainer.models import Embedding
from components.trainer.warm_start import keep_weights, take_weights

LABEL = LabelSpec(name="tip", type="text", task="binary", classes=("no", "yes"))
OLD = {"zone_xf": ["missing", "value a", "value b", "value c", "outside 0 of 1"]}
# b has gone, d is new, a and c have changed places.
NEW = {"zone_xf": ["missing", "value c", "value a", "value d", "outside 0 of 1"]}


def build(ids=5, hidden=4, units=1, embed=True):
    inputs = {
        "zone_xf": keras.Input((1,), name="zone_xf", dtype="int64"),
        "n_xf": keras.Input((1,), name="n_xf"),
    }
    if embed:
        zone = keras.layers.Flatten()(Embedding(ids, 3, name="zone")(inputs["zone_xf"]))
    else:
        zone = keras.layers.Flatten()(keras.layers.CategoryEncoding(ids)(inputs["zone_xf"]))
    together = keras.layers.Concatenate()([zone, inputs["n_xf"]])
    out = keras.layers.Dense(units, name="out")(keras.layers.Dense(hidden, name="hidden")(together))
    model = keras.Model(inputs, out)
    for variable in model.weights:
        variable.assign(np.random.default_rng(len(variable.path)).normal(size=variable.shape))
    return model


@pytest.fixture
def kept(tmp_path):
    (tmp_path / "assets.extra").mkdir()

    def keep(model, names=OLD, label=LABEL):
        weights = {variable.path: variable.numpy() for variable in model.weights}
        keep_weights(weights, names, label, str(tmp_path))
        return str(tmp_path)

    return keep


def test_all_of_the_same_model(kept):
    old, new = build(), build()
    for variable in new.weights:
        variable.assign(variable + 1)
    said = take_weights(new, OLD, LABEL, kept(old))
    assert said.startswith("began with 5 of 5 weights of ")
    for a, b in zip(new.get_weights(), old.get_weights()):
        np.testing.assert_array_equal(a, b)


def test_rows_go_by_their_values(kept):
    old, new = build(), build()
    fresh = np.full((5, 3), 9.0)
    new.get_layer("zone").embeddings.assign(fresh)
    said = take_weights(new, NEW, LABEL, kept(old))
    assert said.endswith(", 1 rows of embeddings new")
    before, after = (model.get_layer("zone").embeddings.numpy() for model in (old, new))
    np.testing.assert_array_equal(after, [before[0], before[3], before[1], fresh[3], before[4]])


def test_a_larger_vocabulary_and_another_width(kept):
    old, new = build(), build(ids=6, hidden=7)
    names = {"zone_xf": [*NEW["zone_xf"][:4], "value e", "outside 0 of 1"]}
    said = take_weights(new, names, LABEL, kept(old))
    assert said.startswith("began with 2 of 5 weights of ")  # the table, and the last layer's bias
    assert said.endswith(", 2 rows of embeddings new; not hidden/kernel, hidden/bias, out/kernel")
    after = new.get_layer("zone").embeddings.numpy()
    np.testing.assert_array_equal(after[5], old.get_layer("zone").embeddings.numpy()[4])


def test_ids_that_no_embedding_takes_are_refused_when_they_have_changed(kept):
    folder = kept(build(embed=False))
    assert take_weights(build(embed=False), OLD, LABEL, folder).startswith("began with 4 of 4")
    with pytest.raises(UserError, match="the ids of zone_xf stand for other values than before"):
        take_weights(build(embed=False), NEW, LABEL, folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"classes": ("maybe", "yes")}, "the classes were no, yes, they are maybe, yes"),
        ({"name": "fare"}, r"predicts tip \(binary\), this one fare \(binary\)"),
        ({"task": "multiclass"}, r"this one tip \(multiclass\)"),
    ],
)
def test_another_question(kept, change, message):
    with pytest.raises(UserError, match=message):
        take_weights(build(), OLD, LABEL.model_copy(update=change), kept(build()))


def test_more_classes_leave_the_last_layer_fresh(kept):
    label = LABEL.model_copy(update={"task": "multiclass", "classes": ("a", "b", "c")})
    folder = kept(build(units=3), label=label)
    more = label.model_copy(update={"classes": ("a", "b", "c", "d")})
    assert "; not out/kernel, out/bias" in take_weights(build(units=4), OLD, more, folder)


def test_no_weights(tmp_path):
    with pytest.raises(UserError, match=r"no assets\.extra/weights\.npz in "):
        take_weights(build(), OLD, LABEL, str(tmp_path))
