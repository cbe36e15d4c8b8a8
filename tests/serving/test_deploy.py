"""What `headrace deploy` writes: held against Kubernetes' published schemas, and read by a server."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import pytest
from click.testing import CliRunner, Result
from http_calls import call
from ruamel.yaml import YAML
from serve_process import Running, serving, wait_for

from components.errors import UserError
from pipeline.cli.deploy import command
from serving.config_files import read_batching, read_models, read_monitoring
from serving.deploy.settings import Deployment


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(command, arguments)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result


def load(path: Path) -> Any:
    return YAML(typ="safe").load(path)


def check(manifest: dict[str, Any]) -> None:
    """Raises ValidationError for what the oldest or the newest Kubernetes at hand does not have."""
    for version in (kubernetes_validate.utils.all_versions()[0], kubernetes_validate.latest_version()):
        kubernetes_validate.validate(manifest, version, strict=True)


def render(tmp_path: Path, target: str, store: str, *arguments: str) -> Path:
    """The folder with the files, whose paths the command printed."""
    out = tmp_path / target
    given = ["--name", "tips", "--store", store, *arguments]
    said = run("render", "--to", target, "--out", str(out), *given).stdout
    files = sorted(path for path in out.rglob("*") if path.is_file())
    assert sorted(map(Path, said.split())) == files
    return out


class TestKubernetes:
    @pytest.fixture(params=["pvc://models/tips", "pvc://models", "gs://bucket/tips"])
    def out(self, request: pytest.FixtureRequest, tmp_path: Path) -> Path:
        more = ("--service-account", "reader") if request.param.startswith("gs") else ()
        return render(tmp_path, "kubernetes", request.param, "--namespace", "models", *more)

    def test_manifests_are_what_the_api_takes(self, out: Path) -> None:
        kustomization = load(out / "kustomization.yaml")
        manifests = [load(out / name) for name in kustomization["resources"]]
        for manifest in manifests:
            check(manifest)
        kinds = ["Deployment", "Service", "HorizontalPodAutoscaler", "PodDisruptionBudget"]
        assert [manifest["kind"] for manifest in manifests] == kinds
        (generator,) = kustomization["configMapGenerator"]
        assert all((out / name).is_file() for name in generator["files"])

        deployment, service, autoscaler, budget = manifests
        pod = deployment["spec"]["template"]
        labels = pod["metadata"]["labels"]
        selectors = [deployment["spec"]["selector"], budget["spec"]["selector"]]
        assert [each["matchLabels"] for each in selectors] == [labels, labels]
        assert service["spec"]["selector"] == labels
        assert autoscaler["spec"]["scaleTargetRef"]["name"] == deployment["metadata"]["name"]
        assert "replicas" not in deployment["spec"]
        (container,) = pod["spec"]["containers"]
        volumes = {volume["name"] for volume in pod["spec"]["volumes"]}
        assert {mount["name"] for mount in container["volumeMounts"]} == volumes
        config = next(volume for volume in pod["spec"]["volumes"] if volume["name"] == "config")
        assert config["configMap"]["name"] == generator["name"]
        ports = {port["name"] for port in container["ports"]}
        assert {port["targetPort"] for port in service["spec"]["ports"]} == ports
        for probe in ("startupProbe", "readinessProbe"):
            assert container[probe]["httpGet"] == {"path": "/v1/models/tips/metadata", "port": "rest"}
        assert pod["spec"]["securityContext"]["runAsNonRoot"] is True
        assert container["resources"]["requests"] == {"cpu": "1", "memory": "2Gi"}

    @pytest.mark.skipif(not shutil.which("kubectl"), reason="kubectl is not installed")
    def test_kubectl_builds_it(self, out: Path) -> None:
        built = subprocess.run(["kubectl", "kustomize", str(out)], capture_output=True, text=True, timeout=60)
        assert built.returncode == 0, built.stderr
        objects = {each["kind"]: each for each in YAML(typ="safe").load_all(built.stdout)}
        assert {each["metadata"]["namespace"] for each in objects.values()} == {"models"}
        config = objects.pop("ConfigMap")
        for each in objects.values():
            check(each)
        volumes = objects["Deployment"]["spec"]["template"]["spec"]["volumes"]
        assert config["metadata"]["name"] in [volume.get("configMap", {}).get("name") for volume in volumes]
        assert config["data"].keys() == {"models.config", "batching.config", "monitoring.config"}

    def test_a_wrong_field_would_show(self, out: Path) -> None:
        manifest = load(out / "deployment.yaml")
        manifest["spec"]["template"]["spec"]["containers"][0]["readynessProbe"] = {}
        with pytest.raises(kubernetes_validate.ValidationError, match="'readynessProbe' was unexpected"):
            check(manifest)
        manifest = load(out / "deployment.yaml")
        del manifest["spec"]["selector"]
        with pytest.raises(kubernetes_validate.ValidationError, match="'selector' is a required property"):
            check(manifest)


def test_kserve(tmp_path: Path) -> None:
    """Its own fields by hand, as no package carries its schema; the rest of a predictor is a pod's."""
    out = render(tmp_path, "kserve", "s3://bucket/tips", "--replicas", "1", "--service-account", "reader")
    service = load(out / "inference-service.yaml")
    assert service["apiVersion"] == "serving.kserve.io/v1beta1"
    assert service["kind"] == "InferenceService"
    assert service["spec"].keys() == {"predictor"}
    predictor = service["spec"]["predictor"]
    # pkg/apis/serving/v1beta1/component.go: ComponentExtensionSpec; predictor_model.go: ModelSpec
    own = {
        "annotations": {"headrace/pushed": "1"},
        "minReplicas": 1,
        "maxReplicas": 6,
        "scaleMetric": "cpu",
        "scaleTarget": 70,
        "timeout": 60,
    }
    assert {key: predictor.pop(key) for key in own} == own
    model = predictor.pop("model")
    own = {
        "modelFormat": {"name": "tensorflow", "version": "2"},
        "protocolVersion": "v1",
        "runtimeVersion": "2.19.1",
        "storageUri": "s3://bucket/tips",
    }
    assert {key: model.pop(key) for key in own} == own
    pod = {**predictor, "containers": [{"name": "kserve-container", **model}]}
    check({"apiVersion": "v1", "kind": "Pod", "metadata": service["metadata"], "spec": pod})
    assert pod["serviceAccountName"] == "reader"
    assert pod["securityContext"] == {"runAsNonRoot": True, "runAsUser": 65534}


