"""`headrace predict`: ask a served or a pushed model about rows."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

import click

from components.errors import UserError
from pipeline.bulk.chunks import open_rows
from pipeline.cli.image_cells import with_images
from pipeline.cli.model_path import ModelPath, find_model, newest_manifest
from pipeline.cli.model_url import as_folder
from pipeline.cli.options import home_option
from pipeline.cli.predict_bulk import LARGE_MB, BulkOptions, predict_in_bulk
from pipeline.cli.rows import form_of, no_row, read_given
from pipeline.cli.serve_options import token_of, token_option
from serving.errors import ServingError, some
from serving.manifest import Manifest
from serving.rows import Columns, Prediction

_BATCH = 512
Write = Callable[[int, list[Prediction]], None]  # the number of the first row, and the answers
_MODEL_PATH = "/v1/models/"


class _Answerer(Protocol):
    """A server or a loaded model."""

    def inputs(self) -> dict[str, str]: ...

    def predict_columns(self, columns: Columns) -> list[Prediction]: ...


@click.command()
@click.argument("path", type=click.Path(path_type=Path), default=".")
@click.option("--rows", "file", help="A CSV, JSON Lines or Parquet file; - reads standard input.")
@click.option(
    "--row", "literals", multiple=True, help="""One row as JSON: '{"column": value}'. Repeatable."""
)
@click.option("--url", default="", help="Ask this server; left out: load the newest pushed version here.")
@click.option("--name", default="", help="The model's name on the server; left out: as PATH says.")
@token_option
@click.option(
    "--out", metavar="FILE", help="Write the answers there: .csv, .jsonl or .parquet. [default: print them]"
)
@click.option("--limit", type=click.IntRange(min=1), help="Answer only the first N rows.")
@click.option(
    "--beam",
    is_flag=True,
    help=f"Let Beam answer, into shards of OUT; from {LARGE_MB} MiB of rows on it does.",
)
@click.option("--runner", default="", help="Of Beam. [default: as the project's beam section says]")
@click.option("--workers", type=click.IntRange(min=1), default=None, help="Beam's processes on this machine.")
@click.option(
    "--on-bad-row",
    type=click.Choice(["error", "skip"]),
    default="error",
    show_default=True,
    help="With Beam: write nothing, or leave bad rows out and say so.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a row.")
@home_option
def command(
    path: Path,
    file: str | None,
    literals: tuple[str, ...],
    url: str,
    name: str,
    token_file: Path | None,
    out: str | None,
    limit: int | None,
    beam: bool,
    runner: str,
    workers: int | None,
    on_bad_row: str,
    as_json: bool,
    home: str | None,
) -> None:
    """Ask the model of PATH about rows.

    PATH is a project, a data file that was run without one, a folder of version directories or its URL, or
    one version directory. [default: .]

    CSV is read as the project's data section says: delimiter, quote, encoding, header, names and missing.
    A cell of an image column is the path of a file, relative to the FILE of rows, or {"b64": "BYTES"}.
    Columns that the rows lack are missing values; columns that the model does not know are ignored.

    Beam answers a large FILE a part at a time, into OUT-00000-of-00012 and so on, in the order of the rows,
    each with its number.
    """
    if not file and not literals:
        raise UserError(
            "no rows given",
            fix="add --rows FILE (CSV, JSON Lines or Parquet, - for stdin) or --row '{\"column\": value}'",
        )
    bulk = BulkOptions(beam, runner, workers or 0, on_bad_row == "skip")
    try:
        if bulk.wanted(file, bool(literals), out, url):
            assert file
            assert out
            with as_folder(path, home) as here:
                args, found = bulk.args(path, home), find_model(here, home)
                in_parts = open_rows(file, form_of(path, home))
                predict_in_bulk(found, in_parts, out, limit, args, bulk.skip_bad)
            return
        rows = islice(_rows(file, literals, path, home), limit)
        first = next(rows, None)  # a mistake in the file shows before a model is loaded
        if first is None:
            raise no_row(file or "--row")
        if url:
            answerer, label, images = _ask_server(path, home, url, name, token_of(token_file))
        else:
            answerer, label, images = _load_here(path, home)
        folder = Path(file).parent if file and file != "-" else Path()
        given = with_images(chain([first], rows), images, folder)
        with _writer(out, as_json) as write:
            count = _answer(answerer, given, label, file or "--row", write)
        if out:
            click.echo(f"{count:,} answer{'' if count == 1 else 's'} in {out}", err=True)
    except ServingError as error:
        raise UserError(error.what, where=error.where, fix=error.fix) from error


def _rows(
    file: str | None, literals: Iterable[str], path: Path, home: str | None
) -> Iterator[dict[str, Any]]:
    from serving.row_files import parse_row

    for literal in literals:
        yield parse_row(literal, "--row")
    if file:
        yield from read_given(file, form_of(path, home))


def _load_here(path: Path, home: str | None) -> tuple[_Answerer, str, list[str]]:
    """The newest version that loads, in this process, the label's column, and those of images."""
    from serving.hosted import HostedModel
    from serving.local import LocalModel

    with as_folder(path, home) as here:
        found = find_model(here, home)
        model = HostedModel(found.path, found.name).start()
    label = model.manifest.label if model.manifest else found.label
    return LocalModel(model), label, _images(model.manifest)


