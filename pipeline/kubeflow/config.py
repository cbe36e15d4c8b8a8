"""The `kubeflow` section: the image, where things are kept, and what each step's pod gets."""

from __future__ import annotations

import difflib
from typing import Literal

from pydantic import Field, NonNegativeInt, PositiveInt, field_validator

from components.section import Section
from pipeline.steps import ALL_STEPS

_QUANTITY = r"^[0-9]+(\.[0-9]+)?(m|k|M|G|T|Ki|Mi|Gi|Ti)?$"
_NAME = r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"
_ENV = r"^[A-Za-z_][A-Za-z0-9_]*$"


class SecretConfig(Section):
    """A Kubernetes secret that pods see. Only its name is written into the spec, never its value."""

    name: str = Field(pattern=_NAME, description="of the secret, in the namespace of the runs")
    env: dict[str, str] = Field(
        default_factory=dict, description="environment variable to the key of the secret that fills it"
    )
    mount: str | None = Field(
        None, pattern=r"^/.+", description="folder that the secret's keys appear in, as files"
    )


class ClaimConfig(Section):
    """A persistent volume claim that pods see."""

    name: str = Field(pattern=_NAME, description="of the claim, in the namespace of the runs")
    mount: str = Field(pattern=r"^/.+[^/]$", description="folder that it appears as")


class TolerationConfig(Section):
    """A taint that a pod may be put on a node in spite of, as in Kubernetes."""

    key: str | None = Field(None, description="of the taint; left out: all")
    operator: Literal["Equal", "Exists"] = Field("Equal", description="Exists: whatever its value")
    value: str | None = Field(None, description="of the taint")
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = Field(
        None, description="left out: all"
    )
    seconds: NonNegativeInt | None = Field(None, description="how long NoExecute is put up with")


class PodConfig(Section):
    """What a pod gets. At the top of the section it holds for every step; below `steps`, for one of them."""

    cpu: str | None = Field(None, pattern=_QUANTITY, description="most cores, such as 2 or 500m")
    cpu_request: str | None = Field(None, pattern=_QUANTITY, description="cores that are set aside")
    memory: str | None = Field(None, pattern=_QUANTITY, description="most memory, such as 4Gi")
    memory_request: str | None = Field(None, pattern=_QUANTITY, description="memory that is set aside")
    gpu: NonNegativeInt = Field(0, description="number of accelerators")
    gpu_type: str = Field("nvidia.com/gpu", description="the accelerators' name as a Kubernetes resource")
    node_selector: dict[str, str] = Field(default_factory=dict, description="labels that the node must have")
    tolerations: tuple[TolerationConfig, ...] = Field((), description="taints that do not matter")
    env: dict[str, str] = Field(
        default_factory=dict, description="environment variables; what is secret belongs into `secrets`"
    )
    secrets: tuple[SecretConfig, ...] = Field((), description="secrets that it sees")
    claims: tuple[ClaimConfig, ...] = Field((), description="persistent volume claims that it sees")
    retries: NonNegativeInt | None = Field(
        None, description="how often it is tried again when it fails; left out: never"
    )
    backoff_seconds: PositiveInt | None = Field(None, description="wait before the first new try")
    timeout_seconds: PositiveInt | None = Field(None, description="a pod that runs longer is ended")


class KubeflowConfig(PodConfig):
    """Where and how the pipeline runs on Kubeflow Pipelines."""

    image: str = Field(
        "headrace:latest",
        min_length=1,
        description="the container image of all steps; `headrace kubeflow image` makes it",
    )
    root: str | None = Field(
        None,
        pattern=r"^(s3|gs|minio)://[^/?*\[\s]+(/[^?*\[\s]*)?$",
        description="where artifacts go, such as s3://bucket/folder; left out: the cluster's own place",
    )
    keep: str | None = Field(
        None,
        pattern=r"^(/|(s3|gs|minio)://).+",
        description="folder for what the next run must know of this one, such as the latest blessed model: "
        "on a claim, or an s3://, gs:// or minio:// URL. Left out: `.headrace` in push.to, which is on a "
        "claim; without either nothing is kept, and no model is held against an earlier one",
    )
    endpoint: str | None = Field(
        None,
        pattern=r"^https?://[^\s@]+$",
        description="URL of the cluster's Kubeflow Pipelines; left out: --endpoint says it",
    )
    namespace: str | None = Field(
        None, pattern=_NAME, description="of the runs, on clusters of several users"
    )
    pull_secrets: tuple[str, ...] = Field((), description="secrets that the image is pulled with")
    steps: dict[str, PodConfig] = Field(
        default_factory=dict, description="step to what is different for its pod"
    )

    @field_validator("steps")
    @classmethod
    def _are_steps(cls, steps: dict[str, PodConfig]) -> dict[str, PodConfig]:
        for name in steps:
            if name not in ALL_STEPS:
                near = difflib.get_close_matches(name, ALL_STEPS, n=1)
                meant = f", did you mean {near[0]!r}?" if near else f"; there are {', '.join(ALL_STEPS)}"
                raise ValueError(f"there is no step {name!r}{meant}")
        return steps

    def pod(self, step: str) -> PodConfig:
        """What holds for one step: mappings and lists add up, in all else the step's own value wins."""
        own = self.steps.get(step)
        shared = {name: getattr(self, name) for name in PodConfig.model_fields}
        if own is None:
            return PodConfig(**shared)
        for name in own.model_fields_set:
            value, before = getattr(own, name), shared[name]
            if isinstance(value, dict):
                value = {**before, **value}
            elif isinstance(value, tuple):
                value = (*before, *(each for each in value if each not in before))
            shared[name] = value
        return PodConfig(**shared)
