"""The compiled spec: its tasks, what they take from each other, what their pods get."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from kubeflow_taxi import ALL_OF_IT, TAXI

from components.errors import UserError
from pipeline.cli import cli
from pipeline.config import load_config
from pipeline.kubeflow import lint
from pipeline.kubeflow.compile import Compiled, compile_pipeline
from pipeline.kubeflow.container import INLINE, Declared
from pipeline.kubeflow.documents import load
from pipeline.kubeflow.parameters import complete
from pipeline.steps import STEPS


def _executor(compiled: Compiled, step: str) -> dict[str, Any]:
    return compiled.spec["deploymentSpec"]["executors"][f"{step}_executor"]["container"]


def _pod(compiled: Compiled, step: str) -> dict[str, Any]:
    executors = compiled.platform["platforms"]["kubernetes"]["deploymentSpec"]["executors"]
    return executors[f"{step}_executor"]


def _parameters(compiled: Compiled, task: str) -> dict[str, Any]:
    return compiled.spec["root"]["dag"]["tasks"][task]["inputs"]["parameters"]


def test_no_rule_is_broken(full: Compiled) -> None:
    assert lint.lint(full.spec, full.platform) == []


def test_the_same_pipeline_is_the_same_text(full: Compiled, tmp_path: Path) -> None:
    again = compile_pipeline(load_config(TAXI, ALL_OF_IT, home=tmp_path))
    assert again.text() == full.text()
    assert str(tmp_path) not in full.text()


def test_the_file_reads_back_as_it_was(full: Compiled, tmp_path: Path) -> None:
    file = tmp_path / "taxi.yaml"
    file.write_text(full.text())
    assert load(file) == (full.spec, full.platform)


def test_what_yaml_takes_for_something_else_stays_text(tmp_path: Path) -> None:
    odd = "kubeflow={node_selector: {on: 'off', '1:30': '0123'}, env: {Y: 'no'}, image: '1e3'}"
    compiled = compile_pipeline(load_config(TAXI, [odd, "label=yes", "data.exclude=[]"], home=tmp_path))
    # Kubeflow's clients read with PyYAML, which goes by YAML 1.1.
    read = list(yaml.safe_load_all(compiled.text()))
    assert read == [compiled.spec, compiled.platform]
    assert _parameters(compiled, "ExampleGen")["label"]["runtimeValue"]["constant"] == "yes"


def test_tasks_are_the_steps_and_what_kubeflow_needs_beside_them(full: Compiled) -> None:
    tasks = set(full.spec["root"]["dag"]["tasks"])
    lookups = {f"{name}{end}" for name in ("Base", "Baseline", "Previous") for end in ("", "-Find")}
    assert tasks == {*STEPS, "Data", *lookups} - {"Tuner"}


def test_without_a_place_to_keep_things_nothing_is_looked_up(tmp_path: Path) -> None:
    plain = compile_pipeline(load_config(TAXI, home=tmp_path))
    tasks = plain.spec["root"]["dag"]["tasks"]
    assert set(tasks) == {*STEPS, "Data"} - {"Tuner"}
    assert "baseline_model" not in tasks["Evaluator"]["inputs"]["artifacts"]
    assert plain.platform == {}
    assert any("kubeflow.keep" in note for note in plain.notes)
    assert lint.lint(plain.spec, plain.platform) == []


def test_schedules_see_new_data(full: Compiled) -> None:
    tasks = full.spec["root"]["dag"]["tasks"]
    assert tasks["Data"]["cachingOptions"] == {}
    assert tasks["ExampleGen"]["cachingOptions"] == {"enableCache": True}
    for key in ("config", "fingerprint"):
        taken = _parameters(full, "ExampleGen")[key]["taskOutputParameter"]
        assert taken == {"producerTask": "Data", "outputParameterKey": key}


def test_the_run_has_parameters_with_defaults(full: Compiled) -> None:
    parameters = full.spec["root"]["inputDefinitions"]["parameters"]
    assert parameters["data_span"]["defaultValue"] == "latest"
    assert parameters["data_source"]["defaultValue"].startswith("package:tfx/")
    trainer = json.loads(_parameters(full, "Trainer")["config"]["runtimeValue"]["constant"])
    assert trainer["train"]["epochs"] == 10


def test_pods_get_what_the_config_says(full: Compiled) -> None:
    trainer, generate = _executor(full, "Trainer"), _executor(full, "ExampleGen")
    assert trainer["resources"] == {
        "cpuLimit": 0.5,
        "memoryLimit": 4.294967296,
        "accelerator": {"count": "1", "type": "nvidia.com/gpu"},
    }
    assert generate["resources"] == {"memoryLimit": 8.589934592}
    assert generate["env"] == [{"name": "TZ", "value": "UTC"}]
    assert _pod(full, "Trainer")["nodeSelector"] == {"labels": {"gpu": "a100"}}
    assert _pod(full, "Trainer")["tolerations"] == [{"key": "gpu", "operator": "Exists"}]
    assert _pod(full, "Trainer")["activeDeadlineSeconds"] == "3600"
    assert "nodeSelector" not in _pod(full, "Evaluator")
    for step in ("Pusher", "Data", "Baseline-Find"):
        assert _pod(full, step)["pvcMount"] == [{"constant": "models", "mountPath": "/models"}]
        assert _pod(full, step)["secretAsEnv"][0]["secretName"] == "storage"
    policy = full.spec["root"]["dag"]["tasks"]["Trainer"]["retryPolicy"]
    assert policy == {"maxRetryCount": 2, "backoffDuration": "30s", "backoffFactor": 2.0}


def test_containers_are_told_types_that_the_driver_leaves_out(full: Compiled) -> None:
    arguments = _executor(full, "Evaluator")["args"]
    declared = Declared.parse(arguments[arguments.index("--declared") + 1])
    assert declared.inputs == {
        "examples": "Examples",
        "model": "Model",
        "schema": "Schema",
        "baseline_model": "Model",
    }
    assert declared.optional == ("baseline_model",)
    assert declared.keep == "/models/taxi/.headrace"
    assert arguments[-1] == "{{$}}"


def test_the_users_code_travels_in_the_spec(tmp_path: Path) -> None:
    (tmp_path / "pipeline.yaml").write_text(
        "data: {source: s3://rides/trips.csv}\nlabel: tip\nmodel: {build: model.build_model}\n"
    )
    (tmp_path / "model.py").write_text("def build_model(plan, config):\n    return None\n")
    compiled = compile_pipeline(load_config(tmp_path))
    assert _parameters(compiled, "Trainer")["user_code"]["runtimeValue"]["constant"].startswith(INLINE)
    assert str(tmp_path) not in compiled.text()


def test_object_storage_is_fetched_by_an_importer(tmp_path: Path) -> None:
    (tmp_path / "pipeline.yaml").write_text("data: {source: 's3://rides/d/day-{SPAN}/*.csv'}\nlabel: tip\n")
    compiled = compile_pipeline(load_config(tmp_path))
    tasks = compiled.spec["root"]["dag"]["tasks"]
    assert compiled.spec["root"]["inputDefinitions"]["parameters"]["data_source"] == {
        "parameterType": "STRING",
        "defaultValue": "s3://rides/d",
    }
    assert tasks["Source"]["inputs"]["parameters"]["uri"] == {"componentInputParameter": "data_source"}
    for task in ("Data", "ExampleGen"):
        source = tasks[task]["inputs"]["artifacts"]["source"]["taskOutputArtifact"]
        assert source == {"producerTask": "Source", "outputArtifactKey": "artifact"}
    assert _parameters(compiled, "Data")["inside"]["runtimeValue"]["constant"] == "day-{SPAN}/*.csv"
    assert lint.lint(compiled.spec, compiled.platform) == []


@pytest.mark.parametrize("source", ["s3://rides", "s3://rides/", "s3://rides/day-{SPAN}/*.csv"])
def test_a_whole_bucket_is_refused_since_the_launcher_fetches_none(tmp_path: Path, source: str) -> None:
    with pytest.raises(UserError, match="s3://rides is a whole bucket") as refused:
        compile_pipeline(load_config(TAXI, [f"data.source='{source}'"], home=tmp_path))
    assert refused.value.where == "data.source"
    assert "s3://rides/data" in refused.value.fix


def test_a_runs_source_is_one_that_can_be_fetched(tmp_path: Path) -> None:
    fetched = compile_pipeline(load_config(TAXI, ["data.source=s3://rides/trips.csv"], home=tmp_path)).spec
    assert complete(fetched, {"data_source": "s3://rides/new"})["data_source"] == "s3://rides/new"
    for wrong in ("s3://rides", "/models/trips.csv", "s3://{{x}}/y"):
        with pytest.raises(UserError):
            complete(fetched, {"data_source": wrong})
    packaged = compile_pipeline(load_config(TAXI, home=tmp_path)).spec
    with pytest.raises(UserError, match="nothing fetched") as refused:
        complete(packaged, {"data_source": "s3://rides/new"})
    assert refused.value.fix == "compile it with --set data.source=s3://rides/new"


@pytest.mark.parametrize(
    ("override", "place"),
    [
        ("data.source=trips.csv", "data.source"),
        ("push.to=/models/taxi", "push.to"),
        ("train.warm_start=/models/old", "train.warm_start"),
        ("train.warm_start=blessed", "train.warm_start"),
        ("kubeflow.keep=/kept", "kubeflow.keep"),
        ("validate.serving_log=log.gz", "validate.serving_log"),
    ],
)
def test_paths_of_this_machine_are_refused(tmp_path: Path, override: str, place: str) -> None:
    with pytest.raises(UserError) as refused:
        compile_pipeline(load_config(TAXI, [override], home=tmp_path))
    assert refused.value.where == place
    assert refused.value.fix


def test_no_secret_is_in_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_SECRET_ACCESS_KEY", "HEADRACE_KUBEFLOW_TOKEN", "PGPASSWORD"):
        monkeypatch.setenv(name, "hunter2")
    kept = tmp_path / "kubeflow" / "secrets" / "storage" / "key"
    kept.parent.mkdir(parents=True)
    kept.write_text("hunter2")
    text = compile_pipeline(load_config(TAXI, ALL_OF_IT, home=tmp_path)).text()
    assert "AWS_SECRET_ACCESS_KEY" in text
    assert "hunter2" not in text
    given = ["--set", "data.source=postgresql://me:hunter2@db/rides?query=trips", "--home", str(tmp_path)]
    output = tmp_path / "taxi.yaml"
    ended = CliRunner().invoke(cli, ["kubeflow", "compile", str(TAXI), *given, "-o", str(output)])
    assert isinstance(ended.exception, UserError)
    assert "kubeflow.secrets" in str(ended.exception)
    assert "hunter2" not in f"{ended.output}{ended.exception}"
    assert not output.exists()


def test_a_step_that_is_not_there_is_a_mistake_in_the_config() -> None:
    with pytest.raises(UserError, match="no step 'Trainr', did you mean 'Trainer'"):
        load_config(TAXI, ["kubeflow.steps={Trainr: {gpu: 1}}"])