_TEXT, _TEXTS = {"type": "string"}, {"type": "array", "items": {"type": "string"}}
_DURATION = {"type": "string", "pattern": r"^([0-9]+(us|ms|s|m|h))+$"}
# The part of https://github.com/compose-spec/compose-spec/blob/main/schema/compose-spec.json that is used.
COMPOSE = {
    "type": "object",
    "required": ["services"],
    "additionalProperties": False,
    "properties": {
        "name": {"type": "string", "pattern": r"^[a-z0-9][a-z0-9_-]*$"},
        "volumes": {
            "type": "object",
            "additionalProperties": {"type": ["object", "null"], "maxProperties": 0},
        },
        "services": {
            "type": "object",
            "additionalProperties": {
                "type": "object",
                "required": ["image"],
                "additionalProperties": False,
                "properties": {
                    "image": _TEXT,
                    "entrypoint": _TEXTS,
                    "command": _TEXTS,
                    "user": _TEXT,
                    "init": {"type": "boolean"},
                    "read_only": {"type": "boolean"},
                    "tmpfs": _TEXTS,
                    "cap_drop": _TEXTS,
                    "security_opt": _TEXTS,
                    "profiles": _TEXTS,
                    "ports": {"type": "array", "items": {"type": "string", "pattern": r"^[0-9.]+:\d+:\d+$"}},
                    "volumes": {
                        "type": "array",
                        "items": {"type": "string", "pattern": "^[^:]+:/[^:]+(:ro)?$"},
                    },
                    "healthcheck": {
                        "type": "object",
                        "additionalProperties": False,
                        "properties": {
                            "test": _TEXTS,
                            "interval": _DURATION,
                            "timeout": _DURATION,
                            "start_period": _DURATION,
                        },
                    },
                    "stop_grace_period": _DURATION,
                    "restart": {"enum": ["no", "always", "on-failure", "unless-stopped"]},
                    "cpus": {"type": ["number", "string"], "pattern": r"^[0-9.]+$"},
                    "mem_limit": {"type": "string", "pattern": r"^[0-9]+[bkmg]$"},
                },
            },
        },
    },
}


