"""The `infra_validate` section: the trial run of the exported model."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt

from components.section import Section


class InfraValidateConfig(Section):
    """What the exported model must survive before it is pushed."""

    backend: Literal["embedded", "docker", "kubernetes"] = Field(
        "embedded",
        description="what serves it in the trial: the server of `headrace serve` in a process of its own, or "
        "TensorFlow Serving's image, in Docker or as a pod",
    )
    image: str = Field(
        "tensorflow/serving:2.19.1", description="TensorFlow Serving's image for docker and kubernetes"
    )
    namespace: str = Field("default", description="where the pod of backend kubernetes runs")
    rows: PositiveInt = Field(64, description="raw rows of the test split that are sent")
    max_load_seconds: PositiveFloat = Field(120.0, description="the longest that loading may take")
    max_p50_ms: PositiveFloat = Field(
        1000.0, description="the most that half of the requests with one row may take, in milliseconds"
    )
    max_p99_ms: PositiveFloat = Field(
        5000.0, description="the most that 99 in 100 requests with one row may take, in milliseconds"
    )
    max_memory_mb: PositiveInt = Field(
        8192, description="the most memory that the server may hold afterwards, in MiB"
    )
    warmup_requests: NonNegativeInt = Field(
        4,
        le=1000,
        description="requests in the warm-up file of the pushed version, which every server answers before "
        "it serves; 0 writes none",
    )
