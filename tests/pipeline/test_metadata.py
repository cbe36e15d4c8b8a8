"""Runs and steps as they are read from what TFX itself wrote."""

import contextlib
import fcntl
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from components.errors import UserError
from pipeline.cli.text import duration
from pipeline.metadata.lock import live_run
from pipeline.metadata.records import Run
from pipeline.metadata.store import Store, open_store

HEADRACE = str(Path(sys.executable).parent / "headrace")
PROGRAM = Path(__file__).with_name("tiny_tfx.py")


@pytest.fixture(scope="session")
def tiny_home(tmp_path_factory) -> Path:
    """What four runs left behind: one done, one all cached, one failed, one whose process died."""
    folder = tmp_path_factory.mktemp("tiny")
    data = folder / "data"
    data.mkdir()
    (data / "rows.csv").write_text("a,b\n" + "".join(f"{i},{'xyz'[i % 3]}\n" for i in range(40)))
    home = folder / ".headrace"
    home.mkdir()
    command = [sys.executable, str(PROGRAM), str(home), str(data), "work", "work", "fail", "die"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 9, done.stderr[-3000:]
    return home


@pytest.fixture
def home(tiny_home, tmp_path) -> Path:
    """A copy that a test may change."""
    return Path(shutil.copytree(tiny_home, tmp_path / ".headrace"))


@pytest.fixture
def store(tiny_home) -> Store:
    return open_store(tiny_home)


@contextlib.contextmanager
def held(home: Path, content: str) -> Iterator[None]:
    with (home / "run.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(content)
        file.flush()
        yield


def test_runs_newest_first(store):
    runs = store.runs()
    assert [run.state for run in runs] == ["abandoned", "failed", "cached", "done"]
    assert {run.pipeline for run in runs} == {"tiny"}
    assert [run.started for run in runs] == sorted((run.started for run in runs), reverse=True)
    assert runs[3].counts == {"RUN": 3}
    assert runs[2].counts == {"CACHED": 3}
    assert runs[1].counts == {"CACHED": 2, "FAILED": 1}
    assert runs[0].counts == {"CACHED": 2, "ABANDONED": 1}
    assert [run.outcome for run in runs] == [
        "",
        "Pusher failed",
        "pushed as version 1",
        "pushed as version 1",
    ]
    assert store.runs(limit=2) == runs[:2]


def test_times(store):
    abandoned, _, cached, done = store.runs()
    assert abandoned.seconds is None
    assert cached.seconds is not None
    assert done.seconds is not None
    assert 0 < cached.seconds < done.seconds
    assert abs(datetime.now(timezone.utc) - done.started) < timedelta(hours=1)


def test_steps(store):
    done = store.runs()[3]
    steps = {step.name: step for step in store.steps(done.id)}
    assert list(steps) == ["CsvExampleGen", "baseline", "StatisticsGen", "Pusher"]
    assert [step.system for step in steps.values()] == [False, True, False, False]
    examples = steps["CsvExampleGen"].outputs["examples"][0]
    assert examples.type == "Examples"
    assert Path(examples.uri).is_dir()
    assert json.loads(examples.properties["split_names"]) == ["train", "eval"]
    assert examples.custom_properties["payload_format"] == "FORMAT_TF_EXAMPLE"
    assert steps["StatisticsGen"].inputs == {"examples": [examples]}
    statistics = steps["StatisticsGen"].outputs["statistics"][0]
    assert json.loads(statistics.custom_properties["sample_rate_by_split"]) == {"eval": 1.0, "train": 1.0}
    assert steps["Pusher"].properties["ending"] == "work"
    assert steps["Pusher"].summary == "pushed as version 1"
    assert steps["StatisticsGen"].summary == ""
    assert all(step.seconds is not None for step in steps.values())


def test_a_cached_step_has_the_outputs_of_the_step_that_ran(store):
    runs = store.runs()
    ran = {step.name: step.outputs for step in store.steps(runs[3].id)}
    cached = {step.name: step.outputs for step in store.steps(runs[2].id)}
    assert cached == ran


def test_a_run_whose_process_lives_is_running(home):
    run_id = open_store(home).runs()[0].id
    with held(home, json.dumps({"pid": 1, "run_id": run_id})):
        assert live_run(home) == run_id
        run = open_store(home).find()
        steps = open_store(home).steps(run_id)
    assert (run.state, run.ended, run.seconds) == ("running", None, None)
    assert steps[-1].state == "RUNNING"
    assert steps[-1].seconds is not None
    left = open_store(home).steps(run_id)[-1]
    assert (left.state, left.seconds) == ("ABANDONED", None)


@pytest.mark.parametrize("content", ["", "not json", "[]", '{"run_id": "another"}'])
def test_a_lock_of_another_run_keeps_no_run_alive(home, content):
    with held(home, content):
        assert open_store(home).find().state == "abandoned"


def test_the_reason_of_a_failure_is_found(home):
    store = open_store(home)
    run = store.runs()[1]
    failed = store._mlmd.get_executions_by_id([store.steps(run.id)[-1].id])[0]
    said = "Traceback (most recent call last):\n  File x\n\nValueError: no such luck\n"
    result = {"resultMessage": said, "code": 3}
    failed.custom_properties["__execution_result__"].string_value = json.dumps(result)
    _writable(home).put_executions([failed])
    assert store.find(run.id).outcome == "Pusher failed: ValueError: no such luck"
    step = store.steps(run.id)[-1]
    assert step.error == said
    assert "__execution_result__" not in step.properties


def test_a_step_tried_again_counts_once(home):
    store = open_store(home)
    run = store.runs()[1]
    failed = store._mlmd.get_executions_by_id([store.steps(run.id)[-1].id])[0]
    contexts = store._mlmd.get_contexts_by_execution(failed.id)
    failed.ClearField("id")
    failed.name += "-again"
    failed.last_known_state = failed.COMPLETE
    _writable(home).put_execution(failed, [], contexts)
    assert [step.state for step in store.steps(run.id)] == ["CACHED", "RUN", "CACHED", "RUN"]
    assert store.find(run.id).state == "done"


def _writable(home: Path):
    import ml_metadata
    from ml_metadata.proto import metadata_store_pb2 as pb

    config = pb.ConnectionConfig()
    config.sqlite.filename_uri = str(home / "metadata.db")
    return ml_metadata.MetadataStore(config)


def test_find(store):
    runs = store.runs()
    assert store.find() == runs[0]
    assert store.find(runs[2].id) == runs[2]
    assert store.find(runs[2].id[:-1]) == runs[2]
    with pytest.raises(UserError, match=r"4 runs start with '2'"):
        store.find("2")
    with pytest.raises(UserError, match=rf"no run is called .*\n.*{runs[1].id}"):
        store.find(f"{runs[1].id}x")
    with pytest.raises(UserError, match="no run is called 'x'"):
        store.steps("x")


def test_nothing_run_yet(tmp_path):
    with pytest.raises(UserError, match="nothing has been run yet"):
        open_store(tmp_path)
    (tmp_path / "metadata.db").touch()
    assert open_store(tmp_path).runs() == []
    with pytest.raises(UserError, match="nothing has been run yet"):
        open_store(tmp_path).find()


def test_not_a_database(tmp_path):
    (tmp_path / "metadata.db").write_text("something else\n")
    with pytest.raises(UserError, match=r"metadata.db: cannot be read as ML Metadata: .*not a database"):
        open_store(tmp_path)


def test_what_a_killed_writer_left_half_written_is_rolled_back(home):
    half = (
        "import os, sqlite3, sys; c = sqlite3.connect(sys.argv[1], isolation_level=None);"
        "c.execute('pragma cache_size=2'); c.execute('begin immediate');"
        "c.executemany('insert into Context(type_id, name, create_time_since_epoch,"
        "last_update_time_since_epoch) values (1, ?, 1, 1)', [(f'{i:0100}',) for i in range(3000)]);"
        "os._exit(9)"
    )
    subprocess.run([sys.executable, "-c", half, str(home / "metadata.db")], check=False)
    assert (home / "metadata.db-journal").is_file()
    assert len(open_store(home).runs()) == 4


def test_reading_imports_neither_tfx_nor_tensorflow(tiny_home):
    code = (
        "import sys; from pathlib import Path; from pipeline.metadata.store import open_store;"
        f"assert open_store(Path({str(tiny_home)!r})).runs();"
        "assert not {'tensorflow', 'tfx', 'apache_beam'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def headrace(*arguments: str, cwd: Path) -> str:
    done = subprocess.run(
        [HEADRACE, *arguments], cwd=cwd, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode in (0, 2), done.stderr
    return done.stdout + done.stderr


def test_the_list_of_runs(home, store):
    runs = store.runs()
    lines = headrace("runs", cwd=home.parent).splitlines()
    assert lines[0].split() == ["RUN", "WHEN", "TOOK", "STATE", "STEPS", "OUTCOME"]
    assert [line.split()[0] for line in lines[1:]] == [run.id for run in runs]
    assert lines[4].endswith("done       3 run                  pushed as version 1")
    assert headrace("runs", str(home), cwd=Path("/")).splitlines() == lines
    listed = json.loads(headrace("runs", "--json", "--limit", "1", "--home", str(home), cwd=Path("/")))
    assert listed == [runs[0].as_dict()]
    assert listed[0]["counts"] == {"cached": 2, "abandoned": 1}
    assert "does not exist" in headrace("runs", "nowhere", cwd=home.parent)


def test_a_run_is_shown(home, store):
    done = store.runs()[3]
    log = home / "logs" / done.id / "StatisticsGen.log"
    log.parent.mkdir(parents=True)
    log.touch()
    text = headrace("show", done.id[:-1], cwd=home.parent)
    assert f"run       {done.id}\n" in text
    assert "Pusher  RUN  " in text
    assert "s  pushed as version 1\n" in text
    assert f"{log}\n" in text
    assert "baseline" not in text
    assert store.steps(done.id)[0].outputs["examples"][0].uri in text
    shown = json.loads(headrace("show", done.id, str(home), "--json", cwd=Path("/")))
    assert shown["home"] == str(home)
    assert [step["log"] for step in shown["steps"]] == [None, None, str(log), None]
    assert shown["steps"][3]["outputs"]["pushed_model"][0]["type"] == "PushedModel"


def test_the_latest_run_is_shown_unless_told_otherwise(home, store):
    latest = store.find()
    assert f"run       {latest.id}\n" in headrace("show", cwd=home.parent)
    assert f"run       {latest.id}\n" in headrace("show", str(home.parent), cwd=Path("/"))
    assert "no run is called 'nope'\n  fix: there is " in headrace("show", "nope", cwd=home.parent)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "-"),
        (0.04, "0.0 s"),
        (59.94, "59.9 s"),
        (59.96, "1 min 00 s"),
        (185, "3 min 05 s"),
        (7620, "2 h 07 min"),
    ],
)
def test_durations(seconds, text):
    assert duration(seconds) == text


def test_a_run_of_no_steps_was_abandoned():
    now = datetime.now(timezone.utc)
    assert Run("a", "b", "abandoned", now, now).seconds is None
