"""What Kubeflow's API server checks in a request, by its own protos and models.

Each function gives the server's complaint, or None. Where the rules come from: NewV2SpecTemplate and
validatePipelineJobInputs in backend/src/apiserver/template/v2_template.go, the validators of
backend/src/apiserver/server/*_server.go, and the fields of the models that the client is generated from.
"""

from __future__ import annotations

import json
import re
from typing import Any

import kfp_server_api
import yaml
from google.protobuf import json_format
from kfp.pipeline_spec import pipeline_spec_pb2

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
# Whole numbers of 64 bits, which may come as text or as numbers.
_WHOLE = ("max_concurrency", "interval_second")
# Parameter type to the JSON that its value must be.
_TYPES: dict[str, type | tuple[type, ...]] = {
    "STRING": str,
    "NUMBER_INTEGER": (int, float),
    "NUMBER_DOUBLE": (int, float),
    "BOOLEAN": bool,
    "LIST": list,
    "STRUCT": dict,
}


def parse_spec(text: str) -> tuple[dict[str, Any], str | None]:
    """The documents of an upload as the server keeps them, and what it says of them."""
    kept: dict[str, Any] = {}
    try:
        for document in yaml.safe_load_all(text):
            if not document:
                continue
            kind = "pipeline_spec" if "pipelineInfo" in document else "platform_spec"
            proto = (
                pipeline_spec_pb2.PipelineSpec if kind == "pipeline_spec" else pipeline_spec_pb2.PlatformSpec
            )
            if kind in kept:
                return {}, f"multiple {kind}s provided"
            json_format.ParseDict(document, proto())
            kept[kind] = document
    except (yaml.YAMLError, json_format.ParseError) as error:
        return {}, f"invalid v2 pipeline spec: {error}"
    spec = kept.get("pipeline_spec")
    if spec is None:
        return {}, "no pipeline spec is provided"
    version = spec.get("schemaVersion")
    if version != "2.1.0":
        return {}, f"KFP only supports schema version 2.1.0, but the pipeline spec has version {version}"
    if not _NAME.fullmatch(spec["pipelineInfo"].get("name", "")):
        return {}, "invalid v2 pipeline spec: name should consist of lower case alphanumeric characters"
    if not spec.get("root"):
        return {}, "invalid v2 pipeline spec: root component is empty"
    return kept, None


def wrong_fields(body: Any, model: str, path: str = "") -> str | None:
    """An unknown field, or a value of another type than the API's model has."""
    if not isinstance(body, dict):
        return f"{path or model}: expected an object"
    declared = getattr(kfp_server_api, model)
    kinds = {name: declared.openapi_types[key] for key, name in declared.attribute_map.items()}
    for name, value in body.items():
        kind, place = kinds.get(name), f"{path}{name}"
        if kind is None:
            return f'unknown field "{place}"'
        found = None
        if hasattr(kfp_server_api, kind) and hasattr(getattr(kfp_server_api, kind), "allowable_values"):
            known = getattr(kfp_server_api, kind).allowable_values
            values = known or [
                each for each in vars(getattr(kfp_server_api, kind)).values() if isinstance(each, str)
            ]
            found = None if value in values else f"invalid value for enum field {place}: {value!r}"
        elif hasattr(kfp_server_api, kind):
            found = wrong_fields(value, kind, f"{place}.")
        elif name in _WHOLE and not re.fullmatch(r"\d+", str(value)):
            found = f"invalid value for int64 field {place}: {value!r}"
        elif kind in ("str", "datetime") and not isinstance(value, str) and name not in _WHOLE:
            found = f"invalid value for string field {place}: {value!r}"
        elif kind == "bool" and not isinstance(value, bool):
            found = f"invalid value for bool field {place}: {value!r}"
        if found:
            return found
    return None


def wrong_inputs(spec: dict[str, Any], runtime: dict[str, Any]) -> str | None:
    """What the parameters of a run lack, or have too much, or of another type."""
    declared = spec["root"].get("inputDefinitions", {}).get("parameters", {})
    given = runtime.get("parameters") or {}
    for name, parameter in declared.items():
        if name not in given:
            if not parameter.get("isOptional") and "defaultValue" not in parameter:
                return (
                    f"parameter {name} is not optional, yet has neither default value nor user provided value"
                )
            continue
        kind = parameter["parameterType"]
        if not isinstance(given[name], _TYPES[kind]):
            return f"input parameter {name} requires type {kind}, received {given[name]!r}"
    extra = sorted(set(given) - set(declared))
    return f"parameter(s) provided are not required or optional: {', '.join(extra)}" if extra else None


def wrong_schedule(body: dict[str, Any]) -> str | None:
    """What is wrong with a recurring run beside its pipeline."""
    trigger = body.get("trigger") or {}
    cron, periodic = trigger.get("cron_schedule"), trigger.get("periodic_schedule")
    if not cron and not periodic:
        return "Invalid trigger: expected a cron or a periodic schedule"
    if cron and len(cron.get("cron", "").split()) != 6:
        return (
            f"Schedule cron is not a supported format(https://godoc.org/github.com/robfig/cron). "
            f"Expected exactly 6 fields, found {len(cron.get('cron', '').split())}"
        )
    if periodic and int(periodic.get("interval_second", "0")) < 1:
        return "Found invalid period schedule interval. Set at interval to least 1 second"
    if not 1 <= int(body.get("max_concurrency", "0")) <= 10:
        return "The max concurrency of the job should be between 1 and 10"
    if body.get("mode") not in ("ENABLE", "DISABLE"):
        return "Invalid recurring run mode"
    return None


def wanted_names(query: dict[str, str]) -> list[str] | str:
    """The display names that a list's filter asks for, or what is wrong with it."""
    if not query.get("filter"):
        return []
    predicates = json.loads(query["filter"]).get("predicates", [])
    names = []
    for each in predicates:
        # The gateway takes enums by number or name, and fields in both spellings.
        if each.get("operation", each.get("op")) not in (1, "EQUALS"):
            return f"Invalid filter: {each}"
        if each.get("key") not in ("display_name", "name"):
            return f"Invalid filter: there is no field {each.get('key')!r}"
        names.append(each.get("stringValue", each.get("string_value")))
    return names
