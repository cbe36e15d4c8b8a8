"""Where rows come from: files, folders, globs, packages, URLs, splits of their own, spans and versions."""

from __future__ import annotations

import os
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from ingested import ingest, survey_of, types_of

from components.errors import UserError
from components.example_gen import sources
from components.example_gen.config import DataConfig


def write(path, start: int = 0, rows: int = 60) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("n,y\n" + "".join(f"{i},{i % 2}\n" for i in range(start, start + rows)))


def find(source, **options) -> sources.Inputs:
    return sources.find(DataConfig.model_validate({"source": source, **options}))


def names(source, folder, **options) -> list[str]:
    return [os.path.relpath(file.path, folder) for file in find(source, **options).files]


def refusal(source, **options) -> str:
    with pytest.raises(UserError) as caught:
        find(source, **options)
    return str(caught.value)


def test_files_of_a_folder_and_of_a_glob_are_one_set(tmp_path):
    for name in ("b.csv", "a.csv", "c.csv.gz", ".hidden.csv", "_SUCCESS", "README.txt", "sub/d.csv"):
        write(tmp_path / name)
    (tmp_path / "c.csv.gz").unlink()
    assert names(str(tmp_path), tmp_path) == ["a.csv", "b.csv"]
    assert names(str(tmp_path / "*.csv"), tmp_path) == ["a.csv", "b.csv"]
    assert names(str(tmp_path / "**/*.csv"), tmp_path) == ["a.csv", "b.csv", "sub/d.csv"]
    assert names(str(tmp_path / "[bc].csv"), tmp_path) == ["b.csv"]
    assert survey_of({"source": str(tmp_path)}).rows == 120


def test_a_name_with_brackets_is_a_name(tmp_path):
    write(tmp_path / "a[1].csv")
    assert names(str(tmp_path / "a[1].csv"), tmp_path) == ["a[1].csv"]


def test_a_project_may_lie_in_a_hidden_folder(tmp_path):
    write(tmp_path / ".hidden" / "a.csv")
    assert names(str(tmp_path / ".hidden"), tmp_path) == [".hidden/a.csv"]
    assert names(str(tmp_path / ".hidden" / "*.csv"), tmp_path) == [".hidden/a.csv"]


