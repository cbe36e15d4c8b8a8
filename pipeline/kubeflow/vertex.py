"""The compiled pipeline as a PipelineJob of Vertex AI.

https://cloud.google.com/vertex-ai/docs/reference/rest/v1/projects.locations.pipelineJobs
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from components.errors import UserError
from pipeline.kubeflow.compile import Compiled


def pipeline_job(compiled: Compiled) -> dict[str, Any]:
    """The job, with the parameters' defaults.

    Raises:
      UserError: the pipeline needs what only Kubernetes has, or has no folder in Google's storage.
    """
    if compiled.platform:
        raise UserError(
            "Vertex AI has no claims, secrets, node selectors, tolerations or time limits of Kubernetes",
            where="kubeflow",
            fix="take them out for it, with `--set kubeflow.claims=[]` and the like",
        )
    root = compiled.spec.get("defaultPipelineRoot", "")
    if not root.startswith("gs://"):
        raise UserError(
            f"Vertex AI keeps artifacts in gs:// only, received {root or 'nothing'}",
            where="kubeflow.root",
            fix="set it to gs://BUCKET/FOLDER",
        )
    parameters = compiled.spec["root"]["inputDefinitions"]["parameters"]
    name = compiled.spec["pipelineInfo"]["name"]
    return {
        "displayName": name,
        "pipelineSpec": compiled.spec,
        "labels": {"made-by": "headrace"},
        "runtimeConfig": {
            "gcsOutputDirectory": root,
            "parameterValues": {key: each["defaultValue"] for key, each in parameters.items()},
        },
    }


def as_text(job: Mapping[str, Any]) -> str:
    """The job as a file; the same pipeline is the same text."""
    return json.dumps(job, indent=2, sort_keys=True) + "\n"
