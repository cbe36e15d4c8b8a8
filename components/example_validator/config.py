"""The `validate` section: what the data must not do, and what happens when it does."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from components.section import Section

Policy = Literal["fail", "warn", "ignore"]


class DriftThresholds(Section):
    """From which distance on two distributions differ; 0: equal, 1: nothing in common."""

    numeric: float = Field(
        0.02,
        ge=0,
        le=1,
        description="Jensen-Shannon divergence of numbers; 0.02 is some 0.35 standard deviations",
    )
    category: float = Field(
        0.05, ge=0, le=1, description="L-infinity distance of categories: the largest change of a share"
    )
    columns: dict[str, float] = Field(
        default_factory=dict, description="column to a threshold of its own; 1: it may do as it likes"
    )


class ValidateConfig(Section):
    """What happens at each kind of anomaly: fail stops the run before training, warn says it, ignore neither.

    Columns and types are held against the reviewed schema or, where there is none, against the latest
    other data of this pipeline that passed. Values and distributions of eval and test are held against
    train, those of train against that other data.
    """

    missing_column: Policy = Field("fail", description="a column is gone")
    extra_column: Policy = Field("fail", description="a column is new")
    type_change: Policy = Field("fail", description="a column has another type")
    empty: Policy = Field("fail", description="a split has no rows, or a column no values any more")
    label: Policy = Field("fail", description="the label has other classes, another type or no values")
    missing_values: Policy = Field("warn", description="a column that always had a value lacks some")
    new_values: Policy = Field("warn", description="a category that is new")
    range: Policy = Field("warn", description="numbers far out of range")
    drift: Policy = Field("warn", description="a distribution is another than it was, or than in train")
    skew: Policy = Field("warn", description="requests that were served are distributed otherwise than train")
    other: Policy = Field("warn", description="whatever else does not fit the schema")
    drift_threshold: DriftThresholds = Field(
        DriftThresholds(), description="distances that count as drift or skew"
    )
    serving_log: str | None = Field(
        None,
        min_length=1,
        description="a TFRecord file (.gz too) of requests that were served, as PredictionLog or "
        "tf.Example: train is compared with it",
    )
