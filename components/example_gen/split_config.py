"""The `data.split` section: how rows are dealt to train, eval and test."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, PositiveInt, model_validator

from components.section import Section

SPLITS = ("train", "eval", "test")

Values = tuple[str, ...]


class SplitValues(Section):
    """Which values of the column mean which split."""

    train: Values = Field(min_length=1)
    eval: Values = Field(min_length=1)
    test: Values = Field(min_length=1)

    @property
    def splits(self) -> dict[str, str]:
        """Value to split."""
        return {value.strip(): split for split in SPLITS for value in getattr(self, split)}

    @model_validator(mode="after")
    def _one_split_each(self) -> SplitValues:
        seen: set[str] = set()
        for value in (value.strip() for value in (*self.train, *self.eval, *self.test)):
            if value in seen:
                raise ValueError(f"{value!r} stands twice; a value goes to one split")
            seen.add(value)
        return self


class SplitConfig(Section):
    """How rows are dealt to the train, eval and test splits."""

    by: Literal["hash", "column", "time", "group"] = Field(
        "hash",
        description="hash: by the row's content, so that equal rows never straddle splits; column: by what a "
        "column says; time: the oldest rows train, the newest test; group: rows with the same value together",
    )
    column: str | None = Field(
        None, min_length=1, description="for by: column, time and group; it may be in data.exclude"
    )
    train: PositiveInt = Field(8, description="parts of the rows that go to train")
    eval: PositiveInt = Field(1, description="parts that go to eval, which early stopping watches")
    test: PositiveInt = Field(1, description="parts that go to test, which the Evaluator judges on")
    values: SplitValues | None = Field(
        None,
        description="for by: column: the values of each split, as {train: [a, b], eval: [c], test: [d]}; "
        "left out: the column says train, eval or test",
    )
    eval_from: str | None = Field(
        None, description="for by: time: the date, time or number from which on rows are eval, not train"
    )
    test_from: str | None = Field(
        None, description="for by: time: the same for test; with both, the parts do not count"
    )
    stratify: str | None = Field(
        None,
        min_length=1,
        description="for by: hash and group: `label`, or a column, each of whose values every split gets "
        "its share of; it takes one more pass over the data",
    )

    @property
    def parts(self) -> dict[str, int]:
        """Split name to its number of parts, in the order in which TFX lists them."""
        return {"train": self.train, "eval": self.eval, "test": self.test}

    @model_validator(mode="after")
    def _no_contradiction(self) -> SplitConfig:
        if self.by == "hash" and self.column:
            raise ValueError("by: hash takes no column; by: column, time and group do")
        if self.by != "hash" and not self.column:
            raise ValueError(f"by: {self.by} needs column, the name of the column to split by")
        if self.values and self.by != "column":
            raise ValueError(f"values is for by: column, received by: {self.by}")
        if (self.eval_from or self.test_from) and self.by != "time":
            raise ValueError(f"eval_from and test_from are for by: time, received by: {self.by}")
        if bool(self.eval_from) != bool(self.test_from):
            raise ValueError(
                "eval_from and test_from go together: give both, or neither to split by the parts"
            )
        if self.stratify and self.by not in ("hash", "group"):
            raise ValueError(f"stratify is for by: hash and by: group, received by: {self.by}")
        fixed = "by: column" if self.by == "column" else "eval_from and test_from" if self.eval_from else ""
        if fixed and list(self.parts.values()) != [8, 1, 1]:
            raise ValueError(f"{fixed} decides which rows go where; leave train, eval and test out")
        return self
