"""The `features` section: how each raw column becomes model input."""

from __future__ import annotations

from typing import Annotated, Literal, Union

from pydantic import Field, NonNegativeInt, PositiveInt

from components.section import Section


class NumericFeature(Section):
    """A number, scaled by what the train split shows."""

    kind: Literal["numeric"] = "numeric"
    impute: Literal["mean", "median"] | float = Field(
        "median", description="what a missing value becomes: mean, median, or a number"
    )
    scale: Literal["z_score", "min_max", "none"] = Field(
        "z_score", description="z_score: mean 0, variance 1; min_max: 0 to 1"
    )
    log: bool = Field(False, description="take log(1 + x) of the value first; negative values count as 0")
    buckets: NonNegativeInt = Field(
        0, description="also give the model the value's quantile bucket, out of this many; 0: do not"
    )


class CategoryFeature(Section):
    """A value out of a set, as an integer id."""

    kind: Literal["category"] = "category"
    vocabulary: PositiveInt = Field(1000, description="keep at most so many values, the most frequent")
    min_count: PositiveInt = Field(1, description="drop values seen fewer times in train")
    oov: PositiveInt = Field(1, description="buckets for values outside the vocabulary, by their hash")


class BooleanFeature(Section):
    """A yes or no, as 1.0 or 0.0; missing is 0.5."""

    kind: Literal["boolean"] = "boolean"


class DropFeature(Section):
    """A column that the model does not see."""

    kind: Literal["drop"] = "drop"


FeatureConfig = Annotated[
    Union[NumericFeature, CategoryFeature, BooleanFeature, DropFeature], Field(discriminator="kind")
]
