"""The `features` section: how each raw column becomes model input."""

from __future__ import annotations

import datetime
from typing import Annotated, Any, Literal, Union

from pydantic import BeforeValidator, Field, NonNegativeInt, PositiveInt, model_validator

from components.section import Section

DatePart = Literal["month", "day", "weekday", "hour", "minute"]


Scale = Literal["z_score", "min_max", "robust", "none"]
Clip = tuple[float | None, float | None]
Indicator = Annotated[bool, Field(description="also tell the model whether the value was missing")]
_SCALES = "z_score: mean 0, variance 1; min_max: 0 to 1; robust: median 0, quartiles 1 apart"
_CLIPS = "least and greatest value; what lies beyond counts as that; null for an open end"
_LOG = "take log(1 + x) of the value first; negative values count as 0"
# What a date or a time looks like.
DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}.*)?$"


def _written(value: Any) -> Any:
    """YAML's whole numbers and dates as they are written."""
    if isinstance(value, datetime.date):
        return value.isoformat()
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


class Constant(Section):
    """A value that missing ones become."""

    constant: Annotated[str, BeforeValidator(_written)] = Field(min_length=1, description="the value")


class DateConstant(Section):
    """A date that missing ones become."""

    constant: Annotated[str, BeforeValidator(_written)] = Field(
        pattern=DATE, description="a date, such as 2026-01-31 or 2026-01-31T17:45"
    )


def _check_clip(clip: Clip | None) -> None:
    if clip and None not in clip and clip[0] >= clip[1]:  # type: ignore[operator]
        raise ValueError(f"clip: {clip[0]:g} is not below {clip[1]:g}")


class NumericFeature(Section):
    """A number, scaled by what the train split shows."""

    kind: Literal["numeric"] = "numeric"
    impute: Literal["mean", "median", "most_frequent"] | float = Field(
        "median", description="what a missing value becomes: mean, median, most_frequent, or a number"
    )
    indicator: Indicator = False
    clip: Clip | None = Field(None, description=_CLIPS)
    log: bool = Field(False, description=_LOG)
    scale: Scale = Field("z_score", description=_SCALES)
    buckets: NonNegativeInt = Field(
        0, description="also give the model the value's quantile bucket, out of this many; 0: do not"
    )

    @model_validator(mode="after")
    def _clip_is_a_range(self) -> NumericFeature:
        _check_clip(self.clip)
        return self


class NumbersFeature(Section):
    """Several numbers a row: a list of any length, or a vector. What a list lacks is 0 after scaling."""

    kind: Literal["numbers"] = "numbers"
    length: PositiveInt | None = Field(
        None,
        description="numbers a row: longer lists are cut, shorter ones padded; left out: as the longest "
        "list has, at most 1,024",
    )
    by_place: bool = Field(
        False, description="scale each place by itself: a vector whose places mean different things"
    )
    clip: Clip | None = Field(None, description=_CLIPS)
    log: bool = Field(False, description=_LOG)
    scale: Scale = Field("z_score", description=_SCALES)

    @model_validator(mode="after")
    def _clip_is_a_range(self) -> NumbersFeature:
        _check_clip(self.clip)
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
    impute: Literal["missing", "most_frequent"] | Constant = Field(
        "missing",
        description="what a missing value becomes: an id of its own, the most frequent value, or "
        "{constant: VALUE}",
    )
    indicator: Indicator = False

    @model_validator(mode="after")
    def _hash_knows_no_counts(self) -> CategoryFeature:
        if self.hash and self.impute == "most_frequent":
            raise ValueError("impute: most_frequent needs a vocabulary; with hash use impute: missing")
        return self


class CategoriesFeature(Section):
    """Several values of a set a row, as the sequence of their ids."""

    kind: Literal["categories"] = "categories"
    vocabulary: PositiveInt = Field(1000, description="keep at most so many values, the most frequent")
    min_count: PositiveInt = Field(1, description="drop values seen fewer times in train")
    oov: PositiveInt = Field(1, description="buckets for values outside the vocabulary, by their hash")
    hash: NonNegativeInt = Field(
        0, description="no vocabulary but the value's hash, into so many buckets; 0: a vocabulary"
    )
    length: PositiveInt | None = Field(
        None,
        description="values a row: longer lists are cut, shorter ones padded; left out: as the longest "
        "list has, at most 64",
    )


class BooleanFeature(Section):
    """A yes or no, as 1.0 or 0.0."""

    kind: Literal["boolean"] = "boolean"
    impute: Literal["half", "most_frequent", "false", "true"] = Field(
        "half", description="what a missing value becomes; half: 0.5"
    )
    indicator: Indicator = False


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
    impute: DateConstant | None = Field(
        None, description="what a missing date becomes, {constant: DATE}; left out: all its numbers are 0"
    )
    indicator: Indicator = False

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
    impute: Constant | None = Field(
        None, description="what a missing text becomes, {constant: TEXT}; left out: it has no tokens"
    )
    indicator: Indicator = False


class ImageFeature(Section):
    """A picture, as pixels of one size. What is left out is as the pictures of train are."""

    kind: Literal["image"] = "image"
    height: PositiveInt | None = Field(
        None, description="pixels; left out: as they all are, at most 128 on the longer side"
    )
    width: PositiveInt | None = Field(None, description="pixels; left out: as height")
    channels: Literal[1, 3] | None = Field(
        None, description="1: grey, 3: colours; left out: 1 when no picture of train has colours"
    )

    @property
    def shape(self) -> tuple[int, int, int]:
        """Height, width and channels; of a plan, in which all are known."""
        assert self.height
        assert self.width
        assert self.channels
        return self.height, self.width, self.channels


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
        NumbersFeature,
        CategoryFeature,
        CategoriesFeature,
        BooleanFeature,
        DateFeature,
        TextFeature,
        ImageFeature,
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
    materialize: bool = Field(
        True,
        description="write the transformed examples; false: Trainer transforms the raw ones as it reads "
        "them, which saves their place on disk and costs time in every epoch that is not in memory",
    )
    batch_rows: PositiveInt = Field(
        20_000, description="rows held in memory at a time: fewer take less memory, more less time"
    )
