"""Values of config keys as keras-tuner's hyperparameters, and back."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from typing import Any

from components.tuner.config import Range

# Sections whose keys a trial can change; everything before them has happened when it begins.
SECTIONS = ("model", "train")
# As TFX's Tuner calls them: keras-tuner's own description of the best trial, and all trials.
BEST_FILE = "best_hyperparameters.txt"
RESULTS_FILE = "tuner_results.json"
# The best trial as config values, which a choice of lists is not in keras-tuner's words.
VALUES_FILE = "values.json"


def put(sections: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """The sections as plain values, with each `section.key…` set to its value."""
    filled = copy.deepcopy(dict(sections))
    for key, value in values.items():
        *way, last = key.split(".")
        holder = filled
        for part in way:
            if not isinstance(holder.get(part), dict):
                holder[part] = {}
            holder = holder[part]
        holder[last] = value
    return filled


def hyperparameters(space: Mapping[str, Range]) -> Any:
    """The space as keras_tuner.HyperParameters; a choice that is a list or null goes as JSON."""
    import keras_tuner

    made = keras_tuner.HyperParameters()
    for key, allowed in space.items():
        if allowed.choice is not None:
            made.Choice(key, _as_choices(allowed.choice), ordered=False)
        else:
            low, high = allowed.samples
            sampling = "log" if allowed.log else "linear"
            (made.Int if allowed.whole else made.Float)(key, low, high, sampling=sampling)
    return made


def values_of(tried: Mapping[str, Any], space: Mapping[str, Range]) -> dict[str, Any]:
    """What a trial tried, as config values."""
    values = {}
    for key, allowed in space.items():
        value = tried[key]
        if allowed.choice is not None:
            value = list(allowed.choice)[_as_choices(allowed.choice).index(value)]
            value = list(value) if isinstance(value, tuple) else value
        values[key] = value
    return values


def _as_choices(choice: tuple[Any, ...]) -> list[Any]:
    """keras-tuner takes choices of one plain type; what is not goes as JSON."""
    kinds = {type(value) for value in choice}
    if kinds in ({int}, {float}, {str}):
        return list(choice)
    return [json.dumps(value) for value in choice]


def best_values(uri: str) -> dict[str, Any]:
    """The best values from a HyperParameters artifact: key to config value."""
    from tfx.dsl.io import fileio

    with fileio.open(f"{uri}/{VALUES_FILE}") as stream:
        return json.loads(stream.read())


def described(values: Mapping[str, Any]) -> str:
    """Values in a line: `hidden [64], learning_rate.peak 0.00312`."""
    return ", ".join(
        f"{key.partition('.')[2]} {value:.3g}"
        if isinstance(value, float)
        else f"{key.partition('.')[2]} {value}"
        for key, value in values.items()
    )
