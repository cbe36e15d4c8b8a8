"""What ingest found out, for the steps that follow it."""

from __future__ import annotations

from pydantic import BaseModel

from components.label import LabelSpec

FOUND_FILE = "ingest.json"


class ImageSizes(BaseModel):
    """How large the images of a column are in train.

    Attributes:
      height, width: the least and the most pixels.
      channels: the most: 1 when all are grey, else 3.
    """

    height: tuple[int, int]
    width: tuple[int, int]
    channels: int


class Found(BaseModel):
    """What ingest found out; kept as ingest.json in the Examples artifact.

    Attributes:
      label: the label, its task and classes.
      types: each column's type: integer, float, boolean, date, datetime, text or bytes, or what the format
        of the source fixes (image).
      lists: the columns of which a row may have several values.
      longest: the most values that a row has, of the columns in lists.
      images: how large the images of each image column are; of train.
      excluded: the columns that were read, but are not kept.
      values: how many distinct values each column has; beyond a thousand an estimate, and None where
        there is none.
      rows: rows of each split.
      classes: count of each class in each split; empty for regression.
      present: how many rows of train have a value in each column.
      words: how many words the values of each text column have on average.
      skipped: rows that were left out because data.on_bad_row says so; see skipped_rows.jsonl.
      notes: what a person should know of how the rows were read.
      weight: the column that says how much each row counts.
      weight_mean: its mean over train.
      held_back: columns that are no features unless they are declared to be, and why.
      straddling: how many rows of eval and test have their content in train as well; empty: none can.
    """

    label: LabelSpec
    types: dict[str, str]
    lists: tuple[str, ...] = ()
    longest: dict[str, int] = {}
    images: dict[str, ImageSizes] = {}
    excluded: tuple[str, ...] = ()
    values: dict[str, int | None]
    rows: dict[str, int]
    classes: dict[str, dict[str, int]]
    present: dict[str, int]
    words: dict[str, float] = {}
    skipped: int = 0
    notes: list[str]
    weight: str | None = None
    weight_mean: float = 1.0
    held_back: dict[str, str] = {}
    straddling: dict[str, int] = {}

    def save(self, examples_uri: str) -> None:
        from tfx.dsl.io import fileio

        with fileio.open(f"{examples_uri}/{FOUND_FILE}", "w") as stream:
            stream.write(self.model_dump_json(indent=1))

    @classmethod
    def load(cls, examples_uri: str) -> Found:
        from tfx.dsl.io import fileio

        with fileio.open(f"{examples_uri}/{FOUND_FILE}") as stream:
            return cls.model_validate_json(stream.read())
