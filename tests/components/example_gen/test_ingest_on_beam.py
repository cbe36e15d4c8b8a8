"""Ingest through Beam itself, read back by TFX's own reader."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ingested import ingest

from components.errors import UserError


def write(folder: Path, files: int = 3) -> None:
    for number in range(files):
        rows = "".join(f"{i},{i / 4},t{i % 5},{i % 2}\n" for i in range(number, 300, files))
        (folder / f"part-{number}.csv").write_text("n,f,s,y\n" + rows)


def test_beam_gives_what_a_loop_gives(tmp_path):
    write(tmp_path)
    (tmp_path / "loop").mkdir()
    (tmp_path / "beam").mkdir()
    data = {"source": str(tmp_path / "*.csv")}
    loop = ingest(tmp_path / "loop", data)
    beam = ingest(tmp_path / "beam", data, beam=True)
    assert beam.found == loop.found
    assert beam.rows() == loop.rows()
    assert {path.name for path in beam.uri.iterdir()} == {
        "Split-train",
        "Split-eval",
        "Split-test",
        "ingest.json",
    }


def test_tfx_reads_the_artifact(tmp_path):
    from tfx.components.util import tfxio_utils
    from tfx.dsl.io import fileio
    from tfx.types import artifact_utils

    write(tmp_path)
    found = ingest(tmp_path, {"source": str(tmp_path / "*.csv")})
    assert json.loads(found.artifact.split_names) == ["train", "eval", "test"]
    folder = artifact_utils.get_split_uri([found.artifact], "train")
    files = [f"{folder}/{name}" for name in fileio.listdir(folder)]
    source = tfxio_utils.get_tfxio_factory_from_artifact([found.artifact], ["tests"])(files)
    import apache_beam as beam

    counted: list[int] = []
    out = str(tmp_path / "counted")
    with beam.Pipeline() as pipeline:
        _ = (
            pipeline
            | source.BeamSource()
            | beam.Map(lambda batch: batch.num_rows)
            | beam.CombineGlobally(sum)
            | beam.io.WriteToText(out, num_shards=1, shard_name_template="")
        )
    counted.append(int(Path(out).read_text()))
    assert counted == [found.found.rows["train"]]


def test_a_mistake_of_the_users_comes_through_beam_as_such(tmp_path):
    write(tmp_path)
    (tmp_path / "part-1.csv").write_text("n,f,s,y\n1,2\n")
    with pytest.raises(UserError, match=r"part-1\.csv:2: 1 row does not have 4 cells"):
        ingest(tmp_path, {"source": str(tmp_path / "*.csv")}, beam=True)
