"""Statistics of every split: what is missing, what weighs more, slices, and columns of bytes."""

from __future__ import annotations

import csv
import random
from typing import Any

import pytest
from executors import artifact, execute
from tfx.types import artifact_utils

from components.errors import UserError
from components.example_gen.found import Found
from components.records import ShardWriter
from components.statistics_gen.files import load, load_all

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A table of which a tenth of one column is missing, with weights."""
    folder = tmp_path_factory.mktemp("weighed")
    deal = random.Random(3)
    with (folder / "rows.csv").open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["x", "by", "none", "weight", "y"])
        for number in range(400):
            by = deal.choice(["cash", "card"])
            x = "" if number % 10 == 3 else f"{deal.gauss(10 if by == 'cash' else 20, 1):.3f}"
            writer.writerow([x, by, "", 3 if by == "card" else 1, deal.randrange(2)])
    return execute(
        "example_gen",
        folder / "example_gen",
        {},
        {"examples": "Examples"},
        config={"source": str(folder / "rows.csv"), "weight": "weight"},
        label="y",
        task="",
        fingerprint="0",
    )["examples"]


def statistics_of(examples: Any, folder: Any, **config: Any) -> Any:
    return execute(
        "statistics_gen", folder, {"examples": examples}, {"statistics": "ExampleStatistics"}, config=config
    )["statistics"]


def by_name(dataset: Any) -> dict[str, Any]:
    return {feature.path.step[0]: feature for feature in dataset.features}


@pytest.fixture(scope="module")
def sliced(examples, tmp_path_factory):
    return statistics_of(examples, tmp_path_factory.mktemp("sliced"), slices=[["by"], ["y", "by"]])


def test_missing_values_are_counted(examples, sliced):
    found = Found.load(examples.uri)
    whole = load(sliced.uri, "train")
    common = by_name(whole)["x"].num_stats.common_stats
    assert whole.num_examples == found.rows["train"]
    assert common.num_non_missing == found.present["x"]
    assert common.num_missing == found.rows["train"] - found.present["x"]
    assert common.min_num_values == 1


def test_weights_count(sliced):
    whole = load(sliced.uri, "train")
    stats = by_name(whole)["x"].num_stats
    assert stats.mean == pytest.approx(15, abs=1)
    assert stats.weighted_numeric_stats.mean == pytest.approx(17.5, abs=0.7)
    assert sliced.get_string_custom_property("summary") == (
        "5 columns over 3 splits, weighted by weight, and of 6 slices"
    )


def test_few_rows_give_the_same_without_a_beam_pipeline(examples, sliced, tmp_path):
    quick = statistics_of(examples, tmp_path)
    for split in ("train", "eval", "test"):
        assert by_name(load(quick.uri, split)) == by_name(load(sliced.uri, split))


def test_slices_have_statistics_of_their_own(sliced):
    datasets = {each.name: each for each in load_all(sliced.uri, "test").datasets}
    names = {"All Examples", "by_cash", "by_card"}
    names |= {f"by_{by}_y_{y}" for by in ("cash", "card") for y in "01"}
    assert set(datasets) == names
    assert by_name(datasets["by_cash"])["x"].num_stats.mean == pytest.approx(10, abs=1)
    assert by_name(datasets["by_card"])["x"].num_stats.mean == pytest.approx(20, abs=1)
    assert load(sliced.uri, "test") == datasets["All Examples"]


def test_tfdv_infers_a_schema_from_them(sliced):
    import tensorflow_data_validation as tfdv

    schema = tfdv.infer_schema(load_all(sliced.uri, "train"))
    presence = {feature.name: feature.presence for feature in schema.feature}
    assert presence["by"].min_fraction == 1
    assert presence["x"].min_fraction == 0


@pytest.mark.parametrize(
    ("slices", "said"),
    [
        ([["bye"]], "the data has no column 'bye', did you mean 'by'?"),
        ([["by", "x"]], "column 'x' is float, whose values are no groups"),
    ],
)
def test_slices_that_cannot_be(examples, tmp_path, slices, said):
    with pytest.raises(UserError, match=r"statistics\.slices") as caught:
        statistics_of(examples, tmp_path, slices=slices)
    assert caught.value.what == said


def test_bytes_are_measured_but_not_counted(tmp_path):
    import tensorflow as tf

    examples = artifact("Examples", tmp_path / "examples", ["train"])
    examples.split_names = artifact_utils.encode_split_names(["train"])
    writer = ShardWriter(f"{examples.uri}/Split-train/data_tfrecord-00000-of-00001.gz")
    for number in range(50):
        example = tf.train.Example()
        example.features.feature["picture"].bytes_list.value.append(bytes([number]) * 1000)
        example.features.feature["y"].int64_list.value.append(number % 2)
        writer.write([example.SerializeToString()])
    writer.close()
    Found(
        label={"name": "y", "type": "integer", "task": "binary", "classes": ["0", "1"]},
        types={"picture": "image", "y": "integer"},
        values={},
        rows={"train": 50},
        classes={},
        present={},
        notes=[],
    ).save(examples.uri)
    picture = by_name(load(statistics_of(examples, tmp_path / "s").uri, "train"))["picture"]
    assert picture.WhichOneof("stats") == "bytes_stats"
    assert picture.bytes_stats.avg_num_bytes == 1000
