"""The `data` section: where the rows are, what they mean and how they are split."""

from __future__ import annotations

import codecs
from typing import Annotated, Literal, Union

from pydantic import Field, NonNegativeInt, PositiveInt, field_validator, model_validator

from components.example_gen.split_config import SplitConfig
from components.section import Section

ColumnType = Literal["integer", "float", "boolean", "date", "datetime", "text", "image"]

MISSING_TOKENS = ("", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "#N/A")


class SplitSources(Section):
    """A source for each split; a split without one gets its part of train's rows."""

    train: str = Field(description="as data.source")
    eval: str | None = Field(None, description="as data.source")
    test: str | None = Field(None, description="as data.source")

    @property
    def given(self) -> dict[str, str]:
        """Split name to its source."""
        return {name: source for name, source in self if source is not None}


class LastSpans(Section):
    """A rolling window over the spans of the source."""

    last: PositiveInt = Field(description="so many spans up to the latest one")


_Day = Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$", description="a date such as 2026-01-31")]
_Span = Union[NonNegativeInt, _Day]
SpanChoice = Union[Literal["latest"], _Span, tuple[_Span, _Span], LastSpans]


class DataConfig(Section):
    """Where the rows are and how to read them."""

    source: str | SplitSources = Field(
        description="a file, glob, folder, package:path or URL (gs://…, postgresql://…), or one a split"
    )
    format: Literal["csv", "parquet", "jsonl", "avro", "tfrecord", "arrow", "images", "texts"] | None = Field(
        None, description="left out: told by the files' names"
    )
    query: str | None = Field(
        None, min_length=1, description="the SQL query whose rows are the data, when source is a database"
    )
    span: SpanChoice = Field(
        "latest",
        description="which spans of the source: latest, a number or date, [first, last], or {last: N}",
    )
    delimiter: str | None = Field(
        None, min_length=1, max_length=1, description="left out: a tab for .tsv, else a comma"
    )
    quote: str | None = Field(
        '"',
        min_length=1,
        max_length=1,
        description="what stands around a cell that holds a delimiter; null: quotes are plain characters",
    )
    encoding: str | None = Field(
        None, description="such as latin-1; left out: UTF-8, or UTF-16 where a byte order mark says so"
    )
    header: bool = Field(
        True, description="whether the first line names the columns; else they are c0, c1, …"
    )
    names: tuple[str, ...] = Field((), description="the columns' names, for files without a header")
    missing: tuple[str, ...] = Field(MISSING_TOKENS, description="cells that count as missing")
    columns: dict[str, ColumnType] = Field(
        default_factory=dict,
        description="types you declare; all other columns are inferred. The cells of a column of type image "
        "are paths, relative to the file they stand in, or encoded images",
    )
    on_bad_value: Literal["error", "missing"] = Field(
        "error", description="what a cell does that is not of its declared type: stop, or count as missing"
    )
    on_bad_row: Literal["error", "skip"] = Field(
        "error",
        description="what a row does that cannot be read: stop, or be left out and listed in "
        "skipped_rows.jsonl",
    )
    folder_names: str | None = Field(
        None,
        min_length=1,
        description="of images or texts in folders: the column of the folders' names; left out: the label",
    )
    separate: dict[str, Annotated[str, Field(min_length=1)]] = Field(
        default_factory=dict,
        description="what parts the classes in the label's cells, such as {tags: '|'}: for task multilabel "
        "in formats without lists, as CSV; a row whose cell is empty has no class",
    )
    derive: dict[str, str] = Field(
        default_factory=dict,
        description="columns to compute, name to expression, such as {late: arrival > due}: for the label, "
        "the weight and the split; no features, since a request would not hold them",
    )
    exclude: tuple[str, ...] = Field((), description="columns that no model may see")
    keep: tuple[str, ...] = Field(
        (),
        description="columns that the model may see although a label that is an expression is made of them, "
        "or although they are computed",
    )
    split: SplitConfig = SplitConfig()
    weight: str | None = Field(
        None, min_length=1, description="a column that says how much each row counts: 0 or more, no feature"
    )
    on_missing_label: Literal["drop", "error"] = Field(
        "drop",
        description="what becomes of rows whose label is missing: left out and counted, or the run stops",
    )

    @field_validator("encoding")
    @classmethod
    def _known_encoding(cls, name: str | None) -> str | None:
        try:
            return name and codecs.lookup(name).name
        except LookupError:
            raise ValueError(
                f"no encoding is called {name!r}; expected such as utf-8, latin-1, cp1252"
            ) from None

    @model_validator(mode="after")
    def _no_contradiction(self) -> DataConfig:
        for name in self.columns:
            if name in self.exclude and name != self.split.column:
                raise ValueError(f"column {name!r} is both declared in columns and excluded")
        if self.names and self.header:
            raise ValueError("names are for files without a header: set header: false")
        if len(set(self.names)) < len(self.names):
            raise ValueError("a name stands twice in names")
        if self.weight in self.exclude:
            raise ValueError(f"column {self.weight!r} is the weight and cannot be excluded")
        return self
