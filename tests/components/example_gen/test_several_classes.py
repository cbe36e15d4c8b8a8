"""Labels of which a row has any number: what is found, kept, counted and refused."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from ingested import ingest

from components.errors import UserError

TAGS = [["sport"], ["music", "sport"], [], ["art", "art", "music"]]


def write(path, tags):
    """A line a row; a row whose tags are Ellipsis has no such key."""
    rows = [{"x": i, **({} if each is ... else {"tags": each})} for i, each in enumerate(tags)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return {"source": str(path)}


def counted(found):
    total: dict[str, int] = {}
    for counts in found.found.classes.values():
        for name, count in counts.items():
            total[name] = total.get(name, 0) + count
    return total


def test_a_list_column_is_a_label_of_several_classes(tmp_path):
    found = ingest(tmp_path, write(tmp_path / "a.jsonl", [*TAGS * 40, None, ..., None]), label="tags")
    label = found.found.label
    assert (label.task, label.type, label.classes) == ("multilabel", "text", ("art", "music", "sport"))
    assert label.width == 3
    assert found.found.lists == ("tags",)
    # An empty list is a row, null and an absent key are none.
    assert sum(found.found.rows.values()) == 160
    kept = [tuple(row.get("tags", [])) for row in found.rows()]
    assert {tags: kept.count(tags) for tags in set(kept)} == {tuple(tags): 40 for tags in TAGS}
    # A class counts once a row, however often it stands there.
    assert counted(found) == {"art": 40, "music": 80, "sport": 80}
    assert "dropped 3 rows whose label 'tags' is missing" in found.notes
    assert "40 rows have none of the classes of 'tags'" in found.notes
    assert "tags: music 50.0 %, sport 50.0 %, art 25.0 %" in found.artifact.get_string_custom_property(
        "summary"
    )


def test_lists_of_at_most_one_class_need_to_be_asked_for(tmp_path):
    data = write(tmp_path / "a.jsonl", [["b"], [], ["a"], ["b"]] * 40)
    assert ingest(tmp_path, data, label="tags").found.label.task == "binary"
    found = ingest(tmp_path, data, label="tags", task="multilabel").found
    assert (found.label.task, found.label.classes, found.lists) == ("multilabel", ("a", "b"), ("tags",))
    assert sum(found.rows.values()) == 160


def test_one_class_is_enough(tmp_path):
    data = write(tmp_path / "a.jsonl", [["late"], []] * 60)
    found = ingest(tmp_path, data, label="tags", task="multilabel")
    assert found.found.label.classes == ("late",)
    assert counted(found) == {"late": 60}


def test_whole_numbers_are_classes_in_their_order(tmp_path):
    found = ingest(tmp_path, write(tmp_path / "a.jsonl", [[10, 9], [2], []] * 50), label="tags")
    assert (found.found.label.type, found.found.label.classes) == ("integer", ("2", "9", "10"))
    assert counted(found) == {"2": 50, "9": 50, "10": 50}


def test_cells_of_csv_are_taken_apart(tmp_path):
    cells = ["sport", " music | sport ", "", "art||art|music", "NA"]
    lines = [f"{i},{cell}" for i, cell in enumerate(cells * 40)]
    (tmp_path / "a.csv").write_text("\n".join(["x,tags", *lines]) + "\n")
    data = {"source": str(tmp_path / "a.csv"), "separate": {"tags": "|"}}
    found = ingest(tmp_path, data, label="tags")
    assert (found.found.label.task, found.found.label.classes) == ("multilabel", ("art", "music", "sport"))
    assert counted(found) == {"art": 40, "music": 80, "sport": 80}
    assert "dropped 40 rows whose label 'tags' is missing" in found.notes
    assert "40 rows have none of the classes" in found.notes


def test_a_missing_label_may_be_an_error(tmp_path):
    data = write(tmp_path / "a.jsonl", [*TAGS * 40, None])
    with pytest.raises(UserError, match=r"a.jsonl:161: the label 'tags' is missing"):
        ingest(tmp_path, {**data, "on_missing_label": "error"}, label="tags")
    whole = write(tmp_path / "b.jsonl", TAGS * 40)
    assert ingest(tmp_path, {**whole, "on_missing_label": "error"}, label="tags").found.rows["train"]


@pytest.mark.parametrize(
    ("tags", "task", "message"),
    [
        (["a", "b"], "multilabel", r"a list of classes in every row, the column has one text\n .*JSON Lines"),
        ([["a", "b"], ["a"]], "multiclass", r"one value a row, here some rows have several\n .*multilabel"),
        ([["a", "b"], ["a"]], "binary", "task binary takes one value a row"),
        ([[1.5, 2.5], [0.5]], "", r"texts or integers, the lists hold values of type float\n .*tags: text"),
        ([[True, False], [True]], "", "the lists hold values of type boolean"),
        ([[], []], "multilabel", "no row has a class"),
    ],
)  # fmt: skip
def test_refused(tmp_path, tags, task, message):
    with pytest.raises(UserError, match=rf"(?s)label 'tags': .*{message}"):
        ingest(tmp_path, write(tmp_path / "a.jsonl", tags * 60), label="tags", task=task)


def test_too_many_classes(tmp_path):
    with pytest.raises(UserError, match="more than 1000 distinct values are no classes"):
        ingest(tmp_path, write(tmp_path / "a.jsonl", [[f"t{i}", f"u{i}"] for i in range(600)]), label="tags")


def test_a_class_that_train_lacks_and_splits_by_class(tmp_path):
    source = {
        "train": write(tmp_path / "a.jsonl", [["a", "b"], ["a"]] * 20)["source"],
        "test": write(tmp_path / "b.jsonl", [["a", "c"], ["b"]] * 20)["source"],
    }
    with pytest.raises(UserError, match=r"class 'c' has no row in the train split"):
        ingest(tmp_path, {"source": source}, label="tags")
    data = write(tmp_path / "c.jsonl", TAGS * 40)
    for tags in ("label", "tags"):
        with pytest.raises(UserError, match="the rows have any number of classes of 'tags'"):
            ingest(tmp_path, {**data, "split": {"stratify": tags}}, label="tags")


def test_a_rare_class_is_not_helped_by_what_cannot_be_had(tmp_path):
    data = write(tmp_path / "a.jsonl", [*[["a", "b"], ["a"], []] * 60, ["a", "rare"]])
    try:
        said = ingest(tmp_path, data, label="tags").notes
    except UserError as error:
        said = str(error)
    assert "rare" in said
    assert "stratify" not in said


def test_lists_with_nothing_between_the_values(tmp_path):
    from components.example_gen.separate import values_of

    cells = pa.array(["a;b", ";", " ", None, "n/a", "a;n/a"])
    found = values_of(cells, ";", pa.array(["n/a"])).to_pylist()
    assert found == [["a", "b"], [], [], None, None, ["a"]]
