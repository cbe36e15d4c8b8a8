"""The feature plan: which raw column becomes which model inputs, and why."""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict, TypeAdapter
from tfx.dsl.io import fileio

from components.errors import UserError
from components.example_gen.found import Found
from components.label import LabelSpec
from components.served_names import input_names
from components.transform.config import (
    BooleanFeature,
    CategoryFeature,
    DropFeature,
    FeatureConfig,
    NumericFeature,
)

_FILE = "plan.json"
# An integer column with at most so many distinct values is a code (an hour, a weekday), not a quantity.
_MOST_CODES = 32


class ModelInput(BaseModel):
    """One tensor that the model gets, of shape [batch, 1].

    Attributes:
      name: its name among the transformed features.
      size: for an id, how many ids there are (int64 from 0); for a number (float32), 0.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    size: int = 0


class PlannedFeature(BaseModel):
    """One raw column and what becomes of it."""

    model_config = ConfigDict(frozen=True)

    name: str
    type: str
    config: FeatureConfig
    why: str
    inputs: tuple[ModelInput, ...] = ()


class FeaturePlan(BaseModel):
    """All columns, and the label; kept as plan.json in the TransformGraph artifact."""

    model_config = ConfigDict(frozen=True)

    label: LabelSpec
    label_input: str
    features: tuple[PlannedFeature, ...]

    @property
    def used(self) -> tuple[PlannedFeature, ...]:
        """The columns that reach the model."""
        return tuple(feature for feature in self.features if feature.config.kind != "drop")

    @property
    def dropped(self) -> tuple[PlannedFeature, ...]:
        """The columns that do not."""
        return tuple(feature for feature in self.features if feature.config.kind == "drop")

    @property
    def inputs(self) -> tuple[ModelInput, ...]:
        """Every tensor that the model gets."""
        return tuple(tensor for feature in self.used for tensor in feature.inputs)

    def save(self, graph_uri: str) -> None:
        with fileio.open(f"{graph_uri}/{_FILE}", "w") as stream:
            stream.write(self.model_dump_json(indent=1))

    @classmethod
    def load(cls, graph_uri: str) -> FeaturePlan:
        with fileio.open(f"{graph_uri}/{_FILE}") as stream:
            return cls.model_validate_json(stream.read())


def input_name(column: str) -> str:
    """The name of the transformed column; Keras allows no slash in it."""
    return f"{column.replace('%', '%25').replace('/', '%2F')}_xf"


def bucket_name(column: str) -> str:
    """The name of the column's quantile bucket; no other transformed column can be called that."""
    return f"{input_name(column)}_bucket"


def parse_features(text: str) -> dict[str, FeatureConfig]:
    """The `features` section from its JSON."""
    return TypeAdapter(dict[str, FeatureConfig]).validate_json(text)


def make_plan(found: Found, declared: Mapping[str, FeatureConfig]) -> FeaturePlan:
    """Decides what becomes of each column; what the config declares wins.

    Raises:
      UserError: for a declared column that the data lacks, a kind that its type does not allow, or
        when no column is left for the model.
    """
    for name in declared:
        if name not in found.types:
            near = difflib.get_close_matches(name, found.types, n=1)
            raise UserError(
                f"the data has no column {name!r}" + (f", did you mean {near[0]!r}?" if near else ""),
                where="features",
                fix=f"name one of its columns: {', '.join(found.types)}",
            )
    features = []
    for name, kind in found.types.items():
        if name == found.label.name:
            continue
        if name in declared:
            config, why = declared[name], "declared"
            _check_type(name, kind, config)
            if not found.present[name] and config.kind != "drop":
                raise UserError("every value of train is missing", where=f"features.{name}", fix="drop it")
        else:
            distinct = found.values[name] if found.present[name] else 0
            config, why = _infer(kind, distinct, sum(found.rows.values()))
        features.append(PlannedFeature(name=name, type=kind, config=config, why=why))
    plan = FeaturePlan(label=found.label, label_input=input_name(found.label.name), features=tuple(features))
    if not plan.used:
        reasons = "; ".join(f"{feature.name}: {feature.why}" for feature in plan.dropped[:5])
        raise UserError(
            f"no column is left for the model ({reasons})",
            where="features",
            fix="declare a kind for a column: features: {NAME: {kind: category}}",
        )
    input_names(feature.name for feature in plan.used)  # two that would be one are refused here
    return plan


def _infer(kind: str, distinct: int | None, rows: int) -> tuple[FeatureConfig, str]:
    if distinct == 0:
        return DropFeature(), "every value of train is missing"
    if distinct == 1:
        return DropFeature(), "constant: it has one value only"
    if kind == "boolean":
        return BooleanFeature(), "true or false"
    if kind == "float":
        return NumericFeature(), "numbers with fractions"
    if kind == "integer":
        if distinct is not None and distinct <= _MOST_CODES:
            return CategoryFeature(), f"whole numbers with {distinct} distinct values: codes"
        return NumericFeature(), f"whole numbers with more than {_MOST_CODES} distinct values: a quantity"
    if kind == "text":
        if distinct is None or distinct * 2 > rows:
            return DropFeature(), "nearly every value differs: a name, an identifier or free text"
        return CategoryFeature(), f"text with {distinct} distinct values"
    return DropFeature(), f"a {kind}: declare it a category, or exclude it"


def _check_type(name: str, kind: str, config: FeatureConfig) -> None:
    allowed = {"numeric": ("integer", "float", "boolean"), "boolean": ("boolean", "integer")}.get(config.kind)
    if allowed and kind not in allowed:
        raise UserError(
            f"kind {config.kind} needs a column of type {' or '.join(allowed)}, the data says {kind}",
            where=f"features.{name}",
            fix=f"use kind: category, or declare data.columns.{name} if the type is wrong",
        )
