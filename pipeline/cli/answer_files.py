"""Answers into a file: CSV, JSON Lines or Parquet, by its name."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

from components.errors import UserError
from serving.rows import Prediction

_SUFFIXES = (".csv", ".jsonl", ".parquet")


def check_name(out: str) -> None:
    """Refuses a name that does not say the format."""
    if Path(out).suffix not in _SUFFIXES:
        raise UserError(f"got {out!r}; expected a name that ends with {', '.join(_SUFFIXES)}", where="--out")


@contextmanager
def open_answers(out: str) -> Iterator[Callable[[int, list[Prediction]], None]]:
    """What writes batches of answers; the file appears when all is well, and not at all otherwise.

    Columns: row (from 1), then predicted_class, or of task multilabel predicted_classes with | between them,
    and one `probability_CLASS` a class; or prediction, and quantile_1 and so on where the model has some.
    """
    path = Path(out)
    check_name(out)
    partial = path.with_name(f".{path.name}.partial")
    try:
        with ExitStack() as stack:
            yield _WRITERS[path.suffix](partial, stack)
        os.replace(partial, path)
    except OSError as error:
        raise UserError(f"cannot write it: {error.strerror or error}", where=out) from error
    finally:
        partial.unlink(missing_ok=True)


def _flat(number: int, prediction: Prediction) -> dict[str, Any]:
    probabilities = {f"probability_{name}": value for name, value in prediction.probabilities.items()}
    if prediction.predicted_classes is not None:
        return {"row": number, "predicted_classes": "|".join(prediction.predicted_classes), **probabilities}
    if prediction.predicted_class is None:
        quantiles = {f"quantile_{i}": value for i, value in enumerate(prediction.quantiles, 1)}
        return {"row": number, "prediction": prediction.prediction, **quantiles}
    return {"row": number, "predicted_class": prediction.predicted_class, **probabilities}


def _csv(path: Path, stack: ExitStack) -> Any:
    stream = stack.enter_context(path.open("w", encoding="utf-8", newline=""))
    table = csv.writer(stream, lineterminator="\n")
    named = False

    def write(number: int, predictions: list[Prediction]) -> None:
        nonlocal named
        rows = [_flat(number + index, prediction) for index, prediction in enumerate(predictions)]
        if not named:
            table.writerow(rows[0])
            named = True
        table.writerows(row.values() for row in rows)

    return write


def _jsonl(path: Path, stack: ExitStack) -> Any:
    stream: IO[str] = stack.enter_context(path.open("w", encoding="utf-8"))

    def write(number: int, predictions: list[Prediction]) -> None:
        for index, prediction in enumerate(predictions):
            content = {"row": number + index, **prediction.to_json()}
            stream.write(json.dumps(content, ensure_ascii=False) + "\n")

    return write


def _parquet(path: Path, stack: ExitStack) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    writer: Any = None

    def write(number: int, predictions: list[Prediction]) -> None:
        nonlocal writer
        rows = [_flat(number + index, prediction) for index, prediction in enumerate(predictions)]
        table = pa.Table.from_pylist(rows)
        if writer is None:
            writer = stack.enter_context(pq.ParquetWriter(path, table.schema))
        writer.write_table(table.cast(writer.schema))

    return write


_WRITERS = {".csv": _csv, ".jsonl": _jsonl, ".parquet": _parquet}
