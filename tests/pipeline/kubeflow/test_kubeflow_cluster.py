"""Uploads, runs and schedules, against a server that takes and refuses what Kubeflow's does."""

from __future__ import annotations

import re
import shlex
from datetime import datetime, timezone
from itertools import islice
from pathlib import Path

import pytest
from click.testing import CliRunner
from kfp_api import Api
from kubeflow_taxi import TAXI

from components.errors import UserError
from pipeline.cli import cli
from pipeline.kubeflow.client import TOKEN, Client
from pipeline.kubeflow.cluster import Cluster, Schedule
from pipeline.kubeflow.compile import Compiled
from pipeline.kubeflow.cron import parse

NIGHTLY = {"cron_schedule": {"cron": "0 30 2 * * *"}}


@pytest.fixture
def cluster(api: Api) -> Cluster:
    return Cluster(Client(api.url), "taxi")


def test_the_same_content_is_sent_once(api: Api, cluster: Cluster, full: Compiled) -> None:
    first = cluster.upload(full.text())
    assert first.new
    again = cluster.upload(full.text())
    assert (again.version_id, again.new) == (first.version_id, False)
    other = cluster.upload(full.text().replace("registry.example/headrace:1", "registry.example/headrace:2"))
    assert other.pipeline_id == first.pipeline_id
    assert other.version_id != first.version_id
    assert len(api.items["pipelines"]) == 1


def test_a_run_is_followed_to_its_end(api: Api, cluster: Cluster, full: Compiled) -> None:
    version = cluster.upload(full.text())
    run_id = cluster.start(version, "taxi now", {"data_span": "3"}, "s3://b/root")
    body = api.items["runs"][0]
    assert body["runtime_config"] == {"parameters": {"data_span": "3"}, "pipeline_root": "s3://b/root"}
    assert body["experiment_id"] == api.items["experiments"][0]["experiment_id"]
    seen: list[tuple[str, str]] = []
    ended = cluster.follow(run_id, lambda *state: seen.append(state), seconds=0.01)
    assert ended["state"] == "SUCCEEDED"
    # Of the workflow's nodes, its tasks: no drivers, no containers, not the workflow itself.
    assert {task for task, _ in seen} == set(full.spec["root"]["dag"]["tasks"])
    states = [state for task, state in seen if task == "Trainer"]
    assert states == ["PENDING", "RUNNING", "SUCCEEDED"]


def test_a_schedule_is_made_once_and_replaced_when_it_differs(
    api: Api, cluster: Cluster, full: Compiled
) -> None:
    version = cluster.upload(full.text())
    done, disabled = cluster.schedule(Schedule("taxi", NIGHTLY, {}), version, None)
    assert (done.split(":")[0], disabled) == ("made", [])
    done, disabled = cluster.schedule(Schedule("taxi", NIGHTLY, {}), version, None)
    assert (done.split(":")[0], disabled) == ("unchanged", [])
    old = api.items["recurringruns"][0]
    for changed in (
        Schedule("taxi", NIGHTLY, {}, catchup=True),
        Schedule("taxi", NIGHTLY, {}, at_once=2),
        Schedule("taxi", NIGHTLY, {"data_span": "1"}),
        Schedule("taxi", {"periodic_schedule": {"interval_second": "3600"}}, {}),
    ):
        api.requests.clear()
        done, disabled = cluster.schedule(changed, version, None)
        assert (done.split(":")[0], disabled) == ("made", [old["recurring_run_id"]])
        changes = [path for method, path in api.requests if method == "POST"]
        assert changes == ["/recurringruns", f"/recurringruns/{old['recurring_run_id']}:disable"]
        assert cluster.schedule(changed, version, None)[0].startswith("unchanged")
        old = api.items["recurringruns"][-1]
    enabled = [each for each in cluster.schedules() if each["status"] == "ENABLED"]
    assert enabled == [old]


def test_schedules_are_paused_resumed_and_deleted(api: Api, cluster: Cluster, full: Compiled) -> None:
    version = cluster.upload(full.text())
    cluster.schedule(Schedule("taxi", NIGHTLY, {}), version, None)
    cluster.schedule(Schedule("taxi", NIGHTLY, {}, at_once=2), version, None)
    cluster.switch("taxi", "disable")
    assert {each["status"] for each in cluster.schedules()} == {"DISABLED"}
    assert cluster.switch("taxi", "enable") == [api.items["recurringruns"][1]["recurring_run_id"]]
    assert len(cluster.switch("taxi", "delete")) == 2
    assert cluster.schedules() == []
    with pytest.raises(UserError, match="there is no schedule 'taxi'"):
        cluster.switch("taxi", "disable")


def test_a_token_goes_along_and_a_refusal_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    api = Api(token="t0ken")
    try:
        monkeypatch.delenv(TOKEN, raising=False)
        with pytest.raises(UserError, match="refused \\(401\\)") as refused:
            Client(api.url).check()
        assert TOKEN in refused.value.fix
        monkeypatch.setenv(TOKEN, "t0ken")
        Client(api.url).check()
        assert api.headers["Authorization"] == "Bearer t0ken"
    finally:
        api.stop()


def test_what_the_server_refuses_is_told(cluster: Cluster) -> None:
    with pytest.raises(UserError, match=r"KFP only supports schema version 2\.1\.0"):
        cluster.upload("schemaVersion: 2.0.0\npipelineInfo: {name: taxi}\n")