class TestCompose:
    def test_services(self, binary_base: Path, server: Running, tmp_path: Path) -> None:
        out = render(tmp_path, "compose", str(binary_base))
        compose = load(out / "compose.yaml")
        jsonschema.validate(compose, COMPOSE)
        service = compose["services"]["serving"]
        sources = [
            volume.split(":")[0] for each in compose["services"].values() for volume in each["volumes"]
        ]
        assert all((out / source).exists() for source in sources if source != "prometheus")
        assert service["volumes"] == ["./config:/config:ro", f"{binary_base}:/models/tips:ro"]
        assert service["user"] == "65534:65534"
        # SIGTERM is not handled by TensorFlow Serving, and a container's first process has no default for it.
        assert service["init"]
        # The health check itself, against a server that answers.
        _, shell, flag, script = service["healthcheck"]["test"]
        port = server.url.rpartition(":")[2]
        here = script.replace("8501", port)
        assert subprocess.run([shell, flag, here], timeout=20).returncode == 0
        loading = here.replace("/models/tips/", "/models/absent/")
        assert subprocess.run([shell, flag, loading], timeout=20).returncode == 1

    def test_a_server_reads_the_files(self, binary_base: Path, tmp_path: Path) -> None:
        config = render(tmp_path, "compose", str(binary_base)) / "config"
        (model,) = read_models(config / "models.config")
        assert (model.name, str(model.path), model.policy.kind) == ("tips", "/models/tips", "latest")
        assert read_batching(config / "batching.config", 2).max_batch_size == 256
        assert read_monitoring(config / "monitoring.config") == "/monitoring/prometheus/metrics"

    def test_changed_files_stay(self, binary_base: Path, tmp_path: Path) -> None:
        out = render(tmp_path, "compose", str(binary_base))
        render(tmp_path, "compose", str(binary_base))
        (out / "prometheus.yml").write_text("mine")
        with pytest.raises(UserError, match=r"prometheus\.yml would be written anew"):
            render(tmp_path, "compose", str(binary_base))
        assert (out / "prometheus.yml").read_text() == "mine"
        render(tmp_path, "compose", str(binary_base), "--force")
        assert "scrape" in (out / "prometheus.yml").read_text()


def test_the_dashboard_asks_for_metrics_that_there_are(server: Running, tmp_path: Path) -> None:
    import urllib.request

    body = {"signature_name": "serving_raw", "inputs": {
        "company": ["Blue"], "pickup_zone": [""], "hour": [1], "trip_miles": [2.0]
    }}  # fmt: skip
    assert call(f"{server.url}/v1/models/tips:predict", body)[0] == 200
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"{server.url}/monitoring/prometheus/metrics") as answer:
        there = set(re.findall(r"^([a-z:_]+)\{", answer.read().decode(), re.M))
    out = render(tmp_path, "kserve", "gs://bucket/tips")
    dashboard = json.loads((out / "dashboard.json").read_text())
    asked = {
        name
        for panel in dashboard["panels"]
        for target in panel["targets"]
        for name in re.findall(r":tensorflow:[a-z:_]+|headrace_[a-z_]+", target["expr"])
    }
    assert len(asked) > 5
    assert asked <= there


def test_of_a_project_by_its_manifest(binary_base: Path, tmp_path: Path) -> None:
    run("render", str(binary_base), "--to", "compose", "--out", str(tmp_path))
    assert str(binary_base) in (tmp_path / "compose.yaml").read_text()
    assert read_models(tmp_path / "config" / "models.config")[0].name == "tips"


