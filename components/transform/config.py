"""The `features` section: how each raw column becomes model input."""

from __future__ import annotations

from typing import Annotated, Literal, Union

from pydantic import Field, NonNegativeInt, PositiveInt, model_validator

from components.section import Section

DatePart = Literal["month", "day", "weekday", "hour", "minute"]


class NumericFeature(Section):
    """A number, scaled by what the train split shows."""

    kind: Literal["numeric"] = "numeric"
    impute: Literal["mean", "median"] | float = Field(
        "median", description="what a missing value becomes: mean, median, or a number"
    )
    indicator: bool = Field(False, description="also tell the model whether the value was missing")
    clip: tuple[float | None, float | None] | None = Field(
        None, description="least and greatest value; what lies beyond counts as that; null for an open end"
    )
    log: bool = Field(False, description="take log(1 + x) of the value first; negative values count as 0")
    scale: Literal["z_score", "min_max", "robust", "none"] = Field(
        "z_score",
        description="z_score: mean 0, variance 1; min_max: 0 to 1; robust: median 0, quartiles 1 apart",
    )
    buckets: NonNegativeInt = Field(
        0, description="also give the model the value's quantile bucket, out of this many; 0: do not"
    )

    @model_validator(mode="after")
    def _clip_is_a_range(self) -> NumericFeature:
        if self.clip and None not in self.clip and self.clip[0] >= self.clip[1]:  # type: ignore[operator]
            raise ValueError(f"clip: {self.clip[0]:g} is not below {self.clip[1]:g}")
        return self


class CategoryFeature(Section):
    """A value out of a set, as an integer id."""

    kind: Literal["category"] = "category"
    vocabulary: PositiveInt = Field(1000, description="keep at most so many values, the most frequent")
    min_count: PositiveInt = Field(1, description="drop values seen fewer times in train")
    oov: PositiveInt = Field(1, description="buckets for values outside the vocabulary, by their hash")
    hash: NonNegativeInt = Field(
        0, description="no vocabulary but the value's hash, into so many buckets; 0: a vocabulary"
    )
    impute: Literal["missing", "most_frequent"] = Field(
        "missing", description="what a missing value becomes: an id of its own, or the most frequent value"
    )

    @model_validator(mode="after")
    def _hash_knows_no_counts(self) -> CategoryFeature:
        if self.hash and self.impute == "most_frequent":
            raise ValueError("impute: most_frequent needs a vocabulary; with hash use impute: missing")
        return self


class BooleanFeature(Section):
    """A yes or no, as 1.0 or 0.0."""

    kind: Literal["boolean"] = "boolean"
    impute: Literal["half", "most_frequent", "false", "true"] = Field(
        "half", description="what a missing value becomes; half: 0.5"
    )


class DateFeature(Section):
    """A date or a time, as parts that come round again, and the days passed.

    Each part becomes the sine and cosine of its angle on the cycle, so that December is next to
    January. A time zone is not applied: what counts is the clock on the wall.
    """

    kind: Literal["date"] = "date"
    parts: tuple[DatePart, ...] = Field(
        ("month", "weekday", "hour"), description="month of year, day of month, weekday, hour, minute"
    )
    elapsed: bool = Field(True, description="also the days since 1970, scaled to mean 0 and variance 1")

    @model_validator(mode="after")
    def _says_something(self) -> DateFeature:
        if not self.parts and not self.elapsed:
            raise ValueError("give at least one of parts, or elapsed: true")
        return self


class TextFeature(Section):
    """Free text, as a sequence of token ids."""

    kind: Literal["text"] = "text"
    lower: bool = Field(True, description="ignore case")
    punctuation: bool = Field(False, description="keep punctuation; else it separates words")
    ngrams: int = Field(1, ge=1, le=3, description="tokens are runs of up to so many words")
    vocabulary: PositiveInt = Field(10_000, description="keep at most so many tokens, the most frequent")
    min_count: PositiveInt = Field(2, description="drop tokens seen fewer times in train")
    oov: PositiveInt = Field(1, description="buckets for tokens outside the vocabulary, by their hash")
    length: PositiveInt = Field(
        64, description="tokens a text at most; longer ones are cut, shorter ones padded"
    )


class CrossFeature(Section):
    """Several columns taken together as one category: named by you, made of what `of` names."""

    kind: Literal["cross"] = "cross"
    of: tuple[str, ...] = Field(min_length=2, description="the columns")
    buckets: PositiveInt = Field(1000, description="the combinations' hash goes into so many buckets")


class DropFeature(Section):
    """A column that the model does not see."""

    kind: Literal["drop"] = "drop"


FeatureConfig = Annotated[
    Union[
        NumericFeature,
        CategoryFeature,
        BooleanFeature,
        DateFeature,
        TextFeature,
        CrossFeature,
        DropFeature,
    ],
    Field(discriminator="kind"),
]


class TransformConfig(Section):
    """How Transform works."""

    function: str | None = Field(
        None,
        pattern=r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)+$",
        description="your preprocessing_fn(inputs, plan): module.function of a file beside pipeline.yaml",
    )
    batch_rows: PositiveInt = Field(
        20_000, description="rows held in memory at a time: fewer take less memory, more less time"
    )
