"""What the checks say of data to someone at the command line: a reviewed schema, drift, and a serving log."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from headrace_calls import Warm, environment, headrace
from own_model import write_trips

pytestmark = pytest.mark.slow

CONFIG = "data: {source: trips.csv}\nlabel: tip\n"
CHECKS = ("--to", "ExampleValidator")
ROWS = 600


class Project:
    """A project whose data changes."""

    def __init__(self, folder: Path, warm: Warm) -> None:
        self.folder, self.warm = folder, warm
        folder.mkdir()
        (folder / "pipeline.yaml").write_text(CONFIG)
        write_trips(folder / "trips.csv", rows=ROWS)
        with (folder / "trips.csv").open() as stream:
            self.rows = list(csv.DictReader(stream))

    def write(self, **columns):
        """Trips with columns changed, by a function of the row each."""
        rows = [{**row, **{name: make(row) for name, make in columns.items()}} for row in self.rows]
        with (self.folder / "trips.csv").open("w", newline="") as stream:
            writer = csv.DictWriter(stream, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)

    def run(self, *arguments):
        return self.warm("run", *arguments, cwd=self.folder)

    def schema(self, *arguments, **env):
        if env:
            return headrace("schema", *arguments, cwd=self.folder, env=environment(**env))
        return self.warm("schema", *arguments, cwd=self.folder)


@pytest.fixture
def project(tmp_path, warm):
    made = Project(tmp_path / "trips", warm)
    done = made.run(*CHECKS)
    assert done.code == 0, done.said
    assert "ExampleValidator: no anomalies" in done.out
    return made


def test_a_reviewed_schema_from_export_to_accept(project):
    file = project.folder / "schema.pbtxt"
    done = project.schema("export")
    assert done.code == 0, done.said
    assert 'name: "fare"' in file.read_text()
    done = project.schema("export")
    assert (done.code, "there is a reviewed schema already" in done.err) == (2, True)

    text = file.read_text()
    done = project.schema("edit", EDITOR="sed -i s/FLOAT/FLOOT/", VISUAL="")
    assert (done.code, file.read_text()) == (2, text)
    assert "schema.pbtxt stays as it was" in done.err
    done = project.schema("edit", EDITOR="sed -i s/min_fraction:.*/min_fraction:0.5/", VISUAL="")
    assert done.code == 0, done.said
    assert file.read_text() == text.replace("min_fraction: 1.0", "min_fraction:0.5") != text

    project.write(fare=lambda row: f"about {row['fare']}", extra=lambda row: row["miles"])
    done = project.run(*CHECKS)
    assert done.code == 2, done.said
    assert "type_change: column 'fare'" in done.said
    assert "expected float, as in the reviewed schema" in done.said
    assert "extra_column: column 'extra'" in done.said
    # What may pass is what the later steps decode.
    warn = ("--set", "validate.type_change=warn", "--set", "validate.extra_column=warn")
    done = project.run("--to", "Transform", *warn)
    assert done.code == 0, done.said
    assert "Transform: 3 columns used (2 numeric, 1 category); dropped fare" in done.out

    done = project.schema("accept")
    assert (done.code, "nothing was written" in done.err) == (2, True)
    assert "extra_column: 'extra': added as float" in done.out
    done = project.schema("accept", "--yes")
    assert done.code == 0, done.said
    done = project.run(*CHECKS)
    assert done.code == 0, done.said
    assert project.schema("accept", "--yes").out.startswith("nothing to accept")


def test_drift_is_said_and_stops_when_it_shall(project):
    project.write(miles=lambda row: f"{float(row['miles']) + 5:.3f}")
    done = project.run(*CHECKS, "--set", "validate.drift=fail")
    assert done.code == 2, done.said
    assert "drift: column 'miles'" in done.said
    assert "Jensen-Shannon divergence" in done.said
    assert "--set validate.drift=warn" in done.said
    done = project.run(*CHECKS)
    assert done.code == 0, done.said
    assert "drift: column 'miles'" in done.out


def _log(path, rows):
    """Requests of serving_raw as TensorFlow Serving logs them, a hundred rows each."""
    import tensorflow as tf
    from tensorflow_serving.apis import prediction_log_pb2

    with tf.io.TFRecordWriter(str(path)) as writer:
        for start in range(0, len(rows), 100):
            some = rows[start : start + 100]
            request = prediction_log_pb2.PredictLog().request
            request.model_spec.name, request.model_spec.signature_name = "trips", "serving_raw"
            for name in ("miles", "fare"):
                numbers = [float(row[name]) for row in some]
                request.inputs[name].CopyFrom(tf.make_tensor_proto(numbers, tf.float32))
            request.inputs["zone"].CopyFrom(tf.make_tensor_proto([row["zone"] for row in some]))
            log = prediction_log_pb2.PredictionLog()
            log.predict_log.request.CopyFrom(request)
            writer.write(log.SerializeToString())


def test_requests_that_were_served_are_held_against_train(project):
    logged = ("--set", "validate.serving_log=requests.tfrecord", "--set", "validate.skew=fail")
    file = project.folder / "requests.tfrecord"
    _log(file, project.rows[::2])
    done = project.run(*CHECKS, *logged)
    assert done.code == 0, done.said
    assert "no anomalies" in done.out
    _log(file, [{**row, "zone": "z" if row["zone"] == "a" else row["zone"]} for row in project.rows])
    done = project.run(*CHECKS, *logged)
    assert done.code == 2, done.said
    assert "skew: column 'zone' (the serving log against train)" in done.said
    file.unlink()
    done = project.run(*CHECKS, *logged)
    assert done.code == 2, done.said
    assert "validate.serving_log" in done.err
