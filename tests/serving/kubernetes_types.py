"""Checks manifests against the types of Kubernetes' Python client, which is made from its OpenAPI schema."""

from __future__ import annotations

import re
from typing import Any

from kubernetes import client

KINDS = {
    ("apps/v1", "Deployment"): "V1Deployment",
    ("v1", "Service"): "V1Service",
    ("autoscaling/v2", "HorizontalPodAutoscaler"): "V2HorizontalPodAutoscaler",
    ("policy/v1", "PodDisruptionBudget"): "V1PodDisruptionBudget",
}
_PLAIN = {"str": str, "int": int, "bool": bool, "float": (int, float)}
_CONFIGURATION = client.Configuration()  # with it, models refuse values that their schema does not allow


def check(manifest: dict[str, Any]) -> None:
    """Raises AssertionError, or the client's ValueError, for what the API does not have or would refuse."""
    _check(manifest, KINDS[manifest["apiVersion"], manifest["kind"]], manifest["kind"])


def _check(value: Any, kind: str, where: str) -> None:
    if listed := re.fullmatch(r"list\[(.+)\]", kind):
        assert isinstance(value, list), f"{where}: {value!r} is no list"
        for number, item in enumerate(value):
            _check(item, listed[1], f"{where}[{number}]")
    elif mapped := re.fullmatch(r"dict\(str, (.+)\)", kind):
        assert isinstance(value, dict), f"{where}: {value!r} is no mapping"
        for key, item in value.items():
            _check(item, mapped[1], f"{where}.{key}")
    elif kind in _PLAIN:
        assert isinstance(value, _PLAIN[kind]), f"{where}: {value!r} is no {kind}"
        assert kind == "bool" or not isinstance(value, bool), f"{where}: {value!r} is no {kind}"
    elif kind == "object":  # an integer or a text, such as a port or a percentage
        assert isinstance(value, (int, str)), f"{where}: {value!r}"
    else:
        _check_object(value, kind, where)


def _check_object(value: Any, kind: str, where: str) -> None:
    model = getattr(client, kind)
    assert isinstance(value, dict), f"{where}: {value!r} is no {kind}"
    names = {json_name: name for name, json_name in model.attribute_map.items()}
    assert not value.keys() - names.keys(), f"{where}: {sorted(value.keys() - names.keys())} not in {kind}"
    for json_name, item in value.items():
        _check(item, model.openapi_types[names[json_name]], f"{where}.{json_name}")
    # The constructor knows what is required and which words are allowed.
    model(**{names[json_name]: item for json_name, item in value.items()},
          local_vars_configuration=_CONFIGURATION)  # fmt: skip
