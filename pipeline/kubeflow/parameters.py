"""The parameters of a run: what the spec has defaults for, and what is given."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

from components.errors import UserError
from pipeline.kubeflow.mounts import has_name, is_object


def parse(given: Iterable[str]) -> dict[str, str]:
    """Parameters as they stand on the command line: NAME=VALUE.

    Raises:
      UserError: one is not.
    """
    found = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals:
            raise UserError(f"expected NAME=VALUE, received {text!r}", where="--param")
        found[name] = value
    return found


def complete(spec: Mapping[str, Any], given: Mapping[str, str]) -> dict[str, Any]:
    """Every parameter of the pipeline with its value.

    Raises:
      UserError: one is given that the pipeline has not.
    """
    known = spec["root"].get("inputDefinitions", {}).get("parameters", {})
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            raise UserError(
                f"the pipeline has no parameter {name!r}" + (f", did you mean {near[0]!r}?" if near else ""),
                where="--param",
                fix=f"name one of: {', '.join(known)}; what the config says is changed with --set",
            )
    for name, value in given.items():
        if "{{" in value:
            raise UserError(
                f"{name} has {{{{ in it, which the launcher and Argo take for their own", where="--param"
            )
    imported = _imported(spec)
    for name, value in given.items():
        if is_object(value) and name not in imported:
            raise UserError(
                f"{name} is {value!r}, and this pipeline has nothing fetched",
                where="--param",
                fix=f"compile it with --set data.source={value}",
            )
    for name in imported:
        value = given.get(name, known[name].get("defaultValue", ""))
        if not is_object(value) or not has_name(value):
            raise UserError(
                f"{name} is {value!r}, which cannot be fetched",
                where="--param",
                fix="name a file or folder in a bucket, such as s3://BUCKET/FOLDER; for data elsewhere "
                "compile with --set data.source=…",
            )
    return {name: given.get(name, each["defaultValue"]) for name, each in known.items()}


def _imported(spec: Mapping[str, Any]) -> list[str]:
    """Parameters of the run that say what the launcher fetches."""
    executors = spec.get("deploymentSpec", {}).get("executors", {})
    found = []
    for task in spec["root"].get("dag", {}).get("tasks", {}).values():
        component = spec.get("components", {}).get(task["componentRef"]["name"], {})
        uri = executors.get(component.get("executorLabel"), {}).get("importer", {}).get("artifactUri", {})
        given = task.get("inputs", {}).get("parameters", {}).get(uri.get("runtimeParameter"), {})
        if "componentInputParameter" in given:
            found.append(given["componentInputParameter"])
    return found