def test_clusters_of_several_users_are_told_the_namespace(full: Compiled) -> None:
    api = Api(multi_user=True)
    try:
        with pytest.raises(UserError, match="Namespace cannot be empty"):
            Cluster(Client(api.url), "taxi").start(
                Cluster(Client(api.url), "taxi").upload(full.text()), "now", {}, None
            )
        cluster = Cluster(Client(api.url, namespace="me"), "taxi")
        cluster.start(cluster.upload(full.text()), "now", {}, None)
        assert api.items["experiments"][0]["namespace"] == "me"
    finally:
        api.stop()


def test_from_the_command_line(api: Api, tmp_path: Path) -> None:
    def call(command: str, *options: str) -> str:
        given = ["kubeflow", command, str(TAXI), "--endpoint", api.url, "--home", str(tmp_path), *options]
        ended = CliRunner().invoke(cli, given, standalone_mode=False)
        assert not ended.exception, ended.output
        return ended.output

    assert call("list") == "no schedules\n"
    assert api.items["experiments"] == []
    assert "Trainer            SUCCEEDED" in call("run", "--wait", "--every", "0.01")
    said = call("schedule", "--cron", "0 30 2 * * *", "--param", "data_span=3")
    assert said.count("  next: ") == 5
    assert said.count("02:30:00 UTC") == 5
    assert api.items["recurringruns"][0]["runtime_config"] == {"parameters": {"data_span": "3"}}
    assert "0 30 2 * * *" in call("list")
    call("pause")
    assert "DISABLED" in call("list")
    call("resume")
    assert "ENABLED" in call("list")
    call("delete")
    assert call("list") == "no schedules\n"
    # The server makes one with the pipeline, and names it after that.
    assert [each["display_name"] == "taxi" for each in api.items["versions"]] == [True, False]


def test_the_guides_six_commands(api: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    guide = (TAXI.parents[1] / "docs" / "kubeflow.md").read_text()
    config = re.search(r"```yaml\n(.*?)```", guide, re.DOTALL)[1]
    (tmp_path / "pipeline.yaml").write_text(f"name: taxi\nlabel: big_tipper\n{config}")
    lines = re.findall(r"^    headrace (kubeflow [^#\n]*)", guide.split("## What is there")[0], re.MULTILINE)
    assert [line.split()[1] for line in lines] == [
        *("image", "compile", "simulate", "upload", "run", "schedule"),
    ]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("pipeline.cli.kubeflow_image._engine", lambda: "/usr/bin/docker")
    more = {"image": ["--dry-run"], "simulate": ["--help"], "run": ["--every", "0.01"]}
    said = {}
    for line in lines:
        words = shlex.split(line)
        cluster = ["--endpoint", api.url] if words[1] in ("upload", "run", "schedule") else []
        ended = CliRunner().invoke(cli, [*words, *more.get(words[1], []), *cluster], standalone_mode=False)
        assert ended.exit_code == 0, (line, ended.output, ended.exception)
        said[words[1]] = ended.output
    assert "docker push registry.example/headrace:1" in said["image"]
    assert "data_source=s3://rides/trips" in said["compile"]
    assert (tmp_path / "taxi.yaml").is_file()
    assert "Trainer            SUCCEEDED" in said["run"]
    assert "made: " in said["schedule"]
    (schedule,) = api.bodies["recurringruns"]
    assert schedule["trigger"] == NIGHTLY
    assert schedule["runtime_config"]["pipeline_root"] == "s3://pipelines/headrace"


def _next(text: str, after: str, number: int = 3) -> list[str]:
    start = datetime.fromisoformat(after).replace(tzinfo=timezone.utc)
    return [f"{each:%Y-%m-%d %H:%M:%S}" for each in islice(parse(text).times(start), number)]


@pytest.mark.parametrize(
    ("text", "after", "times"),
    [
        ("0 30 2 * * *", "2026-02-28T02:30:00", ["2026-03-01 02:30:00", "2026-03-02 02:30:00"]),
        ("0 */20 9-10 ? * mon", "2026-11-30T09:10:00", ["2026-11-30 09:20:00", "2026-11-30 09:40:00"]),
        ("15,45 0 0 1 jan *", "2026-06-01T00:00:00", ["2027-01-01 00:00:15", "2027-01-01 00:00:45"]),
        # Both days named: one of them is enough. 2026-02-13 is a Friday.
        ("0 0 0 15 * fri", "2026-02-12T00:00:00", ["2026-02-13 00:00:00", "2026-02-15 00:00:00"]),
        ("0 0 0 29 2 *", "2026-01-01T00:00:00", ["2028-02-29 00:00:00"]),
    ],
)
def test_times_come_as_the_backend_counts_them(text: str, after: str, times: list[str]) -> None:
    assert _next(text, after, len(times)) == times


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("30 2 * * *", "put the second in front"),
        ("0 60 2 * * *", "minute: expected 0 to 59"),
        ("0 0 2 * * sunday", "day of the week"),
        ("0 0 9-5 * * *", "goes backwards"),
        ("0 0 0 31 2 *", "never comes"),
        ("0 0 */0 * * *", "hour: expected"),
    ],
)
def test_what_is_no_schedule_is_refused(text: str, said: str) -> None:
    with pytest.raises(UserError) as refused:
        parse(text)
    assert said in str(refused.value)