def _ask_server(
    path: Path, home: str | None, url: str, name: str, token: str
) -> tuple[_Answerer, str, list[str]]:
    """A client of the server, and when PATH knows them the label's column and those of images."""
    from serving.client import Client

    in_url = ""
    if _MODEL_PATH in urlsplit(url).path:
        url, _, in_url = url.partition(_MODEL_PATH)
        in_url = unquote(in_url.rstrip("/").removesuffix(":predict"))
    found = ModelPath(path)
    try:
        found = find_model(path, home)
    except UserError:
        if not name and not in_url:
            raise
    manifest = newest_manifest(found)
    name = name or in_url or found.name or (manifest.name if manifest else found.path.resolve().name)
    return Client(url, name, token=token), manifest.label if manifest else found.label, _images(manifest)


def _images(manifest: Manifest | None) -> list[str]:
    return [name for name, kind in manifest.features.items() if kind == "image"] if manifest else []


def _answer(
    answerer: _Answerer, rows: Iterator[dict[str, Any]], label: str, source: str, write: Write
) -> int:
    """Asks in batches, so that a file of any length takes the memory of one; how many rows there were."""
    from serving.rows import check_known, to_columns

    inputs = answerer.inputs()
    number = 1
    while batch := list(islice(rows, _BATCH)):
        columns = to_columns(batch, inputs, number, source)
        if number == 1:
            check_known(columns, source)
            say_differences(columns.absent, columns.ignored, label)
        write(number, answerer.predict_columns(columns))
        number += len(batch)
    return number - 1


@contextmanager
def _writer(out: str | None, as_json: bool) -> Iterator[Write]:
    """What takes the answers: printed as they come, or into a file that has its name once it is whole."""
    if not out:
        yield _write_json if as_json else _Table(sys.stdout.isatty()).write
        return
    from pipeline.cli.answer_files import open_answers

    with open_answers(out) as write:
        yield write


def say_differences(absent: set[str], ignored: set[str], label: str) -> None:
    """Once, on stderr: which features are missing and which columns are not used."""
    if absent:
        click.echo(f"missing in the rows, taken as missing values: {some(absent)}", err=True)
    if ignored - {label}:
        click.echo(f"not known to the model, ignored: {some(ignored - {label})}", err=True)


def _write_json(number: int, predictions: list[Prediction]) -> None:
    for prediction in predictions:
        click.echo(json.dumps(prediction.to_json(), ensure_ascii=False))


class _Table:
    """Predictions as text: aligned columns on a terminal, else CSV."""

    def __init__(self, aligned: bool) -> None:
        self._aligned = aligned
        self._widths: list[int] = []

    def write(self, number: int, predictions: list[Prediction]) -> None:
        lines = [
            _cells(number + index, prediction, self._aligned) for index, prediction in enumerate(predictions)
        ]
        if number == 1:
            lines.insert(0, _header(predictions[0]))
        if not self._aligned:
            csv.writer(sys.stdout, lineterminator="\n").writerows(lines)
            return
        if not self._widths:
            self._widths = [max(len(cell) for cell in column) for column in zip(*lines, strict=True)]
        for line in lines:
            padded = [cell.ljust(width) for cell, width in zip(line, self._widths, strict=True)]
            click.echo("  ".join(padded).rstrip())


def _header(prediction: Prediction) -> list[str]:
    if prediction.predicted_classes is not None:
        return ["row", "predicted_classes", "probabilities"]
    if prediction.predicted_class is None:
        return ["row", "prediction", *(["quantiles"] if prediction.quantiles else [])]
    return ["row", "predicted_class", "probability"]


def _cells(number: int, prediction: Prediction, rounded: bool) -> list[str]:
    style: Callable[[Any], str] = (lambda value: f"{value:.4f}") if rounded else str
    if prediction.predicted_classes is not None:
        named = prediction.predicted_classes
        scores = (style(prediction.probabilities[name]) for name in named)
        return [str(number), "|".join(named), "|".join(scores)]
    if prediction.predicted_class is None:
        quantiles = ["|".join(map(style, prediction.quantiles))] if prediction.quantiles else []
        return [str(number), style(prediction.prediction), *quantiles]
    return [str(number), prediction.predicted_class, style(prediction.probability)]
