"""The `data` section: where the rows are, what they mean and how they are split."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, PositiveInt, model_validator

from components.section import Section

ColumnType = Literal["integer", "float", "boolean", "date", "datetime", "text"]

MISSING_TOKENS = ("", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "#N/A")


class SplitConfig(Section):
    """How rows are dealt to the train, eval and test splits."""

    by: Literal["hash"] = Field(
        "hash", description="hash: by the row's content, so that equal rows never straddle splits"
    )
    train: PositiveInt = Field(8, description="parts of the rows that go to train")
    eval: PositiveInt = Field(1, description="parts that go to eval, which early stopping watches")
    test: PositiveInt = Field(1, description="parts that go to test, which the Evaluator judges on")

    @property
    def parts(self) -> dict[str, int]:
        """Split name to its number of parts, in the order in which TFX lists them."""
        return {"train": self.train, "eval": self.eval, "test": self.test}


class DataConfig(Section):
    """Where the rows are and how to read them."""

    source: str = Field(
        description="a CSV or TSV file (.gz too), a glob, a folder, or package:path in an installed package"
    )
    delimiter: str | None = Field(
        None, min_length=1, max_length=1, description="left out: a tab for .tsv, else a comma"
    )
    missing: tuple[str, ...] = Field(MISSING_TOKENS, description="cells that count as missing")
    columns: dict[str, ColumnType] = Field(
        default_factory=dict, description="types you declare; all other columns are inferred"
    )
    exclude: tuple[str, ...] = Field((), description="columns that no model may see")
    split: SplitConfig = SplitConfig()

    @model_validator(mode="after")
    def _no_contradiction(self) -> DataConfig:
        for name in self.columns:
            if name in self.exclude:
                raise ValueError(f"column {name!r} is both declared in columns and excluded")
        return self