@pytest.mark.parametrize(
    ("target", "store", "more", "message"),
    [
        ("kubernetes", "/models", (), "a folder of this machine, which pods cannot read"),
        ("kserve", "/models", (), "which KServe cannot read"),
        ("kubernetes", "s3://bucket/x", (), "TensorFlow Serving's image reads gs:// and folders"),
        ("compose", "pvc://claim", (), "pvc:// is Kubernetes' own"),
        ("kubernetes", "pvc://Claim_1/x", (), "expected pvc://CLAIM"),
        ("kubernetes", "pvc://claim", ("--memory", "much"), "--memory: got 'much'; expected a quantity"),
        ("kubernetes", "pvc://claim", ("--replicas", "9"), "got 6 replicas at most and 9 at least"),
        ("kubernetes", "pvc://", (), "expected pvc://CLAIM"),
        ("kubernetes", "pvc://claim/../x", (), "without .."),
        ("kubernetes", "gs://", (), "expected gs://BUCKET/FOLDER"),
        ("kserve", "s3:///tips", (), "expected s3://BUCKET/FOLDER"),
        ("kserve", "ftp://bucket/tips", (), "storage initializer reads pvc, gs, s3"),
        ("kubernetes", "pvc://claim", ("--cpu", "0"), "--cpu: got '0'; expected more than 0"),
        ("kubernetes", "pvc://claim", ("--memory", "2"), "--memory: got '2'; expected at least 1Mi"),
        ("kubernetes", "pvc://claim", ("--memory", "500m"), "--memory: got '500m'; expected at least 1Mi"),
        ("kubernetes", "pvc://claim", ("--namespace", "My NS"), "--namespace: got 'My NS'"),
        ("kubernetes", "pvc://claim", ("--service-account", "A b"), "--service-account: got 'A b'"),
        ("compose", "/models", ("--image", ""), "--image: got ''"),
        ("compose", "/models", ("--image", "a image"), "--image: got 'a image'"),
    ],
)
def test_mistakes(tmp_path: Path, target: str, store: str, more: tuple[str, ...], message: str) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        render(tmp_path, target, store, *more)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("out", ["file", "file/below", "folder"])
def test_where_no_folder_can_be(tmp_path: Path, out: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder" / "compose.yaml").mkdir(parents=True)
    with pytest.raises(UserError, match="cannot write"):
        run("render", "--to", "compose", "--name", "tips", "--store", "/m", "--out", str(tmp_path / out))


def test_a_store_without_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match="no model to serve") as raised:
        run("render", "--to", "kubernetes", "--store", "pvc://models/tips")
    assert "--name" in raised.value.fix


def test_a_label_given_twice(tmp_path: Path) -> None:
    (tmp_path / "models.config").write_text(
        'model_config_list { config { name: "tips" base_path: "/m" model_platform: "tensorflow" } }'
    )
    with pytest.raises(UserError, match="label stable is given twice"):
        run("label", "stable=1", "stable=2", "--config", str(tmp_path / "models.config"))


def test_names_that_kubernetes_takes() -> None:
    for name, allowed in {"Big_Tips.v2": "big-tips-v2", "2nd": "model-2nd"}.items():
        assert Deployment(model=name, store="gs://b/m").resource == allowed


def test_a_canary_by_labels(binary_base: Path, yes_version: Path, tmp_path: Path) -> None:
    """From the newest alone to stable and canary, to the new stable, in a running server."""
    base = tmp_path / "tips"
    shutil.copytree(binary_base / "17", base / "17")
    shutil.copytree(yes_version, base / "18")
    file = tmp_path / "models.config"
    file.write_text(
        f'model_config_list {{ config {{ name: "tips" base_path: "{base}" model_platform: "tensorflow" }} }}'
    )
    body = {"signature_name": "serving_raw", "inputs": {
        "company": [""], "pickup_zone": [""], "hour": [1], "trip_miles": [1.0]
    }}  # fmt: skip

    with serving(tmp_path, str(file), "--reload-config", "0.2", "--poll", "0.2") as server:

        def answer(label: str) -> Any:
            code, found = call(f"{server.url}/v1/models/tips/labels/{label}:predict", body)
            return found["outputs"]["predicted_class"][0] if code == 200 else code

        assert answer("stable") == 400
        said = run("label", "stable=17", "canary=18", "--config", str(file)).stdout
        assert said == f"{file}: canary=18, stable=17\n"
        wait_for(lambda: (answer("stable"), answer("canary")) == ("no", "yes"))
        run("label", "stable=18", "--remove", "canary", "--config", str(file))
        wait_for(lambda: (answer("stable"), answer("canary")) == ("yes", 400))
        states = call(f"{server.url}/v1/models/tips/versions/17")[1]["model_version_status"]
        assert states[0]["state"] in ("UNLOADING", "END")
    assert run("label", "--remove", "stable", "--config", str(file)).stdout.endswith(
        "no labels; the newest version is served\n"
    )
    for arguments, message in (
        (("stable=19",), "label stable: there is no version 19"),
        (("--remove", "canary"), "there is no label 'canary'"),
        (("stable=17", "--model", "fares"), "there is no model 'fares'"),
        ((), "no label given"),
    ):
        before = file.read_text()
        with pytest.raises(UserError, match=message):
            run("label", *arguments, "--config", str(file))
        assert file.read_text() == before
