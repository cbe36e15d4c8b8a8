"""Folders of images, and columns that name them, through ExampleGen."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest
from ingested import Ingested, ingest
from picture_files import HEIGHT, WIDTH, encoded, picture, turned_photo

from components.errors import UserError
from components.example_gen import sources
from components.example_gen.config import DataConfig

GOOD = [encoded(picture(seed=seed), "PNG") for seed in range(150)]


def write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


@pytest.fixture
def images(tmp_path: Path) -> Path:
    """75 images of each of two classes."""
    for number, content in enumerate(GOOD):
        write(tmp_path / "images" / ("cat", "dog")[number % 2] / f"{number}.png", content)
    return tmp_path / "images"


def of_images(got: Ingested) -> list[str]:
    """The notes on images; with so few of them there may be others, on splits."""
    return sorted(note for note in got.found.notes if note.startswith("images"))


def by_file(got: Ingested, column: str = "image") -> dict[str, dict[str, Any]]:
    return {row[f"{column}/filename"][0]: row for row in got.rows()}


def read_binary(got: Ingested, name: str) -> list[bytes]:
    import tensorflow as tf

    found = []
    for file in sorted(got.uri.glob("Split-*/*.gz")):
        for record in tf.data.TFRecordDataset(str(file), "GZIP").as_numpy_iterator():
            found.extend(tf.train.Example.FromString(record).features.feature[name].bytes_list.value)
    return found


def test_a_folder_a_class(images: Path, tmp_path: Path) -> None:
    got = ingest(tmp_path, {"source": str(images), "format": "images"}, label="kind")
    assert got.found.types == {
        "image": "image",
        "kind": "text",
        "image/height": "integer",
        "image/width": "integer",
        "image/channels": "integer",
        "image/format": "text",
        "image/filename": "text",
    }
    assert got.found.label.classes == ("cat", "dog")
    assert sum(got.found.rows.values()) == len(GOOD)
    assert of_images(got) == []
    row = by_file(got)["cat/4.png"]
    assert row["image/height"] == [HEIGHT]
    assert row["image/width"] == [WIDTH]
    assert row["image/channels"] == [3]
    assert row["image/format"] == ["png"]
    assert row["kind"] == ["cat"]
    assert sorted(read_binary(got, "image")) == sorted(GOOD)


def test_the_format_is_told_by_the_names(images: Path, tmp_path: Path) -> None:
    assert ingest(tmp_path, {"source": str(images)}, label="kind").found.types["image"] == "image"


def test_folders_of_splits(tmp_path: Path) -> None:
    for number, content in enumerate(GOOD):
        split = ("train", "val", "test")[number % 3]
        write(tmp_path / "images" / split / ("cat", "dog")[number % 2] / f"{number}.png", content)
    got = ingest(tmp_path, {"source": str(tmp_path / "images")}, label="kind")
    assert got.found.rows == {"train": 50, "eval": 50, "test": 50}
    assert set(got.column("kind", "eval")) == {"cat", "dog"}


def test_folder_names_may_be_another_column_than_the_label(images: Path, tmp_path: Path) -> None:
    data = {"source": str(images), "folder_names": "animal"}
    assert "animal" in ingest(tmp_path, data, label="animal").found.types
    with pytest.raises(UserError, match="the data has no column 'kind'"):
        ingest(tmp_path, data, label="kind")


def test_names_of_digits_stay_text(tmp_path: Path) -> None:
    for number, content in enumerate(GOOD):
        write(tmp_path / "images" / f"0{number % 2}" / f"{number}.png", content)
    got = ingest(tmp_path, {"source": str(tmp_path / "images")}, label="digit")
    assert got.found.label.classes == ("00", "01")


def test_equal_images_go_to_the_same_split(tmp_path: Path) -> None:
    for number in range(60):
        write(
            tmp_path / "images" / ("cat", "dog")[number % 2] / f"{number}.png",
            GOOD[number // 6 * 2 + number % 2],
        )
    got = ingest(
        tmp_path, {"source": str(tmp_path / "images"), "split": {"train": 1, "eval": 1, "test": 1}}, "kind"
    )
    homes: dict[bytes, set[str]] = {}
    import tensorflow as tf

    for split in ("train", "eval", "test"):
        for file in got.uri.glob(f"Split-{split}/*.gz"):
            for record in tf.data.TFRecordDataset(str(file), "GZIP").as_numpy_iterator():
                feature = tf.train.Example.FromString(record).features.feature
                homes.setdefault(feature["image"].bytes_list.value[0], set()).add(split)
    assert len(homes) == 20
    assert all(len(splits) == 1 for splits in homes.values())


def test_a_file_beside_the_classes_is_refused(images: Path, tmp_path: Path) -> None:
    write(images / "stray.png", GOOD[0])
    with pytest.raises(
        UserError, match=r"stray.png lies higher than .*; expected all files in folders of classes"
    ):
        ingest(tmp_path, {"source": str(images)}, label="kind")


def test_bad_images_stop_the_run_and_are_named(images: Path, tmp_path: Path) -> None:
    for number in range(4):
        write(images / "cat" / f"bad{number}.png", GOOD[0][:-20])
    for number in range(3):
        write(images / "dog" / f"bad{number}.jpg", b"<html>")
    with pytest.raises(UserError) as caught:
        ingest(tmp_path, {"source": str(images)}, label="kind")
    said = str(caught.value)
    assert "images that cannot be read: 7" in said
    assert said.count("bad") >= 5
    assert "and 2 more" in said
    assert "data.on_bad_row: skip" in said


def test_bad_images_can_be_skipped_and_are_listed(images: Path, tmp_path: Path) -> None:
    write(images / "cat" / "bad.png", GOOD[0][:-20])
    write(images / "dog" / "empty.jpg", b"")
    got = ingest(tmp_path, {"source": str(images), "on_bad_row": "skip"}, label="kind")
    assert sum(got.found.rows.values()) == len(GOOD)
    assert got.found.skipped == 2
    assert "skipped 2 rows whose image cannot be read; see skipped_rows.jsonl" in got.notes
    listed = (got.uri / "skipped_rows.jsonl").read_text()
    assert "cat/bad.png" in listed
    assert "the file is empty" in listed


def test_what_was_done_to_images_is_said_with_counts(images: Path, tmp_path: Path) -> None:
    write(images / "cat" / "photo1.jpg", turned_photo(6))
    write(images / "cat" / "photo2.jpg", turned_photo(3))
    write(images / "dog" / "print.jpg", encoded(picture("CMYK"), "JPEG"))
    write(images / "dog" / "old.bmp", encoded(picture(), "BMP"))
    got = ingest(tmp_path, {"source": str(images)}, label="kind")
    assert of_images(got) == [
        "images in BMP, stored as PNG: 1",
        "images in CMYK, turned into RGB: 1",
        "images turned upright, as their EXIF says: 2",
    ]
    assert by_file(got)["cat/photo1.jpg"]["image/width"] == [WIDTH * 8]


def manifest(folder: Path, rows: list[tuple[str, ...]], header: tuple[str, ...]) -> Path:
    with open(folder / "manifest.csv", "w", newline="") as stream:
        csv.writer(stream).writerows([header, *rows])
    return folder / "manifest.csv"


def test_a_manifest_names_images(images: Path, tmp_path: Path) -> None:
    rows = [
        (f"images/{kind}/{path.name}", path.stem, kind)
        for kind in ("cat", "dog")
        for path in sorted((images / kind).iterdir())
    ]
    rows += [("NA", "1000", "cat"), ("", "1001", "dog")]
    source = manifest(tmp_path, rows, ("photo", "weight", "kind"))
    got = ingest(tmp_path, {"source": str(source), "columns": {"photo": "image"}}, label="kind")
    assert got.found.types["photo"] == "image"
    assert got.found.types["weight"] == "integer"
    assert got.found.types["photo/height"] == "integer"
    assert sum(got.found.rows.values()) == len(GOOD) + 2
    assert sorted(read_binary(got, "photo")) == sorted(GOOD)
    row = by_file_of_manifest(got)["images/dog/7.png"]
    assert (row["weight"], row["kind"], row["photo/channels"]) == ([7], ["dog"], [3])


def by_file_of_manifest(got: Ingested) -> dict[str, dict[str, Any]]:
    return {row["photo/filename"][0]: row for row in got.rows() if row["photo/filename"]}


def test_a_manifest_names_the_line_of_a_missing_file(images: Path, tmp_path: Path) -> None:
    rows = [(f"images/cat/{number}.png", "cat") for number in range(0, 60, 2)]
    rows += [(f"images/dog/{number}.png", "dog") for number in range(0, 60)]
    source = manifest(tmp_path, rows, ("photo", "kind"))
    with pytest.raises(UserError) as caught:
        ingest(tmp_path, {"source": str(source), "columns": {"photo": "image"}}, label="kind")
    assert "images that cannot be read: 30" in str(caught.value)
    assert "manifest.csv:32: photo: no such file: 'images/dog/0.png'" in str(caught.value)


def test_a_number_is_no_image(images: Path, tmp_path: Path) -> None:
    source = manifest(
        tmp_path, [("images/cat/0.png", "1", "cat"), ("images/dog/1.png", "2", "dog")], ("photo", "x", "kind")
    )
    with pytest.raises(UserError, match="x: no such file: '1'"):
        ingest(tmp_path, {"source": str(source), "columns": {"x": "image"}}, "kind")


def test_a_column_that_is_called_as_a_fact_is_refused(images: Path, tmp_path: Path) -> None:
    rows = [(f"images/cat/{number}.png", "1", str(number)) for number in range(0, 60, 2)]
    source = manifest(tmp_path, rows, ("photo", "photo/width", "kind"))
    with pytest.raises(UserError, match="'photo/width', as a measure of the image"):
        ingest(tmp_path, {"source": str(source), "columns": {"photo": "image"}}, label="kind")


def fingerprint(data: dict[str, Any]) -> str:
    return sources.fingerprint(DataConfig.model_validate(data))


def test_the_fingerprint_covers_folders_and_named_images(images: Path, tmp_path: Path) -> None:
    source = manifest(tmp_path, [("images/cat/0.png", "cat"), ("images/none.png", "dog")], ("photo", "kind"))
    folder, named = {"source": str(images)}, {"source": str(source), "columns": {"photo": "image"}}
    first = fingerprint(folder), fingerprint(named)
    assert (fingerprint(folder), fingerprint(named)) == first
    (images / "cat").rename(images / "lion")
    assert fingerprint(folder) != first[0]
    (images / "lion").rename(images / "cat")
    assert (fingerprint(folder), fingerprint(named)) == first
    write(images / "cat" / "0.png", GOOD[2])
    assert fingerprint(folder) != first[0]
    assert fingerprint(named) != first[1]


def test_a_name_that_is_no_text_is_refused(images: Path, tmp_path: Path) -> None:
    write(images / "cat" / b"caf\xe9.png".decode(errors="surrogateescape"), GOOD[0])
    with pytest.raises(UserError, match=r"a file's name is not UTF-8: .*caf"):
        ingest(tmp_path, {"source": str(images)}, label="kind")


def test_a_text_beside_the_classes_asks_for_the_format(images: Path, tmp_path: Path) -> None:
    write(images / "README.txt", b"Cats and dogs.")
    with pytest.raises(UserError, match=r"(?s)files of two formats: .*in a folder, data\.format says which"):
        ingest(tmp_path, {"source": str(images)}, label="kind")
    got = ingest(tmp_path, {"source": str(images), "format": "images"}, label="kind")
    assert sum(got.found.rows.values()) == len(GOOD)


def test_shares_of_classes_are_exact_when_stratified(images: Path, tmp_path: Path) -> None:
    got = ingest(tmp_path, {"source": str(images), "split": {"stratify": "label"}}, label="kind")
    assert got.found.classes["train"] == {"cat": 60, "dog": 60}
