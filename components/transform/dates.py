"""Dates and times: parts on their cycles, and the days passed."""

from __future__ import annotations

import math

import numpy as np
import tensorflow as tf
import tensorflow_transform as tft

from components.transform.columns import as_text
from components.transform.config import DATE, DateFeature
from components.transform.plan import ModelInput, input_name

_EPOCH = "1970-01-01"
# How many there are of each part in its cycle, and the number of the first.
_CYCLES = {"month": (12, 1), "day": (31, 1), "weekday": (7, 0), "hour": (24, 0), "minute": (60, 0)}


def date_input(name: str, config: DateFeature) -> ModelInput:
    """One vector: sine and cosine of each part, then the days passed."""
    return ModelInput(name=input_name(name), length=2 * len(config.parts) + config.elapsed)


def date(column: tf.SparseTensor, config: DateFeature) -> tf.Tensor:
    """Float32 [batch, length]; all 0 where the value is missing or no date, unless it is imputed."""
    text = tf.strings.strip(as_text(column))
    known = tf.strings.regex_full_match(text, DATE)
    if config.impute:
        text = tf.where(known, text, config.impute.constant)
        known = tf.ones_like(known)
    # Every text is made long enough to cut the parts out of it.
    text = tf.strings.join([tf.where(known, text, _EPOCH), "T00:00"])

    def number(start: int, length: int) -> tf.Tensor:
        return tf.strings.to_number(tf.strings.substr(text, start, length), tf.int64)

    year, month, day = number(0, 4), number(5, 2), number(8, 2)
    days = days_since_1970(year, month, day)
    parts = {
        "month": month,
        "day": day,
        "weekday": tf.math.floormod(days + 3, 7),  # 1 January 1970 was a Thursday; Monday is 0
        "hour": number(11, 2),
        "minute": number(14, 2),
    }
    values = []
    for part in config.parts:
        cycle, first = _CYCLES[part]
        place = tf.math.floormod(parts[part] - first, cycle)
        values += [tf.gather(points, place) for points in _circle(cycle)]
    if config.elapsed:
        passed = tf.cast(days, tf.float32) + tf.cast(parts["hour"], tf.float32) / 24
        present = tf.where(known, passed, float("nan"))
        values.append(tf.math.divide_no_nan(passed - tft.mean(present), tf.sqrt(tft.var(present))))
    return tf.where(known[:, None], tf.stack(values, axis=1), 0.0)


def _circle(cycle: int) -> np.ndarray:
    """Sine and cosine of the points of a cycle, float32 [2, cycle]: bit for bit the same in every batch."""
    angles = np.arange(cycle) * (2 * math.pi / cycle)
    return np.stack([np.sin(angles), np.cos(angles)]).astype(np.float32)


def is_missing(column: tf.SparseTensor) -> tf.Tensor:
    """Where there is no date, bool [batch]."""
    return tf.logical_not(tf.strings.regex_full_match(tf.strings.strip(as_text(column)), DATE))


def days_since_1970(year: tf.Tensor, month: tf.Tensor, day: tf.Tensor) -> tf.Tensor:
    """Days from 1970-01-01 in the Gregorian calendar.

    Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", days_from_civil: years begin in
    March, so that the leap day is a year's last.
    """
    year = year - tf.cast(month <= 2, tf.int64)
    era = tf.math.floordiv(year, 400)
    year_of_era = year - era * 400
    day_of_year = (153 * tf.math.floormod(month + 9, 12) + 2) // 5 + day - 1
    day_of_era = year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year
    return era * 146097 + day_of_era - 719468
