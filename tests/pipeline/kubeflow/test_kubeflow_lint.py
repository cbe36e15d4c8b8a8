"""Every rule of the backend's, each with a spec that breaks it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from components.errors import UserError
from pipeline.kubeflow import lint
from pipeline.kubeflow.lint import RULES, check

Documents = dict[str, Any]
Breaking = Callable[[Documents, Documents], Any]


def _tasks(spec: Documents) -> Documents:
    return spec["root"]["dag"]["tasks"]


def _container(spec: Documents, step: str) -> Documents:
    return spec["deploymentSpec"]["executors"][f"{step}_executor"]["container"]


def _pods(platform: Documents) -> Documents:
    return platform["platforms"]["kubernetes"]["deploymentSpec"]["executors"]


def _constant(spec: Documents, task: str, key: str, text: str) -> None:
    _tasks(spec)[task]["inputs"]["parameters"][key] = {"runtimeValue": {"constant": text}}


def _resolver(spec: Documents, _: Documents) -> None:
    spec["deploymentSpec"]["executors"]["Baseline_executor"] = {"resolver": {}}


BREAKING: dict[str, tuple[Breaking, str]] = {
    "check_schema_version": (lambda spec, _: spec.update(schemaVersion="2.0.0"), "2.0.0"),
    "check_pipeline_name": (lambda spec, _: spec["pipelineInfo"].update(name="My Taxi"), "My Taxi"),
    "check_task_names": (lambda spec, _: _tasks(spec).update(my_task=_tasks(spec)["Data"]), "my_task"),
    "check_executor_kinds": (_resolver, "resolver"),
    "check_references": (lambda spec, _: spec["components"].pop("Pusher"), "Pusher"),
    "check_entrypoint": (
        lambda spec, _: _container(spec, "Trainer").update(
            command=["python", "-m", "tfx.orchestration.kubeflow.v2.container.kubeflow_v2_run_executor"]
        ),
        "Trainer_executor",
    ),
    "check_declarations": (
        lambda spec, _: spec["components"]["Trainer"]["inputDefinitions"]["artifacts"].pop("schema"),
        "schema",
    ),
    "check_hooks": (lambda spec, _: _container(spec, "ExampleGen").update(lifecycle={"x": {}}), "ExampleGen"),
    "check_artifact_types": (
        lambda spec, _: spec["components"]["Trainer"]["outputDefinitions"]["artifacts"]["model"].update(
            artifactType={"instanceSchema": ""}
        ),
        "Trainer.model",
    ),
    "check_producers": (lambda spec, _: _tasks(spec)["Trainer"].update(dependentTasks=[]), "SchemaGen"),
    "check_order": (lambda spec, _: _tasks(spec)["Data"].update(dependentTasks=["Pusher"]), "each other"),
    "check_parameters": (
        lambda spec, _: spec["root"]["inputDefinitions"]["parameters"]["data_span"].pop("defaultValue"),
        "data_span",
    ),
    "check_importers": (
        lambda spec, _: (
            spec["deploymentSpec"]["executors"].update(
                Data_executor={"importer": {"artifactUri": {"runtimeParameter": "source"}}}
            ),
            spec["root"]["inputDefinitions"]["parameters"]["data_source"].update(defaultValue="s3://rides/"),
        ),
        "s3://rides/",
    ),
    "check_root": (lambda spec, _: spec.update(defaultPipelineRoot="s3://b/x?region=eu"), "region=eu"),
    "check_placeholders": (lambda spec, _: _constant(spec, "Trainer", "name", "{{workflow.name}}"), "{{"),
    "check_resources": (
        lambda spec, _: _container(spec, "Trainer")["resources"].update(memoryLimit=6.5536e-05),
        "Trainer_executor.memoryLimit",
    ),
    "check_caching": (
        lambda spec, _: _tasks(spec)["Data"].update(cachingOptions={"enableCache": True}),
        "new data",
    ),
    "check_secrets": (
        lambda spec, _: _container(spec, "Data").update(env=[{"name": "DB_PASSWORD", "value": "x"}]),
        "DB_PASSWORD",
    ),
    "check_environment": (
        lambda spec, _: _container(spec, "Data").update(env=[{"name": "A-B", "value": "x"}]),
        "A-B",
    ),
    "check_images": (lambda spec, _: _container(spec, "Data").update(image=""), "Data_executor"),
    "check_mounts": (
        lambda _, platform: _pods(platform)["Pusher_executor"]["pvcMount"][0].update(mountPath="/s3/data"),
        "/s3/data",
    ),
    "check_platform": (lambda _, platform: _pods(platform).update(Gone_executor={}), "Gone_executor"),
    "check_retries": (
        lambda spec, _: _tasks(spec)["Trainer"]["retryPolicy"].update(backoffDuration="a minute"),
        "a minute",
    ),
    "check_arguments": (
        lambda spec, _: _constant(spec, "Trainer", "user_code", "x" * 120_001),
        "most of them in user_code",
    ),
    "check_size": (lambda spec, _: _constant(spec, "Trainer", "user_code", "x" * 1_000_001), "bytes"),
}


def test_every_rule_has_a_spec_that_breaks_it() -> None:
    assert list(BREAKING) == [rule.__name__ for rule in RULES]
    assert all(rule.__doc__ and "\n" not in rule.__doc__ for rule in RULES)


@pytest.mark.parametrize("name", BREAKING)
def test_a_broken_rule_is_found(name: str, spec: Documents, platform: Documents) -> None:
    rule = getattr(lint, name)
    assert not list(rule(lint.Spec(spec, platform)))
    breaking, said = BREAKING[name]
    breaking(spec, platform)
    found = list(rule(lint.Spec(spec, platform)))
    assert any(said in f"{place}: {what}" for place, what in found), found
    assert any(rule.__doc__ in problem for problem in lint.lint(spec, platform))


def test_a_password_in_a_url_is_a_secret(spec: Documents, platform: Documents) -> None:
    url = "postgresql://me:hunter2@db/rides"
    spec["root"]["inputDefinitions"]["parameters"]["data_source"]["defaultValue"] = url
    problems = lint.lint(spec, platform)
    assert len(problems) == 1
    assert "kubeflow.secrets" in problems[0]
    assert "hunter2" not in problems[0]


@pytest.mark.parametrize("text", ["cost in $$", "$(HOME)/x", "{{inputs.parameters.x}}"])
def test_what_kubernetes_or_argo_would_replace_is_found(
    text: str, spec: Documents, platform: Documents
) -> None:
    _constant(spec, "Trainer", "name", text)
    (problem,) = lint.lint(spec, platform)
    assert problem.startswith("Trainer.name: Braces")
    _constant(spec, "Trainer", "name", "$5 (x) $( ) }}")
    assert lint.lint(spec, platform) == []


def test_a_fixed_fingerprint_is_found(spec: Documents, platform: Documents) -> None:
    _constant(spec, "ExampleGen", "fingerprint", "0123")
    assert any("yesterday" in problem for problem in lint.lint(spec, platform))


def test_the_first_problems_are_told_and_the_rest_counted(spec: Documents, platform: Documents) -> None:
    for container in spec["deploymentSpec"]["executors"].values():
        container["container"]["image"] = ""
    with pytest.raises(UserError, match="and 11 more"):
        check(json.loads(json.dumps(spec)), platform)