def test_a_package_can_be_the_source(tmp_path, monkeypatch):
    write(tmp_path / "somedata" / "rows.csv")
    (tmp_path / "somedata" / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert names("package:somedata/rows.csv", tmp_path) == ["somedata/rows.csv"]
    assert "somedata" not in sys.modules
    assert "no installed package 'absent'" in refusal("package:absent/rows.csv")


def test_what_is_not_there_is_told(tmp_path):
    assert "no such file: " in refusal(str(tmp_path / "none.csv"))
    assert "no such file: " in refusal(str(tmp_path / "*.csv"))
    assert "holds no file that can be read" in refusal(str(tmp_path))


def test_files_of_two_formats_are_refused(tmp_path):
    write(tmp_path / "a.csv")
    pq.write_table(pa.table({"n": [1], "y": [1]}), tmp_path / "b.parquet")
    assert "files of two formats: a.csv (csv) and b.parquet (parquet)" in refusal(str(tmp_path))
    assert names(str(tmp_path), tmp_path, format="parquet") == ["b.parquet"]


def test_a_format_can_be_declared(tmp_path):
    write(tmp_path / "rows.txt")
    assert "cannot tell the format of rows.dat" in _told(tmp_path / "rows.dat")
    assert types_of({"source": str(tmp_path / "rows.txt"), "format": "csv"}) == {
        "n": "integer",
        "y": "integer",
    }


def _told(path) -> str:
    write(path)
    return refusal(str(path))


def test_files_must_have_the_same_columns(tmp_path):
    write(tmp_path / "a.csv")
    (tmp_path / "b.csv").write_text("y,m\n1,2\n")
    with pytest.raises(UserError) as caught:
        survey_of({"source": str(tmp_path)})
    said = str(caught.value)
    assert (
        f"{tmp_path}/b.csv: columns differ from those of {tmp_path}/a.csv: it also has 'm' and lacks 'n'"
        in said
    )


def test_columns_may_stand_in_another_order(tmp_path):
    write(tmp_path / "a.csv")
    (tmp_path / "b.csv").write_text("y,n\n" + "".join(f"{i % 2},{i}\n" for i in range(60, 120)))
    found = ingest(tmp_path, {"source": str(tmp_path / "*.csv")})
    assert sorted(found.column("n")) == list(range(120))


def test_a_url_of_a_file_system_that_beam_knows(tmp_path, monkeypatch):
    """Beam's local file system under another scheme stands in for a bucket."""
    from apache_beam.io.localfilesystem import LocalFileSystem

    class Bucket(LocalFileSystem):
        @classmethod
        def scheme(cls):
            return "bucket"

        def _inner(self, path):
            return path.replace("bucket://", f"{tmp_path}/", 1)

        def open(self, path, mime_type="", compression_type="auto"):
            return super().open(self._inner(path), mime_type, compression_type)

        def match(self, patterns, limits=None):
            found = super().match([self._inner(pattern) for pattern in patterns], limits)
            for each in (each for result in found for each in result.metadata_list):
                each.path = each.path.replace(f"{tmp_path}/", "bucket://", 1)
            return found

        def checksum(self, path):
            return super().checksum(self._inner(path))

    write(tmp_path / "rows" / "a.csv")
    write(tmp_path / "rows" / "b.csv", 60)
    (tmp_path / "rows" / "_SUCCESS").write_text("")
    assert [file.path for file in find("bucket://rows").files] == [
        "bucket://rows/a.csv",
        "bucket://rows/b.csv",
    ]
    assert [file.path for file in find("bucket://rows/a*").files] == ["bucket://rows/a.csv"]
    config = DataConfig.model_validate({"source": "bucket://rows"})
    before = sources.fingerprint(config)
    assert sources.fingerprint(config) == before
    found = ingest(tmp_path, {"source": "bucket://rows"})
    assert sorted(found.column("n")) == list(range(120))
    write(tmp_path / "rows" / "b.csv", 61)
    assert sources.fingerprint(config) != before
    write(tmp_path / "parts" / "train" / "a.csv")
    write(tmp_path / "parts" / "test" / "a.csv", 60)
    assert [(file.split, file.path) for file in find("bucket://parts").files] == [
        ("train", "bucket://parts/train/a.csv"),
        ("test", "bucket://parts/test/a.csv"),
    ]
    write(tmp_path / "days" / "day-3" / "a.csv")
    assert find("bucket://days/day-{SPAN}/*.csv").spans == (3,)


def test_a_url_that_leads_nowhere_is_told():
    assert "nowhere://x/a.csv: cannot be listed" in refusal("nowhere://x/a.csv")


class TestFingerprint:
    """What tells changed data from unchanged."""

    def of(self, source, **options) -> str:
        return sources.fingerprint(DataConfig.model_validate({"source": source, **options}))

    def test_contents_count_even_when_size_and_time_do_not_change(self, tmp_path):
        path = tmp_path / "a.csv"
        path.write_text("n,y\n1,1\n")
        os.utime(path, (1, 1))
        before = self.of(str(path))
        assert self.of(str(path)) == before
        path.write_text("n,y\n2,1\n")
        os.utime(path, (1, 1))
        assert self.of(str(path)) != before

    def test_a_further_file_counts(self, tmp_path):
        write(tmp_path / "a.csv")
        before = self.of(str(tmp_path))
        write(tmp_path / "b.csv")
        assert self.of(str(tmp_path)) != before

    def test_the_place_does_not_count(self, tmp_path):
        write(tmp_path / "x" / "a.csv")
        write(tmp_path / "y" / "a.csv")
        assert self.of(str(tmp_path / "x")) == self.of(str(tmp_path / "y"))


class TestSplits:
    """Inputs that are split already."""

    def test_a_source_for_each_split(self, tmp_path):
        for start, split in enumerate(sources.SPLITS):
            write(tmp_path / f"{split}.csv", 100 * start)
        found = ingest(
            tmp_path, {"source": {split: str(tmp_path / f"{split}.csv") for split in sources.SPLITS}}
        )
        assert found.found.rows == {"train": 60, "eval": 60, "test": 60}
        assert found.column("n", "eval")[0] == 100
        assert sorted(found.column("n", "test")) == list(range(200, 260))

    def test_folders_named_as_splits(self, tmp_path):
        write(tmp_path / "train" / "a.csv")
        write(tmp_path / "train" / "b.csv", 60)
        write(tmp_path / "validation" / "a.csv", 200)
        write(tmp_path / "test" / "a.csv", 300)
        found = ingest(tmp_path, {"source": str(tmp_path)})
        assert found.found.rows == {"train": 120, "eval": 60, "test": 60}

    def test_a_split_without_a_source_gets_its_part_of_train(self, tmp_path):
        write(tmp_path / "a.csv", rows=300)
        write(tmp_path / "b.csv", 1000)
        source = {"train": str(tmp_path / "a.csv"), "test": str(tmp_path / "b.csv")}
        found = ingest(tmp_path, {"source": source, "split": {"train": 2, "eval": 1}})
        assert found.found.rows["test"] == 60
        assert sorted(found.column("n", "test")) == list(range(1000, 1060))
        assert found.found.rows["train"] + found.found.rows["eval"] == 300
        assert 60 < found.found.rows["eval"] < 140

    def test_folders_without_train_are_refused(self, tmp_path):
        write(tmp_path / "eval" / "a.csv")
        write(tmp_path / "test" / "a.csv")
        assert "has no train/ beside eval, test/" in refusal(str(tmp_path))


class TestSpans:
    """Spans and versions in the path."""

    @pytest.fixture
    def days(self, tmp_path):
        for span, version in ((1, 1), (2, 1), (2, 10), (2, 9), (5, 1), (6, 2)):
            write(tmp_path / f"day-{span}" / f"v-{version}" / "a.csv", 100 * span + version)
        return str(tmp_path / "day-{SPAN}" / "v-{VERSION}" / "*.csv")

    @pytest.mark.parametrize(
        ("choice", "spans", "version"),
        [
            ("latest", (6,), 2),
            (2, (2,), 10),
            ([1, 2], (1, 2), 10),
            ([3, 9], (5, 6), 2),
            ({"last": 2}, (5, 6), 2),
            ({"last": 5}, (2, 5, 6), 2),
            ({"last": 99}, (1, 2, 5, 6), 2),
        ],
    )
    def test_chosen_spans(self, days, choice, spans, version):
        inputs = find(days, span=choice)
        assert (inputs.spans, inputs.version) == (spans, version)
        assert len(inputs.files) == len(spans)

    def test_the_artifact_has_span_and_version(self, days, tmp_path):
        found = ingest(tmp_path, {"source": days, "span": [2, 5]})
        assert (found.artifact.span, found.artifact.version) == (5, 1)
        assert found.artifact.get_string_custom_property("spans") == "2,5"
        assert sorted(found.column("n")) == [*range(210, 270), *range(501, 561)]

    def test_spans_count_in_the_fingerprint(self, days):
        of = {
            sources.fingerprint(DataConfig.model_validate({"source": days, "span": span}))
            for span in ("latest", 6, 5, [5, 6])
        }
        assert len(of) == 3

    def test_dates_are_spans(self, tmp_path):
        for day in ("2026-01-30", "2026-01-31", "2026-02-01"):
            write(tmp_path / f"{day}.csv")
        source = str(tmp_path / "{YYYY}-{MM}-{DD}.csv")
        assert find(source).spans == (20485,)
        assert find(source, span="2026-01-31").spans == (20484,)
        assert find(source, span=["2026-01-01", "2026-01-31"]).spans == (20483, 20484)

    def test_widths_tell_numbers_that_touch(self, tmp_path):
        write(tmp_path / "0102.csv")
        write(tmp_path / "0199.csv")
        inputs = find(str(tmp_path / "{SPAN:2}{VERSION:2}.csv"))
        assert (inputs.spans, inputs.version) == ((1,), 99)

    def test_tfx_finds_the_same(self, days, tmp_path):
        from tfx.components.example_gen import utils
        from tfx.proto import example_gen_pb2

        split = example_gen_pb2.Input.Split(name="all", pattern="day-{SPAN}/v-{VERSION}/*.csv")
        _, span, version = utils.calculate_splits_fingerprint_span_and_version(str(tmp_path), [split])
        inputs = find(days)
        assert (inputs.spans, inputs.version) == ((span,), version)

    @pytest.mark.parametrize(
        ("pattern", "what"),
        [
            ("v-{VERSION}/*.csv", "{VERSION} without {SPAN}"),
            ("{YYYY}-{MM}.csv", "all of {YYYY}, {MM} and {DD}"),
            ("{SPAN}/{YYYY}-{MM}-{DD}.csv", "expected {SPAN}, or all of"),
            ("{SPAN}/{SPAN}.csv", "stands twice"),
            ("night-{SPAN}/*.csv", "no file matches"),
        ],
    )
    def test_patterns_that_make_no_sense(self, days, tmp_path, pattern, what):
        assert what in refusal(str(tmp_path / pattern))

    def test_spans_that_do_not_exist(self, days, tmp_path):
        assert "there is no span 3; there are 1 to 6" in refusal(days, span=3)
        assert "there is no span from 7 to 9" in refusal(days, span=[7, 9])
        assert "names no spans" in refusal(str(tmp_path), span=3)

    def test_splits_must_have_the_same_spans(self, days, tmp_path):
        write(tmp_path / "other-4.csv")
        source = {"train": days, "eval": str(tmp_path / "other-{SPAN}.csv")}
        assert "the splits have different spans or versions" in refusal(source)
