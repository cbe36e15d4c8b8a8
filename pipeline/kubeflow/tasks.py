"""The tasks that Kubeflow needs beside the steps: what the data is now, and what earlier runs have left."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from typing import Any

from components.errors import UserError
from pipeline.kubeflow.container import Declared
from pipeline.kubeflow.execution import FOUND, KEPT_AS, TRAINED_ON
from pipeline.kubeflow.kept import DATA, MODELS, Kept, Record
from pipeline.kubeflow.mounts import to_path

# Node to what it looks up.
LOOKUPS = {"Baseline": MODELS, "Base": MODELS, "Previous": DATA}


def look_at_data(declared: Declared, request: Mapping[str, Any]) -> dict[str, Any]:
    """Locates the source and takes its fingerprint, so that steps run anew exactly when the data changed.

    It never comes from the cache itself: the spec of a schedule stays as it is while the data changes.

    Parameters in the request: config (the `data` section), source, span, inside (a pattern below an imported
    source) and serving_log. Parameters in the answer: config (the section that ExampleGen gets), fingerprint
    and serving_log (its fingerprint).
    """
    from pydantic import ValidationError

    from components.example_gen import sources
    from components.example_gen.config import DataConfig
    from components.example_gen.files import checksum, is_remote, match

    given = request["inputs"]
    parameters = given["parameterValues"]
    section = json.loads(parameters["config"])
    if parameters.get("source"):
        section["source"] = parameters["source"]
    if "source" in declared.inputs:
        imported = to_path(given["artifacts"]["source"]["artifacts"][0]["uri"]).rstrip("/")
        section["source"] = f"{imported}/{parameters['inside']}" if parameters.get("inside") else imported
    section["span"] = _span(parameters.get("span", ""), section["span"])
    try:
        config = DataConfig.model_validate(section)
    except ValidationError as error:
        raise UserError(f"the run's parameters do not fit: {error}", where="data_source, data_span") from None
    log = parameters.get("serving_log", "")
    if log and is_remote(log):
        logged = "".join(checksum(stat) for stat in match(log))
    else:
        logged = _digest(log) if log else ""
    answer = {
        "config": json.dumps(config.model_dump(mode="json"), sort_keys=True),
        "fingerprint": sources.fingerprint(config),
        "serving_log": logged,
    }
    print(f"data: {config.source}, fingerprint {answer['fingerprint'][:12]}")
    return {"parameterValues": answer}


def _span(given: str, before: Any) -> Any:
    """A span as a run's parameter says it: latest, a number, a date, or JSON; empty: as configured."""
    if not given:
        return before
    try:
        return json.loads(given)
    except ValueError:
        return given


def _digest(path: str) -> str:
    if not os.path.isfile(path):
        raise UserError(f"there is no file {path} in the pod", where="validate.serving_log")
    with open(path, "rb") as stream:
        digest = hashlib.sha256()
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def find_kept(declared: Declared, request: Mapping[str, Any]) -> dict[str, Any]:
    """Chooses what an earlier run has kept; like the data, it is looked at anew in each run.

    The answer's parameter `key` names it, or is empty. The choice is that of a local run's resolvers.
    """
    node = declared.step.removesuffix(FIND)
    current = request["inputs"]["artifacts"]["current"]["artifacts"][0]
    records = Kept(declared.keep).records(LOOKUPS[node])
    chosen = _CHOICES[node](records, current)
    print(f"{node}: {chosen.identity if chosen else 'nothing is kept yet'}")
    return {"parameterValues": {"key": chosen.key if chosen else ""}}


def fetch_kept(declared: Declared, request: Mapping[str, Any]) -> dict[str, Any]:
    """Makes artifacts of what was chosen; the same choice comes from the cache, with all that follows."""
    key = request["inputs"]["parameterValues"]["key"]
    artifacts = {
        name: request["outputs"]["artifacts"][name]["artifacts"][0]["uri"] for name in declared.outputs
    }
    folders = {name: to_path(uri) for name, uri in artifacts.items()}
    if key:
        record = Kept(declared.keep).get(LOOKUPS[declared.step], key, folders)
        properties = {name: {**record.metadata[name], FOUND: "yes", KEPT_AS: key} for name in artifacts}
    else:
        for folder in folders.values():
            # An artifact without files could not be fetched by every version of the launcher.
            os.makedirs(folder, exist_ok=True)
            with open(f"{folder}/NOTHING", "w", encoding="ascii"):
                pass
        properties = {name: {FOUND: "no"} for name in artifacts}
    return {
        "artifacts": {
            name: {"artifacts": [{"uri": uri, "metadata": properties[name]}]}
            for name, uri in artifacts.items()
        }
    }


def _latest_other_model(records: list[Record], current: Mapping[str, Any]) -> Record | None:
    """The latest blessed model that is not the candidate itself."""
    return next((record for record in records if record.identity != current["uri"]), None)


def _latest_of_other_data(records: list[Record], current: Mapping[str, Any]) -> Record | None:
    """The latest blessed model that has not learned from the current examples."""
    return next((record for record in records if record.facts.get(TRAINED_ON) != current["uri"]), None)


def _data_before(records: list[Record], current: Mapping[str, Any]) -> Record | None:
    """The latest other data that passed; data that has passed already is compared with what it was then."""
    mine = next((record for record in records if record.identity == current["metadata"]["data"]), None)
    if mine is None:
        return records[0] if records else None
    return next((record for record in records if record.key == mine.facts["previous"]), None)


_CHOICES = {"Baseline": _latest_other_model, "Base": _latest_of_other_data, "Previous": _data_before}
# Ending of the node that chooses for a look-up.
FIND = "-Find"
TASKS = {"look_at_data": look_at_data, "find_kept": find_kept, "fetch_kept": fetch_kept}
