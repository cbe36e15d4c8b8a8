"""Make the feature plan: what the config declares, and for the rest what the columns look like."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping

from pydantic import TypeAdapter

from components.errors import UserError
from components.example_gen.found import Found
from components.served_names import input_names
from components.transform.config import (
    BooleanFeature,
    CategoriesFeature,
    CategoryFeature,
    CrossFeature,
    DateFeature,
    DropFeature,
    FeatureConfig,
    ImageFeature,
    NumbersFeature,
    NumericFeature,
    TextFeature,
)
from components.transform.measures import with_measures
from components.transform.plan import FeaturePlan, PlannedFeature, RowWeight, input_name

# An integer column with at most so many distinct values is a code (an hour, a weekday), not a quantity.
_MOST_CODES = 32
# Texts with at least so many words on average are texts; shorter ones that all differ are names or ids.
_WORDS = 3.0
# Columns of these types can be of these kinds; what is not here can be of any column but of images.
_TYPES = {
    "numeric": ("integer", "float", "boolean"),
    "numbers": ("integer", "float", "boolean"),
    "boolean": ("boolean", "integer"),
    "date": ("date", "datetime"),
    "text": ("text",),
    "image": ("image", "bytes"),
}
# What a row may have several values of.
_LISTS = ("numbers", "categories")


def parse_features(text: str) -> dict[str, FeatureConfig]:
    """The `features` section from its JSON."""
    return TypeAdapter(dict[str, FeatureConfig]).validate_json(text)


def make_plan(found: Found, declared: Mapping[str, FeatureConfig]) -> FeaturePlan:
    """Decides what becomes of each column; what the config declares wins.

    Raises:
      UserError: for a declared column that the data lacks, a kind that its type does not allow, or
        when no column is left for the model.
    """
    features = []
    for name, kind in found.types.items():
        if name in (found.label.name, found.weight):
            continue
        if name in declared:
            config, why = declared[name], "declared"
            _check_declared(found, name, kind, config)
        else:
            config, why = _infer(found, name, kind)
        config = with_measures(found, name, config)
        features.append(PlannedFeature(name=name, type=kind, config=config, why=why))
    for name, config in declared.items():
        if name not in found.types:
            features.append(_cross(found, name, config))
    weight = None
    if found.weight:
        weight = RowWeight(column=found.weight, input=input_name(found.weight), mean=found.weight_mean)
    plan = FeaturePlan(
        label=found.label,
        label_input=input_name(found.label.name),
        features=tuple(features),
        types=found.types,
        lists=found.lists,
        weight=weight,
    )
    if not plan.used:
        reasons = "; ".join(f"{feature.name}: {feature.why}" for feature in plan.dropped[:5])
        raise UserError(
            f"no column is left for the model ({reasons})",
            where="features",
            fix="declare a kind for a column: features: {NAME: {kind: category}}",
        )
    input_names(plan.columns)  # two that would be one are refused here
    return plan


def _infer(found: Found, name: str, kind: str) -> tuple[FeatureConfig, str]:
    if name in found.held_back:
        return DropFeature(), found.held_back[name]
    if found.types.get(name.rpartition("/")[0]) == "image":
        return DropFeature(), "a measure of an image: declare it if it tells something by itself"
    distinct = found.values[name] if found.present.get(name) else 0
    if distinct == 0:
        return DropFeature(), "every value of train is missing"
    if kind == "image":
        return ImageFeature(), "images"
    if name in found.lists:
        return _infer_list(found, name, kind, distinct)
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
    if kind == "date":
        return DateFeature(parts=("month", "weekday")), "dates"
    if kind == "datetime":
        return DateFeature(), "dates with a time"
    if kind == "text":
        return _infer_text(found, name, distinct)
    return DropFeature(), f"{kind}: no kind of feature takes it yet"


def _infer_list(found: Found, name: str, kind: str, distinct: int | None) -> tuple[FeatureConfig, str]:
    rows = sum(found.rows.values())
    if kind == "integer" and distinct is not None and distinct <= _MOST_CODES:
        return CategoriesFeature(), f"lists of whole numbers with {distinct} distinct values: codes"
    if kind in _TYPES["numbers"]:
        return NumbersFeature(), "lists of numbers"
    if kind == "text" and distinct is not None and distinct * 2 <= rows:
        return CategoriesFeature(), f"lists of texts with {distinct} distinct values"
    if kind == "text":
        return DropFeature(), "lists of texts that nearly all differ: names or identifiers"
    return DropFeature(), f"lists of type {kind}: no kind of feature takes them"


def _infer_text(found: Found, name: str, distinct: int | None) -> tuple[FeatureConfig, str]:
    if distinct is not None and distinct * 2 <= sum(found.rows.values()):
        return CategoryFeature(), f"text with {distinct} distinct values"
    words = found.words.get(name, 0.0)
    if words >= _WORDS:
        return TextFeature(), f"text of {words:.0f} words on average"
    return DropFeature(), "nearly every value differs and has few words: a name or an identifier"


def _check_declared(found: Found, name: str, kind: str, config: FeatureConfig) -> None:
    if config.kind == "drop":
        return
    where = f"features.{name}"
    if kind == "image" and config.kind not in ("image", "cross"):
        raise UserError(
            f"the data says image, which kind {config.kind} cannot take",
            where=where,
            fix="use kind: image, or drop it",
        )
    allowed = _TYPES.get(config.kind)
    if allowed and kind not in allowed:
        raise UserError(
            f"kind {config.kind} needs a column of type {' or '.join(allowed)}, the data says {kind}",
            where=where,
            fix=f"use kind: {'categories' if name in found.lists else 'category'}, or declare "
            f"data.columns.{name} if the type is wrong",
        )
    if isinstance(config, CrossFeature):
        raise UserError(
            f"a cross needs a name of its own, {name!r} is a column",
            where=where,
            fix="rename it",
        )
    if name in found.lists and config.kind not in _LISTS:
        fitting = " or ".join(each for each in _LISTS if kind in _TYPES.get(each, (kind,)))
        raise UserError(
            f"kind {config.kind} takes one value a row, here some have several",
            where=where,
            fix=f"use kind: {fitting}, or drop it",
        )
    if not found.present.get(name):
        raise UserError("every value of train is missing", where=where, fix="drop it")


def _cross(found: Found, name: str, config: FeatureConfig) -> PlannedFeature:
    if not isinstance(config, CrossFeature):
        raise _no_column(name, found.types, "features")
    for column in config.of:
        if column not in found.types:
            raise _no_column(column, found.types, f"features.{name}.of")
        if column in (found.label.name, found.weight):
            what = "label" if column == found.label.name else "weight of the rows"
            raise UserError(
                f"the {what} cannot be part of a feature", where=f"features.{name}.of", fix="remove it"
            )
        if column in found.lists or found.types[column] == "image":
            what = "several values a row" if column in found.lists else f"type {found.types[column]}"
            raise UserError(
                f"a cross takes single values, {column!r} has {what}",
                where=f"features.{name}.of",
                fix="remove it",
            )
    return PlannedFeature(name=name, type="cross", config=config, why=f"{' and '.join(config.of)} together")


def _no_column(name: str, known: Iterable[str], where: str) -> UserError:
    near = difflib.get_close_matches(name, list(known), n=1)
    return UserError(
        f"the data has no column {name!r}" + (f", did you mean {near[0]!r}?" if near else ""),
        where=where,
        fix=f"name one of its columns: {', '.join(known)}",
    )
